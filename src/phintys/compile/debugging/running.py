"""Running a single node: its Python and native implementations, and preallocated memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys.backends.base import get_backend
from phintys.backends.reference.diagnosis import explain_failure
from phintys.backends.reference.thunks import has_default_thunk, make_thunk, perform_thunk
from phintys.compile.debugging.planned import PlannedProgram
from phintys.compile.debugging.values import duplicate
from phintys.graph.alias_map import destroyed_inputs
from phintys.graph.choosing import Choosing
from phintys.graph.contract import defines
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.variable import Constant
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from phintys.backends.inner import InnerPrograms
    from phintys.backends.native.runtime.function import NativeProgram
    from phintys.compile.debugging.replacements import Replacement
    from phintys.graph.apply import Apply
    from phintys.graph.op import ComputeMap, StorageMap
    from phintys.graph.variable import Variable

    Run = Callable[[Sequence[Any]], list[Any]]


def needed_nodes(
    outputs: Iterable[Variable],
    replacements: Sequence[Replacement],
    inputs: Collection[Variable],
    known: Mapping[Variable, Any],
) -> Iterator[Apply]:
    """Yield the nodes that are needed, each after the nodes that it needs.

    The values of a node are read when further nodes are requested, to find out what is chosen. Of
    the variables that rewriting replaced, those are needed whose replacements are, and the reverse:
    an expression on a side that is not chosen has no value to compare with.

    Parameters
    ----------
    outputs
        The outputs of the graph.
    replacements
        What rewriting replaced, in order.
    inputs
        Variables with given values.
    known
        The values so far.
    """
    done: set[Apply] = set()
    yield from _below(outputs, inputs, known, done)
    for one in (*reversed(replacements), *replacements):
        for variable, other in ((one.old, one.new), (one.new, one.old)):
            if other in known or isinstance(other, Constant):
                yield from _below([variable], inputs, known, done)


def _below(
    variables: Iterable[Variable],
    inputs: Collection[Variable],
    known: Mapping[Variable, Any],
    done: set[Apply],
) -> Iterator[Apply]:
    """Yield the nodes that variables need."""
    stack: list[Apply] = []

    def waiting(wanted: Iterable[Variable]) -> list[Apply]:
        owners = [v.owner for v in wanted if v.owner is not None and v not in inputs]
        return [owner for owner in owners if owner not in done]

    for variable in variables:
        stack += waiting([variable])
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            before = waiting(_needed_inputs(node))
            if not before and isinstance(node.op, Choosing):
                before = waiting(chosen_inputs(node, known) or ())
            if before:
                stack += before
                continue
            done.add(stack.pop())
            yield node


def _needed_inputs(node: Apply) -> Sequence[Variable]:
    return [node.op.selector(node)] if isinstance(node.op, Choosing) else node.inputs


def chosen_inputs(node: Apply, known: Mapping[Variable, Any]) -> list[Variable] | None:
    """Return the inputs that a node chooses; ``None`` if it does not choose, or cannot.

    Parameters
    ----------
    node
        The node.
    known
        The values of variables.
    """
    op = node.op
    if not isinstance(op, Choosing):
        return None
    selector = op.selector(node)
    if isinstance(selector, Constant):
        value = selector.data
    elif selector in known:
        value = known[selector]
    else:
        return None
    return [node.inputs[position] for position in op.sides(node)[op.chosen(value)]]


def protected(node: Apply, values: Sequence[Any]) -> list[Any]:
    """Return the values of a node's inputs, with copies of those that it overwrites."""
    destroyed = destroyed_inputs(node)
    return [
        duplicate(value) if position in destroyed else value
        for position, value in enumerate(values)
    ]


