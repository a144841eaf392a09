"""The properties of matrices that are followed through programs, and what each implies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.scalar as ps
from phintys._base.origin import inherit_origin
from phintys.passes._facts import kind, scalar_node
from phintys.tensor.dim_shuffle import DimShuffle, dimshuffle

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


class Fact:
    """Properties of the matrices in the last two axes, and of the signs of all elements.

    They are plain integers, which are combined far faster than those of an enumeration.
    """

    NONE = 0
    SQUARE = 1
    LOWER = 2
    UPPER = 4
    DIAGONAL = 8
    IDENTITY = 16
    SYMMETRIC = 32
    SKEW = 64
    HERMITIAN = 128
    SEMIDEFINITE = 256
    DEFINITE = 512
    ORTHOGONAL = 1024
    UNITARY = 2048
    INVERTIBLE = 4096
    NOT_NEGATIVE = 8192
    POSITIVE = 16384


_F = Fact
SIGNS = _F.NOT_NEGATIVE | _F.POSITIVE
OF_NAME = {
    "symmetric": _F.SYMMETRIC,
    "hermitian": _F.HERMITIAN,
    "positive_definite": _F.DEFINITE,
    "positive_semidefinite": _F.SEMIDEFINITE,
    "lower_triangular": _F.LOWER,
    "upper_triangular": _F.UPPER,
    "diagonal": _F.DIAGONAL,
    "orthogonal": _F.ORTHOGONAL,
    "unitary": _F.UNITARY,
    "permutation": _F.ORTHOGONAL | _F.UNITARY | _F.NOT_NEGATIVE,
}
# Each is followed by what it implies.
_IMPLIED = (
    (_F.IDENTITY, _F.DIAGONAL | _F.DEFINITE | _F.ORTHOGONAL | _F.UNITARY | _F.NOT_NEGATIVE),
    (_F.DEFINITE, _F.SEMIDEFINITE | _F.INVERTIBLE),
    (_F.SEMIDEFINITE, _F.HERMITIAN),
    (_F.ORTHOGONAL, _F.INVERTIBLE),
    (_F.UNITARY, _F.INVERTIBLE),
    (_F.LOWER | _F.UPPER, _F.DIAGONAL),
    (_F.LOWER | _F.HERMITIAN, _F.DIAGONAL),
    (_F.UPPER | _F.HERMITIAN, _F.DIAGONAL),
    (_F.DIAGONAL, _F.LOWER | _F.UPPER),
    (_F.DIAGONAL | _F.SQUARE, _F.SYMMETRIC),
    (_F.SYMMETRIC, _F.SQUARE),
    (_F.SKEW, _F.SQUARE),
    (_F.HERMITIAN, _F.SQUARE),
    (_F.INVERTIBLE, _F.SQUARE),
    (_F.POSITIVE, _F.NOT_NEGATIVE),
)
_IMPLIED_OF_REAL = (
    (_F.SYMMETRIC, _F.HERMITIAN),
    (_F.HERMITIAN, _F.SYMMETRIC),
    (_F.ORTHOGONAL, _F.UNITARY),
    (_F.UNITARY, _F.ORTHOGONAL),
)


def closed(facts: int, is_complex: bool) -> int:
    """Return some facts with all that they imply."""
    if not facts:
        return facts
    rules = _IMPLIED if is_complex else _IMPLIED + _IMPLIED_OF_REAL
    while True:
        before = facts
        for given, implied in rules:
            if facts & given == given:
                facts |= implied
        if facts == before:
            return facts


def turned(x: Any) -> Any:
    """Return y if x is the (stack of) transposes of y; else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return None
    last = x.ndim - 1
    if x.ndim < 2 or node.op.new_order != (*range(last - 1), last, last - 1):
        return None
    return node.inputs[0]


def only_item(x: Any, count: int = 1) -> Any:
    """Return x without its leading ``count`` axes, which are of length 1."""
    node = x.owner
    order = tuple(range(x.ndim))
    if node is not None and isinstance(node.op, DimShuffle):
        order, x = node.op.new_order, node.inputs[0]
    kept = order[count:]
    return x if kept == tuple(range(x.ndim)) else dimshuffle(x, *kept)


def unturned(a: Any) -> tuple[Any, int]:
    """Return B and 0 if A is B, 1 if it is its transpose, 2 if it is its adjoint."""
    inner = turned(a)
    if inner is not None:
        node = scalar_node(inner, ps.conj)
        return (inner, 1) if node is None else (node.inputs[0], 2)
    node = scalar_node(a, ps.conj)
    if node is not None and (inner := turned(node.inputs[0])) is not None:
        return inner, 2
    return a, 0


def without_adjoint(a: Any) -> tuple[Any, bool]:
    """Return B and ``True`` if A is the adjoint of B, and A and ``False`` otherwise."""
    inner, how = unturned(a)
    is_adjoint = how == 2 or (how == 1 and kind(a) != "c")
    return (inner, True) if is_adjoint else (a, False)


def steps_of(node: Apply) -> inherit_origin:
    """Let new nodes name the function that they are steps of, in errors."""
    op: Any = node.op
    return inherit_origin(node.origin.as_step_of(op.called))
