"""The entry's description of one program, as the numbers and addresses that it reads."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.config import thread_limit
from phintys._base.errors import IntegrityError
from phintys._base.locks import AT_ONCE, SOON, ProcessLock
from phintys._base.records import record
from phintys.backends.native.limits import FRAME_BYTES
from phintys.backends.native.runtime.background import chores
from phintys.backends.native.runtime.capi import function_of, number_types
from phintys.backends.native.runtime.protocol import (
    AXIS,
    CALLBACK,
    CLAIM,
    CONTEXT,
    INPUT,
    OBJECT,
    PLACE,
    PLACE_COPY,
    PLACE_INPUT,
    PLACE_ITSELF,
    PLACE_OBJECT,
)
from phintys.backends.native.values import Array, Handle, Place, Value

if TYPE_CHECKING:
    from phintys.backends.base import CallShape
    from phintys.backends.native.assembler.records import Record
    from phintys.backends.native.layout import Layout
    from phintys.backends.native.runtime.callbacks import Callbacks
    from phintys.backends.native.runtime.engine import Code
    from phintys.backends.native.runtime.failures import Failures
    from phintys.backends.native.runtime.support import Support
    from phintys.backends.native.steps.callback import Callback

_CODE_CHANGES = ProcessLock()


class _Context(np.ndarray[Any, np.dtype[np.int64]]):
    """A CONTEXT in memory, with the records that it points to; the builtin's ``self``."""

    kept: list[Any]


