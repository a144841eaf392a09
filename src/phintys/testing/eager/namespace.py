"""What the eager namespace has instead of functions of ``phintys.tensor``, or makes of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import tensor
from phintys._base.errors import ArgumentError
from phintys.tensor.devices import check_device
from phintys.tensor.type import DTYPES
from phintys.testing.eager.array import Array, evaluated

if TYPE_CHECKING:
    from types import ModuleType


def evaluating(symbolic: ModuleType) -> Callable[[str], Any]:
    """Return a function from a name in a module of symbolic functions to its eager counterpart.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.testing.eager.namespace import evaluating
    >>> evaluating(pt)("float32"), evaluating(pt)("zeros")(2)
    (dtype('float32'), Array([0., 0.]))
    """

    def member(name: str) -> Any:
        found = getattr(symbolic, name)
        if not callable(found) or inspect.isclass(found):
            return _dtype_of_name(found)

        @wraps(found)
        def call(*args: Any, **options: Any) -> Any:
            return _dtype_of_name(evaluated(found, *args, **options))

        return call

    return member


def _dtype_of_name(found: Any) -> Any:
    """Return a dtype for the name of one; anything else as it is."""
    return np.dtype(found) if isinstance(found, str) and found in DTYPES else found


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """Return numbers, nested lists of them, or an array, as an eager array.

    Parameters
    ----------
    obj
        An array of any library, a number, or nested lists of these.
    dtype
        Dtype of the elements.
    device
        ``"cpu"`` or ``None``.
    copy
        Whether an eager array is copied; ``None`` copies if its dtype is another one.

    Raises
    ------
    ArgumentError
        ``copy=False``, and a copy is needed.

    Examples
    --------
    >>> from phintys.testing import eager as xp
    >>> xp.asarray([1, 2], dtype=xp.float32)
    Array([1., 2.], dtype=float32)
    """
    check_device(device)
    fits = isinstance(obj, Array) and (dtype is None or obj.dtype == dtype)
    if fits and not copy:
        return obj
    if copy is False:
        msg = (
            f"{type(obj).__name__} must be copied to be an array of dtype {dtype}. "
            "Leave out copy=False."
        )
        raise ArgumentError(msg)
    return evaluated(tensor.asarray, obj, dtype=dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Return an array of another library, read through DLPack, without a copy unless asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.testing import eager as xp
    >>> xp.from_dlpack(np.arange(2.0))
    Array([0., 1.])
    """
    check_device(device)
    return Array(np.array(np.from_dlpack(x), copy=copy))


@dataclass(frozen=True)
class Limits:
    """The limits of a floating dtype, as Python's numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


def finfo(type: Any, /) -> Limits:
    """Return the limits of a floating dtype, as Python's numbers.

    Examples
    --------
    >>> from phintys.testing import eager as xp
    >>> xp.finfo(xp.float32).max
    3.4028234663852886e+38
    """
    found = evaluated(tensor.finfo, type)
    return Limits(
        bits=found.bits,
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=found.dtype,
    )
