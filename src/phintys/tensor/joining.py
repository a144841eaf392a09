"""Joining several arrays into one, and splitting one into several."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError, OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import DisconnectedType, disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.tensor import math
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable, constant, contains_variable
from phintys.tensor.dim_shuffle import JoinsArrays, expand_dims, normalize_axis, shape_padleft
from phintys.tensor.join_along import join_along, split_along
from phintys.tensor.known import known_int, known_sizes
from phintys.tensor.reshaping import reshape, shape_vector
from phintys.tensor.scalar_bridge import make_vector
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes
from phintys.tensor.shapes import shape_i
from phintys.tensor.sizes import as_size, clip_size, fold, subtract_sizes
from phintys.tensor.synonyms import also_named
from phintys.tensor.type import TensorType, normalize_dtype, promote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.tensor.convert import TensorLike
    from phintys.tensor.variable import TensorVariable


class Join(JoinsArrays, ShapedOp):
    """Join arrays along an existing dimension.

    Parameters
    ----------
    axis
        The dimension, counted from 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.Join(0)(pt.tensor("x", shape=(2, None)), pt.tensor("y", shape=(3, 4))).type
    Matrix(float64, shape=(5, 4))
    """

    __props__ = ("axis",)

    def __init__(self, axis: int) -> None:
        self.axis = int(axis)

    def make_node(self, *tensors: Any) -> Apply:
        arrays: list[Any] = [as_tensor_variable(x) for x in tensors]
        if not arrays:
            msg = f"{self} needs at least one array."
            raise ShapeError(msg)
        ndim = arrays[0].ndim
        if any(x.ndim != ndim for x in arrays) or not 0 <= self.axis < ndim:
            types = ", ".join(f"{x}: {x.type}" for x in arrays)
            hint = "Use pt.stack to put them along a new dimension." if ndim == 0 else ""
            msg = (
                f"{self} takes arrays of equal rank that have the axis; got {types}. {hint}"
            ).rstrip()
            raise ShapeError(msg)
        (static,) = self.static_shapes(arrays)
        dtype = promote(*(x.dtype for x in arrays))
        return Apply(self, arrays, [TensorType(dtype, static)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Add up the sizes of the axis; the others are equal."""
        first, *others = shapes.shapes
        lengths = list(first)
        axis = self.axis
        for other in others:
            for dim, size in enumerate(other):
                if dim != axis:
                    misfit = Misfit.in_dimension("join", dim)
                    lengths[dim] = shapes.equal(lengths[dim], size, misfit)
        lengths[axis] = shapes.total([shape[axis] for shape in shapes.shapes])
        return [tuple(lengths)]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the dimension."""
        return f"{self}: the sizes of dimension {misfit.dim}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the operands."""
        return self._misfit(shapes.inputs, shapes.shapes, misfit.dim)

    def _misfit(self, arrays: Sequence[Any], shapes: Sequence[Any], dim: int) -> ShapeError:
        operands = "\n".join(
            f"  {x}: shape {shape}" for x, shape in zip(arrays, shapes, strict=True)
        )
        return ShapeError(
            f"{self}: except in dimension {self.axis}, along which they are joined, the sizes must "
            f"be equal; those in dimension {dim} differ.\n{operands}"
        )

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        (shape,) = self.shapes_of_results(node.inputs, [value.shape for value in inputs])
        cell = output_storage[0]
        former = cell[0]
        if former is None or former.shape != shape or not former.flags.writeable:
            former = cell[0] = np.empty(shape, node.outputs[0].type.numpy_dtype)
        np.concatenate(inputs, axis=self.axis, out=former)

    def static_value(self, node: Apply, known: Sequence[Any]) -> Any:
        """Return the entries of all parts, if each is known."""
        if not all(isinstance(part, tuple) for part in known):
            return None
        return tuple(entry for part in known for entry in part)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Split the gradient."""
        if is_discrete(outputs[0]):
            return [zero_gradient(x) for x in inputs]
        return self.split_moved(output_grads[0], outputs[0], inputs)

    def are_as_long(self, x: Any, y: Any) -> bool:
        """Compare the static sizes of the axis."""
        return x.type.shape[self.axis] == y.type.shape[self.axis] is not None

    def splitter(self, inputs: Sequence[Any]) -> Callable[[Any], Sequence[Any]]:
        """Split along the axis."""
        lengths = shape_vector([shape_i(x, self.axis) for x in inputs])
        return lambda x: Split(len(inputs), self.axis)(x, lengths, return_list=True)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        if all(is_missing(point) for point in eval_points):
            return [None]
        directions = [
            zero_gradient(x) if is_missing(point) else point
            for x, point in zip(inputs, eval_points, strict=True)
        ]
        return [self(*directions)]


_MISCOUNTED = Misfit("split", "{0} sizes for {1} parts")
_UNEVEN = Misfit("split", "parts of {0} elements, not {1}")


@lru_cache(maxsize=1024)
def _negative(part: int) -> Misfit:
    return Misfit("negative", f"the size of part {part}", part)


_MOST_PARTS = 2**20
"""Each part is an output of a node, even if it is empty."""


def _check_parts(count: int, name: str) -> None:
    if not 1 <= count <= _MOST_PARTS:
        msg = f"{name}: the number of parts must be from 1 to {_MOST_PARTS:,}, got {count:,}."
        raise OpContractError(msg)


class Split(ShapedOp):
    """Split an array along one dimension; the parts are views.

    Takes the array and a vector with the size of each part.

    Parameters
    ----------
    n_splits
        Number of parts.
    axis
        The dimension, counted from 0.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.type for part in pt.Split(2, 0)(pt.vector("x"), [3, 4])]
    [Vector(float64, shape=(3,)), Vector(float64, shape=(4,))]
    """

    __props__ = ("n_splits", "axis")

    def __init__(self, n_splits: int, axis: int = 0) -> None:
        self.n_splits = int(n_splits)
        self.axis = int(axis)
        _check_parts(self.n_splits, "Split")
        self.view_map = {part: [0] for part in range(self.n_splits)}

    def make_node(self, x: Any, splits_size: Any) -> Apply:
        x = as_tensor_variable(x)
        if not 0 <= self.axis < x.ndim:
            msg = f"{self}: {x} of type {x.type} has no dimension {self.axis}."
            raise ShapeError(msg)
        if not isinstance(splits_size, Variable):
            splits_size = shape_vector(splits_size, f"{self}: the sizes of the parts")
        sizes: Any = as_tensor_variable(splits_size)
        if sizes.ndim != 1 or sizes.type.numpy_dtype.kind not in "iu":
            msg = f"{self}: the sizes of the parts are a vector of integers, got {sizes.type}."
            raise DtypeError(msg)
        parts = self.static_shapes([x, sizes])
        return Apply(self, [x, sizes], [TensorType(x.dtype, part)() for part in parts])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Each part has its size along the axis, and they add up."""
        shape, vector = shapes.shapes
        shapes.equal(vector[0], shapes.number(self.n_splits), _MISCOUNTED)
        lengths = [
            shapes.length(size, _negative(part))
            for part, size in enumerate(shapes.entries(1, self.n_splits))
        ]
        shapes.equal(shapes.total(lengths), shape[self.axis], _UNEVEN)
        before, after = shape[: self.axis], shape[self.axis + 1 :]
        return [(*before, size, *after) for size in lengths]

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name what is counted or added up."""
        if misfit is _MISCOUNTED:
            return f"{self}: the numbers of sizes and of parts"
        if misfit is _UNEVEN:
            return f"{self}: the sum of the sizes of the parts and that of the dimension"
        return f"{self}: {misfit.detail}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the sizes of the parts."""
        if misfit is _MISCOUNTED:
            count = shapes.shapes[1][0]
            return ShapeError(f"{self} makes {self.n_splits} parts, got {count} sizes.")
        sizes = shapes.entries(1, self.n_splits)
        return self._misfit(shapes.inputs[0], shapes.shapes[0], sizes)

    def _misfit(self, x: Any, shape: Sequence[Any], sizes: Sequence[Any]) -> ShapeError:
        return ShapeError(
            f"{self}: the sizes of the parts must not be negative and must add up to the size of "
            f"dimension {self.axis} of {x}, which has the shape {tuple(shape)}; got "
            f"{tuple(sizes)}."
        )

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value, given = inputs
        sizes = given.tolist()
        self.shapes_of_results(node.inputs, [value.shape, given.shape], (value, sizes))
        before = (slice(None),) * self.axis
        ends = list(accumulate(sizes))
        for cell, size, end in zip(output_storage, sizes, ends, strict=True):
            cell[0] = value[(*before, slice(end - size, end))]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The gradient does not flow to the sizes: they select the parts."""
        return [[True] * self.n_splits, [False] * self.n_splits]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Join the gradients."""
        x = inputs[0]
        if is_discrete(x):
            return [zero_gradient(x), disconnected_type()]
        parts = [
            zero_gradient(output) if isinstance(gradient.type, DisconnectedType) else gradient
            for output, gradient in zip(outputs, output_grads, strict=True)
        ]
        return [Join(self.axis)(*parts), disconnected_type()]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        if is_missing(point):
            return [None] * self.n_splits
        return self(point, inputs[1], return_list=True)


