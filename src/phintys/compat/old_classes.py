"""Old classes whose instances are those of a class of Phintys."""

from __future__ import annotations

__all__ = ["StandsFor"]


class StandsFor(type):
    """Makes ``isinstance(op, Old)`` true for the instances of ``core``, one or more classes."""

    core: type | tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.core)
