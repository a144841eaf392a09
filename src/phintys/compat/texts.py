"""Graphs as strings: ``as_string``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from phintys.graph.traversal import applys_between

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.graph import Apply, Variable

__all__ = ["as_string"]


def _call(node: Apply, arguments: list[str]) -> str:
    return f"{node.op}({', '.join(arguments)})"


def as_string(
    inputs: Iterable[Variable],
    outputs: Iterable[Variable],
    leaf_formatter: Callable[[Any], str] = str,
    node_formatter: Callable[[Any, list[str]], str] = _call,
) -> list[str]:
    """Return each output as a string, down to the inputs.

    A result that is used more than once is written in full the first time, as ``*1 -> ...``, and
    as ``*1`` from then on.

    Parameters
    ----------
    inputs, outputs
        Where the strings end, and the variables that are written.
    leaf_formatter
        Returns the text of an input or of another variable without an Op.
    node_formatter
        Returns the text of a node from those of its inputs.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.texts import as_string
    >>> x = pt.dvector("x")
    >>> y = pt.exp(x)
    >>> as_string([x], [y * y])
    ['Mul(*1 -> Exp(x), *1)']
    """
    inputs, outputs = list(inputs), list(outputs)
    nodes = list(applys_between(inputs, outputs))
    uses = Counter(one for node in nodes for one in node.inputs)
    uses.update(outputs)
    made = {output for node in nodes for output in node.outputs} - set(inputs)
    texts: dict[Variable, str] = {}
    numbers: dict[Variable, int] = {}

    def written(variable: Variable) -> str:
        if variable in numbers:
            return f"*{numbers[variable]}"
        text = texts.get(variable)
        if text is None or uses[variable] < 2:
            return leaf_formatter(variable) if text is None else text
        numbers[variable] = len(numbers) + 1
        return f"*{numbers[variable]} -> {text}"

    for node in nodes:
        arguments = [written(one) for one in node.inputs]
        for output in node.outputs:
            if output in made:
                suffix = f"::{output.index}" if len(node.outputs) > 1 else ""
                texts[output] = node_formatter(node, arguments) + suffix
    return [written(output) for output in outputs]
