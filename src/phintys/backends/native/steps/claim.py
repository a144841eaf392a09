"""Claims: the memory of an argument becomes that of a result, which is then modified."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.dependence import Occurrences, arrays_loaded, may_overwrite, meeting
from phintys.backends.native.limits import SHORT_WRITE_BYTES
from phintys.backends.native.program import Step
from phintys.backends.native.steps.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.backends.native.sizes import Sizes
    from phintys.backends.native.values import Array


_ANY_BYTES = 2**63 - 1


@record(eq=False)
class Claim(Step):
    """An argument's value in memory that may be overwritten: its own, or a copy.

    The first claim of a shared value begins the commit of a program, in which nothing can fail. The
    commit consists of claims, and of kernels and calls that write results.

    Who else holds a shared value is known at run time only. Arrays that Ops in Python have returned
    as views of it are among them: as long as one exists, the value is not overwritten.

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
    views
        Arrays that Ops in Python may have returned as views of the argument.
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
    views: tuple[Array, ...] = ()

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

    def may_overwrite(self, steps: Iterable[Step], sizes: Sizes) -> bool:
        """Return whether steps of the commit may write the result to the memory of the argument.

        The kernel that writes the result may read the argument where
        :func:`~phintys.backends.native.dependence.may_overwrite` says so, and no other step may.
        Which element is where in a view that an Op returned is not known: no step may read one.
        """
        return all(self._is_kept(step, sizes) for step in steps)

    def _is_kept(self, step: Step, sizes: Sizes) -> bool:
        loaded = set(arrays_loaded(step))
        if not loaded.isdisjoint(self.views):
            return False
        return self.source not in loaded or self._is_read_first(step, sizes)

    def _is_read_first(self, step: Step, sizes: Sizes) -> bool:
        """Return whether a step reads elements of the argument only before it overwrites them."""
        if not isinstance(step, Kernel):
            return False
        writers = [one for one in step.statements if one.target.memory is self.target]
        if len(writers) != 1:
            return False
        kernel = Occurrences(nest.statements for nest in step.nests)
        (writer,) = writers
        return may_overwrite(kernel, writer, self.source, lambda load: meeting(load, writer, sizes))

    @property
    def begins_commit(self) -> bool:
        """Whether the argument is a shared value."""
        return self.is_shared
