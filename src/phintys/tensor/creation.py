"""Arrays filled with one value: alloc, zeros, ones, full, and their ``_like`` variants."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.sources import note_sources
from phintys.graph.variable import Variable
from phintys.scalar.cancelling import without_root
from phintys.scalar.casting import Cast
from phintys.scalar.selection import second
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.devices import takes_device
from phintys.tensor.dim_shuffle import DimShuffle, SelectsElements, moved
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.shape_rules import NEGATIVE, Misfit, S, ShapedOp, Shapes, lengths_at
from phintys.tensor.shapes import sizes_of, vector_elements
from phintys.tensor.sizes import as_size
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType, normalize_dtype
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.tensor.variable import TensorVariable

_MOST_BYTES = 2**63 - 1


def as_sizes(shape: Any, what: str = "A size") -> list[Any]:
    """Return a shape as a list of symbolic int64 sizes, one for each dimension.

    Parameters
    ----------
    shape
        A size; a list, tuple or array of sizes, each an int or symbolic; or a symbolic vector whose
        length is known.
    what
        What a size is for, as a subject for error messages.

    Raises
    ------
    ShapeError
        The length of a symbolic vector is not known.
    DtypeError
        A size is not an integer.
    """
    if isinstance(shape, Variable):
        shape = as_tensor_variable(shape)
        entries = vector_elements(shape) if shape.ndim == 1 else [shape]
    elif isinstance(shape, list | tuple | range):
        entries = list(shape)
    else:
        entries = list(shape) if isinstance(shape, np.ndarray) and shape.ndim == 1 else [shape]
    return [as_size(entry, what) for entry in entries]


def check_sizes(known: Sequence[int | None], what: str) -> None:
    """Raise if a size is known to be negative."""
    for size in known:
        if size is not None and size < 0:
            msg = f"{what} must not be negative, got {size}."
            raise ShapeError(msg)


def given_lengths(op: Op, values: Iterable[Any], dtype: Any = "int8") -> tuple[int, ...]:
    """Return the lengths of an array that an Op makes, as ints.

    Raises
    ------
    ShapeError
        A length is negative, or there are too many elements for an array of the dtype.
    """
    lengths = tuple([int(value) for value in values])
    if min(lengths, default=0) < 0:
        msg = f"{op}: sizes must not be negative, got {lengths}."
        raise ShapeError(msg)
    check_room(op, lengths, dtype)
    return lengths


def check_room(op: Op, lengths: Sequence[int], dtype: Any) -> None:
    """Raise if an array of these lengths would have too many elements for its dtype."""
    # As for NumPy, a length of 0 does not make up for others that are too large.
    if prod(length for length in lengths if length) * np.dtype(dtype).itemsize >= _MOST_BYTES:
        msg = f"{op}: an array of {np.dtype(dtype)} of shape {lengths} has too many elements."
        raise ShapeError(msg)


class Alloc(SelectsElements, ShapedOp):
    """Return a new array of a given shape, filled with a value broadcast to that shape.

    Takes the value and one size for each dimension.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Alloc()(pt.constant(1.0), pt.lscalar("n"), 3).type
    Matrix(float64, shape=(?, 3))
    """

    __props__ = ()
    raises_only_for_shapes = True

    def make_node(self, value: Any, *shape: Any) -> Apply:
        value = as_tensor_variable(value)
        sizes = [as_size(size, "Alloc: a size") for size in shape]
        if value.ndim > len(sizes):
            msg = (
                f"{self}: {value} of type {value.type} has more dimensions than the shape of "
                f"{len(sizes)} that it should fill."
            )
            raise ShapeError(msg)
        inputs = [value, *sizes]
        (static,) = self.static_shapes(inputs)
        return Apply(self, inputs, [TensorType(value.dtype, static)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take the sizes given; those of the value are equal, unless they broadcast."""
        lengths = lengths_at(shapes, 1)
        given = shapes.shapes[0]
        missing = len(lengths) - len(given)
        for dim, size in enumerate(given):
            if not shapes.broadcasts(0, dim):
                misfit = Misfit.in_dimension("broadcast", dim)
                lengths[missing + dim] = shapes.equal(lengths[missing + dim], size, misfit)
        return [tuple(lengths)]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name each size, or a dimension of the value."""
        if misfit.kind == NEGATIVE:
            return super().misfit_subject(misfit, shapes)
        return f"{self}: the size of the result and dimension {misfit.dim} of {shapes.inputs[0]}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the sizes."""
        if misfit.kind == NEGATIVE:
            return super().misfit_error(misfit, shapes)
        value = f"{shapes.inputs[0]} of shape {shapes.shapes[0]}"
        sizes = tuple(shapes.value(at) for at in range(1, len(shapes.inputs)))
        return ShapeError(
            f"{self}: {value} does not broadcast to {sizes}. A dimension broadcasts only "
            "if its size is known to be 1 when the graph is built: state it with "
            "pt.specify_broadcastable(x, axis)."
        )

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value = inputs[0]
        sizes = [int(size) for size in inputs[1:]]
        (shape,) = self.shapes_of_results(node.inputs, (value.shape,), (value, *sizes))
        check_room(self, shape, value.dtype)
        cell = output_storage[0]
        former = cell[0]
        if former is not None and former.shape == shape and former.flags.writeable:
            former[...] = value
        elif value.ndim == 0 and not any(value.tobytes()):
            cell[0] = np.zeros(shape, value.dtype)  # large arrays get untouched zero pages
        else:
            former = cell[0] = np.empty(shape, value.dtype)
            former[...] = value

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The sizes do not influence the elements."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Sum over the dimensions that were broadcast."""
        value = inputs[0]
        disconnected = [disconnected_type() for _ in inputs[1:]]
        if is_discrete(value):
            return [zero_gradient(value), *disconnected]
        (gradient,) = output_grads
        parts = without_root(gradient, outputs[0], or_divisors=True)
        if parts is None:
            return [sum_to(gradient, value), *disconnected]
        # In the sum, the root could not cancel a divisor of its own derivative.
        inside, outside = parts
        total = sum_to(operators.fill(gradient, inside), value)
        root = moved(outside, outputs[0], value, lambda y: sum_to(y, value))
        return [total * root, *disconnected]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        return [None if is_missing(point) else self(point, *inputs[1:])]

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Any) -> bool:
        """Do not fold an array that is written to or returned.

        As a constant it would be copied at each call, which takes longer than filling an array.
        """
        if fgraph is None:
            return True
        for client, position in fgraph.clients[node.outputs[0]]:
            if not isinstance(client, Apply):  # "output"
                return False
            if position == 0 and client.op.writes_first_input:
                return False
        return True


