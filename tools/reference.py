"""``python -m tools.reference``: pages of the array language, one a family, from docstrings.

The pages go to ``build/reference``: they are made with the documentation, not kept beside it. A
family is a module of ``phintys.tensor``.
"""

from __future__ import annotations

import inspect
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

from phintys.graph.op import Op
from phintys.scalar.row import Row
from phintys.tensor.elemwise import Elemwise
from tools.stubs import home_of

__all__ = ["families", "page", "write_pages"]

FOLDER = Path(__file__).parents[1] / "build" / "reference"

PLACES = {
    "pt": "phintys.tensor",
    "pt.fft": "phintys.tensor.fft",
    "pt.linalg": "phintys.tensor.linalg",
    "pt.random": "phintys.random",
    "pt.signal": "phintys.tensor.signal",
}
"""What a program calls a namespace -> its module."""

ELEMENTWISE = {
    "arithmetic": "Arithmetic",
    "casting": "Casts",
    "comparison": "Comparisons",
    "complex_parts": "Parts of complex numbers",
    "exponential": "Exponentials and logarithms",
    "hypergeometric": "Hypergeometric functions",
    "incomplete_beta": "Incomplete beta functions",
    "integrals": "Integrals, factorials",
    "logic": "Bits and truth",
    "rounding": "Rounding",
    "selection": "Selection",
    "special": "Special functions",
    "statistical": "Functions of statistics",
    "trigonometric": "Trigonometric functions",
}
"""The file of a scalar function's row -> the heading of its family."""


def families() -> dict[str, dict[str, Any]]:
    """Return the functions by family and by their full name.

    Examples
    --------
    >>> from tools.reference import families
    >>> found = families()
    >>> "pt.sinc" in found["Special functions"], "pt.fft.rfft" in found["fft"]
    (True, True)
    """
    found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for place, module in PLACES.items():
        namespace = import_module(module)
        for name in dir(namespace):
            thing = getattr(namespace, name)
            if not name.startswith("_") and _is_function(thing):
                found[_family(thing)][f"{place}.{name}"] = thing
    return dict(sorted(found.items()))


def _is_function(thing: Any) -> bool:
    return callable(thing) and not inspect.isclass(thing) and bool(inspect.getdoc(thing))


def _family(thing: Any) -> str:
    """Return the name of a function's family: that of its module, or of its package."""
    if isinstance(thing, Elemwise) and isinstance(thing.scalar_op, Row):
        return ELEMENTWISE[home_of(thing.scalar_op).rpartition(".")[2]]
    module = type(thing).__module__ if isinstance(thing, Op) else str(thing.__module__)
    family = module.removeprefix("phintys.").removeprefix("tensor.").split(".")[0]
    return family.replace("_", " ")


def page(family: str, functions: dict[str, Any]) -> str:
    """Return the page of a family, in Markdown.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from tools.reference import page
    >>> print(page("sets", {"pt.union1d": pt.union1d}).splitlines()[2])
    ## `pt.union1d(a, b)`
    """
    parts = [f"# {family[0].upper()}{family[1:]}"]
    for name, thing in functions.items():
        text = inspect.cleandoc(inspect.getdoc(thing) or "")
        parts.append(f"## `{name}{_signature(thing)}`\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def _signature(thing: Any) -> str:
    """Return how a function is called, without annotations."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))


def write_pages(folder: Path = FOLDER) -> list[Path]:
    """Write all pages and their index; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    index = ["# Reference", ""]
    for family, functions in families().items():
        path = folder / f"{family.lower().replace(',', '').replace(' ', '_')}.md"
        path.write_text(page(family, functions), encoding="utf-8")
        names = ", ".join(f"`{name}`" for name in functions)
        index.append(f"- [{family}]({path.name}): {names}")
        written.append(path)
    (folder / "index.md").write_text("\n".join(index) + "\n", encoding="utf-8")
    return [*written, folder / "index.md"]


if __name__ == "__main__":
    sys.stdout.write(f"{len(write_pages())} pages in {FOLDER}\n")
