"""Derivatives by finite differences, and their tolerances."""

from __future__ import annotations

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
