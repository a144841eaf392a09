"""Steps that compute nothing: checks and fences.

Two sizes must be equal, or the call fails with the user's line. What comes after a fence is not
computed together with what comes before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.program import Step

if TYPE_CHECKING:
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array


@record(eq=False)
class Check(Step):
    """Checks that ``left == right``; otherwise the call fails."""

    noun: ClassVar[str] = "check"
    nouns: ClassVar[str] = "checks"
    is_timed: ClassVar[bool] = False
    only_checks: ClassVar[bool] = True

    left: Size
    right: Size
    failure: Failure

    def sizes(self) -> tuple[Size, Size]:
        """Return the two sizes."""
        return self.left, self.right

    @property
    def may_fail(self) -> bool:
        """``True``."""
        return True


@record(eq=False)
class FenceStep(Step):
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