class _Tables:
    """Records in memory; the objects that they point to are kept alive."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def object(self, thing: Any) -> int:
        """Return the address of an object, and keep the object alive."""
        self.kept.append(thing)
        return id(thing)

    def words(self, numbers: Sequence[int]) -> int:
        """Return the address of an array of 8-byte numbers."""
        array = np.array([*numbers, 0], np.int64)
        self.kept.append(array)
        return int(array.ctypes.data)

    def records(self, record: Record, rows: Sequence[dict[str, int]]) -> int:
        """Return the address of an array of records."""
        names = sorted(record.fields, key=record.offset)
        return self.words([row[name] for row in rows for name in names])


@record(eq=False)
class ProgramInterface:
    """The runtime's description of a program: its interface, without its code.

    Attributes
    ----------
    arguments, results
        As in the program.
    layout
        The layout of its frame.
    """

    arguments: list[Value]
    results: list[Value]
    layout: Layout


@record(eq=False)
class Improvement:
    """How to replace code on trial by better code.

    Attributes
    ----------
    load
        Returns the better code.
    patience
        Nanoseconds of calls after which recompiling pays off.
    is_begun
        Whether another thread has been asked to recompile.
    """

    load: Callable[[], Code]
    patience: int
    is_begun: bool = False


class _Improving:
    """The task of recompiling a program, skipped if the program no longer exists."""

    def __init__(self, program: ProgramCode) -> None:
        self._program = weakref.ref(program)

    def __call__(self) -> None:
        program = self._program()
        if program is not None:
            program.improve()


class ProgramCode:
    """A program in memory, from which builtins are created.

    Parameters
    ----------
    interface
        The program's inputs, outputs and frame.
    code
        Its machine code.
    improvement
        How and when to get better code, if possible.
    callbacks, failures
        The Python functions that it calls.
    support
        The native code shared by all programs.
    """

    def __init__(
        self,
        interface: ProgramInterface,
        code: Code,
        improvement: Improvement | None,
        callbacks: Callbacks,
        failures: Failures,
        support: Support,
    ) -> None:
        self.interface = interface
        self.layout = layout = interface.layout
        self.code = code
        self._improvement = improvement
        self._contexts: list[weakref.ref[_Context]] = []
        self.callbacks = callbacks
        self.failures = failures
        self.support = support
        self._inputs = {value: number for number, value in enumerate(interface.arguments)}
        self._objects: dict[Value, int] = {}
        for array in layout.new_arrays:
            self._objects[array] = len(self._objects)
        self._count = len(self._objects)
        for callback in layout.callbacks:
            for value in callback.outputs:
                self._objects[value] = self._count
                self._count += 2  # the output, and the form of it that native code accepts

    def builtin(self, shape: CallShape) -> Callable[..., Any]:
        """Return a builtin that runs the program."""
        tables = _Tables()
        fields = self._fields(tables, shape)
        if fields["only_object"] < 0 or fields["locks"] or fields["frame_bytes"] > FRAME_BYTES:
            self.support.services()  # the entry calls them without checking that they exist
        context = np.zeros(CONTEXT.size // 8, np.int64).view(_Context)
        for name, value in fields.items():
            CONTEXT.write(context.ctypes.data, name, value)
        with _CODE_CHANGES:
            context.kept = [tables.kept, self.code]
            self._contexts.append(weakref.ref(context))
            self._enter_code(context)
        return self.support.builtin(context)

    # ---- better code

    @property
    def is_on_trial(self) -> bool:
        """Whether the code was compiled at -O0, and better code is possible."""
        return self._improvement is not None

    def improve(self) -> None:
        """Recompile the program now; calls in progress continue with the old code."""
        improvement = self._improvement
        if improvement is None:
            return
        better = improvement.load()
        with _CODE_CHANGES:
            if self._improvement is None:
                return
            self.code, self._improvement = better, None
            for context in self._living_contexts():
                context.kept.append(self.code)
                self._enter_code(context)

    def _improve_later(self) -> None:
        """Have another thread recompile the program; native code calls this."""
        with _CODE_CHANGES:
            improvement = self._improvement
            if improvement is None or improvement.is_begun:
                return
            improvement.is_begun = True
            for context in self._living_contexts():
                self._enter_code(context)
        chores.add(_Improving(self))

    def _living_contexts(self) -> list[_Context]:
        found = [reference() for reference in self._contexts]
        return [context for context in found if context is not None]

    def _enter_code(self, context: _Context) -> None:
        """Store in a context which code runs, and whether it is on trial."""
        improvement, run = self._improvement, self.code.address("run")
        is_on_trial = improvement is not None and not improvement.is_begun
        fields = {
            "on_trial": run,
            "patience": 0 if improvement is None else improvement.patience,
            "main": self.support.trial if is_on_trial else run,
            "commit": self.code.address("commit") if self.layout.has_commit else 0,
        }
        for name, value in fields.items():
            CONTEXT.write(context.ctypes.data, name, value)

    def _fields(self, tables: _Tables, shape: CallShape) -> dict[str, int]:
        callbacks, failures = self.callbacks, self.failures
        new_arrays = [self._object(tables, array) for array in self.layout.new_arrays]
        places = [self._place(tables, value) for value in self.interface.results]
        returned = len(places) - len(shape.updated_cells)
        self._check_returned(shape, self.interface.results[:returned])
        if not returned and not shape.as_list:
            places.insert(0, _place(PLACE_ITSELF, tables.object(None)))
            returned = 1
        return {
            "process": self.support.process,
            "improve": tables.object(self._improve_later),
            "frame_bytes": 8 * self.layout.slots,
            "constants": self._constants(tables),
            "explicit": shape.explicit,
            "hidden": len(shape.cells),
            "inputs": tables.records(INPUT, self._argument_rows(tables, shape)),
            "cells": tables.words([tables.object(cell) for cell in shape.cells]),
            "objects": self._count,
            "object_records": tables.records(OBJECT, new_arrays),
            "returned": returned,
            "places": tables.records(PLACE, places),
            "returns_list": int(shape.as_list),
            "only_object": self._only_object(shape, places),
            "updates": len(shape.updated_cells),
            "updated_cells": tables.words([tables.object(one) for one in shape.updated_cells]),
            "locks": len(shape.locks),
            "acquire": tables.words([tables.object(lock.acquire) for lock in shape.locks]),
            "release": tables.words([tables.object(lock.release) for lock in shape.locks]),
            "acquire_directly": function_of(shape.locks[0].acquire) if shape.locks else 0,
            "lock_objects": tables.words(
                [tables.object(lock.acquire.__self__) for lock in shape.locks]
            ),
            "at_once": tables.object(AT_ONCE),
            "soon": tables.object(SOON),
            "check": tables.words([tables.object(lock.check) for lock in shape.locks]),
            "true": tables.object(True),
            "callbacks": self._callback_records(tables),
            "claims": self._claim_records(tables, shape),
            "slow": tables.object(shape.slow),
            "failed": tables.object(failures.raise_for),
            "start": tables.object(callbacks.start),
            "callback": tables.object(callbacks.run),
            "finish": tables.object(callbacks.finish),
            "threads": tables.object(thread_limit) if self.layout.uses_threads else 0,
        }

    def _check_returned(self, shape: CallShape, results: Sequence[Value]) -> None:
        """Check that the results exist before the commit, which is the last part of an update."""
        late = {claim.target for claim in self.layout.claims if claim.begins_commit}
        if shape.updated_cells and not late.isdisjoint(results):
            msg = "A result is in memory of a shared value that is claimed: a bug in Phintys."
            raise IntegrityError(msg)

    def _only_object(self, shape: CallShape, places: Sequence[dict[str, int]]) -> int:
        """Return the number of the only object that a call returns; -1 if it returns more."""
        layout = self.layout
        simple = len(places) == 1 and not shape.as_list
        simple = simple and not layout.callbacks and not layout.has_commit
        is_object = simple and places[0]["kind"] == PLACE_OBJECT
        return places[0]["value"] if is_object and not shape.updated_cells else -1

    # ---- values

    def _constants(self, tables: _Tables) -> int:
        addresses: list[int] = []
        for array in self.layout.constants:
            data = array.data
            assert data is not None
            tables.kept.append(data)
            addresses.append(int(data.ctypes.data))
        return tables.words(addresses)

    def _argument_rows(self, tables: _Tables, shape: CallShape) -> list[dict[str, int]]:
        """Return the expected properties of the arguments, some of which may be numbers.

        Python code that gets or returns an argument needs an array. So does what examines whether
        arguments may be overwritten.
        """
        rows = [self._input(tables, value) for value in self.interface.arguments]
        if self.layout.callbacks or self.layout.claims:
            return rows
        returned = {value.memory for value in self.interface.results if isinstance(value, Array)}
        for position in shape.numbers:
            value = self.interface.arguments[position]
            if not isinstance(value, Array) or value in returned:
                continue
            types = number_types(value.dtype)
            if types is not None:
                scalar, number = types
                rows[position] |= {
                    "scalar": id(scalar),
                    "number": id(number),
                    "integer": id(int) if scalar in {np.int64, np.float64} else 0,
                    "converts": int(scalar is np.float64),
                }
        return rows

    def _input_records(self, tables: _Tables, values: Sequence[Value]) -> int:
        return tables.records(INPUT, [self._input(tables, value) for value in values])

    def _input(self, tables: _Tables, value: Value) -> dict[str, int]:
        """Return the expected properties of an input array, and its offsets in the frame."""
        if isinstance(value, Handle):
            return dict.fromkeys(INPUT.fields, 0)
        record = self.layout.records[value]
        axes = [
            {"length": -1 if size.known is None else size.known, "target": 8 * (record + 1 + axis)}
            for axis, size in enumerate(value.sizes)
        ]
        return {
            "dtype": tables.object(value.dtype),
            "ndim": value.ndim,
            "pointer": 8 * record,
            "axes": tables.records(AXIS, axes),
            "itemsize": value.dtype.itemsize,
            "scalar": 0,
            "number": 0,
            "integer": 0,
            "converts": 0,
        }

    @staticmethod
    def _object(tables: _Tables, array: Array) -> dict[str, int]:
        return {
            "dtype": tables.object(array.dtype),
            "ndim": array.ndim,
            "itemsize": array.dtype.itemsize,
        }

    def _place(self, tables: _Tables, value: Value) -> dict[str, int]:
        """Return the source of a value passed to Python: a result, or an input of a callback."""
        if value in self._inputs:
            return _place(PLACE_INPUT, self._inputs[value])
        if value in self._objects:
            return _place(PLACE_OBJECT, self._objects[value])
        if isinstance(value, Handle):
            return _place(PLACE_ITSELF, tables.object(value.data))
        if value.place == Place.CONSTANT and value.alias is None:
            constant: Any = value.variable
            data = value.data if constant is None else constant.data
            return _place(PLACE_ITSELF, tables.object(data))
        return self._copy(tables, value)

    def _copy(self, tables: _Tables, value: Array) -> dict[str, int]:
        """Return the source of a value in memory that nobody else has."""
        record = self.layout.records.get(value)
        if record is None:
            msg = f"{value!r} is needed by Python code, but has no record in the frame."
            raise IntegrityError(msg)
        described = tables.records(OBJECT, [self._object(tables, value)])
        return _place(PLACE_COPY, described, 8 * record)

    def _claim_records(self, tables: _Tables, shape: CallShape) -> int:
        rows: list[dict[str, int]] = []
        for claim in self.layout.claims:
            number = self._inputs[claim.source]
            hidden = number - shape.explicit
            is_known = claim.is_shared and hidden >= 0
            rows.append(
                {
                    "input": number,
                    "object": self._objects[claim.target],
                    "is_shared": int(claim.is_shared),
                    "most_bytes": claim.most_bytes,
                    "is_kept": int(claim.is_kept),
                    "cell": tables.object(shape.cells[hidden]) if is_known else 0,
                }
            )
        return tables.records(CLAIM, rows)

    # ---- callbacks

    def _callback_records(self, tables: _Tables) -> int:
        rows = [
            self._callback(tables, number, callback)
            for number, callback in enumerate(self.layout.callbacks)
        ]
        return tables.records(CALLBACK, rows)

    def _callback(self, tables: _Tables, number: int, callback: Callback) -> dict[str, int]:
        places = [
            self._copy(tables, value)
            if isinstance(value, Array) and callback.is_copied(position)
            else self._place(tables, value)
            for position, value in enumerate(callback.inputs)
        ]
        function = self.callbacks.c_function(number)
        return {
            "label": tables.object(number),
            "inputs": len(callback.inputs),
            "input_places": tables.records(PLACE, places),
            "outputs": len(callback.outputs),
            "output_objects": tables.words([self._objects[v] for v in callback.outputs]),
            "output_inputs": self._input_records(tables, callback.outputs),
            "function": 0 if function is None else tables.object(function),
            "explain": tables.object(partial(self.callbacks.explain, number)),
        }


def _place(kind: int, value: int, record: int = 0) -> dict[str, int]:
    return {"kind": kind, "value": value, "record": record}
