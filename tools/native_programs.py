"""Run programs of the native backend in plain Python: for tests and fuzzers, without its runtime.

Everything that the runtime does for a call (see :mod:`~phintys.backends.native.writer.programs`) is
done here with ctypes and NumPy, as simply as possible.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.frame import (
    CONSTANTS,
    EXCEPTION,
    NO_BUFFER,
    OUT_OF_MEMORY,
    STATUS,
    TOO_LARGE,
)
from phintys.backends.native.program import Program
from phintys.backends.native.runtime.engine import check_runs_here, load
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.values import Array, Place
from phintys.backends.native.writer.programs import EmittedProgram, emit_program

__all__ = ["Executable", "compile_program"]

_malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)(("PyMem_RawMalloc", ctypes.pythonapi))


class Executable:
    """A compiled program, called with arrays.

    Parameters
    ----------
    emitted
        Its code.
    program
        The program.
    ranges
        Into how many ranges the work that threads would share is cut; here it is done in order.
    """

    def __init__(self, emitted: EmittedProgram, program: Program, *, ranges: int = 1) -> None:
        self.emitted = emitted
        self.program = program
        self.ranges = ranges
        self.error: BaseException | None = None
        self._functions = self._runtime_functions()
        addresses = {
            name: ctypes.cast(function, ctypes.c_void_p).value or 0
            for name, function in self._functions.items()
        }
        self._code = load(emitted.module, addresses)
        run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        names = ["run", "commit"] if emitted.layout.has_commit else ["run"]
        self._run = [run(self._code.address(name)) for name in names]
        self._constants = [np.ascontiguousarray(array.data) for array in emitted.layout.constants]
        table = [array.ctypes.data for array in self._constants] or [0]
        self._table = (ctypes.c_int64 * len(table))(*table)
        self._blocks: dict[int, Any] = {}
        self.frame: Any = None
        self.made: dict[Array, np.ndarray[Any, Any]] = {}
        self.objects: dict[Any, Any] = {}
        self.arena_bytes: dict[int, int] = {}
        self.keep_results = False
        """Write results into the memory of those of the previous call: for benchmarks."""
        self.most_bytes: int | None = None
        """Memory that steps ask for while they run is refused if it is larger; for tests."""
        self.polls = 0
        """How often programs have looked for signals."""
        self.interrupted_at = 0
        """The look, counted from 1, that ends a call as the exception of a handler would."""

    # ---- functions that native code calls ------------------------------------------------------

    def _runtime_functions(self) -> dict[str, Any]:
        i64, ptr, i32 = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32
        return {
            "phintys_arena": ctypes.CFUNCTYPE(ptr, ptr, i64, i64)(self._arena),
            "phintys_new_array": ctypes.CFUNCTYPE(ptr, ptr, i64, ptr)(self._new_array),
            "phintys_claim": ctypes.CFUNCTYPE(ptr, ptr, i64, ptr)(self._claim),
            "phintys_callback": ctypes.CFUNCTYPE(i32, ptr, i64)(self._callback),
            "phintys_parallel_for": ctypes.CFUNCTYPE(i32, ptr, ptr, ptr, i64, i64)(
                self._parallel_for
            ),
            "phintys_poll": ctypes.CFUNCTYPE(i32, ptr)(self._poll),
            "phintys_work": ctypes.CFUNCTYPE(None, ptr, i64)(lambda state, nanoseconds: None),
            "phintys_malloc": ctypes.CFUNCTYPE(ptr, i64)(self._malloc),
            "phintys_free": ctypes.CFUNCTYPE(None, ptr)(("PyMem_RawFree", ctypes.pythonapi)),
        }

    def _arena(self, state: int, group: int, size: int) -> int:
        if self.keep_results and group in self._blocks:
            return (self._blocks[group].ctypes.data + 63) // 64 * 64
        block = np.empty(size + 64, np.uint8)
        block[:] = 0xA5  # the initial content is undefined
        self._blocks[group] = block
        self.arena_bytes[group] = size
        return (block.ctypes.data + 63) // 64 * 64

    def _malloc(self, size: int) -> int | None:
        return None if self.most_bytes is not None and size > self.most_bytes else _malloc(size)

    def _new_array(self, state: int, number: int, sizes: int) -> int:
        array = self.emitted.layout.new_arrays[number]
        if self.keep_results and array in self.made:
            return self.made[array].ctypes.data
        shape = list((ctypes.c_int64 * array.ndim).from_address(sizes)) if array.ndim else []
        made = self.made[array] = np.empty(shape, array.dtype)
        made.reshape(-1).view(np.uint8)[:] = 0xA5
        return made.ctypes.data

    def _claim(self, state: int, number: int, sizes: int) -> int:
        claim = self.emitted.layout.claims[number]
        made = self.made[claim.target] = self.made[claim.source].copy()
        return made.ctypes.data

    def _callback(self, state: int, number: int) -> int:
        step = self.emitted.layout.callbacks[number]
        try:
            self._perform(step)
        except BaseException as error:  # noqa: BLE001 - raised again after native code returns
            self.error = error
            return 1
        return 0

    def _perform(self, step: Callback) -> None:
        inputs = [self._value(value) for value in step.inputs]
        cells: list[list[Any]] = [[None] for _ in step.outputs]
        step.node.op.perform(step.node, inputs, cells)
        for value, cell, variable in zip(step.outputs, cells, step.node.outputs, strict=True):
            if not isinstance(value, Array):
                self.objects[value] = cell[0]
                continue
            made = variable.type.filter(cell[0])
            made = np.array(made, order="C", copy=True)
            self.made[value] = made
            self._fill(value, made)

    def _value(self, value: Any) -> Any:
        if not isinstance(value, Array):
            return value.data if value.place == Place.CONSTANT else self.objects[value]
        if value.place == Place.CONSTANT and value.alias is None:
            return value.data
        record = self.emitted.layout.records[value]
        shape = tuple(self.frame[record + 1 : record + 1 + value.ndim])
        count = int(np.prod(shape, dtype=np.int64)) * value.dtype.itemsize
        if not count:
            return np.empty(shape, value.dtype)
        data = ctypes.string_at(int(self.frame[record]), count)
        return np.frombuffer(cast("Any", data), value.dtype).reshape(shape).copy()

    def _parallel_for(self, state: int, kernel: int, arguments: int, n: int, grain: int) -> int:
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(kernel)
        count = max(1, min(self.ranges, n))
        edges = [n * k // count for k in range(count + 1)]
        for begin, end in reversed(list(pairwise(edges))):
            function(arguments, begin, end)
        return 0

    def _poll(self, state: int) -> int:
        self.polls += 1
        if self.polls != self.interrupted_at:
            return 0
        self.error = KeyboardInterrupt()
        return 1

    def _fill(self, array: Array, data: np.ndarray[Any, Any]) -> None:
        record = self.emitted.layout.records[array]
        self.frame[record] = data.ctypes.data
        for axis, length in enumerate(data.shape):
            self.frame[record + 1 + axis] = length

    # ---- calls ---------------------------------------------------------------------------------

    def prepare(self, values: Sequence[Any]) -> Callable[[], int]:
        """Fill the frame; return a function that runs the native code on it, repeatedly."""
        layout = self.emitted.layout
        self.frame = np.zeros(layout.slots, np.int64)
        self.frame[CONSTANTS] = ctypes.addressof(self._table)
        self._arguments = []
        for argument, value in zip(self.program.arguments, values, strict=True):
            if not isinstance(argument, Array):
                self.objects[argument] = value
                continue
            data = np.require(value, argument.dtype, ["C", "A"])
            self._arguments.append(data)
            self.made[argument] = data
            self._fill(argument, data)
        address = self.frame.ctypes.data
        run, *commit = self._run
        if not commit:
            return lambda: run(address)
        return lambda: run(address) or commit[0](address)

    def __call__(self, *values: Any) -> list[Any]:
        """Run the program.

        Raises
        ------
        ShapeError, IndexingError
            If a check of the program or an Op fails.
        """
        if self.prepare(values)():
            self._raise()
        return [self._returned(value) for value in self.program.results]

    def _returned(self, value: Any) -> Any:
        if not isinstance(value, Array):
            return self._value(value)
        shape = tuple(self.frame[self.emitted.layout.records[value] + 1 :][: value.ndim])
        if value.memory.place == Place.RESULT:
            return self.made[value.memory].reshape(shape)
        return np.array(self._value(value))

    def _raise(self) -> None:
        status, first, second = (int(x) for x in self.frame[STATUS : STATUS + 3])
        if status == EXCEPTION and self.error is not None:
            error, self.error = self.error, None
            raise error
        if status in {OUT_OF_MEMORY, NO_BUFFER, TOO_LARGE}:
            raise MemoryError
        raise self.emitted.layout.failures[status - 1].exception(first, second)


def target_here(name: str) -> Target:
    """Return a named target; plain code for this CPU if that is of another architecture."""
    target = Target.named(name)
    is_here = target.triple == Target.host().triple
    return target if is_here else Target.named("one-lane")


def compile_program(
    program: Program, target: Target | None = None, *, ranges: int = 1
) -> Executable:
    """Compile a program for a target (this machine's CPU if not given).

    Raises
    ------
    ConfigError
        If this CPU cannot run it.
    """
    target = Target.host() if target is None else target
    check_runs_here(target)
    return Executable(emit_program(program, target), program, ranges=ranges)
