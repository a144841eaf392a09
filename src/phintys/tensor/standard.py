"""Other names of the array API standard, constants, and what it requires beside functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import config
from phintys._base.names import public_dir
from phintys.tensor import dtypes, math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.devices import DEVICE, check_device, takes_device
from phintys.tensor.dim_shuffle import shape_padleft, transpose
from phintys.tensor.joining import concatenate
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import DTYPES, MOST_DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.convert import TensorLike
    from phintys.tensor.variable import TensorVariable

__all__ = [
    "NamespaceInfo",
    "__array_namespace_info__",
    "around",
    "array",
    "asarray",
    "ascontiguousarray",
    "astype",
    "concat",
    "copy",
    "e",
    "euler_gamma",
    "from_dlpack",
    "inf",
    "nan",
    "newaxis",
    "permute_dims",
    "pi",
]


e: float = np.e
euler_gamma: float = np.euler_gamma
inf: float = np.inf
nan: float = np.nan
newaxis = None
pi: float = np.pi

__dir__ = public_dir(__name__)


around = math.round
"""NumPy's other name of it."""


@takes_device
def asarray(x: Any, dtype: Any = None, *, copy: bool | None = None) -> TensorLike:
    """Return anything that holds numbers as a tensor.

    Parameters
    ----------
    x
        A tensor, an array of any library, a number, or nested lists of these.
    dtype
        Dtype to which the elements are cast.
    copy
        Accepted and ignored: a symbolic array never changes.

    Returns
    -------
    TensorVariable or TensorConstant
        A variable as it is, anything else as a constant.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.asarray([1, 2], dtype="float32").dtype
    'float32'
    """
    found = as_tensor_variable(x)
    return found if dtype is None else math.cast(found, dtype)


array = asarray


def ascontiguousarray(a: Any, dtype: Any = None) -> TensorVariable:
    """Return a tensor of at least one dimension. Where its elements lie is decided by the compiler.

    Parameters
    ----------
    a
        A tensor, an array, a number, or a list of such.
    dtype
        The dtype of the result, by default that of ``a``.

    Returns
    -------
    TensorVariable
        With the elements of ``a``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ascontiguousarray(3.0).eval()
    array([3.])
    """
    found: Any = asarray(a, dtype)
    return shape_padleft(found) if found.ndim == 0 else found


@takes_device
def astype(x: Any, dtype: Any, *, copy: bool = True) -> TensorVariable:
    """Return the elements cast to a dtype; see :func:`cast`.

    Parameters
    ----------
    x
        A tensor.
    dtype
        A dtype, or its name.
    copy
        Accepted for compatibility with the array API: graphs do not change ``x``.

    Returns
    -------
    TensorVariable
        A tensor with the shape of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.astype([1.5, 2.5], "int8").eval()
    array([1, 2], dtype=int8)
    """
    return math.cast(x, dtype)


def concat(tensors: Sequence[Any], *, axis: int | None = 0) -> TensorVariable:
    """Return arrays one after the other along an axis, or all of their elements for ``None``.

    Parameters
    ----------
    tensors
        Tensors of equal rank, whose sizes may differ in dimension ``axis`` only.
    axis
        The dimension, an int; ``None`` flattens first.

    Returns
    -------
    TensorVariable
        Its dtype is that to which the tensors promote.

    Raises
    ------
    ShapeError
        The ranks or sizes do not match, or ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.concat([[[1, 2]], [[3, 4]]], axis=None).eval()
    array([1, 2, 3, 4])
    """
    return concatenate(tensors, axis)


@also_named
def copy(x: Any, order: str = "K") -> TensorVariable:
    """Return a new variable with the same value.

    Parameters
    ----------
    x
        A tensor.
    order
        Accepted for compatibility with NumPy's signature and ignored.

    Returns
    -------
    TensorVariable
        A variable of the type of ``x``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.copy([1, 2]).eval()
    array([1, 2])
    """
    return math.tensor_copy(x)


def permute_dims(x: Any, axes: Sequence[int]) -> TensorVariable:
    """Return an array with its dimensions in another order.

    Parameters
    ----------
    x
        A tensor.
    axes
        All dimensions of ``x``, in their new order; unlike for :func:`transpose` there is no
        default.

    Returns
    -------
    TensorVariable
        A view of ``x``.

    Raises
    ------
    ShapeError
        ``axes`` has another length than ``x`` has dimensions.
    OpContractError
        ``axes`` names a dimension twice.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.permute_dims([[1, 2]], (1, 0)).eval()
    array([[1],
           [2]])
    """
    return transpose(x, axes)


@takes_device
def from_dlpack(x: Any, *, copy: bool | None = None) -> TensorLike:
    """Return an array of another library as a constant, read through DLPack.

    Parameters
    ----------
    x
        An array on the CPU that has ``__dlpack__``.
    copy
        Accepted and ignored: constants own their data.

    Returns
    -------
    TensorConstant
        A constant with the shape and dtype of the array.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.from_dlpack(np.arange(3.0)).eval()
    array([0., 1., 2.])
    """
    return as_tensor_variable(np.from_dlpack(x))


class NamespaceInfo:
    """What the namespace can do, in the terms of the array API.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> info = pt.__array_namespace_info__()
    >>> info.default_device(), info.default_dtypes()["integral"]
    ('cpu', dtype('int64'))
    """

    def capabilities(self) -> dict[str, Any]:
        """Return whether boolean indices and shapes that depend on data work; most dimensions."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MOST_DIMENSIONS,
        }

    def default_device(self) -> str:
        """Return the name of the device."""
        return DEVICE

    def devices(self) -> tuple[str, ...]:
        """Return the names of all devices."""
        return (DEVICE,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of new arrays, by kind."""
        check_device(device)
        floats = np.dtype(config.floatX)
        return {
            "real floating": floats,
            "complex floating": np.result_type(floats, np.complex64),
            "integral": np.dtype("int64"),
            "indexing": np.dtype("int64"),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of a kind, such as ``"real floating"``, or of several; or all."""
        check_device(device)
        names = [name for name in DTYPES if name != "float16"]  # which the standard does not know
        return {
            name: np.dtype(name) for name in names if kind is None or dtypes.isdtype(name, kind)
        }


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """Return the capabilities of the namespace; see :class:`NamespaceInfo`."""
    return NamespaceInfo()
