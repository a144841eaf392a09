"""Interactive pages of graphs: one HTML file that needs no network."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from phintys.inspect.documents import Page, assembled
from phintys.inspect.graphs import draw_graph
from phintys.inspect.programs import draw_program

if TYPE_CHECKING:
    from phintys.inspect.drawings import Drawing

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
