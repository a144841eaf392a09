"""Casts: one op for each dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys.graph.variable import Variable
from phintys.scalar.constants import as_scalar
from phintys.scalar.op import Dtypes, unsupported_dtypes
from phintys.scalar.row import Row, dtype_of
from phintys.scalar.type import ScalarType, all_types, get_scalar_type


class Cast(Row):
    """A cast to one dtype. Use :func:`cast`, or ``CASTS[dtype]``.

    A cast that truncates or overflows does what NumPy's ``astype`` does. A complex number cannot be
    cast to a real one, which would silently discard its imaginary part.

    Parameters
    ----------
    dtype
        Name of the dtype.
    """

    def __init__(self, dtype: str) -> None:
        # The gradient is g, cast to the dtype of the input.
        super().__init__(f"cast_{dtype}", nin=1, derivative=lambda x, out: (1,))
        self.dtype = dtype
        self.scalar_type: ScalarType = get_scalar_type(dtype)

    @property
    def reference(self) -> str:
        """The origin of the function."""
        return "numpy:astype"

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        if dtypes[0].kind == "c" and self.scalar_type.numpy_dtype.kind not in "cb":
            hint = "Use real(x), imag(x) or abs(x) to make a complex number real."
            raise unsupported_dtypes(self, dtypes, "bools, integers, floats", hint)
        return (self.scalar_type.numpy_dtype,)

    def impl(self, *values: Any) -> Any:
        return np.asarray(values[0]).astype(self.scalar_type.numpy_dtype)[()]


CASTS: dict[str, Cast] = {type.dtype: Cast(type.dtype) for type in all_types}
"""The cast to each dtype, by the dtype's name."""


def cast(x: Any, dtype: Any) -> Any:
    """Return ``x`` cast to a dtype; ``x`` itself if it has that dtype.

    Parameters
    ----------
    x
        A scalar variable or number, or a variable of another type that scalar ops lift to.
    dtype
        A dtype or its name; ``"floatX"`` means ``config.floatX``.

    Raises
    ------
    DtypeError
        ``x`` is complex and the dtype is not.

    Examples
    --------
    >>> from phintys.scalar import cast, float64
    >>> cast(float64("x"), "int8").type
    ScalarType(int8)
    """
    if not isinstance(x, Variable):
        x = as_scalar(x)
    name = get_scalar_type(dtype).dtype
    return x if dtype_of(x).name == name else CASTS[name](x)
