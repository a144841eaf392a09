"""Updates of whole shared values, moved to the commit of a program so that they can be in place.

``s - rate * g`` as the next value of s is computed by a kernel that reads each element of s where
it writes one of the result. If nothing in the kernel can fail, it can run last in a call, and then
it can overwrite s. Kernels that read the result, such as that of its sum, move with it. What else
the kernel computes from s, such as the largest difference from the result, is computed from the
element as it was read before.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phintys.backends.native.dependence import (
    Accesses,
    Meeting,
    arrays_written,
    has_order,
    meeting,
    reading,
    reads_of,
)
from phintys.backends.native.expressions import Load
from phintys.backends.native.lower.steps_of_commit import allocates, is_short
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel, Nest
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from phintys.backends.native.expressions import Statement
    from phintys.backends.native.lower.values_in_memory import ValuesInMemory
    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Sizes
    from phintys.backends.native.values import Value

Updates = dict[Array, Array]
"""Maps a result that is the next value of an argument to the argument."""


def updates_last(
    steps: Sequence[Step],
    commit: Sequence[Step],
    updates: Updates,
    results: Sequence[Value],
    sizes: Sizes,
    values: ValuesInMemory,
) -> tuple[list[Step], list[Step]]:
    """Return the steps of a program, and its commit, with updates moved to the commit.

    Parameters
    ----------
    steps
        All steps before the commit.
    commit
        The commit: claims, then kernels.
    updates
        The updates that may be moved.
    results
        The results of the program.
    sizes
        The sizes of the program.
    values
        Which values are in which memory.
    """
    if not updates:
        return list(steps), list(commit)
    returned = [value.memory for value in results if isinstance(value, Array)]
    writers = Counter(array for step in (*steps, *commit) for array in arrays_written(step))
    updates = {new: old for new, old in updates.items() if writers[new] == 1}
    counted = sizes.arrays()
    first = len(_claims_in(commit))
    claims, last = _claims_in(commit), list(commit[first:])
    after = Accesses()
    moved: set[int] = set()
    waiting: list[Kernel] = []  # kernels that can move with what they read, the last one first
    steps = [_reading_first(step, updates, sizes) for step in steps]
    for step in reversed(steps):
        if (
            not isinstance(step, Kernel)
            or step.may_fail
            or not counted.isdisjoint(arrays_written(step))
            or not after.is_apart_from(Accesses(step))
        ):
            after.add(step)
            continue
        found = _claims(step, updates, returned, sizes, values)
        group = _with_followers(step, waiting) if found else []
        if (
            not found
            or not all(claim.may_overwrite([*group[1:], *last], sizes) for claim in found)
            or not all(claim.may_overwrite(group, sizes) for claim in claims)
            or not _fits(group, sizes)
        ):
            waiting.append(step)
            continue
        moved.update(map(id, group))
        claims += found
        last = [*group, *last]
        waiting = [kernel for kernel in waiting if id(kernel) not in moved]
    before = [step for step in steps if id(step) not in moved]
    late = [step for step in steps if id(step) in moved]
    return before, [*claims, *late, *commit[first:]]


def _reading_first(step: Step, updates: Updates, sizes: Sizes) -> Step:
    """Return a kernel that reads elements of old values before it writes those of new ones.

    ``new[i] = s[i] + 1; d[i] = new[i] - s[i]`` becomes ``old[i] = s[i]; new[i] = old[i] + 1; d[i] =
    new[i] - old[i]``, where ``old[i]`` is in a register.
    """
    if not isinstance(step, Kernel) or not any(one.target in updates for one in step.statements):
        return step
    nests = [Nest(nest.loops, list(nest.statements)) for nest in step.nests]
    local = set(step.local)
    for nest in nests:
        done: list[Statement] = []
        rest = nest.statements
        while rest:
            statement, *rest = rest
            old = _old_element(statement, rest, updates, sizes)
            if old is not None:
                source = old.value.array
                local.add(old.target)
                done.append(old)
                statement, *rest = [
                    reading(one, {source: old.target}) for one in (statement, *rest)
                ]
            done.append(statement)
        nest.statements = done
    return Kernel(step.outer, nests, local) if local != step.local else step


def _old_element(
    statement: Statement, rest: Sequence[Statement], updates: Updates, sizes: Sizes
) -> Any:
    """Return the statement that reads what another overwrites and the rest of its nest needs.

    There is none if any of them, the other one included, reads more of it than that element.
    """
    source = updates.get(statement.target)
    if source is None or statement.reduction or has_order(statement):
        return None
    needed = _reads_from(source, rest)
    if not needed or not all(
        meeting(load, statement, sizes) is Meeting.SAME
        for load in (*_reads_from(source, [statement]), *needed)
    ):
        return None
    old = Array(Place.BUFFER, source.dtype, source.sizes, f"old {source.label}")
    return replace(statement, target=old, value=Load(source, statement.indices))


def _reads_from(memory: Array, statements: Iterable[Statement]) -> list[Load]:
    """Return the loads of statements from an array's memory."""
    return [load for one in statements for load in reads_of(one) if load.array.memory is memory]


def _with_followers(kernel: Kernel, later: Sequence[Kernel]) -> list[Kernel]:
    """Return a kernel, and those later ones that must stay behind it.

    Parameters
    ----------
    kernel
        The kernel.
    later
        Later kernels, the last one first.
    """
    found = [kernel]
    accesses = Accesses(kernel)
    for other in reversed(later):
        if not accesses.is_apart_from(Accesses(other)):
            accesses.add(other)
            found.append(other)
    return found


def _fits(kernels: Sequence[Kernel], sizes: Sizes) -> bool:
    """Return whether kernels take neither long nor memory of their own."""
    statements = [one for kernel in kernels for one in kernel.statements]
    return all(is_short(one, sizes) for one in statements) and not allocates(kernels, sizes)


def _claims_in(steps: Sequence[Step]) -> list[Claim]:
    return [step for step in steps if isinstance(step, Claim)]


def _claims(
    kernel: Kernel,
    updates: Updates,
    returned: Sequence[Array],
    sizes: Sizes,
    values: ValuesInMemory,
) -> list[Claim]:
    """Return claims for the updates of a kernel that can overwrite their old values."""
    found: list[Claim] = []
    for statement in kernel.statements:
        target = statement.target
        source = updates.get(target)
        if source is None or returned.count(target) != 1 or target.place != Place.RESULT:
            continue
        lengths = [sizes.canonical(size) for size in source.sizes]
        is_alike = lengths == [sizes.canonical(size) for size in target.sizes]
        views = tuple([one for one in values.sharing(source)[1:] if isinstance(one, Array)])
        claim = Claim(source, target, is_shared=True, is_kept=False, views=views)
        if is_alike and claim.may_overwrite([kernel], sizes):
            found.append(claim)
    return found
