"""The code of a kernel, as its callers see it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.failures import Failure
    from phintys.backends.native.kernels.arguments import Slot
    from phintys.backends.native.kernels.plans import KernelPlan
    from phintys.backends.native.polynomials import Polynomial


@record(eq=False)
class ShortRows:
    """A function that computes several rows at once, each in a lane.

    Attributes
    ----------
    plan
        The plan of the function.
    symbol
        The function.
    lengths
        The numbers of elements in rows that are not known before.
    most
        The largest of them for which the function is called.
    """

    plan: KernelPlan
    symbol: str
    lengths: Sequence[Polynomial]
    most: int


@record(eq=False)
class KernelCode:
    """A kernel's functions, and the data needed to call them.

    Attributes
    ----------
    plan
        The plan of the kernel.
    symbol
        The function; ``""`` if the kernel is written where it runs.
    combiner
        The function that merges parts of a reduction, if any.
    slots
        The arguments, in order.
    failures
        The possible failures, in the order of their numbers, which begin with 1.
    partials
        Number of 8-byte cells for the totals of a part of a reduction, per column if it has
        columns.
    for_short_rows
        The function for short rows, if there is a separate one, and when it is called.
    numbers
        The numbers in which the kernel differs from others of its form, as they lie in memory.
    has_own_plan
        Whether the plan is its own, and not that of another kernel of the same form.
    """

    plan: KernelPlan
    symbol: str
    combiner: str | None
    slots: list[Slot]
    failures: list[Failure]
    partials: int = 0
    for_short_rows: ShortRows | None = None
    numbers: list[bytes] = field(default_factory=list)
    has_own_plan: bool = True
