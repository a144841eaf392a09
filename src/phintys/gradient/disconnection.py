"""Explanations of why outputs do not depend on a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import DisconnectedInputError
from phintys.gradient.paths import influence
from phintys.graph.identity import is_among
from phintys.graph.inner import about_placeholder
from phintys.graph.traversal import ancestors, toposort

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

_MOST_NAMED = 3


def explain_disconnection(
    variable: Variable,
    outputs: Sequence[Variable],
    blocked: Collection[Variable],
    cuts: Mapping[Variable, Apply],
) -> DisconnectedInputError:
    """Return an error that explains why ``outputs`` do not depend on ``variable``.

    Parameters
    ----------
    variable
        The variable with respect to which a gradient was requested.
    outputs
        The cost, and the variables with known gradients.
    blocked
        The variables considered constant.
    cuts
        Variable -> a node that reads it and gave a disconnected gradient for it.
    """
    names = ", ".join(str(output) for output in outputs)
    reasons = _reasons(variable, outputs, blocked, cuts)
    hint = "With disconnected_inputs='ignore' (or 'warn') the gradient is zero instead of an error."
    about = about_placeholder(variable)
    if about is not None:
        hint = f"{about}\n{hint}"
    return DisconnectedInputError(
        f"{names} does not depend on {variable} (type {variable.type}) in a "
        f"differentiable way: {reasons}\n{hint}"
    )


def _reasons(
    variable: Variable,
    outputs: Sequence[Variable],
    blocked: Collection[Variable],
    cuts: Mapping[Variable, Apply],
) -> str:
    everything = toposort(outputs)
    read = {x for node in everything for x in node.inputs}
    computed = {x for node in everything for x in node.outputs}
    if variable not in read and variable not in computed and not is_among(variable, outputs):
        return f"it is not part of the graph.{_namesake(variable, read)}{_aside(variable, read)}"
    order = toposort(outputs, blocked)
    steps, reached = influence(order, [variable], blocked)
    if not steps and not is_among(variable, outputs):
        return "everything that leads there is listed in consider_constant."
    cutting = set(cuts.values())
    ends = [
        step.node
        for step in steps
        if step.node in cutting or not any(output in reached for output in step.node.outputs)
    ]
    if not ends:
        return "no gradient flows there."
    named = ends[:_MOST_NAMED]
    places = "\n".join(f"  {node.op}, applied at\n    {node.origin}" for node in named)
    return (
        "the values of its elements are not used, only its shape or the like, by these Ops:\n"
        f"{places}"
    )


def _aside(variable: Variable, read: Collection[Variable]) -> str:
    """Return advice for an expression beside the graph, of the same variables."""
    if variable.owner is None or not any(source in read for source in ancestors([variable])):
        return ""
    return (
        " It was computed apart from it: keep an expression in a name, and build the cost from it. "
        "For a part of an array, take that part of the gradient: grad(cost, x)[index]."
    )


def _namesake(variable: Variable, read: Collection[Variable]) -> str:
    if variable.name is None:
        return ""
    if any(other.name == variable.name for other in read):
        return (
            f" It has another variable of the name {variable.name!r}: variables are told apart by "
            "identity, so pass the very one that the expression was built from."
        )
    return ""
