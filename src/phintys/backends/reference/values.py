"""Fast checks of whether a value belongs to a Type."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from phintys.graph.type import Type


def value_test(type_: Type) -> Callable[[Any], bool]:
    """Return a function that returns whether a value belongs to a Type.

    For arrays it checks dtype and rank directly, which is several times faster than a method.
    """
    if type(type_) is TensorType and all(size is None for size in type_.shape):
        return _array_test(type_)
    return type_.is_valid_value


@lru_cache(maxsize=1024)
def _array_test(type_: TensorType) -> Callable[[Any], bool]:
    ndarray, dtype, ndim = np.ndarray, type_.numpy_dtype, type_.ndim
    is_valid = type_.is_valid_value

    def test(value: Any) -> bool:
        if value.__class__ is ndarray and value.dtype is dtype and value.ndim == ndim:
            return True
        return is_valid(value)

    return test


def normalised(type_: Type, value: Any) -> Any:
    """Return an invalid value in the form that its Type requires, if only its container differs.

    NumPy returns a scalar object where an operation on 0-d arrays has a 0-d result; such a scalar
    of the right dtype becomes a 0-d array. Anything else is returned unchanged.
    """
    if isinstance(value, np.generic) and isinstance(type_, TensorType):
        array = np.asarray(value)
        if type_.is_valid_value(array):
            return array
    return value