def sum_to(gradient: Any, x: Any) -> Any:
    """Return a gradient summed over the dimensions in which ``x`` was broadcast."""
    extra = gradient.ndim - x.ndim
    if extra:
        gradient = operators.sum(gradient, axis=tuple(range(extra)))
    axes = tuple(
        dim
        for dim, (before, after) in enumerate(zip(x.type.shape, gradient.type.shape, strict=True))
        if before == 1 and after != 1
    )
    return operators.sum(gradient, axis=axes, keepdims=True) if axes else gradient


_alloc = Alloc()


def alloc(value: Any, *shape: Any, name: str | None = None) -> TensorVariable:
    """Return a new array of the given sizes, filled with ``value``, which is broadcast to them.

    Parameters
    ----------
    value
        A tensor or number.
    shape
        The sizes, ints or symbolic; or one list, tuple or symbolic vector of them.
    name
        Name of the result.

    Returns
    -------
    TensorVariable
        A tensor with the dtype of ``value``.

    Raises
    ------
    ShapeError
        The value does not broadcast to the shape.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.alloc([1.0, 2.0], 2, 2).eval()
    array([[1., 2.],
           [1., 2.]])
    """
    if len(shape) == 1:
        shape = tuple(as_sizes(shape[0]))
    return _alloc(value, *shape, name=name)


