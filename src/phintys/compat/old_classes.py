"""Old classes whose instances are those of a class of Phintys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["StandsFor", "stands_for"]


class StandsFor(type):
    """Makes ``isinstance(op, Old)`` true for the instances of ``core``, one or more classes."""

    core: type | tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.core)


def stands_for(
    name: str, core: type | tuple[type, ...], make: Callable[..., Any], **members: Any
) -> Any:
    """Return a class that stands for an Op of Phintys, and whose call is ``make``.

    Parameters
    ----------
    name
        The old name.
    core
        The classes whose instances are its; ``()`` if what it computes is not an Op here.
    make
        From the arguments of the old constructor, a function that applies the Op.
    members
        Other attributes of the class.
    """

    def construct(cls: type, *arguments: Any, **options: Any) -> Any:
        return make(*arguments, **options)

    given = {"core": core, "__new__": construct, "__doc__": make.__doc__}
    return StandsFor(name, (), {**given, "__module__": make.__module__, **members})
