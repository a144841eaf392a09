"""AdvancedSubtensor: indexing with integer and bool arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, OpContractError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.variable import Constant
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.broadcasting import broadcast_sizes
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import DimShuffle, SelectsElements
from phintys.tensor.indexing.basic import as_scalar_index, kept_sizes
from phintys.tensor.indexing.template import (
    ARRAY,
    NEWAXIS,
    SEPARATOR,
    Kept,
    Mask,
    Placed,
    Slice,
    as_template,
    check_rank,
    check_scalar_in_range,
    count_dims,
    count_inputs,
    explain,
    fill,
    is_advanced,
    known_or_none,
    layout,
    mask_misfit,
    numpy_index,
    roles_of_indices,
    static_slice_length,
    template_text,
)
from phintys.tensor.known import known_int
from phintys.tensor.nonzeros import Nonzero
from phintys.tensor.ranges import ARange
from phintys.tensor.sizes import as_size, fold
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Roles
    from phintys.tensor.indexing.template import Template


class AdvancedSubtensor(SelectsElements, Op):
    """Index with integer or bool arrays, together with integers, slices and new dimensions.

    Takes the array and the inputs that the template calls for: 0-d integers, integer arrays and
    bool arrays. The index arrays broadcast against each other; the rules are NumPy's.

    Parameters
    ----------
    idx_list
        The template of the index; see :mod:`phintys.tensor.indexing.template`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.indexing import ARRAY, AdvancedSubtensor
    >>> op = AdvancedSubtensor([slice(None), ARRAY])
    >>> op(pt.tensor("x", shape=(5, 6)), pt.lmatrix("i")).type
    Tensor3(float64, shape=(5, ?, ?))
    """

    __props__ = ("idx_list",)

    def __init__(self, idx_list: Iterable[Any]) -> None:
        self.idx_list: Template = as_template(idx_list)
        check_advanced(self, self.idx_list)

    def make_node(self, x: Any, *inputs: Any) -> Apply:
        x = as_tensor_variable(x)
        indices = as_indices(self, self.idx_list, inputs)
        shape = static_advanced_shape(self, x, self.idx_list, indices)
        return Apply(self, [x, *indices], [TensorType(x.dtype, shape)()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value, *indices = inputs
        check_index_shapes(self, node.inputs[1:], indices, self.idx_list)
        check_empty_masks(self, node.inputs[0], value.shape, self.idx_list, indices)
        index = numpy_index(self.idx_list, indices)
        try:
            if not value.size:
                check_indices_of_nothing(value.shape, self.idx_list, index)
            result = value[index]
        except (IndexError, ValueError):
            raise explain(self, node.inputs[0], value.shape, self.idx_list, indices) from None
        # A NumPy scalar is returned where no dimensions are left.
        output_storage[0][0] = np.asarray(result, dtype=value.dtype)

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Any, input_shapes: Sequence[Any]
    ) -> list[Any]:
        ndim = node.inputs[0].type.ndim
        size_of = kept_sizes(self.idx_list, node.inputs[1:], input_shapes[0])
        sizes: list[Any] = []
        for place in layout(self.idx_list, ndim):
            if isinstance(place, Kept):
                sizes.append(size_of(place))
            elif place is Placed.NEW:
                sizes.append(1)
            else:
                sizes.extend(index_sizes(self.idx_list, node.inputs[1:], input_shapes[1:]))
        static = node.outputs[0].type.shape
        return [
            tuple(
                as_size(size if known is None else known)
                for known, size in zip(static, sizes, strict=True)
            )
        ]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The elements come from the array; the indices only select them."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Accumulate the gradient at the selected elements."""
        x, *indices = inputs
        disconnected = [disconnected_type() for _ in indices]
        if is_discrete(x):
            return [zero_gradient(x), *disconnected]
        (gradient,) = output_grads
        place = self(operators.zeros_like(x, gradient.dtype), *indices)
        once = not may_repeat(self.idx_list, indices)
        summed = operators.inc_subtensor(place, gradient, ignore_duplicates=once)
        return [summed, *disconnected]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        return [None if is_missing(point) else self(point, *inputs[1:])]

    def roles(self, node: Any) -> Roles:
        """Return to which axis and bound each index belongs."""
        return ["", *roles_of_indices(self.idx_list)], ()

    def __str__(self) -> str:
        return f"AdvancedSubtensor{{{template_text(self.idx_list)}}}"


def check_advanced(op: Any, template: Template) -> None:
    """Raise unless a template contains an array."""
    if not is_advanced(template):
        msg = (
            f"{type(op).__name__} indexes with at least one array, got {template}. Integers and "
            "slices alone are for Subtensor."
        )
        raise OpContractError(msg)


