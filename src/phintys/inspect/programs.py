"""Pictures of native programs: steps as boxes, and the arrays that they hand on to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.native.explain import Explainer, step_lines
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.values import Array
from phintys.inspect.drawings import Drawing, DrawnEdge, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.program import Program, Step
    from phintys.backends.native.writer.programs import EmittedProgram


def draw_program(program: Program, emitted: EmittedProgram, title: str = "program") -> Drawing:
    """Return a picture of a native program.

    Parameters
    ----------
    program
        The program.
    emitted
        Its code, which knows how kernels are carried out and where arrays are placed.
    title
        Its title.

    Returns
    -------
    Drawing
        A node for each step; the bodies of loops and branches are parts. A step that writes an
        array has an edge to each that reads it afterwards.
    """
    painter = _Painter(Drawing(title), Explainer(program, emitted))
    painter.ends(program.arguments, "input")
    painter.steps(program.steps, None)
    painter.ends(program.results, "output")
    return painter.drawing


class _Painter:
    """Adds the steps of a program to a picture.

    Parameters
    ----------
    drawing
        The picture.
    explainer
        Shows steps as text.
    """

    def __init__(self, drawing: Drawing, explainer: Explainer) -> None:
        self.drawing = drawing
        self.explainer = explainer
        self.writers: dict[Any, int] = {}

    def ends(self, values: Sequence[Any], kind: str) -> None:
        """Add the arguments or the results."""
        for value in values:
            facts = [self.explainer.declared(value)]
            at = self.drawing.node(self.explainer.name(value), kind, facts=facts)
            if kind == "input":
                self.writers[_memory_of(value)] = at
            else:
                self._edge(value, at)

    def steps(self, steps: Sequence[Step], part: int | None) -> None:
        """Add steps, and those inside of them."""
        pending = self._in_blocks(steps, part)
        while pending:
            step, part = pending.pop()
            head, *rest = step_lines(step, self.explainer)
            bodies = step.bodies()
            kind = "callback" if isinstance(step, Callback) else step.noun
            if bodies:
                part = self.drawing.part(head, "body", part)
                rest = []
            at = self.drawing.node(_title(head), kind, step.noun, part, [head, *rest])
            for value in dict.fromkeys(step.reads()):
                self._edge(value, at)
            self.writers.update((_memory_of(value), at) for value in step.writes())
            for body in reversed(bodies):
                pending += self._in_blocks(body, part)

    def _in_blocks(self, steps: Sequence[Step], part: int | None) -> list[tuple[Step, int | None]]:
        """Return steps and the part of each, the last step first."""
        blocks = self.drawing.blocks(
            len(steps), lambda first, end: f"steps {first + 1} to {end}", part
        )
        return list(zip(steps, blocks, strict=True))[::-1]

    def _edge(self, value: Any, at: int) -> None:
        source = self.writers.get(_memory_of(value))
        if source is not None and source != at:
            label = self.explainer.declared(value)
            self.drawing.edges.append(DrawnEdge(source, at, label))


def _memory_of(value: Any) -> Any:
    return value.memory if isinstance(value, Array) else value


def _title(head: str) -> str:
    """Return the head of a step without its details."""
    return short(head.split(" (", maxsplit=1)[0].split("    [", maxsplit=1)[0])
