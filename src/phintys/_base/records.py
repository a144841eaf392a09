"""Records: dataclasses with slots that are fast to define.

``dataclasses.dataclass`` compiles each method of each class separately, which takes half a
millisecond for a frozen class: a third of the import time of a backend with sixty small classes.
Here only ``__init__`` is compiled, when the first instance is made: most programs make none of most
classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

__all__ = ["record"]

_Class = TypeVar("_Class")


@dataclass_transform(field_specifiers=(dataclasses.field,))
def record(*, frozen: bool = False, eq: bool = True) -> Callable[[type[_Class]], type[_Class]]:
    """Turn a class into a dataclass with slots.

    Parameters
    ----------
    frozen
        Forbid assigning and deleting fields.
    eq
        Compare by fields, and hash by them if the record is frozen; otherwise by identity.

    Examples
    --------
    >>> from phintys._base.records import record
    >>> @record(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, 0), len({Point(1), Point(1)})
    (Point(x=1, y=0), True, 1)
    >>> Point(1).x = 2
    Traceback (most recent call last):
    dataclasses.FrozenInstanceError: cannot assign to field 'x'
    """

    def decorate(cls: type[_Class]) -> type[_Class]:
        own = set(vars(cls))
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
        for name, method in _methods(made, frozen=frozen, eq=eq).items():
            if name not in own:
                setattr(made, name, method)
        return made

    return decorate


def _methods(cls: Any, *, frozen: bool, eq: bool) -> dict[str, Any]:
    fields = dataclasses.fields(cls)
    found: dict[str, Any] = {"__init__": _first_init(cls, frozen=frozen), "__repr__": _repr}
    if eq:
        key = _key([field.name for field in fields if field.compare])
        found["__eq__"] = _equality(key)
        found["__hash__"] = _hash(key) if frozen else None
    if frozen:
        found |= {
            "__setattr__": _refuse_to_set,
            "__delattr__": _refuse_to_delete,
            "__getstate__": _state,
            "__setstate__": _set_state,
        }
    return found


def _first_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    """Return an ``__init__`` that replaces itself by a compiled one when it is called."""

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807 - it becomes one
        cls.__init__ = init = _compiled_init(cls, frozen=frozen)
        init(self, *arguments, **named)

    return __init__


def _compiled_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    source = _init_source(dataclasses.fields(cls), names, frozen=frozen)
    exec(source, names)  # noqa: S102 - made of the fields' names
    return names["__init__"]


def _init_source(
    fields: tuple[dataclasses.Field[Any], ...], names: dict[str, Any], *, frozen: bool
) -> str:
    """Return the source of ``__init__``, and add the objects it refers to to ``names``."""
    positional, by_name = ["self"], ["*"]
    body: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        parameter = name
        default = f"_default_{name}"
        if field.default_factory is not dataclasses.MISSING:
            names[default] = field.default_factory
            parameter = f"{name}=_missing"
            value = f"{default}() if {name} is _missing else {name}"
        elif field.default is not dataclasses.MISSING:
            names[default] = field.default
            parameter = f"{name}={default}"
        if not field.init:
            value = default
        elif field.kw_only:
            by_name.append(parameter)
        else:
            positional.append(parameter)
        body.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    parameters = positional + (by_name if len(by_name) > 1 else [])
    return "\n".join([f"def __init__({', '.join(parameters)}):", *(body or [" pass"])])


def _key(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads the fields with these names."""
    if not names:
        return lambda record: ()
    return attrgetter(*names) if len(names) > 1 else attrgetter(names[0], names[0])


def _equality(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def equal(self: Any, other: Any) -> bool:
        if other.__class__ is self.__class__:
            return key(self) == key(other)
        return NotImplemented

    return equal


def _hash(key: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def hashed(self: Any) -> int:
        return hash(key(self))

    return hashed


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (field.name for field in dataclasses.fields(self) if field.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    msg = f"cannot assign to field {name!r}"
    raise dataclasses.FrozenInstanceError(msg)


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    msg = f"cannot delete field {name!r}"
    raise dataclasses.FrozenInstanceError(msg)


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
