"""The index of what is imported late: which module defines what, read from the source.

``make index`` writes it, without importing the package. Its names are written where they are used
anyway:

- in the decorators and calls that register something, such as ``@lowers(Dot)``;
- in ``late_rules(..., needs=[...])``, which says for which Ops rules are needed;
- in the imports for type checkers of packages that call ``late_names``, as far as ``__all__`` lists
  them, and in ``package.__all__ += [...]`` of a module above a package.
"""

from __future__ import annotations

import ast
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.imports import Module, read_modules

__all__ = ["INDEX", "index_of", "index_path", "tables_of", "top_statements"]

INDEX = "phintys._base.index"
"""The module that is written."""

_DECORATORS = {
    "CODE.register": "SCALAR_CODE",
    "batches": "BATCHING",
    "complex_function": "COMPLEX_FUNCTIONS",
    "converts": "JAX_RULES",
    "float_function": "FLOAT_FUNCTIONS",
    "integer_function": "INTEGER_FUNCTIONS",
    "lowers": "LOWERINGS",
    "outlined_function": "OUTLINED_FUNCTIONS",
    "pattern_of": "PATTERNS",
    "shared_constructor.register": "SHARED_CONSTRUCTORS",
    "transfers_to": "TRANSFERS",
}
"""Decorators -> the table of the things that their arguments name."""

_CALLS = {"register_backend": "BACKENDS", "register_mode": "MODES"}
"""The same for calls at the top level of a module."""

_NEEDING = {"late_rewriter": "REWRITERS", "late_rules": "RULES"}
"""Functions of what only some Ops need -> its table."""

_MEANING = {
    "BACKENDS": "Modules -> the backends that they register.",
    "BATCHING": "Modules -> the classes of Ops for which they have rules of batching.",
    "COMPLEX_FUNCTIONS": "Modules -> the scalar ops whose code for complex numbers they have.",
    "FACADES": "Packages -> the modules of their late names -> these names, or none for a module.",
    "FLOAT_FUNCTIONS": "Modules -> the scalar ops whose code for floats they have.",
    "INTEGER_FUNCTIONS": "Modules -> the scalar ops whose code for integers they have.",
    "JAX_RULES": "Modules -> the classes of Ops that they convert to functions of JAX.",
    "LOWERINGS": "Modules -> the classes of Ops that they lower to native code.",
    "MODES": "Modules -> the modes that they register, and other names of these.",
    "OUTLINED_FUNCTIONS": "Modules -> the outlined functions that they write, beside vector math.",
    "PATTERNS": "Modules -> the classes of Ops for which they have rules of sparsity patterns.",
    "REWRITERS": "Modules -> their rewriters of whole graphs -> the Ops that these need.",
    "RULES": "Modules -> their tuples of rules -> the Ops that these need.",
    "SCALAR_CODE": "Modules -> the classes of scalar ops whose code they have.",
    "SHARED_CONSTRUCTORS": "Modules -> the classes of values that they make shared variables of.",
    "TRANSFERS": "Modules -> the platforms to whose devices they transfer.",
}
"""The tables, with their documentation."""

_NESTED = {"FACADES", *_NEEDING.values()}

_WIDTH = 100

_Names = dict[str, str]


def index_path(root: Path) -> Path:
    """Return where the index of a checkout is."""
    return root.joinpath("src", *INDEX.split(".")).with_suffix(".py")


def index_of(modules: Mapping[str, Module]) -> str:
    """Return the text of the index of a checkout, given its modules by name."""
    tables = tables_of(modules)
    blocks = ['"""What is imported late, and from where. Written by `make index`."""']
    blocks += [_written(name, tables.get(name, {})) for name in sorted(_MEANING)]
    return "\n\n".join(blocks) + "\n"


def tables_of(modules: Mapping[str, Module]) -> dict[str, Mapping[str, str | _Names]]:
    """Return the tables of the index.

    Parameters
    ----------
    modules
        The modules of a checkout, by name.

    Raises
    ------
    ValueError
        Two modules register the same thing, or a name cannot be read without running code.
    """
    homes: dict[str, dict[str, str]] = defaultdict(dict)
    needs: dict[str, dict[str, _Names]] = defaultdict(dict)
    for name, module in modules.items():
        for table, key in _registered(module.tree):
            other = homes[table].setdefault(key, name)
            if other != name:
                msg = f"{table}: {key} is registered by {other} and by {name}."
                raise ValueError(msg)
        for table, target, needed in _needing(module.tree):
            needs[table].setdefault(name, {})[target] = " ".join(sorted(needed))
    tables: dict[str, Mapping[str, str | _Names]] = {**needs, "FACADES": _facades(modules)}
    return tables | {table: _by_home(home_of) for table, home_of in homes.items()}


# ---- what modules say ----------------------------------------------------------------------------


def top_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements that are run when a module is imported, those in blocks too."""
    waiting: list[ast.stmt] = tree.body[::-1]
    while waiting:
        statement = waiting.pop()
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inside = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.stmt)]
            waiting += inside[::-1]


def _registered(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what a module registers: the table, and a name."""
    for statement in top_statements(tree):
        match statement:
            case ast.FunctionDef(decorator_list=found) | ast.ClassDef(decorator_list=found):
                calls, tables = found, _DECORATORS
            case ast.Expr(value=ast.Call() as call):
                calls, tables = [call], _CALLS
            case _:
                continue
        for call in calls:
            if isinstance(call, ast.Call) and (table := tables.get(ast.unparse(call.func))):
                for key in filter(None, map(_name_of, call.args)):
                    yield table, key


