"""AdvancedSubtensor: indexing with integer and bool arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, OpContractError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.variable import Constant
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import DimShuffle, SelectsElements
from phintys.tensor.indexing.basic import IndexingOp, as_scalar_index
from phintys.tensor.indexing.template import (
    ARRAY,
    Mask,
    arrays_misfit,
    as_template,
    count_dims,
    count_inputs,
    explain,
    fill,
    input_kinds,
    is_advanced,
    mask_misfit,
    numpy_index,
    roles_of_indices,
    template_text,
)
from phintys.tensor.known import known_int
from phintys.tensor.nonzeros import Nonzero
from phintys.tensor.ranges import ARange
from phintys.tensor.shape_rules import S, Shapes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.op import Roles
    from phintys.tensor.indexing.template import Template


class AdvancedSubtensor(SelectsElements, IndexingOp):
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
        shape = self.static_selection(x, indices)
        return Apply(self, [x, *indices], [TensorType(x.dtype, shape)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [self.selected_sizes(shapes)]

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
            raise arrays_misfit(op, [shape for _, shape in shapes])


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
