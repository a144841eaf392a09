"""Callbacks: Ops executed by their own Python code."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.program import Step
from phintys.backends.native.values import Array, Value

if TYPE_CHECKING:
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
    handed_over
        The positions of the inputs that the Op keeps and need no copy: results that it alone has.
    """

    noun: ClassVar[str] = "callback"
    nouns: ClassVar[str] = "callbacks"
    needs_caller: ClassVar[bool] = True

    node: Apply
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    why: str
    destroyed: tuple[Value, ...] = ()
    handed_over: tuple[int, ...] = ()

    def reads(self) -> list[Array]:
        """Return its inputs."""
        return [value for value in self.inputs if isinstance(value, Array)]

    def writes(self) -> list[Array]:
        """Return its outputs."""
        return [value for value in self.outputs if isinstance(value, Array)]

    def overwrites(self) -> list[Array]:
        """Return the arrays that the Op may overwrite."""
        return [value for value in self.destroyed if isinstance(value, Array)]

    def is_copied(self, position: int) -> bool:
        """Return whether the Op is given a copy of an input, because it keeps it."""
        return position in self.node.op.kept_inputs and position not in self.handed_over

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


@record(eq=False)
class CCall(Callback):
    """An Op executed by its C code, which was compiled to a function of Python's C API."""

    noun: ClassVar[str] = "C call"
    nouns: ClassVar[str] = "C calls"

    @property
    def title(self) -> str:
        """The Op."""
        return f"the C code of {self.node.op}"
