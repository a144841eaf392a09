"""Graph traversal: ancestors of variables, and topological order of nodes.

A graph is given by its outputs. *Blockers* are variables at which a traversal stops: they are
treated as given, even if a node computes them. Nothing here is recursive, each function is linear
in the part of the graph that it visits, and every order is determined by the graph alone.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeVar

from phintys._base.errors import CycleError
from phintys.graph.order import nodes_below
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping

    from phintys.graph.apply import Apply

T = TypeVar("T")
H = TypeVar("H", bound="Hashable")


def walk(
    start: Iterable[T],
    expand: Callable[[T], Iterable[T] | None],
    bfs: bool = True,
    hash_fn: Callable[[T], Hashable] = id,
) -> Iterator[T]:
    """Yield all items reachable from ``start``, each once.

    Parameters
    ----------
    start
        Where to begin.
    expand
        Returns the neighbours of an item; ``None`` means none.
    bfs
        Traverse breadth first; otherwise depth first, in order of the neighbours.
    hash_fn
        Items for which this returns equal values are the same.

    Examples
    --------
    >>> list(walk([1], lambda n: [2 * n, 2 * n + 1] if n < 4 else None, hash_fn=hash))
    [1, 2, 3, 4, 5, 6, 7]
    >>> list(walk([1], lambda n: [2 * n, 2 * n + 1] if n < 4 else None, bfs=False, hash_fn=hash))
    [1, 2, 4, 5, 3, 6, 7]
    """
    seen: set[Hashable] = set()
    waiting = deque(start) if bfs else deque(reversed(list(start)))
    take = waiting.popleft if bfs else waiting.pop
    while waiting:
        item = take()
        key = hash_fn(item)
        if key in seen:
            continue
        seen.add(key)
        yield item
        neighbours = expand(item)
        if neighbours is not None:
            waiting.extend(neighbours if bfs else reversed(list(neighbours)))


def ancestors(
    graphs: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> Iterator[Variable]:
    """Yield ``graphs`` and all variables that they depend on, each once.

    Parameters
    ----------
    graphs
        Where to begin.
    blockers
        Variables that are yielded, but whose ancestors are not visited.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> list(ancestors([y]))
    [y, x]
    """
    stop = _as_set(blockers)
    seen: set[Variable] = set()
    stack = list(graphs)[::-1]
    while stack:
        variable = stack.pop()
        if variable in seen:
            continue
        seen.add(variable)
        yield variable
        node = variable.owner
        if node is not None and variable not in stop:
            stack.extend(node.inputs[::-1])


def graph_inputs(
    graphs: Iterable[Variable], blockers: Collection[Variable] | None = None
) -> Iterator[Variable]:
    """Yield the leaves that ``graphs`` depend on: inputs, constants, shared variables, blockers.

    Parameters
    ----------
    graphs
        Where to begin.
    blockers
        Variables to treat as leaves.
    """
    stop = _as_set(blockers)
    for variable in ancestors(graphs, stop):
        if variable.owner is None or variable in stop:
            yield variable


def explicit_graph_inputs(graphs: Variable | Iterable[Variable]) -> Iterator[Variable]:
    """Yield the leaves without a value, that is, neither constants nor shared variables.

    Parameters
    ----------
    graphs
        A variable, or several.
    """
    for variable in graph_inputs([graphs] if isinstance(graphs, Variable) else graphs):
        if not isinstance(variable, Constant | SharedVariable):
            yield variable


def applys_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Apply]:
    """Yield the nodes that compute ``outs`` from ``ins``, in topological order.

    Parameters
    ----------
    ins
        Variables that are given.
    outs
        Variables that are wanted.
    """
    yield from io_toposort(ins, outs)


def vars_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Variable]:
    """Yield the variables between ``ins`` and ``outs``; both are included.

    Unused outputs of multi-output nodes are included, too; inputs that ``outs`` do not depend on
    are not.

    Parameters
    ----------
    ins
        Variables that are given.
    outs
        Variables that are wanted.
    """
    stop = _as_set(ins)
    seen: set[Variable] = set()
    stack = list(outs)[::-1]
    while stack:
        variable = stack.pop()
        if variable in seen:
            continue
        seen.add(variable)
        yield variable
        node = variable.owner
        if node is not None and variable not in stop:
            if len(node.outputs) > 1:
                stack.extend(node.outputs[::-1])
            stack.extend(node.inputs[::-1])


def orphans_between(ins: Collection[Variable], outs: Iterable[Variable]) -> Iterator[Variable]:
    """Yield the leaves that ``outs`` depend on and that are not in ``ins``.

    Parameters
    ----------
    ins
        Variables that are given.
    outs
        Variables that are wanted.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> x, y = anything("x"), anything("y")
    >>> z = Apply(f, [x, y], [anything("z")]).out
    >>> list(orphans_between([x], [z]))
    [y]
    """
    stop = _as_set(ins)
    for variable in ancestors(outs, stop):
        if variable.owner is None and variable not in stop:
            yield variable


def variable_depends_on(variable: Variable, depends_on: Variable | Collection[Variable]) -> bool:
    """Return whether ``variable`` depends on any of some variables, or is one of them.

    Parameters
    ----------
    variable
        Where to begin.
    depends_on
        A variable or several.
    """
    wanted = {depends_on} if isinstance(depends_on, Variable) else set(depends_on)
    return any(found in wanted for found in ancestors([variable]))


def truncated_graph_inputs(
    outputs: Iterable[Variable], ancestors_to_include: Collection[Variable] | None = None
) -> list[Variable]:
    """Return variables from which ``outputs`` can be computed, close to the outputs.

    The traversal from the outputs continues only through variables that depend on one of
    ``ancestors_to_include``; where it stops, the variable is an input of the truncated graph.

    Parameters
    ----------
    outputs
        Variables that are wanted.
    ancestors_to_include
        Variables that must be among the inputs if the outputs depend on them.

    Returns
    -------
    list of Variable
        Inputs of the truncated graph, without constants.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> def apply(name, *inputs):
    ...     return Apply(f, inputs, [anything(name)]).out
    >>> x, y = anything("x"), anything("y")
    >>> a, b = apply("a", x), apply("b", y)
    >>> out = apply("out", apply("c", a, b), a)
    >>> truncated_graph_inputs([out], [a])
    [a, b]
    """
    outputs = list(outputs)
    included = _as_set(ancestors_to_include)
    if not included:
        return list(dict.fromkeys(v for v in outputs if not isinstance(v, Constant)))
    # In topological order: a node is passed through if it depends on an included variable.
    passed: set[Apply] = set()
    for node in nodes_below(_owners(outputs)):
        if any(v in included or (v.owner is not None and v.owner in passed) for v in node.inputs):
            passed.add(node)
    found: dict[Variable, None] = {}
    seen: set[Variable] = set()
    stack = outputs[::-1]
    while stack:
        variable = stack.pop()
        if variable in seen:
            continue
        seen.add(variable)
        node = variable.owner
        if variable in included or node is None or node not in passed:
            if not isinstance(variable, Constant):
                found[variable] = None
        else:
            stack.extend(node.inputs[::-1])
    return list(found)


def io_toposort(
    inputs: Collection[Variable],
    outputs: Iterable[Variable],
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes between ``inputs`` and ``outputs`` in topological order.

    Parameters
    ----------
    inputs
        Variables that are given: the nodes that compute them are left out.
    outputs
        Variables that are wanted.
    orderings
        Node -> nodes that must come before it for reasons other than its inputs.

    Raises
    ------
    CycleError
        The graph has a cycle; the message names its nodes and the lines that made them.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f, g = Type(), Op(), Op()
    >>> f.name, g.name = "f", "g"
    >>> x = anything("x")
    >>> y = Apply(f, [x], [anything("y")]).out
    >>> z = Apply(g, [y, x], [anything("z")]).out
    >>> io_toposort([x], [z])
    [f(x), g(y, x)]
    """
    blockers = _as_set(inputs)
    roots = _owners(variable for variable in outputs if variable not in blockers)
    return nodes_below(roots, blockers=blockers, orderings=orderings)


