"""AliasMap: which values share memory, and which are overwritten.

An Op declares with ``view_map`` which inputs an output may share memory with, and with
``destroy_map`` which inputs it overwrites. The *roots* of a value are the values whose memory it
may be part of: the value itself if it owns its memory, otherwise the roots of all inputs that it
may view. Two values may share memory if they have a root in common. An output that overwrites an
input is a new root, although the memory is the same: all readers of the old value must have run by
then.

Everything that needs to know about memory asks an :class:`AliasMap`: the checks of a graph
(:mod:`phintys.graph.aliasing`), rewrites, the copies that protect a caller's values, and the
backends, for graphs and for what Ops in Python return to a Program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from phintys._base.errors import BadDestroyMap, BadViewMap
from phintys.graph.inner import HasInnerGraph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

    Roots = tuple[Variable, ...]

V = TypeVar("V")

__all__ = [
    "AliasMap",
    "check_maps",
    "destroyed_inputs",
    "is_overwritten",
    "memory_of",
    "overwritten_variables",
    "root_of",
    "shared_inputs",
    "shown_by",
    "variables_in",
    "view_roots",
]


def check_maps(nodes: Iterable[Apply]) -> None:
    """Check that ``view_map`` and ``destroy_map`` name existing outputs and inputs.

    Parameters
    ----------
    nodes
        The nodes; those of their inner graphs are checked as well.

    Raises
    ------
    BadViewMap, BadDestroyMap
        A map names an output or input that does not exist.
    """
    stack, entered = [*nodes], set[int]()
    while stack:
        node = stack.pop()
        op = node.op
        if op.view_map or op.destroy_map:
            _check_maps(node)
        if isinstance(op, HasInnerGraph) and id(op) not in entered:
            entered.add(id(op))
            stack += op.fgraph.apply_nodes


def _check_maps(node: Apply) -> None:
    for name, kind in (("view_map", BadViewMap), ("destroy_map", BadDestroyMap)):
        declared: Mapping[int | None, Iterable[int]] = getattr(node.op, name)
        for output, positions in declared.items():
            wrong = [
                f"the input {position}, and there are {len(node.inputs)}"
                for position in positions
                if not 0 <= position < len(node.inputs)
            ]
            if output is None and name == "view_map":
                wrong.append("None as an output")
            elif output is not None and not 0 <= output < len(node.outputs):
                wrong.append(f"the output {output}, and there are {len(node.outputs)}")
            if wrong:
                msg = (
                    f"{node.op}: its {name} is {dict(declared)}, which names {wrong[0]}. Write "
                    f"{name} = {{output index: [input indices]}}, counted from 0.\n"
                    f"The node was made at\n  {node.origin}"
                )
                raise kind(msg)


def destroyed_inputs(node: Apply) -> dict[int, int | None]:
    """Return the positions of the inputs that a node overwrites, each with the output responsible.

    Parameters
    ----------
    node
        The node.

    Returns
    -------
    dict
        Input position -> the first output that overwrites it, or ``None`` if the input is only used
        as scratch space.
    """
    return _destroyed_positions(node.op)


def _destroyed_positions(op: Op) -> dict[int, int | None]:
    found: dict[int, int | None] = {}
    for output, positions in op.destroy_map.items():
        for position in positions:
            if found.get(position) is None:
                found[position] = output
    return found


def shared_inputs(op: Op, output: int) -> tuple[int, ...]:
    """Return the positions of the inputs whose memory an output may be part of.

    Parameters
    ----------
    op
        The Op.
    output
        The position of the output.
    """
    return (*op.view_map.get(output, ()), *op.destroy_map.get(output, ()))


class AliasMap(Generic[V]):
    """The memory of values: which of them may share it, and which are overwritten.

    The map is filled with nodes, inputs first. Values are the variables of a graph, or the arrays
    of a Program; those that no node was added for have memory of their own.

    Attributes
    ----------
    overwritten : set
        The roots that some node overwrites.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, view, add_inplace = Type(), Op(), Op()
    >>> view.view_map, add_inplace.destroy_map = {0: [0]}, {0: [0]}
    >>> x = anything("x")
    >>> v = Apply(view, [x], [anything("v")]).out
    >>> z = Apply(add_inplace, [v], [anything("z")]).out
    >>> aliases = AliasMap.of_graph(FunctionGraph([x], [z], clone=False))
    >>> aliases.roots(v), aliases.roots(z), aliases.memory(z)
    ((x,), (z,), (x,))
    >>> aliases.is_overwritten(v), aliases.is_overwritten(z)
    (True, False)
    """

    def __init__(self) -> None:
        self._roots: dict[V, tuple[V, ...]] = {}
        self._memory: dict[V, tuple[V, ...]] = {}
        self.overwritten: set[V] = set()

    @staticmethod
    def of_nodes(nodes: Iterable[Apply]) -> AliasMap[Variable]:
        """Return the map of some nodes, in an order in which inputs come before outputs."""
        found: AliasMap[Variable] = AliasMap()
        for node in nodes:
            found.add(node.op, node.inputs, node.outputs)
        return found

    @staticmethod
    def of_graph(fgraph: FunctionGraph) -> AliasMap[Variable]:
        """Return the map of a graph."""
        if not any(map(_aliases, fgraph.apply_nodes)):
            return AliasMap()
        # Orderings do not matter here, and computing them may itself require the roots.
        return AliasMap.of_nodes(fgraph.inputs_first())

    def roots(self, value: V) -> tuple[V, ...]:
        """Return the roots of a value; ``(value,)`` if it has memory of its own."""
        return self._roots.get(value) or (value,)

    def memory(self, value: V) -> tuple[V, ...]:
        """Return the values for which the memory was allocated that a value may be part of.

        Unlike :meth:`roots`, an output that overwrites an input is in the memory of the input.
        """
        return self._memory.get(value) or (value,)

    def views(self, value: V) -> list[V]:
        """Return the values that may be part of the memory that was allocated for a value."""
        return [view for view, memory in self._memory.items() if value in memory]

    def __iter__(self) -> Iterator[V]:
        """Yield the values that may be part of other values' memory."""
        return iter(self._memory)

    def is_overwritten(self, value: V) -> bool:
        """Return whether a node overwrites a value, directly or through what shares its memory."""
        return not self.overwritten.isdisjoint(self.roots(value))

    def add(self, op: Op, inputs: Sequence[V], outputs: Sequence[V]) -> None:
        """Add an application of an Op."""
        if not op.view_map and not op.destroy_map:
            return
        destroyed = _destroyed_positions(op)
        gone = {at: self.roots(inputs[at]) for at in destroyed}
        for index, output in enumerate(outputs):
            shared = shared_inputs(op, index)
            if not shared:
                continue
            found: dict[V, None] = {}
            for position in op.destroy_map.get(index, ()):
                # Outputs that overwrite the same input share it.
                found[outputs[destroyed[position] or 0]] = None
            for position in op.view_map.get(index, ()):
                for root in self.roots(inputs[position]):
                    # A view of an overwritten input shares memory with the overwriting output.
                    by = [destroyed[at] for at, roots in gone.items() if root in roots]
                    found.update((root if one is None else outputs[one], None) for one in by)
                    if not by:
                        found[root] = None
            self._roots[output] = tuple(found)
            memory = [one for position in shared for one in self.memory(inputs[position])]
            self._memory[output] = tuple(dict.fromkeys(memory))
        self.overwritten.update(root for roots in gone.values() for root in roots)


