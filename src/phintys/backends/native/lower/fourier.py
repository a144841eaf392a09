"""Lowering of Fourier transforms: own code for few numbers, SciPy's for many.

Own code transforms one axis after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from phintys.backends.native.limits import FOURIER_BLOCK, FOURIER_BLOCK_POINTS, OWN_FOURIER_NUMBERS
from phintys.backends.native.lower.lowering import Lowering, lowers
from phintys.backends.native.lower.own_or_python import check_own, own_or_python
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.fourier import COMPLEX, NORMS, OF_REAL, TO_REAL, room
from phintys.backends.native.steps.call import LibraryCall, Routine
from phintys.graph.apply import Apply
from phintys.tensor.fourier import FFT, IRFFT, RFFT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

_WHY = "SciPy transforms many numbers faster"


@lowers(FFT, RFFT, IRFFT)
def lower_transform(op: FFT | RFFT | IRFFT, node: Apply, lowering: Lowering) -> None:
    """``out[j] = sum(x[k] * exp(-2 pi i j k / n))``, or its inverse, along axes."""
    sizes = lowering.sizes
    x = lowering.view(node.inputs[0])
    count = sizes.product(list(x.sizes))
    check_own(lowering, count, OWN_FOURIER_NUMBERS, _WHY)
    (shape,) = op.output_shapes(NativeShapes(node, lowering))
    transforms = _Transforms(op, node, lowering, shape)
    own_or_python(node, lowering, shape, (count, OWN_FOURIER_NUMBERS, _WHY), transforms.add)


class _Transforms:
    """The calls for the axes of a node; each writes an array from that of the one before."""

    def __init__(
        self, op: FFT | RFFT | IRFFT, node: Apply, lowering: Lowering, shape: Sequence[Size]
    ) -> None:
        self.op, self.node, self.lowering, self.shape = op, node, lowering, shape
        self.x = lowering.view(node.inputs[0])
        self.dtype = np.result_type(self.x.array.dtype, np.complex64)
        self.part = "float32" if self.dtype == np.complex64 else "float64"
        self.is_inverse = isinstance(op, IRFFT) or (isinstance(op, FFT) and op.inverse)
        divides = {"backward": self.is_inverse, "forward": not self.is_inverse, "ortho": True}
        divisor = "root" if op.norm == "ortho" else "points"
        self.norm = NORMS.index(divisor if divides[op.norm] else "none")

    def add(self, target: View) -> None:
        """Add the calls: that for a halved axis is the first one, or on the way back the last."""
        op, lowering = self.op, self.lowering
        axes = list(op.axes)
        routines: list[Routine] = [COMPLEX] * len(axes)
        if isinstance(op, RFFT):
            routines[-1] = OF_REAL
            axes.reverse()
            routines.reverse()
        elif isinstance(op, IRFFT):
            routines[-1] = TO_REAL
        dtype = self.x.array.dtype if isinstance(op, RFFT) else self.dtype
        if self.x.array.dtype == dtype:
            source = lowering.contiguous(self.x, self.node).array
        else:
            source = lowering.copied(self.x, self.node, dtype).array
        shape = self.x.sizes
        for axis, routine in zip(axes, routines, strict=True):
            of_points = self.shape if routine is TO_REAL else shape
            shape = self.x.sizes if routine is COMPLEX and isinstance(op, IRFFT) else self.shape
            is_last = axis == axes[-1]
            made = target.array if is_last else lowering.array(self.dtype, shape)
            self._add(routine, source, made, axis, of_points)
            source = made

    def _add(
        self, routine: Routine, source: Array, target: Array, axis: int, shape: Sequence[Size]
    ) -> None:
        """Add the call that transforms along an axis of an array with a shape."""
        sizes, fixed = self.lowering.sizes, self.lowering.sizes.fixed
        n = sizes.canonical(shape[axis])
        inner = sizes.product(list(shape[axis + 1 :]))
        count = sizes.product([*shape[:axis], inner])
        points = sizes.arithmetic("max", n, fixed(1))
        fitting = sizes.arithmetic("floordiv", fixed(FOURIER_BLOCK_POINTS), points)
        most = sizes.arithmetic("min", fitting, fixed(FOURIER_BLOCK))
        block = sizes.arithmetic("min", count, sizes.arithmetic("max", most, fixed(1)))
        options = {
            "n": n,
            "inner": inner,
            "count": count,
            "block": block,
            "inverse": fixed(int(self.is_inverse)),
            "norm": fixed(self.norm),
        }
        if n.known is None and not self.lowering.is_exported:
            n = sizes.arithmetic("min", n, fixed(2 * OWN_FOURIER_NUMBERS))
        length = room(sizes, n, block, is_real=routine is not COMPLEX)
        workspace = (self.lowering.array(self.part, (length,)),)
        call = LibraryCall(routine, (source,), (target,), options, self.node, workspace)
        self.lowering.steps.append(call)
