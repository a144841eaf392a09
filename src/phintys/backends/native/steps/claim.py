"""Claims: the memory of an argument becomes that of a result, which is then modified."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.limits import SHORT_WRITE_BYTES
from phintys.backends.native.program import Step

if TYPE_CHECKING:
    from phintys.backends.native.values import Array


_ANY_BYTES = 2**63 - 1


@record(eq=False)
class Claim(Step):
    """An argument's value in memory that may be overwritten: its own, or a copy.

    The first claim of a shared value begins the commit of a program, in which nothing can fail. The
    commit consists of claims, and of kernels and calls that write results.

    Attributes
    ----------
    source
        The argument.
    target
        A result.
    is_shared
        Whether the argument is a shared value: it is not overwritten if it is referenced elsewhere.
        Other arguments are overwritten with the caller's permission.
    is_kept
        Whether the result starts out as the argument, copied if needed; otherwise a kernel that
        reads each element of the argument writes that of the result.
    is_long
        Whether overwriting it may take long: then it is not overwritten while other threads wait.
    is_read
        Whether the commit computes values from the result that take longer than its update: then a
        large one is not overwritten while other threads wait.
    """

    noun: ClassVar[str] = "claim"
    nouns: ClassVar[str] = "claims"
    is_timed: ClassVar[bool] = False
    needs_caller: ClassVar[bool] = True

    source: Array
    target: Array
    is_shared: bool
    is_kept: bool = True
    is_long: bool = False
    is_read: bool = False

    @property
    def most_bytes(self) -> int:
        """How large it may be to be overwritten while other threads wait."""
        if self.is_long:
            return 0
        return _ANY_BYTES if self.is_kept and not self.is_read else SHORT_WRITE_BYTES

    def reads(self) -> tuple[Array]:
        """Return the argument."""
        return (self.source,)

    def writes(self) -> tuple[Array]:
        """Return the result."""
        return (self.target,)

    def overwrites(self) -> tuple[Array]:
        """Return the argument, whose memory may become that of the result."""
        return (self.source,)

    @property
    def begins_commit(self) -> bool:
        """Whether the argument is a shared value."""
        return self.is_shared
