"""Which kernels are written where they run, and which numbers then stay in registers.

In the body of a loop of steps, the call of a kernel without loops, with its block of arguments,
would take longer than what it computes. Single numbers that the steps pass on need no memory there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from phintys.backends.native.dependence import arrays_in_size, arrays_read, arrays_written, needs_of
from phintys.backends.native.program import Step, walk_steps
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.values import Array, Place


def is_single(memory: Array) -> bool:
    """Return whether memory of the program holds a single number."""
    return memory.place in {Place.BUFFER, Place.RESULT} and all(s.known == 1 for s in memory.sizes)


def is_straight(kernel: Kernel) -> bool:
    """Return whether a kernel has no loops."""
    return not kernel.outer and all(
        not any(loop.extent.known != 1 for loop in nest.loops)
        and not any(one.accumulate or one.reduction for one in nest.statements)
        for nest in kernel.nests
    )


def inline_kernels(steps: Iterable[Step]) -> set[Kernel]:
    """Return the kernels of a program that are written in the bodies of loops."""
    return {
        inner
        for step in steps
        if step.repeats or step.bodies()
        for loop in walk_steps([step])
        if loop.repeats
        for inner in walk_steps([one for body in loop.bodies() for one in body])
        if isinstance(inner, Kernel) and is_straight(inner)
    }


def numbers_in_registers(loop: Step, inline: set[Kernel]) -> set[Array]:
    """Return the single numbers that only kernels written in place compute in a loop."""
    found: set[Array] = set()
    others: set[Array] = set()
    for step in walk_steps([one for body in loop.bodies() for one in body]):
        if step.bodies():
            continue
        written = set(arrays_written(step))
        if isinstance(step, Kernel) and step in inline:
            found |= {array for array in written if is_single(array)}
        else:
            others |= written
    return found - others


def carried_numbers(loop: Step, numbers: set[Array]) -> set[Array]:
    """Return those of some arrays that a pass of a loop may read before it writes them."""
    carried: set[Array] = set()

    def scan(steps: Sequence[Step], written: set[Array]) -> set[Array]:
        for step in steps:
            bodies = step.bodies()
            if bodies:
                carried.update((_own_reads(step) & numbers) - written)
                after = [scan(body, set(written)) for body in bodies]
                if not step.repeats:
                    written |= set.intersection(*after)
                carried.update(array for array in step.reads() if array not in written)
            elif isinstance(step, Kernel):
                for statement in step.statements:
                    needs = needs_of(statement)
                    read = {one.array.memory for one in needs.loads}
                    read.update(array for size in needs.sizes for array in arrays_in_size(size))
                    carried.update((read & numbers) - written)
                    written.add(statement.target.memory)
            else:
                carried.update((set(arrays_read(step)) & numbers) - written)
                written.update(arrays_written(step))
        return written

    for body in loop.bodies():
        scan(body, set())
    return carried & numbers


def _own_reads(step: Step) -> set[Array]:
    """Return the arrays that a step with bodies reads before they begin."""
    found = {array for size in step.sizes() for array in arrays_in_size(size)}
    return found if step.repeats else found | {array.memory for array in step.reads()}
