"""Pictures in the languages of other programs: Graphviz's DOT, and Mermaid."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from phintys.inspect.graphs import draw_graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.inspect.drawings import Drawing, DrawnNode

_DOT_SHAPES = {"input": "ellipse", "shared": "ellipse", "constant": "plain", "output": "ellipse"}
_MERMAID_BRACKETS = {
    "input": ("([", "])"),
    "shared": ("[(", ")]"),
    "constant": ("(", ")"),
    "output": ("([", "])"),
}


def to_dot(what: Any) -> str:
    """Return a graph in Graphviz's language.

    Parameters
    ----------
    what
        A variable, a sequence of variables, a FunctionGraph or a compiled function.

    Returns
    -------
    str
        A digraph; inner graphs, and the nodes that one line made, are its clusters.

    Raises
    ------
    ArgumentError
        ``what`` is something else.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.inspect import to_dot
    >>> x = pt.dvector("x")
    >>> print(to_dot(pt.exp(x)))
    digraph {
      n0 [label="x", shape=ellipse]
      n1 [label="Exp", shape=box]
      n2 [label="output", shape=ellipse]
      n0 -> n1 [label="float64[?]"]
      n1 -> n2 [label="float64[?]"]
    }
    """
    drawing = draw_graph(what)

    def node(number: int, one: DrawnNode) -> str:
        return f"n{number} [label={_quoted(one.label)}, shape={_DOT_SHAPES.get(one.kind, 'box')}]"

    def part(number: int, label: str) -> list[str]:
        return [f"subgraph cluster{number} {{", f"  label={_quoted(label)}"]

    lines = _nested(drawing, node, part, "}")
    lines += [
        f"n{edge.source} -> n{edge.target} [label={_quoted(edge.label)}]" for edge in drawing.edges
    ]
    return "\n".join(["digraph {", *(f"  {line}" for line in lines), "}"])


def to_mermaid(what: Any) -> str:
    """Return a graph as a flowchart of Mermaid, which Markdown pages show.

    Parameters
    ----------
    what
        A variable, a sequence of variables, a FunctionGraph or a compiled function.

    Raises
    ------
    ArgumentError
        ``what`` is something else.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.inspect import to_mermaid
    >>> x = pt.dvector("x")
    >>> print(to_mermaid(pt.exp(x)))
    flowchart TD
      n0(["x"])
      n1["Exp"]
      n2(["output"])
      n0 -->|"float64[?]"| n1
      n1 -->|"float64[?]"| n2
    """
    drawing = draw_graph(what)

    def node(number: int, one: DrawnNode) -> str:
        opening, closing = _MERMAID_BRACKETS.get(one.kind, ("[", "]"))
        return f"n{number}{opening}{_escaped(one.label)}{closing}"

    def part(number: int, label: str) -> list[str]:
        return [f"subgraph p{number}[{_escaped(label)}]"]

    lines = _nested(drawing, node, part, "end")
    lines += [
        f"n{edge.source} -->|{_escaped(edge.label)}| n{edge.target}" for edge in drawing.edges
    ]
    return "\n".join(["flowchart TD", *(f"  {line}" for line in lines)])


def _nested(
    drawing: Drawing,
    node: Callable[[int, DrawnNode], str],
    part: Callable[[int, str], list[str]],
    end: str,
) -> list[str]:
    """Return the lines of nodes, each inside of those of its part."""
    inside: dict[int | None, list[int]] = {}
    for number, one in enumerate(drawing.nodes):
        inside.setdefault(one.part, []).append(number)
    parts: dict[int | None, list[int]] = {}
    for number, one in enumerate(drawing.parts):
        parts.setdefault(one.part, []).append(number)
    lines: list[str] = []
    stack: list[tuple[int | None, str, bool]] = [(None, "", False)]
    while stack:
        number, margin, is_end = stack.pop()
        if is_end:
            lines.append(f"{margin}{end}")
            continue
        within = margin
        if number is not None:
            lines += [margin + line for line in part(number, drawing.parts[number].label)]
            stack.append((number, margin, True))
            within += "  "
        lines += [within + node(at, drawing.nodes[at]) for at in inside.get(number, ())]
        stack += [(at, within, False) for at in reversed(parts.get(number, []))]
    return lines


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _escaped(text: str) -> str:
    """Return a text in quotation marks, which it must not contain."""
    return f'"{text.replace(chr(34), "#quot;")}"'
