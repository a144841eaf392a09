"""Tensor variables and constants, with their operators and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from phintys._base.errors import ShapeError
from phintys._base.late import LateModule
from phintys._base.names import Instead
from phintys.graph.variable import Constant, Variable
from phintys.tensor._operators import operators
from phintys.tensor.methods import FunctionMethods
from phintys.tensor.type import TensorType, normalize_dtype

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from typing import Literal

    from phintys.graph.apply import Apply

    Axis = int | Sequence[int] | None
else:
    hashlib = LateModule("hashlib")


def defers_to(other: Any) -> bool:
    """Return whether an operator is left to the other operand, as NumPy's arrays leave it to us."""
    return getattr(other, "__array_priority__", 0) > TensorMethods.__array_priority__


_LARGE = 1024  # bytes; the data of larger constants are compared by digest


class TensorMethods(FunctionMethods):
    """NumPy-like operators, methods and attributes of all variables of a TensorType."""

    type: TensorType
    owner: Apply | None

    __array_priority__: ClassVar[int] = 1000
    # Above that of a DataFrame, so that `series * x` leaves the product to `x`.
    __pandas_priority__: ClassVar[int] = 5000

    if TYPE_CHECKING:

        def eval(
            self, inputs_to_values: Mapping[Any, Any] | None = None, **options: Any
        ) -> np.ndarray[Any, Any]:
            """Compute the variable's value; see :meth:`phintys.Variable.eval`."""
            ...

    # ---- attributes --------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        """Name of the dtype."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """For each dimension, whether its size is known to be 1."""
        return self.type.broadcastable

    @property
    def shape(self) -> TensorVariable:
        """The shape as a symbolic int64 vector; ``type.shape`` is the static shape."""
        return operators.shape(self)

    @property
    def size(self) -> TensorVariable:
        """The number of elements, symbolic."""
        return operators.size(self)

    @property
    def T(self) -> TensorVariable:
        """The transpose: the dimensions in reverse order."""
        return operators.transpose(self)

    @property
    def mT(self) -> TensorVariable:
        """The matrix transpose: the last two dimensions swapped."""
        if self.ndim < 2:
            msg = f"mT needs at least 2 dimensions, {self} has {self.ndim}."
            raise ShapeError(msg)
        return operators.swapaxes(self, -1, -2)

    @property
    def real(self) -> TensorVariable:
        """The real part."""
        return operators.real(self)

    @property
    def imag(self) -> TensorVariable:
        """The imaginary part."""
        return operators.imag(self)

    # ---- arithmetic --------------------------------------------------------------------------

    def __add__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.add(self, other)

    def __radd__(self, other: Any) -> TensorVariable:
        return operators.add(other, self)

    def __sub__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.sub(self, other)

    def __rsub__(self, other: Any) -> TensorVariable:
        return operators.sub(other, self)

    def __mul__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.mul(self, other)

    def __rmul__(self, other: Any) -> TensorVariable:
        return operators.mul(other, self)

    def __truediv__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.true_div(self, other)

    def __rtruediv__(self, other: Any) -> TensorVariable:
        return operators.true_div(other, self)

    def __floordiv__(self, other: Any) -> TensorVariable:
        return operators.floor_div(self, other)

    def __rfloordiv__(self, other: Any) -> TensorVariable:
        return operators.floor_div(other, self)

    def __mod__(self, other: Any) -> TensorVariable:
        return operators.mod(self, other)

    def __rmod__(self, other: Any) -> TensorVariable:
        return operators.mod(other, self)

    def __divmod__(self, other: Any) -> tuple[TensorVariable, TensorVariable]:
        return operators.divmod(self, other)

    def __rdivmod__(self, other: Any) -> tuple[TensorVariable, TensorVariable]:
        return operators.divmod(other, self)

    def __pow__(self, other: Any) -> TensorVariable:
        return operators.pow(self, other)

    def __rpow__(self, other: Any) -> TensorVariable:
        return operators.pow(other, self)

    def __matmul__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.matmul(self, other)

    def __rmatmul__(self, other: Any) -> TensorVariable:
        return operators.matmul(other, self)

    def __neg__(self) -> TensorVariable:
        return operators.neg(self)

    def __pos__(self) -> TensorVariable:
        return operators.as_tensor_variable(self)

    def __abs__(self) -> TensorVariable:
        return operators.abs(self)

    def __floor__(self) -> TensorVariable:
        return operators.floor(self)

    def __ceil__(self) -> TensorVariable:
        return operators.ceil(self)

    def __trunc__(self) -> TensorVariable:
        return operators.trunc(self)

    def __round__(self, ndigits: int | None = None) -> TensorVariable:
        return operators.round(self) if ndigits is None else operators.round(self, ndigits)

    # ---- comparison and logic ----------------------------------------------------------------

    def __eq__(self, other: object) -> TensorVariable:
        return operators.equal(self, other)

    def __ne__(self, other: object) -> TensorVariable:
        return operators.not_equal(self, other)

    # Variables serve as keys of dicts, and each is distinct: dicts compare identity first, and no
    # two live objects have the same hash.
    __hash__ = object.__hash__

    _truth: bool | None = None  # set by == and != of two variables

    def __lt__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.lt(self, other)

    def __le__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.le(self, other)

    def __gt__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.gt(self, other)

    def __ge__(self, other: Any) -> TensorVariable:
        return NotImplemented if defers_to(other) else operators.ge(self, other)

    def __and__(self, other: Any) -> TensorVariable:
        return operators.bitwise_and(self, other)

    def __rand__(self, other: Any) -> TensorVariable:
        return operators.bitwise_and(other, self)

    def __or__(self, other: Any) -> TensorVariable:
        return operators.bitwise_or(self, other)

    def __ror__(self, other: Any) -> TensorVariable:
        return operators.bitwise_or(other, self)

    def __xor__(self, other: Any) -> TensorVariable:
        return operators.bitwise_xor(self, other)

    def __rxor__(self, other: Any) -> TensorVariable:
        return operators.bitwise_xor(other, self)

    def __invert__(self) -> TensorVariable:
        return operators.invert(self)

    def __lshift__(self, other: Any) -> TensorVariable:
        return operators.left_shift(self, other)

    def __rlshift__(self, other: Any) -> TensorVariable:
        return operators.left_shift(other, self)

    def __rshift__(self, other: Any) -> TensorVariable:
        return operators.right_shift(self, other)

    def __rrshift__(self, other: Any) -> TensorVariable:
        return operators.right_shift(other, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply a NumPy ufunc: ``np.exp(x)`` is ``pt.exp(x)``, ``np.ones(3) + x`` an expression."""
        function = operators.ufuncs.get(ufunc)
        if function is None or method != "__call__" or options:
            return operators.numpy_protocol.call_ufunc(ufunc, method, inputs, options)
        return function(*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call the function of the same name: ``np.median(x)`` is ``pt.median(x)``."""
        return operators.numpy_protocol.call_function(function, args, kwargs)

    # ---- operations that a symbolic value does not support --------------------------------------

    at = Instead("A changed copy is pt.set_subtensor(x[i], v), pt.inc_subtensor, or x[i].set(v)")
    backward = Instead("The gradient of a cost is phintys.grad(cost, wrt)")
    detach = Instead("Write phintys.gradient.disconnected_grad(x)")
    numpy = Instead("A symbolic value has no elements: x.eval({...}) computes them")
    permute = Instead("Write x.transpose(axes), or x.dimshuffle(axes)")
    unsqueeze = Instead("Write pt.expand_dims(x, axis), or x[:, None]")
    view = Instead("Write x.reshape(shape), or x.astype(dtype)")

    def __dir__(self) -> list[str]:
        own = vars(TensorMethods)
        return [name for name in super().__dir__() if not isinstance(own.get(name), Instead)]

    def __bool__(self) -> bool:
        if self._truth is not None:  # x == y: Python searches a list for a variable, or compares
            return self._truth
        msg = (
            f"{self} is symbolic, so it is neither true nor false yet. Use pt.switch(condition, "
            "a, b) to choose element by element, phintys.ifelse(condition, a, b) to compute only "
            "one of two expressions, pt.all(condition) or pt.any(condition) to reduce them to one "
            "value, & and | instead of `and` and `or`, `x is y` to ask whether two names mean the "
            "same variable, and `is not None` to test for absence."
        )
        raise TypeError(msg)

    def __len__(self) -> NoReturn:
        msg = f"{self} is symbolic: its length is {self}.shape[0], an expression, not a number."
        raise TypeError(msg)

    def __contains__(self, item: Any) -> NoReturn:
        msg = f"{self} is symbolic: what it contains is not known. Use pt.any(pt.eq({self}, item))."
        raise TypeError(msg)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise operators.numpy_protocol.no_array(self)

    def __int__(self) -> NoReturn:
        raise self._no_number("int")

    def __float__(self) -> NoReturn:
        raise self._no_number("float")

    def __complex__(self) -> NoReturn:
        raise self._no_number("complex")

    def __index__(self) -> NoReturn:
        msg = (
            f"{self} is symbolic and cannot become an index of a list, the end of a range or a "
            f"size of a NumPy array. Write pt.stack(entries)[{self}] to choose from a list, "
            "phintys.control.fori_loop or phintys.scan to repeat a step, and pt.arange, pt.zeros "
            "and the like for arrays, or use its eval() to get a value."
        )
        raise TypeError(msg)

    def _no_number(self, wanted: str) -> TypeError:
        return TypeError(
            f"{self} is symbolic and cannot become {wanted}. Use {self}.astype(...) to cast it, "
            "the functions of phintys.tensor, such as pt.exp, in place of those of Python's math, "
            "or its eval() to get a value."
        )

    def __format__(self, spec: str) -> str:
        try:
            return format(str(self), spec)
        except ValueError as error:
            msg = (
                f"{self} is symbolic and has no digits to format by {spec!r}. Format the result of "
                "a compiled function or of eval(); pt.Print shows a value during a call."
            )
            raise TypeError(msg) from error

    # ---- indexing ----------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> TensorVariable:
        return operators.index(self, index)

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        msg = (
            f"{self} is symbolic and never changes. Write y = x[index].set(value), or "
            "y = pt.set_subtensor(x[index], value), and continue with y."
        )
        raise TypeError(msg)

    def __delitem__(self, index: Any) -> NoReturn:
        msg = (
            f"{self} is symbolic and never changes. Write y = pt.delete(x, index), and continue "
            "with y."
        )
        raise TypeError(msg)

    def __iter__(self) -> Iterator[TensorVariable]:
        if self.ndim == 0:
            msg = f"Cannot iterate over {self}: it has no dimensions."
            raise TypeError(msg)
        length = self.type.shape[0]
        if length is None:
            msg = (
                f"Cannot iterate over {self}: the size of its first dimension is not known until "
                "run time. Give the variable a static shape, or write the loop as phintys.scan."
            )
            raise TypeError(msg)
        return (self[position] for position in range(length))

    def set(self, value: Any, **options: Any) -> TensorVariable:
        """Return the indexed array with the part that this variable selects set to ``value``."""
        return operators.set_subtensor(self, value, **options)

    def inc(self, value: Any, **options: Any) -> TensorVariable:
        """Return the indexed array with ``value`` added to the part that this variable selects."""
        return operators.inc_subtensor(self, value, **options)

    def take(
        self,
        indices: Any,
        axis: int | None = None,
        mode: Literal["raise", "wrap", "clip"] | None = "raise",
    ) -> TensorVariable:
        """Return the elements at ``indices`` along ``axis``; by default, of the flattened array."""
        return operators.take(self, indices, axis=axis, mode=mode)

    def nonzero(self, return_matrix: bool = False) -> Any:
        """Return the indices of the nonzero elements: a vector for each dimension, or a matrix."""
        return operators.nonzero(self, return_matrix)

    def item(self, *index: Any) -> TensorVariable:
        """Return the only element, or that at an index: of all axes, or of the flat array."""
        if not index:
            return operators.reshape(self, ())
        place = index[0] if len(index) == 1 else index
        array = self if isinstance(place, tuple) else operators.flatten(self, 1)
        return operators.index(array, place)

    # ---- shape -------------------------------------------------------------------------------

    def reshape(self, *shape: Any, ndim: int | None = None, **options: Any) -> TensorVariable:
        """Return the elements in a new shape, given as one sequence or as several sizes."""
        if not shape:
            return operators.reshape(self, ndim=ndim, **options)
        wanted = shape[0] if len(shape) == 1 else shape
        if len(shape) == 2 and ndim is None and isinstance(shape[0], tuple | list):
            wanted, ndim = shape  # reshape(shape, ndim)
        return operators.reshape(self, wanted, ndim=ndim, **options)

    def flatten(self, ndim: int = 1) -> TensorVariable:
        """Return the array with ``ndim`` dimensions, the remaining ones merged into the last."""
        return operators.flatten(self, ndim)

    def ravel(self, order: str = "C") -> TensorVariable:
        """Return the array flattened to a vector."""
        if order == "C":
            return operators.flatten(self, 1)
        return operators.reshape(self, (-1,), order=order)

    def dimshuffle(self, *pattern: Any) -> TensorVariable:
        """Return the array with its dimensions reordered; ``"x"`` inserts one of size 1."""
        return operators.dimshuffle(self, *pattern)

    def transpose(self, *axes: Any) -> TensorVariable:
        """Return the array with its dimensions reordered, by default reversed."""
        wanted = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return operators.transpose(self, wanted or None)

    def swapaxes(self, axis1: int, axis2: int) -> TensorVariable:
        """Return the array with two dimensions swapped."""
        return operators.swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Axis = None) -> TensorVariable:
        """Return the array without dimensions of size 1."""
        return operators.squeeze(self, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> TensorVariable:
        """Return the array with its elements along ``axis`` repeated."""
        return operators.repeat(self, repeats, axis)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable:
        """Return a diagonal over two dimensions."""
        return operators.diagonal(self, offset, axis1, axis2)

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None
    ) -> TensorVariable:
        """Return the sum of a diagonal over two dimensions."""
        return operators.trace(self, offset, axis1, axis2, dtype)

    # ---- values ------------------------------------------------------------------------------

    def astype(self, dtype: Any, copy: bool = True) -> TensorVariable:
        """Return the elements cast to ``dtype``; ``copy`` has no meaning, and is ignored."""
        return operators.cast(self, normalize_dtype(dtype))

    def copy(self, name: str | None = None) -> TensorVariable:
        """Return a new variable with the same value."""
        return operators.copy(self, name)

    def conj(self) -> TensorVariable:
        """Return the complex conjugate."""
        return operators.conj(self)

    conjugate = conj

    def clip(self, *limits: Any, **named: Any) -> TensorVariable:
        """Return the elements clipped to an interval; see :func:`phintys.tensor.clip`."""
        return operators.clip(self, *limits, **named)

    def round(self, decimals: Any = 0, mode: str = "half_to_even") -> TensorVariable:
        """Return the elements rounded to ``decimals`` places; see :func:`phintys.tensor.round`."""
        return operators.round(self, decimals, mode)

    def fill(self, value: Any) -> TensorVariable:
        """Return an array of the same shape filled with ``value``."""
        return operators.fill(self, value)

    def zeros_like(self, dtype: Any = None) -> TensorVariable:
        """Return zeros of the same shape."""
        return operators.zeros_like(self, dtype)

    def ones_like(self, dtype: Any = None) -> TensorVariable:
        """Return ones of the same shape."""
        return operators.ones_like(self, dtype)

    # ---- reductions --------------------------------------------------------------------------

    def sum(
        self, axis: Axis = None, dtype: Any = None, *flags: Any, **options: Any
    ) -> TensorVariable:
        """Return the sum over ``axis``; see :func:`phintys.tensor.sum`."""
        return operators.sum(self, axis, dtype, *flags, **options)

    def prod(
        self, axis: Axis = None, dtype: Any = None, *flags: Any, **options: Any
    ) -> TensorVariable:
        """Return the product over ``axis``; see :func:`phintys.tensor.prod`."""
        return operators.prod(self, axis, dtype, *flags, **options)

    def mean(
        self, axis: Axis = None, dtype: Any = None, *flags: Any, **options: Any
    ) -> TensorVariable:
        """Return the mean over ``axis``; see :func:`phintys.tensor.mean`."""
        return operators.mean(self, axis, dtype, *flags, **options)

    def var(self, axis: Axis = None, *more: Any, **options: Any) -> TensorVariable:
        """Return the variance over ``axis``; see :func:`phintys.tensor.var`."""
        return operators.var(self, axis, *more, **options)

    def std(self, axis: Axis = None, *more: Any, **options: Any) -> TensorVariable:
        """Return the standard deviation over ``axis``; see :func:`phintys.tensor.std`."""
        return operators.std(self, axis, *more, **options)

    def max(self, axis: Axis = None, keepdims: bool = False, **options: Any) -> TensorVariable:
        """Return the maximum over ``axis``; NaN if any element is NaN."""
        return operators.max(self, axis, keepdims, **options)

    def min(self, axis: Axis = None, keepdims: bool = False, **options: Any) -> TensorVariable:
        """Return the minimum over ``axis``; NaN if any element is NaN."""
        return operators.min(self, axis, keepdims, **options)

    def argmax(self, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
        """Return the index of the first largest element over ``axis``."""
        return operators.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
        """Return the index of the first smallest element over ``axis``."""
        return operators.argmin(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, keepdims: bool = False, **options: Any) -> TensorVariable:
        """Return whether all elements over ``axis`` are true."""
        return operators.all(self, axis, keepdims, **options)

    def any(self, axis: Axis = None, keepdims: bool = False, **options: Any) -> TensorVariable:
        """Return whether any element over ``axis`` is true."""
        return operators.any(self, axis, keepdims, **options)

    def cumsum(self, axis: int | None = None, dtype: Any = None) -> TensorVariable:
        """Return the cumulative sum along ``axis``."""
        return operators.cumsum(self, axis, dtype)

    def cumprod(self, axis: int | None = None, dtype: Any = None) -> TensorVariable:
        """Return the cumulative product along ``axis``."""
        return operators.cumprod(self, axis, dtype)

    def norm(self, L: Any = 2, axis: Axis = None, keepdims: bool = False) -> TensorVariable:
        """Return the ``L``-norm over ``axis``."""
        return operators.norm(self, L, axis=axis, keepdims=keepdims)

    def sort(
        self, axis: int | None = -1, kind: str | None = None, order: None = None, **options: Any
    ) -> TensorVariable:
        """Return the elements in ascending order along ``axis``."""
        return operators.sort(self, axis, kind, order, **options)

    def argsort(
        self, axis: int | None = -1, kind: str | None = None, order: None = None, **options: Any
    ) -> TensorVariable:
        """Return the indices that sort along ``axis``."""
        return operators.argsort(self, axis, kind, order, **options)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> TensorVariable:
        """Return the places at which ``v`` would be inserted in this sorted vector."""
        return operators.namespace.searchsorted(self, v, side, sorter)

    def dot(self, other: Any) -> TensorVariable:
        """Return the dot product."""
        return operators.dot(self, other)


class TensorVariable(TensorMethods, Variable):
    """A symbolic array.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x = pt.matrix("x")
    >>> y = (x.T @ x).sum(axis=0) / 2
    >>> y.ndim, y.dtype
    (1, 'float64')
    """

    type: TensorType


class TensorConstant(TensorMethods, Constant):
    """A constant array. It owns its data, which are read-only."""

    type: TensorType
    data: np.ndarray[Any, Any]

    def __init__(self, type: TensorType, data: Any, name: str | None = None) -> None:
        super().__init__(type, data, name)
        ours = self.data
        if not ours.flags.owndata or (ours is data and ours.flags.writeable):
            ours = self.data = ours.copy()
        ours.flags.writeable = False

    @classmethod
    def trusted(cls, type: TensorType, data: np.ndarray[Any, Any]) -> TensorConstant:
        """Return a constant of data known to be of the type and read-only, skipping the checks."""
        self = cls.__new__(cls)
        self.type = type
        self.owner = self.index = self.name = None
        self.data = data
        return self

    def signature(self) -> Hashable:
        """Return a key that is equal for constants of the same type, shape and bits."""
        try:
            return self._signature
        except AttributeError:
            data = self.data
            content = np.ascontiguousarray(data).tobytes()
            if len(content) > _LARGE:
                content = hashlib.blake2b(content, digest_size=32).digest()
            self._signature: Hashable = (self.type, data.shape, content)
            return self._signature

    @property
    def unique_value(self) -> np.generic | None:
        """The common value of all elements, or ``None`` if they differ."""
        try:
            return self._unique_value
        except AttributeError:
            self._unique_value: np.generic | None = _common_value(self.data)
            return self._unique_value

    def __deepcopy__(self, memo: dict[int, Any]) -> Constant:
        copy = self.clone()  # shares the data, which are read-only
        memo[id(self)] = copy
        return copy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.data.flags.writeable = False  # unpickled arrays are writable


def _common_value(data: np.ndarray[Any, Any]) -> np.generic | None:
    """Return the common value of all elements, or ``None`` if they differ."""
    if data.size == 0:
        return None
    first = data.flat[0]
    return first if data.size == 1 or bool((data == first).all()) else None


TensorType.variable_type = TensorVariable
TensorType.constant_type = TensorConstant
