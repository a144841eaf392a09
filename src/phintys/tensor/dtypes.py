"""Dtypes and what is known of them, without arrays: the functions of NumPy and the array API."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.errors import DtypeError
from phintys._base.names import public_dir
from phintys.graph.variable import Variable
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import DTYPES, TensorType, normalize_dtype, promote

__all__ = [
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "issubdtype",
    "min_scalar_type",
    "promote_types",
    "result_type",
]

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _numpy_dtype(x: Any) -> np.dtype[Any]:
    """Return the dtype that a variable, a Type, an array or a dtype has or names."""
    if isinstance(x, Variable):
        x = x.type
    if isinstance(x, TensorType):
        return x.numpy_dtype
    named = getattr(x, "dtype", x)
    return np.dtype(named if isinstance(named, np.dtype) else normalize_dtype(named))


def finfo(x: Any) -> np.finfo[Any]:
    """Return the limits of a floating dtype.

    Parameters
    ----------
    x
        A dtype or its name, or a variable.

    Returns
    -------
    numpy.finfo
        NumPy's object: ``eps``, ``max``, ``min``, ``tiny`` and more.

    Raises
    ------
    DtypeError
        The dtype is not floating.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> float(pt.finfo("float32").eps)
    1.1920928955078125e-07
    """
    dtype = _numpy_dtype(x)
    if dtype.kind not in "fc":
        msg = f"finfo takes a floating dtype, got {dtype}. Use pt.iinfo for integers."
        raise DtypeError(msg)
    return np.finfo(dtype)


def iinfo(x: Any) -> np.iinfo[Any]:
    """Return the limits of an integer dtype.

    Parameters
    ----------
    x
        A dtype or its name, or a variable.

    Returns
    -------
    numpy.iinfo
        NumPy's object: ``bits``, ``max`` and ``min``.

    Raises
    ------
    DtypeError
        The dtype is not an integer dtype.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.iinfo(pt.lscalar()).max
    9223372036854775807
    """
    dtype = _numpy_dtype(x)
    if dtype.kind not in "iu":
        msg = f"iinfo takes an integer dtype, got {dtype}. Use pt.finfo for floats."
        raise DtypeError(msg)
    return np.iinfo(dtype)


def promote_types(a: Any, b: Any) -> str:
    """Return the dtype to which two dtypes are promoted.

    Parameters
    ----------
    a, b
        Dtypes, or their names.

    Returns
    -------
    str
        The name of the dtype; see :func:`result_type` for arrays and numbers.

    Raises
    ------
    TypeContractError
        A dtype is not one that tensors have.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.promote_types("int64", "float32")
    'float64'
    """
    return promote(str(_numpy_dtype(a)), str(_numpy_dtype(b)))


def result_type(*operands: Any) -> str:
    """Return the dtype of a result of arithmetic.

    Parameters
    ----------
    *operands
        Variables, arrays, dtypes or their names, and Python numbers, which only say whether the
        result is at least an integer, a float or complex.

    Returns
    -------
    str
        The name of the dtype.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.result_type(pt.fvector(), 1.0), pt.result_type("int8", 2.5)
    ('float32', 'float64')
    """
    known = [x if _is_number(x) else _numpy_dtype(x) for x in operands]
    return str(np.result_type(*known))


def _is_number(x: Any) -> bool:
    return type(x) in {bool, int, float, complex}


@also_named
def can_cast(source: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether a dtype can be cast to another by a rule.

    Parameters
    ----------
    source, to
        Dtypes or their names, or variables.
    casting
        ``"no"``, ``"equiv"``, ``"safe"``, ``"same_kind"`` or ``"unsafe"``, as in NumPy.

    Returns
    -------
    bool
        A Python bool.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.can_cast("int32", "float64"), pt.can_cast("int64", "float32")
    (True, False)
    """
    return bool(np.can_cast(_numpy_dtype(source), _numpy_dtype(to), casting))  # pyright: ignore[reportArgumentType]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Return whether a dtype is of a kind.

    Parameters
    ----------
    dtype
        A dtype or its name, or a variable.
    kind
        ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"`` or ``"numeric"``; a dtype; or a tuple of these.

    Returns
    -------
    bool
        A Python bool.

    Raises
    ------
    DtypeError
        The kind is unknown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isdtype("float32", ("integral", "real floating"))
    True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    own = _numpy_dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS and kind not in DTYPES:
        return own.kind in _KINDS[kind]
    return own == _numpy_dtype(kind)


def min_scalar_type(a: Any) -> str:
    """Return the smallest dtype that holds a number, or the dtype of an array.

    Parameters
    ----------
    a
        A number; or an array or a variable, whose elements are not looked at.

    Returns
    -------
    str
        The name of the dtype.

    Raises
    ------
    DtypeError
        No dtype of tensors holds ``a``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.min_scalar_type(300), pt.min_scalar_type(pt.fvector())
    ('uint16', 'float32')
    """
    if isinstance(a, Variable) or np.ndim(a):
        return _numpy_dtype(a).name
    return normalize_dtype(np.min_scalar_type(a))


def issubdtype(dtype: Any, parent: Any) -> bool:
    """Return whether a dtype is a kind of another, or of an abstract one such as ``np.floating``.

    Parameters
    ----------
    dtype
        A dtype, or its name.
    parent
        A dtype, its name, or an abstract class of NumPy such as ``np.integer``.

    Returns
    -------
    bool
        Equal dtypes are kinds of each other.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.issubdtype(pt.fvector().dtype, np.floating)
    True
    """
    abstract = isinstance(parent, type) and issubclass(parent, np.generic)
    return bool(np.issubdtype(_numpy_dtype(dtype), parent if abstract else _numpy_dtype(parent)))


__dir__ = public_dir(__name__)
