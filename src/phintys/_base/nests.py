"""Nests: tuples, lists and dicts, of any depth, around values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

__all__ = ["matched", "rebuilt", "walk"]


def walk(nest: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values in a nest, each with its path; a nest can be a single value.

    Examples
    --------
    >>> from phintys._base.nests import walk
    >>> list(walk((1, {"a": [2, None]})))
    [('[0]', 1), ("[1]['a'][0]", 2), ("[1]['a'][1]", None)]
    """
    if isinstance(nest, dict):
        for key, entry in cast("dict[Any, Any]", nest).items():
            yield from walk(entry, f"{path}[{key!r}]")
    elif isinstance(nest, list | tuple):
        for position, entry in enumerate(cast("list[Any]", nest)):
            yield from walk(entry, f"{path}[{position}]")
    else:
        yield path, nest


def rebuilt(nest: Any, values: Iterable[Any]) -> Any:
    """Return a nest of the same form around other values, given in the order of :func:`walk`.

    Examples
    --------
    >>> from phintys._base.nests import rebuilt
    >>> rebuilt((1, {"a": [2, None]}), "xyz")
    ('x', {'a': ['y', 'z']})
    """
    return _rebuilt(nest, iter(values))


def _rebuilt(nest: Any, values: Iterator[Any]) -> Any:
    if isinstance(nest, dict):
        pairs = cast("dict[Any, Any]", nest).items()
        return {key: _rebuilt(entry, values) for key, entry in pairs}
    if isinstance(nest, list):
        return [_rebuilt(entry, values) for entry in cast("list[Any]", nest)]
    if isinstance(nest, tuple):
        entries = tuple([_rebuilt(entry, values) for entry in cast("tuple[Any, ...]", nest)])
        make = getattr(cast("Any", nest), "_make", tuple)  # of a named tuple
        return make(entries)
    return next(values)


def matched(given: Any, like: Any) -> list[Any] | None:
    """Return what a nest has for each value of another one; ``None`` if their forms differ.

    A list may stand for a tuple and the other way round; ``None`` stands for ``None`` everywhere
    inside.

    Examples
    --------
    >>> from phintys._base.nests import matched
    >>> matched([1, None], ("a", ("b", "c"))), matched(1, ("a",))
    ([1, None, None], None)
    """
    if given is None:
        return [None for _ in walk(like)]
    if isinstance(like, dict):
        theirs = cast("dict[Any, Any]", like)
        mine = cast("dict[Any, Any]", given)
        if not isinstance(given, dict) or mine.keys() != theirs.keys():
            return None
        pairs = [(mine[key], theirs[key]) for key in theirs]
    elif isinstance(like, list | tuple):
        entries = cast("list[Any]", like)
        if not isinstance(given, list | tuple) or len(cast("list[Any]", given)) != len(entries):
            return None
        pairs = list(zip(cast("list[Any]", given), entries, strict=True))
    else:
        return None if isinstance(given, dict | list | tuple) else [given]
    found: list[Any] = []
    for one, other in pairs:
        part = matched(one, other)
        if part is None:
            return None
        found += part
    return found
