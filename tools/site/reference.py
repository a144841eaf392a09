"""The pages of the reference, from docstrings, in the language of Sphinx."""

# Only the environment of `make site` has numpydoc.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from numpydoc.docscrape_sphinx import SphinxDocString

from phintys.graph.type import Type
from tools.coverage.counting import read_names
from tools.site.badges import badges
from tools.site.chapters import Chapter, Entry, chapters
from tools.site.staging import remove_others, write

__all__ = ["write_reference"]


def write_reference(source: Path) -> None:
    """Write a page for each chapter, and their index."""
    found = chapters()
    known = badges()
    others = _names_of_others(found)
    for chapter in found:
        text = "\n".join(_page(chapter, known, others))
        write(source / "reference" / f"{chapter.slug}.rst", text + "\n")
    write(source / "reference" / "index.rst", "\n".join(_index(found)) + "\n")
    names = ("index.rst", *(f"{chapter.slug}.rst" for chapter in found))
    remove_others(source / "reference", "*.rst", names)


def _index(found: Iterable[Chapter]) -> Iterator[str]:
    yield from _heading("Reference", "=")
    yield (
        f"Every public name, from its docstring. {_badge('gradient')}: it has derivatives with "
        f"respect to floats. {_badge('native')}: it runs as native code for floats. "
        f"{_badge('python')}: a part of it is computed by NumPy or SciPy. The search finds names "
        "of NumPy and PyTensor, too."
    )
    yield from ("", ".. toctree::", "   :maxdepth: 1", "")
    yield from (f"   {chapter.slug}" for chapter in found)


def _page(
    chapter: Chapter, known: Mapping[int, tuple[str, ...]], others: Mapping[str, list[str]]
) -> Iterator[str]:
    yield from _heading(chapter.title, "=")
    yield f"Names of ``{chapter.place}``."
    yield ""
    if chapter.elsewhere:
        names = ", ".join(f":py:obj:`{name}`" for name in dict.fromkeys(chapter.elsewhere))
        yield from (f"Documented on other pages: {names}.", "")
    if chapter.constants:
        names = ", ".join(f"``{name}``" for name in chapter.constants)
        yield from (f"Values: {names}.", "")
    for entries in _together(chapter.entries):
        yield from _entry(entries, known.get(id(entries[0].thing), ()), others)


def _badge(mark: str) -> str:
    return f":badge-{mark}:`{mark}`"


def _heading(title: str, line: str) -> Iterator[str]:
    yield from (title, line * len(title), "")


def _together(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the entries, those with the same docstring in one list: types of one kind."""
    found: defaultdict[Any, list[Entry]] = defaultdict(list)
    for entry in entries:
        alike = isinstance(entry.thing, Type) or type(entry.thing).__name__ == "Several"
        found[type(entry.thing) if alike else id(entry)].append(entry)
    return list(found.values())


def _entry(
    entries: list[Entry], marks: Iterable[str], others: Mapping[str, list[str]]
) -> Iterator[str]:
    thing = entries[0].thing
    kind = "class" if inspect.isclass(thing) else "function"
    names = [(name, entry.thing) for entry in entries for name in entry.names]
    heads = [f"{name}{_signature(of)}" for name, of in names]
    called = dict.fromkeys(one for name, _ in names for one in others.get(name, ()))
    if called:
        yield ".. index::"
        yield from (f"   ! single: {one}" for one in called)
        yield ""
    yield f".. py:{kind}:: {heads[0]}"
    yield from (f"{' ' * (len(kind) + 8)}{head}" for head in heads[1:])
    yield ""
    body = [" ".join(map(_badge, marks)), ""]
    body += _docstring(thing)
    if kind == "class":
        body += _methods(thing)
    yield from (f"   {line}".rstrip() for line in body)
    yield ""


def _signature(thing: Any) -> str:
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return "()" if callable(thing) else ""
    parameters = [
        one.replace(annotation=_annotation(one.annotation), default=_default(one.default))
        for name, one in signature.parameters.items()
        if name != "self"
    ]
    returned = _annotation(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returned)).replace(
        "'", ""
    )


class _Text:
    """What a signature shows as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _annotation(annotation: Any) -> Any:
    """Return an annotation as a program writes it; none where it says nothing."""
    if annotation is inspect.Parameter.empty or annotation in {Any, "Any", "None", None}:
        return inspect.Parameter.empty
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _Text(re.sub(r"\b(?:typing|collections\.abc|phintys(?:\.\w+)*)\.", "", text))


def _default(default: Any) -> Any:
    if default is inspect.Parameter.empty or isinstance(default, str | int | float | tuple | None):
        return default
    text = repr(default)
    return _Text("..." if text.startswith("<") else text)


def _docstring(thing: Any) -> list[str]:
    """Return the sections of a docstring."""
    text = inspect.getdoc(thing) or ""
    name = getattr(thing, "__name__", None) or str(getattr(thing, "name", ""))
    first, _, rest = text.partition("\n\n")
    if name and first.startswith(f"{name}(") and first.endswith(")"):
        text = rest  # the call, as NumPy's functions begin theirs
    return str(SphinxDocString(text)).splitlines()


def _methods(cls: type) -> list[str]:
    """Return the public methods that a class, and none of its bases, defines."""
    lines: list[str] = []
    for name, member in sorted(vars(cls).items()):
        if name.startswith("_") or any(hasattr(base, name) for base in cls.__bases__):
            continue
        if isinstance(member, property):
            kind, thing, call = "property", member, ""
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            kind, thing = "method", getattr(cls, name)
            call = _signature(thing)
        else:
            continue
        if not inspect.getdoc(thing):
            continue
        lines += [f".. py:{kind}:: {name}{call}", ""]
        lines += [f"   {line}".rstrip() for line in _docstring(thing)]
        lines.append("")
    return lines


def _names_of_others(found: Iterable[Chapter]) -> dict[str, list[str]]:
    """Return the full names of entries -> what NumPy and PyTensor call them."""
    documented = {name for chapter in found for entry in chapter.entries for name in entry.names}
    names: defaultdict[str, list[str]] = defaultdict(list)
    for name in read_names():
        bare = name.name.removeprefix("pt.")
        for here in (name.here, bare):
            full = _documented(here.removeprefix("pt."), documented)
            if full:
                names[full] += [
                    *(f"np.{bare}; numpy.{bare}".split("; ") if "numpy" in name.peers else ()),
                    *([f"pytensor.tensor.{bare}"] if "pytensor" in name.peers else ()),
                ]
                break
    return dict(names)


def _documented(name: str, documented: set[str]) -> str:
    for place in ("phintys.tensor", "phintys", "phintys.tensor.linalg", "phintys.control"):
        if f"{place}.{name}" in documented:
            return f"{place}.{name}"
    return name if name in documented else ""
