"""Every row of the table of scalar ops, for every dtype, against its reference."""

import itertools
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from phintys._base.errors import DtypeError, MethodNotDefinedError
from phintys.backends.native.assembler.operations import emit, supports
from phintys.backends.native.assembler.scalar_ops import can_emit, emit_scalar_op
from phintys.backends.native.assembler.target import Target
from phintys.scalar.row_kinds import FloatRow
from phintys.scalar.table import SCALAR_OPS
from tools.native_functions import Elementwise, elementwise, elementwise_functions

# fmt: off
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)
# fmt: on

# What runs as a callback is what the page names; another test compares the page with the code.
PAGE = (Path(__file__).parents[4] / "docs" / "native.md").read_text()
WITHOUT_CODE = {
    name
    for names in re.findall(r"\| scalar ops \| (.*) \| no code for any dtype \|", PAGE)
    for name in re.findall(r"`(\w+)`", names)
}
# For complex numbers these have no code either.
# fmt: off
REAL_ONLY = {
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "digamma", "erf", "erfc",
    "erfcx", "gamma", "iv", "jv", "kv", "kve", "log_ndtr", "ndtr", "yv",
}
# fmt: on
# SciPy's own functions lose digits far from 0.
LOOSE = {"ndtr": 1e-11, "erfc": 1e-12, "trigamma": 1e-12}
# Differences of nearly equal slopes lose some too.
LOOSE["log_gamma_bend"] = 1e-11
# NumPy's longest floats have fewer digits of a larger phase than native code, and none of 1e18.
MOST_PHASE = 1e8
SPECIAL = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, -2, 2.5, np.inf, -np.inf, np.nan]
BY_SIZE = {2: 2e-3, 4: 3e-6, 8: 1e-13}


def sample(rng, dtype, n):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = rng.integers(max(info.min, -9), 10, n).astype(dtype)
        edges = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0]
        return np.where(rng.random(n) < 0.3, rng.choice(np.array(edges, dtype), n), small)
    if dtype.kind == "f":
        numbers = (rng.normal(size=n) * rng.choice([0.3, 3], n)).astype(dtype)
        info = np.finfo(dtype)
        edges = [*SPECIAL, info.max, -info.max, info.tiny, info.smallest_subnormal]
        return np.where(rng.random(n) < 0.3, rng.choice(np.array(edges, dtype), n), numbers)
    # Infinities and NaN of complex numbers have tests of their own.
    parts = rng.normal(size=(2, n)) * rng.choice([0.3, 3], n)
    parts[:, :3] = [[0, 1, -1], [0, 0, 0]]
    return (parts[0] + 1j * parts[1]).astype(dtype)


@np.errstate(all="ignore")
def inputs_for(row, dtypes, out, n=200):
    rng = np.random.default_rng(zlib.crc32(f"{row.name} {dtypes}".encode()))
    inputs = [sample(rng, dtype, n) for dtype in dtypes]
    if row.name == "pow" and out.kind == "i":
        inputs[1] = np.maximum(inputs[1], 0)
    if row.name == "yv" and inputs[0].dtype.kind in "iu":
        # SciPy 1.13 counts up to an integral order: seconds for a large one, without Ctrl-C.
        inputs[0] = np.where(abs(inputs[0].astype(float)) < 1000, inputs[0], 3).astype(dtypes[0])
    if row.name == "log_gamma_bend":
        # Numbers about 1 are not quantiles for a huge shape: the slope there is only rounding.
        inputs[0] = np.where(inputs[0].astype(float) < 1e4, inputs[0], 3).astype(dtypes[0])
    if row.name == "digamma_difference":
        # Of negative numbers it is a difference of its terms, which may cancel to rounding.
        a, b = (x.astype(float) for x in inputs)
        usual = (a > 0) & (a + b > 0)
        inputs = [np.where(usual, x, 3).astype(x.dtype) for x in inputs]
    if row.name == "zeta":
        # SciPy has NaN where the first term underflows to 0.
        inputs[0] = np.where(inputs[0].astype(float) < 30, inputs[0], 3).astype(dtypes[0])
    if row.name.startswith("cast_") and out.kind in "iu" and inputs[0].dtype.kind == "f":
        # Out of the range of the result anything may come.
        limits = np.iinfo(out)
        fits = (inputs[0] > max(limits.min, -1e9)) & (inputs[0] < min(limits.max, 1e9))
        inputs[0] = np.where(fits, inputs[0], inputs[0].dtype.type(7))
    return inputs


