"""Callbacks: Ops executed by their own Python code."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.assembler.types import INT32, INT64
from phintys.backends.native.frame import EXCEPTION
from phintys.backends.native.program import Step
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.values import Value
    from phintys.backends.native.verify import Verifier
    from phintys.backends.native.writer.step_writer import StepWriter
    from phintys.graph.apply import Apply


@record(eq=False)
class Callback(Step):
    """An Op executed by its Python code.

    Attributes
    ----------
    why
        Why there is no native code.
    destroyed
        The inputs that the Op may overwrite, and other values that may share their memory.
    """

    noun: ClassVar[str] = "callback"
    nouns: ClassVar[str] = "callbacks"
    needs_caller: ClassVar[bool] = True

    node: Apply
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    why: str
    destroyed: tuple[Value, ...] = ()

    def reads(self) -> list[Array]:
        """Return its inputs."""
        return [value for value in self.inputs if isinstance(value, Array)]

    def writes(self) -> list[Array]:
        """Return its outputs."""
        return [value for value in self.outputs if isinstance(value, Array)]

    def overwrites(self) -> list[Array]:
        """Return the arrays that the Op may overwrite."""
        return [value for value in self.destroyed if isinstance(value, Array)]

    @property
    def may_fail(self) -> bool:
        """``True``: it is Python code."""
        return True

    def nodes(self) -> tuple[Apply]:
        """Return the node."""
        return (self.node,)

    @property
    def title(self) -> str:
        """The Op."""
        return f"the callback of {self.node.op}"

    def lines(self, explainer: Explainer) -> list[str]:
        """Return the Op, and why it is a callback."""
        given = ", ".join(map(explainer.name, self.inputs))
        made = ", ".join(map(explainer.declared, self.outputs))
        return [f"callback {self.node.op}({given}) -> {made}", f"because {self.why}"]

    def verify(self, verifier: Verifier) -> None:
        """Check that its inputs are there, including Python objects."""
        for value in self.inputs:
            verifier.expect_written(value, "is read")
        verifier.written.update(self.outputs)

    def announce(self, layout: Layout) -> list[Value]:
        """Add it to the callbacks; its inputs and outputs have records."""
        layout.callbacks.append(self)
        return [*self.inputs, *self.outputs]

    def emit(self, writer: StepWriter) -> None:
        """Fill the records of the inputs, and let the runtime execute the Op."""
        b = writer.b
        for value in self.reads():
            if not writer.main.is_argument(value):
                writer.fill_record(value)
        number = b.constant(INT64, writer.main.callback(self))
        status = b.call("phintys_callback", INT32, [writer.state(), number])
        with writer.failing(b.ne(status, 0)):
            writer.set_status(EXCEPTION)
        for value in self.outputs:
            writer.forget_pointer(writer.main.record(value))