def _name_of(node: ast.expr) -> str | None:
    """Return the name of what an argument is: a class, a function, or what a string names."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
    return None


def _needing(tree: ast.Module) -> Iterator[tuple[str, str, set[str]]]:
    """Yield the late rules of a module: the table, their name, and what they need."""
    values: dict[str, ast.expr] = {}
    for statement in top_statements(tree):
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=value)
                | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
            ):
                values[target] = value
    for target, value in values.items():
        match value:
            case ast.Call(func=ast.Name(id=called), keywords=[*_, ast.keyword("needs", needs)]):
                if called in _NEEDING:
                    yield _NEEDING[called], target, set(_listed(needs, values))


def _listed(node: ast.expr, values: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the names in a list, with those of lists of the module that are starred in it."""
    if not isinstance(node, ast.List | ast.Tuple):
        msg = f"{ast.unparse(node)}: write a list of Ops, classes of Ops and scalar ops."
        raise ValueError(msg)
    for element in node.elts:
        match element:
            case ast.Starred(value=ast.Name(id=name)):
                yield from _listed(values[name], values)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case _:
                msg = f"{ast.unparse(element)}: name an Op, a class of Ops or a scalar op."
                raise ValueError(msg)


# ---- what packages offer -------------------------------------------------------------------------


def _facades(modules: Mapping[str, Module]) -> dict[str, _Names]:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, module in modules.items():
        offered = set(_exported(module.tree))
        is_facade = any(map(_is_late_names, top_statements(module.tree)))
        bound = _imported(module, modules)
        for bound_name, (home, inner, is_starred, for_types) in bound.items():
            if is_facade and for_types and (is_starred or bound_name in offered):
                _offer(found[name], home, inner)
        for package, names in _added(module.tree):
            target = bound[package]
            for one in names:
                home, inner, _, _ = bound[one]
                _offer(found[f"{target[0]}.{package}" if target[1] else target[0]], home, inner)
    return {name: _joined(homes) for name, homes in sorted(found.items())}


def _offer(homes: dict[str, list[str]], home: str, inner: str | None) -> None:
    names = homes[home]
    if inner is not None:
        names.append(inner)


def _is_late_names(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Name(id="late_names"))):
            return True
    return False


def _exported(tree: ast.Module) -> list[str]:
    """Return the names that ``__all__`` lists."""
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List() as value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.List() as value)
            ):
                return ast.literal_eval(value)
    return []


def _added(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield the packages to whose ``__all__`` a module adds names, and these names."""
    for statement in top_statements(tree):
        match statement:
            case ast.AugAssign(
                target=ast.Attribute(value=ast.Name(id=package), attr="__all__"), value=value
            ):
                yield package, ast.literal_eval(value)


def _imported(
    module: Module, modules: Mapping[str, Module]
) -> dict[str, tuple[str, str | None, bool, bool]]:
    """Return the imports of a module: name -> (module, name in it, if starred, if for types).

    The name is ``None`` for a module.
    """
    found: dict[str, tuple[str, str | None, bool, bool]] = {}
    for statement in module.tree.body:
        for_types = isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)
        body = statement.body if isinstance(statement, ast.If) and for_types else [statement]
        for node in body:
            if not isinstance(node, ast.ImportFrom) or node.module is None or node.level:
                continue
            home = node.module
            for alias in node.names:
                name = alias.asname or alias.name
                if name == "*":
                    for one in _exported(modules[home].tree):
                        found[one] = home, one, True, for_types
                elif f"{home}.{alias.name}" in modules:
                    found[name] = f"{home}.{alias.name}", None, False, for_types
                else:
                    found[name] = home, alias.name, False, for_types
    return found


# ---- the text ------------------------------------------------------------------------------------


def _by_home(home_of: Mapping[str, str]) -> _Names:
    names: dict[str, list[str]] = defaultdict(list)
    for name, home in home_of.items():
        names[home].append(name)
    return _joined(names)


def _joined(names: Mapping[str, Iterable[str]]) -> _Names:
    return {home: " ".join(sorted(found)) for home, found in sorted(names.items())}


def _written(name: str, table: Mapping[str, str | _Names]) -> str:
    kind = "dict[str, dict[str, str]]" if name in _NESTED else "dict[str, str]"
    lines = [f"{name}: {kind} = {{"]
    for key in sorted(table):
        entry = table[key]
        if isinstance(entry, dict):
            lines += [f'    "{key}": {{', *_entries(entry, 8), "    },"]
        else:
            lines += _entries({key: entry}, 4)
    end = ["}"] if table else []
    lines[-1] += "" if table else "}"
    return "\n".join([*lines, *end, f'"""{_MEANING[name]}"""'])


def _entries(entries: Mapping[str, str], indent: int) -> Iterator[str]:
    """Yield lines that ruff leaves as they are."""
    before = " " * indent
    for key, names in entries.items():
        line = f'{before}"{key}": "{names}",'
        if len(line) <= _WIDTH:
            yield line
            continue
        deeper = f"{before}    "
        yield f'{before}"{key}": """'
        yield from textwrap.wrap(
            names, _WIDTH, initial_indent=deeper, subsequent_indent=deeper, break_on_hyphens=False
        )
        yield f'{deeper}""",'


if __name__ == "__main__":
    root = Path(__file__).resolve().parent.parent
    index_path(root).write_text(index_of(read_modules(root)), encoding="utf-8")
