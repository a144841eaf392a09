"""What is known of matrices that elementwise functions return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
from phintys.graph.variable import Constant
from phintys.passes._matrix_facts import SIGNS, Fact
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.ranges import ARange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply

_F = Fact

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
    common = SIGNS
    for one in given:
        common &= one
    if op is ps.add and common & _F.NOT_NEGATIVE and any(one & _F.POSITIVE for one in given):
        return _F.POSITIVE
    if op in _KEEP_SIGN or op in {ps.add, ps.mul, ps.true_div, ps.maximum, ps.minimum}:
        return common
    if op in {ps.switch, ps.second}:
        return given[-1] & SIGNS & (given[1] if op is ps.switch else SIGNS)
    return _F.NONE


def is_broadcast(x: Any) -> bool:
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
    """Return the known properties of a matrix of bools, or of its complement."""
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
    return isinstance(x, Constant) and not np.any(x.data) and is_broadcast(x)


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
        return given[0] & sides if _spans(inputs[0]) and is_broadcast(inputs[1]) else _F.NONE
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
        if is_broadcast(x) or (facts & _F.SYMMETRIC and _spans(x)):
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
    is_odd = is_odd or (op is ps.true_div and given[0] & _F.SKEW and is_broadcast(inputs[1]))
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
        if is_broadcast(x):
            levels.append((facts & SIGNS) and _F.SEMIDEFINITE)
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
            level & some if not is_broadcast(x) else facts & _F.POSITIVE
            for x, level, facts in zip(inputs, levels, given, strict=True)
        )
        return some if is_definite else _F.SEMIDEFINITE
    if op is ps.true_div and is_broadcast(inputs[1]) and given[1] & _F.POSITIVE:
        return levels[0] if _spans(inputs[0]) else _F.NONE
    return _F.NONE


def of_elemwise(node: Apply, given: Sequence[int]) -> int:
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
