"""Arguments that may be overwritten, but not in this call: others share their memory.

``In(x, mutable=True)`` allows a function to overwrite an argument. In a call in which another
argument or a stored value is in the same memory, or in which the array is read-only, the program
gets a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.base import CheckingProgram, copy_value

if TYPE_CHECKING:
    from phintys.backends.base import LinkedProgram
    from phintys.compile.io import In
    from phintys.graph.type import Type

__all__ = ["without_sharing"]


def without_sharing(program: LinkedProgram, inputs: Sequence[In]) -> LinkedProgram:
    """Return a program that gets copies of arguments which it must not overwrite.

    Parameters
    ----------
    program
        The program. It is itself returned if it checks its arguments.
    inputs
        The specification of each of its inputs, of which some are lent for writing.
    """
    if isinstance(program, CheckingProgram) and program.checks_arguments:
        return program
    places = [
        (at, spec.variable.type) for at, spec in enumerate(inputs) if spec.is_lent_for_writing
    ]
    return _Separate(program, places)


class _Separate:
    """A program that copies some of its inputs where they share memory with others."""

    def __init__(self, program: LinkedProgram, places: Sequence[tuple[int, Type]]) -> None:
        self._program = program
        self._places = places

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        values = list(inputs)
        for at, type_ in self._places:
            value = values[at]
            others = (other for number, other in enumerate(values) if number != at)
            if _is_read_only(value) or any(type_.may_share_memory(value, one) for one in others):
                values[at] = copy_value(value)
        return self._program(values)

    def free(self) -> None:
        self._program.free()


def _is_read_only(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.flags.writeable