def toposort(
    graphs: Iterable[Variable],
    blockers: Collection[Variable] | None = None,
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that compute ``graphs`` in topological order.

    Parameters
    ----------
    graphs
        Variables that are wanted.
    blockers
        Variables that are given.
    orderings
        Node -> nodes that must come before it for reasons other than its inputs.

    Raises
    ------
    CycleError
        The graph has a cycle.
    """
    return io_toposort(() if blockers is None else blockers, graphs, orderings)


def general_toposort(outputs: Iterable[H], deps: Callable[[H], Iterable[H] | None]) -> list[H]:
    """Return ``outputs`` and everything they depend on, in topological order.

    Parameters
    ----------
    outputs
        The items to start from: hashable objects of any kind.
    deps
        Returns the dependencies of an item; ``None`` means none. Called once for each item.

    Raises
    ------
    CycleError
        The items have a cyclic dependency.

    Examples
    --------
    >>> needs = {"tea": ["water", "leaves"], "water": ["well"]}
    >>> general_toposort(["tea"], needs.get)
    ['well', 'water', 'leaves', 'tea']
    """
    order: list[H] = []
    finished: dict[H, bool] = {}
    stack = list(outputs)[::-1]
    while stack:
        item = stack[-1]
        state = finished.get(item)
        if state is None:
            finished[item] = False
            needed = [dep for dep in (deps(item) or ()) if not finished.get(dep, False)]
            again = next((dep for dep in needed if dep in finished), None)
            if again is not None:
                # The unfinished items lead from `again` to here; the topmost position counts.
                begun = dict.fromkeys(t for t in reversed(stack) if finished.get(t) is False)
                path = list(begun)[: list(begun).index(again) + 1][::-1]
                names = " needs ".join(str(thing) for thing in path[-12:])
                msg = f"These items need each other, so they have no order: {names} needs {again}."
                raise CycleError(msg)
            stack.extend(reversed(needed))
            if needed:
                continue
            state = False
        stack.pop()
        if not state:
            finished[item] = True
            order.append(item)
    return order


def get_var_by_name(graphs: Iterable[Variable], name: str) -> tuple[Variable, ...]:
    """Return the variables named ``name`` among ``graphs`` and their ancestors.

    Parameters
    ----------
    graphs
        Where to begin.
    name
        The name to look for.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> y = Apply(f, [anything("x")], [anything("y")]).out
    >>> get_var_by_name([y], "x")
    (x,)
    """
    return tuple(variable for variable in ancestors(graphs) if variable.name == name)


def _as_set(variables: Iterable[Variable] | None) -> set[Variable] | frozenset[Variable]:
    if isinstance(variables, set | frozenset):
        return variables
    return frozenset() if variables is None else frozenset(variables)


def _owners(variables: Iterable[Variable]) -> Iterator[Apply]:
    for variable in variables:
        if variable.owner is not None:
            yield variable.owner
