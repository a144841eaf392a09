"""What a picture of a graph shows: nodes, edges, and parts that can be folded."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from phintys._base.records import record


@record()
class DrawnNode:
    """A node of a picture.

    Attributes
    ----------
    label
        Its text: an Op, a name or a value.
    kind
        What it is: ``"op"``, ``"input"``, ``"shared"``, ``"constant"``, ``"output"``, or in a
        program a kind of step.
    family
        What decides its colour: the module of an Op's class.
    part
        The number of the part that it is in; ``None`` for none.
    facts
        Further lines: Op, types, the user's line, time.
    seconds
        The time that it took, if it was measured.
    bytes
        The memory of its results, if it was measured.
    """

    label: str
    kind: str
    family: str = ""
    part: int | None = None
    facts: list[str] = field(default_factory=list)
    seconds: float | None = None
    bytes: int | None = None


@record()
class DrawnEdge:
    """An edge of a picture: what one node hands on to another.

    Attributes
    ----------
    source, target
        Numbers of nodes.
    label
        The type and shape of the value.
    """

    source: int
    target: int
    label: str = ""


@record()
class DrawnPart:
    """Nodes that can be folded into one.

    Attributes
    ----------
    label
        Its text.
    kind
        ``"inner graph"``, ``"line"`` for nodes that one line of the user's program made,
        ``"block"`` for several of these or some of one, or ``"body"`` of a step.
    part
        The number of the part that it is in; ``None`` for none.
    """

    label: str
    kind: str
    part: int | None = None


@record()
class Drawing:
    """A picture, without positions.

    Attributes
    ----------
    title
        What it shows.
    nodes, edges, parts
        What it consists of. Edges and parts refer to the others by their numbers.
    """

    title: str
    nodes: list[DrawnNode] = field(default_factory=list)
    edges: list[DrawnEdge] = field(default_factory=list)
    parts: list[DrawnPart] = field(default_factory=list)

    def node(self, *values: Any, **options: Any) -> int:
        """Add a node, and return its number."""
        self.nodes.append(DrawnNode(*values, **options))
        return len(self.nodes) - 1

    def part(self, label: str, kind: str, part: int | None = None) -> int:
        """Add a part, and return its number."""
        self.parts.append(DrawnPart(label, kind, part))
        return len(self.parts) - 1

    def as_dict(self) -> dict[str, Any]:
        """Return plain data that JSON can hold.

        Examples
        --------
        >>> from phintys.inspect import draw_graph
        >>> import phintys.tensor as pt
        >>> x = pt.dscalar("x")
        >>> drawing = draw_graph([pt.exp(x)]).as_dict()
        >>> [node["label"] for node in drawing["nodes"]]
        ['x', 'Exp', 'output']
        """
        return {
            "title": self.title,
            "nodes": [
                {
                    "label": node.label,
                    "kind": node.kind,
                    "family": node.family,
                    "part": node.part,
                    "facts": node.facts,
                    "seconds": node.seconds,
                    "bytes": node.bytes,
                }
                for node in self.nodes
            ],
            "edges": [[edge.source, edge.target, edge.label] for edge in self.edges],
            "parts": [[part.label, part.kind, part.part] for part in self.parts],
        }
