"""Profiles, dumps and pictures of functions, and graphs as strings, with their old signatures."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phintys._base.config import config
from phintys._base.errors import ArgumentError
from phintys.compat import printed
from phintys.compile import Profile
from phintys.compile.profile import keep
from phintys.graph import printing
from phintys.inspect import graph_page, to_dot

if TYPE_CHECKING:
    import os

__all__ = ["ProfileStats", "debugprint", "function_dump", "get_node_by_id", "profile_stats"]


class ProfileStats(Profile):
    """A profile for ``function(..., profile=)``; the old options have no effect.

    Reports are printed when they are asked for, not at exit: ``f.profile.summary()``.
    """

    def __init__(
        self,
        atexit_print: bool = True,
        flag_time_thunks: bool | None = None,
        gpu_checks: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(options.get("name"))

    def summary(
        self,
        file: Any = None,
        n_ops_to_print: int = 20,
        n_apply_to_print: int = 20,
    ) -> str:
        """Print the report, to ``sys.stderr`` by default, and return it."""
        text = super().summary(max(n_ops_to_print, n_apply_to_print))
        print(text, file=sys.stderr if file is None else file)
        return text


def profile_stats(profile: Any, name: str | None) -> Any:
    """Convert the ``profile`` argument of ``function``, so that its summaries are printed.

    Parameters
    ----------
    profile
        ``True``, a name, a profile, or ``None`` for what ``config.profile`` says.
    name
        The name of the function.
    """
    if profile is None and config.profile:
        return keep(ProfileStats(name=name))
    if profile is True or isinstance(profile, str):
        return ProfileStats(name=name if profile is True else profile)
    return profile


def function_dump(
    filename: str | os.PathLike[str],
    inputs: Any,
    outputs: Any = None,
    mode: Any = None,
    updates: Any = None,
    givens: Any = None,
    no_default_updates: bool = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: Any = None,
    on_unused_input: Any = None,
    extra_tag_to_remove: Any = None,
) -> None:
    """Write the arguments of :func:`function` to a file: ``function(**pickle.load(file))``.

    ``extra_tag_to_remove`` has no effect: no tag of a variable is written.
    """
    arguments = {
        "inputs": inputs,
        "outputs": outputs,
        "mode": mode,
        "updates": updates,
        "givens": givens,
        "no_default_updates": no_default_updates,
        "accept_inplace": accept_inplace,
        "name": name,
        "rebuild_strict": rebuild_strict,
        "allow_input_downcast": allow_input_downcast,
        "profile": profile,
        "on_unused_input": on_unused_input,
    }
    with Path(filename).open("wb") as file:
        pickle.dump(arguments, file, protocol=-1)


def debugprint(
    obj: Any, depth: int = -1, print_type: bool = False, *arguments: Any, **options: Any
) -> Any:
    """Print graphs as trees; see :func:`phintys.debugprint`.

    The argument after ``print_type`` is a file, or, as in newer packages, ``print_shape``, which
    the file follows. ``ids`` is an older name of ``id_type``.
    """
    if arguments and not isinstance(arguments[0], bool):
        arguments = (False, *arguments)
    if options.get("ids") is not None:
        options["id_type"] = options["ids"]
    options.pop("ids", None)
    names = ("print_shape", "file", "id_type", "stop_on_name", "done", "print_storage", "used_ids")
    given = dict(zip(names, arguments, strict=False)) | options
    given["depth"], given["print_type"] = depth, print_type
    file = given.pop("file", None)
    text = printed.debug_text(obj, given)
    if text is not None:
        return printing.write_text(text, file)
    return printing.debugprint(obj, depth, print_type, *arguments, **options)


def get_node_by_id(graphs: Any, target_var_id: str, id_types: Any = "CHAR") -> Any:
    """Return the node, or the leaf, that ``debugprint`` gives an identifier; ``None`` if none."""
    ids: dict[Any, str] = {}
    debugprint(graphs, file="str", used_ids=ids, id_type=id_types)
    return next((node for node, text in ids.items() if text == target_var_id), None)


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
