"""What carrying out a program step by step can end in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.errors import IntegrityError

if TYPE_CHECKING:
    from phintys.backends.native.failures import Failure


class CheckFailed(Exception):  # noqa: N818 - the program is not at fault
    """A check or an index failed; ``failure`` says which."""

    def __init__(self, failure: Failure, *numbers: int) -> None:
        super().__init__(f"{failure.node}: {failure.kind} {failure.detail} {numbers}")
        self.failure = failure


class TooLong(Exception):  # noqa: N818 - the program is not at fault
    """The program takes more steps than are allowed."""


def expect(condition: object, message: str) -> None:
    """Raise an :class:`~phintys._base.errors.IntegrityError` unless a condition holds.

    What is asked for every expression raises it itself, since the text takes longer than the check.
    """
    if not condition:
        raise IntegrityError(message)