def _aliases(node: Apply) -> bool:
    return bool(node.op.view_map) or bool(node.op.destroy_map)


def view_roots(fgraph: FunctionGraph) -> dict[Variable, Roots]:
    """Return the roots of each variable of a graph.

    Parameters
    ----------
    fgraph
        The graph.

    Returns
    -------
    dict
        Variable -> tuple of variables; ``(variable,)`` where it has memory of its own.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, Type
    >>> anything, choose = Type(), Op()
    >>> choose.view_map = {0: [0, 1]}  # returns one of its inputs
    >>> x, y = anything("x"), anything("y")
    >>> z = Apply(choose, [x, y], [anything("z")]).out
    >>> view_roots(FunctionGraph([x, y], [z], clone=False))[z]
    (x, y)
    """
    aliases = AliasMap.of_graph(fgraph)
    return {variable: aliases.roots(variable) for variable in fgraph.variables}


def root_of(variable: Variable) -> Roots:
    """Return the roots of one variable.

    Parameters
    ----------
    variable
        Any variable, in a FunctionGraph or not.
    """
    owner = variable.owner
    if owner is None or not (owner.op.view_map or (owner.op.destroy_map and owner.outputs[1:])):
        return (variable,)
    # Only nodes that may pass on the memory of their inputs are followed.
    order: list[Apply] = []
    opened: set[Apply] = set()
    stack: list[Apply | None] = [variable.owner]
    while stack:
        node = stack[-1]
        if node is None or not _aliases(node):
            stack.pop()
        elif node not in opened:
            opened.add(node)
            positions = {i for viewed in node.op.view_map.values() for i in viewed}
            if positions:  # the viewed memory may have been overwritten
                positions.update(destroyed_inputs(node))
            stack.extend(node.inputs[position].owner for position in sorted(positions))
        else:
            order.append(node)
            stack.pop()
    return AliasMap.of_nodes(dict.fromkeys(order)).roots(variable)


