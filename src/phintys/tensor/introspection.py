"""What is known of variables before run time, and predicates on the kind of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import OpContractError
from phintys._base.names import public_dir
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import Alloc, full_like
from phintys.tensor.functions import ELEMENTWISE
from phintys.tensor.known import known_int
from phintys.tensor.observing import CheckAndRaise
from phintys.tensor.type import promote

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "common_type",
    "get_underlying_scalar_constant_value",
    "iscomplex",
    "iscomplexobj",
    "isreal",
    "isrealobj",
    "isscalar",
    "ndim",
]


def known_number(x: Variable) -> Any:
    """Return the number that all elements of a variable are known to be; ``None`` if there is none.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.introspection import known_number
    >>> float(known_number(pt.full_like(pt.dvector("x"), 2.5))), known_number(pt.dvector("x"))
    (2.5, None)
    """
    while (node := x.owner) is not None:
        if isinstance(node.op, CheckAndRaise):
            conditions = [known_number(condition) for condition in node.inputs[1:]]
            if not all(one is not None and bool(np.all(one)) for one in conditions):
                return None
            x = node.inputs[0]
        elif isinstance(node.op, Alloc):
            x = node.inputs[0]
        elif node.op == ELEMENTWISE["second"]:
            x = node.inputs[1]
        else:
            break
    if isinstance(x, Constant):
        return getattr(x, "unique_value", x.data)
    if all(isinstance(leaf, Constant) for leaf in graph_inputs([x])):
        values = np.asarray(x.eval())
        return values.flat[0] if values.size and np.all(values == values.flat[0]) else None
    return known_int(x)


def get_underlying_scalar_constant_value(x: Any) -> np.ndarray[Any, Any]:
    """Return the one number that all elements of a variable, or of an array, are known to be.

    Parameters
    ----------
    x
        A variable, an array or a number.

    Returns
    -------
    numpy.ndarray
        A 0-d array of its dtype.

    Raises
    ------
    OpContractError
        There is no such number, or it is not known.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.get_underlying_scalar_constant_value(pt.zeros((2, 3)))
    array(0.)
    """
    if isinstance(x, Variable):
        number = known_number(x)
        if number is None or np.size(number) != 1:
            msg = f"{x} is not constant: it is not known to be one number."
            raise OpContractError(msg)
        return np.asarray(number).reshape(())
    array = np.asarray(x)
    if array.size != 1 or array.dtype.kind not in "biufc":
        msg = f"{x!r} is not one number."
        raise OpContractError(msg)
    return array.reshape(())


__dir__ = public_dir(__name__)


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