def run_node(
    node: Apply,
    values: Sequence[Any],
    storage: Sequence[Any] | None = None,
    *,
    perform: bool = False,
    quiet: bool = True,
    programs: InnerPrograms | None = None,
) -> list[Any]:
    """Run a node on values, and return its outputs, checked against their Types.

    Parameters
    ----------
    node
        The node.
    values
        One for each input. Those that the Op overwrites are overwritten.
    storage
        The initial contents of the storage cells; empty by default.
    perform
        Call ``perform``, even if the Op makes its own thunks.
    quiet
        Ignore floating-point errors such as overflow; otherwise NumPy's settings apply.
    programs
        Runs the inner graphs of Ops; by default, the reference backend does.

    Raises
    ------
    OpContractError
        The Op breaks the rules for storage cells or stores a wrong value.
    """
    storage_map: StorageMap = {}
    for variable, value in zip(node.inputs, values, strict=True):
        storage_map[variable] = [value]
    offered = storage or [None] * len(node.outputs)
    for variable, value in zip(node.outputs, offered, strict=True):
        storage_map[variable] = [value]
    computed: ComputeMap = {variable: [1] for variable in node.inputs}
    computed.update({variable: [0] for variable in node.outputs})
    if perform:
        thunk = perform_thunk(node, node.op.perform, storage_map, computed)
    else:
        empty = [v for v in node.outputs if storage_map[v][0] is None]
        thunk = make_thunk(node, storage_map, computed, empty, debug=True, programs=programs)
    try:
        with np.errstate(all="ignore") if quiet else nullcontext():
            thunk()
    except Exception as error:
        explain_failure(error, node, storage_map)
        raise
    return [storage_map[variable][0] for variable in node.outputs]


def python_forms(node: Apply) -> list[str]:
    """Return the names of a node's Python implementations other than the default one."""
    op = node.op
    if getattr(op, "debug_perform", None) is not None or has_default_thunk(op):
        return []
    return ["perform"] if defines(op, "perform") else []


# ---- the native form -----------------------------------------------------------------------------


_MOST_KEPT = 2000
_LOCK = Lock()
_NATIVE_FORMS: OrderedDict[Hashable, Run | None] = OrderedDict()


def native_form(node: Apply) -> Run | None:
    """Return the node alone as native code; ``None`` if it has none.

    Parameters
    ----------
    node
        The node.
    """
    op = node.op
    if getattr(op, "debug_perform", None) is not None or not node.outputs:
        return None
    key = _key_of(node)
    if key is None:
        return _compiled(node)
    with _LOCK:
        if key in _NATIVE_FORMS:
            _NATIVE_FORMS.move_to_end(key)
            return _NATIVE_FORMS[key]
    form = _compiled(node)
    with _LOCK:
        _NATIVE_FORMS[key] = form
        if len(_NATIVE_FORMS) > _MOST_KEPT:
            _NATIVE_FORMS.popitem(last=False)
    return form


def _key_of(node: Apply) -> Hashable | None:
    """Return a key of everything the native code depends on; ``None`` if it is not hashable."""
    positions = {variable: position for position, variable in enumerate(node.inputs)}
    try:
        inputs = tuple(
            (variable.type, variable.signature())
            if isinstance(variable, Constant)
            else (variable.type, positions[variable])
            for variable in node.inputs
        )
        key = (node.op, inputs, tuple(variable.type for variable in node.outputs))
        hash(key)
    except Exception:  # noqa: BLE001 - a user's Op or Type may raise anything
        return None
    return key


def _compiled(node: Apply) -> Run | None:
    given = list(dict.fromkeys(v for v in node.inputs if not isinstance(v, Constant)))
    twins = {variable: variable.type.make_variable(variable.name) for variable in given}
    inner = node.clone_with_new_inputs([twins.get(v, v) for v in node.inputs], strict=False)
    if [v.type for v in inner.outputs] != [v.type for v in node.outputs]:
        return None
    fgraph = FunctionGraph(list(twins.values()), inner.outputs, clone=False)
    run = native_whole(fgraph)
    if run is None:
        return None
    first = {variable: place for place, variable in reversed(list(enumerate(node.inputs)))}
    places = [first[variable] for variable in given]

    def run_alone(values: Sequence[Any]) -> list[Any]:
        return run([values[place] for place in places])

    return run_alone


def native_whole(fgraph: FunctionGraph) -> Run | None:
    """Return a graph as native code; ``None`` if no part of it would be native."""
    program = get_backend("native").link(fgraph)
    called = getattr(program, "python_nodes", None)
    if called is None or len(called) == len(fgraph.apply_nodes):
        return None
    return PlannedProgram(cast("NativeProgram", program))