def memory_of(variable: Variable) -> dict[Variable, None]:
    """Return the variables for which the memory was allocated that one may be part of.

    Parameters
    ----------
    variable
        Any variable, in a FunctionGraph or not.
    """
    found: dict[Variable, None] = {}
    seen = {variable}
    stack = [variable]
    while stack:
        current = stack.pop()
        node = current.owner
        shared = () if node is None else shared_inputs(node.op, current.index or 0)
        if node is None or not shared:
            found[current] = None
            continue
        given = [node.inputs[position] for position in shared]
        stack.extend(one for one in given if one not in seen)
        seen.update(given)
    return found


def overwritten_variables(fgraph: FunctionGraph) -> set[Variable]:
    """Return the variables that a node overwrites, directly or through what shares their memory.

    Parameters
    ----------
    fgraph
        The graph.
    """
    if not any(node.op.destroy_map for node in fgraph.apply_nodes):
        return set()
    aliases = AliasMap.of_graph(fgraph)
    return {variable for variable in fgraph.variables if aliases.is_overwritten(variable)}


def shown_by(fgraph: FunctionGraph, nodes: Iterable[Apply]) -> dict[Variable, None]:
    """Return the variables that are views by some nodes, or views of these; an ordered set.

    Parameters
    ----------
    fgraph
        The graph.
    nodes
        Nodes of the graph.
    """
    found: dict[Variable, None] = {}
    stack = list(nodes)
    while stack:
        node = stack.pop()
        for index in node.op.view_map:
            variable = node.outputs[index]
            if variable not in found:
                found[variable] = None
                users = fgraph.clients[variable]
                stack.extend(user for user, _ in users if not isinstance(user, str))
    return found


def variables_in(fgraph: FunctionGraph, root: Variable) -> list[Variable]:
    """Return the variables that have a root, including itself.

    Parameters
    ----------
    fgraph
        The graph.
    root
        A root in it.
    """
    beside = () if root.owner is None or not _aliases(root.owner) else root.owner.outputs
    found = dict.fromkeys([root, *(one for one in beside if root in set(root_of(one)))])
    users = (user for variable in found for user, _ in fgraph.clients[variable])
    views = shown_by(fgraph, (one for one in users if not isinstance(one, str)))
    found.update(dict.fromkeys(one for one in views if root in set(root_of(one))))
    return list(found)


def is_overwritten(fgraph: FunctionGraph, variable: Variable) -> bool:
    """Return whether a node overwrites a variable or a view of it; this looks only at its users.

    Parameters
    ----------
    fgraph
        The graph.
    variable
        A variable of the graph.
    """
    stack, seen = [variable], {variable}
    while stack:
        for client, position in fgraph.clients.get(stack.pop(), ()):
            if isinstance(client, str):
                continue
            if client.op.destroy_map and position in destroyed_inputs(client):
                return True
            for index, viewed in client.op.view_map.items():
                if position in viewed and client.outputs[index] not in seen:
                    seen.add(client.outputs[index])
                    stack.append(client.outputs[index])
    return False
