"""The nodes that a call needs, in graphs that choose what to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.choosing import Choosing
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from phintys.compile.debugging.replacements import Replacement
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable


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
