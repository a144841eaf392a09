"""Programs as C functions: pointers in, pointers out, without Python and without its lock.

A program is loaded a second time, with its runtime functions bound to those of this module. They
write the results straight to the caller's memory, never call Python, and leave all work to the
calling thread. A call keeps its state on its own stack and in the memory pool, so calls can run
side by side.
"""

from __future__ import annotations

import ctypes
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys._base.records import record
from phintys.backends.base import C_SIGNATURES
from phintys.backends.native.assembler.atomics import call_pointer, null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import FLOAT64, INT32, INT64, PTR, VOID
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.frame import (
    CONSTANTS,
    NO_BUFFER,
    NO_RESULT,
    OUT_OF_MEMORY,
    STATE,
    STATUS,
    TOO_LARGE,
)
from phintys.backends.native.limits import C_FRAME_BYTES
from phintys.backends.native.runtime.callbacks import plain_array
from phintys.backends.native.runtime.engine import load
from phintys.backends.native.runtime.one_thread import write_one_thread
from phintys.backends.native.runtime.protocol import is_null, not_null
from phintys.backends.native.values import Array, Handle, Place

if TYPE_CHECKING:
    from phintys.backends.native.program import Program
    from phintys.backends.native.runtime.support import Support
    from phintys.backends.native.writer.programs import EmittedProgram

WRONG_LENGTH, FAILED, NO_MEMORY, BAD_GRADIENT, BAD_VALUE = -1, 1, 2, 3, 4

_FLOAT64 = np.dtype("float64")
_EXPONENT = 0x7FF0000000000000
_RUN, _CONSTANTS, _FIRST = 0, 1, 2
"""The first words of the table: the address of the program, and that of its constants."""
_TABLE = "phintys_c_table"


@record(eq=False)
class _Result:
    """A result of the program: its rank, and its source unless the program writes it in place.

    Attributes
    ----------
    ndim
        Its rank, 0 or 1.
    new_array
        The number of the result if the program asks for its memory, else -1.
    slot
        The frame's slot with its address otherwise; -1 if that is in the table.
    word
        Its place in the table.
    """

    ndim: int
    new_array: int = -1
    slot: int = -1
    word: int = -1


class CEntry:
    """The C function of a program; its address is valid as long as this object exists.

    Parameters
    ----------
    program, emitted
        The program, and its code without a clock.
    signature
        A key of :data:`~phintys.backends.base.C_SIGNATURES`.
    hidden
        Values of the inputs after the first. They are those of now.
    support
        The native code shared by all programs.

    Raises
    ------
    ArgumentError
        If the program does not have the signature, or needs Python.
    """

    def __init__(
        self,
        program: Program,
        emitted: EmittedProgram,
        signature: str,
        hidden: Sequence[np.ndarray[Any, Any]],
        support: Support,
    ) -> None:
        _check(program, emitted, signature, len(hidden))
        self._kept: list[Any] = []
        self._words: list[int] = [0, self._addresses(emitted.layout.constants)]
        frame = _Frame(emitted)
        self._give_inputs(frame, program, hidden)
        results = [self._result(emitted, value) for value in program.results]
        module = Module(Target.host())
        _Writer(module, frame, results, signature, len(self._words)).write()
        services = support.services()
        pool = ("phintys_acquire", "phintys_acquire_chained", "phintys_release")
        pool = (*pool, "phintys_release_chain")
        self._entry = load(module, {name: services.address(name) for name in pool})
        own: Mapping[str, int] = {
            f"phintys_{name}": self._entry.address(f"phintys_{name}_c") for name in _OWN
        }
        symbols = ChainMap(dict(own), support.symbols)  # pyright: ignore[reportArgumentType]
        # At the higher level at once: C callers call often, and background work would disturb them.
        self._code = load(emitted.module, symbols)
        self._words[_RUN] = self._code.address("run")
        table = self._entry.data_address(_TABLE)
        self._table = (ctypes.c_int64 * len(self._words)).from_address(table)
        self._table[:] = self._words
        self.address = self._entry.address("phintys_c_entry")

    # ---- what the code reads

    def _addresses(self, arrays: Sequence[Array]) -> int:
        """Return the address of a table of the addresses of constants."""
        table = np.array([*map(self._address, arrays), 0], np.int64)
        self._kept.append(table)
        return int(table.ctypes.data)

    def _address(self, array: Array) -> int:
        data = array.data
        assert data is not None
        self._kept.append(data)
        return int(data.ctypes.data)

    def _word(self, number: int) -> int:
        self._words.append(number)
        return len(self._words) - 1

    def _give_inputs(
        self, frame: _Frame, program: Program, hidden: Sequence[np.ndarray[Any, Any]]
    ) -> None:
        vector, *others = program.arguments
        assert isinstance(vector, Array)
        frame.vector = frame.layout.records[vector]
        frame.length = vector.sizes[0].known
        for value, given in zip(others, hidden, strict=True):
            assert isinstance(value, Array)
            array = plain_array(given, value.dtype)
            self._kept.append(array)
            first = frame.layout.records[value]
            for number, entry in enumerate([array.ctypes.data, *array.shape]):
                frame.given[first + number] = self._word(int(entry))

    def _result(self, emitted: EmittedProgram, value: Any) -> _Result:
        layout = emitted.layout
        if value in layout.new_arrays:
            return _Result(value.ndim, new_array=layout.new_arrays.index(value))
        if value.place == Place.CONSTANT and value.alias is None:
            return _Result(value.ndim, word=self._word(self._address(value)))
        return _Result(value.ndim, slot=layout.records[value])


