"""Old functions and classes whose signatures differ from those of Phintys."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import ShapeError, TypeContractError
from phintys._base.late import LateModule
from phintys.compat.old_classes import StandsFor
from phintys.gradient import ConsiderConstant, DisconnectedGrad, ZeroGrad
from phintys.graph import HasInnerGraph as HasGraph
from phintys.graph import SharedVariable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from phintys import sparse
else:
    sparse = LateModule("phintys.sparse")

_SPARSE_FORMATS = ("csr", "csc")

__all__ = [
    "DimShuffle",
    "HasInnerGraph",
    "Join",
    "OrderedUpdates",
    "Rebroadcast",
    "Split",
    "TensorType",
    "addbroadcast",
    "all_dtypes",
    "asarray",
    "col",
    "complex_dtypes",
    "consider_constant_",
    "continuous_dtypes",
    "disconnected_grad_",
    "discrete_dtypes",
    "dot",
    "flatten",
    "float_dtypes",
    "horizontal_stack",
    "inc_subtensor",
    "int_dtypes",
    "integer_dtypes",
    "iround",
    "matrix",
    "matrix_dot",
    "patternbroadcast",
    "row",
    "scalar",
    "set_subtensor",
    "stack",
    "std",
    "tensor",
    "tensor3",
    "tensor4",
    "tensor5",
    "tensor6",
    "tensor7",
    "uint_dtypes",
    "unbroadcast",
    "var",
    "vector",
    "vertical_stack",
    "zero_grad_",
]


consider_constant_ = ConsiderConstant()
disconnected_grad_ = DisconnectedGrad()
zero_grad_ = ZeroGrad()

int_dtypes = [type_.dtype for type_ in ps.int_types]
uint_dtypes = [type_.dtype for type_ in ps.uint_types]
integer_dtypes = int_dtypes + uint_dtypes
float_dtypes = [type_.dtype for type_ in ps.float_types]
complex_dtypes = [type_.dtype for type_ in ps.complex_types]
discrete_dtypes = [type_.dtype for type_ in ps.discrete_types]
continuous_dtypes = [type_.dtype for type_ in ps.continuous_types]
all_dtypes = [type_.dtype for type_ in ps.all_types]


class TensorType(metaclass=StandsFor):
    """``TensorType(dtype, broadcastable)``, or with a shape of sizes and ``None``."""

    core = pt.TensorType

    def __new__(
        cls, dtype: Any, broadcastable: Any = None, name: str | None = None, shape: Any = None
    ) -> Any:
        """Return the type."""
        return pt.TensorType(dtype, _as_shape(broadcastable if shape is None else shape))

    @staticmethod
    def values_eq(a: Any, b: Any, force_same_dtype: bool = True) -> bool:
        """Return whether two arrays are equal, with NaN equal to NaN."""
        if force_same_dtype and a.dtype != b.dtype:
            return False
        return _type_of(a).values_eq(a, b)

    @staticmethod
    def values_eq_approx(a: Any, b: Any, **options: Any) -> bool:
        """Return whether two arrays are equal up to rounding; options have no effect."""
        return _type_of(a).values_eq_approx(a, b)

    may_share_memory = staticmethod(pt.TensorType.may_share_memory)


def _type_of(array: Any) -> Any:
    """Return the type of all arrays of a dtype and rank."""
    return pt.TensorType(array.dtype.name, (None,) * array.ndim)


def _as_shape(pattern: Iterable[Any] | None) -> tuple[int | None, ...]:
    """Return a static shape from bools (whether a dimension broadcasts) or sizes."""
    if pattern is None:
        return ()
    return tuple(
        (1 if entry else None) if isinstance(entry, bool | np.bool_) else entry for entry in pattern
    )


def _is_dtype(given: Any) -> bool:
    """Return whether an argument is a dtype rather than a name; Aesara had the dtype first."""
    return isinstance(given, type | np.dtype) or given == "floatX" or given in all_dtypes


def tensor(*arguments: Any, **options: Any) -> Any:
    """Return a variable: ``tensor(dtype, broadcastable, name)``, or with ``shape=``."""
    old = ("dtype", "broadcastable", "name")
    if "shape" in options and "broadcastable" not in options:
        if arguments and _is_dtype(arguments[0]):
            arguments = (None, *arguments)
        named = dict(zip(("name", "dtype"), arguments, strict=False)) | options
        named["shape"] = _as_shape(named["shape"])
        return pt.tensor(named.pop("name", None), **named)
    given = dict(zip(old, arguments, strict=False)) | options
    type_ = pt.TensorType(given.get("dtype", "floatX"), _as_shape(given.get("broadcastable")))
    return type_.make_variable(given.get("name"))


class Split(metaclass=StandsFor):
    """``Split(n)(x, axis, sizes)``."""

    core = pt.Split

    def __new__(cls, len_splits: int) -> Any:
        """Return a function that splits a tensor into ``len_splits`` parts."""
        return lambda x, axis, splits: pt.split(x, splits, len_splits, axis)


class Join(metaclass=StandsFor):
    """``Join()(axis, a, b)``."""

    core = pt.Join

    def __new__(cls, view: int = -1) -> Any:
        """Return a function that joins tensors."""
        return pt.join


class DimShuffle(metaclass=StandsFor):
    """``DimShuffle(input_broadcastable, new_order)``."""

    core = pt.DimShuffle

    def __new__(
        cls,
        input_broadcastable: Sequence[bool] | int = (),
        new_order: Sequence[Any] = (),
        inplace: bool = True,
        *,
        input_ndim: int | None = None,
    ) -> Any:
        """Return the Op; ``input_ndim`` is the rank in PyTensor."""
        given = input_broadcastable if input_ndim is None else input_ndim
        return pt.DimShuffle(given if isinstance(given, int) else len(given), new_order)


class OrderedUpdates(dict[Any, Any]):
    """Updates of shared variables, in insertion order like any dict.

    Keys are shared variables, and ``update`` must not change an existing entry.
    """

    def __init__(self, *key: Any, **kwargs: Any) -> None:
        super().__init__()
        for variable, new in dict(*key, **kwargs).items():
            self[variable] = new

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(key, SharedVariable):
            msg = f"OrderedUpdates: a key is a shared variable, got {key!r}."
            raise TypeContractError(msg)
        super().__setitem__(key, value)

    def update(self, other: Any = (), /, **kwargs: Any) -> None:
        """Add the entries of another dict."""
        for variable, new in dict(other, **kwargs).items():
            if variable in self and self[variable] is not new:
                msg = f"OrderedUpdates: {variable} would be updated in two ways."
                raise KeyError(msg)
            self[variable] = new

    def __add__(self, other: Any) -> OrderedUpdates:
        total = OrderedUpdates(self)
        total.update(other)
        return total

    def __radd__(self, other: Any) -> OrderedUpdates:
        return OrderedUpdates(other) + self


class HasInnerGraph(HasGraph):
    """A base class for Ops that have an inner graph as ``fgraph``, and compile it themselves."""

    rewrites_inner = False


# ---- tensors -----------------------------------------------------------------------------------


def addbroadcast(x: Any, *axes: int) -> Any:
    """Return ``x`` with the sizes along ``axes`` specified as 1."""
    return pt.specify_broadcastable(x, *axes)


def unbroadcast(x: Any, *axes: int) -> Any:
    """Return ``x``; dimensions of size 1 still broadcast, as in NumPy."""
    return pt.as_tensor_variable(x)


def patternbroadcast(x: Any, broadcastable: Sequence[bool]) -> Any:
    """Return ``x`` with the sizes of the broadcastable dimensions specified as 1."""
    return pt.specify_broadcastable(x, *(axis for axis, one in enumerate(broadcastable) if one))


class Rebroadcast(metaclass=StandsFor):
    """``Rebroadcast((axis, is_one), ...)(x)``: states which sizes are 1; no node is of it."""

    core = ()

    def __new__(cls, *pairs: tuple[int, bool]) -> Any:
        """Return a function that states the sizes."""
        return lambda x: addbroadcast(x, *(axis for axis, one in pairs if one))


def _free_dtype(make: Callable[..., Any]) -> Callable[..., Any]:
    """Return a constructor whose second argument can be the dtype: ``matrix("x", "int8")``."""

    def constructor(name: str | None = None, dtype: Any = None, **options: Any) -> Any:
        return make(name, dtype=dtype, **options)

    constructor.__name__ = make.__name__
    constructor.__doc__ = make.__doc__
    return constructor


scalar = _free_dtype(pt.scalar)
vector = _free_dtype(pt.vector)
matrix = _free_dtype(pt.matrix)
row = _free_dtype(pt.row)
col = _free_dtype(pt.col)
tensor3 = _free_dtype(pt.tensor3)
tensor4 = _free_dtype(pt.tensor4)
tensor5 = _free_dtype(pt.tensor5)
tensor6 = _free_dtype(pt.tensor6)
tensor7 = _free_dtype(pt.tensor7)


def iround(x: Any, mode: Any = "half_to_even") -> Any:
    """Return ``x`` rounded to int64."""
    return pt.cast(pt.round(x, mode=mode), "int64")


def dot(x: Any, y: Any) -> Any:
    """Return a product, which may be one of sparse matrices."""
    if getattr(x, "format", None) in _SPARSE_FORMATS or getattr(y, "format", None) in (
        _SPARSE_FORMATS
    ):
        return sparse.dot(x, y)
    return pt.dot(x, y)


def matrix_dot(*factors: Any) -> Any:
    """Return the product of several matrices, evaluated from left to right."""
    return reduce(pt.dot, factors)


def var(
    input: Any,
    axis: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    corrected: bool = False,
) -> Any:
    """Return the variance. ``corrected`` is ignored: the corrected algorithm is always used."""
    return pt.var(input, axis=axis, ddof=ddof, keepdims=keepdims)


def std(
    input: Any,
    axis: Any = None,
    ddof: Any = 0,
    keepdims: bool = False,
    corrected: bool = False,
) -> Any:
    """Return the standard deviation; arguments as for :func:`var`."""
    return pt.std(input, axis=axis, ddof=ddof, keepdims=keepdims)


def asarray(a: Any, dtype: Any, order: Any = None) -> Any:
    """Return ``numpy.asarray(a, dtype, order)``; the dtype can be ``"floatX"``."""
    return np.asarray(a, config.floatX if dtype == "floatX" else dtype, order)


def stack(*tensors: Any, axis: int = 0) -> Any:
    """Stack tensors, given as a list, ``stack([a, b], axis)``, or as arguments, ``stack(a, b)``."""
    first = tensors[0] if tensors else ()
    if isinstance(first, list | tuple):
        return pt.stack(first, *(tensors[1:] or (axis,)))
    return pt.stack(tensors, axis)


def horizontal_stack(*tensors: Any) -> Any:
    """Concatenate matrices horizontally."""
    return pt.concatenate(_matrices(tensors, "horizontal_stack"), axis=1)


def vertical_stack(*tensors: Any) -> Any:
    """Concatenate matrices vertically."""
    return pt.concatenate(_matrices(tensors, "vertical_stack"), axis=0)


def _matrices(tensors: Sequence[Any], name: str) -> list[Any]:
    matrices = [pt.as_tensor_variable(one) for one in tensors]
    if not matrices or any(one.ndim != 2 for one in matrices):
        ranks = [one.ndim for one in matrices]
        msg = f"{name} takes one or more matrices, got {len(ranks)} tensors of the ranks {ranks}."
        raise ShapeError(msg)
    return matrices


def flatten(x: Any, ndim: int | None = None, outdim: int | None = None) -> Any:
    """Flatten to ``ndim`` dimensions; ``outdim`` is an older name of ``ndim``."""
    return pt.flatten(x, next((n for n in (ndim, outdim) if n is not None), 1))


def set_subtensor(
    x: Any, y: Any, inplace: bool = False, tolerate_inplace_aliasing: bool = False
) -> Any:
    """Return the array of which ``x`` is a subtensor, with ``x`` set to ``y``."""
    return pt.set_subtensor(x, y, inplace, tolerate_inplace_aliasing)


def inc_subtensor(
    x: Any,
    y: Any,
    inplace: bool = False,
    set_instead_of_inc: bool = False,
    tolerate_inplace_aliasing: bool = False,
    ignore_duplicates: bool = False,
) -> Any:
    """Return the array of which ``x`` is a subtensor, with ``y`` added to ``x``."""
    return pt.inc_subtensor(
        x, y, inplace, set_instead_of_inc, tolerate_inplace_aliasing, ignore_duplicates
    )
