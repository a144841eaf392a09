"""Ops as users write them, for random graphs: with only Python code, views, overwritten inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys import scalar as ps
from phintys.graph.apply import Apply
from phintys.graph.op import Op

__all__ = [
    "both",
    "composite",
    "doubled",
    "keeping",
    "row",
    "strided",
    "taken",
    "view",
    "zeroed",
]


def row(name: str) -> pt.Elemwise:
    """Return a scalar op of the table, for tensors."""
    return pt.Elemwise(ps.SCALAR_OPS[name])


class _UserOp(Op):
    """An Op of one input whose outputs are of its type, but for sizes."""

    __props__ = ()
    nout = 1

    def make_node(self, x: Any) -> Apply:
        """Take a tensor."""
        x = pt.as_tensor_variable(x)
        return Apply(self, [x], [self._made(x) for _ in range(self.nout)])

    def _made(self, x: Any) -> Any:
        return x.type()

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        """Store what :meth:`compute` returns."""
        (x,) = inputs
        results = self.compute(x)
        for cell, result in zip(output_storage, results, strict=True):
            cell[0] = np.asarray(result)

    def compute(self, x: Any) -> Sequence[Any]:
        """Return the outputs for a value."""
        return [x]


class Doubled(_UserOp):
    """x + x, in new memory."""

    def compute(self, x: Any) -> Sequence[Any]:
        """Return a new array."""
        return [x + x]


class View(_UserOp):
    """x, in the memory of x."""

    view_map = {0: [0]}

    def compute(self, x: Any) -> Sequence[Any]:
        """Return the array itself, seen anew."""
        return [x[...]]


class Reversed(_UserOp):
    """x backwards along all axes, in the memory of x."""

    view_map = {0: [0]}

    def compute(self, x: Any) -> Sequence[Any]:
        """Return a view of negative strides."""
        return [np.flip(x)]


class Zeroed(_UserOp):
    """x with its first element set to 0, written over x."""

    destroy_map = {0: [0]}

    def compute(self, x: Any) -> Sequence[Any]:
        """Change the array."""
        if x.size:
            x[(0,) * x.ndim] = 0
        return [x]


class Both(_UserOp):
    """x, transposed twice as Fortran order, and a copy."""

    nout = 2

    def compute(self, x: Any) -> Sequence[Any]:
        """Return one array that is not contiguous, and one that is."""
        return [x.copy("F"), x.copy()]


class Keeping(_UserOp):
    """x + 0, and the Op keeps the array that it was given and the one that it returned."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def compute(self, x: Any) -> Sequence[Any]:
        """Keep both; let go of older ones."""
        result = x.copy()
        self.kept = [*self.kept[-6:], (x, result)]
        return [result]


class Taken(_UserOp):
    """x, as the array itself where native code hands it over; elsewhere as a copy."""

    kept_inputs = (0,)

    def made_anew(self, node: Apply) -> Any:
        """Return a function that returns the array that it is given."""
        return lambda x: (x,)

    def compute(self, x: Any) -> Sequence[Any]:
        """Return a new array."""
        return [x.copy()]


doubled = Doubled()
view = View()
strided = Reversed()
zeroed = Zeroed()
both = Both()
keeping = Keeping()
taken = Taken()


def _composite(dtype: ps.ScalarType) -> Op:
    x, y = dtype("x"), dtype("y")
    inner = ps.add(ps.mul(x, y), x)
    return pt.Elemwise(ps.Composite([x, y], [inner, ps.maximum(inner, y)]))


_COMPOSITES = {name: _composite(getattr(ps, name)) for name in ("float32", "float64", "int64")}


def composite(x: Any, y: Any) -> Any:
    """Apply a Composite of two outputs: ``x * y + x``, and the maximum of that and y."""
    wanted = np.result_type(x.dtype, y.dtype).name
    name = wanted if wanted in _COMPOSITES else "float64"
    return _COMPOSITES[name](pt.cast(x, name), pt.cast(y, name))
