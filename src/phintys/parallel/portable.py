"""Callables as bytes, of which each task loads a copy with stored values of its own.

Pickles contain a copy of all values, so tasks neither see the changes of others nor make any that
the caller sees. Two things need more than a pickle. States of generators are replaced by those that
belong to the task, so that tasks draw different numbers. Functions of Python are pickled by name;
those that hold stored values, by closures or globals, are pickled with these instead.
"""

from __future__ import annotations

import builtins
import io
import marshal
import pickle
import sys
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any

from phintys._base.errors import ArgumentError
from phintys._base.uninterrupted import import_whole
from phintys.graph.shared_variable import Container
from phintys.parallel.held import (
    calls_change_nothing,
    cell_value,
    globals_of,
    holds_values,
    is_generator,
    is_of_library,
)
from phintys.random.bits.states import RandomType, folded


class Portable:
    """A callable in a form of which tasks get copies, in this process or in another.

    Parameters
    ----------
    call
        The callable.
    elsewhere
        Whether tasks run in other processes.

    Examples
    --------
    >>> import phintys
    >>> from phintys.parallel.portable import Portable
    >>> total = phintys.shared(0.0)
    >>> count = phintys.function([], total, updates={total: total + 1})
    >>> portable = Portable(count, elsewhere=False)
    >>> float(portable.for_task(0)()), float(portable.for_task(1)()), float(total.get_value())
    (0.0, 0.0, 0.0)
    """

    def __init__(self, call: Callable[..., Any], elsewhere: bool) -> None:
        self._is_constant = calls_change_nothing(call)
        self._loaded = None if elsewhere or not self._is_constant else call
        self._generators: list[Container] = []
        self._text = b"" if self._loaded is not None else self._written(call, elsewhere)

    def for_task(self, task: int) -> Callable[..., Any]:
        """Return the callable for a task: a copy, unless no call changes anything."""
        if self._loaded is not None:
            return self._loaded
        call = _Unpickler(io.BytesIO(self._text), self._generators, task).load()
        if self._is_constant:
            self._loaded = call
        return call

    def _written(self, call: Callable[..., Any], elsewhere: bool) -> bytes:
        file = io.BytesIO()
        make = _pickler_for_others() if elsewhere else _Pickler
        try:
            make(file, self._generators).dump(call)
        except (pickle.PicklingError, TypeError, AttributeError, RecursionError) as error:
            why = "tasks run in other processes" if elsewhere else "it stores values that calls use"
            msg = (
                f"parallel.map: {call!r} cannot be copied for each task, which is needed since "
                f"{why}: {error}. Give the function what it needs as arguments, or make it there."
            )
            raise ArgumentError(msg) from error
        return file.getvalue()

    def __getstate__(self) -> tuple[Any, ...]:
        return self._is_constant, self._generators, self._text

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._is_constant, self._generators, self._text = state
        self._loaded = None


class _WithGenerators:
    """A part of picklers: it leaves out the containers of generators, and collects them."""

    def __init__(self, file: io.BytesIO, generators: list[Container]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)  # pyright: ignore[reportCallIssue]
        self._generators = generators
        self._numbers: dict[int, int] = {}
        self._spaces: dict[int, dict[str, Any]] = {}

    def persistent_id(self, thing: Any) -> int | None:
        is_one = isinstance(thing, Container) and is_generator(thing.type)
        if not is_one or thing.value is None:
            return None
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(self._generators)
            self._generators.append(thing)
        return self._numbers[id(thing)]

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, FunctionType) and self._goes_whole(thing):
            # Functions of one module keep common globals.
            space = self._spaces.setdefault(id(thing.__globals__), {"__name__": thing.__module__})
            return _reduced(thing, space)
        return NotImplemented

    def _goes_whole(self, function: FunctionType) -> bool:
        """Return whether a function is not pickled by its name."""
        if is_of_library(function.__module__):
            return False
        return not self._is_found_by_name(function) or holds_values(function)

    def _is_found_by_name(self, function: FunctionType) -> bool:
        found: Any = sys.modules.get(function.__module__)
        for name in function.__qualname__.split("."):
            found = getattr(found, name, None)
        return found is function


