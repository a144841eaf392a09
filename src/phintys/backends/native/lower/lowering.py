"""Lowering: conversion of a graph's nodes to the steps of a Program, before fusion.

Nodes are processed in topological order. The rule for its Op (:data:`LOWERINGS`) converts each to a
view of existing memory, statements, a library call, or, for an Op without a rule or inputs that its
rule does not support, a callback to the Op's own Python code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys import scalar as ps
from phintys._base import index
from phintys._base.errors import MethodNotDefinedError
from phintys._base.late import LateModule
from phintys.backends.inner import may_have_c_code
from phintys.backends.native.dependence import arrays_loaded, arrays_written, varies
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    Literal,
    Operation,
    SizeValue,
    Statement,
)
from phintys.backends.native.failures import Failure, Given
from phintys.backends.native.limits import LONGEST_FORMULA
from phintys.backends.native.lower.overwriting import Bases
from phintys.backends.native.lower.view import MatrixView, View
from phintys.backends.native.program import Step
from phintys.backends.native.sizes import Element, Extent, Size, Sizes, is_length
from phintys.backends.native.steps.callback import Callback, CCall
from phintys.backends.native.steps.check import Check
from phintys.backends.native.values import Array, Handle, LoopVariable, Place, Value
from phintys.control.graph_ops.inner_shapes import sizes_of
from phintys.graph import contract
from phintys.graph.alias_map import destroyed_inputs
from phintys.graph.rules import OpRules
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from phintys.backends.native.c_code import thunks as c_thunks
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import Client
else:
    c_thunks = LateModule("phintys.backends.native.c_code.thunks")


# ---- rules ---------------------------------------------------------------------------------------


LOWERINGS: OpRules[Callable[[Any, Apply, Lowering], None]] = OpRules("native code", index.LOWERINGS)
"""A rule ``(op, node, lowering)`` adds the steps for one node.

