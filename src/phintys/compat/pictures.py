"""``d3viz`` and ``pydotprint``: pictures by :mod:`phintys.inspect`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys.inspect import graph_page, to_dot

if TYPE_CHECKING:
    import os

_TEXTS = {"dot", "gv"}


def d3viz(
    fct: Any, outfile: str | os.PathLike[str], copy_deps: bool = True, *args: Any, **kwargs: Any
) -> None:
    """Write an interactive page of a graph.

    Parameters
    ----------
    fct
        A compiled function, a variable or several.
    outfile
        The HTML file to write. It contains all that it needs, so nothing is copied beside it.
    copy_deps, *args, **kwargs
        Options of the old page, which this one does not need.

    Raises
    ------
    ArgumentError
        ``fct`` is something else.
    """
    graph_page(fct, outfile)


def pydotprint(
    fct: Any,
    outfile: str | os.PathLike[str] | None = None,
    format: str = "png",
    return_image: bool = False,
    **options: Any,
) -> Any:
    """Write a picture of a graph by Graphviz, or its text.

    Parameters
    ----------
    fct
        A compiled function, a variable or several.
    outfile
        The file to write; by default ``phintys_graph`` with the format as its suffix. A name that
        ends in ``.dot`` or ``.gv`` gets Graphviz's text, which needs no other program.
    format
        A format of Graphviz, if the name of the file has no suffix.
    return_image
        Return the picture as an SVG text that notebooks show, and write nothing.
    **options
        Colours, clusters and the like of the old pictures, which these do not need.

    Raises
    ------
    ArgumentError
        ``fct`` is something else, or Graphviz's program ``dot`` is not installed.
    """
    text = to_dot(fct)
    if return_image:
        return _SVG(_drawn(text, "svg").decode())
    path = Path("phintys_graph" if outfile is None else outfile)
    if not path.suffix:
        path = path.with_suffix(f".{format}")
    kind = path.suffix[1:]
    path.write_bytes(text.encode() if kind in _TEXTS else _drawn(text, kind))
    return None


class _SVG(str):
    """A picture that notebooks show."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def _drawn(text: str, kind: str) -> bytes:
    program = shutil.which("dot")
    if program is None:
        msg = (
            "pydotprint draws with Graphviz's program dot, which is not installed. Install "
            "Graphviz, give a file that ends in .dot, or write an interactive page, which needs no "
            "other program: phintys.inspect.graph_page(f, 'graph.html')."
        )
        raise ArgumentError(msg)
    command = [program, f"-T{kind}"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)  # noqa: S603 - Graphviz
    if done.returncode:
        msg = f"Graphviz cannot draw the format {kind!r}: {done.stderr.decode().strip()}"
        raise ArgumentError(msg)
    return done.stdout
