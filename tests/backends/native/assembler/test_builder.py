"""The builder: texts, types that do not fit, and what the instructions compute."""

import math

import numpy as np
import pytest

from phintys._base.errors import DtypeError, MethodNotDefinedError
from phintys.backends.native.assembler.builder import Builder, constant_text
from phintys.backends.native.assembler.llvm_library import llvm
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.operations import emit
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    PTR,
    UINT64,
    VOID,
    type_of,
)
from tools.native_functions import elementwise

V3 = Target.named("x86-64-v3")
FOUR = FLOAT64.of(4)


def begin(returns=VOID, parameters=(), target=V3, **options):
    module = Module(target)
    b = Builder(module.function("f", returns, parameters), **options)
    return b, *b.arguments


def lines(b):
    return [str(line).strip() for line in b.block.lines]


def test_operators_write_instructions_by_type():
    b, x, i, u = begin(parameters=[FOUR, INT64, UINT64])
    assert (x + 1).type is FOUR
    assert (2.0 - x).text == "%v2"
    assert (i >> 3).type is INT64
    assert (u >> 3).type is UINT64
    assert (x < 0.5).type is type_of("bool", 4)
    assert lines(b) == [
        "%v1 = fadd <4 x double> %a0, splat (double 0x3FF0000000000000)",
        "%v2 = fsub <4 x double> splat (double 0x4000000000000000), %a0",
        "%v3 = ashr i64 %a1, 3",
        "%v4 = lshr i64 %a2, 3",
        "%v5 = fcmp olt <4 x double> %a0, splat (double 0x3FE0000000000000)",
    ]


def test_lanes_of_numbers_and_single_lanes_are_chosen_without_vectors_of_one_lane():
    b, x, y, v = begin(parameters=[FLOAT64, FLOAT64, FOUR])
    assert b.shuffle(x, y, [1]) is y
    assert b.shuffle(v, v, [6]).type is FLOAT64
    assert b.shuffle(x, y, [1, 0]).type is FLOAT64.of(2)
    assert lines(b) == [
        "%v1 = extractelement <4 x double> %a2, i32 2",
        "%v2 = insertelement <2 x double> poison, double %a1, i32 0",
        "%v3 = insertelement <2 x double> %v2, double %a0, i32 1",
    ]


@pytest.mark.parametrize(
    ("type", "number", "text"),
    [
        (FLOAT64, -0.0, "0x8000000000000000"),
        (FLOAT64, math.nan, "0x7FF8000000000000"),
        (FLOAT64, math.inf, "0x7FF0000000000000"),
        (FLOAT32, 1e-45, "0x36A0000000000000"),
        (INT8, 255, "-1"),
        (UINT64, -1, "18446744073709551615"),
        (BOOL, 2, "true"),
        (BOOL.of(2), 0, "splat (i1 false)"),
        (type_of("float16"), 1.0, "15360"),
        (INT32.of(2), 7, "splat (i32 7)"),
    ],
)
def test_constants(type, number, text):
    assert constant_text(type, number) == text


def test_every_kind_of_instruction_passes_the_verifier():
    b, x, y, p, i = begin(FOUR, [FOUR, FOUR, PTR, INT64])
    z = b.select(b.isnan(x) | ~(x <= y), b.neg(x / y), b.fma(x, y, 1.0))
    z = b.minimum_number(z, b.intrinsic("sqrt", b.madd(x, 2.0, y)))
    bits = (b.bits(z) << 1) & ~INT64_ONE(b)
    z = b.bitcast(bits ^ b.lane_numbers(INT64.of(4)), FOUR)
    z = b.insert(z, b.extract(x, 1) + b.splat(b.extract(y, i), 1), i)
    z = b.join([b.part(z, 2, 2), b.part(z, 0, 2)])
    slot = b.slot(FOUR)
    b.store(z, slot)
    z = z + b.load(FOUR, b.offset(p, i, FLOAT64), align=1) + b.load(FOUR, slot)
    some, every = b.any(z < 0), b.all(z < 0)
    yes, no, after = b.new_block(), b.new_block(), b.new_block()
    b.branch(some & ~every, yes, no)
    b.begin(yes)
    b.jump(after)
    b.begin(no)
    other = b.convert(b.convert(z, INT32.of(4)), FOUR)
    b.jump(after)
    b.begin(after)
    phi = b.phi(FOUR)
    phi.add(z, yes)
    phi.add(other, no)
    b.ret(phi.value)
    llvm().verify(str(b.module))


