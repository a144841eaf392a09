"""Links inside of a built site: files and anchors that do not exist, and what the network has."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["dead_links", "weight"]

_LOADING = {"img": "src", "script": "src", "iframe": "src", "source": "src"}
"""Elements -> the attribute that names what a browser loads; of links, styles and icons."""

_IN_STYLES = re.compile(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)")

_LOADED_LINKS = {"stylesheet", "icon", "preload"}


@dataclass
class _Page(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(filter(None, (values.get("id"), values.get("name"))))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in _LOADING and _LOADING[tag] in values:
            self.loaded.append(values[_LOADING[tag]])
        elif tag == "link" and _LOADED_LINKS & set(values.get("rel", "").split()):
            self.loaded.append(values.get("href", ""))


def dead_links(html: Path) -> list[str]:
    """Return the links of a site that lead nowhere, each as a line.

    Parameters
    ----------
    html
        The folder of the site.

    Returns
    -------
    list of str
        Links inside of the site to files and anchors that do not exist, and scripts, styles and
        pictures that would be loaded from the network.
    """
    pages = {path: _read(path) for path in sorted(html.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        name = path.relative_to(html)
        found += [
            f"{name}: {link} is loaded from the network"
            for link in page.loaded
            if urlsplit(link).scheme in {"http", "https"} or link.startswith("//")
        ]
        for link in [*page.links, *page.loaded]:
            if problem := _problem(link, path, pages):
                found.append(f"{name}: {link} {problem}")
    return found


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _problem(link: str, path: Path, pages: dict[Path, _Page]) -> str:
    """Return why a link inside of the site leads nowhere, or ""."""
    parts = urlsplit(link)
    if parts.scheme or link.startswith("//"):
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "does not exist"
    page = pages.get(target)
    anchor = unquote(parts.fragment)
    if page is not None and anchor and anchor not in page.anchors:
        return "has no such anchor"
    return ""


def weight(page: Path) -> dict[Path, int]:
    """Return the bytes of a page and of each file that a browser loads for it.

    Parameters
    ----------
    page
        The page. Fonts of its styles are counted, too, though a browser loads those in use only.
    """
    found: dict[Path, int] = {}
    pending = [page.resolve()]
    while pending:
        path = pending.pop()
        if path in found or not path.is_file():
            continue
        found[path] = path.stat().st_size
        if path == page.resolve():
            named = _read(path).loaded
        elif path.suffix == ".css":
            style = path.read_text(encoding="utf-8")
            named = [one for pair in _IN_STYLES.findall(style) for one in pair if one]
        else:
            continue
        pending += [
            (path.parent / unquote(urlsplit(one).path)).resolve()
            for one in named
            if not urlsplit(one).scheme
        ]
    return found


if __name__ == "__main__":
    problems = dead_links(Path(sys.argv[1]))
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    sys.exit(bool(problems))
