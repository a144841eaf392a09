"""Pictures of graphs, programs and profiles, and texts for other programs.

>>> import phintys.tensor as pt
>>> from phintys.inspect import to_mermaid
>>> print(to_mermaid(pt.dscalar("x") + 1).splitlines()[0])
flowchart TD
"""

from phintys.inspect.documents import GraphPage, graph_page
from phintys.inspect.drawings import Drawing, DrawnEdge, DrawnNode, DrawnPart
from phintys.inspect.graphs import draw_graph
from phintys.inspect.profiles import ProfilePage, profile_page
from phintys.inspect.programs import draw_program
from phintys.inspect.text_formats import to_dot, to_mermaid

__all__ = [
    "Drawing",
    "DrawnEdge",
    "DrawnNode",
    "DrawnPart",
    "GraphPage",
    "ProfilePage",
    "draw_graph",
    "draw_program",
    "graph_page",
    "profile_page",
    "to_dot",
    "to_mermaid",
]
