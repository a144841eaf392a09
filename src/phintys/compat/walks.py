"""Walks over graphs in the orders of the old packages, by which programs build argument lists.

Most begin at the last graph. Theano and Aesara then take the operands of a node from the first to
the last, and PyTensor from the last to the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys import graph

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from phintys.graph import Apply, Variable

__all__ = [
    "ancestor_list",
    "ancestors",
    "ancestors_from_last",
    "applys_between",
    "applys_between_from_last",
    "graph_inputs",
    "graph_inputs_from_last",
    "input_list",
    "io_toposort",
    "io_toposort_from_last",
    "toposort_from_last",
    "variables",
    "vars_between",
    "vars_between_from_last",
]


def ancestors(
    graphs: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> Iterator[Any]:
    """Yield ``graphs`` and all variables that they depend on, the first operands first."""
    return graph.ancestors(list(graphs)[::-1], blockers)


def ancestors_from_last(
    graphs: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> Iterator[Any]:
    """Yield ``graphs`` and all variables that they depend on, the last operands first.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.walks import ancestors, ancestors_from_last
    >>> x, y = pt.dscalar("x"), pt.dscalar("y")
    >>> list(ancestors([x + y])), list(ancestors_from_last([x + y]))
    ([Add.0, x, y], [Add.0, y, x])
    """
    stop = frozenset(blockers or ())

    def operands(variable: Variable) -> list[Any] | None:
        node = variable.owner
        return None if node is None or variable in stop else node.inputs[::-1]

    return graph.walk(list(graphs)[::-1], operands, bfs=False)


def graph_inputs(
    graphs: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> Iterator[Any]:
    """Yield the leaves among the :func:`ancestors`, in that order."""
    return (leaf for leaf in ancestors(graphs, blockers) if leaf.owner is None)


def graph_inputs_from_last(
    graphs: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> Iterator[Any]:
    """Yield the leaves among :func:`ancestors_from_last`, in that order."""
    return (leaf for leaf in ancestors_from_last(graphs, blockers) if leaf.owner is None)


def ancestor_list(
    variable_list: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> list[Any]:
    """Return the ancestors as a list, like Theano's ``ancestors``."""
    return list(ancestors(variable_list, blockers))


def input_list(
    variable_list: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> list[Any]:
    """Return the leaves as a list, like Theano's ``inputs``."""
    return list(graph_inputs(variable_list, blockers))


def _around(ins: Iterable[Variable]) -> Callable[[Variable], list[Any] | None]:
    """Return a function of a variable: the operands and the results of its node."""
    stop = frozenset(ins)

    def neighbours(variable: Variable) -> list[Any] | None:
        node = variable.owner
        return None if node is None or variable in stop else [*node.inputs, *node.outputs]

    return neighbours


def _around_from_last(ins: Iterable[Variable]) -> Callable[[Variable], list[Any] | None]:
    around = _around(ins)
    return lambda variable: (around(variable) or [])[::-1]


def variables(i: Iterable[Variable], o: Iterable[Variable]) -> list[Any]:
    """Return the variables between inputs and outputs in the order of Theano: depth first."""
    return list(graph.walk(list(o)[::-1], _around(i), bfs=False))


def vars_between(ins: Iterable[Variable], outs: Iterable[Variable]) -> Iterator[Any]:
    """Yield the variables between ``ins`` and ``outs`` in the order of Aesara: breadth first.

    It begins at the first graph, and takes the results and the operands of a node from the last.
    """
    return graph.walk(list(outs), _around_from_last(ins))


def vars_between_from_last(ins: Iterable[Variable], outs: Iterable[Variable]) -> Iterator[Any]:
    """Yield the variables between ``ins`` and ``outs`` in the order of PyTensor: depth first."""
    return graph.walk(list(outs)[::-1], _around_from_last(ins), bfs=False)


# ---- nodes ---------------------------------------------------------------------------------------


def _in_order(inputs: Iterable[Variable], outputs: list[Variable]) -> list[Apply]:
    """Return nodes after those that they need: for the last output, and the last operands, first.

    The operands of a node that are computed by then are not looked at again.
    """
    known = set(inputs)
    waiting = list(outputs)
    order: list[Apply] = []
    while waiting:
        variable = waiting.pop()
        node = variable.owner
        if variable in known or node is None:
            continue
        missing = [x for x in node.inputs if x not in known and x.owner is not None]
        if missing:
            waiting.append(variable)
            waiting.extend(missing)
        else:
            order.append(node)
            known.update(node.outputs)
    return order


def io_toposort(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    orderings: Mapping[Apply, list[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that compute outputs from inputs, in topological order: Theano, Aesara.

    Those for the first output come first, and among the operands of a node those for the last.
    """
    if orderings:
        return graph.io_toposort(list(inputs), list(outputs), orderings)
    return _in_order(inputs, list(outputs)[::-1])


def io_toposort_from_last(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    orderings: Mapping[Apply, list[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that compute outputs from inputs, in topological order: PyTensor.

    Those for the last output come first.
    """
    if orderings:
        return graph.io_toposort(list(inputs), list(outputs), orderings)
    return _in_order(inputs, list(outputs))


def toposort_from_last(
    graphs: Iterable[Variable], blockers: Iterable[Variable] | None = None
) -> Iterator[Apply]:
    """Yield the nodes that compute graphs, in topological order, those for the last one first."""
    return iter(_in_order(blockers or (), list(graphs)))


def applys_between(ins: Iterable[Variable], outs: Iterable[Variable]) -> Iterator[Apply]:
    """Yield the nodes between ``ins`` and ``outs`` in the order of Aesara, from the outputs."""
    given = frozenset(ins)
    nodes = (one.owner for one in vars_between(given, outs) if one not in given)
    return iter(dict.fromkeys(node for node in nodes if node is not None))


def applys_between_from_last(ins: Iterable[Variable], outs: Iterable[Variable]) -> Iterator[Apply]:
    """Yield the nodes between ``ins`` and ``outs`` in the order of PyTensor, from the outputs."""
    given = frozenset(ins)
    nodes = (one.owner for one in ancestors_from_last(outs, given) if one not in given)
    return iter(dict.fromkeys(node for node in nodes if node is not None))
