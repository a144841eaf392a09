"""Lowering: from a FunctionGraph to the steps of a Program, before fusion.

Nodes are taken in topological order. :func:`lower`, a ``singledispatch`` by the class of the Op,
says what each becomes: a new view of memory there is, statements, a call of a library, or, for an
Op without a rule or inputs that its rule does not take, a callback to the Op's own Python code.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys.backends.native.lower.view import View
from phintys.backends.native.program import (
    Array,
    Callback,
    Cast,
    Check,
    Expression,
    Failure,
    Handle,
    Index,
    LoopVariable,
    Place,
    Statement,
    Step,
    Value,
)
from phintys.backends.native.sizes import Sizes
from phintys.backends.reference.vm import execution_order
from phintys.graph.variable import Constant
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

__all__ = ["Loops", "Lowering", "NotLowered", "lower", "lower_graph"]

Loops = tuple[LoopVariable | None, ...]
"""One loop for each axis of an array; ``None`` for an axis of size 1."""


class NotLowered(Exception):  # noqa: N818 - a signal between a rule and its caller, not an error
    """Raised by a rule for a node that it does not take; the text says why."""


class Lowering:
    """The state of lowering one graph: where the value of each variable is.

    Attributes
    ----------
    sizes
        The sizes of the program.
    steps
        What was lowered so far, in order. Statements still stand alone.
    """

    def __init__(self, fgraph: FunctionGraph) -> None:
        self.fgraph = fgraph
        self.sizes = Sizes()
        self.steps: list[Step | Statement] = []
        self.arguments: list[Value] = []
        self._views: dict[Variable, View] = {}
        self._handles: dict[Variable, Handle] = {}
        self._loops: dict[tuple[Size, ...], Loops] = {}
        self._elements: dict[Array, dict[int, Size]] = {}
        self._count = 0

    # ---- values --------------------------------------------------------------------------------

    def array(
        self,
        dtype: Any,
        sizes: Sequence[Size],
        place: str = Place.BUFFER,
        variable: Variable | None = None,
        data: np.ndarray[Any, Any] | None = None,
    ) -> Array:
        """Return new memory."""
        prefix = {Place.ARGUMENT: "a", Place.CONSTANT: "c", Place.CALLBACK: "p"}.get(place, "t")
        label = f"{prefix}{self._count}"
        self._count += 1
        lengths = tuple(self.sizes.canonical(size) for size in sizes)
        return Array(place, np.dtype(dtype), lengths, label, variable, data)

    def foreign(self, variable: Variable, place: str) -> Value:
        """Return a value that comes from outside: its sizes are what its type knows, or extents."""
        type_ = variable.type
        if not isinstance(type_, TensorType):
            handle = Handle(f"o{self._count}", variable, place=place)
            self._count += 1
            self._handles[variable] = handle
            return handle
        array = self.array(type_.numpy_dtype, (), place, variable)
        array.sizes = tuple(
            self.sizes.extent(array, axis) if known is None else self.sizes.fixed(known)
            for axis, known in enumerate(type_.shape)
        )
        self.bind(variable, View.of(array, self.sizes))
        return array

    def bind(self, variable: Variable, view: View) -> None:
        """Say where the value of a tensor variable is."""
        self._views[variable] = view

    def view(self, variable: Variable) -> View:
        """Return where the value of a tensor variable is.

        Raises
        ------
        NotLowered
            The variable is no tensor.
        """
        view = self._views.get(variable)
        if view is not None:
            return view
        if isinstance(variable, Constant) and isinstance(variable.type, TensorType):
            return self._constant(variable)
        msg = f"{variable} of type {variable.type} is no tensor"
        raise NotLowered(msg)

    def value(self, variable: Variable) -> Value:
        """Return memory or an object that holds the value of a variable as it is."""
        if isinstance(variable.type, TensorType):
            return self.contiguous(self.view(variable)).array
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
        """Return a view that shows its array as it lies in memory, copied if need be."""
        if view.is_whole():
            return view
        loops = self.loops(view.sizes)
        target = self.array(view.array.dtype, view.sizes, variable=view.array.variable)
        whole = View.of(target, self.sizes)
        nodes = () if node is None else (node,)
        self.store(whole, view.load(loops), loops, nodes=nodes)
        return whole

    # ---- sizes ---------------------------------------------------------------------------------

    def size_of(self, variable: Variable) -> Size:
        """Return the value of a 0-d integer variable as a size."""
        if isinstance(variable, Constant):
            return self.sizes.fixed(int(variable.data))
        view = self.view(variable)
        return self.element(view, ())

    def element(self, view: View, position: Sequence[int]) -> Size:
        """Return an element of an array of integers, at a known position, as a size."""
        flat = 0
        for map_, length in zip(view.maps, view.array.sizes, strict=True):
            at = sum(position[axis] * _known(step) for axis, step in map_.terms)
            at += 0 if map_.offset is None else _known(map_.offset)
            flat = flat * _known(length) + at
        array = view.array
        if array.data is not None:
            return self.sizes.fixed(int(array.data.reshape(-1)[flat]))
        known = self._elements.get(array)
        if known is not None and flat in known:
            return self.sizes.canonical(known[flat])
        if array.dtype != np.int64:
            msg = f"a size of dtype {array.dtype}"
            raise NotLowered(msg)
        return self.sizes.element(array, flat)

    def remember(self, array: Array, flat: int, size: Size) -> None:
        """Note that an element of an array holds a size, so that it need not be read back."""
        self._elements.setdefault(array, {})[flat] = size

    def require_equal(self, left: Size, right: Size, failure: Failure) -> None:
        """Check that two sizes are equal, once; from here on they are the same."""
        left, right = self.sizes.canonical(left), self.sizes.canonical(right)
        if left is right:
            return
        self.steps.append(Check(left, right, failure))
        self.sizes.equate(left, right)

    def require(self, condition: Size, failure: Failure) -> None:
        """Check that a condition, 1 or 0, is 1."""
        self.require_equal(condition, self.sizes.fixed(1), failure)

    # ---- statements ----------------------------------------------------------------------------

    def loops(self, lengths: Sequence[Size]) -> Loops:
        """Return loops over an array of these lengths, the same for equal lengths.

        There is ``None`` for a length of 1, so that arrays with and without such axes have the
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
    ) -> None:
        """Add the statement ``target[...] = value``.

        ``positions`` says where in the target's array, if not at the loops. What has the wrong
        dtype is cast, but for what is reduced.
        """
        indices = target.indices(loops) if positions is None else tuple(positions)
        reduced = tuple([loop for loop in reduction if loop is not None])
        if not reduced:
            reducer = None
            if value.dtype != target.array.dtype:
                value = Cast(value, target.array.dtype)
        self.steps.append(
            Statement(
                target.array,
                indices,
                value,
                tuple([loop for loop in loops if loop is not None]),
                reduced,
                reducer,
                accumulate,
                tuple(nodes),
            )
        )

    def compute(self, variable: Variable, lengths: Sequence[Size]) -> tuple[View, Loops]:
        """Make memory for a variable, and loops over it; the caller stores into it."""
        array = self.array(cast("Any", variable.type).numpy_dtype, lengths, variable=variable)
        view = View.of(array, self.sizes)
        self.bind(variable, view)
        return view, self.loops(lengths)

    # ---- callbacks -----------------------------------------------------------------------------

    def callback(self, node: Apply, why: str) -> None:
        """Let the Op's Python code compute a node."""
        inputs = tuple(self.value(variable) for variable in node.inputs)
        outputs = tuple(self.foreign(variable, Place.CALLBACK) for variable in node.outputs)
        self.steps.append(Callback(node, inputs, outputs, why))


def _known(size: Size) -> int:
    if size.known is None:
        msg = "an element at a position that is known only at run time"
        raise NotLowered(msg)
    return size.known


@singledispatch
def lower(op: Op, node: Apply, lowering: Lowering) -> None:
    """Add the steps for one node; extended with ``@lower.register`` for each class of Ops.

    A rule calls :meth:`Lowering.bind` or :meth:`Lowering.compute` for each output. Before it adds
    any step it may raise :class:`NotLowered`, and the node becomes a callback.
    """
    msg = f"{type(op).__name__} has no lowering"
    raise NotLowered(msg)


def lower_graph(fgraph: FunctionGraph) -> Lowering:
    """Return the lowering of a whole graph."""
    lowering = Lowering(fgraph)
    for variable in fgraph.inputs:
        lowering.arguments.append(lowering.foreign(variable, Place.ARGUMENT))
    for node in execution_order(fgraph):
        try:
            lower(node.op, node, lowering)
        except NotLowered as reason:
            lowering.callback(node, str(reason))
    return lowering
