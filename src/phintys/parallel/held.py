"""What a callable holds that calls can change: shared variables, and functions that store values.

Tasks must not see each other's changes of these, nor the caller theirs.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NoReturn, cast

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.compile.executor import Function
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import graph_inputs
from phintys.graph.type import Type
from phintys.graph.variable import Variable
from phintys.random.bits.states import RandomType
from phintys.random.generators.numpy_generators import RandomGeneratorType

_OF_PYTHON = {*sys.stdlib_module_names, *sys.builtin_module_names}

_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of packages that are installed."""

_MAKERS = {"__new__", "__init__", "__post_init__"}
"""Methods that a task does not call of an object that it is given."""

_OF_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"}
"""Instructions that name a global."""


def is_generator(type_: Type) -> bool:
    """Return whether values of a Type are states of generators.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.parallel.held import is_generator
    >>> is_generator(phintys.random.shared_rng(1).type), is_generator(pt.dvector)
    (True, False)
    """
    return isinstance(type_, RandomType | RandomGeneratorType)


def calls_change_nothing(call: Any) -> bool:
    """Return whether any number of threads may call the same object, with the same results.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.parallel.held import calls_change_nothing
    >>> x, total = pt.dscalar("x"), phintys.shared(0.0)
    >>> calls_change_nothing(phintys.function([x], x * total))
    True
    >>> calls_change_nothing(phintys.function([x], updates={total: total + x}))
    False
    """
    if isinstance(call, Function):
        draws = any(is_generator(one.type) for one in call.input_storage if one.value is not None)
        return not (call.maker.updated or draws)
    return not holds_values(call)


def holds_values(thing: Any) -> bool:
    """Return whether a shared variable, or a function that stores values, is within reach.

    Raises
    ------
    ArgumentError
        It is reached only through a module, or through a global that a method names: neither
        modules nor classes are copied.

    Examples
    --------
    >>> import phintys
    >>> from phintys.parallel.held import holds_values
    >>> total = phintys.shared(0.0)
    >>> holds_values({"model": [total]}), holds_values({"model": [1.0]})
    (True, False)
    """
    found = False
    seen: dict[tuple[int, bool], Any] = {}  # it keeps what it has, so that ids remain unique
    waiting: list[tuple[Any, str]] = [(thing, "")]
    while waiting:
        one, method = waiting.pop()
        key = id(one), bool(method)
        if key in seen or isinstance(one, str | bytes | int | float | complex | None):
            continue
        seen[key] = one
        if _is_stored(one):
            found = True
            if method:
                _refuse(f"the method {method}", str(one), "Keep it as an attribute of the object")
            continue
        if isinstance(one, type):
            if not is_of_library(one.__module__):
                waiting += _reached_by_methods(one)
            continue
        if not is_of_library(type(one).__module__):
            waiting += _reached_by_methods(type(one), without=_MAKERS)
        waiting += [(part, method) for part in _parts(one)]
    return found


def _is_stored(thing: Any) -> bool:
    if isinstance(thing, Function):
        return any(container.value is not None for container in thing.input_storage)
    if isinstance(thing, Variable):
        return any(isinstance(each, SharedVariable) for each in graph_inputs([thing]))
    return False


def _parts(thing: Any) -> Iterator[Any]:
    """Yield what an object refers to, as far as it is of the user's program."""
    match thing:
        case FunctionType():
            yield from _of_function(thing)
        case MethodType():
            yield from (thing.__func__, thing.__self__)
        case partial():
            yield from (thing.func, thing.args, thing.keywords)
        case dict():
            yield from cast("dict[Any, Any]", thing).values()
        case list() | tuple() | set() | frozenset() | deque():
            yield from cast("list[Any]", thing)
        case np.ndarray() if thing.dtype == object:
            yield from thing.flat
        case ModuleType() | Function() | Variable() | Apply() | FunctionGraph() | Op() | Type():
            return
        case _:
            yield from getattr(thing, "__dict__", {}).values()
            for base in type(thing).__mro__:
                slots = base.__dict__.get("__slots__", ())
                for name in (slots,) if isinstance(slots, str) else slots:
                    yield getattr(thing, name, None)


