"""Suggestions for misspelled names."""

from __future__ import annotations

from collections.abc import Iterable

from phintys._base.uninterrupted import import_whole

__all__ = ["near_misses"]


def near_misses(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known names that are most similar to an unknown one, best match first.

    Parameters
    ----------
    name
        The unknown name.
    known
        All known names.
    most
        Maximum number of names to return.

    Examples
    --------
    >>> from phintys._base.naming import near_misses
    >>> near_misses("refrence", ["native", "reference"])
    ['reference']
    """
    difflib = import_whole("difflib")
    return difflib.get_close_matches(name, list(known), n=most)
