"""The chapters of the reference: what each documents, every public name once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from tools.site.families import PLACES, families

__all__ = ["Chapter", "Entry", "chapters"]

ARRAYS: dict[str, tuple[str, ...]] = {
    "Variables and types": (
        *("type", "constructors", "convert", "dtypes", "introspection"),
        *("scalar bridge", "observing"),
    ),
    "Creation": ("creation", "ranges", "sequences", "standard"),
    "Shapes and joining": (
        *("reshaping", "dim shuffle", "broadcasting", "shapes", "manipulation", "joining"),
        "tiling",
    ),
    "Indexing": ("indexing", "nonzeros", "diagonals", "searching", "segments"),
    "Arithmetic": (
        *("Arithmetic", "Comparisons", "Bits and truth", "bits", "Rounding", "Selection"),
        *("Parts of complex numbers", "math"),
    ),
    "Exponentials, trigonometry": ("Exponentials and logarithms", "Trigonometric functions"),
    "Special functions": (
        *("Special functions", "Functions of statistics", "Integrals, factorials"),
        *("Hypergeometric functions", "Incomplete beta functions", "combinations"),
        *("activations", "softmaxes"),
    ),
    "Reductions and statistics": (
        *("reduce", "extremes", "running extremes", "cumulative", "differences", "statistics"),
        "polynomials",
    ),
    "Sorting and sets": ("ordering", "sorting", "sets", "permutations"),
    "Products and linear algebra": ("products", "contractions", "linear algebra", "linalg"),
    "Fourier transforms": ("fft",),
    "Convolutions and pooling": ("signal", "convolution"),
    "Batches": ("batching", "applying"),
}
"""Chapters on functions of arrays -> the families in them. Others are in the last chapter."""

ROOMS: dict[str, str] = {
    "phintys": "Phintys",
    "phintys.gradient": "Gradients",
    "phintys.control": "Loops and choices",
    "phintys.random": "Random numbers",
    "phintys.sparse": "Sparse matrices",
    "phintys.optimize": "Minimization",
    "phintys.tree": "Trees",
    "phintys.parallel": "Many machines",
    "phintys.contrib": "Training",
    "phintys.compile": "Compiling",
    "phintys.inspect": "Pictures",
    "phintys.graph": "Graphs",
    "phintys.rewriting": "Rewriting",
    "phintys.passes": "Passes",
    "phintys.scalar": "Scalars",
    "phintys.native": "Native functions",
    "phintys.backends.jax": "JAX",
    "phintys.testing": "Testing",
    "phintys.compat": "Old programs",
}
"""Rooms -> the title of their chapter."""


@dataclass
class Entry:
    """Something that is documented.

    Attributes
    ----------
    names
        Its full names; the first is the one that programs should write.
    thing
        The function, class or value.
    """

    names: list[str]
    thing: Any


@dataclass
class Chapter:
    """A page of the reference.

    Attributes
    ----------
    title
        Its heading.
    place
        The module that it documents.
    entries
        What is documented here.
    elsewhere
        Names of the module that another chapter documents.
    constants
        Names of values without documentation of their own.
    """

    title: str
    place: str
    entries: list[Entry] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)

    @property
    def slug(self) -> str:
        """The name of the page."""
        return re.sub(r"\W+", "_", self.title.lower())


def chapters() -> list[Chapter]:
    """Return the chapters in their order.

    Examples
    --------
    >>> from tools.site.chapters import chapters
    >>> first = chapters()[0]
    >>> first.title, first.entries[0].names
    ('Phintys', ['phintys.Apply'])
    """
    seen: dict[int, Entry] = {}
    found = [_room("phintys", seen)]
    by_family = families()
    named = {family for group in ARRAYS.values() for family in group} | {"random"}
    others = tuple(family for family in by_family if family not in named)
    for title, group in {**ARRAYS, "Other functions of arrays": others}.items():
        names = [name for family in group for name in by_family[family].items()]
        chapter = Chapter(title, "phintys.tensor")
        _fill(chapter, ((_written_out(name), thing) for name, thing in names), seen)
        found.append(chapter)
    found.append(_room("phintys.tensor", seen, "Classes of arrays"))
    found += [_room(room, seen) for room in ROOMS if room != "phintys"]
    return [part for chapter in found if chapter.entries for part in _halves(chapter)]


def _written_out(name: str) -> str:
    """Return the name of a function without the short name of its namespace."""
    place, _, last = name.rpartition(".")
    return f"{PLACES[place]}.{last}"


def _room(room: str, seen: dict[int, Entry], title: str = "") -> Chapter:
    module = import_module(room)
    chapter = Chapter(title or ROOMS[room], room)
    names = sorted(name for name in module.__all__ if not name.startswith("_"))
    _fill(chapter, ((f"{room}.{name}", getattr(module, name)) for name in names), seen)
    return chapter


def _fill(chapter: Chapter, names: Iterable[tuple[str, Any]], seen: dict[int, Entry]) -> None:
    for name, thing in names:
        if inspect.ismodule(thing):
            continue
        if not callable(thing):
            chapter.constants.append(name)
        elif id(thing) not in seen:
            seen[id(thing)] = Entry([name], thing)
            chapter.entries.append(seen[id(thing)])
        elif any(entry is seen[id(thing)] for entry in chapter.entries):
            _add_name(seen[id(thing)], name)
        else:
            chapter.elsewhere.append(seen[id(thing)].names[0])


def _add_name(entry: Entry, name: str) -> None:
    """Add another name; the one that the thing itself has comes first."""
    own = getattr(entry.thing, "__name__", None) or getattr(entry.thing, "name", None)
    at = 0 if name.rpartition(".")[2] == own else len(entry.names)
    entry.names.insert(at, name)


_LONG = 150  # entries of a page


def _halves(chapter: Chapter) -> Iterator[Chapter]:
    """Yield a chapter, or its functions and its classes if it is long."""
    functions = [entry for entry in chapter.entries if not inspect.isclass(entry.thing)]
    classes = [entry for entry in chapter.entries if inspect.isclass(entry.thing)]
    if len(chapter.entries) < _LONG or not classes:
        yield chapter
        return
    yield Chapter(chapter.title, chapter.place, functions, chapter.elsewhere, chapter.constants)
    yield Chapter(f"{chapter.title}: classes", chapter.place, classes)
