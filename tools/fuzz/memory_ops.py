"""Ops as users write them, for random graphs: views, and overwritten inputs, of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.passes import register_inplace
from phintys.tensor.type import TensorType

__all__ = [
    "MemoryOp",
    "Shift",
    "crossed",
    "dipped",
    "double_negated",
    "exchanged",
    "first",
    "halves",
    "larger",
    "largest",
    "late",
    "merged",
    "scratch",
    "scratch_one",
    "shift",
    "summed_and_seen",
    "swapped",
    "trap",
]

Array = np.ndarray[Any, Any]
Positions = Mapping[Any, list[int]]


class MemoryOp(Op):
    """An Op of several arrays of one shape, given by its maps and a function of arrays.

    Parameters
    ----------
    name
        For people.
    compute
        Takes the arrays, may overwrite those of ``destroys``, and returns the outputs.
    nout
        How many outputs there are, all of the inputs' type but for sizes.
    views, destroys
        ``view_map`` and ``destroy_map``.
    drops
        By how much the rank of the outputs is lower.
    """

    __props__ = ("name",)

    def __init__(
        self,
        name: str,
        compute: Callable[..., Sequence[Array]],
        nout: int = 1,
        *,
        views: Positions | None = None,
        destroys: Positions | None = None,
        drops: int = 0,
    ) -> None:
        self.name = name
        self.drops = drops
        self.compute = compute
        self.nout = nout
        self.view_map = dict(views or {})
        self.destroy_map = dict(destroys or {})

    def make_node(self, *inputs: Any) -> Apply:
        """Take tensors of one dtype and rank."""
        xs = [pt.as_tensor_variable(x) for x in inputs]
        (dtype,) = {x.dtype for x in xs}
        (ndim,) = {x.ndim for x in xs}
        known = (None,) * (ndim - self.drops)
        return Apply(self, xs, [TensorType(dtype, known)() for _ in range(self.nout)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Store what the function returns."""
        for cell, result in zip(output_storage, self.compute(*inputs), strict=True):
            cell[0] = np.asarray(result)


def _overwritten(x: Array, value: Array) -> Array:
    x[...] = value
    return x


def _merged(x: Array, y: Array) -> Sequence[Array]:
    x += y
    y[...] = 0
    return [x]


def _swapped(x: Array, y: Array) -> Sequence[Array]:
    x[...], y[...] = y.copy(), x.copy()
    return [x, y]


def _crossed(x: Array, y: Array) -> Sequence[Array]:
    total, apart = x + y, x - y
    return [_overwritten(y, total), _overwritten(x, apart)]


def _scratch(x: Array, y: Array) -> Sequence[Array]:
    total = x + y
    x[...] = y[...] = 0
    return [total]


def _scratch_one(x: Array, y: Array) -> Sequence[Array]:
    apart = x - y
    y[...] = 0
    return [apart]


def _double_negated(x: Array) -> Sequence[Array]:
    x *= -2
    return [x, np.flip(x)]


def _summed_and_seen(x: Array, y: Array) -> Sequence[Array]:
    x += y
    return [x, np.flip(y)]


def _dipped(x: Array) -> Sequence[Array]:
    x -= 1
    return [x[...]]


def _larger(*xs: Array) -> Sequence[Array]:
    return [max(xs, key=lambda x: x.sum())]


larger = MemoryOp("larger", _larger, views={0: [0, 1]})
largest = MemoryOp("largest", _larger, views={0: [0, 1, 2]})
exchanged = MemoryOp("exchanged", lambda x, y: [y, x], 2, views={0: [1], 1: [0]})
halves = MemoryOp(
    "halves", lambda x: [x[: len(x) // 2], x[len(x) // 2 :]], 2, views={0: [0], 1: [0]}
)
first = MemoryOp("first", lambda x: [x[0]], views={0: [0]}, drops=1)
swapped = MemoryOp("swapped", _swapped, 2, destroys={0: [0], 1: [1]})
crossed = MemoryOp("crossed", _crossed, 2, destroys={0: [1], 1: [0]})
merged = MemoryOp("merged", _merged, destroys={0: [0, 1]})
scratch = MemoryOp("scratch", _scratch, destroys={None: [0, 1]})
scratch_one = MemoryOp("scratch_one", _scratch_one, destroys={None: [1]})
late = MemoryOp("late", lambda x: [x + 1, _overwritten(x, -x)], 2, destroys={1: [0]})
double_negated = MemoryOp("double_negated", _double_negated, 2, destroys={0: [0], 1: [0]})
summed_and_seen = MemoryOp(
    "summed_and_seen", _summed_and_seen, 2, destroys={0: [0]}, views={1: [1]}
)
dipped = MemoryOp("dipped", _dipped, destroys={0: [0]}, views={0: [0]})


class Shift(MemoryOp):
    """x + 3; in the memory of x by its twin, which the pass ``inplace`` may put in its place."""

    def __init__(self, inplace: bool = False) -> None:
        if inplace:
            super().__init__("shift_inplace", self._in_place, destroys={0: [0]})
        else:
            super().__init__("shift", lambda x: [x + 3])

    @staticmethod
    def _in_place(x: Array) -> Sequence[Array]:
        x += 3
        return [x]


shift = Shift()
register_inplace(shift, Shift(inplace=True))


class Trap(Op):
    """x, as a copy, if a number is not negative; otherwise an error."""

    __props__ = ()

    def make_node(self, x: Any, number: Any) -> Apply:
        """Take a tensor and a number."""
        x, number = pt.as_tensor_variable(x), pt.as_tensor_variable(number)
        return Apply(self, [x, number], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Raise ValueError if the number is negative."""
        x, number = inputs
        if number < 0:
            msg = "trapped"
            raise ValueError(msg)
        output_storage[0][0] = x.copy()


trap = Trap()
