"""Checks of numbers of steps that remain after a rewrite has removed the loop or sequence."""

from __future__ import annotations

from phintys._base.errors import ArgumentError, ShapeError
from phintys.control.loops.stepping import FEWER_ROWS, NEGATIVE
from phintys.tensor.size_check import SizeCheck


class StepCount(SizeCheck):
    """Return a number of steps, after a check that a loop makes before its first step.

    The inputs are the number of steps n, and two integers, of which the first must not be less than
    the second: n and 0, or the number of rows of a sequence and n.

    Parameters
    ----------
    sequence
        The number of the sequence; ``None`` for the check that n is not negative.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control.loops.step_counts import StepCount
    >>> n = pt.lscalar("n")
    >>> StepCount()(n, n, 0).eval({n: 3})
    array(3)
    """

    __props__ = ("sequence",)

    def __init__(self, sequence: int | None = None) -> None:
        super().__init__("at least", "The number of steps of a loop")
        self.sequence = sequence

    def error(self, a: int, b: int) -> Exception:
        """Return the error of the loop."""
        if self.sequence is None:
            return ArgumentError(NEGATIVE.format(n=a))
        return ShapeError(FEWER_ROWS.format(number=self.sequence, n=b, rows=a))

    def __str__(self) -> str:
        return "StepCount" if self.sequence is None else f"StepCount{{sequence={self.sequence}}}"
