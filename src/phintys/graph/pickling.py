"""Pickling and deep-copying of graphs of any depth.

Pickle saves the objects that an object refers to before the object itself, so a chain of 100,000
nodes would need 100,000 nested calls. Instead, the first computed variable that a pickler visits
refers to a :class:`_Bundle`: a list of all nodes below it, inputs first. Pickle walks this list,
and when it reaches a node, the node's inputs are already in the pickler's memo, so nothing nests.

A pickler cannot be asked which nodes it has visited, but its memo keeps the bundles that it has
saved alive for exactly as long as the memo lives, which a weak reference to the :class:`_Session`
shared by the bundles detects. Picklers of one thread that live at the same time may share a
session. A pickler asks only for nodes that are not in its memo, so a node that it should have is
noticed, and comes with a bundle of its own.

Deep copies need none of this, since ``__deepcopy__`` is given the memo. They share Types, Ops and
origins, which are immutable, with the original, so that copied variables can still be combined with
others.
"""

from __future__ import annotations

import copy
import threading
import weakref
from typing import TYPE_CHECKING, Any

from phintys.graph.order import nodes_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


class _Session:
    """The nodes that a pickler has saved, or was given, and those that it has yet to save."""

    def __init__(self) -> None:
        self.met: set[Apply] = set()
        self.due: set[Apply] = set()


class _Bundle:
    """The nodes that a pickler saves before anything that depends on them, inputs first."""

    def __init__(self, leaves: tuple[Variable, ...] = ()) -> None:
        self.leaves = leaves
        self.nodes: list[Apply] = []
        self.session: _Session | None = None

    def append(self, node: Apply) -> None:
        """Discard a node; called by unpickling, which needs no list of the nodes."""

    def extend(self, nodes: list[Apply]) -> None:
        """Discard several nodes; see :meth:`append`."""

    def _give(self, session: _Session) -> Iterator[Apply]:
        for node in self.nodes:
            if node not in session.met:
                session.met.add(node)
                session.due.add(node)
                yield node

    def __reduce__(self) -> tuple[Any, ...]:
        if self.session is None:  # it was itself unpickled
            return (_Bundle, ())
        # The leaves go first: the graphs that they refer to (the updates of shared variables) can
        # depend on nodes of this bundle, and should save them bottom up, in a bundle of their own.
        return (_Bundle, (self.leaves,), None, self._give(self.session))


class _Sessions(threading.local):
    """The sessions of a thread, latest last."""

    def __init__(self) -> None:
        self.alive: list[weakref.ref[_Session]] = []

    def __iter__(self) -> Iterator[_Session]:
        """Return the sessions that are alive, latest first."""
        return (session for one in reversed(self.alive) if (session := one()) is not None)

    def new(self) -> _Session:
        """Return a new session."""
        session = _Session()
        self.alive.append(weakref.ref(session, self.alive.remove))
        return session


_SESSIONS = _Sessions()


def _bundle_for(node: Apply, session: _Session) -> _Bundle:
    """Return a bundle with ``node``."""
    nodes = nodes_below([node], known=session.met)
    # Only leaves that refer to nodes; others are saved with the nodes that read them.
    leaves = {
        variable: None
        for below in nodes
        for variable in below.inputs
        if variable.owner is None and getattr(variable, "default_update", None) is not None
    }
    bundle = _Bundle(tuple(leaves))
    bundle.nodes = nodes
    bundle.session = session
    return bundle


def _pick_output(node: Apply, index: int) -> Variable:
    return node.outputs[index]


def _pick_bundled_output(_bundle: _Bundle, node: Apply, index: int) -> Variable:
    return node.outputs[index]


def _pick_bundled_node(_bundle: _Bundle, node: Apply) -> Apply:
    return node


def _new_leaf(cls: type[Variable]) -> Variable:
    return cls.__new__(cls)


