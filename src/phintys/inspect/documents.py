"""Pages of one HTML file that need no network, and the interactive pages of graphs."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys.inspect.graphs import draw_graph
from phintys.inspect.programs import draw_program

if TYPE_CHECKING:
    from phintys.inspect.drawings import Drawing


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


_LIBRARIES = ("cytoscape.min.js", "dagre.min.js")
"""Drawing and layout: https://js.cytoscape.org and https://github.com/dagrejs/dagre, both MIT."""

_SCRIPTS = (*_LIBRARIES, "common.js", "layout.js", "page.js")


class GraphPage(Page):
    """A page with pictures, which notebooks show.

    Parameters
    ----------
    title
        The title of the page.
    drawings
        Its pictures, one of which is shown at a time, or two side by side.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.inspect import graph_page
    >>> page = graph_page(pt.exp(pt.dvector("x")))
    >>> page
    <GraphPage of 1 picture, 3 nodes>
    >>> "Exp" in page.html
    True
    """

    def __init__(self, title: str, drawings: list[Drawing]) -> None:
        super().__init__(title)
        self.drawings = drawings

    @property
    def html(self) -> str:
        """The page: text, styles, scripts and data in one file."""
        data = {"drawings": [drawing.as_dict() for drawing in self.drawings]}
        return assembled("page.html", self.title, data, styles=("page.css",), scripts=_SCRIPTS)

    def __repr__(self) -> str:
        count = len(self.drawings)
        nodes = sum(len(drawing.nodes) for drawing in self.drawings)
        return f"<GraphPage of {count} picture{'s' * (count != 1)}, {nodes} nodes>"


def graph_page(what: Any, path: str | os.PathLike[str] | None = None) -> GraphPage:
    """Return an interactive page of a graph: zoom, search, and parts to fold.

    Parameters
    ----------
    what
        A variable, a sequence of variables, a FunctionGraph or a compiled function. The page of a
        function shows its graph as it was written and as it was rewritten, and, in native mode,
        its program: steps as boxes, callbacks into Python in red. Of a function that was compiled
        in a mode that is ``tracing()``, nodes tell which rule made them; of one that is profiled,
        colours show what takes time.
    path
        Where to write the page as an HTML file, which needs no network; nowhere by default.

    Returns
    -------
    GraphPage
        Notebooks show it.

    Raises
    ------
    ArgumentError
        ``what`` is something else.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.inspect import graph_page
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], pt.exp(x).sum())
    >>> [drawing.title for drawing in graph_page(f).drawings]
    ['as written', 'as rewritten', 'native program']
    """
    page = GraphPage(_title_of(what), _drawings_of(what))
    if path is not None:
        page.save(path)
    return page


def _title_of(what: Any) -> str:
    name = getattr(what, "name", None)
    return f"Graph of {name}" if isinstance(name, str) and name else "Graph"


def _drawings_of(what: Any) -> list[Drawing]:
    maker = getattr(what, "maker", None)
    if maker is None:
        return [draw_graph(what)]
    costs = None if what.profile is None else {one.node: one for one in what.profile.by_node()}
    written = [out.variable for out in maker.outputs]
    rewritten = draw_graph(what, "as rewritten", costs=costs, trace=maker.trace)
    found = [draw_graph(written, "as written"), rewritten]
    program_and_text = getattr(what.vm, "program_and_text", None)
    if program_and_text is not None:
        program, emitted = program_and_text()
        found.append(draw_program(program, emitted, "native program"))
    return found
