"""Nests: tuples, lists, dicts, dataclasses and classes of attrs, of any depth, around values."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError
from phintys._base.late import LateModule

if TYPE_CHECKING:
    import dataclasses
else:
    dataclasses = LateModule("dataclasses")


MOST_NESTED = 100
"""How deep nests can be inside of each other: each level takes two nested calls."""


def is_nest(given: Any) -> bool:
    """Return whether an object is a nest around values, not a value."""
    return isinstance(given, dict | list | tuple) or _fields(given) is not None


def _fields(given: Any) -> list[str] | None:
    """Return the names of the fields of a dataclass or of a class of attrs, else ``None``."""
    kind = cast("Any", type(given))
    if hasattr(kind, "__dataclass_fields__"):
        return [field.name for field in dataclasses.fields(given)]
    described = getattr(kind, "__attrs_attrs__", None)
    return None if described is None else [field.name for field in described]


def _entries(nest: Any, depth: int) -> list[tuple[str, Any]] | None:
    """Return the entries of a nest at a depth, each with the path to it; ``None`` for a value."""
    if depth >= MOST_NESTED and is_nest(nest):
        msg = (
            f"Containers must be nested at most {MOST_NESTED} deep, got deeper ones, or one that "
            "contains itself. Pass the values inside of them."
        )
        raise ArgumentError(msg)
    if isinstance(nest, dict):
        return [(f"[{key!r}]", entry) for key, entry in cast("dict[Any, Any]", nest).items()]
    if isinstance(nest, list | tuple):
        return [(f"[{i}]", entry) for i, entry in enumerate(cast("list[Any]", nest))]
    names = _fields(nest)
    return None if names is None else [(f".{name}", getattr(nest, name)) for name in names]


def walk(nest: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in a nest, each with its path; a nest can be a single value.

    Raises
    ------
    ArgumentError
        Nests are more than :data:`MOST_NESTED` deep, or one contains itself.

    Examples
    --------
    >>> from phintys._base.nested_containers import walk
    >>> list(walk((1, {"a": [2, None]})))
    [('[0]', 1), ("[1]['a'][0]", 2), ("[1]['a'][1]", None)]
    """
    return _walk(nest, path, 0)


def _walk(nest: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    entries = _entries(nest, depth)
    if entries is None:
        yield path, nest
        return
    for step, entry in entries:
        yield from _walk(entry, path + step, depth + 1)


def kinds(nest: Any) -> Iterator[type]:
    """Yield the classes of a nest and of the nests in it, those of values left out.

    Examples
    --------
    >>> from phintys._base.nested_containers import kinds
    >>> list(kinds((1, {"a": [2, None]})))
    [<class 'tuple'>, <class 'dict'>, <class 'list'>]
    """
    return _kinds(nest, 0)


def _kinds(nest: Any, depth: int) -> Iterator[type]:
    entries = _entries(nest, depth)
    if entries is not None:
        yield type(nest)
        for _, entry in entries:
            yield from _kinds(entry, depth + 1)


def rebuilt(nest: Any, values: Iterable[Any]) -> Any:
    """Return a nest of the same form around other values, given in the order of :func:`walk`.

    Instances of classes are copied without a call of ``__init__`` or ``__post_init__``, which may
    not take other kinds of values.

    Examples
    --------
    >>> from phintys._base.nested_containers import rebuilt
    >>> rebuilt((1, {"a": [2, None]}), "xyz")
    ('x', {'a': ['y', 'z']})
    """
    return _rebuilt(nest, iter(values), 0)


def _rebuilt(nest: Any, values: Iterator[Any], depth: int) -> Any:
    entries = _entries(nest, depth)
    if entries is None:
        return next(values)
    new = [_rebuilt(entry, values, depth + 1) for _, entry in entries]
    if isinstance(nest, dict):
        return dict(zip(cast("dict[Any, Any]", nest), new, strict=True))
    if isinstance(nest, list):
        return new
    if isinstance(nest, tuple):
        make = getattr(cast("Any", nest), "_make", tuple)  # of a named tuple
        return make(new)
    instance = copy.copy(nest)
    for name, value in zip(_fields(nest) or [], new, strict=True):
        object.__setattr__(instance, name, value)  # frozen classes refuse setattr
    return instance


def form_of(nest: Any, texts: Iterable[str] | None = None) -> str:
    """Return the form of a nest, with a text in the place of each value.

    Parameters
    ----------
    nest
        The nest.
    texts
        The texts; stars by default.

    Examples
    --------
    >>> from phintys._base.nested_containers import form_of
    >>> form_of((1, {"a": 2, "b": None}))
    "(*, {'a': *, 'b': None})"
    >>> form_of((1, {"a": 2}), ["int", "float"])
    "(int, {'a': float})"
    """
    if texts is None:
        texts = ("None" if value is None else "*" for _, value in walk(nest))
    return repr(rebuilt(nest, map(Unquoted, texts)))


def forms_of(one: Any, other: Any) -> tuple[str, str]:
    """Return the forms of two nests that differ, for a message.

    Classes that a module defines anew when it is loaded again look alike: the second form says so.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> from phintys._base.nested_containers import forms_of
    >>> old, new = (make_dataclass("Line", ["slope"]) for _ in range(2))
    >>> forms_of(old(1), new(1))
    ('Line(slope=*)', 'Line(slope=*), of another class of this name (was it defined again?)')
    """
    first, second = form_of(one), form_of(other)
    if first == second and [*kinds(one)] != [*kinds(other)]:
        second += ", of another class of this name (was it defined again?)"
    return first, second


class Unquoted(str):
    """A string that is printed without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def matched(given: Any, like: Any, of_arrays: bool = False) -> list[Any] | None:
    """Return the values of a nest in the order of another one; ``None`` if their forms differ.

    A list may stand for a tuple and the other way round; ``None`` stands for ``None`` everywhere
    inside. If the values are arrays, lists may stand for them.

    Examples
    --------
    >>> from phintys._base.nested_containers import matched
    >>> matched([1, None], ("a", ("b", "c"))), matched(1, ("a",))
    ([1, None, None], None)
    """
    return _matched(given, like, of_arrays, 0)


def _matched(given: Any, like: Any, of_arrays: bool, depth: int) -> list[Any] | None:
    if given is None:
        return [None for _ in walk(like)]
    theirs, mine = _entries(like, depth), _entries(given, depth)
    if theirs is None:
        return [given] if mine is None or of_arrays else None
    if mine is None or not _are_alike(given, like) or len(mine) != len(theirs):
        return None
    of_mine = dict(mine)
    found: list[Any] = []
    for path, entry in theirs:
        part = None
        if path in of_mine:
            part = _matched(of_mine[path], entry, of_arrays, depth + 1)
        if part is None:
            return None
        found += part
    return found


def _are_alike(one: Any, other: Any) -> bool:
    """Return whether two nests are of the same kind, at their tops."""
    for kind in (dict, (list, tuple)):
        if isinstance(other, kind):
            return isinstance(one, kind)
    return type(one) is type(other)
