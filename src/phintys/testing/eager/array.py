"""The eager array, and calls of symbolic functions with it: build a graph, compile it, run it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys._base.nested_containers import rebuilt, walk
from phintys.compile import function
from phintys.graph.variable import Variable
from phintys.tensor import matrix_transpose, set_subtensor, transpose
from phintys.tensor.devices import DEVICE, check_device
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Array", "evaluated"]


def evaluated(symbolic: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what a function of symbolic arrays returns for eager ones, as eager arrays.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.testing import eager as xp
    >>> from phintys.testing.eager.array import evaluated
    >>> evaluated(pt.stack, [xp.asarray(1), xp.asarray(2)])
    Array([1, 2])
    """
    values: dict[Variable, np.ndarray[Any, Any]] = {}

    def as_input(leaf: Any) -> Any:
        if not isinstance(leaf, Array):
            return leaf
        variable = TensorType(leaf.dtype, leaf.shape)()
        values[variable] = leaf.value
        return variable

    given = (args, options)
    args, options = rebuilt(given, [as_input(leaf) for _, leaf in walk(given)])
    return _computed(symbolic(*args, **options), values)


def _computed(result: Any, values: dict[Variable, np.ndarray[Any, Any]]) -> Any:
    """Return a result, or a nest of results, with the values of its variables."""
    leaves = [leaf for _, leaf in walk(result)]
    wanted = [leaf for leaf in leaves if isinstance(leaf, Variable)]
    if not wanted:
        return result
    run = function(list(values), wanted, on_unused_input="ignore")
    found = iter(run(*values.values()))
    return rebuilt(
        result, [Array(next(found)) if isinstance(leaf, Variable) else leaf for leaf in leaves]
    )


def _unary(compute: Callable[[Any], Any]) -> Callable[[Array], Array]:
    def method(self: Array) -> Array:
        return evaluated(compute, self)

    return method


def _binary(compute: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    def method(self: Array, other: Any, /) -> Array:
        return evaluated(compute, self, other) if _is_operand(other) else NotImplemented

    return method


def _reflected(compute: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    def method(self: Array, other: Any, /) -> Array:
        return evaluated(compute, other, self) if _is_operand(other) else NotImplemented

    return method


def _in_place(compute: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    def method(self: Array, other: Any, /) -> Array:
        return (
            self._become(evaluated(compute, self, other)) if _is_operand(other) else NotImplemented
        )

    return method


def _is_operand(other: Any) -> bool:
    return isinstance(other, Array | bool | int | float | complex)


class Array:
    """An array of the array API: it holds a value, and may change.

    Parameters
    ----------
    value
        A NumPy array, or what makes one.

    Examples
    --------
    >>> from phintys.testing.eager import Array
    >>> x = Array([1, 2, 3])
    >>> x[0] = 5
    >>> x * 2, x.shape, int(x[0])
    (Array([10,  4,  6]), (3,), 5)
    """

    __slots__ = ("value",)

    __hash__ = None  # pyright: ignore[reportAssignmentType] - == compares elements
    __array_priority__ = 1000

    def __init__(self, value: Any) -> None:
        self.value: np.ndarray[Any, Any] = np.asarray(value)

    def __repr__(self) -> str:
        return f"Array{repr(self.value).removeprefix('array')}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.value.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.value.size

    @property
    def device(self) -> str:
        """The name of the device that the array is on."""
        return DEVICE

    @property
    def T(self) -> Array:
        """A matrix, transposed."""
        if self.ndim != 2:
            msg = f"x.T takes a matrix, got an array of shape {self.shape}. Use x.mT for a stack."
            raise ShapeError(msg)
        return evaluated(transpose, self)

    @property
    def mT(self) -> Array:
        """A stack of matrices, transposed."""
        return evaluated(matrix_transpose, self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        """Return the array itself, which is on the only device."""
        check_device(device)
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return ``phintys.testing.eager``."""
        evaluated(lambda x: x.__array_namespace__(api_version=api_version), self)
        return sys.modules[__package__ or ""]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.value, dtype, copy=copy)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: Any = None,
    ) -> Any:
        return self.value.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.value.__dlpack_device__()

    def _number(self) -> Any:
        if self.ndim:
            msg = f"An array of shape {self.shape} is not a number. Choose an element: x[0]."
            raise ArgumentError(msg)
        return self.value[()]

    def __bool__(self) -> bool:
        return bool(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        return operator.index(self._number())

    def __getitem__(self, key: Any, /) -> Array:
        return evaluated(operator.getitem, self, key)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        self._become(evaluated(lambda x, key, y: set_subtensor(x[key], y), self, key, value))

    def _become(self, changed: Array) -> Self:
        """Take the value of another array, which must be of the same dtype and shape."""
        if changed.dtype != self.dtype:
            msg = (
                f"An array of dtype {self.dtype} cannot become one of {changed.dtype} in place. "
                f"Write x = x + y, or cast first: xp.astype(y, x.dtype)."
            )
            raise DtypeError(msg)
        if changed.shape != self.shape:
            msg = (
                f"An array of shape {self.shape} cannot become one of {changed.shape} in place. "
                f"Write x = x + y."
            )
            raise ShapeError(msg)
        self.value = changed.value
        return self

    __abs__ = _unary(operator.abs)
    __invert__ = _unary(operator.invert)
    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)

    __eq__ = _binary(operator.eq)  # pyright: ignore[reportAssignmentType] - elementwise
    __ne__ = _binary(operator.ne)  # pyright: ignore[reportAssignmentType] - elementwise
    __lt__ = _binary(operator.lt)
    __le__ = _binary(operator.le)
    __gt__ = _binary(operator.gt)
    __ge__ = _binary(operator.ge)

    __add__ = _binary(operator.add)
    __sub__ = _binary(operator.sub)
    __mul__ = _binary(operator.mul)
    __truediv__ = _binary(operator.truediv)
    __floordiv__ = _binary(operator.floordiv)
    __mod__ = _binary(operator.mod)
    __pow__ = _binary(operator.pow)
    __matmul__ = _binary(operator.matmul)
    __and__ = _binary(operator.and_)
    __or__ = _binary(operator.or_)
    __xor__ = _binary(operator.xor)
    __lshift__ = _binary(operator.lshift)
    __rshift__ = _binary(operator.rshift)

    __radd__ = _reflected(operator.add)
    __rsub__ = _reflected(operator.sub)
    __rmul__ = _reflected(operator.mul)
    __rtruediv__ = _reflected(operator.truediv)
    __rfloordiv__ = _reflected(operator.floordiv)
    __rmod__ = _reflected(operator.mod)
    __rpow__ = _reflected(operator.pow)
    __rmatmul__ = _reflected(operator.matmul)
    __rand__ = _reflected(operator.and_)
    __ror__ = _reflected(operator.or_)
    __rxor__ = _reflected(operator.xor)
    __rlshift__ = _reflected(operator.lshift)
    __rrshift__ = _reflected(operator.rshift)

    __iadd__ = _in_place(operator.add)
    __isub__ = _in_place(operator.sub)
    __imul__ = _in_place(operator.mul)
    __itruediv__ = _in_place(operator.truediv)
    __ifloordiv__ = _in_place(operator.floordiv)
    __imod__ = _in_place(operator.mod)
    __ipow__ = _in_place(operator.pow)
    __imatmul__ = _in_place(operator.matmul)
    __iand__ = _in_place(operator.and_)
    __ior__ = _in_place(operator.or_)
    __ixor__ = _in_place(operator.xor)
    __ilshift__ = _in_place(operator.lshift)
    __irshift__ = _in_place(operator.rshift)