It calls :meth:`~.lowering.Lowering.bind` or :meth:`~.lowering.Lowering.compute` for each output. It
may raise :class:`~.lowering.NotLowered` before it adds any step; the node then becomes a callback.
"""

lowers = LOWERINGS.register
"""Decorator of rules: ``@lowers(Dot)``."""


# ---- the state of lowering -----------------------------------------------------------------------


_LEAST, _MOST = -(2**63), 2**63 - 1

Loops = tuple[LoopVariable | None, ...]
"""One loop for each axis of an array; ``None`` for an axis of size 1."""


class NotLowered(Exception):  # noqa: N818 - a signal between a rule and its caller, not an error
    """Raised by a rule for a node that it does not support; the text says why."""


def require_lengths_before(step: Step, what: str) -> None:
    """Raise NotLowered if memory for what a step writes inside cannot be allocated before it."""
    written = set(arrays_written(step))
    for array in written:
        if array.place == Place.BUFFER and any(varies(size, written) for size in array.sizes):
            msg = f"the sizes of what {what} are not known before"
            raise NotLowered(msg)


class Lowering:
    """The state of lowering one graph: where the value of each variable is.

    Attributes
    ----------
    arguments
        The values that the caller passes, in order.
    sizes
        The sizes of the program.
    steps
        The steps so far, in order, with statements not yet grouped in kernels.
    bases
        Tracks what may be overwritten.
    checked_indices
        Arrays of indices that have been checked, by the indices, the size of the axis and the shape
        to which they were broadcast.
    shared
        What nodes have computed that others can use, by what it is; not used in the bodies of
        loops and branches inside, which need not run.
    sides
        The :class:`~.branch_sides.Sides` of the graph that is being lowered.
    clients
        The clients of its variables.
    is_exported
        Whether the program runs where there is no Python, which could be called.
    """

    def __init__(self, *, is_exported: bool = False) -> None:
        self.is_exported = is_exported
        self.sizes = Sizes()
        self.steps: list[Step | Statement] = []
        self.bases = Bases()
        self.arguments: list[Value] = []
        self.checked_indices: dict[tuple[Any, ...], View] = {}
        self.shared: dict[tuple[Any, ...], View] = {}
        self._views: dict[Variable, View] = {}
        self._handles: dict[Variable, Handle] = {}
        self._loops: dict[tuple[Size, ...], Loops] = {}
        self._elements: dict[Array, dict[int, Size]] = {}
        self._sources: dict[tuple[Array, int | None], View] = {}
        self._count = 0
        self.sides: Any = None
        self.clients: Mapping[Variable, Collection[Client]] = {}
        self._is_inside = False
        self._loops_around: list[tuple[list[Step | Statement], set[Array]]] = []
        self._checked: set[tuple[Size, Size]] = set()
        self._given: dict[Apply, Given] = {}

    # ---- values --------------------------------------------------------------------------------

    def array(
        self,
        dtype: Any,
        sizes: Sequence[Size],
        place: str = Place.BUFFER,
        variable: Variable | None = None,
        data: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        """Return a new array."""
        prefix = {Place.ARGUMENT: "a", Place.CONSTANT: "c", Place.CALLBACK: "p"}.get(place, "t")
        label = f"{prefix}{self._count}"
        self._count += 1
        lengths = tuple(self.sizes.canonical(size) for size in sizes)
        array = Array(place, np.dtype(dtype), lengths, label, variable, data)
        if self._is_inside:
            self.bases.own(array)
        return array

    def foreign(self, variable: Variable, place: str) -> Value:
        """Return an external value: its sizes are those that its type knows, or extents."""
        type_ = variable.type
        if not type_.holds_arrays:
            handle = Handle(f"o{self._count}", variable, place=place)
            self._count += 1
            self._handles[variable] = handle
            return handle
        array = self.array(cast("Any", type_).numpy_dtype, (), place, variable)
        array.sizes = tuple(
            self.sizes.extent(array, axis) if known is None else self.sizes.fixed(known)
            for axis, known in enumerate(cast("Any", type_).shape)
        )
        self.bind(variable, View.of(array, self.sizes), is_part=True)  # NumPy made it
        return array

    def bind(self, variable: Variable, view: View, *, is_part: bool = False) -> None:
        """Set the value of a tensor variable.

        Sizes that its type knows and the program does not are checked, and known from then on. It
        is also checked that the array can exist: its lengths are not negative, and its size in
        bytes, and other results computed from its lengths, never wrap around.

        Parameters
        ----------
        variable
            The variable.
        view
            Its value.
        is_part
            Whether it is no longer than an input of its node along any axis.
        """
        node = variable.owner
        if node is not None:
            if not is_part:
                self.require_lengths(view.sizes, node)
                self.require_room(view.sizes, view.array.dtype.itemsize, node)
            shape = variable.type.shape  # pyright: ignore[reportAttributeAccessIssue]
            for axis, (size, known) in enumerate(zip(view.sizes, shape, strict=True)):
                if known is not None and self.sizes.canonical(size).known != known:
                    failure = Failure(node, "static", f"dimension {axis}")
                    self.require_equal(size, self.sizes.fixed(known), failure)
        sizes = tuple([self.sizes.canonical(size) for size in view.sizes])
        self._views[variable] = View(view.array, view.maps, sizes)
        self.bases.values.add(variable, view.array.memory)

    def bind_same(self, variable: Variable, other: Variable) -> None:
        """Set the value of a variable, of any Type, to that of another."""
        if variable.type.holds_arrays:
            self.bind(variable, self.view(other), is_part=True)
        else:
            value = self.value(other)
            assert isinstance(value, Handle)
            self._handles[variable] = value

    def view(self, variable: Variable) -> View:
        """Return the value of a tensor variable as a view.

        Raises
        ------
        NotLowered
            If the values of the variable are not arrays.
        """
        view = self._views.get(variable)
        if view is not None:
            return view
        if isinstance(variable, Constant) and variable.type.holds_arrays:
            return self._constant(variable)
        msg = f"{variable} of type {variable.type} is not an array"
        raise NotLowered(msg)

    def shapes(self) -> dict[Variable, tuple[Size, ...]]:
        """Return the sizes of all tensors."""
        return {variable: tuple(view.sizes) for variable, view in self._views.items()}

    def value(self, variable: Variable) -> Value:
        """Return the array or object that holds exactly the value of a variable."""
        if variable.type.holds_arrays:
            return self.contiguous(self.view(variable), variable.owner).array
        handle = self._handles.get(variable)
        if handle is None:
            if not isinstance(variable, Constant):
                msg = f"{variable} of type {variable.type} has no value"
                raise NotLowered(msg)
            handle = Handle(f"o{self._count}", variable, variable.data, Place.CONSTANT)
            self._count += 1
            self._handles[variable] = handle
        return handle

    def _constant(self, constant: Any) -> View:
        data = np.ascontiguousarray(constant.data).reshape(constant.data.shape)
        lengths = [self.sizes.fixed(length) for length in data.shape]
        array = self.array(data.dtype, lengths, Place.CONSTANT, constant, data)
        view = View.of(array, self.sizes)
        self.bind(constant, view)
        return view

    def contiguous(self, view: View, node: Apply | None = None) -> View:
        """Return a view that shows its whole array in memory order, after a copy if needed."""
        return view if view.is_whole(self.sizes) else self.copied(view, node)

    def matrix(self, view: View) -> MatrixView:
        """Return a view, maybe of a stack, as matrices for BLAS, after a copy if needed."""
        found = MatrixView.of(view, self.sizes)
        if found is None:
            found = MatrixView.of(self.copied(view), self.sizes)
        assert found is not None
        return found

    def copied(self, view: View, node: Apply | None = None, dtype: Any = None) -> View:
        """Return a copy of a view in new memory, cast to another dtype if one is given."""
        array = view.array
        target = self.array(array.dtype if dtype is None else dtype, view.sizes)
        target.variable = array.variable
        whole = View.of(target, self.sizes)
        loops = self.loops(view.sizes)
        nodes = () if node is None else (node,)
        self.store(whole, self.load(view, loops), loops, nodes=nodes)
        return whole

    def load(self, view: View, loops: Sequence[LoopVariable | None]) -> Expression:
        """Return the element at the given loops; ``None`` is position 0.

        It is not read from memory if it is a number or a size.
        """
        array = view.array
        if array.data is not None and array.data.size == 1:
            return Literal(array.data.reshape(-1)[0], array.dtype)
        size = self.known_element(view, None)
        if size is None or array.place == Place.ARGUMENT:
            return view.load(loops)
        value = SizeValue(size)
        return value if array.dtype == value.dtype else Conversion(value, array.dtype)

    # ---- sizes ---------------------------------------------------------------------------------

    def size_of(self, variable: Variable) -> Size:
        """Return the value of a 0-d integer variable as a size.

        Raises
        ------
        NotLowered
            If it is a constant beyond the range of sizes.
        """
        return self.element(self.view(variable), ())

    def element(self, view: View, position: Sequence[int]) -> Size:
        """Return an element of an array of integers, at a known position, as a size."""
        known = self.known_element(view, position)
        if known is not None:
            return known
        array, flat = view.array, _flat(view, position)
        source = self._sources.get((array, flat))
        if source is not None:
            return self.element(source, ())
        if flat is None or array.dtype != np.int64 or array.alias is not None:
            loops = [None] * view.ndim
            for axis, at in enumerate(position):
                view = view.sliced(
                    axis, self.sizes.fixed(at), self.sizes.fixed(1), self.sizes.fixed(1), self.sizes
                )
            value: Expression = view.load(loops)
            if array.dtype == np.uint64:  # values outside int64 are larger than all sizes
                most = Literal(np.uint64(_MOST), array.dtype)
                value = Operation(ps.minimum, (value, most), array.dtype)
            array = self.array(np.int64, ())
            self.store(View.of(array, self.sizes), value, ())
            flat = 0
        return self.sizes.element(array, flat)

    def known_element(self, view: View, position: Sequence[int] | None) -> Size | None:
        """Return an element of an array of integers if it need not be read back from memory.

        Parameters
        ----------
        view
            The array.
        position
            A position in the view; ``None`` for one with a single element.

        Returns
        -------
        Size or None
            A number, a size that was remembered, or an element of an argument.
        """
        array = view.array
        if array.dtype.kind not in "iub":
            return None
        known = self._elements.get(array)
        if known is None and array.data is None and array.place != Place.ARGUMENT:
            return None
        flat = _flat(view, position)
        if flat is None:
            return None
        if array.data is not None:
            value = int(array.data.reshape(-1)[flat])
            return self.sizes.fixed(value) if _LEAST <= value <= _MOST else None
        if known is not None:
            found = known.get(flat)
            return None if found is None else self.sizes.canonical(found)
        is_whole = array.dtype == np.int64 and array.alias is None
        return self.sizes.element(array, flat) if is_whole else None

    def remember(self, array: Array, flat: int, size: Size) -> None:
        """Record that an element of an array holds a size, so that it need not be read back.

        A size that has become a long formula is read back nevertheless.
        """
        if size.terms <= LONGEST_FORMULA:
            self._elements.setdefault(array, {})[flat] = size

    def remember_source(self, array: Array, flat: int, source: View) -> None:
        """Record that an element of an array was copied from a 0-d array."""
        self._sources[array, flat] = source

    def begin_rule(self, node: Apply, given: Given) -> None:
        """Record what the shape rule of a node computes with, for errors in its own words."""
        self._given[node] = given

    def require_equal(self, left: Size, right: Size, failure: Failure) -> None:
        """Check that two sizes are equal, once; from here on they are the same.

        In the body of a branch or loop, which may never run, they are the same only there.
        """
        left, right = self.sizes.canonical(left), self.sizes.canonical(right)
        if left is right or (left, right) in self._checked:
            return
        failure.given = self._given.get(failure.node)
        self.steps.append(Check(left, right, failure))
        if self._is_inside:
            self._checked.add((left, right))
        self.sizes.equate(left, right)

    def require(self, condition: Size, failure: Failure) -> None:
        """Check that a condition, 1 or 0, is 1."""
        self.require_equal(condition, self.sizes.fixed(1), failure)

    def require_length(self, size: Size, failure: Failure) -> None:
        """Check that a size is not negative."""
        if not is_length(size):
            self.require(self.sizes.arithmetic("lt", self.sizes.fixed(-1), size), failure)

    def require_lengths(self, sizes: Sequence[Size], node: Apply) -> None:
        """Check that no length of an array is negative."""
        for axis, size in enumerate(sizes):
            failure = Failure(node, "negative", f"the size of dimension {axis}")
            self.require_length(self.sizes.canonical(size), failure)

    def require_total(self, lengths: Sequence[Size], node: Apply) -> None:
        """Check that a sum of lengths is in range."""
        fits = self.sizes.overflow("total", lengths)
        if fits is not None:
            self.require(fits, Failure(node, "size", "the sum of the lengths is out of range"))

    def require_room(self, lengths: Sequence[Size], itemsize: int, node: Apply) -> None:
        """Check that the bytes of an array are in range, unless an input of the node has as many.

        NumPy cannot create arrays that exceed it, so external arrays need no check.
        """
        if all(length.known is not None for length in lengths):
            fits = self.sizes.overflow("volume", lengths, itemsize)
        else:
            sizes = [self.sizes.canonical(length) for length in lengths]
            unknown = [length for length in sizes if length.known is None]
            known = math.prod(length.known or 1 for length in sizes)
            if any(self._has_as_many(one, unknown, known * itemsize) for one in node.inputs):
                return
            fits = self.sizes.overflow("volume", lengths, itemsize)
        if fits is not None:
            self.require(fits, Failure(node, "size", "an array of too many elements"))

    def _has_as_many(self, variable: Variable, unknown: Sequence[Size], known: int) -> bool:
        """Return whether an array has these lengths, and others whose product is large enough."""
        view = self._views.get(variable)
        if view is None:
            return False
        left = [self.sizes.canonical(length) for length in view.sizes]
        for length in unknown:
            if length not in left:
                return False
            left.remove(length)
        itemsize = view.array.dtype.itemsize
        return known <= math.prod(length.known or 1 for length in left) * itemsize

    # ---- steps inside of others ----------------------------------------------------------------

    @contextmanager
    def body(self) -> Generator[list[Step | Statement]]:
        """Collect steps that run conditionally, or repeatedly.

        Facts checked there do not hold outside, and variables bound there are unbound afterwards.
        """
        before = self.steps, dict(self._views), set(self._checked), self._is_inside
        indices = dict(self.checked_indices)
        shared, self.shared = self.shared, {}
        inside: list[Step | Statement] = []
        self.steps, self._is_inside = inside, True
        try:
            with self.bases.inside(), self.sizes.assuming():
                yield inside
        finally:
            self.steps, self._views, self._checked, self._is_inside = before
            self.checked_indices = indices
            self.shared = shared

    @contextmanager
    def steps_of_loop(self, captured: Iterable[View]) -> Generator[list[Step | Statement]]:
        """Collect the steps in the body of a loop, given what does not change in it."""
        self._loops_around.append((self.steps, {view.array.memory for view in captured}))
        try:
            with self.body() as steps:
                yield steps
        finally:
            self._loops_around.pop()

    @contextmanager
    def before_steps(self, view: View) -> Generator[bool]:
        """Add steps before the loops around in which a view does not change, if there are any.

        The value is whether there are.
        """
        at = len(self._loops_around)
        while at and view.array.memory in self._loops_around[at - 1][1]:
            at -= 1
        if at == len(self._loops_around) or not _is_fixed(view):
            yield False
            return
        inside, self.steps = self.steps, self._loops_around[at][0]
        yield True
        self.steps = inside

    @property
    def checked(self) -> frozenset[tuple[Size, Size]]:
        """The pairs of sizes that are known to be equal inside of a branch or loop only."""
        return frozenset(self._checked)

    # ---- statements ----------------------------------------------------------------------------

    def loops(self, lengths: Sequence[Size]) -> Loops:
        """Return loops over an array of these lengths, the same for equal lengths.

        The entry for a length of 1 is ``None``, so that arrays with and without such axes have the
        same loops.
        """
        key = tuple([self.sizes.canonical(length) for length in lengths])
        found = self._loops.get(key)
        if found is None:
            names = iter("ijklmnopq")
            found = self._loops[key] = tuple(
                None if length.known == 1 else LoopVariable(length, next(names, f"i{axis}"))
                for axis, length in enumerate(key)
            )
        return found

    def store(
        self,
        target: View,
        value: Expression,
        loops: Sequence[LoopVariable | None],
        *,
        reduction: Sequence[LoopVariable | None] = (),
        reducer: str | None = None,
        positions: Sequence[Index] | None = None,
        accumulate: str | None = None,
        nodes: Sequence[Apply] = (),
        sequential: Sequence[LoopVariable | None] = (),
        is_grouped: bool = False,
    ) -> None:
        """Add the statement ``target[...] = value``.

        ``positions`` gives the place in the target's array, if it is not given by the loops. A
        value of another dtype is cast, except if it is reduced.
        """
        indices = target.indices(loops) if positions is None else tuple(positions)
        reduced = tuple([loop for loop in reduction if loop is not None])
        if not reduced:
            reducer = None
            if value.dtype != target.array.dtype:
                value = Conversion(value, target.array.dtype)
        self.add(
            Statement(
                target.array,
                indices,
                value,
                tuple([loop for loop in loops if loop is not None]),
                reduced,
                reducer,
                accumulate,
                tuple(nodes),
                tuple([loop for loop in sequential if loop is not None]),
                is_grouped,
            )
        )

    def add(self, step: Step | Statement) -> None:
        """Add a step that cannot fail; it may run during the commit."""
        bases = self.bases
        if bases.late:
            bases.note(arrays_loaded(step), arrays_written(step))
        self.steps.append(step)

    def compute(self, variable: Variable, lengths: Sequence[Size]) -> tuple[View, Loops]:
        """Create memory for a variable, and loops over it; the caller stores into it."""
        array = self.array(cast("Any", variable.type).numpy_dtype, lengths, variable=variable)
        view = View.of(array, self.sizes)
        self.bind(variable, view)
        return view, self.loops(lengths)

    # ---- callbacks -----------------------------------------------------------------------------

    def callback(self, node: Apply, why: str) -> None:
        """Run the Op's C code, if it has some that can be compiled, or Python code for a node."""
        kind = Callback
        if may_have_c_code(node):
            missing = c_thunks.why_not(node)
            kind = CCall if missing == "" else Callback
            why = missing or why
        positions = destroyed_inputs(node)
        viewed = {at for found in node.op.view_map.values() for at in found}
        inputs = tuple(
            self._own_value(variable, node)
            if position in positions
            else self._viewed_value(variable, node)
            if position in viewed
            else self.value(variable)
            for position, variable in enumerate(node.inputs)
        )
        destroyed = [inputs[position] for position in sorted(positions)]
        destroyed += [one for value in destroyed for one in self.bases.values.sharing(value)]
        outputs = tuple(self.foreign(variable, Place.CALLBACK) for variable in node.outputs)
        self.steps.append(kind(node, inputs, outputs, why, tuple(dict.fromkeys(destroyed))))
        # The Op may keep its inputs, or return views of them.
        self.bases.kept.update(value.memory for value in inputs if isinstance(value, Array))
        self.bases.values.add_views(node.op, inputs, outputs)
        if self._is_inside:
            use_promised_shapes(node, outputs, self)

    def _own_value(self, variable: Variable, node: Apply) -> Value:
        """Return a value that an Op may overwrite.

        An argument is passed itself, since the graph copies arguments that must not be overwritten;
        so are outputs of other Ops. Other memory may be shared by values that are separate in the
        graph, and is copied.
        """
        if not variable.type.holds_arrays:
            return self.value(variable)
        view = self.view(variable)
        is_foreign = view.array.place in {Place.ARGUMENT, Place.CALLBACK}
        is_all = view.array.alias is None and view.is_whole(self.sizes)
        if is_foreign and is_all and self.bases.values.is_alone(variable, view.array):
            return view.array
        return self.copied(view, node).array

    def _viewed_value(self, variable: Variable, node: Apply) -> Value:
        """Return a value of which an Op may return a view."""
        value = self.value(variable)
        if isinstance(value, Array) and not self.bases.values.is_alone(variable, value):
            return self.copied(self.view(variable), node).array
        return value