class AllocEmpty(ShapedOp):
    """Return a new array with uninitialized elements.

    Parameters
    ----------
    dtype
        Dtype of the array.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: Any = "floatX") -> None:
        self.dtype = normalize_dtype(dtype)

    def make_node(self, *shape: Any) -> Apply:
        sizes = as_sizes(shape, "AllocEmpty: a size")
        (static,) = self.static_shapes(sizes)
        return Apply(self, sizes, [TensorType(self.dtype, static)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Take the sizes given."""
        return [tuple(lengths_at(shapes, 0))]

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        sizes = [int(size) for size in inputs]
        (shape,) = self.shapes_of_results(node.inputs, (), sizes)
        check_room(self, shape, self.dtype)
        cell = output_storage[0]
        former = cell[0]
        if former is not None and former.shape == shape and former.flags.writeable:
            return
        cell[0] = np.empty(shape, node.outputs[0].type.numpy_dtype)

    def debug_perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Fill the array with a fixed, conspicuous number."""
        self.perform(node, inputs, output_storage)
        output_storage[0][0].fill(_STANDS_OUT if self.dtype != "bool" else True)

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The sizes do not influence the elements."""
        return [[False] for _ in node.inputs]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        return [None]

    def do_constant_folding(self, fgraph: FunctionGraph | None, node: Any) -> bool:
        """Do not fold: uninitialized memory is not worth keeping."""
        return False


_STANDS_OUT = 123  # fits every dtype


@takes_device
def empty(shape: Any, dtype: Any = None) -> TensorVariable:
    """Return a new array with uninitialized elements.

    Parameters
    ----------
    shape
        Its sizes, ints or symbolic; a single one for a vector.
    dtype
        Its dtype; ``config.floatX`` by default.

    Returns
    -------
    TensorVariable
        Elements are arbitrary until they are set.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.empty((2, 3), "int64").eval().shape
    (2, 3)
    """
    return AllocEmpty("floatX" if dtype is None else dtype)(*as_sizes(shape))


@takes_device
def full(shape: Any, fill_value: Any, dtype: Any = None) -> TensorVariable:
    """Return a new array filled with a value, which is broadcast to the shape.

    Parameters
    ----------
    shape
        A size; a list or tuple of sizes, ints or symbolic; or a symbolic vector of known length.
    fill_value
        A tensor or number.
    dtype
        Dtype of the array; that of ``fill_value`` by default.

    Returns
    -------
    TensorVariable
        A tensor of shape ``shape``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.full((2, 2), 7).eval()
    array([[7, 7],
           [7, 7]])
    """
    return _alloc(_value(fill_value, dtype), *as_sizes(shape))


def _value(value: Any, dtype: Any) -> Any:
    if dtype is None:
        return as_tensor_variable(value)
    if isinstance(value, Variable):
        return math.cast(value, dtype)
    if type(value) is int and 0 <= value <= 1:
        return _zero_or_one(value, normalize_dtype(dtype))
    return constant(np.asarray(value).astype(normalize_dtype(dtype)))


@cache
def _zero_or_one(value: int, dtype: str) -> Any:
    """Return a constant that gradients often need."""
    return constant(np.array(value, dtype))


@takes_device
def zeros(shape: Any, dtype: Any = None) -> TensorVariable:
    """Return a new array of zeros.

    Parameters
    ----------
    shape
        A size; a list or tuple of sizes, ints or symbolic; or a symbolic vector of known length.
    dtype
        Dtype of the array; ``config.floatX`` by default, where NumPy's is float64.

    Returns
    -------
    TensorVariable
        A tensor of shape ``shape``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> n = pt.lscalar("n")
    >>> pt.zeros((n, 2), dtype="int8").eval({n: 1})
    array([[0, 0]], dtype=int8)
    """
    return full(shape, 0, "floatX" if dtype is None else dtype)


@takes_device
def ones(shape: Any, dtype: Any = None) -> TensorVariable:
    """Return a new array of ones.

    Parameters
    ----------
    shape
        A size; a list or tuple of sizes, ints or symbolic; or a symbolic vector of known length.
    dtype
        Dtype of the array; ``config.floatX`` by default, where NumPy's is float64.

    Returns
    -------
    TensorVariable
        A tensor of shape ``shape``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ones(3).eval()
    array([1., 1., 1.])
    """
    return full(shape, 1, "floatX" if dtype is None else dtype)


