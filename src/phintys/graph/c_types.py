"""The names of dtypes in C, as NumPy's headers have them."""

from __future__ import annotations

from typing import Any

import numpy as np

_BY_DTYPE = {
    name: (f"npy_{name}", f"NPY_{name.upper()}")
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_BY_DTYPE["float16"] = ("npy_half", "NPY_HALF")


def c_names(dtype: Any) -> tuple[str, str]:
    """Return the name of a dtype in C, and of its number.

    Examples
    --------
    >>> from phintys.graph.c_types import c_names
    >>> c_names("float64")
    ('npy_float64', 'NPY_FLOAT64')
    """
    return _BY_DTYPE[np.dtype(dtype).name]
