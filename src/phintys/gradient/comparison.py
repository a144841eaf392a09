"""Comparison of a symbolic gradient with a numeric one: differences and their likely reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.gradient.numeric import one_sided, tolerance_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]

__all__ = ["GradientComparison"]


@dataclass
class GradientComparison:
    """The symbolic and numeric gradients for one input or output.

    Parameters
    ----------
    position
        Index of the input (or output).
    at
        The input's value; ``None`` for an output.
    symbolic, numeric
        The two gradients.
    abs_tol, rel_tol
        An element is wrong if it is outside both.
    """

    position: int
    at: Array | None
    symbolic: Array
    numeric: Array
    abs_tol: float
    rel_tol: float

    def errors(self) -> tuple[Array, Array]:
        """Return the absolute and relative errors of each element."""
        with np.errstate(all="ignore"):
            a, n = self.symbolic.astype(self.numeric.dtype), self.numeric
            absolute = np.abs(a - n)
            absolute = np.where(np.isnan(absolute), np.inf, absolute)
            size = np.maximum(np.abs(a), np.abs(n))
            relative = np.where(absolute > 0, absolute / np.where(size > 0, size, 1), 0.0)
            return absolute, np.where(np.isnan(relative), np.inf, relative)

    def wrong(self) -> Array:
        """Return a mask of the elements outside both tolerances."""
        absolute, relative = self.errors()
        return (absolute > self.abs_tol) & (relative > self.rel_tol)

    def fails(self) -> bool:
        """Return whether any element, or the shape, is wrong."""
        return self.symbolic.shape != self.numeric.shape or bool(self.wrong().any())

    def worst(self) -> tuple[int, ...]:
        """Return the index of the element with the largest error."""
        absolute, relative = self.errors()
        badness = np.where(self.wrong(), np.minimum(absolute, relative), -1.0)
        return tuple(int(i) for i in np.unravel_index(int(badness.argmax()), badness.shape))

    def report(self, how: str) -> list[str]:
        """Return lines of text that describe the error."""
        if self.symbolic.shape != self.numeric.shape:
            shape = f"  its shape is {self.symbolic.shape}; it must be {self.numeric.shape}"
            return [f"{shape}, that of what it belongs to"]
        index = self.worst()
        absolute, relative = self.errors()
        at = "" if self.at is None else f", where the input is {self.at[index]:.8g}"
        tolerated = f"(tolerance {self.abs_tol:.3g})", f"(tolerance {self.rel_tol:.3g})"
        return [
            f"  element {list(index)}{at}",
            f"    symbolic: {self.symbolic[index]:.10g}",
            f"    numeric:  {self.numeric[index]:.10g}  ({how})",
            f"    absolute error {absolute[index]:.3g} {tolerated[0]}",
            f"    relative error {relative[index]:.3g} {tolerated[1]}",
            f"  {int(self.wrong().sum())} of {self.wrong().size} elements are wrong",
        ]

    def guess(self, cost: Callable[..., float], point: Sequence[Array], step: float) -> str:
        """Return a likely reason for the error."""
        a, n = self.symbolic, self.numeric
        if a.shape != n.shape:
            return "a broadcast input needs its gradient summed over what was broadcast."
        index = self.worst()
        if np.isnan(a[index]):
            return "the gradient's formula gives NaN here, as 0/0 or 0 * inf would."
        if np.isnan(n[index]):
            return "the function itself gives NaN next to this point; choose another."
        if self._has_kink(cost, point, step):
            return (
                "the function has a kink or a jump at this point: its slopes to the right and "
                "to the left differ; choose another point."
            )
        if not a.any():
            return "the gradient is zero everywhere: grad returns zeros, or a path got lost."
        if self._same(-a, n):
            return "a wrong sign."
        if a.ndim == 2 and a.shape[0] == a.shape[1] and self._same(a.T, n):
            return "a missing transpose."
        if np.iscomplexobj(a) and self._same(a.conj(), n):
            return "a missing conjugate: the gradient for z is dC/da + i dC/db."
        ratio = self._ratio()
        if ratio is not None:
            return f"a wrong factor: every element is {ratio:.6g} times what it should be."
        if self.rel_tol > tolerance_for(["float64"]):
            return "if the formula is right, rounding: try the same in float64."
        return "the formula in grad or L_op, or perform computing something else than it says."

    def _has_kink(self, cost: Callable[..., float], point: Sequence[Array], step: float) -> bool:
        right, left = one_sided(cost, point, self.position, self.worst(), step)
        scale = max(1.0, abs(right), abs(left))
        return abs(right - left) > max(self.abs_tol, 1e3 * step) * scale

    def _same(self, a: Array, n: Array) -> bool:
        return bool(np.allclose(a, n, rtol=self.rel_tol, atol=self.abs_tol))

    def _ratio(self) -> complex | None:
        large = np.abs(self.numeric) > self.abs_tol
        ratios = self.symbolic[large] / self.numeric[large]
        if ratios.size < 2 or not np.allclose(ratios, ratios[0], rtol=10 * self.rel_tol, atol=0):
            return None
        return ratios[0]
