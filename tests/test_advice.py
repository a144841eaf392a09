"""What messages, docstrings and pages name is there: ``pt.stack``, ``phintys.gradient.grad``."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import phintys
import phintys.tensor as pt
from phintys._base.names import NOT_OFFERED_MODULES

PROJECT = Path(__file__).resolve().parent.parent
ROOTS = {"phintys": phintys, "pt": pt}
NAME = re.compile(r"(?<![\w./-])(phintys|pt)((?:\.[A-Za-z_]\w*)+)")
FILES = [
    *sorted((PROJECT / "src").rglob("*.py")),
    *sorted((PROJECT / "docs").glob("*.md")),
    PROJECT / "README.md",
]
# The key of metadata in native code, and a mistake that a docstring shows.
OTHERS = {"phintys.origin", "phintys.gard"}


def texts(path):
    """Return the strings in a module, or the whole text of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return [text]
    strings = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return [string for string in strings if isinstance(string, str)]


def is_in_a_text(parts, path):
    return any(match.groups() == parts for text in texts(path) for match in NAME.finditer(text))


def is_in_source(name):
    """Return whether a package lists a name, without an import: what it needs may be missing."""
    place, parts = PROJECT / "src", name.split(".")
    while parts and (place / parts[0]).is_dir():
        place /= parts.pop(0)
    listed = (place / "__init__.py").read_text(encoding="utf-8")
    return not parts or f'"{parts[0]}"' in listed or (place / f"{parts[0]}.py").exists()


def is_there(root, path):
    if (root + path).startswith("phintys.bridge."):
        return is_in_source(root + path)
    thing, name = ROOTS[root], ROOTS[root].__name__
    for part in path[1:].split("."):
        name = f"{name}.{part}"
        if not hasattr(thing, part):
            try:
                thing = importlib.import_module(name)
            except ImportError:
                return False
        else:
            thing = getattr(thing, part)
    return True


def test_names_in_texts():
    found = {}
    for path in FILES:
        for match in NAME.finditer(path.read_text(encoding="utf-8")):
            found.setdefault(match.groups(), set()).add(path)
    missing = {
        "".join(parts): sorted(path.relative_to(PROJECT).as_posix() for path in named)
        for parts, paths in found.items()
        if "".join(parts) not in NOT_OFFERED_MODULES and not is_there(*parts)
        # Most names in code are there: to parse all files only to leave code out takes seconds.
        if (named := [path for path in paths if is_in_a_text(parts, path)])
    }
    assert missing.keys() == OTHERS, missing
