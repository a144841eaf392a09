"""AVX-512 instructions without an equivalent operation in LLVM IR.

They work on whole registers; longer vectors are split. For each there are plain instructions with
bitwise the same result, which :mod:`~.floating` and :mod:`~.tables` use for other targets and for
shorter vectors.
"""

from __future__ import annotations

from collections.abc import Callable

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import INT8, INT16, INT32, INT64, MachineType
from phintys.backends.native.assembler.values import Value

_WIDTH = 512
_CURRENT_ROUNDING = 4


def fits(b: Builder, type: MachineType) -> bool:
    """Whether the target has the instructions and the vector fills whole registers."""
    return b.target.has_avx512 and type.lanes * type.bits % _WIDTH == 0


def _by_registers(b: Builder, instruction: Callable[..., Value], *vectors: Value) -> Value:
    lanes = _WIDTH // vectors[0].type.bits
    starts = range(0, vectors[0].type.lanes, lanes)
    return b.join(
        [instruction(*(b.part(vector, start, lanes) for vector in vectors)) for start in starts]
    )


def _suffix(type: MachineType) -> str:
    return "pd.512" if type.name == "float64" else "ps.512"


def _all_lanes(b: Builder, type: MachineType) -> Value:
    return b.constant(INT8 if type.lanes == 8 else INT16, -1)


def scalef(b: Builder, x: Value, k: Value) -> Value:
    """x * 2**floor(k), rounded once."""

    def instruction(x: Value, k: Value) -> Value:
        type = x.type
        rounding = b.constant(INT32, _CURRENT_ROUNDING)
        operands = [x, k, x, _all_lanes(b, type), rounding]
        return b.call(f"llvm.x86.avx512.mask.scalef.{_suffix(type)}", type, operands)

    return _by_registers(b, instruction, x, k)


def getexp(b: Builder, x: Value) -> Value:
    """floor(log2(|x|)) as a float; -inf for 0, inf for infinity."""

    def instruction(x: Value) -> Value:
        type = x.type
        operands = [x, x, _all_lanes(b, type), b.constant(INT32, _CURRENT_ROUNDING)]
        return b.call(f"llvm.x86.avx512.mask.getexp.{_suffix(type)}", type, operands)

    return _by_registers(b, instruction, x)


def getmant(b: Builder, x: Value) -> Value:
    """x * 2**-getexp(x), in [1, 2); NaN for negative numbers, 1 for zeros and infinity."""

    def instruction(x: Value) -> Value:
        type = x.type
        # Bits 0-1: interval [1, 2). Bit 3: NaN of negative numbers.
        interval = b.constant(INT32, 0b1000)
        rounding = b.constant(INT32, _CURRENT_ROUNDING)
        operands = [x, interval, x, _all_lanes(b, type), rounding]
        return b.call(f"llvm.x86.avx512.mask.getmant.{_suffix(type)}", type, operands)

    return _by_registers(b, instruction, x)


def permute(b: Builder, low: Value, high: Value, index: Value) -> Value:
    """Return lanes of low and high (8 float64 each) by 4-bit indices: a table of 16."""

    def instruction(index: Value) -> Value:
        return b.call("llvm.x86.avx512.vpermi2var.pd.512", low.type, [low, index, high])

    return _by_registers(b, instruction, b.value(INT64.of(index.type.lanes), index))
