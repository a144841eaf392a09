"""Loops: steps that run repeatedly."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from phintys._base.records import record
from phintys.backends.native.assembler.control import when
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.dependence import arrays_written
from phintys.backends.native.kernels.inlining import touches
from phintys.backends.native.limits import (
    LONG_STEP_NANOSECONDS,
    LOOP_STEP_NANOSECONDS,
    PARALLEL_NANOSECONDS,
    POLLED_QUICK_STEPS,
    POLLED_STEPS,
    UNKNOWN_NANOSECONDS,
    USUAL_STEPS,
)
from phintys.backends.native.program import SharedLoop, Step, walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.values import Place
from phintys.backends.native.writer.shared_passes import write_shared_loop

if TYPE_CHECKING:
    from phintys.backends.native.assembler.values import Value
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.kernels.short_vectors import ShortVectors
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array, LoopVariable
    from phintys.backends.native.verify import Verifier
    from phintys.backends.native.writer.main_function import MainFunction
    from phintys.backends.native.writer.step_writer import StepWriter
    from phintys.graph.apply import Apply


@record(eq=False)
class Loop(Step):
    """Steps that run repeatedly, one pass after the other.

    Attributes
    ----------
    count
        Number of passes.
    counter
        The number of the pass: used in indices, and in sizes as :class:`~.sizes.Counter`.
    body
        The steps. Memory for their outputs is allocated before: none of its sizes is computed in
        them.
    until
        A single bool, written in the body: the pass in which it becomes true is the last one.
    node
        The graph's node that this computes, if any.
    own_rows
        If the passes are independent of each other, the memory in which each writes rows of its
        own; else ``None``. What else a pass writes is not read outside of it, but for ``sums``.
    sums
        If there are own rows, the memory to which each pass adds floats.
    """

    noun: ClassVar[str] = "loop"
    nouns: ClassVar[str] = "loops"
    repeats: ClassVar[bool] = True

    count: Size
    counter: LoopVariable
    body: list[Step]
    until: Array | None = None
    node: Apply | None = None
    own_rows: tuple[Array, ...] | None = None
    sums: tuple[Array, ...] = ()

    def reads(self) -> tuple[Array, ...]:
        """Return the condition that ends it, if there is one."""
        return () if self.until is None else (self.until,)

    def sizes(self) -> tuple[Size]:
        """Return the number of passes."""
        return (self.count,)

    def bodies(self) -> tuple[list[Step]]:
        """Return its body."""
        return (self.body,)

    def nodes(self) -> tuple[Apply, ...]:
        """Return the node, if there is one."""
        return () if self.node is None else (self.node,)

    def work(self, main: MainFunction) -> Polynomial:
        """Return the work of all passes, without that which differs between them."""
        return main.ring.mul(main.ring.of(self.count), self._work_of_pass(main))

    def typical_work(self, main: MainFunction) -> Polynomial:
        """Return the work of all passes; of a few, if a condition ends them."""
        passes = self.count
        if self.until is not None:
            sizes = main.program.sizes
            passes = sizes.arithmetic("min", passes, sizes.fixed(USUAL_STEPS))
        return main.ring.mul(main.ring.of(passes), main.ring.total(self.work_of_pass(main)))

    def work_of_pass(self, main: MainFunction) -> tuple[Polynomial, Polynomial]:
        """Return the usual work of a pass: what several threads could share, and the rest."""
        ring, written = main.ring, set(arrays_written(self))
        divisible: list[Polynomial] = []
        alone = [main.scaled(ring.one, LOOP_STEP_NANOSECONDS)]
        for step in self.body:
            work = step.typical_work(main)
            if main.varies(work, written):
                work = main.scaled(ring.one, UNKNOWN_NANOSECONDS)
            (divisible if step.is_divisible(main) else alone).append(work)
        return ring.total(divisible), ring.total(alone)

    def shared(self, main: MainFunction) -> SharedLoop | None:
        """Return how threads share it if its passes are independent, and may take long."""
        rows, inside = self.own_rows, list(walk_steps(self.body))
        if rows is None or any(step.needs_caller for step in inside):
            return None
        outside = {*rows, *self.sums}
        private = list(dict.fromkeys(a for a in arrays_written(self) if a not in outside))
        touched = touches([self])
        if any(a.place != Place.BUFFER or touched[a] != main.touches[a] for a in private):
            return None
        short = main.short_vectors.get(self)
        if short is not None and short.latest.get(self):
            return None
        divisible, alone = self.work_of_pass(main)
        work = main.ring.mul(main.ring.of(self.count), main.ring.add(divisible, alone))
        least = main.scaled(main.ring.one, PARALLEL_NANOSECONDS)
        if work.known is not None and work.known < (least.known or 0):
            return None
        calls = any(step.calls_library for step in inside)
        sums = list(self.sums)
        return SharedLoop(self.count, self.counter, private, sums, divisible, alone, calls)

    def _work_of_pass(self, main: MainFunction) -> Polynomial:
        written = set(arrays_written(self))
        inside = [step.work(main) for step in self.body]
        same = [one for one in inside if one is not None and not main.varies(one, written)]
        return main.ring.total(same)

    def _last_of_some(self, writer: StepWriter) -> Value | None:
        """Return the number of passes between two signal checks, less one.

        ``None`` if the whole loop is quick.
        """
        b = writer.b
        if all(writer.is_inline(step) or step.only_checks for step in self.body):
            known = writer.main.ring.of(self.count).known
            if known is not None and known < POLLED_QUICK_STEPS:
                return None
            return b.constant(INT64, POLLED_QUICK_STEPS - 1)
        is_long = writer.takes_long(self._work_of_pass(writer.main), LONG_STEP_NANOSECONDS)
        return b.select(is_long, b.constant(INT64, 0), POLLED_STEPS - 1)

    def announce(self, layout: Layout) -> list[Array]:
        """Make a slot for the number of the pass, if errors of Python code may have to name it."""
        callbacks = [step for step in walk_steps(self.body) if isinstance(step, Callback)]
        if self.node is not None and callbacks:
            slot = layout.counters[self.counter] = layout.room(1)
            for step in callbacks:
                layout.loops_around.setdefault(step, []).append((self.node, slot))
        return []

    def lines(self, explainer: Explainer) -> list[str]:
        """Return the steps of its body."""
        how = "shared by threads" if explainer.is_shared(self) else "one after the other"
        head = f"for {self.counter} < {explainer.size(self.count)}, {how}"
        if self.until is not None:
            head += f", until {explainer.name(self.until)}"
        return [head + explainer.op_of(self.node), *explainer.steps(self.body, "  ")]

    def verify(self, verifier: Verifier) -> None:
        """Check its body."""
        verifier.size(self.count)
        before = set(verifier.written)
        verifier.outer.append(self.counter)
        verifier.steps(self.body)
        verifier.outer.pop()
        if self.own_rows is not None:
            verifier.expect(self.until is None, "independent passes end by a condition")
            private = set(arrays_written(self)).difference(self.own_rows, self.sums)
            verifier.expect(private.isdisjoint(before), "a pass overwrites what is read elsewhere")
            verifier.written -= private
        if self.until is not None:
            verifier.truth(self.until)
        verifier.room_inside(self)

    def emit(self, writer: StepWriter) -> None:
        """Write it, or a function of its passes that threads can share."""
        shared = writer.main.shared_loops.get(self)
        if shared is None or writer.short is not None:
            self.emit_passes(writer, 0, writer.size(self.count))
        else:
            write_shared_loop(writer, self, shared, self.emit_passes)

    def emit_passes(self, writer: StepWriter, begin: Value | int, end: Value) -> None:
        """Write some passes; twice, if it is faster for vectors that turn out to be short."""
        short = writer.main.short_vectors.get(self)
        if short is None:
            self._write(writer, begin, end)
        elif short.is_certain:
            self._write_short(writer, short, begin, end)
        else:
            writer.either(
                writer.is_short(short),
                lambda: self._write_short(writer, short, begin, end),
                lambda: self._write(writer, begin, end),
            )

    def _write_short(
        self, writer: StepWriter, short: ShortVectors, begin: Value | int, end: Value
    ) -> None:
        with writer.for_short(short):
            self._write(writer, begin, end)

    def _write(self, writer: StepWriter, begin: Value | int, end: Value) -> None:
        """Write its body, and what is the same in all passes before it."""
        b = writer.b
        with writer.passes(self, self.counter, begin, end) as passes:
            counter = passes.counter.value
            writer.forget_sizes(set(arrays_written(self)))
            writer.hold(self.counter, counter)
            writer.hold(writer.main.program.sizes.counter(self.counter), counter)
            if self in writer.main.shared_loops:  # a failure is that of the first pass that fails
                b.store(counter, writer.slot(writer.main.atom_slot(self.counter)))
            slot = writer.main.layout.counters.get(self.counter)
            if slot is not None:
                b.store(counter, writer.slot(slot))
            for element in writer.main.carried_into(self):
                writer.keep_element(element)
            writer.inside(self.body)
            last = self._last_of_some(writer)
            if last is not None:
                with when(b, b.eq(counter & last, last)):
                    writer.poll()
            if self.until is not None:
                passes.until = writer.truth(self.until)
