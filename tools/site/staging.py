"""The folder of sources that Sphinx reads."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tools.site.navigation import Section, sections

__all__ = ["stage"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

OUTSIDE = {"CONTRIBUTING.md": "contributing.md"}
"""Pages that are not in docs/ -> their names among the sources."""

_LINK = re.compile(r"(!?\[[^]]*\]\()([^)#:\s]+)((?:#[^)]*)?\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def stage(source: Path, more: Iterable[str] = ()) -> None:
    """Write the pages, with the navigation, into a folder.

    Parameters
    ----------
    source
        The folder. What is there and unchanged stays as it is, so that Sphinx need not read it.
    more
        Sources that others write there, such as ``"gallery/index"``: they are entries of the
        navigation before the last two sections.
    """
    source.mkdir(parents=True, exist_ok=True)
    first = DOCS / "index.md"
    found = sections(first.read_text(encoding="utf-8"))
    pages = {path: path.name for path in sorted(DOCS.glob("*.md"))}
    pages |= {ROOT / name: new for name, new in OUTSIDE.items()}
    for path, name in pages.items():
        text = linked(path.read_text(encoding="utf-8"), path, source)
        if path == first:
            text = _first_page(text, found, list(more))
        write(source / name, text)
    for section in found:
        write(source / f"{_slug(section.title)}.md", _section_page(section))
    written = {*pages.values(), *(f"{_slug(section.title)}.md" for section in found)}
    remove_others(source, "*.md", written)


def write(path: Path, text: str) -> None:
    """Write a file, unless it has the text already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def remove_others(folder: Path, pattern: str, names: Iterable[str]) -> None:
    """Remove the files of an earlier build that are no longer written."""
    kept = set(names)
    for path in folder.glob(pattern):
        if path.name not in kept:
            path.unlink()


def linked(text: str, path: Path, source: Path) -> str:
    """Return a page whose links stay among the sources; copy the files that they name there.

    Raises
    ------
    FileNotFoundError
        A link leads to a file that does not exist.
    """

    def link(match: re.Match[str]) -> str:
        left, target, right = match.groups()
        return f"{left}{_place(path.parent / target, source)}{right}"

    pieces = _FENCE.split(text)  # code is left as it is
    pieces[::2] = [_LINK.sub(link, piece) for piece in pieces[::2]]
    return "".join(pieces)


def _place(target: Path, source: Path) -> str:
    """Return where the sources have a file of the project."""
    inside = target.resolve().relative_to(ROOT)
    if inside.parent.name == "docs" and inside.suffix == ".md":
        return inside.name
    if inside.name in OUTSIDE:
        return OUTSIDE[inside.name]
    if target.is_dir():
        target, inside = target / "README.md", inside / "README.md"
    name = f"{inside.name}.txt" if _is_page(inside) else inside.name
    copy = source / "files" / inside.with_name(name)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(target, copy)
    return copy.relative_to(source).as_posix()


def _is_page(path: Path) -> bool:
    """Return whether Sphinx would take a file for a page."""
    return path.suffix in {".md", ".rst"}


def _slug(title: str) -> str:
    return title.lower().replace(" ", "_")


def _name(page: str) -> str:
    """Return a page as lists of Sphinx name it."""
    return OUTSIDE.get(page.removeprefix("../"), page).removesuffix(".md")


def _toctree(pages: Iterable[str], *options: str) -> str:
    return "\n".join(["```{toctree}", *options, "", *pages, "```", ""])


def _first_page(text: str, found: list[Section], more: list[str]) -> str:
    """Return the first page, whose lists are the navigation instead."""
    text = text.partition(f"## {found[0].title}\n")[0]
    *pages, inside, changes = (_slug(section.title) for section in found)
    pages += [*more, inside, changes]
    return text + _toctree(pages, ":hidden:")


def _section_page(section: Section) -> str:
    parts = [section, *section.parts]
    text = [f"# {section.title}", ""]
    for part in parts:
        if part is not section:
            text += [f"## {part.title}", ""]
        if part.pages:
            text += [_toctree(map(_name, part.pages), ":maxdepth: 1")]
    return "\n".join(text)
