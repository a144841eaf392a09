"""The commit of a program: the last steps, which overwrite shared values and then read them.

Which steps these are is decided here, by what the steps of the lowered graph access.

Nothing in the commit may fail, because shared values would be left half updated. It does not react
to signals either, so it must not take much longer than the copy of a shared value that it avoids.

Updates of whole shared values are moved there so that they can be in place. ``s - rate * g`` as the
next value of s is computed by a kernel that reads each element of s where it writes one of the
result. If nothing in the kernel can fail, it can run last in a call, and then it can overwrite s.
Kernels that read the result, such as that of its sum, move with it. What else the kernel computes
from s, such as the largest difference from the result, is computed from the element as it was read
before.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.dependence import (
    Accesses,
    Meeting,
    arrays_in_size,
    arrays_loaded,
    arrays_read,
    arrays_written,
    has_order,
    loads_of,
    may_fail,
    meeting,
    needs_of,
    reading,
    reads_of,
)
from phintys.backends.native.expressions import Index, Load, Statement
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.kernels.planning import plan_kernel
from phintys.backends.native.kernels.statements import prune
from phintys.backends.native.limits import SHORT_COMMIT
from phintys.backends.native.lower.view import View
from phintys.backends.native.polynomials import Polynomials
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel, Nest
from phintys.backends.native.values import Array, LoopVariable, Place, Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.lower.overwriting import ValuesInMemory
    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size, Sizes


def commit_last(
    lowering: Lowering, returned: Collection[Array]
) -> tuple[list[Step | Statement], list[Step]]:
    """Return the steps before the commit, and those of the commit: claims, then kernels and calls.

    Lowering has claimed all shared values whose updates look as if they could be made in place. The
    others get a copy here: those for which something would have to run in the commit that cannot.

    Parameters
    ----------
    lowering
        The lowered graph.
    returned
        The memory of the program's results.
    """
    bases, sizes = lowering.bases, lowering.sizes
    steps = prune(lowering.steps, returned)
    if not bases.claimed:
        return steps, []
    refused: set[Claim] = set()
    while True:
        found = _Split(steps, refused, lowering)
        if len(found.refused) == len(refused):
            fused = fuse(found.commit, sizes, returned)
            stored = [_stored(step) if isinstance(step, Kernel) else step for step in fused]
            for step in stored:
                if isinstance(step, Kernel) and allocates([step], sizes):
                    found.refuse([*arrays_read(step), *arrays_written(step)])
            for claim in found.claims:
                if not claim.may_overwrite(stored, sizes):
                    found.refused.add(claim)
            if len(found.refused) == len(refused):
                break
        refused = found.refused
    for claim in refused:
        del bases.claimed[claim.target]
    _note_readers(found.commit, found.claims, sizes)
    return found.before, [*found.claims, *stored]


class _Split:
    """The steps of a program, divided into those before the commit and those in it.

    A step is in the commit if it accesses memory that has its value only there: that of claims, and
    that of other steps in the commit.

    Parameters
    ----------
    steps
        The steps, in order.
    refused
        The claims that are replaced by copies.
    lowering
        The lowered graph.

    Attributes
    ----------
    claims
        The claims that are not.
    before, commit
        The steps and statements before the commit, and those in it, in order.
    refused
        The claims that must be replaced by copies, those given included.
    """

    def __init__(
        self, steps: Sequence[Step | Statement], refused: Collection[Claim], lowering: Lowering
    ) -> None:
        claims = [one for one in steps if isinstance(one, Claim) and one.begins_commit]
        self.claims = [claim for claim in claims if claim not in refused]
        self.before: list[Step | Statement] = []
        self.commit: list[Step | Statement] = []
        self.refused = set(refused)
        self._sizes = lowering.sizes
        self._has_mutable = bool(lowering.bases.mutable)
        self._sources = {claim.source for claim in self.claims}
        self._why: dict[Array, set[Claim]] = {claim.target: {claim} for claim in self.claims}
        """The memory that has its value only in the commit, with the claims that are the reason."""
        self._read: dict[Array, set[Claim]] = {}
        """The memory from before that is read in the commit, with the same."""
        for step in steps:
            if not isinstance(step, Claim) or not step.begins_commit:
                self._add(step)
            elif step in refused:
                self.before.append(_copy(step, lowering))

    def refuse(self, accessed: Iterable[Array]) -> None:
        """Refuse the claims that are the reason for an access in the commit."""
        self.refused.update(claim for array in accessed for claim in self._why.get(array, ()))

    def _add(self, step: Step | Statement) -> None:
        accessed, written = set(arrays_read(step)), set(arrays_written(step))
        why = {claim for one in accessed | written for claim in self._why.get(one, ())}
        if not why:
            for array in written:  # the commit reads what was there before
                self.refused |= self._read.get(array, set())
            self.before.append(step)
            return
        self.commit.append(step)
        if not self._can_wait(step):
            self.refused |= why
        for array in arrays_loaded(step):
            # Whether an old value may be read is known when the statements are in kernels.
            if array not in self._why and array not in self._sources:
                self._keep(array, why)
        for array in written:
            self._why.setdefault(array, set()).update(why)

    def _can_wait(self, step: Step | Statement) -> bool:
        """Return whether a step can neither fail nor take long, and its sizes are known before."""
        if isinstance(step, Statement):
            is_sure = not may_fail(step) and is_short(step, self._sizes)
            sizes = needs_of(step).sizes
        else:
            is_sure = isinstance(step, LibraryCall) and not step.may_fail and self._is_quick(step)
            sizes = step.sizes()
        return is_sure and not any(
            array in self._why for size in sizes for array in arrays_in_size(size)
        )

    def _is_quick(self, call: LibraryCall[Any]) -> bool:
        """Return whether a routine takes no longer than a copy, or is what updates the value."""
        targets = {claim.target for claim in self.claims}
        return call.routine.reads_once or targets.issuperset(call.outputs)

    def _keep(self, array: Array, why: Collection[Claim]) -> None:
        """Note that the commit reads memory from before, which must not change until then."""
        if array.place in {Place.BUFFER, Place.RESULT}:
            self._read.setdefault(array, set()).update(why)
        elif array.place != Place.CONSTANT and (array.place != Place.ARGUMENT or self._has_mutable):
            self.refused.update(why)


def _copy(claim: Claim, lowering: Lowering) -> Statement:
    """Return the copy of a shared value that replaces a claim."""
    claim.target.variable = claim.source.variable
    source, target = (View.of(array, lowering.sizes) for array in (claim.source, claim.target))
    loops = lowering.loops(target.sizes)
    return Statement(
        claim.target,
        target.indices(loops),
        lowering.load(source, loops),
        tuple([loop for loop in loops if loop is not None]),
        nodes=(lowering.bases.claimed[claim.target],),
    )


def _note_readers(
    commit: Sequence[Step | Statement], claims: Sequence[Claim], sizes: Sizes
) -> None:
    """Let claims know whether the commit computes values that take longer than the updates."""
    claimed = {claim.target for claim in claims}
    read: list[Counter[Size]] = []
    updated: list[Counter[Size]] = []
    for step in commit:
        if isinstance(step, Statement):
            lengths = Counter([sizes.canonical(loop.extent) for loop in step.loops])
            (updated if step.target in claimed else read).append(lengths)
    is_read = any(one and not any(one <= other for other in updated) for one in read)
    for claim in claims:
        claim.is_read = is_read


def is_short(statement: Statement, sizes: Sizes) -> bool:
    """Return whether a statement has no more iterations than some array in memory has elements.

    That holds if it reads another element of an array in each iteration, or writes one of an array
    that is not local to a kernel; gathers count as arrays.
    """
    loops = [loop for loop in statement.loops if sizes.canonical(loop.extent).known != 1]
    known = [sizes.canonical(loop.extent).known for loop in loops]
    if math.prod(one or 0 for one in known) <= SHORT_COMMIT and None not in known:
        return True
    target = statement.target
    if not statement.reduction and target.place == Place.RESULT:
        return True
    return any(_moves_along(load.indices, loops) for load in reads_of(statement))


def _moves_along(indices: Sequence[Index], loops: Sequence[LoopVariable]) -> bool:
    """Return whether indices name another element in each iteration of loops."""
    found: set[LoopVariable] = set()
    for index in indices:
        if index.dynamic is not None:
            inner = [one for load in loads_of(index.dynamic) for one in load.indices]
            found.update(loop for one in inner for loop, _ in one.terms)
        elif len(index.terms) == 1:
            found.update(loop for loop, _ in index.terms)
    return found.issuperset(loops)


# ---- memory --------------------------------------------------------------------------------------


def _stored(kernel: Kernel) -> Kernel:
    """Return a kernel of the commit that stores what it passes from one nest to another.

    In the kernel's own memory these values would need an allocation while it runs.
    """
    written = {one.target: at for at, nest in enumerate(kernel.nests) for one in nest.statements}
    passed = {
        load.array
        for at, nest in enumerate(kernel.nests)
        for one in nest.statements
        for load in reads_of(one)
        if written.get(load.array, at) != at
    }
    return Kernel(kernel.outer, kernel.nests, kernel.local - passed)


def allocates(kernels: Iterable[Kernel], sizes: Sizes) -> bool:
    """Return whether a kernel allocates memory for its own work while it runs."""
    polynomials = Polynomials(sizes)
    return any(
        plan_kernel(kernel, polynomials, Target.configured()).rooms
        for kernel in kernels
        if (kernel.local and len(kernel.nests) > 1)
        or any(one.reduction and len(one.loops) > len(one.reduction) for one in kernel.statements)
    )


# ---- updates of whole values ---------------------------------------------------------------------


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
