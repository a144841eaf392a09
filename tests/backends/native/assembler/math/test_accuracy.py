"""Vector math: errors of at most 2 ulp on all targets, special values, and its coefficients."""

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

from phintys.backends.native.assembler import externals
from phintys.backends.native.assembler.math import FLOAT_FUNCTIONS, coefficients, float_math
from phintys.backends.native.assembler.target import Target
from phintys.scalar.table import SCALAR_OPS
from tools.native_functions import elementwise

PROJECT = Path(__file__).resolve().parents[5]


def script(name):
    """Import a script of benchmarks/."""
    spec = importlib.util.spec_from_file_location(name, PROJECT / "benchmarks" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


accuracy, minimax = script("accuracy"), script("minimax")

HOST = Target.host()
LEVELS = [Target.named(name) for name in ("x86-64-v2", "x86-64-v3", "x86-64-v4")]
# What this CPU runs: the host's own features, and each level of x86-64 up to it.
TARGETS = [HOST] + [
    level
    for level in LEVELS
    if level.triple == HOST.triple and level.vector_bytes <= HOST.vector_bytes
]
DTYPES = ("float64", "float32")
RECORDS = {record.name: record for record in accuracy.RECORDS}
SCIPY = {external.op for external in externals.EXTERNALS.values() if external.source == "scipy"}

# Exact, or compared with NumPy elsewhere.
# fmt: off
PLAIN = {
    "abs", "add", "ceil", "clip", "conj", "copysign", "deg2rad", "floor", "fmax", "fmin", "fmod",
    "heaviside", "int_div", "maximum", "minimum", "mod", "mul", "neg", "nextafter", "pos",
    "rad2deg", "reciprocal", "rint", "sign", "spacing", "sqr", "sub", "true_div",
    "trunc",
}
# fmt: on

# These iterate until all lanes have converged; test_iterated.py has their bounds.
ITERATED = {"log_gamma_slope", "log_ive_slope", "log_kve_slope", "zeta"}
# tests/scalar/test_gamma_quotients.py has the bounds of these.
DENSITIES = {"beta_density", "gamma_density"}


def test_every_function_has_a_record():
    assert set(FLOAT_FUNCTIONS) == set(RECORDS) | PLAIN | ITERATED | DENSITIES | SCIPY


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", RECORDS)
def test_errors_are_at_most_2_ulp(name, dtype):
    record = RECORDS[name]
    for label in record.ranges:
        exact = accuracy.sample(record, label, dtype, 150)
        for target in TARGETS:
            function = accuracy.compiled(name, len(exact.inputs), dtype, target)
            error = accuracy.errors(exact, function(*exact.inputs), dtype)
            worst = int(np.argmax(error))
            where = [x[worst] for x in exact.inputs]
            assert error[worst] <= 2, (label, target.name, where)


SPECIAL = [0.0, 0.5, 1.0, 2.0, 3.0, 22.0, 87.5, 104.0, 300.0, 710.0, 746.0, np.inf, np.nan]


def special_values(dtype):
    info = np.finfo(dtype)
    numbers = [*SPECIAL, info.tiny, info.smallest_subnormal, info.max, info.eps, 1 + info.eps]
    numbers += [np.nextafter(dtype(1), dtype(0)), info.tiny * 1.5, np.sqrt(info.max)]
    numbers = np.array(numbers).astype(dtype)
    return np.concatenate([numbers, -numbers])


@pytest.mark.sampled(5, 2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(set(RECORDS) | PLAIN))
def test_special_values(name, dtype):
    row = SCALAR_OPS[name]
    nin = FLOAT_FUNCTIONS[name].nin
    inputs = [x.ravel() for x in np.meshgrid(*[special_values(dtype)] * min(nin, 2))]
    inputs += [inputs[0][::-1]] * (nin - 2)
    with np.errstate(all="ignore"):
        # In double precision float32 neither overflows nor loses digits on the way.
        wide = [x.astype(np.float64) for x in inputs] if dtype is np.float32 else inputs
        expected = np.asarray(row.impl(*(inputs if name in PLAIN else wide))).astype(dtype)
        if name in ROUGH:
            expected = with_exact_numbers(RECORDS[name], wide[0], expected)
        spacing = np.maximum(np.spacing(np.abs(expected)), np.finfo(dtype).smallest_subnormal)
        if name in CANCELLING:
            largest = np.max(np.abs(inputs), axis=0)
            spacing = np.maximum(spacing, np.spacing(np.where(largest < 1e9, largest, 0)))
        for target in TARGETS:
            result = elementwise(
                lambda b, *values: float_math(b, name, *values),
                [dtype] * nin,
                dtype,
                target=target,
            )(*inputs)
            close = np.abs(result - expected) <= LOOSE.get(name, 3) * spacing
            agreed = (result == expected) | (np.isfinite(expected) & close)
            same_sign = np.signbit(result) == np.signbit(expected)
            near_zero = np.abs(expected) <= spacing
            agreed &= same_sign | (near_zero & (name in ANY_ZERO | CANCELLING))
            agreed |= np.isnan(result) & np.isnan(expected)
            wrong = np.flatnonzero(~agreed)
            found = [(*(x[i] for x in inputs), result[i], expected[i]) for i in wrong[:5]]
            assert not found, target.name


def with_exact_numbers(record, x, expected):
    """Replace the results of all numbers but poles by what the record says."""
    expected = expected.copy()
    for i in np.flatnonzero(np.isfinite(x) & ((x > 0) | (x != np.floor(x)))):
        with accuracy.mp.workprec(accuracy.PRECISION):
            expected[i] = float(record.exact(accuracy.mp.mpf(x[i])))
    return expected


# SciPy's are far off at some of the numbers: next to 1, to poles, and where they are subnormal.
ROUGH = {"digamma", "gammaln"}
# The references lose digits, or keep fewer than native code.
LOOSE = {"ndtr": 2.0**14, "log_ndtr": 2.0**14}
# Their error is counted in ulp of the larger input.
CANCELLING = {"logaddexp", "logaddexp2"}
# NumPy's maximum of 0.0 and -0.0 is the one or the other, too.
ANY_ZERO = {"clip", "fmax", "fmin", "maximum", "minimum", "log1mexp"}


@pytest.mark.parametrize(("name", "x", "y"), [
    ("exp", 0.0, 1.0), ("exp", -np.inf, 0.0), ("exp2", 10.0, 1024.0), ("expm1", -np.inf, -1.0),
    ("log", 1.0, 0.0), ("log2", 8.0, 3.0), ("log2", 2.0**-1074, -1074.0), ("log10", 1000.0, 3.0),
    ("log10", 1e15, 15.0), ("log1p", 0.0, 0.0), ("cos", 0.0, 1.0), ("cos", 1e-9, 1.0),
    ("sigmoid", 0.0, 0.5), ("sigmoid", -np.inf, 0.0), ("tanh", np.inf, 1.0), ("erf", np.inf, 1.0),
    ("erfc", 0.0, 1.0), ("cbrt", -27.0, -3.0), ("arcsin", 1.0, np.pi / 2), ("arccos", 1.0, 0.0),
    ("erfcx", 0.0, 1.0), ("log_ndtr", np.inf, 0.0),
    ("arccosh", 1.0, 0.0), ("ndtr", 0.0, 0.5), ("sqrt", 2.25, 1.5), ("arctan", np.inf, np.pi / 2),
])  # fmt: skip
def test_exact_results(name, x, y):
    for target in TARGETS:
        function = accuracy.compiled(name, 1, "float64", target)
        assert function(np.array([x]))[0] == y


@pytest.mark.parametrize(
    ("x", "y"), [(2.0, 10.0), (10.0, 5.0), (0.5, 1074.0), (-3.0, 3.0), (9.0, 0.5)]
)
def test_exact_powers(x, y):
    for target in TARGETS:
        function = accuracy.compiled("pow", 2, "float64", target)
        assert function(np.array([x]), np.array([y]))[0] == x**y


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles_among_others(name):
    # Only some lanes leave the fast path.
    x = np.tile([0.5, 1e22, -3e300, np.inf, 2.0, -1e15, np.nan, 1e5], 5)[:37]
    with np.errstate(invalid="ignore"):
        expected = getattr(np, name)(x)
    for target, lanes in itertools.product(TARGETS, (1, 8)):
        function = elementwise(
            lambda b, x: float_math(b, name, x), ["f8"], "f8", target=target, lanes=lanes
        )
        assert np.allclose(function(x), expected, rtol=1e-15, atol=0, equal_nan=True)


def test_coefficients_are_what_the_script_computes():
    computed, _ = minimax.table()
    for name, by_dtype in computed.items():
        kept = getattr(coefficients, name)
        assert {dtype: tuple(values) for dtype, values in by_dtype.items()} == kept
