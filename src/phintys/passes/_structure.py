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
from phintys.passes._facts import scalar_node
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
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

__all__ = ["Fact", "structure", "triangle_of", "turned"]

_LARGEST_LOOKED_AT = 4096  # elements of a constant


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
_SIGNS = _F.NOT_NEGATIVE | _F.POSITIVE
_OF_NAME = {
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


def _closed(facts: int, is_complex: bool) -> int:
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
    """Return what is known of the matrices of a tensor in a graph.

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
    """Return what is known of a tensor, and add that of what it is made of to ``found``."""
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
        found[current] = _closed(facts, current.type.numpy_dtype.kind == "c")
    return found[variable]


def triangle_of(fgraph: FunctionGraph, x: Any) -> str | None:
    """Return ``"lower"``, ``"upper"`` or ``"diagonal"`` if matrices are known to be so."""
    facts = structure(fgraph, x)
    if facts & _F.DIAGONAL:
        return "diagonal"
    return "lower" if facts & _F.LOWER else "upper" if facts & _F.UPPER else None


def turned(x: Any) -> Any:
    """Return y if x is the (stack of) transposes of y; else ``None``."""
    node = x.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return None
    last = x.ndim - 1
    if x.ndim < 2 or node.op.new_order != (*range(last - 1), last, last - 1):
        return None
    return node.inputs[0]


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
            facts |= _OF_NAME[name]
        n = data.shape[-1]
        if data.shape[-2] == n and np.array_equal(data, np.broadcast_to(np.eye(n), data.shape)):
            facts |= _F.IDENTITY
    return _closed(facts, data.dtype.kind == "c")


def _of_other_output(node: Apply) -> int:
    if isinstance(node.op, Eigh) and len(node.inputs) == 1:  # the vectors
        return _F.UNITARY
    return _F.NONE


# ---- rules by Op ---------------------------------------------------------------------------------


def _of_assume(node: Apply, given: Sequence[int]) -> int:
    facts = given[0] | _F.SQUARE
    op: Any = node.op
    for name in op.names:
        facts |= _OF_NAME[name]
    return facts


def _of_dimshuffle(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    x: Any = node.inputs[0]
    order, last = op.new_order, x.ndim - 1
    signs = given[0] & _SIGNS
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
    facts = given[0] & _SIGNS
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
    """Return what is known of ``B.T @ A @ B``, given in two products."""
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
    return given[0] & _SIGNS


def _of_reduce(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    if op.scalar_op in {ps.add, ps.mul, ps.maximum, ps.minimum}:
        # A sum or product of nothing is 0 or 1.
        return given[0] & (_F.NOT_NEGATIVE if op.scalar_op is ps.add else _SIGNS)
    return _F.NONE


# ---- elementwise ---------------------------------------------------------------------------------

_POSITIVE = {ps.exp, ps.cosh, ps.exp2, ps.softplus, ps.sigmoid}
_NOT_NEGATIVE = {ps.sqr, ps.abs}
_KEEP_SIGN = {ps.sqrt, ps.identity, *ps.CASTS.values()}
_EVEN = {ps.sqr, ps.abs, ps.cos, ps.cosh}
_COMMUTATIVE = {ps.add, ps.mul, ps.maximum, ps.minimum, ps.eq, ps.and_, ps.or_}
_KEEP_ZERO = {ps.neg, ps.sqr, ps.abs, ps.sqrt, ps.conj, ps.sin, ps.tanh, ps.identity}


def _sign_of(op: Any, node: Apply, given: Sequence[int]) -> int:
    kind = node.outputs[0].type.numpy_dtype.kind  # pyright: ignore[reportAttributeAccessIssue]
    if kind == "c":
        return _F.NONE
    if kind in "bu":
        return _F.NOT_NEGATIVE
    if kind != "f":
        return _F.NONE  # integers wrap around
    if op in _POSITIVE:
        return _F.POSITIVE
    if op in _NOT_NEGATIVE:
        return _F.NOT_NEGATIVE | (given[0] & _F.POSITIVE)
    common = _SIGNS
    for one in given:
        common &= one
    if op is ps.add and common & _F.NOT_NEGATIVE and any(one & _F.POSITIVE for one in given):
        return _F.POSITIVE
    if op in _KEEP_SIGN or op in {ps.add, ps.mul, ps.true_div, ps.maximum, ps.minimum}:
        return common
    if op in {ps.switch, ps.second}:
        return given[-1] & _SIGNS & (given[1] if op is ps.switch else _SIGNS)
    return _F.NONE


def _is_broadcast(x: Any) -> bool:
    """Return whether all elements of each matrix are equal, since the last two sizes are 1."""
    return all(size == 1 for size in x.type.shape[-2:])


def _spans(x: Any) -> bool:
    """Return whether matrices do not broadcast in their rows or columns."""
    return x.ndim > 1 and 1 not in x.type.shape[-2:]


def _comparison(node: Apply) -> tuple[Any, int] | None:
    """Return the op and k, if a node compares ``row + k`` with ``column``; else ``None``."""
    op: Any = node.op
    if op.scalar_op not in {ps.eq, ps.ge, ps.gt, ps.le, ps.lt} or len(node.inputs) != 2:
        return None
    found = [_number(x) for x in node.inputs]
    if None in found:
        return None
    (axis, shift, _), (other, back, _) = found  # pyright: ignore[reportGeneralTypeIssues]
    if {axis, other} != {0, 1}:
        return None
    if axis == 0:
        return op.scalar_op, shift - back
    mirrored = {ps.ge: ps.le, ps.gt: ps.lt, ps.le: ps.ge, ps.lt: ps.gt, ps.eq: ps.eq}
    return mirrored[op.scalar_op], back - shift


def _number(x: Any, shift: int = 0) -> tuple[int, int, Any] | None:
    """Return the axis (0 for rows) along which x is ``arange(n) + shift``, shift, and n."""
    node = x.owner
    if node is None:
        return None
    if isinstance(node.op, Elemwise) and node.op.scalar_op in {ps.add, ps.sub}:
        numbers, others = [], []
        for one in node.inputs:
            (others if isinstance(one, Constant) else numbers).append(one)
        if len(numbers) != 1 or len(others) != 1 or others[0].data.size != 1:
            return None
        if node.op.scalar_op is ps.sub and numbers[0] is not node.inputs[0]:
            return None
        own = others[0].data.item()
        return _number(numbers[0], shift + (own if node.op.scalar_op is ps.add else -own))
    if isinstance(node.op, DimShuffle):
        order, inner = node.op.new_order, node.inputs[0]
        if order[-2:] not in {(0, "x"), ("x", 0)} or any(one != "x" for one in order[:-2]):
            return None
        found = _number(inner, shift)
        return None if found is None else (0 if order[-2] == 0 else 1, *found[1:])
    if not isinstance(node.op, ARange) or x.ndim != 1:
        return None
    start, stop, step = node.inputs
    known = [one.data.item() if isinstance(one, Constant) else None for one in (start, step)]
    return (1, shift, stop) if known == [0, 1] else None


def _of_comparison(node: Apply, complement: bool = False) -> int:
    """Return what is known of a matrix of bools, or of its complement."""
    found = _comparison(node)
    if found is None:
        return _F.NONE
    op, k = found
    if op is ps.eq:
        if complement:
            return _F.NONE
        if k:
            return _F.UPPER if k > 0 else _F.LOWER
        numbers = [_number(x) for x in node.inputs]
        stops = [one[2] for one in numbers if one is not None]
        is_square = stops[0] is stops[1] or (
            all(isinstance(stop, Constant) for stop in stops)
            and stops[0].data.item() == stops[1].data.item()
        )
        return _F.IDENTITY if is_square else _F.DIAGONAL
    negated = {ps.ge: ps.lt, ps.gt: ps.le, ps.le: ps.gt, ps.lt: ps.ge}
    if complement:
        op = negated[op]
    # row + k >= column: lower for k <= 0; row + k > column: lower for k <= 1.
    is_lower = (op is ps.ge and k <= 0) or (op is ps.gt and k <= 1)
    is_upper = (op is ps.le and k >= 0) or (op is ps.lt and k >= -1)
    return _F.LOWER if is_lower else _F.UPPER if is_upper else _F.NONE


def _is_zero(x: Any) -> bool:
    return isinstance(x, Constant) and not np.any(x.data) and _is_broadcast(x)


def _support(op: Any, node: Apply, given: Sequence[int]) -> int:
    """Return in which triangles elements may differ from zero."""
    sides = _F.LOWER | _F.UPPER
    inputs: list[Any] = list(node.inputs)
    if op in _KEEP_ZERO or op in ps.CASTS.values():
        return given[0] & sides
    if op in {ps.add, ps.sub, ps.maximum, ps.minimum}:
        facts = sides
        for x, one in zip(inputs, given, strict=True):
            facts &= one if _spans(x) else _F.NONE
        return facts
    if op in {ps.mul, ps.and_}:
        facts = _F.NONE
        for x, one in zip(inputs, given, strict=True):
            facts |= one & sides if _spans(x) else _F.NONE
        return facts
    if op is ps.true_div:
        return given[0] & sides if _spans(inputs[0]) and _is_broadcast(inputs[1]) else _F.NONE
    if op is ps.switch and _spans(inputs[0]):
        condition, yes, no = inputs
        facts = sides
        if not _is_zero(no):
            masked = _F.NONE if condition.owner is None else _complement(condition.owner)
            facts &= masked | (given[2] if _spans(no) else _F.NONE)
        if not _is_zero(yes):
            facts &= given[0] | (given[1] if _spans(yes) else _F.NONE)
        return facts
    return _F.NONE


def _complement(node: Apply) -> int:
    return _of_comparison(node, complement=True) if isinstance(node.op, Elemwise) else _F.NONE


def _key(x: Any) -> tuple[int, Any]:
    """Return the source of a dimshuffle, and the order of its axes."""
    node = x.owner
    if node is not None and isinstance(node.op, DimShuffle):
        return id(node.inputs[0]), node.op.new_order
    return id(x), tuple(range(x.ndim))


def _turned_key(x: Any) -> tuple[int, Any]:
    """Return the key of the transposes."""
    source, order = _key(x)
    return source, (*order[:-2], order[-1], order[-2])


def _symmetry(op: Any, node: Apply, given: Sequence[int]) -> int:
    """Return whether exchanging rows and columns exchanges operands only, or changes the sign."""
    inputs: list[Any] = list(node.inputs)
    is_complex = node.outputs[0].type.numpy_dtype.kind == "c"  # pyright: ignore[reportAttributeAccessIssue]
    open_: list[Any] = []
    skew = 0
    for x, facts in zip(inputs, given, strict=True):
        if _is_broadcast(x) or (facts & _F.SYMMETRIC and _spans(x)):
            continue
        if facts & _F.SKEW and _spans(x):
            skew += 1
            continue
        open_.append(x)
    if open_:
        keys = {_key(x) for x in open_}
        if skew or any(_turned_key(x) not in keys for x in open_):
            return _F.NONE
        if op in _COMMUTATIVE and len(keys) == len(open_):
            return _F.SYMMETRIC
        if op is ps.sub and len(open_) == 2:
            return _F.SKEW
        return _F.NONE
    if not skew:
        facts = _F.SYMMETRIC if any(_spans(x) for x in inputs) else _F.NONE
        if is_complex and op in {ps.add, ps.sub, ps.neg}:
            whole = all(
                one & _F.HERMITIAN and _spans(x) for x, one in zip(inputs, given, strict=True)
            )
            facts |= _F.HERMITIAN if whole else _F.NONE
        return facts
    if op in _EVEN or (op is ps.mul and skew % 2 == 0):
        return _F.SYMMETRIC
    is_odd = (op is ps.mul and skew % 2) or op in {ps.neg, *ps.CASTS.values()}
    is_odd = is_odd or (op in {ps.add, ps.sub} and skew == len(inputs))
    is_odd = is_odd or (op is ps.true_div and given[0] & _F.SKEW and _is_broadcast(inputs[1]))
    return _F.SKEW if is_odd else _F.NONE


def _definiteness(op: Any, node: Apply, given: Sequence[int]) -> int:
    inputs: list[Any] = list(node.inputs)
    some, every = _F.DEFINITE, _F.DEFINITE | _F.SEMIDEFINITE
    if node.outputs[0].type.numpy_dtype.kind not in "fc":  # pyright: ignore[reportAttributeAccessIssue]
        return _F.NONE
    if op in ps.CASTS.values():
        return given[0] & every
    levels: list[int] = []
    for x, facts in zip(inputs, given, strict=True):
        if _is_broadcast(x):
            levels.append((facts & _SIGNS) and _F.SEMIDEFINITE)
        else:
            levels.append(facts & every if _spans(x) else _F.NONE)
    if op is ps.add:
        if not all(levels):
            return _F.NONE
        return some if any(level & some for level in levels) else _F.SEMIDEFINITE
    if op is ps.mul:
        # Schur's theorem; with a diagonal matrix, only the signs of the other operands count.
        is_diagonal = any(
            facts & _F.DIAGONAL and facts & some and _spans(x)
            for x, facts in zip(inputs, given, strict=True)
        )
        if is_diagonal:
            others = [one for one in given if not (one & _F.DIAGONAL and one & some)]
            if all(one & _F.POSITIVE for one in others):
                return some
            return _F.SEMIDEFINITE if all(one & _F.NOT_NEGATIVE for one in others) else _F.NONE
        if not all(levels) or not any(_spans(x) for x in inputs):
            return _F.NONE
        is_definite = all(
            level & some if not _is_broadcast(x) else facts & _F.POSITIVE
            for x, level, facts in zip(inputs, levels, given, strict=True)
        )
        return some if is_definite else _F.SEMIDEFINITE
    if op is ps.true_div and _is_broadcast(inputs[1]) and given[1] & _F.POSITIVE:
        return levels[0] if _spans(inputs[0]) else _F.NONE
    return _F.NONE


def _of_elemwise(node: Apply, given: Sequence[int]) -> int:
    op: Any = node.op
    scalar_op = op.scalar_op
    if len(node.outputs) != 1:
        return _F.NONE
    facts = _sign_of(scalar_op, node, given)
    if node.outputs[0].type.ndim < 2:  # pyright: ignore[reportAttributeAccessIssue]
        return facts
    facts |= _of_comparison(node)
    facts |= _support(scalar_op, node, given)
    if any(one & _F.SQUARE and _spans(x) for x, one in zip(node.inputs, given, strict=True)):
        facts |= _F.SQUARE
    facts |= _symmetry(scalar_op, node, given)
    facts |= _definiteness(scalar_op, node, given)
    if scalar_op in ps.CASTS.values():
        facts |= given[0] & (_F.IDENTITY | _F.DIAGONAL)
    return facts


_RULES: dict[type[Op], Callable[[Apply, Sequence[int]], int]] = {
    Assume: _of_assume,
    DimShuffle: _of_dimshuffle,
    Elemwise: _of_elemwise,
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
