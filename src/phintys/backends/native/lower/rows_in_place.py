"""Rows and states of loops that products write where they are kept, without a copy of each.

The result of a product in the body of a loop is an array of its own, and its row in memory of the
loop, or the state that the next step reads, a copy. A product takes addresses with an offset, so it
can write the row itself; what else accesses the result then accesses the row. It can write a state
too, if nothing in the step reads the old one any more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from phintys._base.records import record
from phintys.backends.native.dependence import (
    Accesses,
    moved_into,
    varies,
)
from phintys.backends.native.expressions import Index, Statement
from phintys.backends.native.routines.products import Product
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Array, Place

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from phintys.backends.native.lower.view import View
    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size, Sizes

_LETTERS = {"gemm": "abc", "syrk": "abc", "gemv": "axy"}


@record(eq=False)
class RowCopy:
    """A statement that copies a value of a step to its row, or to a state.

    Attributes
    ----------
    statement
        The statement.
    value
        The value.
    target
        The memory of all rows, or of the state.
    place
        The number of the row; ``None`` for a state.
    """

    statement: Statement
    value: View
    target: Array
    place: Size | None

    @property
    def lengths(self) -> Sequence[Size]:
        """The lengths of the row or state."""
        return self.target.sizes if self.place is None else self.target.sizes[1:]


def written_in_place(
    steps: Sequence[Step | Statement],
    copies: Sequence[RowCopy],
    kept: Collection[Array],
    sizes: Sizes,
) -> list[Step | Statement]:
    """Return the steps in the body of a loop, without the copies of rows and states that need none.

    Parameters
    ----------
    steps
        The steps and statements, in order.
    copies
        The statements among them that copy rows and states.
    kept
        The memory that is read by the next pass of the loop, or after it.
    sizes
        The sizes of the program.
    """
    made = {
        step.outputs[0]
        for step in steps
        if isinstance(step, LibraryCall) and isinstance(step.routine, Product)
    }
    wanted = [copy for copy in copies if copy.value.array in made - set(kept)]
    if not wanted:
        return list(steps)
    found = [_Touched(step, Accesses(step)) for step in steps]
    written = set[Array]().union(*(one.accesses.written for one in found))
    for copy in wanted:
        array = copy.value.array
        if array not in made or not _is_alike(copy, written, sizes) or not _is_free(found, copy):
            continue
        moved = _moved(found, copy, sizes)
        if moved is not None:
            found = moved
            made.discard(array)
    return [one.step for one in found]


class _Touched(NamedTuple):
    """A step, with the memory that it reads and writes."""

    step: Step | Statement
    accesses: Accesses


def _is_alike(copy: RowCopy, written: Collection[Array], sizes: Sizes) -> bool:
    """Return whether a value is an array of its own, laid out as its row or state is.

    The checks of its lengths run before everything else if they do not depend on the body.
    """
    array = copy.value.array
    return (
        array.place == Place.BUFFER
        and array.alias is None
        and array.dtype == copy.target.dtype
        and copy.value.is_whole(sizes)
        and not any(varies(size, written) for size in (*array.sizes, *copy.lengths))
    )


def _is_free(steps: Sequence[_Touched], copy: RowCopy) -> bool:
    """Return whether nothing accesses an old state from where its new value is made.

    A product never reads what it overwrites, so that this is a question about whole steps.
    """
    if copy.place is not None:
        return True
    array, state = copy.value.array, copy.target
    first = next(at for at, one in enumerate(steps) if array in one.accesses.written)
    return not any(state in one.accesses for one in steps[first:] if one.step is not copy.statement)


def _moved(steps: Sequence[_Touched], copy: RowCopy, sizes: Sizes) -> list[_Touched] | None:
    """Return the steps with a value in its row; ``None`` if one of them cannot be changed."""
    array = copy.value.array
    found: list[_Touched] = []
    is_written = False
    for one in steps:
        if one.step is copy.statement:
            continue
        if array not in one.accesses:
            found.append(one)
            continue
        if array in one.accesses.read and not is_written:  # it is made outside
            return None
        is_written = True
        changed = _in_row(one.step, copy, sizes)
        if changed is None:
            return None
        found.append(changed)
    return found


def _in_row(step: Step | Statement, copy: RowCopy, sizes: Sizes) -> _Touched | None:
    """Return a step that accesses the row or state in place of the value."""
    array = copy.value.array
    if isinstance(step, Statement):
        place = () if copy.place is None else (Index((), copy.place),)
        changed = moved_into(step, array, copy.target, place)
    elif isinstance(step, LibraryCall) and isinstance(step.routine, Product):
        changed = _product_in_row(step, copy, sizes)
    else:
        return None
    found = _Touched(changed, Accesses(changed))
    return None if array in found.accesses else found


def _product_in_row(call: LibraryCall[Any], copy: RowCopy, sizes: Sizes) -> LibraryCall[Any]:
    array = copy.value.array
    offset = sizes.fixed(0) if copy.place is None else copy.place
    for length in copy.lengths:
        offset = sizes.mul(offset, length)
    options = dict(call.options)
    operands = [*call.inputs[:2], *call.outputs]
    for at, letter in enumerate(_LETTERS[call.routine.name]):
        if operands[at] is array:
            operands[at] = copy.target
            before = options.get(f"{letter}_offset", sizes.fixed(0))
            options[f"{letter}_offset"] = sizes.add(before, offset)
    inputs = (*operands[:2], *call.inputs[2:])
    return replace(call, inputs=inputs, outputs=tuple(operands[2:]), options=options)
