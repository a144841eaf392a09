"""Calls of library routines, and what the native backend knows about a routine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from phintys._base.errors import IntegrityError
from phintys._base.records import record
from phintys.backends.native.limits import UNKNOWN_NANOSECONDS
from phintys.backends.native.program import Step
from phintys.backends.native.sizes import Size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from phintys.backends.native.assembler.builder import Builder
    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.failures import Failure
    from phintys.backends.native.polynomials import Costs, Polynomial
    from phintys.backends.native.values import Array
    from phintys.graph.apply import Apply


LARGEST = 2**31 - 1
"""The largest number that a routine can be passed."""


class CallExplainer(Protocol):
    """What shows a program as text, as routines see it."""

    @property
    def target(self) -> Target:
        """The CPU that code is written for."""
        ...

    def name(self, value: Array) -> str:
        """Return the name of a value."""
        ...

    def size(self, size: Size) -> str:
        """Return a size."""
        ...


class CallWriter(Protocol):
    """What writes the function in which a routine is called, as routines see it.

    Attributes
    ----------
    b
        The builder of the function.
    """

    b: Builder

    @property
    def costs(self) -> Costs:
        """What steps ask when they estimate their time."""
        ...

    @property
    def is_repeated(self) -> bool:
        """Whether a loop of steps repeats the call."""
        ...

    def size(self, size: Size) -> Value:
        """Return the value of a size."""
        ...

    def pointer(self, array: Array) -> Value:
        """Return the address of an array."""
        ...

    def nanoseconds(self, work: Polynomial) -> Value:
        """Return an amount of work in nanoseconds."""
        ...

    def where_fixed(self, *sizes: Size) -> AbstractContextManager[None]:
        """Write before the first pass of the outermost loop in which sizes do not change."""
        ...

    def poll(self) -> None:
        """Check for signals if it is time; they may end the call."""
        ...

    def share(self, symbol: str, arguments: Sequence[Value]) -> None:
        """Write the call of a function that shares its work, and can be interrupted."""
        ...

    def in_order(
        self,
        function: Value,
        block: Value,
        n: Value,
        most: Value,
    ) -> None:
        """Call a function for several ranges, in order, with signal checks in between."""
        ...

    def parallel_for(
        self,
        function: Value,
        block: Value,
        n: Value,
        grain: Value,
    ) -> None:
        """Let threads share the iterations of a function; a signal may end the call meanwhile."""
        ...


class Routine:
    """A routine of a library, as the steps that call it see it.

    A family of routines is a file with subclasses, or with instances of one. Nothing else lists
    routines: lowerings name the object in :class:`LibraryCall`,
    and the loader finds a function by its symbol, ``phintys_blas_dgemm``.
    """

    name: str
    """Its name, for people."""

    shares_work: ClassVar[bool] = False
    """Whether it hands parts of its work to the thread pool, and checks for signals meanwhile."""

    calls_blas: ClassVar[bool] = True
    """Whether it may call BLAS or LAPACK, which use one thread unless it shares the work itself.

    Threads of a library would spin while they wait for each other.
    """

    ignores_sizes_of_output: ClassVar[bool] = False
    """Whether its only output can be any array with as many elements, which is a reshaped result.

    That is so if it is passed strides among its options, not those of the array.
    """

    reads_once: ClassVar[bool] = False
    """Whether it reads no element of its largest input twice: it takes no longer than a copy."""

    def updates(self, call: LibraryCall[Any]) -> Sequence[Array]:
        """Return the outputs whose former values it reads."""
        return ()

    def narrow(self, call: LibraryCall[Any]) -> Mapping[str, Size]:
        """Return the sizes that it is passed as 32-bit integers, by their names for messages.

        A call fails if one of them is larger. Sizes that the routine is passed in pieces are not
        among them.
        """
        return {}

    def checked(self, call: LibraryCall[Any], size: Size) -> Size:
        """Return a size that is about to be passed; it must be one of :meth:`narrow`.

        Raises
        ------
        IntegrityError
            It is not, so that calls would not check its range.
        """
        if not any(size is one for one in self.narrow(call).values()):
            msg = f"{self.name!r} is passed {size}, which is not in its narrow()."
            raise IntegrityError(msg)
        return size

    def divides(self, call: LibraryCall[Any]) -> bool:
        """Return whether it hands parts of a call to the thread pool."""
        return self.shares_work

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial | None:
        """Return a rough estimate of its time, from :meth:`Costs.scaled`."""
        return None

    def line(self, call: LibraryCall[Any], explainer: CallExplainer) -> str:
        """Return a call as text."""
        given, made = (
            ", ".join(map(explainer.name, arrays)) for arrays in (call.inputs, call.outputs)
        )
        names = [name for name in call.options if name in call.lengths]
        sizes = ", ".join(f"{name} = {explainer.size(call.lengths[name])}" for name in names)
        return f"call {self.name}({given}) -> {made}" + f"    [{sizes}]" * bool(sizes)

    def emit(
        self, call: LibraryCall[Any], writer: CallWriter
    ) -> Value | tuple[Value, Value] | None:
        """Write a call, and return its status if it has one: 0 if all is well.

        A call for a stack of matrices also returns the position of the one that the status is of.
        """
        raise NotImplementedError


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

    def time(self, costs: Costs, nanoseconds: float, *names: str) -> Polynomial:
        """Return the time of loops over the options of some names, given that of an iteration."""
        count = costs.ring.product([self.options[name] for name in names])
        return costs.scaled(count, nanoseconds)

    @property
    def may_fail(self) -> bool:
        """Whether the routine may return a status."""
        return self.failure is not None

    def nodes(self) -> tuple[Apply]:
        """Return the node."""
        return (self.node,)

    def work(self, costs: Costs) -> Polynomial | None:
        """Return the routine's estimate of its time."""
        return self.routine.work(self, costs)

    def typical_work(self, costs: Costs) -> Polynomial:
        """Return the routine's estimate of its time, or a guess."""
        return self.work(costs) or costs.scaled(costs.ring.one, UNKNOWN_NANOSECONDS)

    def is_divisible(self, costs: Costs) -> bool:
        """Return whether the routine shares this call among threads."""
        return self.routine.divides(self)

    @property
    def title(self) -> str:
        """The routine."""
        return f"a call of {self.routine.name}"
