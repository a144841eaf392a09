"""Application of scalar functions to arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class ArrayKernel:
    """Apply a scalar function to arrays, like a ufunc: with ``out`` and broadcasting.

    Parameters
    ----------
    function
        Returns one value, or a tuple with one value for each of ``dtypes``.
    takes_arrays
        Whether the function accepts arrays; otherwise it is called for each element, with NumPy
        scalars.
    dtypes
        Dtypes of the results.
    """

    def __init__(
        self, function: Callable[..., Any], takes_arrays: bool, dtypes: tuple[np.dtype[Any], ...]
    ) -> None:
        self.function = function
        self.takes_arrays = takes_arrays
        self.dtypes = dtypes

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        single = len(self.dtypes) == 1
        results = (self.function if self.takes_arrays else self._each_element)(*arrays)
        results = (results,) if single else results
        shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
        outs = (None,) * len(self.dtypes) if out is None else out
        finished = tuple(
            _store(result, dtype, shape, target)
            for result, dtype, target in zip(
                results, self.dtypes, outs if isinstance(outs, tuple) else (outs,), strict=True
            )
        )
        return finished[0] if single else finished

    def _each_element(self, *arrays: Any) -> Any:
        arrays = np.broadcast_arrays(*arrays)
        outs = [np.empty(arrays[0].shape, dtype) for dtype in self.dtypes]
        for place, values in enumerate(zip(*(array.flat for array in arrays), strict=True)):
            results = self.function(*values)
            for out, result in zip(outs, (results,) if len(outs) == 1 else results, strict=True):
                out.flat[place] = result
        return outs[0] if len(outs) == 1 else tuple(outs)


def _store(result: Any, dtype: np.dtype[Any], shape: tuple[int, ...], target: Any) -> Any:
    """Return ``result`` as an array of a given dtype and shape, stored in ``target`` if given."""
    if target is not None:
        np.copyto(target, np.asarray(result).astype(dtype, copy=False))
        return target
    result = np.asarray(result)
    if result.shape != shape:
        result = np.broadcast_to(result, shape).copy()
    return result.astype(dtype, copy=False)
