"""The indices that sort, outlined: stable, by the bits of all numbers in the order of NumPy.

Numbers become unsigned integers in the same order, their *keys*, which are sorted together with the
indices: a few by insertion, many digit by digit, from the last to the first (Hollerith 1894;
Knuth, The Art of Computer Programming 3, 5.2.5, 1973). Digits that are equal in all keys are left
out. Several keys, the most significant one first, are sorted by in turn, the last one first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import ending_if, loop, when
from phintys.backends.native.assembler.elements import load, store
from phintys.backends.native.assembler.math import OutlinedSymbol, outlined_function
from phintys.backends.native.assembler.records import Record
from phintys.backends.native.assembler.types import INT32, INT64, PTR, MachineType, type_of
from phintys.backends.native.assembler.values import Value
from phintys.backends.native.limits import SORT_NANOSECONDS, SORTED_BY_INSERTION, SORTED_PART
from phintys.backends.native.routines.ranges import (
    Runtime,
    call_with_record,
    runtime_of,
)
from phintys.backends.native.steps.call import CallWriter, LibraryCall, Routine

if TYPE_CHECKING:
    from phintys.backends.native.assembler.module import Module
    from phintys.backends.native.polynomials import Costs, Polynomial

_ORDER = Record.packed(
    source=PTR,
    places=PTR,  # of all rows: the result
    values=PTR,  # of all rows: the sorted numbers
    keys=PTR,  # room for one row each
    other_keys=PTR,
    other_places=PTR,
    count=INT64,  # of rows
    n=INT64,  # of things to sort in a row
    columns=INT64,  # of numbers by which a thing is sorted, side by side
    taken=INT64,  # how many of the sorted numbers of a row are wanted: n or 0
)
"""What the function is passed."""

_DIGITS = 256
_BITS_OF_A_DIGIT = 8


class _Order(Routine):
    """The indices that sort each row of an array, and the sorted numbers, if there is an output.

    The options are the sizes of :data:`_ORDER`. The workspace is one row of keys, another one, and
    one of indices.
    """

    name = "order"
    calls_blas: ClassVar[bool] = False

    def work(self, call: LibraryCall[Any], costs: Costs) -> Polynomial:
        """Return a rough estimate of its time."""
        digits = call.inputs[0].dtype.itemsize
        return call.time(costs, SORT_NANOSECONDS * digits, "count", "n", "columns")

    def emit(self, call: LibraryCall[Any], writer: CallWriter) -> None:
        """Write the call of the outlined function."""
        dtype = call.inputs[0].dtype
        arrays = {"source": call.inputs[0]}
        arrays |= dict(zip(("places", "values"), call.outputs, strict=False))
        arrays |= dict(zip(("keys", "other_keys", "other_places"), call.workspace, strict=True))
        symbol = OutlinedSymbol("sorting_order", dtype.name, 1).symbol
        call_with_record(_ORDER, arrays, call, writer, symbol)


ORDER = _Order()


def key_dtype(dtype: Any) -> str:
    """Return the dtype of the keys of numbers."""
    return _key_type(type_of(dtype)).name


def _key_type(type: MachineType) -> MachineType:
    return type_of(f"uint{8 * type.part.itemsize}")


@outlined_function("sorting_order")
def write_order(module: Module, key: OutlinedSymbol) -> None:
    """Write ``i32 (state, parallel_for, poll, order)`` into a module."""
    type = type_of(key.dtype)
    b = Builder(module.function(key.symbol, INT32, [PTR] * 4))
    order = _Rows(b, type)
    with loop(b, 0, order.count) as row:
        order.sort(row.index)
    b.ret(b.constant(INT32, 0))
    _write_digits(module, order.key)


class _Rows:
    """Writes what is done for each row."""

    def __init__(self, b: Builder, type: MachineType) -> None:
        self.b = b
        self.type = type
        self.key = _key_type(type)
        self.runtime = runtime_of(b)
        block = b.arguments[3]
        self.given = {name: _ORDER.load(b, block, name) for name in _ORDER.fields}
        self.count = self.given["count"]

    def sort(self, row: Value) -> None:
        """Write the order of a row, and its sorted numbers."""
        b, given = self.b, self.given
        n, columns = given["n"], given["columns"]
        source = b.offset(given["source"], row * n * columns * self._parts, self.type.part)
        places = b.offset(given["places"], row * n, INT64)
        with loop(b, 0, n) as each:
            b.store(each.index, b.offset(places, each.index, INT64))
        with loop(b, 0, columns) as column:
            at = b.offset(source, (columns - 1 - column.index) * self._parts, self.type.part)
            for number in range(3 if self.type.kind == "c" else 1):
                self._sort_by(number, at, places)
        values = b.offset(given["values"], row * n * self._parts, self.type.part)
        with loop(b, 0, given["taken"]) as each:
            self._take(source, places, values, each.index)

    @property
    def _parts(self) -> int:
        return 2 if self.type.kind == "c" else 1

    def _sort_by(self, number: int, column: Value, places: Value) -> None:
        """Sort by the last but ``number``-th key of a number, and look for signals."""
        b, given = self.b, self.given
        n, zero = given["n"], b.constant(self.key, 0)
        ones = b.constant(self.key, -1)
        with loop(b, 0, n, carried=[zero, ones]) as each:
            place = b.load(INT64, b.offset(places, each.index, INT64))
            index = place * given["columns"] * self._parts
            key = self._key(number, column, index)
            b.store(key, b.offset(given["keys"], each.index, self.key))
            some, every = each.carried
            each.next(some | key, every & key)
        some, every = each.results
        names = ("keys", "other_keys", "other_places")
        keys, other_keys, other_places = (given[name] for name in names)
        arguments = [b.arguments[0], b.arguments[1], b.arguments[2], keys, other_keys]
        arguments += [places, other_places, n, some ^ every]
        status = b.call(_digits_symbol(self.key), INT32, arguments)
        with ending_if(b, b.ne(status, 0)):
            b.ret(status)

    def _key(self, number: int, column: Value, index: Value) -> Value:
        """Return a key of the number at an index.

        Complex numbers are sorted by the real part, then the imaginary one. Those in which one part
        or both are NaN follow, by what is NaN: the imaginary part, the real one, both.
        """
        b = self.b
        places = [b.offset(column, index + part, self.key) for part in range(self._parts)]
        bits = [b.load(self.key, place) for place in places]
        if number < 2:
            return _in_order(b, bits[self._parts - 1 - number], self.type.part.kind)
        real, imaginary = (b.convert(_is_nan(b, part), self.key) for part in bits)
        return real + real + imaginary

    def _take(self, source: Value, places: Value, values: Value, index: Value) -> None:
        """Write the number at an index of the sorted ones."""
        b, part, parts = self.b, self.type.part, self._parts
        place = b.load(INT64, b.offset(places, index, INT64))
        number = load(b, self.type, b.offset(source, place * parts, part))
        store(b, number, b.offset(values, index * parts, part))


def _sign(key: MachineType) -> int:
    return 1 << (key.bits - 1)


def _is_nan(b: Builder, bits: Value) -> Value:
    infinity = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}[bits.type.bits]
    return (bits & (_sign(bits.type) - 1)) > infinity


def _in_order(b: Builder, bits: Value, kind: str) -> Value:
    """Return an unsigned integer for the bits of a number, in the same order; NaN comes last."""
    key = bits.type
    sign = _sign(key)
    if kind == "i":
        return bits ^ sign
    if kind not in "fh":
        return bits
    ordered = b.select(bits >= sign, ~bits, bits | sign)
    ordered = b.select(b.eq(bits & (sign - 1), 0), b.constant(key, sign), ordered)  # zeros
    return b.select(_is_nan(b, bits), b.constant(key, -1), ordered)


# ---- sorting keys and indices --------------------------------------------------------------------


def _digits_symbol(key: MachineType) -> str:
    return f"digits.{key.name}"


def _write_digits(module: Module, key: MachineType) -> None:
    """Write ``i32 (state, parallel_for, poll, keys, other_keys, places, other_places, n, bits)``.

    It sorts indices by their keys, of which only some bits differ. A signal ends it.
    """
    parameters = [PTR] * 7 + [INT64, key]
    b = Builder(module.function(_digits_symbol(key), INT32, parameters, linkage="internal"))
    runtime = runtime_of(b)
    *pointers, n, varying = b.arguments[3:]
    with ending_if(b, b.le(n, SORTED_BY_INSERTION)):
        _insert(b, key, pointers[0], pointers[2], n)
        b.ret(b.constant(INT32, 0))
    counts = b.slot(INT64, _DIGITS)
    with loop(b, 0, key.bits, _BITS_OF_A_DIGIT, carried=pointers, runs=True) as digit:
        shift = b.convert(digit.index, key)
        differs = b.ne(_digit(b, varying, shift), 0)
        with when(b, differs):
            _sort_by_digit(b, key, digit.carried, counts, n, shift, runtime)
        keys, other_keys, places, other_places = digit.carried
        digit.next(
            *_exchanged(b, differs, keys, other_keys), *_exchanged(b, differs, places, other_places)
        )
    found = digit.results[2]
    with when(b, b.ne(found, pointers[2])), loop(b, 0, n) as each:
        place = b.load(INT64, b.offset(found, each.index, INT64))
        b.store(place, b.offset(pointers[2], each.index, INT64))
    b.ret(b.constant(INT32, 0))


def _digit(b: Builder, keys: Value, shift: Value) -> Value:
    """Return a digit of a key."""
    return b.convert((keys >> shift) & (_DIGITS - 1), INT64)


def _exchanged(b: Builder, condition: Value, x: Value, y: Value) -> tuple[Value, Value]:
    """Return two addresses, exchanged if a condition holds."""
    return b.select(condition, y, x), b.select(condition, x, y)


def _sort_by_digit(
    b: Builder,
    key: MachineType,
    pointers: list[Value],
    counts: Value,
    n: Value,
    shift: Value,
    runtime: Runtime,
) -> None:
    """Move keys and indices to other memory, in the order of one digit."""
    keys, other_keys, places, other_places = pointers
    with loop(b, 0, _DIGITS, runs=True) as each:
        b.store(b.constant(INT64, 0), b.offset(counts, each.index, INT64))
    with loop(b, 0, n, SORTED_PART) as part:
        with loop(b, part.index, b.minimum_number(part.index + SORTED_PART, n)) as each:
            one = b.load(key, b.offset(keys, each.index, key))
            cell = b.offset(counts, _digit(b, one, shift), INT64)
            b.store(b.load(INT64, cell) + 1, cell)
        _look(b, runtime)
    with loop(b, 0, _DIGITS, carried=[b.constant(INT64, 0)], runs=True) as each:
        (total,) = each.carried
        cell = b.offset(counts, each.index, INT64)
        count = b.load(INT64, cell)
        b.store(total, cell)
        each.next(total + count)
    with loop(b, 0, n, SORTED_PART) as part:
        with loop(b, part.index, b.minimum_number(part.index + SORTED_PART, n)) as each:
            one = b.load(key, b.offset(keys, each.index, key))
            place = b.load(INT64, b.offset(places, each.index, INT64))
            cell = b.offset(counts, _digit(b, one, shift), INT64)
            target = b.load(INT64, cell)
            b.store(target + 1, cell)
            b.store(one, b.offset(other_keys, target, key))
            b.store(place, b.offset(other_places, target, INT64))
        _look(b, runtime)


def _look(b: Builder, runtime: Runtime) -> None:
    """Look for signals, which end the function."""
    runtime.look(b)
    with ending_if(b, ~runtime.is_going(b)):
        b.ret(b.load(INT32, runtime.status))


def _insert(b: Builder, key: MachineType, keys: Value, places: Value, n: Value) -> None:
    """Sort a few keys and indices: each moves in front of those that are larger."""
    with loop(b, 1, n) as each:
        one = b.load(key, b.offset(keys, each.index, key))
        place = b.load(INT64, b.offset(places, each.index, INT64))
        before = b.block
        compare, move, after = (b.new_block(name) for name in ("compare", "move", "after"))
        top = b.new_block("top")
        b.jump(top)
        b.begin(top)
        free = b.phi(INT64)
        free.add(each.index, before)
        at = free.value
        b.branch(at > 0, compare, after)
        b.begin(compare)
        former = b.load(key, b.offset(keys, at - 1, key))
        b.branch(former > one, move, after)
        b.begin(move)
        b.store(former, b.offset(keys, at, key))
        moved = b.load(INT64, b.offset(places, at - 1, INT64))
        b.store(moved, b.offset(places, at, INT64))
        free.add(at - 1, b.block)
        b.jump(top)
        b.begin(after)
        b.store(one, b.offset(keys, at, key))
        b.store(place, b.offset(places, at, INT64))
