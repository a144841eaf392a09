"""Shape rules of Ops, in sizes that are symbolic: what ``infer_shape`` returns."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor.convert import constant
from phintys.tensor.indexing.template import Slice, slice_length
from phintys.tensor.shape_rules import Misfit, ShapedOp, Shapes, SizeArithmetic
from phintys.tensor.shapes import is_length, vector_elements
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import (
    add_sizes,
    as_size,
    clip_size,
    floor_div_sizes,
    fold,
    multiply_sizes,
    same_product,
    subtract_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply


class PlainArithmetic(SizeArithmetic[Any]):
    """Arithmetic on sizes that are ints or symbolic."""

    def add(self, a: Any, b: Any) -> Any:
        return add_sizes(fold(a), fold(b))

    def subtract(self, a: Any, b: Any) -> Any:
        return subtract_sizes(fold(a), fold(b))

    def multiply(self, a: Any, b: Any) -> Any:
        return multiply_sizes((fold(a), fold(b)))

    def floor_div(self, a: Any, b: int) -> Any:
        return floor_div_sizes(fold(a), b)

    def least(self, a: Any, b: Any) -> Any:
        return clip_size(fold(a), None, fold(b))

    def greatest(self, a: Any, b: Any) -> Any:
        return clip_size(fold(a), fold(b), None)


_BESIDE = Misfit("reshape", "the sizes beside -1")


class SymbolicShapes(PlainArithmetic, Shapes[Any]):
    """Sizes that are ints or symbolic.

    Checks become part of the sizes that a rule returns: see :meth:`infer`.

    Parameters
    ----------
    op
        The Op with the rule.
    node
        The node.
    shapes
        The symbolic sizes of its inputs.
    """

    def __init__(self, op: ShapedOp, node: Apply, shapes: Sequence[Any]) -> None:
        self._op = op
        self.node: Apply = node
        self.inputs: Sequence[Any] = node.inputs
        self.shapes = shapes
        self._checks: list[tuple[Any, Any, Any, str]] = []

    def number(self, value: int) -> Any:
        return value

    def value(self, position: int) -> Any:
        return self.inputs[position]

    def entries(self, position: int, count: int) -> Sequence[Any]:
        vector = self.inputs[position]
        if vector.type.shape[0] is None:
            return [as_size(vector[at]) for at in range(count)]
        return [as_size(entry) for entry in vector_elements(vector)]

    def equal(self, a: Any, b: Any, misfit: Misfit) -> Any:
        self._checks.append(("equal", a, b, self._op.misfit_subject(misfit, self)))
        return a

    def agreed(self, sizes: Sequence[Any], misfit: Misfit) -> Any:
        return sizes[0]

    def at_least(self, size: Any, least: int, misfit: Misfit) -> Any:
        is_checked = any(
            relation == "at least" and one is size and bound == least
            for relation, one, bound, _ in self._checks
        )
        if not is_checked and (least > 0 or not is_length(size)):
            subject = self._op.misfit_subject(misfit, self)
            self._checks.append(("at least", size, least, subject))
        return size

    def index(self, position: int) -> Any:
        return fold(self.inputs[position])

    def check_index(self, index: Any, size: Any, misfit: Misfit) -> None:
        subject = self._op.misfit_subject(misfit, self)
        self._checks.append(("index", index, size, subject))

    def sliced(self, size: Any, start: Any, stop: Any, step: Any) -> Any:
        return slice_length(fold(size), Slice(start, stop, step))

    def count(self, position: int) -> Any:
        return operators.sum(math.cast(math.neq(self.inputs[position], 0), "int64"))

    def reshaped(self, wanted: Sequence[Any], before: Sequence[Any], misfit: Misfit) -> Any:
        static: Any = self.node.outputs[0].type.shape  # pyright: ignore[reportAttributeAccessIssue]
        if None not in static:
            return static
        sizes = [
            fold(size) if known is None else known
            for size, known in zip(wanted, static, strict=True)
        ]
        inferred = [_inferred(sizes, dim, before) for dim in range(len(sizes))]
        results = list(map(as_size, inferred))
        stated = list(map(_as_stated, sizes, results))
        rest = [size for size in sizes if not (isinstance(size, int) and size == -1)]
        is_flat = len(rest) < len(sizes) and same_product(rest, ())
        if not is_flat and not same_product(before, stated):
            self.equal(multiply_sizes(map(fold, before)), multiply_sizes(map(fold, stated)), misfit)
        for dim, size in enumerate(sizes):
            self._check_inferred(size, sizes[:dim] + sizes[dim + 1 :])
        return results

    def _check_inferred(self, size: Any, others: Sequence[Any]) -> None:
        """Check that all other sizes are positive if one is -1: else they do not determine it."""
        unsure = [other for other in others if not (isinstance(other, int) and other > 0)]
        if not unsure or is_length(size):
            return
        smallest = reduce(self.least, unsure)
        if not isinstance(size, int):
            smallest = math.switch(math.lt(size, 0), smallest, 1)
        self.at_least(smallest, 1, _BESIDE)

    def total(self, lengths: Sequence[Any]) -> Any:
        total: Any = 0
        for size in lengths:
            total = add_sizes(total, fold(size))
        return total

    def infer(self, found: Sequence[Any]) -> list[Any]:
        """Return the shapes that a rule has returned, with the checks; known sizes are constants.

        Parameters
        ----------
        found
            The sizes of each output.
        """
        shapes: list[Any] = []
        for sizes, output in zip(found, self.node.outputs, strict=True):
            if sizes is None:  # of a Type without a shape
                shapes.append(None)
                continue
            static = getattr(output.type, "shape", None) or (None,) * len(sizes)
            shape = tuple(
                as_size(size) if known is None else constant(known)
                for size, known in zip(sizes, static, strict=True)
            )
            for relation, a, b, subject in self._checks:
                shape = with_check(shape, relation, a, b, subject)
            shapes.append(shape)
        return shapes


def _inferred(sizes: Sequence[Any], dim: int, old_shape: Sequence[Any]) -> Any:
    """Return one size of the result. Each of ``sizes`` is an int (possibly -1) or symbolic."""
    size = sizes[dim]
    if is_length(size):
        return size
    others = [other for position, other in enumerate(sizes) if position != dim]
    if not isinstance(size, int) and -1 in [other for other in others if isinstance(other, int)]:
        return size  # at most one size is -1
    total = multiply_sizes(fold(old) for old in old_shape)
    rest = multiply_sizes(others)
    if isinstance(rest, int) and rest > 0:  # then the number of elements determines the size
        return total // rest if isinstance(total, int) or rest > 1 else total
    remaining = math.floor_div(total, math.maximum(rest, 1))
    return remaining if isinstance(size, int) else _stated_or(size, remaining)


def _as_stated(size: Any, inferred: Any) -> Any:
    """Return the size that an entry of a shape asks for."""
    if isinstance(size, int) or is_length(size) or size is inferred:
        return inferred
    node = inferred.owner
    is_choice = node is not None and any(one is size for one in node.inputs)
    return inferred if is_choice else _stated_or(size, inferred)


def _stated_or(size: Any, inferred: Any) -> Any:
    """Return a size that is stated, or the inferred one if it is -1."""
    return math.switch(math.lt(size, 0), inferred, size)
