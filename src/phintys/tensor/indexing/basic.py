"""Subtensor: indexing with integers and slices, as a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import DtypeError, OpContractError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import SelectsElements
from phintys.tensor.indexing.template import (
    ARRAY,
    SCALAR,
    Kept,
    Mask,
    Placed,
    Slice,
    arrays_misfit,
    as_template,
    check_rank,
    count_dims,
    count_inputs,
    explain,
    fill,
    input_kinds,
    is_advanced,
    layout,
    mask_misfit,
    numpy_index,
    out_of_range,
    roles_of_indices,
    template_text,
)
from phintys.tensor.shape_rules import Misfit, S, ShapedOp, Shapes, StaticShapes
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from phintys.graph.op import Roles
    from phintys.tensor.indexing.template import Template


class IndexingOp(ShapedOp):
    """An Op with a template: its first input is indexed, the indices are among the others."""

    idx_list: Template

    def static_selection(self, x: Any, indices: Sequence[Any]) -> tuple[int | None, ...]:
        """Return the static shape of what is selected; raise for statically known errors."""
        check_rank(self, x, self.idx_list)
        return self.selected_sizes(StaticShapes(self, [x, *indices]))

    def selected_sizes(self, shapes: Shapes[S]) -> tuple[S, ...]:
        """Return the sizes of what is selected from the first input by those that follow."""
        if is_advanced(self.idx_list):
            return _sizes_by_arrays(shapes, self.idx_list)
        sizes, kept = shapes.shapes[0], list[S]()
        indices = map(shapes.index, range(1, len(shapes.inputs)))
        for dim, index in enumerate(fill(self.idx_list, indices)):
            if isinstance(index, Slice):
                kept.append(shapes.sliced(sizes[dim], *index))
            else:
                shapes.check_index(index, sizes[dim], Misfit.in_dimension(INDEX, dim))
        return (*kept, *sizes[len(self.idx_list) :])

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the axis."""
        return f"{self}: axis {misfit.dim}"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Show the index, or the shapes of masks and index arrays."""
        x, sizes, dim = shapes.inputs[0], shapes.shapes[0], misfit.dim
        if misfit.kind == MASK:
            mask = shapes.shapes[misfit.position]
            return mask_misfit(self, x, mask, dim, sizes[dim : dim + len(mask)])
        if misfit.kind == ARRAYS:
            return arrays_misfit(self, [own for _, own in _shapes_of_arrays(shapes, self.idx_list)])
        index = next(index for at, _, index in _covering(shapes, self.idx_list) if at == dim)
        return out_of_range(self, x, index, dim, sizes[dim])


class Subtensor(SelectsElements, IndexingOp):
    """Index with integers and slices. The result is a view.

    Takes the array, and a 0-d integer for each ``SCALAR`` of the template.

    Parameters
    ----------
    idx_list
        The template of the index; see :mod:`phintys.tensor.indexing.template`. Python slices are
        accepted. Dimensions that it does not cover are kept.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.indexing import SCALAR, Subtensor
    >>> op = Subtensor([slice(None, 3), SCALAR])
    >>> op(pt.tensor("x", shape=(5, 6)), pt.lscalar("i")).type
    Vector(float64, shape=(3,))
    """

    __props__ = ("idx_list",)

    view_map = {0: [0]}

    def __init__(self, idx_list: Iterable[Any]) -> None:
        self.idx_list: Template = as_template(idx_list)
        check_basic(self, self.idx_list)
        self._fixed = (
            None if count_inputs(self.idx_list) else (*numpy_index(self.idx_list, ()), ...)
        )

    def make_node(self, x: Any, *inputs: Any) -> Apply:
        x = as_tensor_variable(x)
        indices = as_scalars(self, self.idx_list, inputs)
        shape = self.static_selection(x, indices)
        return Apply(self, [x, *indices], [TensorType(x.dtype, shape)()])

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [self.selected_sizes(shapes)]

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        value = inputs[0]
        # The ellipsis keeps a result without dimensions an array.
        index = self._fixed or (*numpy_index(self.idx_list, inputs[1:]), ...)
        try:
            output_storage[0][0] = value[index]
        except (IndexError, ValueError):
            raise explain(self, node.inputs[0], value.shape, self.idx_list, inputs[1:]) from None

    def static_value(self, node: Apply, known: Sequence[Any]) -> Any:
        """Index the known entries of a vector."""
        vector, *indices = known
        if not isinstance(vector, tuple):
            return None
        vector = cast("tuple[int | None, ...]", vector)
        if not self.idx_list:
            return vector
        if None in indices:
            return None
        entry: Any = next(fill(self.idx_list, indices))
        if isinstance(entry, Slice):
            start, stop, step = entry
            return None if step == 0 else vector[slice(start, stop, step)]  # pyright: ignore[reportArgumentType, reportCallIssue] - ints by now
        return vector[entry] if -len(vector) <= entry < len(vector) else None

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The elements come from the array; the indices only select them."""
        return [[True], *([False] for _ in node.inputs[1:])]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Write the gradient at the selected elements."""
        x, *indices = inputs
        disconnected = [disconnected_type() for _ in indices]
        if is_discrete(x):
            return [zero_gradient(x), *disconnected]
        (gradient,) = output_grads
        place = self(operators.zeros_like(x, gradient.dtype), *indices)
        return [operators.inc_subtensor(place, gradient), *disconnected]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        point = eval_points[0]
        return [None if is_missing(point) else self(point, *inputs[1:])]

    def roles(self, node: Any) -> Roles:
        """Return to which axis and bound each index belongs."""
        return ["", *roles_of_indices(self.idx_list)], ()

    def __str__(self) -> str:
        return f"Subtensor{{{template_text(self.idx_list)}}}"


def check_basic(op: Any, template: Template) -> None:
    """Raise unless a template has only integers and slices."""
    if not all(isinstance(entry, int | Slice) or entry is SCALAR for entry in template):
        msg = (
            f"{type(op).__name__} takes integers and slices, got {template}. Arrays are for "
            "AdvancedSubtensor, new dimensions for DimShuffle."
        )
        raise OpContractError(msg)


def as_scalars(op: Any, template: Template, inputs: Sequence[Any]) -> list[Any]:
    """Return the index inputs of a node as 0-d integer tensors."""
    if len(inputs) != count_inputs(template):
        msg = f"{op} takes {count_inputs(template)} indices, got {len(inputs)}."
        raise OpContractError(msg)
    return [as_scalar_index(op, index) for index in inputs]


def as_scalar_index(op: Any, index: Any) -> Any:
    """Return an index as a 0-d integer tensor."""
    variable = as_tensor_variable(index)
    if variable.ndim != 0 or variable.type.numpy_dtype.kind not in "iu":
        msg = f"{op}: expected an integer without dimensions, got {variable} of {variable.type}."
        raise DtypeError(msg)
    return variable


# ---- the shape of what is selected ---------------------------------------------------------------

INDEX, MASK, ARRAYS = "index", "mask", "index arrays"
"""The kinds of misfits."""


def _sizes_by_arrays(shapes: Shapes[S], template: Template) -> tuple[S, ...]:
    """Return the sizes of what a template with arrays selects from the first input."""
    sizes = shapes.shapes[0]
    lengths = list(sizes)
    for dim, entry, index in _covering(shapes, template):
        if isinstance(entry, Slice):
            lengths[dim] = shapes.sliced(sizes[dim], *index)
        elif isinstance(entry, Mask):
            for offset, size in enumerate(shapes.shapes[index]):
                misfit = Misfit(MASK, f"dimension {offset}: {{0}} and {{1}}", dim, index)
                shapes.agreed([sizes[dim + offset], size], misfit)
        elif entry is not ARRAY:
            shapes.check_index(index, sizes[dim], Misfit.in_dimension(INDEX, dim))
    result: list[S] = []
    for place in layout(template, len(sizes)):
        if isinstance(place, Kept):
            result.append(lengths[place.dim])
        elif place is Placed.NEW:
            result.append(shapes.number(1))
        else:
            result += _broadcast_sizes(shapes, template)
    return tuple(result)


def _covering(shapes: Shapes[Any], template: Template) -> Iterator[tuple[int, Any, Any]]:
    """Yield the entries that cover dimensions: the first dimension, the entry, and the index.

    That of a slice has three bounds, that of an array is the position of the input.
    """
    kinds = input_kinds(template)
    is_array = [kind is ARRAY or isinstance(kind, Mask) for kind in kinds]
    values = [at if own else shapes.index(at) for at, own in enumerate(is_array, start=1)]
    dim = 0
    for entry, index in zip(template, fill(template, values), strict=True):
        covered = count_dims((entry,))
        if covered or isinstance(entry, Mask):
            yield dim, entry, index
        dim += covered


def _shapes_of_arrays(
    shapes: Shapes[Any], template: Template
) -> Iterator[tuple[list[bool], list[Any]]]:
    """Yield the shape of each index array, a mask being a vector, and which sizes broadcast."""
    for at, kind in enumerate(input_kinds(template), start=1):
        if kind is ARRAY:
            sizes = shapes.shapes[at]
            yield [shapes.broadcasts(at, dim) for dim in range(len(sizes))], list(sizes)
        elif isinstance(kind, Mask):
            known = shapes.known_count(at)
            yield [known == 1], [shapes.count(at) if known is None else shapes.number(known)]


def _broadcast_sizes(shapes: Shapes[S], template: Template) -> list[S]:
    """Return the sizes to which index arrays broadcast."""
    arrays = list(_shapes_of_arrays(shapes, template))
    found: list[S] = []
    for back in range(max(len(sizes) for _, sizes in arrays), 0, -1):
        wide = [
            sizes[-back] for is_one, sizes in arrays if len(sizes) >= back and not is_one[-back]
        ]
        misfit = Misfit.in_dimension(ARRAYS, back)
        found.append(shapes.agreed(wide, misfit) if wide else shapes.number(1))
    return found