def _operands(tensors: Any, name: str) -> list[Any]:
    """Return tensors; Python numbers take the dtype of the operands that have one."""
    if isinstance(tensors, Variable):
        msg = (
            f"{name} takes a list or tuple of tensors, got the variable {tensors}. Write "
            f"{name}([x, y], axis)."
        )
        raise OpContractError(msg)
    given = list(tensors)
    if not given:
        msg = f"{name} needs at least one array."
        raise ShapeError(msg)
    strong: list[Any] = [x if type(x) in _WEAK else as_tensor_variable(x) for x in given]
    dtypes = [x.dtype for x in strong if type(x) not in _WEAK]
    if not dtypes:
        return [as_tensor_variable(x) for x in strong]
    return [
        x if isinstance(x, Variable) else constant(np.array(x, np.result_type(*dtypes, x)))
        for x in strong
    ]


_WEAK = frozenset((int, float, complex))


def _as_dtype(arrays: list[Any], dtype: Any, casting: str) -> list[Any]:
    """Return arrays cast to a dtype, each by a change that ``casting`` allows."""
    wanted = normalize_dtype(dtype)
    for x in arrays:
        if not np.can_cast(x.dtype, wanted, casting):  # pyright: ignore[reportArgumentType]
            msg = (
                f"{x} of type {x.type} cannot become {wanted} by casting={casting!r}. Cast it with "
                f"astype({wanted!r}), or give casting='unsafe'."
            )
            raise DtypeError(msg)
    return [x if x.dtype == wanted else math.cast(x, wanted) for x in arrays]


