"""Code for scalar ops by name: operands are cast as in NumPy, then a typed function applies.

Most ops compute in the dtype of their result. Those that do not (comparisons, tests, casts,
conditions, parts of complex numbers) are listed here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import DtypeError, MethodNotDefinedError
from phintys._base.late import LateModule
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.casting import cast, from_float16, is_true, to_float16
from phintys.backends.native.assembler.math import (
    COMPLEX_FUNCTIONS,
    FLOAT_FUNCTIONS,
    INTEGER_FUNCTIONS,
    float_math,
)
from phintys.backends.native.assembler.math.floating import times_power_of_two
from phintys.backends.native.assembler.types import MachineType, type_of
from phintys.backends.native.assembler.values import Complex, Value

if TYPE_CHECKING:
    from phintys.backends.native.assembler.math import complex as complex_math
else:
    complex_math = LateModule("phintys.backends.native.assembler.math.complex")

Any_ = Value | Complex

_BOOL_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "add": lambda b, x, y: x | y,
    "mul": lambda b, x, y: x & y,
    "maximum": lambda b, x, y: x | y,
    "minimum": lambda b, x, y: x & y,
    "fmax": lambda b, x, y: x | y,
    "fmin": lambda b, x, y: x & y,
    "clip": lambda b, x, lower, upper: (x | lower) & upper,
    "and_": lambda b, x, y: x & y,
    "or_": lambda b, x, y: x | y,
    "xor": lambda b, x, y: x ^ y,
    "invert": lambda b, x: ~x,
    "abs": lambda b, x: x,
    "sqr": lambda b, x: x,
    "conj": lambda b, x: x,
    "ceil": lambda b, x: x,
    "floor": lambda b, x: x,
    "trunc": lambda b, x: x,
}

_CONTRACTED = {"add": "fadd", "sub": "fsub", "mul": "fmul", "sqr": "fmul"}
"""Ops that may become parts of a fused multiply-add: with one operand, it is both factors."""

FOLDED = {"add", "mul"}
"""Ops of any number of inputs, taken in order."""


def emit(b: Builder, name: str, values: Sequence[Any_], out: Any) -> Any_:
    """Compute a scalar op.

    Parameters
    ----------
    b
        The builder.
    name
        Name of the scalar op: ``"exp"``, ``"int_div"``, ``"cast_float32"`` ...
    values
        The inputs in their own dtypes, all with the same lanes.
    out
        The dtype of the result that NumPy's rules give.

    Returns
    -------
    Value or Complex
        Of type ``type_of(out, lanes)``.

    Raises
    ------
    MethodNotDefinedError
        If there is no native code for these dtypes; see :func:`supports`.

    Examples
    --------
    >>> from phintys.backends.native.assembler.module import Module
    >>> from phintys.backends.native.assembler.target import Target
    >>> from phintys.backends.native.assembler.types import FLOAT32, INT8
    >>> b = Builder(Module(Target.named("x86-64-v3")).function("f", FLOAT32, [FLOAT32, INT8]))
    >>> b.ret(emit(b, "add", b.arguments, "float32"))
    >>> print(b.block)
    entry:
      %v1 = sitofp i8 %a1 to float
      %v2 = fadd float %a0, %v1
      ret float %v2
    """
    type = type_of(out, values[0].type.lanes)
    general = _GENERAL.get(name)
    if general is not None:
        return general(b, list(values), type)
    if name.startswith("cast_"):
        return cast(b, values[0], type_of(name.removeprefix("cast_"), type.lanes))
    operand_type = _operand_type(name, values, type)
    operands = [cast(b, value, operand_type) for value in values]
    if name in FOLDED and len(operands) != 2:
        result = operands[0]
        for operand in operands[1:]:
            result = _compute(b, name, [result, operand])
        return result
    return _compute(b, name, operands)


def supports(name: str, dtypes: Sequence[Any], out: Any) -> bool:
    """Return whether :func:`emit` has code for a scalar op on these dtypes.

    Parameters
    ----------
    name
        Name of the scalar op.
    dtypes, out
        Dtypes of the inputs and of the result.

    Examples
    --------
    >>> supports("exp", ["float32"], "float32")
    True
    >>> supports("polygamma", ["int8", "float64"], "float64")
    False
    """
    try:
        types = [type_of(dtype) for dtype in [out, *dtypes]]
    except DtypeError:
        return False
    if name in _GENERAL or name.startswith("cast_"):
        return True
    result, *inputs = types
    kind = _operand_type_of(name, inputs, result).kind
    return name in _functions(kind)


def _operand_type(name: str, values: Sequence[Any_], out: MachineType) -> MachineType:
    return _operand_type_of(name, [value.type for value in values], out)


def _operand_type_of(name: str, inputs: Sequence[MachineType], out: MachineType) -> MachineType:
    """Return the type in which an op computes: usually that of its result."""
    if name in {"abs", "angle"} and inputs[0].kind == "c":
        return inputs[0]
    return out


def _functions(kind: str) -> Mapping[str, Any]:
    if kind == "b":
        return _BOOL_FUNCTIONS
    if kind == "c":
        return COMPLEX_FUNCTIONS
    return FLOAT_FUNCTIONS if kind in "fh" else INTEGER_FUNCTIONS


def _compute(b: Builder, name: str, operands: Sequence[Any_]) -> Any_:
    type = operands[0].type
    functions = _functions(type.kind)
    if name not in functions:
        msg = f"There is no native code for {name!r} of {type!r}; it can run as a callback."
        raise MethodNotDefinedError(msg)
    if type.kind == "f":
        reals = _reals(operands)
        if b.target.contracts and name in _CONTRACTED:
            return b.contracted(_CONTRACTED[name], reals[0], reals[-1])
        return float_math(b, name, *reals)
    if type.kind == "h":
        if name == "nextafter":
            return _next_float16(b, *_reals(operands))
        if name == "spacing":
            return _spacing_of_float16(b, *_reals(operands))
        return to_float16(b, float_math(b, name, *(from_float16(b, x) for x in _reals(operands))))
    return functions[name](b, *operands)


def _reals(operands: Sequence[Any_]) -> list[Value]:
    return [operand for operand in operands if isinstance(operand, Value)]


def _next_float16(b: Builder, x: Value, y: Value) -> Value:
    """The next float16 after x towards y: its bits, as an integer, one more or less."""
    wide_x, wide_y = from_float16(b, x), from_float16(b, y)
    integer = x.type.like("int16")
    bits = b.bitcast(x, integer)
    away = (wide_x < wide_y) ^ (bits < 0)
    moved = bits + b.select(away, b.constant(integer, 1), -1)
    smallest = (b.bitcast(y, integer) & -0x8000) | 1
    moved = b.select(b.eq(wide_x, 0.0), smallest, moved)
    moved = b.select(b.eq(wide_x, wide_y), b.bitcast(y, integer), moved)
    return b.bitcast(b.select(b.compare("uno", wide_x, wide_y), 0x7E00, moved), x.type)


def _spacing_of_float16(b: Builder, x: Value) -> Value:
    """The next float16 upwards, minus x, as NumPy has it; NaN for infinities."""
    wide = from_float16(b, x)
    upwards = to_float16(b, b.constant(wide.type, math.inf))
    distance = from_float16(b, _next_float16(b, x, upwards)) - wide
    return to_float16(b, distance + (wide - wide))


# Ops that do not compute in the dtype of their result


def _common(b: Builder, values: Sequence[Any_]) -> list[Any_]:
    """Cast values to their common dtype; float16 to float32, in which it is compared."""
    names = [value.type.name for value in values]
    dtype = np.result_type(*map(np.dtype, names))
    type = type_of("float32" if dtype == np.float16 else dtype, values[0].type.lanes)
    return [cast(b, value, type) for value in values]


_ORDERS = {"lt": (False, False), "le": (False, True), "gt": (True, False), "ge": (True, True)}


def _compare(b: Builder, name: str, values: Sequence[Any_]) -> Value:
    names = {value.type.name for value in values}
    kinds = {value.type.kind for value in values}
    if "uint64" in names and kinds == {"u", "i"}:
        return _compare_signs(b, name, values)
    x, y = _common(b, values)
    if isinstance(x, Complex) and isinstance(y, Complex):
        if name == "eq":
            return b.eq(x.re, y.re) & b.eq(x.im, y.im)
        if name == "ne":
            return b.ne(x.re, y.re) | b.ne(x.im, y.im)
        swapped, equal = _ORDERS[name]
        first, second = (y, x) if swapped else (x, y)
        return complex_math.is_before(b, first, second, equal=equal)
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    if x.type.kind == "b":
        x, y = (b.convert(value, x.type.like("uint8")) for value in (x, y))
    if name in {"eq", "ne"}:
        return b.eq(x, y) if name == "eq" else b.ne(x, y)
    swapped, equal = _ORDERS[name]
    first, second = (y, x) if swapped else (x, y)
    return b.le(first, second) if equal else b.lt(first, second)


def _compare_signs(b: Builder, name: str, values: Sequence[Any_]) -> Value:
    """Compare uint64 with a signed integer exactly: a negative number is below all others."""
    lanes = values[0].type.lanes
    unsigned = type_of("uint64", lanes)
    x, y = _reals(values)
    first, second = (cast(b, value, unsigned) for value in (x, y))
    plain = _compare(b, name, [first, second])
    signed, signed_first = (x, True) if x.type.kind == "i" else (y, False)
    negative = signed < 0
    when_negative = {
        "eq": False,
        "ne": True,
        "lt": signed_first,
        "le": signed_first,
        "gt": not signed_first,
        "ge": not signed_first,
    }[name]
    return b.select(negative, b.constant(plain.type, when_negative), plain)


def _comparison(name: str) -> Callable[..., Value]:
    return lambda b, values, out: _compare(b, name, values)


def _float_parts(b: Builder, x: Any_) -> list[Value]:
    """Return the floats that x consists of, none for integers."""
    if isinstance(x, Complex):
        return [x.re, x.im]
    if x.type.kind == "h":
        return [from_float16(b, x)]
    return [x] if x.type.kind == "f" else []


def _isnan(b: Builder, values: Sequence[Any_], out: MachineType) -> Value:
    return _some(b, [b.isnan(part) for part in _float_parts(b, values[0])], out)


def _isinf(b: Builder, values: Sequence[Any_], out: MachineType) -> Value:
    parts = _float_parts(b, values[0])
    return _some(b, [b.eq(b.intrinsic("fabs", part), math.inf) for part in parts], out)


def _isfinite(b: Builder, values: Sequence[Any_], out: MachineType) -> Value:
    parts = _float_parts(b, values[0])
    infinite = [b.compare("uge", b.intrinsic("fabs", part), math.inf) for part in parts]
    return ~_some(b, infinite, out)


def _some(b: Builder, masks: Sequence[Value], out: MachineType) -> Value:
    if not masks:
        return b.constant(out, 0)
    return masks[0] if len(masks) == 1 else masks[0] | masks[1]


def _signbit(b: Builder, values: Sequence[Any_], out: MachineType) -> Value:
    (x,) = _reals(values)
    if x.type.kind in "bu":
        return b.constant(out, 0)
    return (x if x.type.kind == "i" else b.bitcast(x, x.type.integer)) < 0


def _bitwise_count(b: Builder, values: Sequence[Any_], out: MachineType) -> Any_:
    (x,) = _reals(values)
    if x.type.kind == "b":
        return cast(b, x, out)
    return cast(b, b.intrinsic("ctpop", INTEGER_FUNCTIONS["abs"](b, x)), out)


def _select(b: Builder, mask: Value, x: Any_, y: Any_) -> Any_:
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(b.select(mask, x.re, y.re), b.select(mask, x.im, y.im))
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    if x.type.kind == "h":
        bits = x.type.like("int16")
        return b.bitcast(b.select(mask, b.bitcast(x, bits), b.bitcast(y, bits)), x.type)
    return b.select(mask, x, y)


def _switch(b: Builder, values: Sequence[Any_], out: MachineType) -> Any_:
    condition, x, y = values
    return _select(b, is_true(b, condition), cast(b, x, out), cast(b, y, out))


def _ldexp(b: Builder, values: Sequence[Any_], out: MachineType) -> Any_:
    x, count = _reals(values)
    if out.kind == "h":
        wide = cast(b, x, out.like("float32"))
        return cast(b, _ldexp(b, [wide, count], out.like("float32")), out)
    x, count = _reals([cast(b, x, out), cast(b, count, out.like("int64"))])
    return times_power_of_two(b, x, count)


def _logical_not(b: Builder, values: Sequence[Any_], out: MachineType) -> Value:
    return ~is_true(b, values[0])


def _real(b: Builder, values: Sequence[Any_], out: MachineType) -> Any_:
    (x,) = values
    return x.re if isinstance(x, Complex) else x


def _imag(b: Builder, values: Sequence[Any_], out: MachineType) -> Any_:
    (x,) = values
    return x.im if isinstance(x, Complex) else b.constant(out, 0)


def _complex(b: Builder, values: Sequence[Any_], out: MachineType) -> Complex:
    re, im = (cast(b, value, out.part) for value in values)
    assert isinstance(re, Value)
    assert isinstance(im, Value)
    return Complex(re, im)


def _complex_from_polar(b: Builder, values: Sequence[Any_], out: MachineType) -> Complex:
    radius, angle = _complex(b, values, out)
    return Complex(radius * float_math(b, "cos", angle), radius * float_math(b, "sin", angle))


def _angle(b: Builder, values: Sequence[Any_], out: MachineType) -> Any_:
    (x,) = values
    if isinstance(x, Complex):
        return COMPLEX_FUNCTIONS["angle"](b, x)
    return emit(b, "arctan2", [b.constant(out, 0), x], out.name)


_GENERAL: dict[str, Callable[..., Any]] = {
    **{name: _comparison(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "signbit": _signbit,
    "bitwise_count": _bitwise_count,
    "ldexp": _ldexp,
    "logical_and": lambda b, values, out: is_true(b, values[0]) & is_true(b, values[1]),
    "logical_or": lambda b, values, out: is_true(b, values[0]) | is_true(b, values[1]),
    "logical_xor": lambda b, values, out: is_true(b, values[0]) ^ is_true(b, values[1]),
    "logical_not": _logical_not,
    "switch": _switch,
    "second": lambda b, values, out: cast(b, values[1], out),
    "identity": lambda b, values, out: values[0],
    "real": _real,
    "imag": _imag,
    "complex": _complex,
    "complex_from_polar": _complex_from_polar,
    "angle": _angle,
}
