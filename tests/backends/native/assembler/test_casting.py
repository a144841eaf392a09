"""Casts between all dtypes, against NumPy's astype."""

import numpy as np
import pytest

from phintys._base.errors import DtypeError
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.casting import cast, real_cast
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import PTR, type_of
from tools.native_functions import elementwise

# fmt: off
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)
# fmt: on


@np.errstate(all="ignore")
def values(dtype, target):
    """Return edges of ``dtype``; no floats that the target cannot hold."""
    dtype, target = np.dtype(dtype), np.dtype(target)
    if dtype.kind == "c":
        parts = values(dtype.type(0).real.dtype, target)
        return (parts + 1j * parts[::-1]).astype(dtype)
    if dtype.kind in "biu":
        info = np.iinfo(dtype if dtype.kind != "b" else np.uint8)
        numbers = [0, 1, 2, 100, info.min, info.max, info.max // 2 + 1, info.max // 3]
        return np.array(numbers).astype(dtype)
    info = np.finfo(dtype)
    numbers = [0, -0.0, 1, 0.5, 0.999, 1.5, 2.5, 100.7, 2049, 1e4, 65519, 65504]
    numbers += [float(info.tiny), float(info.smallest_subnormal), 1 + float(info.eps)]
    if target.kind != "u":
        numbers += [-1, -0.5, -100.7]
    if target.kind in "iu":
        most = min(float(np.iinfo(target).max) * 0.99, float(info.max))
        numbers = [x for x in [*numbers, most, most / 3] if abs(x) <= most]
    else:
        numbers += [np.inf, -np.inf, np.nan, float(info.max), -float(info.max), 65520, 65536]
        numbers += [6e-8, 2.98e-8, 2.9802325e-8, 1e-7, 6.1e-5, 2**-24 * 1.5, 2**-25, 1e300]
    return np.array(numbers, np.float64).astype(dtype)


def check(source, wanted, target=None):
    x = values(source, wanted)
    function = elementwise(
        lambda b, x: cast(b, x, type_of(wanted, x.type.lanes)), [source], wanted, target=target
    )
    with np.errstate(all="ignore"):
        expected = (x.real if np.dtype(source).kind == "c" != np.dtype(wanted).kind else x).astype(
            wanted
        )
        if np.dtype(wanted).kind == "b":
            expected = x != 0
    assert np.array_equal(function(x), expected, equal_nan=np.dtype(wanted).kind in "fc")
    if np.dtype(wanted).kind == "f":
        finite = expected[~np.isnan(expected)]
        assert np.array_equal(np.signbit(function(x)[~np.isnan(expected)]), np.signbit(finite))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("source", DTYPES)
def test_all_pairs(source):
    for wanted in DTYPES:
        check(source, wanted)


@pytest.mark.parametrize("name", ["x86-64-v2", "x86-64-v3"])
def test_float16_on_older_cpus(name):
    target = runnable(name)
    for other in ("float16", "float32", "float64", "int32", "bool"):
        check("float16", other, target)
        check(other, "float16", target)


def runnable(name):
    target, host = Target.named(name), Target.host()
    if target.triple != host.triple or target.vector_bytes > host.vector_bytes:
        pytest.skip(f"this CPU does not run {name}")
    return target


@pytest.mark.parametrize("name", ["host", "x86-64-v2"])
def test_every_float16(name):
    target = runnable(name)
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    widen = elementwise(lambda b, x: cast(b, x, x.type.like("f4")), ["f2"], "f4", target=target)
    with np.errstate(invalid="ignore"):  # signalling NaN, where the CPU converts them itself
        assert np.array_equal(widen(x), x.astype("f4"), equal_nan=True)
    narrow = elementwise(lambda b, x: cast(b, x, x.type.like("f2")), ["f4"], "f2", target=target)
    # All numbers, those half way between two, and their neighbours.
    finite = np.sort(x[np.isfinite(x)].astype("f4"))
    middle = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2])
    for y in (
        middle,
        np.nextafter(middle, np.float32(9e9)),
        np.nextafter(middle, np.float32(-9e9)),
    ):
        with np.errstate(over="ignore"):
            assert np.array_equal(narrow(y), y.astype("f2"))


@pytest.mark.parametrize("name", ["host", "x86-64-v2"])
def test_float64_is_rounded_once_to_float16(name):
    narrow = elementwise(
        lambda b, x: cast(b, x, x.type.like("f2")), ["f8"], "f2", target=runnable(name)
    )
    rng = np.random.default_rng(0)
    halves = rng.integers(0, 0x7BFF, 10_000).astype(np.uint16)
    middle = (halves.view("f2").astype("f8") + (halves + 1).astype("u2").view("f2")) / 2
    # So close to the middle that rounding to float32 first would end there.
    for factor in (1 - 2.0**-40, 1, 1 + 2.0**-40):
        x = middle * factor
        assert np.array_equal(narrow(x), x.astype("f2"))


@pytest.mark.parametrize("source", ["f4", "f8"])
@pytest.mark.parametrize("wanted", ["i4", "u4", "i8"])
def test_floats_out_of_range_do_not_trap(source, wanted):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 3], source)
    result = elementwise(lambda b, x: cast(b, x, type_of(wanted, x.type.lanes)), [source], wanted)(
        x
    )
    assert result[-1] == 3


def test_pointers_are_no_numbers():
    b = Builder(Module(Target.host()).function("f", PTR, [PTR]))
    with pytest.raises(DtypeError, match="no cast from ptr"):
        real_cast(b, b.arguments[0], type_of("int64"))
