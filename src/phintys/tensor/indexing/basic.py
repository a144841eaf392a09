"""Subtensor: indexing with integers and slices, as a view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import DtypeError, OpContractError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import SelectsElements
from phintys.tensor.indexing.template import (
    SCALAR,
    Kept,
    Slice,
    as_template,
    check_rank,
    check_scalar_in_range,
    count_inputs,
    explain,
    fill,
    known_or_none,
    layout,
    numpy_index,
    roles_of_indices,
    slice_length,
    static_slice_length,
    template_text,
)
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import as_size, fold
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Roles
    from phintys.tensor.indexing.template import Template


class Subtensor(SelectsElements, Op):
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
        shape = static_basic_shape(self, x, self.idx_list, indices)
        return Apply(self, [x, *indices], [TensorType(x.dtype, shape)()])

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

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Any, input_shapes: Sequence[Any]
    ) -> list[Any]:
        sizes = kept_sizes(self.idx_list, node.inputs[1:], input_shapes[0])
        static = node.outputs[0].type.shape
        kept = tuple(
            as_size(known if known is not None else sizes(place))
            for known, place in zip(
                static, layout(self.idx_list, node.inputs[0].type.ndim), strict=True
            )
        )
        # Slices are clipped; integers are not.
        for axis, entry in enumerate(fill(self.idx_list, node.inputs[1:])):
            if not isinstance(entry, Slice):
                subject = f"{self}: axis {axis}"
                kept = with_check(kept, "index", entry, input_shapes[0][axis], subject)
        return [kept]

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


def static_basic_shape(
    op: Any, x: Any, template: Template, indices: Sequence[Any]
) -> tuple[int | None, ...]:
    """Return the static shape of a basic index; raise for statically known errors."""
    check_rank(op, x, template)
    shape: list[int | None] = []
    for dim, entry in enumerate(fill(template, indices)):
        if isinstance(entry, Slice):
            shape.append(static_slice_length(x.type.shape[dim], entry))
        else:
            check_scalar_in_range(op, x, known_or_none(entry), dim)
    return (*shape, *x.type.shape[len(template) :])


def kept_sizes(
    template: Template, indices: Sequence[Any], x_shape: Sequence[Any]
) -> Callable[[Any], Any]:
    """Return a function from a kept dimension of the result to its size, int or symbolic."""
    entries = list(fill(template, indices))

    def size_of(place: Kept) -> Any:
        size = fold(x_shape[place.dim])
        return size if place.position < 0 else slice_length(size, entries[place.position])

    return size_of
