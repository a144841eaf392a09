"""Tables of 16 numbers, looked up by lane; and the reduction of log by such a table."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cache

from phintys.backends.native.assembler.builder import Builder, constant_text
from phintys.backends.native.assembler.elements import gather
from phintys.backends.native.assembler.math import avx512
from phintys.backends.native.assembler.math.constants import Ratio, number
from phintys.backends.native.assembler.types import FLOAT64, INT64, PTR
from phintys.backends.native.assembler.values import Value

_ENTRIES = 16

LOG_START = 0x3FF0000000000000 - round(9.35 * 2**48)
"""The bits of the smallest m of the reduction: 0.7, so that 1 is well inside an interval."""


def _number_with_bits(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


@cache
def inverses() -> tuple[float, ...]:
    """Return about 1 / m for each sixteenth of [LOG_START, 2 LOG_START) by bits.

    They are multiples of 1/32, so that m * inverse - 1 is exact; and 1 where the interval holds 1.
    """
    result = []
    for i in range(_ENTRIES):
        low, high = (_number_with_bits(LOG_START + (i + j) * 2**48) for j in (0, 1))
        if low <= 1.0 < high:
            result.append(1.0)
            continue
        candidates = [n / 32 for n in range(16, 64)]
        result.append(min(candidates, key=lambda c: max(abs(low * c - 1), abs(high * c - 1))))
    return tuple(result)


@cache
def log_words() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return -log(inverse) in two words, the first a multiple of 2**-42."""
    logs = [_log_of_inverse(round(value * 32)).split(-42) for value in inverses()]
    first = [math.ldexp(word, -42) for word, _ in logs]
    return tuple(first), tuple(number(rest, "float64") for _, rest in logs)


def _log_of_inverse(n: int) -> Ratio:
    """-log(n / 32) to more than 110 bits, by the series of 2 atanh."""
    one = 1 << 160
    term = 2 * one * (32 - n) // (32 + n)
    total, order = 0, 1
    while abs(term) > 1 << 20:
        total += term // order
        term = term * (32 - n) ** 2 // (32 + n) ** 2
        order += 2
    return Ratio(total, one)


def lookup(b: Builder, table: Sequence[float], index: Value) -> Value:
    """Return table[index] of 16 float64 for int64 indices from 0 to 15."""
    lanes = index.type.lanes
    type = FLOAT64.of(lanes)
    if avx512.fits(b, type):
        eight = FLOAT64.of(8)
        halves = [_vector(b, table[start : start + 8]) for start in (0, 8)]
        return avx512.permute(b, b.value(eight, halves[0]), b.value(eight, halves[1]), index)
    numbers = ", ".join(f"double {constant_text(FLOAT64, value)}" for value in table)
    base = Value(b, PTR, b.module.table(numbers, len(table), "double"))
    found = gather(b, type, b.offset(base, b.value(INT64.of(lanes), index), type))
    assert isinstance(found, Value)
    return found


def _vector(b: Builder, numbers: Sequence[float]) -> Value:
    elements = ", ".join(f"double {constant_text(FLOAT64, value)}" for value in numbers)
    return Value(b, FLOAT64.of(len(numbers)), f"<{elements}>")
