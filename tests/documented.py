"""What the documentation of a public function lacks: its form is NumPy's, in sections."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any

HEADING = re.compile(r"^(\w+)\n-+$", re.MULTILINE)


def sections_of(doc: str) -> dict[str, str]:
    """Return what stands before the first heading, as "", and the text below each heading."""
    pieces = HEADING.split(inspect.cleandoc(doc))
    return {"": pieces[0].strip(), **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def names_in(section: str) -> list[str]:
    """Return the names of the entries of a section: its lines that are not indented."""
    heads = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip(" *") for line in heads for name in line.split(":")[0].split(",")]


def lacks(function: Any) -> list[str]:
    """Return what the docstring of a function, or of a class that is called, lacks."""
    doc = inspect.getdoc(function)
    if not doc:
        return ["a docstring"]
    sections = sections_of(doc)
    found = []
    summary, *more = sections[""].splitlines()
    if not summary.endswith((".", ":")) or (more and more[0]):
        found.append("a summary of one line")
    wanted = arguments_of(function)
    described = names_in(sections.get("Parameters", ""))
    if sorted(described) != sorted(wanted):
        found.append(f"Parameters: {wanted}, not {described}")
    if not inspect.isclass(function):
        if returns_something(function) and not {"Returns", "Yields"} & sections.keys():
            found.append("Returns")
        if raises_itself(function) and "Raises" not in sections:
            found.append("Raises")
    if ">>> " not in sections.get("Examples", ""):
        found.append("Examples")
    return found


def arguments_of(function: Any) -> list[str]:
    """Return the names of the arguments."""
    return [name.strip("_") for name in inspect.signature(function).parameters if name != "self"]


def returns_something(function: Any) -> bool:
    annotation = inspect.signature(function).return_annotation
    return annotation not in (None, "None", "NoReturn", "Never")


def raises_itself(function: Any) -> bool:
    """Return whether a function has a ``raise`` of its own, not in a function inside of it."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    (definition,) = ast.parse(source).body
    waiting = list(ast.iter_child_nodes(definition))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) and node.exc is not None:
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
    return False