class _Frame:
    """What the entry stores in a frame before it runs the program.

    Attributes
    ----------
    layout
        The frame's layout.
    vector
        The first slot of the vector's record.
    length
        Its only length, if that is known.
    given
        Slot -> the word of the table that it begins with.
    """

    def __init__(self, emitted: EmittedProgram) -> None:
        self.layout = emitted.layout
        self.vector = 0
        self.length: int | None = None
        self.given: dict[int, int] = {}


def _check(program: Program, emitted: EmittedProgram, signature: str, hidden: int) -> None:
    """Raise unless a program can be called with a signature, and without Python."""
    kind = C_SIGNATURES[signature]
    layout = emitted.layout
    if layout.callbacks:
        ops = ", ".join(sorted({str(one.node.op) for one in layout.callbacks}))
        msg = (
            f"address({signature!r}): C callers cannot run Ops that have only Python code, and "
            f"this function has {ops}. Give them native code, or call the function from Python."
        )
        raise ArgumentError(msg)
    if layout.has_commit or layout.claims:
        msg = f"address({signature!r}): the function updates shared variables or its arguments."
        raise ArgumentError(msg)
    explicit = program.arguments[: len(program.arguments) - hidden]
    if [_kind(value) for value in explicit] != [1] or any(
        isinstance(value, Handle) for value in program.arguments
    ):
        msg = (
            f"address({signature!r}): the function must have one argument, a float64 vector, and "
            "may read shared arrays."
        )
        raise ArgumentError(msg)
    if [_kind(value) for value in program.results] != list(kind.ranks):
        msg = f"address({signature!r}): the function must return {kind.results}, in float64."
        raise ArgumentError(msg)


def _kind(value: Any) -> int:
    """Return the rank of a float64 array, -1 for other values."""
    return value.ndim if isinstance(value, Array) and value.dtype == _FLOAT64 else -1


# ---- code --------------------------------------------------------------------------------------

_OWN = ("new_array", "arena", "work", "poll", "parallel_for")