@np.errstate(all="ignore")
def agree(result, expected, tolerance):
    """Return where results are equal, NaN alike, or close; overflow may come an ulp early."""
    if expected.dtype.kind in "biu":
        return result == expected
    part = expected.real.dtype
    tolerance = max(tolerance, BY_SIZE[part.itemsize])
    modulus = np.abs(np.where(np.isfinite(expected), expected, 0).astype(complex))
    agreed = np.ones(expected.shape, bool)
    for x, y in ((result.real, expected.real), (result.imag, expected.imag)):
        x, y = x.astype(float), y.astype(float)
        close = np.abs(x - y) <= tolerance * modulus + 4 * float(np.finfo(part).smallest_subnormal)
        top = 0.98 * float(np.finfo(part).max)
        agreed &= (
            (x == y)
            | (np.isnan(x) & np.isnan(y))
            | (np.isfinite(x) & np.isfinite(y) & close)
            | ((np.minimum(np.abs(x), np.abs(y)) > top) & (x * y > 0))
        )
    return agreed


def reference(row, inputs, out):
    """Return what the row's own function gives, for single precision computed in double.

    An expansion rounds where the function does: sinc(1) is sin(pi) for pi in the precision of x.
    """
    if row.expansion is not None:
        pass
    elif out == np.float32 and isinstance(row, FloatRow):
        inputs = [x.astype(np.float64) for x in inputs]
    elif out == np.complex64:
        inputs = [x.astype(np.result_type(x, np.float64)) for x in inputs]
    with np.errstate(all="ignore"):
        result = np.asarray(row.impl(*inputs)).astype(out)
        if row.name == "gammaln":
            # SciPy's is infinite at subnormal numbers, where it is -log|x|.
            x = np.abs(inputs[0])
            result = np.where((x > 0) & (x < 1e-308), -np.log(x), result).astype(out)
        return result


def combinations(row):
    count = row.nin if row.nin >= 0 else 2
    everything = list(itertools.product(DTYPES, repeat=count))
    if count == 1:
        return everything
    rng = np.random.default_rng(count)
    chosen = rng.choice(len(everything), 12, replace=False)
    return [(dtype,) * count for dtype in DTYPES] + [everything[i] for i in chosen]


def kernel_of(row, dtypes, out):
    """Return what a row computes, where nothing that it refuses is a failure."""

    def compute(b, *values):
        b.fail_where = lambda mask, message: None
        return emit_scalar_op(b, row, values, np.dtype(out))

    return Elementwise(compute, dtypes, out)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(SCALAR_OPS))
def test_every_row(name):
    row = SCALAR_OPS[name]
    kernels = []
    for dtypes in combinations(row):
        try:
            (out,) = row.resolve_dtypes(dtypes)
        except DtypeError:
            continue
        if can_emit(row, dtypes):
            kernels.append(kernel_of(row, dtypes, out))
        else:
            assert name in WITHOUT_CODE or (name in REAL_ONLY and out.kind == "c"), dtypes
    assert kernels or name in WITHOUT_CODE
    for kernel, function in zip(kernels, elementwise_functions(kernels), strict=True):
        inputs = inputs_for(row, kernel.dtypes, kernel.out)
        result = function(*inputs)
        expected = reference(row, inputs, kernel.out)
        agreed = agree(result, expected, LOOSE.get(name, 0))
        if name in {"jv", "yv"}:
            agreed |= np.max([np.abs(x.astype(float)) for x in inputs], axis=0) > MOST_PHASE
        wrong = [(*(x[i] for x in inputs), result[i], expected[i]) for i in np.flatnonzero(~agreed)]
        assert agreed.all(), (kernel.dtypes, kernel.out, wrong[:5])


def apply(name, dtypes, out, *inputs, target=None):
    return elementwise(lambda b, *values: emit(b, name, values, out), dtypes, out, target=target)(
        *inputs
    )