class _Pickler(_WithGenerators, pickle.Pickler):
    """For copies in this process, where all that has a name is found by it."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, ModuleType):
            return import_whole, (thing.__name__,)
        return super().reducer_override(thing)


def _pickler_for_others() -> Any:
    """Return a class of picklers for other processes, where what a script defines has no name."""
    import cloudpickle

    class Pickler(_WithGenerators, cloudpickle.Pickler):
        def reducer_override(self, thing: Any) -> Any:
            found = super().reducer_override(thing)
            if found is not NotImplemented:
                return found
            return cloudpickle.Pickler.reducer_override(self, thing)

        def _is_found_by_name(self, function: FunctionType) -> bool:
            return function.__module__ != "__main__" and super()._is_found_by_name(function)

    return Pickler


class _Unpickler(pickle.Unpickler):
    """Loads a copy, with generators that belong to a task."""

    def __init__(self, file: io.BytesIO, generators: list[Container], task: int) -> None:
        super().__init__(file)
        self._generators = generators
        self._task = task
        self._made: dict[int, Container] = {}

    def persistent_load(self, pid: Any) -> Container:
        if pid not in self._made:
            self._made[pid] = _of_task(self._generators[pid], self._task)
        return self._made[pid]


def _of_task(container: Container, task: int) -> Container:
    """Return a container with the generator that belongs to a task and to the one in another."""
    own = Container(
        container.type, [None], container.strict, container.allow_downcast, container.name
    )
    own.value = generator_of_task(container.value, container.type, task)
    return own


def generator_of_task(value: Any, type_: Any, task: int) -> Any:
    """Return the generator of a task, given the caller's and its Type.

    A state is folded with the number of the task. A NumPy generator is jumped, as often as the
    number of the task says and once more: NumPy's documentation of ``jumped`` states how many draws
    lie between.

    Examples
    --------
    >>> from phintys.parallel.portable import generator_of_task
    >>> from phintys.random import random_type, state
    >>> one, other = (generator_of_task(state(1), random_type, task) for task in range(2))
    >>> bool((one == other).all())
    False
    """
    if isinstance(type_, RandomType):
        return folded(value, task)
    bits = value.bit_generator
    if not hasattr(bits, "jumped"):
        msg = (
            f"parallel.map: a generator of NumPy with {type(bits).__name__} cannot be divided "
            "among tasks, which would draw the same numbers. Use one that has jumped(), such as "
            "PCG64, or a generator of phintys.random."
        )
        raise ArgumentError(msg)
    return type(value)(bits.jumped(task + 1))


# ---- functions of Python -------------------------------------------------------------------------


def _reduced(function: FunctionType, space: dict[str, Any]) -> tuple[Any, ...]:
    """Return the parts of a function for pickle, which sets the state when the function exists."""
    cells = function.__closure__ or ()
    state = {
        "globals": dict(globals_of(function)),
        "cells": [cell_value(cell) for cell in cells],
        "attributes": dict(function.__dict__),
        "defaults": (function.__defaults__, function.__kwdefaults__),
    }
    made_of = (
        marshal.dumps(function.__code__),
        space,
        function.__qualname__,
        len(cells),
    )
    return (_new_function, made_of, state, None, None, _complete)


def _new_function(code: bytes, space: dict[str, Any], qualname: str, cells: int) -> FunctionType:
    space.setdefault("__builtins__", builtins)
    closure = tuple(CellType() for _ in range(cells))
    function = FunctionType(marshal.loads(code), space, None, None, closure)  # noqa: S302 - ours
    function.__qualname__ = qualname
    return function


def _complete(function: FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    for cell, value in zip(function.__closure__ or (), state["cells"], strict=True):
        cell.cell_contents = value
    function.__dict__.update(state["attributes"])
    function.__defaults__, function.__kwdefaults__ = state["defaults"]
