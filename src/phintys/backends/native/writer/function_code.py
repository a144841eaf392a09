"""One function of the main function: its frame, how it fails, and the loops that are open in it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import computed_if, leaving, when
from phintys.backends.native.assembler.types import BOOL, INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Complex, Value
from phintys.backends.native.frame import EXCEPTION, OUT_OF_MEMORY, STATE, STATUS
from phintys.backends.native.limits import STACK_BYTES
from phintys.backends.native.sizes import Counter, Element, Extent
from phintys.backends.native.values import Array, LoopVariable, Place

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from phintys.backends.native.assembler.module import Block, ModuleFunction
    from phintys.backends.native.polynomials import Atom, Polynomial, Polynomials
    from phintys.backends.native.steps.kernel import Kernel
    from phintys.backends.native.writer.main_function import MainFunction


@record(eq=False)
class OpenLoop:
    """A loop of steps whose body is being written.

    Attributes
    ----------
    entry
        The block before the first pass: what is the same in all passes is computed there.
    counter
        The number of the pass.
    written
        The memory that is written in the body.
    invariants
        Single numbers that were read before the first pass.
    """

    entry: Block
    counter: LoopVariable
    written: set[Array]
    invariants: dict[Array, Value | Complex] = field(default_factory=dict)


class FunctionCode:
    """Emits code into one function of the main function.

    Parameters
    ----------
    main
        The main function as a whole.
    function
        This one: ``i32 function(ptr frame)``, maybe with further parameters.

    Attributes
    ----------
    b
        The builder of the function.
    frame
        The frame of the call.
    open_loops
        The loops whose bodies are being written, from the outermost.
    """

    def __init__(self, main: MainFunction, function: ModuleFunction) -> None:
        self.main = main
        self.b = Builder(function)
        self.frame = self.b.arguments[0]
        self.open_loops: list[OpenLoop] = []
        self._fail = self.b.new_block("fail")
        self._stack: Value | None = None

    @property
    def is_repeated(self) -> bool:
        """Whether a loop of steps repeats the code."""
        return bool(self.open_loops)

    def end(self) -> None:
        """End the function."""
        b = self.b
        b.ret(b.constant(INT32, 0))
        b.begin(self._fail)
        b.ret(b.constant(INT32, 1))

    def slot(self, number: int) -> Value:
        """Return the address of a slot of the frame."""
        return self.b.offset(self.frame, number, INT64)

    def state(self) -> Value:
        """Return the state passed to the runtime's functions."""
        return self.b.load(PTR, self.slot(STATE))

    def status(self) -> Value:
        """Return the address of the status."""
        return self.slot(STATUS)

    @contextmanager
    def failing(self, condition: Value) -> Generator[None]:
        """Emit code that runs before the call fails on a condition."""
        with leaving(self.b, condition, self._fail):
            yield

    def set_status(self, *numbers: Value | int) -> None:
        """Store the reason why the call fails."""
        for at, number in enumerate(numbers):
            self.b.store(self.b.value(INT64, number), self.slot(STATUS + at))

    def fail_if_null(self, pointer: Value, *status: Value | int) -> None:
        """Make the call fail if an address is null."""
        with self.failing(self.b.write(BOOL, f"icmp eq ptr {pointer.text}, null")):
            self.set_status(*status)

    def fail_if_interrupted(self, status: Value) -> None:
        """Make the call fail if a function of the runtime says that it must end."""
        with self.failing(self.b.ne(status, 0)):
            self.set_status(EXCEPTION)

    @contextmanager
    def room(self, bytes_: Value | int, kernel: Kernel) -> Generator[Value]:
        """Allocate temporary memory for a kernel: on the stack, if it is small. One at a time."""
        b = self.b
        if self._stack is None:
            self._stack = b.slot(INT64, STACK_BYTES // 8)
        if isinstance(bytes_, int) and bytes_ <= STACK_BYTES:
            yield self._stack
            return
        wanted = b.value(INT64, bytes_)
        is_large = b.lt(STACK_BYTES, wanted)

        def allocate() -> list[Value]:
            taken = b.call("phintys_malloc", PTR, [wanted])
            self.fail_if_null(taken, OUT_OF_MEMORY, wanted, self.main.workspace(kernel))
            return [taken]

        (memory,) = computed_if(b, is_large, allocate, [self._stack])
        yield memory
        with when(b, is_large):
            b.call("phintys_free", VOID, [memory])

    # ---- what does not change in loops -------------------------------------------------------

    def _changes(self, atom: Atom, at: int) -> bool:
        """Return whether a size changes between passes of an open loop."""
        loop = self.open_loops[at]
        if isinstance(atom, LoopVariable):
            return any(one.counter is atom for one in self.open_loops[at:])
        for leaf in atom.leaves:
            if isinstance(leaf, Counter):
                if any(one.counter is leaf.loop for one in self.open_loops[at:]):
                    return True
            elif isinstance(leaf, Element | Extent) and leaf.array.memory in loop.written:
                return True
        return False

    def home(self, atoms: Iterable[Atom] = (), memory: Array | None = None) -> OpenLoop | None:
        """Return the outermost open loop in which sizes, and an address, do not change."""
        atoms = list(atoms)
        for at, one in enumerate(self.open_loops):
            is_moved = memory is not None and memory.place == Place.CALLBACK
            if is_moved and memory in one.written:
                continue
            if not any(self._changes(atom, at) for atom in atoms):
                return one
        return None

    @contextmanager
    def before(self, loop: OpenLoop | None) -> Generator[None]:
        """Write before the first pass of an open loop; in place if there is none."""
        if loop is None:
            yield
            return
        with self.b.inside(loop.entry):
            yield

    def atoms_of(self, polynomial: Polynomial, ring: Polynomials | None = None) -> list[Atom]:
        """Return the sizes in a polynomial."""
        atoms = (self.main.ring if ring is None else ring).atoms
        return [atoms[at] for term, _ in polynomial.terms for at in term]
