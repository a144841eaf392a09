"""How tightly printed symbols bind, in the order of Python's grammar."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Precedence"]


class Precedence(IntEnum):
    """Operators from the loosest to the tightest.

    Examples
    --------
    >>> from phintys.scalar import add, mul
    >>> add.precedence < mul.precedence
    True
    """

    COMPARISON = 10
    OR = 20
    XOR = 30
    AND = 40
    SHIFT = 50
    SUM = 60
    PRODUCT = 70
    PREFIX = 80
    POWER = 90
    CALL = 100
