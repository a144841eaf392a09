"""The navigation: the headings and lists of the first page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Section", "sections"]

_HEADING = re.compile(r"^(##+) (.+)$")
_ENTRY = re.compile(r"^- \[[^]]+\]\(([^)#]+)\)")

DOORS = "Where do you come from?"
"""The heading of a list whose pages another section has, too."""


@dataclass
class Section:
    """A heading of the first page.

    Attributes
    ----------
    title
        The heading.
    pages
        What its list links to, as it is written there.
    parts
        The headings below it.
    """

    title: str
    pages: list[str] = field(default_factory=list)
    parts: list[Section] = field(default_factory=list)


def sections(page: str) -> list[Section]:
    r"""Return the sections of the first page, each of which is an entry of the navigation.

    Parameters
    ----------
    page
        Its text, in Markdown.

    Examples
    --------
    >>> from tools.site import sections
    >>> sections("## Start\n\n- [Installation](installation.md): how\n")
    [Section(title='Start', pages=['installation.md'], parts=[])]
    """
    found: list[Section] = []
    current = Section("")
    for line in page.splitlines():
        if heading := _HEADING.match(line):
            marks, title = heading.groups()
            current = Section(title)
            (found if len(marks) == 2 else found[-1].parts).append(current)
        elif entry := _ENTRY.match(line):
            current.pages.append(entry[1])
    return [one for one in found if (one.pages or one.parts) and one.title != DOORS]