def INT64_ONE(b):
    return b.constant(INT64.of(4), 1)


WRONG = {
    "two types": (lambda b, x, i: x + i, "Expected a value of type <4 x double>, got Value"),
    "two numbers": (lambda b, x, i: b.add(1, 2), "One of two operands must be a value"),
    "division of integers": (lambda b, x, i: i / 2, "div does not take values of type i64"),
    "bits of floats": (lambda b, x, i: x & 1, "and takes integers"),
    "shift of a mask": (lambda b, x, i: (x < 1) << 1, "shl takes integers"),
    "sum of masks": (lambda b, x, i: (x < 1) + 1, "add does not take"),
    "mask of other lanes": (lambda b, x, i: b.select(i < 1, x, x), "needs a mask of their lanes"),
    "bits that do not fit": (lambda b, x, i: b.bitcast(i, FOUR), "do not fit"),
    "other lanes": (lambda b, x, i: b.convert(x, FLOAT32), "has 4 lanes"),
    "float to bool": (lambda b, x, i: b.convert(x, BOOL.of(4)), "no machine conversion"),
    "a bool in memory": (lambda b, x, i: b.load(BOOL, b.slot(BOOL)), "another type in memory"),
    "mixed intrinsic": (lambda b, x, i: b.intrinsic("copysign", x, i), "Expected a value of type"),
    "wrong result": (lambda b, x, i: b.ret(i), "Expected a value of type <4 x double>"),
    "no result": (lambda b, x, i: b.ret(), "returns a <4 x double>, got nothing"),
    "vector condition": (
        lambda b, x, i: b.branch(x < 1, b.new_block(), b.new_block()),
        "Expected a value of type i1",
    ),
    "complex constant": (lambda b, x, i: b.constant(type_of("complex64"), 1), "cannot be written"),
}


@pytest.mark.parametrize(("write", "message"), WRONG.values(), ids=WRONG)
def test_types_that_do_not_fit_raise(write, message):
    b, x, i = begin(FOUR, [FOUR, INT64])
    with pytest.raises(DtypeError, match=message):
        write(b, x, i)


def test_fma_is_refused_where_it_would_be_a_call():
    b, x = begin(parameters=[FLOAT64], target=Target.named("x86-64-v2"))
    with pytest.raises(DtypeError, match="no fused multiply-add"):
        b.fma(x, x, x)
    assert b.madd(x, x, x).type is FLOAT64
    assert [line.split()[2] for line in lines(b)] == ["fmul", "fadd"]


def test_declarations_and_tables_are_written_once():
    b, x = begin(FLOAT64, [FLOAT64])
    first = b.module.table("double 1.0, double 2.0", 2, "double")
    assert b.module.table("double 1.0, double 2.0", 2, "double") == first
    b.ret(b.intrinsic("sqrt", b.intrinsic("sqrt", x)))
    text = str(b.module)
    assert text.count("declare double @llvm.sqrt.f64(double)") == 1
    assert text.count(f"{first} = private") == 1
    llvm().verify(str(b.module))


def test_math_is_called_or_written_in_place():
    for inline in (False, True):
        b, x = begin(FOUR, [FOUR], inline=inline)
        b.ret(emit(b, "exp", [x], "float64"))
        assert b.module.math_functions == (set() if inline else {"phintys_exp_float64_x4"})
        assert (len(lines(b)) > 10) is inline


def test_unknown_operations():
    b, x = begin(parameters=[FLOAT64])
    with pytest.raises(MethodNotDefinedError, match="no native code for 'frobnicate'"):
        emit(b, "frobnicate", [x], "float64")
    with pytest.raises(MethodNotDefinedError, match="no native code for 'sub' of i1"):
        emit(b, "sub", [x < 1, x < 2], "bool")


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_any_number_of_lanes(lanes):
    x = np.linspace(-3, 3, 101)
    halve = elementwise(lambda b, x: b.select(x < 0, x * 0.5, x), ["f8"], "f8", lanes=lanes)
    assert np.array_equal(halve(x), np.where(x < 0, x * 0.5, x))
