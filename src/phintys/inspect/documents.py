"""Pages of one HTML file that need no network, and that notebooks show."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any


class Page(ABC):
    """A page: text, styles, scripts and data in one file.

    Parameters
    ----------
    title
        Its title.
    """

    def __init__(self, title: str) -> None:
        self.title = title

    @property
    @abstractmethod
    def html(self) -> str:
        """The text of the file."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, and return its path."""
        path = Path(path)
        path.write_text(self.html, "utf-8")
        return path

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" srcdoc="{escape(self.html)}" '
            'style="width: 100%; height: 34em; border: 1px solid #8888"></iframe>'
        )


def assembled(
    name: str,
    title: str,
    data: dict[str, Any],
    *,
    styles: tuple[str, ...],
    scripts: tuple[str, ...],
) -> str:
    """Return a page that is made of assets.

    Parameters
    ----------
    name
        The file that has the marks ``{{title}}``, ``{{style}}``, ``{{data}}`` and ``{{scripts}}``.
    title
        The title of the page.
    data
        What the scripts show, as JSON.
    styles, scripts
        Further files.
    """
    assets = files("phintys.inspect") / "assets"

    def asset(name: str) -> str:
        return (assets / name).read_text("utf-8")

    parts = {
        "{{title}}": escape(title),
        "{{style}}": "\n".join(asset(one) for one in styles),
        "{{data}}": _inside_script(json.dumps(data, ensure_ascii=False)),
        "{{scripts}}": "\n".join(f"<script>{asset(one)}</script>" for one in scripts),
    }
    page = asset(name)
    for mark, text in parts.items():
        page = page.replace(mark, text)
    return page


def _inside_script(text: str) -> str:
    """Return JSON that no browser takes for the end of a script."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
