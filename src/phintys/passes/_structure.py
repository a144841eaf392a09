"""What is known of matrices: triangles, symmetry, definiteness, orthogonality.

:func:`structure` follows the definition of a variable once, without recursion, and keeps what it
finds with the graph: the facts are about values, which rewriting does not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.features import Feature
from phintys.graph.variable import Constant
from phintys.passes._elementwise_structure import of_elemwise
from phintys.passes._facts import scalar_node
from phintys.passes._matrix_facts import OF_NAME, SIGNS, Fact, closed, turned
from phintys.tensor.creation import Alloc
from phintys.tensor.diagonals import AllocDiag, ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.linear_algebra.assumptions import Assume, structure_of_value
from phintys.tensor.linear_algebra.cholesky import Cholesky
from phintys.tensor.linear_algebra.eigen import Eigh
from phintys.tensor.linear_algebra.solving import Inv, Solve
from phintys.tensor.linear_algebra.triangular import SolveTriangular
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

_F = Fact

_LARGEST_LOOKED_AT = 4096  # elements of a constant


# ---- the query -----------------------------------------------------------------------------------


class _Memory(Feature):
    """What is known of variables of a graph; it is passed on to their replacements."""

    def __init__(self) -> None:
        self.found: dict[Variable, int] = {}

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Any,
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        """Keep what is known of a variable for the one that replaces it."""
        known = self.found.get(old)
        if known:
            self.found[new] = self.found.get(new, structure_of(new, self.found)) | known


def structure(fgraph: FunctionGraph, variable: Any) -> int:
    """Return the known properties of the matrices of a tensor in a graph, as bits.

    Parameters
    ----------
    fgraph
        The graph, which keeps what has been found until it is compiled.
    variable
        A tensor of any rank.
    """
    memory = next((one for one in fgraph.features if isinstance(one, _Memory)), None)
    if memory is None:
        memory = _Memory()
        fgraph.attach_feature(memory)
    return structure_of(variable, memory.found)


def structure_of(variable: Any, found: dict[Variable, int]) -> int:
    """Return the known properties of a tensor, and add those of its operands to ``found``."""
    stack = [variable]
    while stack:
        current = stack[-1]
        if current in found:
            stack.pop()
            continue
        node = current.owner
        rule = None if node is None else _RULES.get(type(node.op))
        if node is None or rule is None:
            found[current] = _of_leaf(current)
            continue
        missing = [x for x in node.inputs if x not in found]
        if missing:
            stack.extend(missing)
            continue
        facts = rule(node, [found[x] for x in node.inputs])
        if rule is _of_product and not facts & _F.SEMIDEFINITE:
            facts |= _of_form(node, found)
        if node.outputs[0] is not current:
            facts = _of_other_output(node)
        shape = current.type.shape
        if len(shape) > 1 and shape[-1] == shape[-2] is not None:
            facts |= _F.SQUARE
        found[current] = closed(facts, current.type.numpy_dtype.kind == "c")
    return found[variable]


def triangle_of(fgraph: FunctionGraph, x: Any) -> str | None:
    """Return ``"lower"``, ``"upper"`` or ``"diagonal"`` if matrices are known to be so."""
    facts = structure(fgraph, x)
    if facts & _F.DIAGONAL:
        return "diagonal"
    return "lower" if facts & _F.LOWER else "upper" if facts & _F.UPPER else None


# ---- leaves --------------------------------------------------------------------------------------


def _of_leaf(variable: Any) -> int:
    shape = getattr(variable.type, "shape", None)
    if shape is None or not hasattr(variable.type, "numpy_dtype"):
        return _F.NONE
    facts = _F.NONE
    dtype: Any = variable.type.numpy_dtype
    if len(shape) > 1 and shape[-1] == shape[-2] is not None:
        facts |= _F.SQUARE
    if not isinstance(variable, Constant) or variable.data.size > _LARGEST_LOOKED_AT:
        return facts | _F.NOT_NEGATIVE if dtype.kind in "bu" else facts
    data: Any = variable.data
    if data.dtype.kind != "c":
        facts |= _F.NOT_NEGATIVE if np.all(data >= 0) else _F.NONE
        facts |= _F.POSITIVE if np.all(data > 0) else _F.NONE
    if data.ndim > 1:
        for name in structure_of_value(data):
            # Exactly, since elements are dropped; the others may have been rounded.
            facts |= OF_NAME[name]
        n = data.shape[-1]
        if data.shape[-2] == n and np.array_equal(data, np.broadcast_to(np.eye(n), data.shape)):
            facts |= _F.IDENTITY
    return closed(facts, data.dtype.kind == "c")


def _of_other_output(node: Apply) -> int:
    if isinstance(node.op, Eigh) and len(node.inputs) == 1:  # the vectors
        return _F.UNITARY
    return _F.NONE


# ---- rules by Op ---------------------------------------------------------------------------------


def _of_assume(node: Apply, given: Sequence[int]) -> int:
    facts = given[0] | _F.SQUARE
    op: Any = node.op
    for name in op.names:
        facts |= OF_NAME[name]
    return facts


def _of_dimshuffle(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    x: Any = node.inputs[0]
    order, last = op.new_order, x.ndim - 1
    signs = given[0] & SIGNS
    if x.ndim < 2 or len(order) < 2:
        return signs
    if order[-2:] == (last - 1, last):
        return given[0]
    if order[-2:] != (last, last - 1):
        return signs
    facts = given[0] & ~(_F.LOWER | _F.UPPER)
    if given[0] & _F.LOWER:
        facts |= _F.UPPER
    if given[0] & _F.UPPER:
        facts |= _F.LOWER
    return facts


def _of_alloc_diag(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    rows, columns = node.inputs[1:]
    facts = given[0] & _F.NOT_NEGATIVE
    if op.offset > 0:
        return facts | _F.UPPER
    if op.offset < 0:
        return facts | _F.LOWER
    facts |= _F.DIAGONAL
    if rows is columns:
        facts |= _F.SQUARE
        if given[0] & _F.POSITIVE:
            facts |= _F.DEFINITE
        elif given[0] & _F.NOT_NEGATIVE:
            facts |= _F.SEMIDEFINITE
    return facts


def _of_extract_diag(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    facts = given[0] & SIGNS
    if op.offset == 0 and node.outputs[0].type.numpy_dtype.kind != "c":  # pyright: ignore[reportAttributeAccessIssue]
        if given[0] & _F.DEFINITE or isinstance(getattr(node.inputs[0].owner, "op", 0), Cholesky):
            facts |= _F.POSITIVE
        elif given[0] & _F.SEMIDEFINITE:
            facts |= _F.NOT_NEGATIVE
    return facts


def _of_cholesky(node: Apply, given: Sequence[int]) -> int:
    facts = _F.LOWER | _F.INVERTIBLE
    return facts | (given[0] & _F.DIAGONAL)


_KEPT_BY_INVERSE = (
    _F.LOWER
    | _F.UPPER
    | _F.DIAGONAL
    | _F.IDENTITY
    | _F.SYMMETRIC
    | _F.SKEW
    | _F.HERMITIAN
    | _F.DEFINITE
    | _F.ORTHOGONAL
    | _F.UNITARY
)


def _of_inverse(node: Apply, given: Sequence[int]) -> int:
    facts = given[0] & _KEPT_BY_INVERSE
    return facts | (_F.DEFINITE if given[0] & _F.SEMIDEFINITE else _F.INVERTIBLE)


def _of_solution(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    if not given[1] & _F.IDENTITY:
        return given[1] & _F.SQUARE
    if op.assume_a != "gen":  # one triangle is read
        return _F.DEFINITE if op.assume_a == "pos" else _F.INVERTIBLE
    return _of_inverse(node, given)


def _of_triangular_solution(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    own = _F.LOWER if op.lower else _F.UPPER
    return given[1] & (own | _F.SQUARE | _F.INVERTIBLE)


def _are_adjoint(a: Any, b: Any) -> bool:
    """Return whether one of two matrices is the adjoint of the other."""
    if a.type.numpy_dtype.kind == "c":
        for one, other in ((a, b), (b, a)):
            inner = turned(one)
            outer = None if inner is None else scalar_node(inner, ps.conj)
            if outer is not None and outer.inputs[0] is other:
                return True
            outer = scalar_node(one, ps.conj)
            if outer is not None and turned(outer.inputs[0]) is other:
                return True
        return False
    return turned(a) is b or turned(b) is a


def _of_product(node: Apply, given: Sequence[int]) -> int:
    x, y = node.inputs
    if getattr(x.type, "ndim", 0) < 2 or getattr(y.type, "ndim", 0) < 2:
        return given[0] & given[1] & _F.NOT_NEGATIVE
    left, right = given
    kept = _F.SQUARE | _F.LOWER | _F.UPPER | _F.ORTHOGONAL | _F.UNITARY | _F.INVERTIBLE
    facts = left & right & (kept | _F.IDENTITY | _F.NOT_NEGATIVE)
    if x is y:
        facts |= _F.SQUARE
    if left & right & _F.DIAGONAL and left & right & _F.DEFINITE:
        facts |= _F.DEFINITE
    if left & _F.IDENTITY:
        facts |= right
    if right & _F.IDENTITY:
        facts |= left
    if _are_adjoint(x, y):
        facts |= _F.DEFINITE if left & _F.INVERTIBLE else _F.SEMIDEFINITE
    return facts


def _of_form(node: Apply, found: dict[Variable, int]) -> int:
    """Return the known properties of ``B.T @ A @ B``, given in two products."""
    x, y = node.inputs
    for outer, pair in ((y, x.owner), (x, y.owner)):
        if pair is None or not isinstance(pair.op, Dot | BatchedDot):
            continue
        first, second = pair.inputs
        middle, other = (second, first) if outer is y else (first, second)
        if getattr(middle.type, "ndim", 0) < 2 or not _are_adjoint(outer, other):
            continue
        return found.get(middle, _F.NONE) & (_F.SEMIDEFINITE | _F.HERMITIAN)
    return _F.NONE


def _of_eigenvalues(node: Apply, given: Sequence[int]) -> int:
    if given[0] & _F.DEFINITE:
        return _F.POSITIVE
    return _F.NOT_NEGATIVE if given[0] & _F.SEMIDEFINITE else _F.NONE


def _of_alloc(node: Apply, given: Sequence[int]) -> int:
    return given[0] & SIGNS


def _of_reduce(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    if op.scalar_op in {ps.add, ps.mul, ps.maximum, ps.minimum}:
        # A sum or product of nothing is 0 or 1.
        return given[0] & (_F.NOT_NEGATIVE if op.scalar_op is ps.add else SIGNS)
    return _F.NONE


_RULES: dict[type[Op], Callable[[Apply, Sequence[int]], int]] = {
    Assume: _of_assume,
    DimShuffle: _of_dimshuffle,
    Elemwise: of_elemwise,
    Dot: _of_product,
    BatchedDot: _of_product,
    AllocDiag: _of_alloc_diag,
    ExtractDiag: _of_extract_diag,
    Alloc: _of_alloc,
    Reduce: _of_reduce,
    Cholesky: _of_cholesky,
    Inv: _of_inverse,
    Solve: _of_solution,
    SolveTriangular: _of_triangular_solution,
    Eigh: _of_eigenvalues,
}