@also_named
def concatenate(
    tensors: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> TensorVariable:
    """Return arrays joined along an existing dimension.

    Parameters
    ----------
    tensors
        A list or tuple of tensors of equal rank, whose sizes may differ in dimension ``axis`` only.
    axis
        The dimension, an int; negative ones count from the end. It can also be a symbolic integer,
        but the sizes of the result are then known only at run time. ``None`` joins all elements.
    dtype
        Dtype of the result; by default that to which the arrays promote.
    casting
        What changes of dtype are allowed, as in :func:`numpy.can_cast`.

    Returns
    -------
    TensorVariable
        A tensor of the rank of the arrays.

    Raises
    ------
    ShapeError
        The ranks or sizes do not match.
    DtypeError
        ``casting`` does not allow to cast to ``dtype``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.concatenate([[1, 2], [3]]).eval()
    array([1, 2, 3])
    """
    arrays = _operands(tensors, "concatenate")
    if axis is None:
        arrays, axis = [reshape(x, (-1,)) for x in arrays], 0
    if any(x.ndim == 0 for x in arrays):
        msg = (
            "concatenate: arrays without dimensions cannot be joined: use pt.stack for "
            f"{', '.join(str(x) for x in arrays)}."
        )
        raise ShapeError(msg)
    if dtype is not None:
        arrays = _as_dtype(arrays, dtype, casting)
    if isinstance(axis, Variable) and not isinstance(axis, Constant):
        known = known_int(axis)
        if known is None:
            return join_along(as_tensor_variable(axis), arrays)
        axis = known
    joined = Join(normalize_axis(axis, arrays[0].ndim))
    return joined(*arrays) if len(arrays) > 1 else arrays[0]


def join(axis: Any, *tensors: Any) -> TensorVariable:
    """Return arrays joined along ``axis``; see :func:`concatenate`.

    Parameters
    ----------
    axis
        The dimension, an int or a symbolic integer; ``None`` joins all elements.
    tensors
        Tensors of equal rank, whose sizes may differ in dimension ``axis`` only.

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
    >>> pt.join(0, [1, 2], [3]).eval()
    array([1, 2, 3])
    """
    return concatenate(tensors, axis)


@also_named
def stack(
    tensors: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> TensorVariable:
    """Return arrays joined along a new dimension.

    Parameters
    ----------
    tensors
        A list or tuple of tensors of equal shape.
    axis
        The position of the new dimension in the result.
    dtype
        Dtype of the result; by default that to which the arrays promote.
    casting
        What changes of dtype are allowed, as in :func:`numpy.can_cast`.

    Returns
    -------
    TensorVariable
        A tensor whose rank is higher by one than that of the arrays.

    Raises
    ------
    ShapeError
        The arrays differ in rank.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.stack([[1, 2], [3, 4]], axis=1).eval()
    array([[1, 3],
           [2, 4]])
    """
    arrays = _operands(tensors, "stack")
    if dtype is not None:
        arrays = _as_dtype(arrays, dtype, casting)
    ndim = arrays[0].ndim
    if any(x.ndim != ndim for x in arrays):
        types = ", ".join(f"{x}: {x.type}" for x in arrays)
        msg = f"stack takes arrays of equal rank, got {types}."
        raise ShapeError(msg)
    axis = normalize_axis(axis, ndim + 1)
    if ndim == 0:
        return make_vector(*arrays)
    return Join(axis)(*(expand_dims(x, axis) for x in arrays))


def stack_nested(x: Any) -> Any:
    """Return nested lists of tensors and numbers as one tensor, as ``numpy.array`` does."""
    if not contains_variable(x):
        return x if type(x) in _WEAK else as_tensor_variable(x)
    if isinstance(x, Variable):
        return as_tensor_variable(x)
    return stack([stack_nested(item) for item in x])


@also_named
def stacklists(tensors: Any) -> TensorLike:
    """Return nested lists of tensors as one tensor, with one dimension for each nesting level.

    Parameters
    ----------
    tensors
        A tensor, or a list or tuple of such, nested to any depth. Those on one level have the same
        shape.

    Returns
    -------
    TensorVariable
        Its dtype is that to which all promote.

    Raises
    ------
    ShapeError
        Tensors on one level have different ranks.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> x, y = pt.dscalars("x", "y")
    >>> pt.stacklists([[x, 1.0], [y, 2.0]]).type
    Matrix(float64, shape=(2, 2))
    """
    return as_tensor_variable(stack_nested(tensors))


@also_named
def hstack(tensors: Any, *, dtype: Any = None, casting: str = "same_kind") -> TensorVariable:
    """Return arrays joined along dimension 1, or along dimension 0 if they are vectors.

    Parameters
    ----------
    tensors
        The arrays; 0-d ones count as vectors of one element.
    dtype, casting
        As for :func:`concatenate`.

    Returns
    -------
    TensorVariable
        A tensor with the dtype to which the arrays promote.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.hstack([[1, 2], 3]).eval()
    array([1, 2, 3])
    """
    arrays = [_at_least(x, 1) for x in _operands(tensors, "hstack")]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@also_named
def vstack(tensors: Any, *, dtype: Any = None, casting: str = "same_kind") -> TensorVariable:
    """Return arrays joined along dimension 0, with vectors as rows.

    Parameters
    ----------
    tensors
        The arrays.
    dtype, casting
        As for :func:`concatenate`.

    Returns
    -------
    TensorVariable
        A tensor with the dtype to which the arrays promote.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.vstack([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]])
    """
    arrays = [_at_least(x, 2) for x in _operands(tensors, "vstack")]
    return concatenate(arrays, dtype=dtype, casting=casting)


def _at_least(x: Any, ndim: int) -> Any:
    return shape_padleft(x, ndim - x.ndim) if x.ndim < ndim else x


@also_named
def split(
    x: Any,
    splits_size: Any = None,
    n_splits: int | None = None,
    axis: Any = 0,
    *,
    indices_or_sections: Any = None,
) -> list[TensorVariable]:
    """Return consecutive parts of an array along a dimension.

    Parameters
    ----------
    x
        A tensor.
    splits_size
        Size of each part: a list of ints and symbolic integers, or a symbolic vector. They must add
        up to the size of the dimension. An int is the number of equal parts, as in NumPy.
    n_splits
        Number of parts; needed only for a vector of unknown length.
    axis
        The dimension; it may be symbolic.
    indices_or_sections
        Instead of sizes, as in NumPy: the number of equal parts, or where to cut; then the axis is
        an int.

    Returns
    -------
    list of TensorVariable
        The parts, with the rank and dtype of ``x``.

    Raises
    ------
    ShapeError
        The sizes do not add up, or their number is unknown.
    ArgumentError
        Neither sizes nor ``indices_or_sections`` are given, or both.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.split(pt.arange(5), [2, 3])
    >>> b.eval()
    array([2, 3, 4])
    """
    x = as_tensor_variable(x)
    if n_splits is None and isinstance(splits_size, int | np.integer):
        # A number is not a list of sizes: as in NumPy, it is that of equal parts.
        splits_size, indices_or_sections = indices_or_sections, int(splits_size)
    if (splits_size is None) == (indices_or_sections is None):
        msg = "split takes either splits_size, the sizes of the parts, or indices_or_sections."
        raise ArgumentError(msg)
    if isinstance(indices_or_sections, list | tuple | np.ndarray):
        return array_split(x, indices_or_sections, axis)
    if indices_or_sections is not None:
        part = fold(math.int_div(shape_i(x, axis), indices_or_sections))
        splits_size = [part] * indices_or_sections
    if not isinstance(splits_size, Variable):
        splits_size = shape_vector(splits_size, "split")
    known = known_sizes(splits_size)
    if n_splits is None:
        if known is None:
            msg = f"split: pass n_splits, since the length of {splits_size} is not known."
            raise ShapeError(msg)
        n_splits = len(known)
    if isinstance(axis, Variable) and not isinstance(axis, Constant):
        position = known_int(axis)
        if position is None:
            return split_along(
                as_tensor_variable(axis), x, as_tensor_variable(splits_size), n_splits
            )
        axis = position
    return Split(n_splits, normalize_axis(axis, x.ndim))(x, splits_size, return_list=True)


@also_named
def array_split(x: Any, indices_or_sections: Any, axis: Any = 0) -> list[TensorVariable]:
    """Return parts of an array along a dimension, as NumPy's ``array_split`` does.

    Parameters
    ----------
    x
        A tensor.
    indices_or_sections
        An int: the number of parts, of which the first are longer by one if the size is not
        divisible. A list of ints, which may be symbolic: where to cut, as bounds of slices, so that
        parts beyond the end are empty.
    axis
        The dimension.

    Returns
    -------
    list of TensorVariable
        The parts, with the rank and dtype of ``x``.

    Raises
    ------
    OpContractError
        The number of parts is not a positive int.
    AxisError
        ``axis`` is out of range.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().tolist() for part in pt.array_split(pt.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    x = as_tensor_variable(x)
    axis = normalize_axis(axis, x.ndim)
    length = fold(shape_i(x, axis))
    if isinstance(indices_or_sections, list | tuple | np.ndarray):
        cuts = [0, *(fold(as_size(cut)) for cut in indices_or_sections), length]
        inner = cuts[1:-1]
        if not all(isinstance(cut, int) for cut in inner) or sorted([0, *inner]) != cuts[:-1]:
            front = (slice(None),) * axis
            return [x[(*front, slice(*piece))] for piece in pairwise([*cuts[:-1], None])]
        places = [0, *(clip_size(cut, None, length) for cut in inner), length]
        sizes = [subtract_sizes(end, start) for start, end in pairwise(places)]
        return split(x, sizes, axis=axis)
    parts = known_int(as_size(indices_or_sections, "The number of parts"))
    if parts is None:
        msg = f"array_split: the number of parts is an int, got {indices_or_sections!r}."
        raise OpContractError(msg)
    _check_parts(parts, "array_split")
    # The first (length % parts) parts get one more: part i has ceil((length - i) / parts).
    sizes = [(length + (parts - 1 - part)) // parts for part in range(parts)]
    return split(x, sizes, axis=axis)