def test_sums_of_many_inputs():
    x = np.arange(5.0)
    assert np.array_equal(apply("add", ["f8", "i1", "f4"], "f8", x, x, x), 3 * x)
    assert np.array_equal(apply("mul", ["f8"], "f8", x), x)


ORDER = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "lt", "le", "eq", "ne"])
def test_complex_order(name):
    numbers = [complex(a, b) for a in ORDER for b in ORDER]
    x, y = (part.ravel() for part in np.meshgrid(numbers, numbers))
    row = SCALAR_OPS[name]
    (out,) = row.resolve_dtypes(["c16", "c16"])
    with np.errstate(invalid="ignore"):
        expected = row.impl(x, y)
    result = apply(name, ["c16", "c16"], out, x, y)
    assert agree(result, expected, 0).all()


@pytest.mark.parametrize(
    "name", ["exp", "sqrt", "log", "abs", "angle", "isnan", "isinf", "isfinite"]
)
@pytest.mark.parametrize("target", ["host", "x86-64-v2"])
def test_complex_infinities(name, target):
    x = np.array([complex(a, b) for a in ORDER for b in ORDER])
    row = SCALAR_OPS[name]
    (out,) = row.resolve_dtypes(["c16"])
    with np.errstate(all="ignore"):
        expected = np.asarray(row.impl(x))
    assert agree(apply(name, ["c16"], out, x, target=Target.named(target)), expected, 0).all()


@pytest.mark.parametrize("dtype", DTYPES[1:9])
def test_integer_division_at_all_edges(dtype):
    info = np.iinfo(dtype)
    numbers = {0, 1, 2, 3, 7, info.max, info.max - 1, info.max // 2, info.min, info.min + 1}
    numbers |= {-1, -2, -3, -7} if info.min else set()
    x, y = (part.ravel() for part in np.meshgrid(*[np.array(sorted(numbers), dtype)] * 2))
    for name in ("int_div", "mod", "fmod", "left_shift", "right_shift"):
        row = SCALAR_OPS[name]
        (out,) = row.resolve_dtypes([dtype, dtype])
        with np.errstate(all="ignore"):
            expected = row.impl(x, y)
        assert np.array_equal(apply(name, [dtype, dtype], out, x, y), expected), name


REMAINDERS = [0.0, -0.0, 1, -1, 3, -3, 0.1, -0.1, 1e300, -1e300, 5e-324, 2e-308, 1e17, 7.5, 1e-5]


@pytest.mark.parametrize("target", ["host", "x86-64-v2"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", ["fmod", "mod", "int_div"])
def test_remainders_are_exact(name, dtype, target):
    numbers = np.array([*REMAINDERS, np.inf, -np.inf, np.nan])
    rng = np.random.default_rng(0)
    numbers = np.concatenate([numbers, rng.normal(size=30), np.exp(rng.uniform(-80, 80, 30))])
    with np.errstate(all="ignore"):
        x, y = (part.ravel() for part in np.meshgrid(*[numbers.astype(dtype)] * 2))
        expected = SCALAR_OPS[name].impl(x, y)
    result = apply(name, [dtype, dtype], dtype, x, y, target=Target.named(target))
    assert np.array_equal(result, expected, equal_nan=True)
    ordinary = ~np.isnan(expected)
    assert np.array_equal(np.signbit(result)[ordinary], np.signbit(expected)[ordinary])


def test_integer_powers_report_negative_exponents():
    seen = []

    def compute(b, x, y):
        b.fail_where = lambda mask, message: seen.append((mask.type.kind, message))
        return emit(b, "pow", [x, y], "int64")

    x, y = np.array([3, -2, 0, 10, 7]), np.array([4, 63, 0, 19, 1])
    assert np.array_equal(elementwise(compute, ["i8", "i8"], "i8")(x, y), x**y)
    assert seen[0] == ("b", "Integers to negative integer powers are not allowed.")
    with pytest.raises(MethodNotDefinedError, match=r"set builder\.fail_where"):
        apply("pow", ["i8", "i8"], "i8", x, y)


def test_what_is_not_supported():
    assert supports("add", ["float64", "int8"], "float64")
    assert not supports("add", ["O", "O"], "O")
    assert not supports("sub", ["bool", "bool"], "bool")
    assert not supports("no such op", ["float64"], "float64")
