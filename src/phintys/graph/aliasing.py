"""The rules for nodes that overwrite their inputs, and the execution order that they require.

:class:`~phintys.graph.alias_map.AliasMap` says which values share memory. The functions here
analyze whole graphs; if no Op overwrites anything, they look only at the Ops.
"""

from __future__ import annotations

from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any, Literal

from phintys._base.errors import CycleError, InconsistencyError, add_note
from phintys.graph.alias_map import (
    AliasMap,
    destroyed_inputs,
    root_of,
    shown_by,
    variables_in,
)
from phintys.graph.features import Feature
from phintys.graph.inner import HasInnerGraph, inner_graphs_below
from phintys.graph.order import Ranks, cycle_error, needed_by, nodes_below
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import io_toposort
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

    Roots = tuple[Variable, ...]

__all__ = [
    "DestroyHandler",
    "check_aliasing",
    "check_own_inputs",
    "destroy_orderings",
    "destroyers",
    "execution_order",
    "fast_inplace_check",
    "mutable_inputs",
    "overwrites",
]


_NO_ORDER = (
    "Each node that overwrites a value must run after all others that read it, which is impossible "
    "here."
)


def destroyers(fgraph: FunctionGraph) -> dict[Variable, list[Apply]]:
    """Return variable -> nodes that overwrite it, as a direct input.

    Parameters
    ----------
    fgraph
        The graph.
    """
    found: dict[Variable, list[Apply]] = {}
    for node in _destroying(fgraph):
        for position in destroyed_inputs(node):
            nodes = found.setdefault(node.inputs[position], [])
            if node not in nodes:
                nodes.append(node)
    return found


def overwrites(node: Apply) -> bool:
    """Return whether a node overwrites an input, or a node of its inner graph does."""
    op = node.op
    return bool(op.destroy_map) or (isinstance(op, HasInnerGraph) and op.overwrites_within)


def _destroying(fgraph: FunctionGraph) -> list[Apply]:
    return [node for node in fgraph.apply_nodes if overwrites(node)]


def mutable_inputs(fgraph: FunctionGraph) -> dict[Variable, None]:
    """Return the inputs and shared variables that may be overwritten, as an ordered set.

    Parameters
    ----------
    fgraph
        The graph; its :class:`DestroyHandler` knows them.
    """
    handlers = (feature for feature in fgraph.features if isinstance(feature, DestroyHandler))
    return dict.fromkeys(variable for one in handlers for variable in one.mutable_inputs)


