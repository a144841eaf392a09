"""Predicates on the kind of arrays and of their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.names import public_dir
from phintys.graph.variable import Variable
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import full_like
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["common_type", "iscomplex", "iscomplexobj", "isreal", "isrealobj", "isscalar", "ndim"]


def ndim(x: Any) -> int:
    """Return the number of dimensions, which is always known.

    Parameters
    ----------
    x
        A tensor, an array or a number.

    Returns
    -------
    int
        A Python integer, not a variable.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ndim(pt.matrix())
    2
    """
    return as_tensor_variable(x).ndim


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype is complex.

    Parameters
    ----------
    x
        A tensor, an array or a number.

    Returns
    -------
    bool
        A Python bool: complex numbers without imaginary parts count as complex.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.iscomplexobj(pt.zmatrix()), pt.iscomplexobj([1.0])
    (True, False)
    """
    return as_tensor_variable(x).type.numpy_dtype.kind == "c"


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex.

    Parameters
    ----------
    x
        A tensor, an array or a number.

    Returns
    -------
    bool
        A Python bool, the opposite of :func:`iscomplexobj`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isrealobj(pt.zmatrix())
    False
    """
    return not iscomplexobj(x)


def isscalar(x: Any) -> bool:
    """Return whether an object is one number, not an array: a variable of rank 0 is.

    Parameters
    ----------
    x
        Any object.

    Returns
    -------
    bool
        As in NumPy, false for a 0-d array; unlike in NumPy, true for a variable of rank 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isscalar(pt.dscalar()), pt.isscalar(2.0), pt.isscalar(pt.vector())
    (True, True, False)
    """
    return x.type.ndim == 0 if isinstance(x, Variable) else bool(np.isscalar(x))  # pyright: ignore[reportAttributeAccessIssue]


def iscomplex(x: Any) -> TensorVariable:
    """Return, elementwise, whether the imaginary part is not zero.

    Parameters
    ----------
    x
        A tensor of any dtype.

    Returns
    -------
    TensorVariable
        Bools, with the shape of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.iscomplex([1 + 1j, 2]).eval()
    array([ True, False])
    """
    if iscomplexobj(x):
        return math.neq(math.imag(x), 0)
    return full_like(x, False, "bool")


def isreal(x: Any) -> TensorVariable:
    """Return, elementwise, whether the imaginary part is zero.

    Parameters
    ----------
    x
        A tensor of any dtype.

    Returns
    -------
    TensorVariable
        Bools, with the shape of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.isreal([1 + 1j, 2]).eval()
    array([False,  True])
    """
    return math.logical_not(iscomplex(x))


def common_type(*arrays: Any) -> np.dtype[Any]:
    """Return the floating or complex dtype that holds all of the arrays' elements.

    Parameters
    ----------
    arrays
        Tensors, arrays or numbers.

    Returns
    -------
    numpy.dtype
        Integers and bools count as float64.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.common_type(pt.fmatrix(), pt.lscalar())
    dtype('float64')
    """
    dtypes = [as_tensor_variable(x).type.numpy_dtype for x in arrays]
    wide = ["float64" if dtype.kind in "biu" else dtype.name for dtype in dtypes]
    return np.dtype(promote("float16", *wide))


__dir__ = public_dir(__name__)
