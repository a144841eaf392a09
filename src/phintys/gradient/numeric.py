"""Derivatives by finite differences: tolerances, and comparison with symbolic ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import GradientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Array = np.ndarray[Any, Any]


# Central differences err by h²f'''/6 from truncating the Taylor series and by about u f / h from
# rounding (u: the unit of the dtype); h = u^(1/3) balances the two, which leaves u^(2/3).
_STEPS = {"float64": 6e-6, "float32": 5e-3, "float16": 1e-1}
_TOLERANCES = {"float64": 1e-5, "float32": 5e-3, "float16": 5e-2}


def _real_name(dtype: Any) -> str:
    name = np.empty(0, dtype).real.dtype.name
    return name if name in _STEPS else "float64"


def coarsest(dtypes: Sequence[Any]) -> str:
    """Return the real dtype of lowest precision among those given."""
    return min((_real_name(dtype) for dtype in dtypes), key=lambda name: np.dtype(name).itemsize)


def step_for(dtypes: Sequence[Any]) -> float:
    """Return the central difference step for some dtypes: that of the coarsest."""
    return _STEPS[coarsest(dtypes)]


def tolerance_for(dtypes: Sequence[Any]) -> float:
    """Return the expected error of central differences in the coarsest of some dtypes."""
    return _TOLERANCES[coarsest(dtypes)]


def numeric_grad(f: Callable[..., Any], pt: Sequence[Any], eps: float | None = None) -> list[Array]:
    """Return the gradient of a function at a point, by central differences.

    Parameters
    ----------
    f
        Takes one array for each entry of ``pt`` and returns a real number.
    pt
        The point: a list of floating or complex arrays.
    eps
        Step for numbers up to 1; larger numbers take a proportionally larger step. The default
        depends on the dtypes.

    Returns
    -------
    list of ndarray
        For each array the derivatives with respect to its elements, of its shape, in float64 or
        complex128. For complex ``a + ib`` they are ``df/da + i df/db``.

    Raises
    ------
    GradientError
        ``pt`` contains anything but floating or complex arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.gradient import numeric_grad
    >>> (gradient,) = numeric_grad(lambda x: (x**2).sum(), [np.array([1.0, -2.0])])
    >>> np.round(gradient, 6)
    array([ 2., -4.])
    """
    arrays = [np.array(value) for value in pt]
    for position, array in enumerate(arrays):
        if array.dtype.kind not in "fc":
            msg = (
                f"Finite differences need floating or complex numbers; pt[{position}] is of dtype "
                f"{array.dtype}."
            )
            raise GradientError(msg)
    step = step_for([array.dtype for array in arrays]) if eps is None else eps
    found: list[Array] = []
    for array in arrays:
        complex_input = array.dtype.kind == "c"
        gradient = np.zeros(array.shape, "complex128" if complex_input else "float64")
        for index in np.ndindex(array.shape):
            gradient[index] = _central(f, arrays, array, index, step)
            if complex_input:
                gradient[index] += 1j * _central(f, arrays, array, index, step * 1j)
        found.append(gradient)
    return found


def _central(
    f: Callable[..., Any], arrays: Sequence[Array], array: Array, index: Any, step: complex
) -> float:
    """Return the difference quotient for one element of one of ``arrays``, in place."""
    (right, ahead), (left, behind) = _sides(f, arrays, array, index, step)
    return (right - left) / abs(ahead - behind)


def _sides(
    f: Callable[..., Any], arrays: Sequence[Array], array: Array, index: Any, step: complex
) -> Iterator[tuple[float, complex]]:
    """Yield the value of ``f``, and the element itself, one step ahead and one step behind."""
    here = array[index]
    for side in (step, -step):
        array[index] = here + side * max(1.0, abs(complex(here)))
        # The stored value is rounded, so the step actually taken is read back.
        yield float(f(*arrays)), complex(array[index])
        array[index] = here


def one_sided(
    f: Callable[..., Any], pt: Sequence[Any], position: int, index: Any, step: float
) -> tuple[float, float]:
    """Return the one-sided difference quotients of one element, from the right and the left.

    Where they differ, the function has a kink or a jump.
    """
    arrays = [np.array(value) for value in pt]
    middle, here = float(f(*arrays)), complex(arrays[position][index])
    (right, ahead), (left, behind) = _sides(f, arrays, arrays[position], index, step)
    return (right - middle) / abs(ahead - here), (middle - left) / abs(here - behind)


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
