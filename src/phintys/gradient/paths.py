"""The nodes through which variables influence others, and why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import DisconnectedInputError
from phintys._base.records import record
from phintys.graph import contract
from phintys.graph.identity import is_among
from phintys.graph.inner import about_placeholder
from phintys.graph.traversal import ancestors, toposort

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

    Pattern = list[list[bool]]


@record()
class PathStep:
    """A node through which an influence passes."""

    node: Apply
    positions: list[int]
    """Inputs under the influence."""
    pattern: Pattern | None
    """``[input][output] -> bool``; ``None`` where every input reaches every output."""


def influence(
    order: Sequence[Apply], sources: Iterable[Variable], blocked: Collection[Variable] = ()
) -> tuple[list[PathStep], set[Variable]]:
    """Return the nodes, of those in ``order``, that ``sources`` reach, and all variables reached.

    An Op's ``connection_pattern`` decides which of its outputs an input reaches. ``blocked``
    variables are not reached, unless they are sources themselves.
    """
    reached = set(sources)
    steps: list[PathStep] = []
    for node in order:
        positions = [i for i, variable in enumerate(node.inputs) if variable in reached]
        if not positions:
            continue
        if getattr(node.op, "connection_pattern", None) is None:
            steps.append(PathStep(node, positions, None))
            reached.update(
                [v for v in node.outputs if v not in blocked] if blocked else node.outputs
            )
            continue
        pattern = contract.connection_pattern(node)
        steps.append(PathStep(node, positions, pattern))
        reached.update(
            variable
            for o, variable in enumerate(node.outputs)
            if variable not in blocked and any(pattern[i][o] for i in positions)
        )
    return steps, reached


def connections(fgraph: FunctionGraph) -> Pattern:
    """Return ``[input][output] -> bool``, which inputs of a graph affect which outputs.

    An Op with an inner graph bases its ``connection_pattern`` on that of the graph.
    """
    reach: dict[Variable, int] = {v: 1 << i for i, v in enumerate(fgraph.inputs)}
    for node in fgraph.toposort():
        given = [reach.get(variable, 0) for variable in node.inputs]
        pattern = contract.connection_pattern(node)
        for o, output in enumerate(node.outputs):
            reach[output] = 0
            for bits, row in zip(given, pattern, strict=True):
                reach[output] |= bits if row[o] else 0
    return [
        [bool(reach.get(output, 0) >> i & 1) for output in fgraph.outputs]
        for i in range(len(fgraph.inputs))
    ]


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
