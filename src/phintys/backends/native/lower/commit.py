"""The commit of a program: the last steps, which overwrite shared values and then read them.

Nothing in the commit may fail, because shared values would be left half updated. It does not react
to signals either, so it must not take much longer than the copy of a shared value that it avoids.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.dependence import (
    arrays_read,
    arrays_written,
    loads_of,
    may_fail,
    reads_of,
)
from phintys.backends.native.expressions import Statement
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.kernels.planning import plan_kernel
from phintys.backends.native.lower.overwriting import NotInCommit
from phintys.backends.native.lower.pruning import prune
from phintys.backends.native.polynomials import Polynomials
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.values import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from phintys.backends.native.expressions import Index
    from phintys.backends.native.lower.lowering import Lowering
    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Sizes
    from phintys.backends.native.values import Array, LoopVariable

__all__ = ["allocates", "commit_steps", "is_short"]

_FEW = 65_536
"""Number of iterations that never take long."""


def commit_steps(lowering: Lowering, returned: Collection[Array]) -> list[Step]:
    """Return the steps of the commit, with statements fused to kernels: claims come first.

    Parameters
    ----------
    lowering
        The lowered graph.
    returned
        The memory of the program's results.

    Raises
    ------
    NotInCommit
        If the commit can fail or take long, or if an earlier step needs what is known only there.
    """
    bases, sizes = lowering.bases, lowering.sizes
    if not lowering.commit:
        return []
    for step in lowering.steps:
        if isinstance(step, Statement):
            continue  # those that read what is known only in the commit are in it
        if bases.is_late([*arrays_read(step), *arrays_written(step)]):
            raise NotInCommit
    commit = prune(lowering.commit, returned)
    if not all(_is_sure(step, sizes) for step in commit):
        raise NotInCommit
    _note_readers(commit, bases.claimed)
    claims = [step for step in commit if not isinstance(step, Statement) and step.begins_commit]
    fused = fuse([step for step in commit if step not in claims], sizes, returned)
    stored = [_stored(step) if isinstance(step, Kernel) else step for step in fused]
    if allocates([step for step in stored if isinstance(step, Kernel)], sizes):
        raise NotInCommit
    return [*claims, *stored]


def _is_sure(step: Step | Statement, sizes: Sizes) -> bool:
    """Return whether a step can neither fail nor take long."""
    if isinstance(step, Statement):
        return not may_fail(step) and is_short(step, sizes)
    return not step.may_fail


def _note_readers(commit: Sequence[Step | Statement], claimed: Collection[Array]) -> None:
    """Let claims of shared values know that the commit computes values from them."""
    is_read = any(
        isinstance(step, Statement) and step.target not in claimed and step.loops for step in commit
    )
    for step in commit:
        if isinstance(step, Claim):
            step.is_read = is_read


def is_short(statement: Statement, sizes: Sizes) -> bool:
    """Return whether a statement has no more iterations than some array in memory has elements.

    That holds if it reads another element of an array in each iteration, or writes one of an array
    that is not local to a kernel; gathers count as arrays.
    """
    loops = [loop for loop in statement.loops if sizes.canonical(loop.extent).known != 1]
    known = [sizes.canonical(loop.extent).known for loop in loops]
    if math.prod(one or 0 for one in known) <= _FEW and None not in known:
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
