"""Records: dataclasses with slots that are fast to define.

``dataclasses.dataclass`` compiles each method of each class separately, which takes half a
millisecond for a frozen class: a third of the import time of a backend with sixty small classes.
Here a class only gets its slots. Its ``__init__`` is compiled when the first instance is made, and
what ``dataclasses`` says of it is found out when it is first asked for: most programs make no
instance of most classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

_Class = TypeVar("_Class")

_SLOTS = "__slots__"
_FIELDS = "__record_fields__"
"""The attribute of a record's class that maps names to fields, inherited ones first."""


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
        return _Recipe(cls, frozen=frozen, eq=eq).made

    return decorate


_DESCRIPTION = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
"""The attributes of a class that ``dataclasses`` and ``match`` read."""

_PER_CLASS = ("__dict__", "__weakref__")


class _Recipe:
    """Makes a record of a class, and adds to it what is needed later.

    Attributes
    ----------
    made
        The record: the same class with slots.
    """

    def __init__(self, plain: Any, *, frozen: bool, eq: bool) -> None:
        self.frozen = frozen
        self._bases = plain.__bases__
        self._written: dict[str, Any] = dict(plain.__dict__)
        for name in _PER_CLASS:
            self._written.pop(name, None)
        own = _own_fields(self._written)
        inherited: dict[str, Any] = {}
        slots: set[str] = set()
        for base in map(vars, plain.__mro__[-2:0:-1]):
            inherited |= base.get(_FIELDS, {})
            slots.update(base.get(_SLOTS, ()))
        namespace: dict[str, Any] = {
            **self._methods(eq=eq),
            **{name: _Later(self, name) for name in _DESCRIPTION},
            **{name: value for name, value in self._written.items() if name not in own},
            _FIELDS: inherited | own,
            _SLOTS: tuple(name for name in own if name not in slots),
        }
        self.made: Any = type(plain)(plain.__name__, self._bases, namespace)

    def _methods(self, *, eq: bool) -> dict[str, Any]:
        found: dict[str, Any] = {"__init__": self._first_init(), "__repr__": _repr}
        if eq:
            found["__eq__"] = self._first_equality()
            found["__hash__"] = self._first_hash() if self.frozen else None
        if self.frozen:
            found |= {
                "__setattr__": _refuse_to_set,
                "__delattr__": _refuse_to_delete,
                "__getstate__": _state,
                "__setstate__": _set_state,
            }
        return found

    # Methods that replace themselves when they are called first.

    def _first_init(self) -> Callable[..., None]:
        def __init__(one: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807 - it becomes one
            self.made.__init__ = init = _compiled_init(self.made, frozen=self.frozen)
            init(one, *arguments, **named)

        return __init__

    def _first_equality(self) -> Callable[[Any, Any], bool]:
        def equal(one: Any, other: Any) -> bool:
            self.made.__eq__ = found = _equality(_key(self.made))
            return found(one, other)

        return equal

    def _first_hash(self) -> Callable[[Any], int]:
        def hashed(one: Any) -> int:
            self.made.__hash__ = found = _hash(_key(self.made))
            return found(one)

        return hashed

    def describe(self) -> None:
        """Give the record its description, which is made of a copy of the class as written."""
        copy = type(self.made)(self.made.__name__, self._bases, dict(self._written))
        described = dataclasses.dataclass(init=False, repr=False, eq=False)(copy)
        for name in _DESCRIPTION:
            setattr(self.made, name, vars(described)[name])


class _Later:
    """An attribute of a record's class that is made when it is first read."""

    __slots__ = ("_name", "_recipe")

    def __init__(self, recipe: _Recipe, name: str) -> None:
        self._recipe = recipe
        self._name = name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        self._recipe.describe()
        return self._recipe.made.__dict__[self._name]


def _own_fields(written: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that a class adds to those of its bases, by name."""
    found: dict[str, Any] = {}
    for name, kind in written.get("__annotations__", {}).items():
        if not str(kind).startswith(("ClassVar", "typing.ClassVar")):
            value = written.get(name, dataclasses.MISSING)
            is_field = isinstance(value, dataclasses.Field)
            found[name] = value if is_field else dataclasses.field(default=value)
    return found


def _compiled_init(cls: Any, *, frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    source = _init_source(getattr(cls, _FIELDS), names, frozen=frozen)
    exec(source, names)  # noqa: S102 - made of the fields' names
    return names["__init__"]


def _init_source(
    fields: dict[str, dataclasses.Field[Any]], names: dict[str, Any], *, frozen: bool
) -> str:
    """Return the source of ``__init__``, and add the objects it refers to to ``names``."""
    positional, by_name = ["self"], ["*"]
    body: list[str] = []
    for name, field in fields.items():
        parameter = value = name
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
        elif field.kw_only is True:
            by_name.append(parameter)
        else:
            positional.append(parameter)
        body.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    parameters = positional + (by_name if len(by_name) > 1 else [])
    return "\n".join([f"def __init__({', '.join(parameters)}):", *(body or [" pass"])])


def _key(cls: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads the fields that count in comparisons."""
    names = [name for name, field in getattr(cls, _FIELDS).items() if field.compare]
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
    shown = (name for name, field in getattr(self, _FIELDS).items() if field.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    msg = f"cannot assign to field {name!r}"
    raise dataclasses.FrozenInstanceError(msg)


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    msg = f"cannot delete field {name!r}"
    raise dataclasses.FrozenInstanceError(msg)


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _FIELDS)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _FIELDS), state, strict=True):
        object.__setattr__(self, name, value)
