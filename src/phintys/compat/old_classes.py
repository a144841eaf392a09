"""Old classes whose instances are those of a class of Phintys, and modules that are tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["StandsFor", "core_classes", "looked_up_in", "stands_for"]


def looked_up_in(table: Mapping[str, Any], module: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` of a module whose names are those of a table.

    Examples
    --------
    >>> from phintys.compat.old_classes import looked_up_in
    >>> looked_up_in({"six": 6}, "numbers")("six")
    6
    """

    def look_up(name: str) -> Any:
        if name not in table:
            msg = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(msg)
        return table[name]

    return look_up


class StandsFor(type):
    """Makes ``isinstance(op, Old)`` true for the instances of ``core``, one or more classes."""

    core: type | tuple[type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.core)

    def __subclasscheck__(cls, subclass: type) -> bool:
        """Return whether a class is the core, or derived from it: ``singledispatch`` asks."""
        return super().__subclasscheck__(subclass) or issubclass(subclass, cls.core)


def core_classes(classes: Iterable[Any]) -> list[Any]:
    """Return the classes of Phintys in place of those that stand for them; others as they are.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.adapters import DimShuffle
    >>> from phintys.compat.old_classes import core_classes
    >>> core_classes([DimShuffle, pt.Elemwise]) == [pt.DimShuffle, pt.Elemwise]
    True
    """
    found: dict[Any, None] = {}
    for one in classes:
        core = one.core if isinstance(one, StandsFor) else one
        found |= dict.fromkeys(core if isinstance(core, tuple) else [core])
    return list(found)


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
