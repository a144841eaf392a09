"""The dtypes of tensors by name: strings, which ``x.dtype`` can be compared with.

Abstract ones, for :func:`~phintys.tensor.issubdtype`, are NumPy's classes.
"""

from __future__ import annotations

import numpy as np

from phintys._base.names import public_dir

bool_ = bool = "bool"
int8 = "int8"
int16 = "int16"
int32 = "int32"
int64 = "int64"
uint8 = "uint8"
uint16 = "uint16"
uint32 = "uint32"
uint64 = "uint64"
float16 = "float16"
float32 = "float32"
float64 = "float64"
complex64 = "complex64"
complex128 = "complex128"

single, double = float32, float64
csingle, cdouble = complex64, complex128
int_, uint = int64, uint64

integer, signedinteger, unsignedinteger = np.integer, np.signedinteger, np.unsignedinteger
inexact, floating, complexfloating = np.inexact, np.floating, np.complexfloating
number = np.number

__all__ = [
    "bool",
    "bool_",
    "cdouble",
    "complex64",
    "complex128",
    "complexfloating",
    "csingle",
    "double",
    "float16",
    "float32",
    "float64",
    "floating",
    "inexact",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "integer",
    "number",
    "signedinteger",
    "single",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unsignedinteger",
]

__dir__ = public_dir(__name__)