def as_indices(op: Any, template: Template, inputs: Sequence[Any]) -> list[Any]:
    """Return the index inputs of a node as tensors; raise for wrong dtypes and ranks."""
    if len(inputs) != count_inputs(template):
        msg = f"{op} takes {count_inputs(template)} indices, got {len(inputs)}."
        raise OpContractError(msg)
    following = iter(inputs)
    indices: list[Any] = []
    for entry in template:
        if entry is ARRAY:
            indices.append(_as_array(op, next(following), "iu", None))
        elif isinstance(entry, Mask):
            indices.append(_as_array(op, next(following), "b", entry.ndim))
        else:
            count = count_inputs((entry,))
            indices.extend(as_scalar_index(op, next(following)) for _ in range(count))
    return indices


def _as_array(op: Any, index: Any, kinds: str, ndim: int | None) -> Any:
    variable = as_tensor_variable(index)
    if variable.type.numpy_dtype.kind not in kinds or ndim not in {None, variable.ndim}:
        what = "integers" if ndim is None else f"bools with {ndim} dimensions"
        msg = f"{op}: expected an array of {what}, got {variable} of type {variable.type}."
        raise DtypeError(msg)
    return variable


def static_advanced_shape(
    op: Any, x: Any, template: Template, indices: Sequence[Any]
) -> tuple[int | None, ...]:
    """Return the static shape of an index; raise for statically known errors."""
    check_rank(op, x, template)
    static = x.type.shape
    entries = list(fill(template, indices))
    dim = 0
    for entry, index in zip(template, entries, strict=True):
        if isinstance(entry, Mask):
            _check_mask(op, x, index, dim)
            dim += entry.ndim
        elif entry is not NEWAXIS and entry is not SEPARATOR:
            if not isinstance(entry, Slice) and entry is not ARRAY:
                check_scalar_in_range(op, x, known_or_none(index), dim)
            dim += 1
    shape: list[int | None] = []
    for place in layout(template, x.type.ndim):
        if place is Placed.NEW:
            shape.append(1)
        elif place is Placed.ADVANCED:
            shape.extend(_static_index_shape(op, template, entries))
        elif place.position < 0:
            shape.append(static[place.dim])
        else:
            shape.append(static_slice_length(static[place.dim], entries[place.position]))
    return tuple(shape)


def _check_mask(op: Any, x: Any, mask: Any, dim: int) -> None:
    covered = x.type.shape[dim : dim + mask.ndim]
    if any(
        a is not None and b is not None and a != b
        for a, b in zip(mask.type.shape, covered, strict=True)
    ):
        raise mask_misfit(op, x, mask.type.shape, dim, covered)


def _static_index_shape(op: Any, template: Template, entries: Sequence[Any]) -> list[int | None]:
    """Return the static shape to which index arrays broadcast."""
    shapes: list[Sequence[Any]] = []
    for entry, index in zip(template, entries, strict=True):
        if entry is ARRAY:
            shapes.append([_Unknown() if size is None else size for size in index.type.shape])
        elif isinstance(entry, Mask):
            known = isinstance(index, Constant)
            shapes.append([int(np.count_nonzero(index.data)) if known else _Unknown()])
    sizes = broadcast_sizes(shapes, f"{op}: the index arrays")
    return [size if isinstance(size, int) else None for size in sizes]


class _Unknown:
    """An unknown size."""


def index_sizes(
    template: Template, indices: Sequence[Any], index_shapes: Sequence[Any]
) -> list[Any]:
    """Return the shape to which index arrays broadcast, as int or symbolic sizes."""
    shapes: list[Sequence[Any]] = []
    kinds = input_kinds(template)
    for entry, index, shape in zip(kinds, indices, index_shapes, strict=True):
        if entry is ARRAY:
            shapes.append(
                [
                    fold(size) if known is None else known
                    for size, known in zip(shape, index.type.shape, strict=True)
                ]
            )
        elif isinstance(entry, Mask):
            known = int(np.count_nonzero(index.data)) if isinstance(index, Constant) else None
            shapes.append([_count(index) if known is None else known])
    return broadcast_sizes(shapes)


def _count(mask: Any) -> Any:
    return operators.sum(math.cast(mask, "int64"))


def input_kinds(template: Template) -> list[Any]:
    """Return, for each index input, the template entry that it belongs to."""
    return [entry for entry in template for _ in range(count_inputs((entry,)))]


