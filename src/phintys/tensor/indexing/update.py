"""Setting and incrementing the elements that an index selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, ShapeError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.tensor import math
from phintys.tensor._operators import operators
from phintys.tensor._rules import is_discrete, is_missing, zero_gradient
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import is_known_zero, sum_to, zeros
from phintys.tensor.dim_shuffle import shape_padright
from phintys.tensor.indexing.advanced import (
    AdvancedSubtensor,
    as_indices,
    check_advanced,
    check_empty_masks,
    check_index_shapes,
    check_indices_of_nothing,
    may_repeat,
)
from phintys.tensor.indexing.basic import (
    IndexingOp,
    Subtensor,
    as_scalars,
    check_basic,
)
from phintys.tensor.indexing.template import (
    NEWAXIS,
    SEPARATOR,
    Placed,
    Slice,
    as_template,
    count_dims,
    count_inputs,
    explain,
    layout,
    numpy_index,
    roles_of_indices,
    template_text,
)
from phintys.tensor.ranges import arange
from phintys.tensor.reshaping import reshape
from phintys.tensor.shape_rules import ExactShapes, TakesShape
from phintys.tensor.shapes import shape_tuple, sizes_of
from phintys.tensor.sizes import multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.graph.op import Roles
    from phintys.tensor.indexing.template import Template


class _Update(IndexingOp, TakesShape):
    """Base class of the two Ops that write to an index."""

    inplace: bool
    set_instead_of_inc: bool
    writes_first_input = True
    reuses_operands = True

    def inplace_twins(self, node: Apply) -> Iterable[Op]:
        """Return the update that overwrites the array."""
        return () if self.inplace else (self._twin(),)

    def _twin(self) -> Op:
        raise NotImplementedError

    def _prepare(self, x: Any, y: Any, static: Sequence[int | None]) -> tuple[Any, Any]:
        """Return the array and the values to write; raise if they cannot fit."""
        check_written_dtype(self, x, y)
        if y.ndim > len(static):
            msg = (
                f"{self}: {y} of type {y.type} has more dimensions than what is written to, which "
                f"has the shape {_text(static)}."
            )
            raise ShapeError(msg)
        for known, size in zip(y.type.shape[::-1], static[::-1], strict=False):
            if known not in {None, 1} and size not in {None, known}:
                raise self._misfit(y, y.type.shape, static)
        return x, y

    def _misfit(self, y: Any, given: Sequence[Any], wanted: Sequence[Any]) -> ShapeError:
        return ShapeError(
            f"{self}: {y} of shape {_text(given)} does not fit what is written to, which has the "
            f"shape {_text(wanted)}. A dimension broadcasts only if its size is known to be 1 "
            "when the graph is built: make the input with shape=(..., 1, ...), or state it with "
            "pt.specify_shape(value, (..., 1, ...)), where ... are sizes or None."
        )

    def _check_value(self, node: Any, value: Any, wanted: Sequence[int]) -> None:
        """Raise unless a value has the shape of the selected part, or broadcasts to it."""
        static = node.inputs[1].type.shape
        for known, given, size in zip(static[::-1], value.shape[::-1], wanted[::-1], strict=False):
            if known != 1 and given != size:
                raise self._misfit(node.inputs[1], value.shape, wanted)

    def _target(self, value: Any, cell: list[Any]) -> Any:
        """Return the array to write to: the input itself, or a copy of it."""
        if self.inplace:
            return value
        former = cell[0]
        if former is None or former.shape != value.shape or not former.flags.writeable:
            return value.copy(order="K")
        np.copyto(former, value)
        return former

    def pieces(self, node: Apply, other: Any) -> tuple[Any, Any, Any] | None:
        """Return the values added to zeros, those of another array there, and what adds others.

        ``None`` if the values are not added to zeros, or broadcast.
        """
        x, y, *indices = node.inputs
        if self.set_instead_of_inc or self.inplace or not is_known_zero(x):
            return None
        if other.type.broadcastable != x.type.broadcastable:  # pyright: ignore[reportAttributeAccessIssue]
            return None
        there = self._reader()(other, *indices)
        if there.type.broadcastable != y.type.broadcastable:  # pyright: ignore[reportAttributeAccessIssue]
            return None
        return [y], [there], lambda values: self(x, *values, *indices)

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The elements come from the two arrays; the indices only say where they are written."""
        return [[True], [True], *([False] for _ in node.inputs[2:])]

    def _plain(self) -> Any:
        """Return the Op that does not overwrite its inputs."""
        raise NotImplementedError

    def _reader(self) -> Any:
        """Return the Op that reads the elements to which this one writes."""
        raise NotImplementedError

    def _written(self, gradient: Any, x: Any, indices: Sequence[Any]) -> Any:
        """Return the gradient for the written values, before summing over broadcast dimensions."""
        return self._reader()(gradient, *indices)

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        x, y, *indices = inputs
        (gradient,) = output_grads
        disconnected = [disconnected_type() for _ in indices]
        if is_discrete(x):
            return [zero_gradient(x), zero_gradient(y), *disconnected]
        of_y = sum_to(self._written(gradient, x, indices), y)
        of_x = gradient
        if self.set_instead_of_inc:
            of_x = self._plain()(gradient, _zero(gradient.dtype), *indices)
        return [of_x, of_y, *disconnected]

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        x, y, *indices = inputs
        if is_discrete(x) or (is_missing(eval_points[0]) and is_missing(eval_points[1])):
            return [None]
        along_x, along_y = (
            operators.zeros_like(of, x.dtype) if is_missing(point) else math.cast(point, x.dtype)
            for of, point in zip((x, y), eval_points[:2], strict=True)
        )
        return [self._plain()(along_x, along_y, *indices)]

    def roles(self, node: Any) -> Roles:
        """Return to which axis and bound each index belongs."""
        return ["", "values to write", *roles_of_indices(self.idx_list)], ()

    def __str__(self) -> str:
        return self._text("")

    def __repr__(self) -> str:
        return self._text("inplace; " if self.inplace else "")

    def _text(self, inplace: str) -> str:
        name = type(self).__name__
        if self.set_instead_of_inc:
            name = name.replace("Inc", "Set")
        return f"{name}{{{inplace}{template_text(self.idx_list)}}}"


