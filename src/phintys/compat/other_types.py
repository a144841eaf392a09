"""``None`` and slices as variables, for programs that ask whether something is one."""

from __future__ import annotations

from typing import Any

from phintys.graph import Constant, generic
from phintys.graph.type import Generic

__all__ = [
    "NoneConst",
    "NoneTypeT",
    "SliceConstant",
    "SliceType",
    "as_symbolic_None",
    "make_slice",
    "none_type_t",
    "slicetype",
]

NoneConst = Constant(generic, None, name="NoneConst")
none_type_t = generic


class _OfNone(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return instance is generic


class NoneTypeT(metaclass=_OfNone):
    """The type of :data:`NoneConst`."""

    def __new__(cls) -> Any:
        """Return the one type."""
        return generic


class SliceType(Generic):
    """The type of slices, which no variable has here: an index holds its slices."""


class SliceConstant:
    """A slice as a constant, which no variable is here."""


def as_symbolic_None(x: None = None, **options: Any) -> Any:
    """Return :data:`NoneConst`."""
    return NoneConst


slicetype = SliceType()


def make_slice(slc: Any, stop: Any = None, step: Any = None) -> slice:
    """Return a slice, to index variables with: one that is given, or from ``slc`` to ``stop``."""
    return slc if isinstance(slc, slice) else slice(slc, stop, step)
