"""Rows of loops that products write where they are returned, without a copy of each.

The result of a product in the body of a loop is an array of its own, and its row in memory of the
loop a copy. A product takes addresses with an offset, so it can write the row itself; what else
accesses the result then accesses the row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phintys._base.records import record
from phintys.backends.native.dependence import (
    arrays_read,
    arrays_written,
    moved_into,
    varies,
)
from phintys.backends.native.expressions import Index, Statement
from phintys.backends.native.routines.products import Product
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.values import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from phintys.backends.native.lower.view import View
    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size, Sizes
    from phintys.backends.native.values import Array

__all__ = ["RowCopy", "written_in_place"]

_LETTERS = {"gemm": "abc", "syrk": "abc", "gemv": "axy"}


@record(eq=False)
class RowCopy:
    """A statement that copies a value of a step to its row.

    Attributes
    ----------
    statement
        The statement.
    value
        The value.
    rows
        The memory of all rows.
    place
        The number of the row.
    """

    statement: Statement
    value: View
    rows: Array
    place: Size


def written_in_place(
    steps: Sequence[Step | Statement],
    copies: Sequence[RowCopy],
    kept: Collection[Array],
    sizes: Sizes,
) -> list[Step | Statement]:
    """Return the steps in the body of a loop, without the copies of rows that need none.

    Parameters
    ----------
    steps
        The steps and statements, in order.
    copies
        The statements among them that copy rows.
    kept
        The memory that is read by the next pass of the loop, or after it.
    sizes
        The sizes of the program.
    """
    found = list(steps)
    written = {array for step in steps for array in arrays_written(step)}
    made = {
        step.outputs[0]
        for step in steps
        if isinstance(step, LibraryCall) and isinstance(step.routine, Product)
    }
    for copy in copies:
        array = copy.value.array
        if array not in made or array in kept or not _is_row(copy, written, sizes):
            continue
        moved = _moved(found, copy, sizes)
        if moved is not None:
            found = moved
            made.discard(array)
    return found


def _is_row(copy: RowCopy, written: Collection[Array], sizes: Sizes) -> bool:
    """Return whether a value is an array of its own, laid out as its row is.

    The checks of its lengths run before everything else if they do not depend on the body.
    """
    array, (_, *lengths) = copy.value.array, copy.rows.sizes
    return (
        array.place == Place.BUFFER
        and array.alias is None
        and array.dtype == copy.rows.dtype
        and copy.value.is_whole(sizes)
        and not any(varies(size, written) for size in (*array.sizes, *lengths))
    )


def _moved(
    steps: Sequence[Step | Statement], copy: RowCopy, sizes: Sizes
) -> list[Step | Statement] | None:
    """Return the steps with a value in its row; ``None`` if one of them cannot be changed."""
    array = copy.value.array
    found: list[Step | Statement] = []
    is_written = False
    for step in steps:
        if step is copy.statement:
            continue
        reads, writes = array in set(arrays_read(step)), array in set(arrays_written(step))
        if reads and not is_written:  # it is made outside
            return None
        if reads or writes:
            is_written = True
            changed = _in_row(step, copy, sizes)
            if changed is None:
                return None
            step = changed
        found.append(step)
    return found


def _in_row(step: Step | Statement, copy: RowCopy, sizes: Sizes) -> Step | Statement | None:
    """Return a step that accesses the row in place of the value."""
    array = copy.value.array
    if isinstance(step, Statement):
        changed = moved_into(step, array, copy.rows, Index((), copy.place))
    elif isinstance(step, LibraryCall) and isinstance(step.routine, Product):
        changed = _product_in_row(step, copy, sizes)
    else:
        return None
    is_left = array in {*arrays_read(changed), *arrays_written(changed)}
    return None if is_left else changed


def _product_in_row(call: LibraryCall[Any], copy: RowCopy, sizes: Sizes) -> LibraryCall[Any]:
    array = copy.value.array
    offset = copy.place
    for length in copy.rows.sizes[1:]:
        offset = sizes.mul(offset, length)
    options = dict(call.options)
    operands = [*call.inputs[:2], *call.outputs]
    for at, letter in enumerate(_LETTERS[call.routine.name]):
        if operands[at] is array:
            operands[at] = copy.rows
            before = options.get(f"{letter}_offset", sizes.fixed(0))
            options[f"{letter}_offset"] = sizes.add(before, offset)
    inputs = (*operands[:2], *call.inputs[2:])
    return replace(call, inputs=inputs, outputs=tuple(operands[2:]), options=options)
