"""Smaller pages: styles without rules that no page uses, fonts with the icons that are there.

The theme comes with all of Bootstrap and of Font Awesome, of which the pages use a fifth.
"""

# Only the environment of `make site` has fontTools with support of WOFF2.
# pyright: reportMissingImports=false, reportUnknownVariableType=false

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["purged", "slim", "without_unread"]

_NESTED = ("@media", "@supports", "@layer", "@container")
_PIECE = re.compile(
    r"/\*.*?\*/|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])*'|\\.|[{};()\[\],]|[^\"'\\/{};()\[\],]+|/",
    re.DOTALL,
)
_NAME = re.compile(r"[.#]((?:\\.|[\w-])+)")
_GROUP = re.compile(r"\([^()]*\)|\[[^\]]*\]")
_ICON = re.compile(r"\\([ef][0-9a-f]{3})\b")
_SCRIPT_OF_ICONS = re.compile(
    r"\s*<(?:script|link)[^>]*scripts/fontawesome\.js[^>]*>(?:</script>)?"
)


def slim(html: Path) -> None:
    """Remove what no page of a site uses from its styles and fonts.

    Parameters
    ----------
    html
        The folder of the site.
    """
    for template in html.glob("_static/*.html"):  # of the theme, not a page
        template.unlink()
    pages = sorted(html.rglob("*.html"))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        # It draws icons of brands, of which there are none; the others are a font.
        page.write_text(_SCRIPT_OF_ICONS.sub("", text), encoding="utf-8")
    for script in html.rglob("fontawesome.js*"):
        script.unlink()
    words: set[str] = set()
    for page in [*pages, *html.rglob("*.js")]:
        text = page.read_text(encoding="utf-8")
        parts = re.findall(r'(?:class|id)="([^"]*)"', text) if page.suffix == ".html" else [text]
        words.update(word for part in parts for word in re.findall(r"[\w-]+", part))
    styles = {path: purged(path.read_text(encoding="utf-8"), words) for path in html.rglob("*.css")}
    read = [page.read_text(encoding="utf-8") for page in [*pages, *html.rglob("*.js")]]
    styles = dict(zip(styles, without_unread(list(styles.values()), read), strict=True))
    for path, text in styles.items():
        path.write_text(text, encoding="utf-8")
    icons = {int(code, 16) for text in styles.values() for code in _ICON.findall(text)}
    for font in html.rglob("fa-*.woff2"):
        _subset(font, icons)


def purged(style: str, words: Iterable[str]) -> str:
    """Return a style sheet without the selectors of classes and ids that do not occur.

    Parameters
    ----------
    style
        The text of the sheet.
    words
        The classes and ids of pages, and the words of scripts, which may add some.

    Examples
    --------
    >>> from tools.site.slimming import purged
    >>> purged(".a, .b > p { color: red } @media print { .b { color: blue } }", {"a"})
    '.a{color: red}'
    """
    known = set(words)
    return "".join(_kept(style, known))


def _kept(style: str, known: set[str]) -> Iterator[str]:
    for head, body in _rules(style):
        if body is None:
            yield f"{head};"
        elif head.startswith(_NESTED):
            inside = "".join(_kept(body, known))
            if inside:
                yield f"{head}{{{inside}}}"
        elif head.startswith("@"):
            yield f"{head}{{{body}}}"
        else:
            selectors = [one for one in _split(head, ",") if _occurs(one, known)]
            if selectors:
                yield f"{','.join(selectors)}{{{body}}}"


def _occurs(selector: str, known: set[str]) -> bool:
    """Return whether pages can have what a selector names; what is in brackets counts as there."""
    outside, before = selector, ""
    while outside != before:
        outside, before = _GROUP.sub("", outside), outside
    return all("\\" in name or name in known for name in _NAME.findall(outside))


def _rules(style: str) -> Iterator[tuple[str, str | None]]:
    """Yield the head and body of each rule; the body of statements such as @import is ``None``."""
    head: list[str] = []
    body: list[str] = []
    depth = brackets = 0
    for piece in _PIECE.findall(style):
        if piece.startswith("/*"):
            continue
        brackets += (piece in "([") - (piece in ")]")
        if piece == "{" and not brackets:
            depth += 1
            if depth == 1:
                continue
        elif piece == "}" and not brackets:
            depth -= 1
            if depth == 0:
                yield "".join(head).strip(), "".join(body).strip()
                head, body = [], []
                continue
        elif piece == ";" and depth == 0 and not brackets:
            yield "".join(head).strip(), None
            head = []
            continue
        (body if depth else head).append(piece)


def _split(text: str, mark: str) -> list[str]:
    """Return the parts of a text between marks that are not in brackets or quotes."""
    parts = [""]
    brackets = 0
    for piece in _PIECE.findall(text):
        brackets += (piece in "([") - (piece in ")]")
        if piece == mark and not brackets:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts if part.strip()]


def without_unread(styles: list[str], others: Iterable[str] = ()) -> list[str]:
    """Return style sheets without the custom properties that none of them reads.

    Parameters
    ----------
    styles
        The texts of the sheets.
    others
        Texts of pages and scripts: a property that they name is kept.

    Examples
    --------
    >>> from tools.site.slimming import without_unread
    >>> without_unread([":root{--a: 1;--b: var(--a)}"])
    ['']
    """
    named = {name for text in others for name in re.findall(r"--[\w-]+", text)}
    while True:
        read = named.union(*(re.findall(r"var\(\s*(--[\w-]+)", text) for text in styles))
        fewer = ["".join(_reading(text, read)) for text in styles]
        if fewer == styles:
            return styles
        styles = fewer


def _reading(style: str, read: set[str]) -> Iterator[str]:
    for head, body in _rules(style):
        if body is None:
            yield f"{head};"
        elif head.startswith(_NESTED):
            inside = "".join(_reading(body, read))
            if inside:
                yield f"{head}{{{inside}}}"
        elif head.startswith("@"):
            yield f"{head}{{{body}}}"
        else:
            kept = [
                part
                for part in _split(body, ";")
                if not part.startswith("--") or part.partition(":")[0].strip() in read
            ]
            if kept:
                yield f"{head}{{{';'.join(kept)}}}"


def _subset(font: Path, icons: set[int]) -> None:
    """Leave the icons with these code points in a font."""
    from fontTools import subset

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # Sphinx shows what others say
    options = subset.Options(flavor="woff2", layout_features=[])
    whole = subset.load_font(str(font), options)
    part = subset.Subsetter(options)
    part.populate(unicodes=icons)
    part.subset(whole)
    subset.save_font(whole, str(font), options)