# ---- memory that is offered for results ----------------------------------------------------------


OFFERS = ("previous", "c_contiguous", "f_contiguous", "strided", "negative", "wrong_size")
"""Kinds of memory that can be in the storage cells of a node when it is run."""

_GUARD = 1
_MOST_SPREAD = 4


class Offer:
    """Arrays for the storage cells of a node, filled with garbage.

    Attributes
    ----------
    kind : str
        One of :data:`OFFERS`.
    arrays : list
        One for each output; ``None`` where nothing can be offered.
    """

    def __init__(self, kind: str, node: Apply, results: Sequence[Any]) -> None:
        self.kind = kind
        aliased = {*node.op.view_map, *node.op.destroy_map}
        self._buffers: list[tuple[Any, Any, Any]] = []
        self.arrays = [
            # The cell of a view holds memory of another variable, which must not be written to.
            None if index in aliased else self._array(variable, value)
            for index, (variable, value) in enumerate(zip(node.outputs, results, strict=True))
        ]

    def _array(self, variable: Variable, value: Any) -> Any:
        if not isinstance(variable.type, TensorType) or not isinstance(value, np.ndarray):
            return duplicate(value) if self.kind == "previous" else None
        shape = value.shape
        if self.kind == "wrong_size":
            known = variable.type.shape
            unknown = [axis for axis, static in enumerate(known) if static is None]
            larger = longest_axes(shape, unknown)
            shape = tuple(size + (axis in larger) for axis, size in enumerate(shape))
            if shape == value.shape:
                return None
        if self.kind in {"previous", "c_contiguous", "wrong_size"}:
            order = "K" if self.kind == "previous" else "C"
            return np.full_like(value, garbage(value.dtype), order=order, shape=shape)
        if not value.ndim or (self.kind == "f_contiguous" and value.ndim < 2):
            return None
        if self.kind == "f_contiguous":
            return np.full(shape, garbage(value.dtype), value.dtype, order="F")
        step = 2 if self.kind == "strided" else -1
        spread = longest_axes(shape)
        buffer = np.full(
            [2 * size + _GUARD if axis in spread else size for axis, size in enumerate(shape)],
            garbage(value.dtype),
            value.dtype,
        )
        window = tuple(
            slice(0, abs(step) * size, abs(step)) if axis in spread else slice(None)
            for axis, size in enumerate(shape)
        )
        array = buffer[window]
        if step < 0:
            array = array[(slice(None, None, -1),) * value.ndim]
        untouched = np.ones(buffer.shape, dtype=bool)
        untouched[window] = False
        self._buffers.append((buffer, untouched, buffer.copy()))
        return array

    def overrun(self) -> bool:
        """Return whether the Op wrote outside the memory that was offered."""
        return any(
            buffer[untouched].tobytes() != before[untouched].tobytes()
            for buffer, untouched, before in self._buffers
        )


def longest_axes(shape: Sequence[int], axes: Iterable[int] | None = None) -> frozenset[int]:
    """Return the axes along which memory is spread: a few, since each multiplies its size.

    Parameters
    ----------
    shape
        The shape of an array.
    axes
        The axes to choose from; all by default.

    Examples
    --------
    >>> sorted(longest_axes((1, 5, 1, 1, 3, 1)))
    [1, 3, 4, 5]
    """
    chosen = sorted(
        range(len(shape)) if axes is None else axes, key=lambda axis: (shape[axis], axis)
    )
    return frozenset(chosen[-_MOST_SPREAD:])


def garbage(dtype: np.dtype[Any]) -> Any:
    """Return a number that results are unlikely to contain by chance."""
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    if dtype.kind in "iu":
        return np.iinfo(dtype).max - 7
    return True if dtype.kind == "b" else None


def offered_storage(node: Apply, results: Sequence[Any], kinds: Sequence[str]) -> Iterator[Offer]:
    """Yield preallocated memory of each kind."""
    for kind in kinds:
        offer = Offer(kind, node, results)
        if any(array is not None for array in offer.arrays):
            yield offer