def _new_node(
    cls: type[Apply],
    op: Any,
    inputs: list[Variable],
    outputs: list[tuple[type[Variable], dict[str, Any]]],
    state: dict[str, Any],
) -> Apply:
    node = cls.__new__(cls)
    node.op = op
    node.inputs = inputs
    node.outputs = []
    for variable_class, variable_state in outputs:
        variable = variable_class.__new__(variable_class)
        variable.__dict__.update(variable_state)
        variable.owner = node
        node.outputs.append(variable)
    node.__dict__.update(state)
    return node


def reduce_variable(variable: Variable) -> tuple[Any, ...]:
    """Implement ``__reduce__`` for a variable: a leaf by its state, a computed one by its node."""
    node = variable.owner
    if node is None:
        return (_new_leaf, (type(variable),), dict(variable.__dict__))
    session = next(iter(_SESSIONS), None) or _SESSIONS.new()
    if node in session.met:
        return (_pick_output, (node, variable.index))
    return (_pick_bundled_output, (_bundle_for(node, session), node, variable.index))


def reduce_apply(node: Apply) -> tuple[Any, ...]:
    """Implement ``__reduce__`` for an Apply node."""
    sessions = list(_SESSIONS)
    giver = next((session for session in sessions if node in session.due), None)
    if giver is None:
        # Another pickler has the nodes of the latest session, if it has this one.
        is_known = not sessions or node in sessions[0].met
        return (
            _pick_bundled_node,
            (_bundle_for(node, _SESSIONS.new() if is_known else sessions[0]), node),
        )
    giver.due.discard(node)
    outputs = [
        (type(variable), {k: v for k, v in variable.__dict__.items() if k != "owner"})
        for variable in node.outputs
    ]
    state = {k: v for k, v in node.__dict__.items() if k not in _NODE_STRUCTURE}
    return (_new_node, (type(node), node.op, node.inputs, outputs, state))


_NODE_STRUCTURE = frozenset({"op", "inputs", "outputs"})


def deepcopy_variable(variable: Variable, memo: dict[int, Any]) -> Variable:
    """Return a deep copy of a variable with all nodes below it."""
    if variable.owner is None:
        return _copy_leaf(variable, memo)
    deepcopy_apply(variable.owner, memo)
    return memo[id(variable)]


def deepcopy_apply(node: Apply, memo: dict[int, Any]) -> Apply:
    """Return a deep copy of a node with all nodes below it."""
    for below in nodes_below([node], known=_Copied(memo)):
        for variable in below.inputs:
            if id(variable) not in memo:
                _copy_leaf(variable, memo)
        # A leaf may refer to graphs (the updates of shared variables), so repeat.
        if id(below) not in memo:
            _copy_node(below, memo)
    return memo[id(node)]


class _Copied:
    """The objects that have a copy in a memo of :func:`copy.deepcopy`."""

    def __init__(self, memo: dict[int, Any]) -> None:
        self.memo = memo

    def __contains__(self, thing: object) -> bool:
        return id(thing) in self.memo


def _copy_leaf(variable: Variable, memo: dict[int, Any]) -> Variable:
    twin = variable.__class__.__new__(variable.__class__)
    memo[id(variable)] = twin
    _copy_state(variable, twin, memo, shared=("type", "name"))
    return twin


def _copy_node(node: Apply, memo: dict[int, Any]) -> None:
    twin = node.__class__.__new__(node.__class__)
    twin.op = node.op
    twin.inputs = [memo[id(variable)] for variable in node.inputs]
    twin.outputs = []
    memo[id(node)] = twin
    for variable in node.outputs:
        new = variable.__class__.__new__(variable.__class__)
        memo[id(variable)] = new
        new.owner = twin
        twin.outputs.append(new)
    for variable, new in zip(node.outputs, twin.outputs, strict=True):
        _copy_state(variable, new, memo, shared=("type", "name", "index"), done=("owner",))
    _copy_state(node, twin, memo, shared=("origin",), done=("op", "inputs", "outputs"))


def _copy_state(
    thing: Any,
    twin: Any,
    memo: dict[int, Any],
    shared: tuple[str, ...],
    done: tuple[str, ...] = (),
) -> None:
    for name, value in thing.__dict__.items():
        if name in shared:
            setattr(twin, name, value)
        elif name not in done:
            setattr(twin, name, copy.deepcopy(value, memo))
