"""Calls of library routines."""

from __future__ import annotations

from contextlib import nullcontext
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from phintys._base.errors import OutOfBoundsError
from phintys._base.records import record
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.failures import LimitFailure
from phintys.backends.native.limits import UNKNOWN_NANOSECONDS
from phintys.backends.native.program import Step
from phintys.backends.native.routines.blas_threads import one_thread
from phintys.backends.native.routines.routine import Routine
from phintys.backends.native.sizes import Size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.values import Array
    from phintys.backends.native.writer.main_function import MainFunction
    from phintys.backends.native.writer.step_writer import StepWriter
    from phintys.graph.apply import Apply

LARGEST = 2**31 - 1
"""The largest number that a routine can be passed."""


Called = TypeVar("Called", bound=Routine)


@record(eq=False)
class LibraryCall(Step, Generic[Called]):
    """A call of a library routine.

    Attributes
    ----------
    routine
        The routine.
    inputs
        The arrays that it reads.
    outputs
        The arrays that it writes; :meth:`Routine.updates` names those that it reads as well.
    options
        Its parameters: transposes, sizes, scale factors, offsets of slices.
    node
        The graph's node that this computes.
    workspace
        Temporary memory, which has no value before or after.
    failure
        What has failed if the routine returns a status other than 0, which is the first number of
        the message; the second is the position in a stack. ``None`` for a routine that cannot fail.
    """

    noun: ClassVar[str] = "call"
    nouns: ClassVar[str] = "calls"
    calls_library: ClassVar[bool] = True

    routine: Called
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    options: dict[str, Any]
    node: Apply
    workspace: tuple[Array, ...] = ()
    failure: Failure | None = None

    def reads(self) -> Iterator[Array]:
        """Yield the inputs, and the outputs that it changes."""
        yield from self.inputs
        yield from self.routine.updates(self)

    def writes(self) -> tuple[Array, ...]:
        """Return the outputs and the workspace."""
        return *self.outputs, *self.workspace

    def sizes(self) -> Iterator[Size]:
        """Yield the sizes among the options."""
        yield from self.lengths.values()
        for entry in self.options.get("batch", ()):
            yield from entry

    @property
    def lengths(self) -> dict[str, Size]:
        """The options that are sizes."""
        return {name: size for name, size in self.options.items() if isinstance(size, Size)}

    @property
    def may_fail(self) -> bool:
        """Whether the routine may return a status."""
        return self.failure is not None

    def nodes(self) -> tuple[Apply]:
        """Return the node."""
        return (self.node,)

    def work(self, main: MainFunction) -> Polynomial | None:
        """Return the routine's estimate of its time."""
        return self.routine.work(self, main)

    def typical_work(self, main: MainFunction) -> Polynomial:
        """Return the routine's estimate of its time, or a guess."""
        return self.work(main) or main.scaled(main.ring.one, UNKNOWN_NANOSECONDS)

    def is_divisible(self, main: MainFunction) -> bool:
        """Return whether the routine shares this call among threads."""
        return self.routine.divides(self)

    @property
    def title(self) -> str:
        """The routine."""
        return f"a call of {self.routine.name}"

    def lines(self, explainer: Explainer) -> list[str]:
        """Return its line."""
        return [self.routine.line(self, explainer)]

    def check_limits(self, writer: StepWriter) -> None:
        """Make the call fail if a size is too large for the routine."""
        sizes = {
            name: writer.size(size)
            for name, size in self.routine.narrow(self).items()
            if size.known is None or size.known > LARGEST
        }
        if not sizes:
            return
        b = writer.b
        with writer.failing(reduce(or_, sizes.values()) > LARGEST):
            for name, size in sizes.items():
                detail = f"{name} is {{0}}, and the library takes {{1}} at most"
                failure = LimitFailure(self.node, self.routine.name, detail, OutOfBoundsError)
                with when(b, size > LARGEST):
                    writer.set_status(writer.main.failure(failure), size, LARGEST)

    def emit(self, writer: StepWriter) -> None:
        """Write the call; a long one is followed by a check for signals."""
        b = writer.b
        with nullcontext() if self.routine.shares_work else one_thread(b):
            status = self.routine.emit(self, writer)
        if self.failure is not None and status is not None:
            first, second = status if isinstance(status, tuple) else (status, 0)
            number = b.convert(first, INT64)
            with writer.failing(b.ne(number, 0)):
                writer.set_status(writer.main.failure(self.failure), number, second)
        writer.poll_after(self)
