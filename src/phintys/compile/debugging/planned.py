"""Native programs whose memory is checked: nothing is overwritten before it has been read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import BadThunkOutput, IntegrityError
from phintys._base.late import LateModule

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from phintys.backends.native.runtime.function import NativeProgram
    from phintys.backends.native.stepwise import checking
else:
    checking = LateModule("phintys.backends.native.stepwise.checking")

_MOST_WORK = 2000
"""How much work a check may be: that of an Op on a few numbers takes a few steps."""


class PlannedProgram:
    """A native program that is also carried out step by step, in the memory planned for it.

    That is done once for all calls with arguments of the same shapes, since the plan does not
    depend on their values. It is left out where it would take too long.

    Parameters
    ----------
    program
        The program.
    """

    def __init__(self, program: NativeProgram) -> None:
        made, emitted = program.program_and_text()
        target = emitted.module.target
        self._program = program
        self._check = checking.MemoryCheck(made, emitted.memory, target, _MOST_WORK)
        self._seen: set[Hashable] = set()

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Return the values of the outputs.

        Raises
        ------
        BadThunkOutput
            The program overwrites what it still needs.
        """
        shapes = tuple(
            cast("Any", value).shape for value in inputs if isinstance(value, np.ndarray)
        )
        failed: Exception | None = None
        if shapes not in self._seen:
            self._seen.add(shapes)
            failed = self._failure(inputs)
        results = self._program(inputs)
        if failed is not None:
            raise failed
        return results

    def _failure(self, inputs: Sequence[Any]) -> Exception | None:
        """Return the error that a check ends in; the program may end in one as well."""
        try:
            self._check(inputs)
        except IntegrityError as error:
            msg = f"{error}\n{self._program.explain()}"
            raise BadThunkOutput(msg) from error
        except checking.CheckFailed as error:
            # The reference backend may compute what native code cannot.
            failure = error.failure
            return None if failure.is_limit or failure.is_rounded else error
        except Exception as error:  # noqa: BLE001 - an Op may raise anything
            return error
        return None
