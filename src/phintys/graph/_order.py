"""Topological sorting: the one loop behind sorting, importing, cloning and pickling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import CycleError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

_NOTHING: frozenset[object] = frozenset()


def nodes_below(
    roots: Iterable[Apply],
    known: Container[Apply] = _NOTHING,
    blockers: Container[Variable] = _NOTHING,
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
) -> list[Apply]:
    """Return ``roots`` and the nodes that they depend on, in topological order.

    The order is determined by the graph alone: roots and inputs are visited first to last.

    Parameters
    ----------
    roots
        Nodes to start from.
    known
        Nodes to leave out, along with the nodes that only they depend on.
    blockers
        Variables that are taken as given: their owners are not visited.
    orderings
        Node -> further nodes that must come before it.

    Raises
    ------
    CycleError
        The graph has a cycle.
    """
    order: list[Apply] = []
    finished: dict[Apply, bool] = {}  # False while its dependencies are being visited
    look_up = finished.get
    stack: list[Apply] = []
    for root in roots:
        if root in known:
            continue
        stack.append(root)
        while stack:
            node = stack[-1]
            state = look_up(node)
            if state is None:
                finished[node] = False
                height = len(stack)
                if orderings is not None:
                    for earlier in reversed(list(orderings.get(node, ()))):
                        if earlier not in known:
                            state = look_up(earlier)
                            if state is None:
                                stack.append(earlier)
                            elif not state:
                                raise _cycle(stack[:height], earlier, finished)
                for variable in node.inputs[::-1]:
                    owner = variable.owner
                    if owner is not None:
                        state = look_up(owner)
                        if state is None:
                            if owner not in known and variable not in blockers:
                                stack.append(owner)
                        elif not state and variable not in blockers:
                            raise _cycle(stack[:height], owner, finished)
                if len(stack) > height:
                    continue
                state = False
            del stack[-1]
            if not state:
                finished[node] = True
                order.append(node)
    return order


def needed_by(node: Apply) -> list[Apply]:
    """Return the nodes that compute the inputs of a node."""
    return [variable.owner for variable in node.inputs if variable.owner is not None]


def _cycle(stack: list[Apply], again: Apply, finished: dict[Apply, bool]) -> CycleError:
    """Describe the cycle from ``again`` up the stack and back."""
    # The nodes started but not finished are the path down from the root. A node can also be on the
    # stack further down, for another user, so its topmost position counts.
    path: dict[Apply, None] = {}
    for node in reversed(stack):
        if finished.get(node) is False:
            path.setdefault(node)
            if node is again:
                break
    return cycle_error(list(path))


def cycle_error(path: list[Apply]) -> CycleError:
    """Return the error for a cycle, given as nodes that each depend on the next."""
    shown = 12
    lines = [f"  {node.op!r}, made at\n    {_indented(node)}" for node in path[:shown]]
    if len(path) > shown:
        lines.append(f"  ... and {len(path) - shown} more")
    return CycleError(
        f"The graph depends on itself: these {len(path)} node(s) need each other, each the next "
        "and the last the first.\n" + "\n".join(lines) + "\nA replacement must not need what it "
        "replaces (unless it is all that still does), and the order in which values are "
        "overwritten must leave each reader a time to read."
    )


def _indented(node: Apply) -> str:
    return str(node.origin).replace("\n", "\n    ")
