"""The order of nodes: one loop that sorts, imports, clones and pickles all rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import CycleError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

__all__ = ["nodes_below"]

_NOTHING: frozenset[object] = frozenset()


def nodes_below(
    roots: Iterable[Apply],
    known: Container[Apply] = _NOTHING,
    blockers: Container[Variable] = _NOTHING,
    orderings: Mapping[Apply, Iterable[Apply]] | None = None,
) -> list[Apply]:
    """Return the nodes that ``roots`` need, and these themselves, each after those it needs.

    The order depends on nothing but the graph: roots from first to last, inputs from first to last.

    Parameters
    ----------
    roots
        Nodes to begin with.
    known
        Nodes that are left out, with all that only they need.
    blockers
        Variables that are taken as given: their owners are not needed.
    orderings
        Node -> further nodes that must come before it.

    Raises
    ------
    CycleError
        Some nodes need each other.
    """
    order: list[Apply] = []
    finished: dict[Apply, bool] = {}  # False while the nodes that it needs are being finished
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


def _cycle(stack: list[Apply], again: Apply, finished: dict[Apply, bool]) -> CycleError:
    """Describe the cycle from ``again`` up the stack and back."""
    # The nodes begun but not finished are the path down from the root. One may also wait further
    # below for another user, so its topmost place counts.
    path: dict[Apply, None] = {}
    for node in reversed(stack):
        if finished.get(node) is False:
            path.setdefault(node)
            if node is again:
                break
    return cycle_error(list(path))


def cycle_error(path: list[Apply]) -> CycleError:
    """Return the error for a cycle, given nodes of which each needs the next."""
    shown = 12
    lines = [f"  {node.op}, made at\n    {_indented(node)}" for node in path[:shown]]
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