def check_index_shapes(
    op: Any, variables: Sequence[Any], values: Sequence[Any], template: Template
) -> None:
    """Raise if index arrays broadcast in a dimension whose size is not known to be 1."""
    if len(values) < 2:
        return
    shapes: list[tuple[Any, Any]] = []
    for entry, variable, value in zip(input_kinds(template), variables, values, strict=True):
        if entry is ARRAY:
            shapes.append((variable.type.shape, value.shape))
        elif isinstance(entry, Mask):
            count = int(np.count_nonzero(value))
            shapes.append(((count if isinstance(variable, Constant) else None,), (count,)))
    if all(shape == shapes[0][1] for _, shape in shapes):
        return
    for dim in range(1, max(len(shape) for _, shape in shapes) + 1):
        sizes = {shape[-dim] for static, shape in shapes if len(shape) >= dim and static[-dim] != 1}
        if len(sizes) > 1:
            given = ", ".join(str(shape) for _, shape in shapes)
            msg = (
                f"{op}: the index arrays, of shapes {given}, do not fit together. A dimension "
                "broadcasts only if its size is known to be 1 when the graph is built: use x[:, "
                "None] for a new dimension, or pt.specify_broadcastable(x, axis)."
            )
            raise ShapeError(msg)


def check_empty_masks(
    op: Any, x: Any, shape: Sequence[int], template: Template, indices: Sequence[Any]
) -> None:
    """Raise for an empty mask of the wrong shape, which NumPy accepts."""
    if all(index.size or index.dtype != "bool" for index in indices):
        return
    dim = 0
    for entry, index in zip(template, fill(template, indices), strict=True):
        covered = tuple(shape[dim : dim + count_dims((entry,))])
        if isinstance(entry, Mask) and index.shape != covered:
            raise mask_misfit(op, x, index.shape, dim, covered)
        dim += len(covered)


def check_indices_of_nothing(
    shape: Sequence[int], template: Template, index: tuple[Any, ...]
) -> None:
    """Raise IndexError for an index out of range where there is nothing to read.

    NumPy 2.0 ignores it where the result is empty. Here the dimensions that are sliced, which may
    be what makes it empty, have length 1.
    """
    sizes, dim = [], 0
    for entry, part in zip(template, index, strict=True):
        covered = count_dims((entry,))
        sizes += [1] * covered if isinstance(part, slice) else shape[dim : dim + covered]
        dim += covered
    stand_in = np.broadcast_to(np.False_, [*sizes, *(1 for _ in shape[dim:])])
    stand_in[tuple(slice(None) if isinstance(part, slice) else part for part in index)]


def may_repeat(template: Template, indices: Sequence[Any]) -> bool:
    """Return whether an index might select an element twice, as far as is known."""
    arrays = [
        index for entry, index in zip(input_kinds(template), indices, strict=True) if entry is ARRAY
    ]
    if not arrays:
        return False  # a mask selects each element once
    if any(isinstance(entry, Mask) for entry in template):
        return True
    owners = {index.owner for index in arrays}
    if len(owners) == 1:
        (owner,) = owners
        if owner is not None and isinstance(owner.op, Nonzero):
            return len({index.index for index in arrays}) != len(owner.outputs)
    ndim = max(index.ndim for index in arrays)
    return not any(
        index.ndim == ndim and not _broadcasts(index, arrays) and _is_distinct(index)
        for index in arrays
    )


def _broadcasts(index: Any, arrays: Sequence[Any]) -> bool:
    """Return whether an index array, of the highest rank, is repeated to fit the others."""
    return any(
        size == 1 and any(len(o.type.shape) >= dim and o.type.shape[-dim] != 1 for o in arrays)
        for dim, size in enumerate(reversed(index.type.shape), start=1)
    )


def _is_distinct(index: Any) -> bool:
    """Return whether the elements of an index array are known to select distinct positions."""
    while index.owner is not None and isinstance(index.owner.op, DimShuffle):
        index = index.owner.inputs[0]
    if isinstance(index, Constant):
        data = index.data
        # -1 and 4 can be the same position.
        one_sided = data.size == 0 or data.min() >= 0 or data.max() < 0
        return bool(one_sided and np.unique(data).size == data.size)
    if index.owner is not None and isinstance(index.owner.op, ARange):
        start, _, step = (known_int(bound) for bound in index.owner.inputs)
        return start is not None and start >= 0 and step is not None and step > 0
    return all(size == 1 for size in index.type.shape)


def numpy_result_shape(
    template: Template, shape: Sequence[int], indices: Sequence[Any]
) -> tuple[int, ...]:
    """Return the shape of the result, given values."""
    entries = list(fill(template, indices))
    result: list[int] = []
    for place in layout(template, len(shape)):
        if place is Placed.NEW:
            result.append(1)
        elif place is Placed.ADVANCED:
            result.extend(
                np.broadcast_shapes(
                    *(
                        index.shape if entry is ARRAY else (int(np.count_nonzero(index)),)
                        for entry, index in zip(template, entries, strict=True)
                        if entry is ARRAY or isinstance(entry, Mask)
                    )
                )
            )
        elif place.position < 0:
            result.append(shape[place.dim])
        else:
            bounds = [None if b is None else int(b) for b in entries[place.position]]
            result.append(len(range(*slice(*bounds).indices(shape[place.dim]))))
    return tuple(result)
