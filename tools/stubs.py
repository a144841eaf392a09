"""Stub files: the names that modules take from the table of scalar ops, for type checkers.

``make stubs`` writes them. A function is one row of the table; the modules below name it at run
time, which type checkers cannot see.
"""

from __future__ import annotations

import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from types import ModuleType

from phintys.scalar.row import Row
from phintys.tensor.elemwise import Elemwise

__all__ = ["STUBBED", "home_of", "stub_of", "stub_path"]

STUBBED = (
    "phintys.scalar.table",
    "phintys.tensor.functions",
    "phintys.tensor.inplace",
    "phintys.tensor.special",
)
"""The modules that have a stub file."""

# What other modules import, and is not for users; and names with types of their own.
_MORE = {
    "phintys.scalar.table": ["SCALAR_OPS"],
    "phintys.tensor.functions": ["ELEMENTWISE"],
}
_TYPES = {"SCALAR_OPS": "dict[str, Row]", "ELEMENTWISE": "dict[str, Elemwise]"}


def stub_path(module: ModuleType) -> Path:
    """Return where the stub file of a module is."""
    return Path(str(module.__file__)).with_suffix(".pyi")


def stub_of(module: ModuleType) -> str:
    """Return the text of the stub file of a module."""
    names = sorted(module.__all__, key=_natural)
    imports: defaultdict[str, list[str]] = defaultdict(list)
    declared: list[str] = []
    for name in sorted({*names, *_MORE.get(module.__name__, ())}, key=_natural):
        thing = getattr(module, name)
        if isinstance(thing, Row):
            imports[home_of(thing)].append(name)
        elif isinstance(thing, Elemwise):
            imports["phintys.tensor.elemwise"] = ["Elemwise"]
            declared.append(f"{name}: Elemwise")
        elif name in _TYPES:
            declared.append(f"{name}: {_TYPES[name]}")
            cls = Row if "Row" in _TYPES[name] else Elemwise
            imports[cls.__module__] = [cls.__name__]
        else:
            imports[thing.__module__].append(name)
    quoted = [f'"{name}"' for name in names]
    blocks = [
        "# Written by `make stubs`, from the rows in phintys/scalar/.",
        "\n".join(
            f"from {home} import {_listed('(', imports[home], ')')}" for home in sorted(imports)
        ),
        f"__all__ = {_listed('[', quoted, ']')}",
        "\n".join(declared),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def home_of(row: Row) -> str:
    """Return the name of the module that makes a row."""
    return str(row._home["__name__"])


def _natural(name: str) -> tuple[int, list[object]]:
    """Return the key of ruff's order: constants, classes, functions; and log2 before log10."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _listed(left: str, names: list[str], right: str) -> str:
    if len(names) == 1 and left == "(":
        return names[0]
    return "\n".join([left, *(f"    {name}," for name in names), right])


if __name__ == "__main__":
    for name in STUBBED:
        module = import_module(name)
        stub_path(module).write_text(stub_of(module), encoding="utf-8")
