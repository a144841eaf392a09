"""Fences: what comes after is not computed together with what comes before."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.program import Step

if TYPE_CHECKING:
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.values import Array
    from phintys.backends.native.writer.step_writer import StepWriter


@record(eq=False)
class Fence(Step):
    """A place in the program that no statement moves up across.

    Attributes
    ----------
    arrays
        The arrays that must have been computed.
    """

    noun: ClassVar[str] = "fence"
    nouns: ClassVar[str] = "fences"
    is_timed: ClassVar[bool] = False

    arrays: tuple[Array, ...]

    def reads(self) -> tuple[Array, ...]:
        """Return the arrays."""
        return self.arrays

    @property
    def is_floor(self) -> bool:
        """``True``: no statement moves up across it."""
        return True

    def lines(self, explainer: Explainer) -> list[str]:
        """Return its line."""
        return [f"fence after {', '.join(explainer.name(array) for array in self.arrays)}"]

    def emit(self, writer: StepWriter) -> None:
        """Write nothing: steps run in order."""