def destroy_orderings(fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
    """Return node -> nodes that must run before it, because it overwrites their inputs.

    These are all other nodes that read a variable that shares a root with an overwritten input.

    Parameters
    ----------
    fgraph
        The graph.
    """
    destroying = _destroying(fgraph)
    return _orderings(fgraph, destroying, AliasMap.of_graph(fgraph)) if destroying else {}


def execution_order(fgraph: FunctionGraph) -> list[Apply]:
    """Return the nodes in an order in which every value is read before it is overwritten."""
    if not any(node.op.destroy_map for node in fgraph.apply_nodes):
        return fgraph.toposort()
    orderings = destroy_orderings(fgraph)
    for node, earlier in fgraph.orderings().items():
        orderings.setdefault(node, []).extend(earlier)
    return io_toposort(fgraph.inputs, fgraph.outputs, orderings)


def _orderings(
    fgraph: FunctionGraph, destroying: Iterable[Apply], aliases: AliasMap[Variable]
) -> dict[Apply, list[Apply]]:
    destroyed = {node: _destroyed_roots(node, aliases.roots) for node in destroying}
    readers: dict[Variable, dict[Apply, None]]
    readers = {root: {} for found in destroyed.values() for root in found}
    # In an order that the graph alone determines, since the execution order follows it.
    for node in fgraph.inputs_first():
        for variable in node.inputs:
            for root in aliases.roots(variable):
                if root in readers:
                    readers[root][node] = None
    orderings: dict[Apply, list[Apply]] = {}
    for node, found in destroyed.items():
        earlier = dict.fromkeys(reader for root in found for reader in readers[root])
        earlier.pop(node, None)
        if earlier:
            orderings[node] = list(earlier)
    return orderings


def _destroyed_roots(node: Apply, roots: Callable[[Variable], Roots]) -> dict[Variable, int]:
    """Return the roots that a node overwrites, each with the position of an input."""
    return {
        root: position
        for position in destroyed_inputs(node)
        for root in roots(node.inputs[position])
    }


def check_aliasing(
    fgraph: FunctionGraph, mutable_inputs: Collection[Variable] | None = None
) -> None:
    """Check that the graph can be computed although some nodes overwrite their inputs.

    The following are errors: overwriting an input of the graph that was not declared mutable, a
    constant, a shared variable, or an output of the graph or a view of it; two nodes that overwrite
    the same value; a node that reads the memory it overwrites through another of its inputs;
    ordering constraints that form a cycle; and any of these in an inner graph, of whose inputs only
    those of :attr:`~phintys.graph.HasInnerGraph.mutable_inner` may be overwritten.

    An Op that tolerates reading the memory it overwrites declares this with one of the attributes
    ``destroyhandler_tolerate_same`` (the same variable) and ``destroyhandler_tolerate_aliased``
    (any variable that may share memory), lists of pairs (overwritten position, other position).

    Parameters
    ----------
    fgraph
        The graph.
    mutable_inputs
        Inputs of the graph, and shared variables, that may be overwritten.

    Raises
    ------
    InconsistencyError
        The graph cannot be computed; the message names the nodes and the lines that made them.
    """
    destroying = _destroying(fgraph)
    if destroying:
        _check_inner(destroying)
        _check(fgraph, destroying, AliasMap.of_graph(fgraph), frozenset(mutable_inputs or ()))


def _check(
    fgraph: FunctionGraph,
    destroying: Sequence[Apply],
    aliases: AliasMap[Variable],
    mutable: Collection[Variable],
) -> tuple[list[Apply], dict[Apply, list[Apply]]]:
    """Check a graph, without inner graphs.

    Returns its nodes in a valid order, and what overwriting adds to it.
    """
    outputs = {root: variable for variable in fgraph.outputs for root in aliases.roots(variable)}
    destroyed_by: dict[Variable, Apply] = {}
    for node in destroying:
        check_own_inputs(node, aliases.roots)
        for root, position in _destroyed_roots(node, aliases.roots).items():
            _check_root(node, position, root, mutable)
            other = destroyed_by.setdefault(root, node)
            if other is not node:
                raise _overwritten_twice(root, other, node)
            if root in outputs:
                raise _overwritten_output(root, outputs[root], node)
    orderings = _orderings(fgraph, destroying, aliases)
    try:
        return nodes_below(fgraph.apply_nodes, orderings=orderings), orderings
    except CycleError as error:
        add_note(error, _NO_ORDER)
        raise


def _check_inner(nodes: Iterable[Apply]) -> None:
    """Check the inner graphs of nodes."""
    for place in inner_graphs_below(nodes, overwrites):
        op: Any = place.node.op
        destroying = _destroying(op.fgraph)
        mutable = frozenset(op.inner_inputs[position] for position in op.mutable_inner)
        try:
            if destroying:
                _check(op.fgraph, destroying, AliasMap.of_graph(op.fgraph), mutable)
        except InconsistencyError as error:
            place.add_notes(error)
            raise


def check_own_inputs(node: Apply, roots: Callable[[Variable], Roots]) -> None:
    """Check that a node does not read the memory it overwrites through another of its inputs.

    Parameters
    ----------
    node
        The node.
    roots
        Returns the roots of an input.

    Raises
    ------
    InconsistencyError
        It does, and its Op does not declare that it tolerates this.
    """
    tolerated_same = _pairs(node, "destroyhandler_tolerate_same")
    tolerated_alias = _pairs(node, "destroyhandler_tolerate_aliased")
    for position in destroyed_inputs(node):
        variable = node.inputs[position]
        own = set(roots(variable))
        for other, given in enumerate(node.inputs):
            if other == position or own.isdisjoint(roots(given)):
                continue
            if given is variable and (position, other) in tolerated_same:
                continue
            if (position, other) not in tolerated_alias:
                raise _conflict(
                    node,
                    f"{_made(node)}\noverwrites its input {position} ({variable}) and reads the "
                    f"same memory as input {other} ({given}). Copy one of the two.",
                )


def _pairs(node: Apply, name: str) -> set[tuple[int, int]]:
    return {(int(pair[0]), int(pair[1])) for pair in getattr(node.op, name, ())}


def _check_root(node: Apply, position: int, root: Variable, mutable: Collection[Variable]) -> None:
    if root.owner is not None or root in mutable:
        return
    if isinstance(root, Constant):
        problem = "a constant. Copy it, or use the version of the Op that does not overwrite."
    elif isinstance(root, SharedVariable):
        problem = "a shared variable, which may be changed by an update only."
    else:
        problem = (
            "an input of the graph that was not declared mutable: use In(variable, mutable=True) "
            "if the caller's value may be overwritten."
        )
    given = node.inputs[position]
    through = "" if given is root else f" (through its view {given})"
    raise _conflict(node, f"{_made(node)}\noverwrites {root}{through}, {problem}")


def _overwritten_twice(root: Variable, first: Apply, second: Apply) -> InconsistencyError:
    return _conflict(
        second,
        f"The value of {root} would be overwritten twice: by {_made(first)}\nand by "
        f"{_made(second)}\nLet one of them use the version that does not overwrite.",
    )


def _overwritten_output(root: Variable, output: Variable, node: Apply) -> InconsistencyError:
    return _conflict(
        node,
        f"The value of {root} is overwritten by {_made(node)}\nbut {output}, an output of the "
        "graph, may share its memory. Copy the output, or use the version of the Op that does not "
        "overwrite.",
    )


def _made(node: Apply) -> str:
    return f"{node.op!r}, made at\n  {node.origin}"


def _conflict(node: Apply, message: str) -> InconsistencyError:
    return InconsistencyError(f"{node.op!r} cannot overwrite its input here. {message}")


def fast_inplace_check(fgraph: FunctionGraph, inputs: Iterable[Variable]) -> list[Variable]:
    """Return the variables that a node might overwrite, for rules that introduce in-place Ops.

    Constants, shared variables, inputs of the graph that are not mutable, outputs of the graph,
    variables that are already overwritten, and views of these are left out. Overwriting a returned
    variable can still be rejected by ``replace_validate``: the execution order is not checked here.

    Parameters
    ----------
    fgraph
        The graph.
    inputs
        Variables of the graph.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, f = Type(), Op()
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> z = Apply(f, [y], [anything("z")]).out
    >>> fgraph = FunctionGraph([x], [z], clone=False)
    >>> fast_inplace_check(fgraph, [x, y, z])
    [y]
    """
    handlers = [f for f in fgraph.features if isinstance(f, DestroyHandler)]
    mutable = mutable_inputs(fgraph)
    taken = {root for output in fgraph.outputs for root in root_of(output)}
    for node in (node for h in handlers for node in h) if handlers else _destroying(fgraph):
        for position in destroyed_inputs(node):
            taken.update(root_of(node.inputs[position]))
    return [
        variable
        for variable in inputs
        if all(
            root not in taken and (root.owner is not None or root in mutable)
            for root in root_of(variable)
        )
    ]


class DestroyHandler(Feature):
    """Keeps a graph with overwriting nodes computable, and its nodes correctly ordered.

    ``FunctionGraph.replace_all_validate`` rejects changes that break a rule of
    :func:`check_aliasing`. As long as no node overwrites anything, or changes do not affect
    overwritten values, tracking the graph costs next to nothing.

    Parameters
    ----------
    mutable_inputs
        Inputs of the graph, and shared variables, that may be overwritten.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, log, add_inplace = Type(), Op(), Op()
    >>> log.name, add_inplace.name, add_inplace.destroy_map = "log", "add_inplace", {0: [0]}
    >>> x, y = anything("x"), anything("y")
    >>> r2 = Apply(add_inplace, [x, y], [anything("r2")]).out
    >>> r3 = Apply(log, [x], [anything("r3")]).out  # of x as it was before
    >>> fgraph = FunctionGraph([x, y], [r2, r3], [DestroyHandler([x])], clone=False)
    >>> fgraph.toposort()
    [log(x), add_inplace(x, y)]
    """

    outlives_rewriting = True  # the execution order depends on it

    def __init__(self, mutable_inputs: Iterable[Variable] = ()) -> None:
        self.mutable_inputs = list(mutable_inputs)
        self._destroying: dict[Apply, None] = {}
        # Of the graph as it was last found sound; updated by `validate`.
        self._ranks: Ranks[Apply] | None = None
        self._outputs: list[Variable] = []
        self._gone: dict[Apply, dict[Variable, int]] = {}  # overwriting node -> roots
        self._by_root: dict[Variable, Apply] = {}  # the inverse of _gone
        self._touched: dict[Apply, None] = {}  # nodes that are new, or have new inputs

    def on_attach(self, fgraph: FunctionGraph) -> None:
        self._destroying = dict.fromkeys(_destroying(fgraph))
        self._ranks = None

    def on_import(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        if overwrites(node):
            self._destroying[node] = None
        if self._ranks is not None:
            self._touched[node] = None

    def on_prune(self, fgraph: FunctionGraph, node: Apply, reason: object) -> None:
        self._destroying.pop(node, None)
        if self._ranks is not None:
            self._touched.pop(node, None)
            self._ranks.remove(node)
            self._forget(node)

    def on_change_input(
        self,
        fgraph: FunctionGraph,
        node: Apply | Literal["output"],
        i: int,
        old: Variable,
        new: Variable,
        reason: object,
    ) -> None:
        if self._ranks is not None and not isinstance(node, str):
            self._touched[node] = None

    def validate(self, fgraph: FunctionGraph) -> None:
        """Raise InconsistencyError if :func:`check_aliasing` does.

        After the first time, only what a change can affect is checked. To replace all 10,000 nodes
        of a graph one by one takes 1 to 2 s; with checks of all of it, it would take ten minutes.
        """
        if not self._destroying:
            self._ranks = None
        elif self._ranks is None:
            self._check_all(fgraph)
        elif self._is_apart(fgraph, self._ranks):
            self._touched = {}
        else:
            self._check_changes(fgraph, self._ranks)

    def _check_all(self, fgraph: FunctionGraph) -> None:
        destroying, aliases = list(self._destroying), AliasMap.of_graph(fgraph)
        _check_inner(destroying)
        order, orderings = _check(fgraph, destroying, aliases, frozenset(self.mutable_inputs))
        self._gone = {node: _destroyed_roots(node, aliases.roots) for node in destroying}
        self._by_root = {root: node for node, found in self._gone.items() for root in found}
        self._ranks = Ranks({one: [*needed_by(one), *orderings.get(one, ())] for one in order})
        self._outputs = list(fgraph.outputs)
        self._touched = {}

    def _is_apart(self, fgraph: FunctionGraph, ranks: Ranks[Apply]) -> bool:
        """Return whether changes are sound because they are far from what is overwritten.

        So are most. Nodes that changed neither show nor overwrite anything, and read only what
        stays; the outputs of the graph, and the order of the nodes, are the same.
        """
        touched, by_root, rank_of = self._touched, self._by_root, ranks.rank_of
        for node in touched:
            if node.op.view_map or node in self._destroying:
                return False
            if node not in rank_of:
                ranks.add(node, needed_by(node))
        for node in touched:
            rank = rank_of[node]
            for variable in node.inputs:
                owner = variable.owner
                if variable in by_root or (owner is not None and rank_of[owner] >= rank):
                    return False
                shows = owner is not None and (owner.op.view_map or owner.op.destroy_map)
                if shows and not by_root.keys().isdisjoint(root_of(variable)):
                    return False
        outputs = fgraph.outputs
        return len(outputs) == len(self._outputs) and all(map(is_, outputs, self._outputs))

    def _check_changes(self, fgraph: FunctionGraph, ranks: Ranks[Apply]) -> None:
        changed = shown_by(fgraph, self._touched)
        users = (user for variable in changed for user, _ in fgraph.clients[variable])
        nodes = dict.fromkeys((*self._touched, *(one for one in users if not isinstance(one, str))))
        # If this fails, they are all checked again next time.
        self._touched = nodes
        for node in nodes:
            self._forget(node)
            ranks.add(node, needed_by(node))
        edges: list[tuple[Apply, Apply]] = []
        for node in nodes:
            if node in self._destroying:
                edges += [(reader, node) for reader in self._enter(fgraph, node)]
        outputs = fgraph.outputs
        known = len(outputs) == len(self._outputs) and all(map(is_, outputs, self._outputs))
        for variable in outputs if changed or not known else ():
            for root in root_of(variable):
                if root in self._by_root:
                    raise _overwritten_output(root, variable, self._by_root[root])
        for node in nodes:
            edges += [(one, node) for one in needed_by(node)]
            edges += [(node, one) for one in self._overwriting_inputs_of(node)]
        cycle = ranks.place(edges, partial(self._followers, fgraph))
        if cycle:
            error = cycle_error(cycle)
            add_note(error, _NO_ORDER)
            raise error
        if cycle is None:
            self._check_all(fgraph)
        if not known:
            self._outputs = list(outputs)
        self._touched = {}

    def _forget(self, node: Apply) -> None:
        for root in self._gone.pop(node, ()):
            if self._by_root.get(root) is node:
                del self._by_root[root]

    def _enter(self, fgraph: FunctionGraph, node: Apply) -> list[Apply]:
        """Check what a node overwrites, and record it; return the nodes that read it."""
        _check_inner([node])
        check_own_inputs(node, root_of)
        found = self._gone[node] = _destroyed_roots(node, root_of)
        for root, position in found.items():
            _check_root(node, position, root, self.mutable_inputs)
            other = self._by_root.setdefault(root, node)
            if other is not node:
                raise _overwritten_twice(root, other, node)
        readers: list[Apply] = []
        for root in found:
            for variable in variables_in(fgraph, root):
                for reader, _ in fgraph.clients[variable]:
                    if isinstance(reader, str):
                        raise _overwritten_output(root, variable, node)
                    if reader is not node:
                        readers.append(reader)
        return readers

    def _followers(self, fgraph: FunctionGraph, node: Apply) -> Iterator[Apply]:
        """Yield the nodes that must run after a node: its users, and what overwrites its inputs."""
        for output in node.outputs:
            for user, _ in fgraph.clients[output]:
                if not isinstance(user, str):
                    yield user
        yield from self._overwriting_inputs_of(node)

    def _overwriting_inputs_of(self, node: Apply) -> Iterator[Apply]:
        """Yield the other nodes that overwrite what a node reads."""
        for variable in node.inputs:
            for root in root_of(variable):
                by = self._by_root.get(root)
                if by is not None and by is not node:
                    yield by

    def orderings(self, fgraph: FunctionGraph) -> dict[Apply, list[Apply]]:
        return destroy_orderings(fgraph) if self._destroying else {}

    def __iter__(self) -> Iterator[Apply]:
        """Yield the nodes that overwrite something."""
        return iter(self._destroying)

    def clone(self) -> DestroyHandler:
        # Only the caller knows which inputs of the copy are mutable.
        return DestroyHandler()
