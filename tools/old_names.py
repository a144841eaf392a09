"""``python -m tools.old_names FOLDER ...``: which old names of a program Phintys does not have.

Reads the files below folders without running them: what they import from ``theano``, ``aesara`` and
``pytensor``, and the dotted names that they look up in these modules. Each name is then looked up
in the compat module. A file in Python 2 is translated first, if the translator is installed.
"""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from phintys.compat import PACKAGES, install
from phintys.compat.script import translated_from_python2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def names_of(source: str, filename: str = "?") -> Iterator[str]:
    r"""Yield the dotted names of old packages that a module imports or looks up.

    Examples
    --------
    >>> from tools.old_names import names_of
    >>> sorted(set(names_of("import theano.tensor as T\ny = T.nnet.relu")))
    ['theano.tensor', 'theano.tensor.nnet', 'theano.tensor.nnet.relu']
    """
    tree = _parsed(source, filename)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from _of_import(node, known)
        elif isinstance(node, ast.ImportFrom) and not node.level and _is_old(node.module or ""):
            for alias in node.names:
                name = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
                if alias.name != "*":
                    known[alias.asname or alias.name] = str(name)
                yield str(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            dotted = _dotted(node)
            if dotted is not None and dotted[0] in known:
                yield ".".join((known[dotted[0]], *dotted[1:]))


def _of_import(node: ast.Import, known: dict[str, str]) -> Iterator[str]:
    for alias in node.names:
        if _is_old(alias.name):
            head = alias.name.partition(".")[0]
            known[alias.asname or head] = alias.name if alias.asname else head
            yield alias.name


def _is_old(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


def _dotted(node: ast.expr) -> tuple[str, ...] | None:
    """Return the parts of ``a.b.c``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else None


def _parsed(source: str, filename: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, filename)
        except SyntaxError as error:
            return ast.parse(translated_from_python2(source, filename, error), filename)


def fault_of(name: str) -> str | None:
    """Return why a dotted name cannot be looked up; ``None`` if it can.

    What is an attribute of something else than a module is not looked at.
    """
    head, *rest = name.split(".")
    found: Any = import_module(head)
    for part in rest:
        if not isinstance(found, ModuleType):
            return None
        try:
            found = getattr(found, part)
        except (AttributeError, ImportError) as error:
            return str(error)
    return None


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]


def main(arguments: list[str]) -> int:
    """Print the names that are not there, by the number of files; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tools.old_names", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", action="store_true", help="print the files of each name")
    options = parser.parse_args(arguments)
    for package in PACKAGES:
        install(package)
    faults: dict[str, str | None] = {}
    files: dict[str, list[str]] = {}
    totals: Counter[str] = Counter()
    for path in _files(options.folders):
        try:
            names = set(names_of(path.read_text(encoding="utf-8"), str(path)))
        except (SyntaxError, ValueError):
            totals["files that are not Python"] += 1
            continue
        if not names:
            continue
        for name in names - faults.keys():
            faults[name] = fault_of(name)
        missing = [name for name in names if faults[name] is not None]
        totals["files with old names"] += 1
        totals["of them with all names there"] += not missing
        for name in missing:
            files.setdefault(name, []).append(str(path))
    for name, places in sorted(files.items(), key=lambda item: (-len(item[1]), item[0])):
        _write(f"{len(places):4} {name}: {faults[name]}")
        if options.files:
            _write("".join(f"       {place}\n" for place in places).rstrip())
    missing = sum(fault is not None for fault in faults.values())
    _write(f"{len(faults)} names, {missing} of them not there")
    _write("\n".join(f"{what}: {count}" for what, count in totals.items()))
    return 1 if files else 0


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