def _of_function(function: FunctionType) -> Iterator[Any]:
    if is_of_library(function.__module__):
        return
    yield from (cell_value(cell) for cell in function.__closure__ or ())
    yield from (function.__defaults__, function.__kwdefaults__, function.__dict__)
    yield from globals_of(function).values()
    attributes = names_in(function.__code__)
    for name, module in globals_of(function).items():
        if not isinstance(module, ModuleType) or is_of_library(module.__name__):
            continue
        for attribute in attributes & vars(module).keys():
            if _is_stored(vars(module)[attribute]):
                remedy = f"Import it by its name, 'from {module.__name__} import {attribute}'"
                _refuse(function.__qualname__, f"{name}.{attribute}", remedy)


def _reached_by_methods(cls: type, without: Container[str] = ()) -> Iterator[tuple[Any, str]]:
    """Yield the methods of a class as functions, each with its name."""
    for base in cls.__mro__:
        if is_of_library(base.__module__):
            continue
        for name, member in vars(base).items():
            if name in without:
                continue
            for part in (member, *(getattr(member, at, None) for at in ("__func__", "fget"))):
                if isinstance(part, FunctionType):
                    yield part, f"{base.__name__}.{name}"


def _refuse(who: str, what: str, remedy: str) -> NoReturn:
    msg = (
        f"parallel.map: {who} uses {what}, which stores values. Each task needs a copy of these, "
        f"and modules and classes are not copied. {remedy}, or give it to the function as an "
        "argument, by functools.partial."
    )
    raise ArgumentError(msg)


def cell_value(cell: Any) -> Any:
    """Return the content of a cell of a closure; ``None`` if it has none yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def globals_of(function: FunctionType) -> Mapping[str, Any]:
    """Return the globals that a function, or one inside of it, names.

    Examples
    --------
    >>> from phintys.parallel.held import globals_of
    >>> list(globals_of(globals_of))
    ['_global_names']
    """
    space = function.__globals__
    names = _global_names(function.__code__)
    return {name: space[name] for name in sorted(names) if name in space}


def _global_names(code: CodeType) -> set[str]:
    names = {one.argval for one in dis.get_instructions(code) if one.opname in _OF_GLOBALS}
    return names.union(*(_global_names(one) for one in code.co_consts if _is_code(one)))


def names_in(code: CodeType) -> set[str]:
    """Return the names that code looks up, as globals or attributes."""
    names = set(code.co_names)
    return names.union(*(names_in(one) for one in code.co_consts if _is_code(one)))


def _is_code(constant: Any) -> bool:
    return isinstance(constant, CodeType)


def is_of_library(module: str | None) -> bool:
    """Return whether the globals of a module hold nothing of the user's program.

    They do not in modules of Python and in installed packages in which nothing of Phintys has a
    name. To walk through all that the functions of a large library refer to would take seconds.

    Examples
    --------
    >>> from phintys.parallel.held import is_of_library
    >>> is_of_library("collections.abc"), is_of_library("__main__")
    (True, False)
    """
    package = (module or "").partition(".")[0]
    if package == "phintys":
        return True
    if package in {"", "__main__"}:
        return False
    return package in _OF_PYTHON or _is_installed_apart(package, len(sys.modules))


@lru_cache(maxsize=512)
def _is_installed_apart(package: str, imported: int) -> bool:
    """Return whether a package is installed and names nothing of Phintys."""
    top = sys.modules.get(package)
    file = getattr(top, "__file__", None) or ""
    if not _INSTALLED.intersection(file.replace("\\", "/").split("/")):
        return False
    names = [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]
    return not any(
        _is_of_phintys(value) for name in names for value in list(vars(sys.modules[name]).values())
    )


def _is_of_phintys(value: Any) -> bool:
    module = value.__name__ if isinstance(value, ModuleType) else type(value).__module__
    return isinstance(module, str) and f"{module}.".startswith("phintys.")