class _Writer:
    """Writes the C function, and the runtime functions of the program that it calls.

    The state of a call is an array of words: the chain of memory blocks of the arena; then for each
    result the address of its memory and its expected length, -1 for a number.
    """

    def __init__(
        self, module: Module, frame: _Frame, results: Sequence[_Result], signature: str, words: int
    ) -> None:
        self.module = module
        self.frame = frame
        self.results = results
        self.signature = signature
        self.table = module.memory(_TABLE, 8 * words)
        kind = C_SIGNATURES[signature]
        self.b = Builder(module.function("phintys_c_entry", INT64, [_TYPES[t] for t in kind.types]))
        named = dict(zip(kind.names, self.b.arguments, strict=True))
        self.n, self.x = named["n"], named["x"]
        self.lengths = [named[name] if name else None for name in kind.lengths]
        self.targets = [named[name] for name in kind.targets]

    def write(self) -> None:
        """Write the C function, and the runtime functions."""
        self._runtime()
        b = self.b
        wrong, begin, run = (b.new_block(name) for name in ("wrong", "begin", "run"))
        known = self.frame.length
        is_wrong = b.lt(self.n, 0) if known is None else b.ne(self.n, known)
        b.branch(is_wrong, wrong, begin)
        b.begin(wrong)
        b.ret(b.constant(INT64, WRONG_LENGTH))
        b.begin(begin)
        frame, is_there = self._room()
        none = b.new_block("none")
        b.branch(is_there, run, none)
        b.begin(none)
        b.ret(b.constant(INT64, NO_MEMORY))

        b.begin(run)
        state = self._state()
        self._fill(frame, state)
        status = call_pointer(b, self._word(_RUN, PTR), INT32, [frame])
        chain = b.load(PTR, state)
        with when(b, not_null(b, chain)):
            b.call("phintys_release_chain", VOID, [chain])
        good, bad = b.new_block("good"), b.new_block("bad")
        b.branch(b.eq(status, 0), good, bad)
        b.begin(bad)
        code = self._failure(b.load(INT64, b.offset(frame, STATUS, INT64)))
        self._release(frame)
        b.ret(code)
        b.begin(good)
        self._copy_results(frame)
        self._release(frame)
        b.ret(self._verdict())

    def _word(self, number: int, type: Any) -> Value:
        base = Value(self.b, PTR, self.table)
        return self.b.load(type, self.b.offset(base, number, INT64))

    def _room(self) -> tuple[Value, Value]:
        """Return memory for the frame, and whether there is any."""
        b, words = self.b, self.frame.layout.slots + 1
        if 8 * words <= C_FRAME_BYTES:
            slot = b.slot(INT64, words)
            return slot, not_null(b, slot)
        memory = b.call("phintys_acquire", PTR, [b.constant(INT64, 8 * words)])
        return memory, not_null(b, memory)

    def _release(self, frame: Value) -> None:
        if 8 * (self.frame.layout.slots + 1) > C_FRAME_BYTES:
            self.b.call("phintys_release", VOID, [frame])

    def _state(self) -> Value:
        b = self.b
        state = b.slot(INT64, 1 + 2 * max(1, len(self.results)))
        b.store(null(b), state)
        for result, target, length in zip(self.results, self.targets, self.lengths, strict=True):
            if result.new_array >= 0:
                at = 1 + 2 * result.new_array
                b.store(target, b.offset(state, at, INT64))
                count = b.constant(INT64, -1) if length is None else length
                b.store(count, b.offset(state, at + 1, INT64))
        return state

    def _fill(self, frame: Value, state: Value) -> None:
        b = self.b

        def store(value: Value, slot: int) -> None:
            b.store(value, b.offset(frame, slot, INT64))

        store(state, STATE)
        store(b.constant(INT64, 0), STATUS)
        store(self._word(_CONSTANTS, INT64), CONSTANTS)
        store(self.x, self.frame.vector)
        store(self.n, self.frame.vector + 1)
        for slot, word in self.frame.given.items():
            store(self._word(word, INT64), slot)

    def _failure(self, status: Value) -> Value:
        b = self.b
        is_memory = b.eq(status, OUT_OF_MEMORY) | b.eq(status, NO_BUFFER) | b.eq(status, TOO_LARGE)
        code = b.select(is_memory, b.constant(INT64, NO_MEMORY), b.constant(INT64, FAILED))
        return b.select(b.eq(status, NO_RESULT), b.constant(INT64, WRONG_LENGTH), code)

    def _copy_results(self, frame: Value) -> None:
        """Copy the results that the program has not written to their place itself."""
        b = self.b
        for result, target, length in zip(self.results, self.targets, self.lengths, strict=True):
            if result.new_array >= 0:
                continue
            if result.slot >= 0:
                source = b.load(PTR, b.offset(frame, result.slot, INT64))
            else:
                source = self._word(result.word, PTR)
            count = b.constant(INT64, 1) if length is None else length
            b.call("memmove", PTR, [target, source, count * 8])

    def _verdict(self) -> Value:
        """Return 0, or which of value and gradient is not finite."""
        b = self.b
        code = b.constant(INT64, 0)
        if self.signature != "value_and_gradient":
            return code
        gradient, value = self.b.arguments[2], self.b.arguments[3]
        bits = b.load(INT64, value) & _EXPONENT
        code = b.select(b.eq(bits, _EXPONENT), b.constant(INT64, BAD_VALUE), code)
        with loop(b, 0, self.n, carried=[code]) as each:
            bits = b.load(INT64, b.offset(gradient, each.index, FLOAT64)) & _EXPONENT
            bad = b.constant(INT64, BAD_GRADIENT)
            each.next(b.select(b.eq(bits, _EXPONENT), bad, each.carried[0]))
        return each.results[0]

    # ---- the runtime of the program

    def _runtime(self) -> None:
        """Write the functions that take the place of the runtime's."""
        self._new_array()
        b = Builder(self.module.function("phintys_arena_c", PTR, [PTR, INT64, INT64]))
        state, _, size = b.arguments
        b.ret(b.call("phintys_acquire_chained", PTR, [state, size]))
        write_one_thread(self.module, "_c")

    def _new_array(self) -> None:
        """``new_array(state, number, lengths)``: the caller's memory, if the length is right."""
        b = Builder(self.module.function("phintys_new_array_c", PTR, [PTR, INT64, PTR]))
        state, number, lengths = b.arguments
        place = b.offset(state, number * 2 + 1, INT64)
        memory, count = b.load(PTR, place), b.load(INT64, b.offset(place, 1, INT64))
        fits = b.lt(count, 0) | b.eq(b.load(INT64, lengths), count)
        # The memory of an empty result may be null.
        memory = b.select(b.eq(count, 0) & is_null(b, memory), state, memory)
        b.ret(b.select(fits, memory, null(b)))


_TYPES = {"size": INT64, "pointer": PTR}
