"""What a picture of a graph shows: nodes, edges, and parts that can be folded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import ceil
from typing import Any

from phintys._base.records import record

BLOCK = 24
"""How many parts or nodes are a block of a large picture."""


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

    def blocks(
        self, count: int, label: Callable[[int, int], str], part: int | None = None
    ) -> list[int | None]:
        """Add blocks for items that follow each other, if they are many, and return that of each.

        Parameters
        ----------
        count
            How many items there are.
        label
            Makes the text of a block from the numbers of its first item and of the one after it.
        part
            The part that all of them are in; ``None`` for none.

        Returns
        -------
        list of int or None
            The part of each item. Blocks consist of blocks where one part would have more than
            ``BLOCK`` of them; all have about as many.

        Examples
        --------
        >>> from phintys.inspect.drawings import Drawing
        >>> drawing = Drawing("steps")
        >>> drawing.blocks(60, lambda first, end: f"{first} to {end - 1}")[:10]
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
        >>> [part.label for part in drawing.parts[:3]]
        ['0 to 7', '8 to 15', '16 to 23']
        """
        if count <= 2 * BLOCK:
            return [part] * count
        levels = next(n for n in range(2, count) if BLOCK**n >= count)
        size = ceil(count / ceil(count ** (1 / levels)))
        found: list[int | None] = []
        for first in range(0, count, size):
            end = min(first + size, count)
            block = self.part(label(first, end), "block", part)
            found += self.blocks(end - first, _shifted(label, first), block)
        return found

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


def short(text: str, most: int = 40) -> str:
    """Return a text as one line of at most so many characters.

    Examples
    --------
    >>> from phintys.inspect.drawings import short
    >>> short("a long text", most=7)
    'a lo...'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _shifted(label: Callable[[int, int], str], by: int) -> Callable[[int, int], str]:
    return lambda first, end: label(first + by, end + by)
