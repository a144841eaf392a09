"""Claims: the memory of an argument becomes that of a result, which is then modified."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.assembler.types import INT64, PTR
from phintys.backends.native.frame import NO_RESULT
from phintys.backends.native.limits import SHORT_WRITE_BYTES
from phintys.backends.native.program import Step
from phintys.backends.native.values import Place

if TYPE_CHECKING:
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.values import Array, Value
    from phintys.backends.native.verify import Verifier
    from phintys.backends.native.writer.step_writer import StepWriter


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

    def lines(self, explainer: Explainer) -> list[str]:
        """Return its line."""
        instead = "a copy" if self.is_kept else "other memory"
        unless = "if others hold it" if self.is_shared else "if it is read-only"
        unless += " or wait" * (self.is_long or self.is_read)
        source, target = explainer.name(self.source), explainer.name(self.target)
        return [f"claim {source} -> {target}, {instead} {unless}"]

    def verify(self, verifier: Verifier) -> None:
        """Check that the result is like the argument, and new."""
        source, target = self.source, self.target
        is_argument = source in verifier.program.arguments
        verifier.expect(is_argument, f"{source!r} is claimed, but is not an argument")
        verifier.expect(target.place == Place.RESULT, f"{target!r} is not a result")
        there, here = (
            [verifier.program.sizes.canonical(size) for size in array.sizes]
            for array in (source, target)
        )
        is_same = target.dtype == source.dtype and here == there
        verifier.expect(is_same, f"{target!r} is unlike {source!r}")
        is_new = target not in verifier.written
        verifier.expect(is_new, f"{target!r} is claimed after it was written")
        if self.is_kept:
            verifier.written.add(target)

    def announce(self, layout: Layout) -> tuple[Value, ...]:
        """Add it to the claims."""
        layout.claims.append(self)
        return ()

    def emit(self, writer: StepWriter) -> None:
        """Let the runtime turn the argument's memory, or a copy, into that of the result."""
        b = writer.b
        writer.record_sizes(self.target)
        record = writer.main.record(self.target)
        number = b.constant(INT64, writer.main.claim(self))
        data = b.call("phintys_claim", PTR, [writer.state(), number, writer.slot(record + 1)])
        writer.fail_if_null(data, NO_RESULT, writer.main.new_array(self.target))
        writer.set_pointer(record, data)
