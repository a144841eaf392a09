"""Checks of the memory that is planned for a program, which share no code with the planner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import IntegrityError
from phintys.backends.native.stepwise import step_rules  # noqa: F401 - registers the rules
from phintys.backends.native.stepwise.calls import Calls
from phintys.backends.native.stepwise.faults import CheckFailed, TooLong
from phintys.backends.native.stepwise.interpreter import Interpreter
from phintys.backends.native.stepwise.order import Orders
from phintys.backends.native.values import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.assembler.target import Target
    from phintys.backends.native.memory import MemoryPlan
    from phintys.backends.native.program import Program


def run(program: Program, values: Sequence[Any]) -> list[Any]:
    """Return the results of a program, each array of which has memory of its own.

    Parameters
    ----------
    program
        The program.
    values
        The arguments.

    Raises
    ------
    CheckFailed
        A check of the program failed.
    IntegrityError
        The program is wrong.
    """
    return Interpreter(program).run(values)


class MemoryCheck:
    """Carries out a program with one array a value, and in the memory planned for it.

    Parameters
    ----------
    program
        The program.
    plan
        The memory.
    target
        The CPU that the code is written for.
    most_work
        How much work is done for a check, as for
        :class:`~phintys.backends.native.stepwise.interpreter.Interpreter`.
    """

    def __init__(
        self,
        program: Program,
        plan: MemoryPlan,
        target: Target | None = None,
        most_work: int | None = None,
    ) -> None:
        self.program = program
        self.plan = plan
        self._calls = Calls(program)
        self._orders = Orders(program, target)
        self._most_work = most_work

    def __call__(self, values: Sequence[Any]) -> list[Any] | None:
        """Carry out a call, and return its results; ``None`` if it takes too long.

        Raises
        ------
        IntegrityError
            Memory is overwritten too early, or the program is wrong in itself.
        CheckFailed
            A check of the program failed.
        """
        try:
            alone = self._run(values, None)
            planned = self._run(values, self.plan)
        except TooLong:
            return None
        if isinstance(planned, CheckFailed) or isinstance(alone, CheckFailed):
            if isinstance(planned, CheckFailed) and isinstance(alone, CheckFailed):
                raise planned
            msg = "A check of the program fails with planned memory only, or only without."
            raise IntegrityError(msg)
        for result, one, other in zip(self.program.results, alone, planned, strict=True):
            if isinstance(result, Array) and not np.array_equal(_bits(one), _bits(other)):
                msg = (
                    f"{result!r} is {other!r} in the memory planned for the program, and {one!r} "
                    "where each array has its own. This is a bug in Phintys: please report it."
                )
                raise IntegrityError(msg)
        return planned

    def _run(self, values: Sequence[Any], plan: MemoryPlan | None) -> list[Any] | CheckFailed:
        made = Interpreter(self.program, plan, self._calls, self._orders, self._most_work)
        try:
            return made.run(values)
        except CheckFailed as error:
            return error


def _bits(array: Any) -> Any:
    return np.frombuffer(np.asarray(array).tobytes(), np.uint8)