@takes_device
@also_named
def full_like(x: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> TensorVariable:
    """Return a new array with the shape, and by default the dtype, of ``x``, filled with a value.

    Parameters
    ----------
    x
        A tensor; only its shape and dtype matter.
    fill_value
        A tensor or number, which is broadcast to the shape.
    dtype
        Another dtype.
    shape
        Another shape.

    Returns
    -------
    TensorVariable
        A tensor of that shape and dtype.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.full_like(pt.constant([1.0, 2.0]), 3).eval()
    array([3., 3.])
    """
    x = as_tensor_variable(x)
    if shape is not None:
        return full(shape, fill_value, x.dtype if dtype is None else dtype)
    value = _value(fill_value, x.dtype if dtype is None else dtype)
    if x.ndim or value.ndim:
        return _alloc(value, *sizes_of(x))
    if not isinstance(x, TensorConstant):  # x is named, though its values are not needed
        value = value.clone()
        note_sources(value, [x])
    return value


@takes_device
@also_named
def zeros_like(
    x: Any, dtype: Any = None, opt: bool = False, *, shape: Any = None
) -> TensorVariable:
    """Return zeros with the shape, and by default the dtype, of ``x``.

    Parameters
    ----------
    x
        A tensor.
    dtype
        Another dtype.
    opt
        Accepted for compatibility and ignored: static shape information is always used.
    shape
        Another shape.

    Returns
    -------
    TensorVariable
        A tensor of that shape and dtype.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.zeros_like([5.0, 6.0]).eval()
    array([0., 0.])
    """
    return full_like(x, 0, dtype, shape=shape)


@takes_device
@also_named
def ones_like(x: Any, dtype: Any = None, opt: bool = False, *, shape: Any = None) -> TensorVariable:
    """Return ones with the shape, and by default the dtype, of ``x``.

    Parameters
    ----------
    x
        A tensor.
    dtype
        Another dtype.
    opt
        Accepted for compatibility and ignored: static shape information is always used.
    shape
        Another shape.

    Returns
    -------
    TensorVariable
        A tensor of that shape and dtype.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.ones_like([5.0, 6.0]).eval()
    array([1., 1.])
    """
    return full_like(x, 1, dtype, shape=shape)


@takes_device
@also_named
def empty_like(x: Any, dtype: Any = None, *, shape: Any = None) -> TensorVariable:
    """Return a new, uninitialized array with the shape, and by default the dtype, of ``x``.

    Parameters
    ----------
    x
        A tensor.
    dtype
        Another dtype.
    shape
        Another shape.

    Returns
    -------
    TensorVariable
        A tensor of that shape and dtype, whose elements are arbitrary until they are set.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.empty_like(pt.matrix("x", shape=(2, 3)), "int64").type
    Matrix(int64, shape=(2, 3))
    """
    x = as_tensor_variable(x)
    if shape is not None:
        return empty(shape, x.dtype if dtype is None else dtype)
    return AllocEmpty(x.dtype if dtype is None else dtype)(*sizes_of(x))


_MOST_STEPS = 8  # fill, cast, a change of rank: the constant is a few steps away


def is_known_zero(variable: Any) -> bool:
    """Return whether a tensor is zero by construction, like the result of ``zeros_like``."""
    for _ in range(_MOST_STEPS):
        if isinstance(variable, TensorConstant):
            return not variable.data.any()
        node = variable.owner
        if node is None:
            return False
        op = node.op
        if isinstance(op, Elemwise) and (op.scalar_op is second or _is_cast(op)):
            variable = node.inputs[-1]
        elif isinstance(op, DimShuffle | Alloc):
            variable = node.inputs[0]
        else:
            return False
    return False


def _is_cast(op: Elemwise) -> bool:
    return isinstance(op.scalar_op, Cast) and not op.inplace_pattern
