"""Elements that the next iteration of a loop reads: they stay in registers.

A running sum reads what the iteration before has written. Through memory, the chain of its
additions is three times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.records import record

if TYPE_CHECKING:
    from phintys.backends.native.expressions import Statement
    from phintys.backends.native.kernels.access import Access
    from phintys.backends.native.kernels.plans import Level, NestPlan
    from phintys.backends.native.polynomials import Polynomials

__all__ = ["Previous", "previous_elements"]

_KINDS = "fiu"


@record(eq=False)
class Previous:
    """An element that an iteration reads, and that only the one before has written.

    Attributes
    ----------
    access
        The element, as it is read.
    statement
        What writes it.
    """

    access: Access
    statement: Statement


def previous_elements(nest: NestPlan, level: Level, ring: Polynomials) -> list[Previous]:
    """Return the elements that iterations of the innermost level of a nest pass on."""
    found: list[Previous] = []
    loop = level.loops[-1]
    for statement in nest.statements:
        store = nest.stores.get(id(statement))
        if store is None or loop not in statement.sequential or store.dynamic or store.is_spread:
            continue
        if store.array.dtype.kind not in _KINDS or store.array.dtype.itemsize < 4:
            continue
        writers = sum(other.array is store.array for other in nest.stores.values())
        before = ring.sub(store.offset, store.step(loop, ring.zero))
        found += [
            Previous(access, statement)
            for access in nest.accesses
            if writers == 1
            and access.array is store.array
            and access.offset is before
            and access.steps == store.steps
            and not access.dynamic
        ]
    return found
