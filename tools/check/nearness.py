"""How near each file of tests is to the modules that have changed."""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.imports import PACKAGE, Module, read_modules
from tools.index import tables_of

__all__ = ["distances", "test_files"]

_FACADES = {PACKAGE, f"{PACKAGE}.tensor"}
"""Packages that nearly all tests import: an import of them tells nothing of what is tested."""


def test_files(root: Path) -> list[Path]:
    """Return the files of tests, and of records, which are tests by their families."""
    tests = root / "tests"
    records = [path for path in (tests / "records").glob("*.py") if path.stem != "conftest"]
    return sorted({*tests.rglob("test_*.py"), *records})


def distances(root: Path, changed: Iterable[Path]) -> dict[Path, int]:
    """Return the number of imports between changed files and each file of tests that they reach.

    Parameters
    ----------
    root
        The checkout.
    changed
        Files in it, of the package or of its tests. Those of tests are at distance 0, and so are
        the tests in the folder of a file that is none, such as a ``conftest.py``.
    """
    changed = set(changed)
    modules = read_modules(root)
    steps = _steps(modules, changed)
    files = test_files(root)
    helpers = {path.parent for path in changed if path.suffix == ".py"} - {
        path.parent for path in files if path in changed
    }
    found: dict[Path, int] = {}
    for path in files:
        near = [steps[name] for name in _named_by(path, root, modules) if name in steps]
        if path in changed or path.parent in helpers:
            near.append(0)
        if near:
            found[path] = min(near)
    return found


def _steps(modules: Mapping[str, Module], changed: Iterable[Path]) -> dict[str, int]:
    """Return how many imports lead from each module to a changed one, where any do."""
    importers: defaultdict[str, list[str]] = defaultdict(list)
    tables = tables_of(modules)
    for name, module in modules.items():
        for imported in module.imports(modules):
            importers[imported.target].append(name)
        for home in _registered_for(module, tables):
            importers[home].append(name)
    paths = {module.path: name for name, module in modules.items()}
    found = {paths[path]: 0 for path in changed if path in paths}
    waiting = deque(found)
    while waiting:
        name = waiting.popleft()
        if name in _FACADES:
            continue
        for importer in importers[name]:
            if importer not in found:
                found[importer] = found[name] + 1
                waiting.append(importer)
    return found


def _registered_for(module: Module, tables: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Yield the modules that the index names in the tables that a module uses."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="index"), attr=table):
                yield from tables.get(table, ())


def _named_by(path: Path, root: Path, modules: Mapping[str, Module]) -> set[str]:
    """Return the modules that a file of tests imports by name, and the one that it mirrors."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = set(Module("tests", path, tree).written_imports(modules))
    inside = path.relative_to(root / "tests").with_suffix("").parts
    stem = inside[-1].removeprefix("test_")
    folder = ".".join((PACKAGE, *inside[:-1]))
    named |= {f"{folder}.{stem}", folder if stem == inside[-2:-1] else f"{folder}._{stem}"}
    return (named & modules.keys()) - _FACADES