def _is_fixed(view: View) -> bool:
    """Return whether the lengths and the place of a view follow from arguments alone."""
    sizes = [*view.sizes, *(map_.offset for map_ in view.maps)]
    sizes += [step for map_ in view.maps for _, step in map_.terms]
    leaves = [leaf for size in sizes if size is not None for leaf in size.leaves]
    return all(
        isinstance(leaf, Extent | Element) and leaf.array.place == Place.ARGUMENT for leaf in leaves
    )


def _flat(view: View, position: Sequence[int] | None) -> int | None:
    """Return the number of the element at a position of a view, if it is known."""
    flat = 0
    for map_, length in zip(view.maps, view.array.sizes, strict=True):
        at = 0 if map_.offset is None else map_.offset.known
        for axis, step in map_.terms:
            if position is None:
                if view.sizes[axis].known != 1:
                    return None
                continue
            if at is None or step.known is None:
                return None
            at += position[axis] * step.known
        if at is None or length.known is None:
            return None
        flat = flat * length.known + at
    return flat


# ---- lengths that Ops in Python promise ----------------------------------------------------------


def use_promised_shapes(node: Apply, outputs: Sequence[Value], lowering: Lowering) -> None:
    """Check that outputs of Python code have the lengths of inputs that its Op promises.

    Memory for what a loop computes from them can then be allocated before the loop.

    Parameters
    ----------
    node
        The node, which has just been carried out.
    outputs
        Its results.
    lowering
        The state of lowering.
    """
    shapes = [sizes_of(variable) for variable in node.inputs]
    try:
        promised = contract.infer_shape(None, node, shapes)
    except MethodNotDefinedError:
        return
    places = {
        id(size): (position, axis)
        for position, shape in enumerate(shapes)
        for axis, size in enumerate(shape or ())
        if not isinstance(size, int)
    }
    for variable, value, shape in zip(node.outputs, outputs, promised, strict=True):
        if not variable.type.holds_arrays or not isinstance(value, Array):
            continue
        sizes = list(value.sizes)
        for axis, size in enumerate(shape or ()):
            place = places.get(id(size))
            if place is None or sizes[axis].known is not None:
                continue
            sizes[axis] = lowering.view(node.inputs[place[0]]).sizes[place[1]]
            failure = Failure(node, "promised", f"dimension {axis}: {{0}} and {{1}}")
            lowering.require_equal(value.sizes[axis], sizes[axis], failure)
        whole = View.of(value, lowering.sizes)
        lowering.bind(variable, View(value, whole.maps, tuple(sizes)), is_part=True)
