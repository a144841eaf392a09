"""Which modules of the package import which, read from their sources."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PACKAGE", "Import", "Module", "read_modules", "walk"]

PACKAGE = "phintys"
"""The package, below ``src/``."""


@dataclass(frozen=True)
class Import:
    """One imported module, named in full, and where the statement stands."""

    target: str
    line: int
    in_function: bool = False
    for_types: bool = False
    is_late: bool = False


@dataclass(frozen=True)
class Module:
    """A module of the package, or a file of tests, with its source."""

    name: str
    path: Path
    tree: ast.Module
    has_late: bool = True
    """Whether its text may have a call of ``LateModule``."""

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.path.stem == "__init__" else self.name.rpartition(".")[0]

    def imports(self, known: Container[str]) -> Iterator[Import]:
        """Yield the imports of this module; ``known`` names all modules of the tree."""
        within = (ast.AST,) if self.has_late else _STATEMENTS
        for node, in_function, for_types in walk(self.tree, within):
            match node:
                case ast.Import() | ast.ImportFrom():
                    targets, is_late = self._targets(node, known), False
                case ast.Call(func=ast.Name(id="LateModule")):
                    targets, is_late = late_targets(node), True
                case _:
                    continue
            for target in dict.fromkeys(targets):
                yield Import(target, node.lineno, in_function, for_types, is_late)

    def names_for_types(self, known: Container[str]) -> Iterator[tuple[str, str]]:
        """Yield the names that imports for type checkers bind, and what they are."""
        for node, _, for_types in walk(self.tree, _STATEMENTS):
            if for_types and isinstance(node, ast.Import | ast.ImportFrom):
                for alias, target in zip(node.names, self._targets(node, known), strict=True):
                    is_whole = isinstance(node, ast.Import) or target in known
                    whole = target if is_whole else f"{target}.{alias.name}"
                    yield alias.asname or alias.name, whole

    def written_imports(self, known: Container[str]) -> Iterator[str]:
        """Yield the modules in the import statements of this module."""
        for node, _, _ in walk(self.tree, _STATEMENTS):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield from self._targets(node, known)

    def _targets(self, node: ast.Import | ast.ImportFrom, known: Container[str]) -> list[str]:
        if isinstance(node, ast.Import):
            return [alias.name for alias in node.names]
        base = node.module or ""
        if node.level:
            parts = self.package.split(".")
            start = ".".join(parts[: len(parts) - node.level + 1])
            base = f"{start}.{base}".rstrip(".")
        inside = [f"{base}.{alias.name}" for alias in node.names]
        return [name if name in known else base for name in inside]


def walk(
    tree: ast.AST, within: tuple[type[ast.AST], ...] = (ast.AST,)
) -> Iterator[tuple[ast.AST, bool, bool]]:
    """Yield (node, whether in a function, whether for type checkers only), depth first.

    Parameters
    ----------
    tree
        Where to begin; it is not yielded itself.
    within
        The kinds of nodes to look at, and into.
    """
    waiting = [(tree, False, False)]
    while waiting:
        node, in_function, for_types = waiting.pop()
        if node is not tree:
            yield node, in_function, for_types
        inside = in_function or isinstance(node, _FUNCTIONS)
        typed: list[ast.stmt] = []
        if isinstance(node, ast.If) and _is_for_types(node.test):
            typed = node.body
        children = [
            (child, inside, for_types or child in typed)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, within)
        ]
        waiting += reversed(children)


def _is_for_types(test: ast.expr) -> bool:
    """Return whether a condition is ``TYPE_CHECKING`` or ``typing.TYPE_CHECKING``."""
    return "TYPE_CHECKING" in {getattr(test, "id", None), getattr(test, "attr", None)}


_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What import statements are in."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def late_targets(call: ast.Call) -> list[str]:
    """Return the module that a call of ``LateModule`` names."""
    match call.args:
        case [ast.Constant(value=str(name))]:
            return [name]
    msg = f"line {call.lineno}: {ast.unparse(call)}: name the module, as a str"
    raise AssertionError(msg)


def read_modules(root: Path) -> dict[str, Module]:
    """Return the modules of a checkout by their full names."""
    modules: dict[str, Module] = {}
    source = root / "src"
    for path in sorted((source / PACKAGE).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        modules[name] = Module(name, path, ast.parse(text), "LateModule(" in text)
    return modules