def check_written_dtype(op: Any, x: Any, y: Any) -> None:
    """Raise unless the written values can be cast to the dtype of the array without loss."""
    if not np.can_cast(y.dtype, x.dtype):
        msg = (
            f"{op}: {y} of dtype {y.dtype} does not fit into {x} of dtype {x.dtype} without loss. "
            f"Cast one of them: y.astype({x.dtype!r}) or x.astype({y.dtype!r})."
        )
        raise DtypeError(msg)


def _text(shape: Sequence[Any]) -> str:
    sizes = ["?" if size is None else str(size) for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _zero(dtype: Any) -> Any:
    return constant(np.zeros((), dtype))


class IncSubtensor(_Update):
    """Set or increment the elements selected by integers and slices.

    Takes the array, the values to set or add (which broadcast), and a 0-d integer for each
    ``SCALAR`` of the template.

    Parameters
    ----------
    idx_list
        The template of the index; see :mod:`phintys.tensor.indexing.template`.
    inplace
        Write to the memory of the array itself.
    set_instead_of_inc
        Set the elements; otherwise add to them.
    tolerate_aliased
        Allow the written values to share memory with the array that is overwritten.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.indexing import IncSubtensor
    >>> IncSubtensor([slice(None, 2)])(pt.constant([1.0, 1.0, 1.0]), pt.constant(2.0)).eval()
    array([3., 3., 1.])
    """

    __props__ = ("idx_list", "inplace", "set_instead_of_inc", "tolerate_aliased")

    def __init__(
        self,
        idx_list: Iterable[Any],
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        tolerate_aliased: bool = False,
    ) -> None:
        self.idx_list: Template = as_template(idx_list)
        check_basic(self, self.idx_list)
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        self.tolerate_aliased = bool(tolerate_aliased)
        if self.inplace:
            self.destroy_map = {0: [0]}
            if self.tolerate_aliased:
                self.destroyhandler_tolerate_aliased = [(0, 1)]
        self._fixed = (
            None if count_inputs(self.idx_list) else (*numpy_index(self.idx_list, ()), ...)
        )

    def make_node(self, x: Any, y: Any, *inputs: Any) -> Apply:
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        indices = as_scalars(self, self.idx_list, inputs)
        static = self.static_selection(x, indices)
        x, y = self._prepare(x, y, static)
        return Apply(self, [x, y, *indices], [x.type()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        x, y = inputs[0], inputs[1]
        index = self._fixed or (*numpy_index(self.idx_list, inputs[2:]), ...)
        try:
            wanted = x[index].shape
        except (IndexError, ValueError):
            raise explain(self, node.inputs[0], x.shape, self.idx_list, inputs[2:]) from None
        if y.shape != wanted:
            self._check_value(node, y, wanted)
        result = self._target(x, output_storage[0])
        place = result[index]
        if self.set_instead_of_inc:
            place[...] = y
        else:
            np.add(place, y, out=place)
        output_storage[0][0] = result

    def _plain(self) -> Any:
        if not self.inplace:
            return self
        return IncSubtensor(self.idx_list, set_instead_of_inc=self.set_instead_of_inc)

    def _twin(self) -> Op:
        kind = self.set_instead_of_inc
        return IncSubtensor(self.idx_list, inplace=True, set_instead_of_inc=kind)

    def _reader(self) -> Any:
        return Subtensor(self.idx_list)


class AdvancedIncSubtensor(_Update):
    """Set or increment the elements selected by an index with arrays.

    Where the index selects an element several times, all increments add up; if values are set, the
    last one is kept.

    Takes the array, the values to set or add (which broadcast), and the inputs of the template.

    Parameters
    ----------
    idx_list
        The template of the index; see :mod:`phintys.tensor.indexing.template`.
    inplace
        Write to the memory of the array itself.
    set_instead_of_inc
        Set the elements; otherwise add to them.
    ignore_duplicates
        Of several increments of one element, count only the last, as NumPy's ``x[index] += y``
        does; faster where it is known that no element is selected twice.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.indexing import ARRAY, AdvancedIncSubtensor
    >>> add_at = AdvancedIncSubtensor([ARRAY])
    >>> add_at(pt.constant([1.0, 1.0]), pt.constant(2.0), pt.constant([0, 0])).eval()
    array([5., 1.])
    """

    __props__ = ("idx_list", "inplace", "set_instead_of_inc", "ignore_duplicates")

    def __init__(
        self,
        idx_list: Iterable[Any],
        inplace: bool = False,
        set_instead_of_inc: bool = False,
        ignore_duplicates: bool = False,
    ) -> None:
        self.idx_list: Template = as_template(idx_list)
        check_advanced(self, self.idx_list)
        self.inplace = bool(inplace)
        self.set_instead_of_inc = bool(set_instead_of_inc)
        self.ignore_duplicates = bool(ignore_duplicates)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x: Any, y: Any, *inputs: Any) -> Apply:
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        indices = as_indices(self, self.idx_list, inputs)
        static = self.static_selection(x, indices)
        x, y = self._prepare(x, y, static)
        return Apply(self, [x, y, *indices], [x.type()])

    def perform(
        self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        x, y, *indices = inputs
        check_index_shapes(self, node.inputs[2:], indices, self.idx_list)
        check_empty_masks(self, node.inputs[0], x.shape, self.idx_list, indices)
        # NumPy writes in the order of memory, in which another of several values could be the last.
        index = numpy_index(self.idx_list, [np.asarray(one, order="C") for one in indices])
        try:
            if y.ndim:
                inputs, values = [node.inputs[0], *node.inputs[2:]], [x, *indices]
                given = [value.shape for value in values]
                wanted = self.selected_sizes(ExactShapes(self, inputs, given, values))
                self._check_value(node, y, wanted)
                # NumPy 2.4's add.at reads past the end of a vector that is to be broadcast.
                y = np.broadcast_to(y, wanted)
            if not x.size:
                check_indices_of_nothing(x.shape, self.idx_list, index)
            result = self._target(x, output_storage[0])
            if self.set_instead_of_inc:
                result[index] = y
            elif self.ignore_duplicates:
                result[index] += y
            else:
                np.add.at(result, index, y)
        except ShapeError:
            raise
        except (IndexError, ValueError):
            raise explain(self, node.inputs[0], x.shape, self.idx_list, indices) from None
        output_storage[0][0] = result

    def _plain(self) -> Any:
        if not self.inplace:
            return self
        return AdvancedIncSubtensor(
            self.idx_list,
            set_instead_of_inc=self.set_instead_of_inc,
            ignore_duplicates=self.ignore_duplicates,
        )

    def _twin(self) -> Op:
        return AdvancedIncSubtensor(
            self.idx_list,
            inplace=True,
            set_instead_of_inc=self.set_instead_of_inc,
            ignore_duplicates=self.ignore_duplicates,
        )

    def _reader(self) -> Any:
        return AdvancedSubtensor(self.idx_list)

    def _written(self, gradient: Any, x: Any, indices: Sequence[Any]) -> Any:
        """Return the gradient where a value was written; zero where it was overwritten."""
        taken = self._reader()(gradient, *indices)
        last_counts = self.set_instead_of_inc or self.ignore_duplicates
        if not last_counts or not may_repeat(self.idx_list, indices):
            return taken
        stays = self._values_that_stay(x, indices)
        places = layout(self.idx_list, x.ndim)
        after = len(places) - 1 - places.index(Placed.ADVANCED)
        return math.switch(shape_padright(stays, after), taken, _zero(gradient.dtype))

    def _values_that_stay(self, x: Any, indices: Sequence[Any]) -> Any:
        """Return, for each position in the index arrays, whether its value is the last one written.

        Each position writes its number to the element that it selects; a position whose number is
        still there afterwards was the last.
        """
        arrays: list[Any] = []
        sizes: list[Any] = []
        kept: list[Any] = []
        given = iter(indices)
        dim = 0
        for entry in self.idx_list:
            own = [next(given) for _ in range(count_inputs((entry,)))]
            width = count_dims((entry,))
            if not isinstance(entry, Slice) and entry is not NEWAXIS and entry is not SEPARATOR:
                arrays.append(entry)
                kept.extend(own)
                sizes.extend(sizes_of(x)[dim : dim + width])
            dim += width
        notes = zeros(sizes, dtype="int64")
        read = AdvancedSubtensor(arrays)
        shape = shape_tuple(read(notes, *kept))
        numbers = reshape(arange(multiply_sizes(shape)), shape)
        write = AdvancedIncSubtensor(arrays, set_instead_of_inc=True)
        return math.eq(read(write(notes, numbers, *kept), *kept), numbers)
