"""Every row of the table of scalar ops against its record in DOMAINS."""

import copy
import itertools
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import phintys.scalar as ps
from phintys._base.config import config
from phintys._base.errors import DtypeError, MethodNotDefinedError, OpContractError
from phintys.scalar import SCALAR_OPS, ScalarType, all_types
from phintys.scalar.row import _row_named
from phintys.scalar.row_kinds import FloatRow, UfuncRow, VariadicRow
from phintys.testing.scalar_domains import DOMAINS, ScalarDomain

DTYPES = [type.numpy_dtype for type in all_types]
KINDS = {kind: [d for d in DTYPES if d.kind == kind] for kind in "biufc"}
EPS = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}

rows = pytest.mark.parametrize("name", DOMAINS)


def draw(domain: ScalarDomain, position: int, dtype, size: int, seed: int):
    """Return values of a dtype from an argument's interval."""
    rng = np.random.default_rng([seed, position])
    low, high = domain.interval(position, dtype.kind)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu" or position in domain.whole:
        low, high = np.ceil(low), np.floor(high)
        return rng.integers(int(low), int(high) + 1, size).astype(dtype)
    values = rng.uniform(low, high, size)
    return (values + 1j * rng.uniform(low, high, size) if dtype.kind == "c" else values).astype(
        dtype
    )


def arguments(name: str, dtypes, size=7, seed=0):
    domain = DOMAINS[name]
    return [draw(domain, i, dtype, size, seed) for i, dtype in enumerate(dtypes)]


def taken(name: str):
    """Yield tuples of equal dtypes (an integer one where that is needed) that an op takes."""
    domain = DOMAINS[name]
    for kind in domain.kinds:
        for dtype in KINDS[kind]:
            # int8 and the like in place of a float that an op does not take
            yield tuple(
                np.dtype("int32") if i in domain.integers else dtype
                for i in range(len(domain.intervals))
            )


def reference_of(name, values):
    """Return the reference's result; computed in double precision where ours takes care itself."""
    row = SCALAR_OPS[name]
    if isinstance(row, FloatRow):
        values = [v.astype("complex128" if v.dtype.kind == "c" else "float64") for v in values]
    with np.errstate(all="ignore"):
        return np.asarray(DOMAINS[name].function(*values))


def assert_close(name, result, expected):
    result, expected = np.asarray(result), np.asarray(expected)
    if not isinstance(SCALAR_OPS[name], FloatRow) and name not in {"complex_from_polar", "angle"}:
        np.testing.assert_array_equal(result, expected)
        return
    eps = EPS.get(result.dtype.name, 1e-14)
    np.testing.assert_allclose(result.astype(expected.dtype), expected, rtol=eps, atol=eps)


def test_the_table_and_the_domains_name_the_same_ops():
    assert SCALAR_OPS.keys() == DOMAINS.keys() | {f"cast_{type.dtype}" for type in all_types}
    for name, row in SCALAR_OPS.items():
        assert row.name == str(row) == name
        if not name.startswith("cast_"):
            assert getattr(ps, name) is row
    assert set(ps.__all__) == {n for n in ps.__all__ if hasattr(ps, n)}


@rows
def test_arity(name):
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    count = len(domain.intervals)
    assert row.nin in {count, -1}
    assert row.nout == 1
    if row.nin > 0:
        x = ps.int8()
        with pytest.raises(OpContractError, match=f"{name} takes {row.nin} input"):
            row(*[x] * (row.nin + 1))
        with pytest.raises(OpContractError, match="takes"):
            row.resolve_dtypes(["int8"] * (row.nin + 1))
    with pytest.raises(OpContractError):
        row()


def dtype_expected(name, dtypes):
    """Return the dtype that the op should have, or None where it takes no such dtypes."""
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    if isinstance(row, FloatRow):
        allowed = [
            dtype.kind != "c" or (row.complex and i not in row.real_inputs)
            for i, dtype in enumerate(dtypes)
        ]
        if not all(allowed):
            return None
        return np.result_type(*("float64" if d.kind in "biu" else d for d in dtypes))
    if name in {"complex", "complex_from_polar"}:
        if any(dtype.kind == "c" for dtype in dtypes):
            return None
        wide = [np.dtype("float64") if d.kind in "biu" else d for d in dtypes]
        return np.result_type("complex64", *wide)
    try:
        with np.errstate(all="ignore"):
            return domain.function(*(np.ones(1, dtype) for dtype in dtypes)).dtype
    except TypeError:
        return None


@pytest.mark.sampled(3, 2)
@rows
def test_dtypes_are_those_of_the_reference(name):
    row = SCALAR_OPS[name]
    pairs = list(itertools.product(DTYPES, repeat=len(DOMAINS[name].intervals)))
    accepted = set()
    for dtypes in pairs[:: 1 + len(pairs) // 400]:
        expected = dtype_expected(name, dtypes)
        types = [ScalarType(dtype) for dtype in dtypes]
        if expected is None:
            with pytest.raises(DtypeError, match=f"^{name} takes .*; got {dtypes[0]}"):
                row.make_node(*(type() for type in types))
            continue
        assert row.resolve_dtypes([dtype.name for dtype in dtypes]) == (expected,), dtypes
        node = row.make_node(*(type() for type in types))
        assert node.outputs[0].type is ScalarType(expected)
        if len(set(dtypes)) == 1:
            accepted.add(dtypes[0].kind)
    if not DOMAINS[name].integers and len(pairs) < 400:
        assert accepted == set(DOMAINS[name].kinds)


@rows
def test_values(name, evaluate):
    row = SCALAR_OPS[name]
    for dtypes in taken(name):
        values = arguments(name, dtypes)
        with np.errstate(all="ignore"):
            result = row.impl(*values)
        (dtype,) = row.resolve_dtypes(dtypes)
        assert result.dtype == dtype
        assert_close(name, result, reference_of(name, values).astype(dtype))
        # numbers, through perform
        inputs = [ScalarType(d)() for d in dtypes]
        out = row(*inputs)
        for place in range(3):
            given = [value[place] for value in values]
            (number,) = evaluate([out], dict(zip(inputs, given, strict=True)))
            assert number.dtype == dtype
            np.testing.assert_allclose(number, result[place], rtol=EPS.get(dtype.name, 1e-14))


@pytest.mark.sampled(3, 1)
@rows
def test_kernels(name):
    """Kernels work on arrays of any layout, broadcast, and write into what they are given."""
    row = SCALAR_OPS[name]
    for dtypes in taken(name):
        columns = arguments(name, dtypes, size=6)
        values = [
            column.reshape(3, 2)[:, ::-1] if place % 2 == 0 else column[:2]
            for place, column in enumerate(columns)
        ]
        kernel = row.kernel(dtypes)
        (dtype,) = row.resolve_dtypes(dtypes)
        with np.errstate(all="ignore"):
            expected = np.array(
                [
                    [
                        row.impl(*(np.broadcast_to(v, (3, 2))[i, j] for v in values))
                        for j in range(2)
                    ]
                    for i in range(3)
                ]
            )
            result = kernel(*values)
            assert result.dtype == dtype
            assert result.shape == (3, 2)
            close = {"rtol": EPS.get(dtype.name, 1e-13), "atol": 1e-30}
            np.testing.assert_allclose(result, expected, **close)
            out = np.empty((2, 3), dtype).T
            for target in (out, (out,)):
                out.fill(0)
                again = kernel(*values, out=target)
                assert again is out
                np.testing.assert_allclose(out, result, **close)
            if values[0].dtype == dtype:
                own = values[0].copy()
                kernel(own, *values[1:], out=own)
                np.testing.assert_allclose(own, result, **close)
            empty = [np.empty((0, 2), d) for d in dtypes]
            assert kernel(*empty).shape == (0, 2)
            number = kernel(*(np.array(v.flat[0]) for v in values))
            assert np.asarray(number).dtype == dtype


SPECIAL = [
    *(0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -7.0, 20.0, -20.0, 50.0, -50.0),
    *(1e-300, -1e-300, 1e300, -1e300, 5e-324, np.inf, -np.inf, np.nan),
]
# Where ours is more accurate, or of a wider domain, than the reference.
BETTER = {
    "betaln",
    "ive",
    "j0",
    "j1",
    "jv",
    "kv",
    "iv",
    "kve",
    "log1mexp",
    "polygamma",
    "round_half_away",
    "yv",
    "softplus",
    "log_sigmoid",
    "trigamma",
}


@pytest.mark.sampled(3)
@rows
def test_special_values_are_those_of_the_reference(name):
    domain = DOMAINS[name]
    if "f" not in domain.kinds or name in BETTER or name in {"complex", "complex_from_polar"}:
        return
    points = np.array(list(itertools.product(SPECIAL, repeat=len(domain.intervals))))
    points = points[:: 1 + len(points) // 600]
    values = [
        np.clip(np.nan_to_num(points[:, i]), -30, 30).astype("int32")
        if i in domain.integers
        else points[:, i]
        for i in range(points.shape[1])
    ]
    with np.errstate(all="ignore"):
        result, expected = SCALAR_OPS[name].impl(*values), np.asarray(domain.function(*values))
    if name == "clip":
        # np.clip does not say which limit wins when they cross; ours is minimum(maximum(...)).
        ordered = values[1] <= values[2]
        result, expected = result[ordered], expected[ordered]
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=0)
    if result.dtype.kind == "f":
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[known]), np.signbit(expected[known]))


@rows
def test_integers_overflow_as_in_numpy(name):
    domain, row = DOMAINS[name], SCALAR_OPS[name]
    if not isinstance(row, UfuncRow | VariadicRow) or "i" not in domain.kinds:
        return
    if name in {"left_shift", "right_shift", "pow", "ldexp"}:
        return  # undefined, or refused, for such numbers
    for dtype in (np.int8, np.uint8, np.int64, np.uint64):
        info = np.iinfo(dtype)
        numbers = [info.min, info.min + 1, 0, 1, 3, info.max - 1, info.max]
        points = np.array(list(itertools.product(numbers, repeat=len(domain.intervals))), dtype)
        with np.errstate(all="ignore"):
            values = list(points.T)
            np.testing.assert_array_equal(row.impl(*values), domain.function(*values))


def test_integer_to_a_negative_power():
    with pytest.raises(ValueError, match="negative integer powers"):
        ps.pow.impl(np.int64(2), np.int64(-1))


@rows
def test_no_floating_point_errors_but_numpys_own(name):
    """Within the domain nothing warns: rows written here must not overflow on the way."""
    if not isinstance(SCALAR_OPS[name], FloatRow):
        return
    for dtypes in taken(name):
        if dtypes[0].kind in "fc" and dtypes[0] != np.float16:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                SCALAR_OPS[name].impl(*arguments(name, dtypes))


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "log_sigmoid"])
def test_stable_far_from_zero(name):
    for dtype in (np.float16, np.float32, np.float64):
        x = np.array(
            [-np.inf, np.finfo(dtype).min, -1000, 1000, np.finfo(dtype).max, np.inf], dtype
        )
        expected = {
            "sigmoid": [0, 0, 0, 1, 1, 1],
            "softplus": [0, 0, 0, *x[3:]],
            "log_sigmoid": [*x[:3], 0, 0, 0],
        }[name]
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            np.testing.assert_array_equal(SCALAR_OPS[name].impl(x), np.array(expected, dtype))
        assert np.isnan(SCALAR_OPS[name].impl(dtype(np.nan)))


def test_round_half_away():
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 2.0**52 + 1, -0.2, np.inf])
    expected = [1, -1, 2, 3, -3, 0, 2.0**52 + 1, -0.0, np.inf]
    result = ps.round_half_away.impl(x)
    np.testing.assert_array_equal(result, expected)
    assert np.isnan(ps.round_half_away.impl(np.float32("nan")))


def test_log1mexp_keeps_its_digits():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(400):
        for x in (-1e-300, -1e-20, -1e-8, -0.1, -0.69, -0.7, -1.0, -30.0, -700.0):
            expected = float(mpmath.log(1 - mpmath.exp(mpmath.mpf(x))))
            np.testing.assert_allclose(ps.log1mexp.impl(np.float64(x)), expected, rtol=4e-16)
    with np.errstate(all="ignore"):
        assert ps.log1mexp.impl(np.float64(0.0)) == -np.inf
        assert np.isnan(ps.log1mexp.impl(np.float64(1.0)))
        assert ps.log1mexp.impl(np.float64(-np.inf)) == 0


MPMATH = {
    "exp": lambda m, x: m.exp(x),
    "expm1": lambda m, x: m.expm1(x),
    "exp2": lambda m, x: m.power(2, x),
    "log": lambda m, x: m.log(x),
    "log1p": lambda m, x: m.log1p(x),
    "log2": lambda m, x: m.log(x, 2),
    "log10": lambda m, x: m.log10(x),
    "sqrt": lambda m, x: m.sqrt(x),
    "cbrt": lambda m, x: m.cbrt(x),
    "sigmoid": lambda m, x: 1 / (1 + m.exp(-x)),
    "softplus": lambda m, x: m.log1p(m.exp(x)),
    "log_sigmoid": lambda m, x: -m.log1p(m.exp(-x)),
    "sin": lambda m, x: m.sin(x),
    "tan": lambda m, x: m.tan(x),
    "arcsinh": lambda m, x: m.asinh(x),
    "arctanh": lambda m, x: m.atanh(x),
    "erf": lambda m, x: m.erf(x),
    "erfc": lambda m, x: m.erfc(x),
    "erfcx": lambda m, x: m.exp(x**2) * m.erfc(x),
    "erfinv": lambda m, x: m.erfinv(x),
    "ndtr": lambda m, x: m.ncdf(x),
    "gamma": lambda m, x: m.gamma(x),
    "gammaln": lambda m, x: m.log(abs(m.gamma(x))),
    "digamma": lambda m, x: m.digamma(x),
    "trigamma": lambda m, x: m.polygamma(1, x),
    "polygamma": lambda m, n, x: m.polygamma(int(n), x),
    "beta": lambda m, a, b: m.beta(a, b),
    "gammainc": lambda m, k, x: m.gammainc(k, 0, x, regularized=True),
    "gammaincc": lambda m, k, x: m.gammainc(k, x, regularized=True),
    "betainc": lambda m, a, b, x: m.betainc(a, b, 0, x, regularized=True),
    "j0": lambda m, x: m.besselj(0, x),
    "j1": lambda m, x: m.besselj(1, x),
    "jv": lambda m, v, x: m.besselj(v, x),
    "yv": lambda m, v, x: m.bessely(v, x),
    "i0": lambda m, x: m.besseli(0, x),
    "i1": lambda m, x: m.besseli(1, x),
    "i0e": lambda m, x: m.besseli(0, x) * m.exp(-abs(x)),
    "i1e": lambda m, x: m.besseli(1, x) * m.exp(-abs(x)),
    "iv": lambda m, v, x: m.besseli(v, x),
    "ive": lambda m, v, x: m.besseli(v, x) * m.exp(-abs(x)),
    "kv": lambda m, v, x: m.besselk(v, x),
    "kve": lambda m, v, x: m.besselk(v, x) * m.exp(x),
    "xlogy": lambda m, x, y: x * m.log(y),
    "xlog1py": lambda m, x, y: x * m.log1p(y),
    "logaddexp": lambda m, x, y: m.log(m.exp(x) + m.exp(y)),
    "hypot": lambda m, x, y: m.hypot(x, y),
}


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 5e-14), ("float32", 5e-7)])
@pytest.mark.parametrize("name", MPMATH)
def test_values_against_mpmath(name, dtype, rtol):
    mpmath = pytest.importorskip("mpmath")
    count = len(DOMAINS[name].intervals)
    values = arguments(name, [np.dtype(dtype)] * count, size=3, seed=1)
    with mpmath.workdps(40):
        expected = [
            float(mpmath.re(MPMATH[name](mpmath, *map(mpmath.mpf, point))))
            for point in zip(*(map(float, v) for v in values), strict=True)
        ]
    np.testing.assert_allclose(SCALAR_OPS[name].impl(*values), expected, rtol=rtol, atol=1e-15)


# Facts


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_rows_are_one_object_in_a_process(name):
    row = SCALAR_OPS[name]
    assert pickle.loads(pickle.dumps(row)) is row
    assert copy.deepcopy(row) is row
    assert copy.copy(row) is row
    assert {row: 1}[row] == 1
    assert row.cost >= 0
    assert ":" in row.reference


def test_a_name_is_taken_once():
    with pytest.raises(OpContractError, match="two rows named 'exp'"):
        UfuncRow("exp", np.exp)
    with pytest.raises(MethodNotDefinedError, match="no scalar op named 'never'"):
        _row_named("never")


def samples(dtype):
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, 0, 1, 5, info.max], dtype)
    values = np.array([-np.inf, -2.5, -0.0, 0.0, 1.0, np.inf, np.nan], dtype)
    if dtype.kind == "c":
        values.imag = values.real[::-1]
    return values


@rows
def test_identity_and_absorbing_elements(name):
    row = SCALAR_OPS[name]
    found = 0
    for dtype in DTYPES:
        for element, absorbs in (
            (row.identity_element(dtype), False),
            (row.absorbing_element(dtype.name), True),
        ):
            if element is None:
                continue
            try:
                assert row.resolve_dtypes([dtype, dtype]) == (dtype,)
            except TypeError:
                continue  # and_ of floats
            found += 1
            assert element.dtype == dtype
            x = samples(dtype)
            if name == "hypot":
                x = np.abs(x)
            if dtype.kind == "c" and name in {"mul", "fmax", "fmin", "maximum", "minimum"}:
                x = x[np.isfinite(x)]  # parts of infinite numbers get mixed
            with np.errstate(all="ignore"):
                expected = np.full(x.shape, element) if absorbs else x
                np.testing.assert_array_equal(row.impl(np.full_like(x, element), x), expected)
                if row.commutative:
                    np.testing.assert_array_equal(row.impl(x, element), expected)
    if row.associative:
        assert found, name


def test_elements_that_reductions_need():
    assert ps.add.identity_element("int8") == 0
    assert ps.mul.identity_element("complex64") == 1
    assert ps.maximum.identity_element("float32") == -np.inf
    assert ps.maximum.identity_element("int8") == -128
    assert ps.minimum.identity_element("uint16") == 65535
    assert ps.and_.identity_element("bool") is np.True_
    assert ps.and_.identity_element("uint8") == 255
    assert ps.and_.identity_element("int8") == -1
    assert ps.or_.identity_element("int64") == 0
    assert np.isnan(ps.fmax.identity_element("float64"))
    assert ps.logaddexp.identity_element("float64") == -np.inf
    assert ps.sub.identity_element("float64") is None
    assert ps.mul.absorbing_element("float64") is None
    assert ps.mul.absorbing_element("int64") == 0


@rows
def test_commutative_and_associative(name):
    row = SCALAR_OPS[name]
    if len(DOMAINS[name].intervals) != 2:
        assert not row.commutative
        assert not row.associative
        return
    for dtypes in taken(name):
        x, y, z = (arguments(name, dtypes, seed=seed)[0] for seed in range(3))
        with np.errstate(all="ignore"):
            if row.commutative:
                # NumPy may fuse one of the two products in a part of a complex product.
                tolerance = EPS.get(dtypes[0].name, 1e-14) if dtypes[0].kind == "c" else 0
                np.testing.assert_allclose(row.impl(x, y), row.impl(y, x), rtol=tolerance)
            if row.associative and row.resolve_dtypes(dtypes) == (dtypes[0],):
                np.testing.assert_allclose(
                    row.impl(row.impl(x, y), z),
                    row.impl(x, row.impl(y, z)),
                    rtol=EPS.get(dtypes[0].name, 1e-12),
                    atol=10 * EPS.get(dtypes[0].name, 1e-12),
                )


@pytest.mark.parametrize("name", ["add", "mul"])
def test_any_number_of_inputs(name, evaluate):
    row = SCALAR_OPS[name]
    fold = {"add": np.add, "mul": np.multiply}[name]
    for dtypes in itertools.product(["bool", "int8", "uint16", "float32", "complex64"], repeat=3):
        types = [ScalarType(d) for d in dtypes]
        inputs = [t() for t in types]
        out = row(*inputs)
        assert out.type is ScalarType(np.result_type(*map(np.dtype, dtypes)))
        values = [np.dtype(d).type(v) for d, v in zip(dtypes, (1, 2, 3), strict=True)]
        expected = fold.reduce([v.astype(out.dtype) for v in values], dtype=out.dtype)
        assert evaluate([out], dict(zip(inputs, values, strict=True))) == [expected]
    x = ps.int8("x")
    assert row(x).type is ps.int8
    assert evaluate([row(x)], {x: 5}) == [5]
    assert evaluate([row(ps.bool_.make_constant(True))], {}) == [True]
    assert row(x, 1, 2.5, 1).type is ps.float64
    many = [ps.float64() for _ in range(50)]
    values = np.linspace(0.9, 1.1, 50)
    result = evaluate([row(*many)], dict(zip(many, values, strict=True)))
    np.testing.assert_allclose(result[0], fold.reduce(values), rtol=1e-14)


def test_a_sum_may_overwrite_any_of_its_terms():
    kernel = ps.add.kernel(["float64"] * 4)
    for which in range(4):
        arrays = [np.full(3, float(i + 1)) for i in range(4)]
        kernel(*arrays, out=arrays[which])
        np.testing.assert_array_equal(arrays[which], np.full(3, 10.0))
    buffer = np.arange(4.0)
    kernel(np.ones(3), np.ones(3), buffer[:3], buffer[1:], out=buffer[1:])
    np.testing.assert_array_equal(buffer, [0, 3, 5, 7])
    only = np.zeros(3)
    assert ps.add.kernel(["int8"])(np.array([1, 2, 3], "int8")).dtype == "int8"
    assert ps.add.kernel(["float64"])(np.arange(3.0), out=only) is only
    np.testing.assert_array_equal(only, np.arange(3.0))
    column = np.ones((2, 1))
    out = np.empty((2, 3))
    assert kernel(np.float64(1), np.ones(3), column, column, out=out) is out
    np.testing.assert_array_equal(out, np.full((2, 3), 4.0))


def test_scipy_kernels_are_scipys_ufuncs_where_they_can_be():
    from scipy import special

    assert ps.erf.kernel(["float64"]) is special.erf
    assert ps.erf.kernel(["int8"]) is not special.erf
    assert ps.exp.kernel(["int8"]) is np.exp
    assert ps.add.kernel(["int8", "int8"]) is np.add
    assert ps.exp.ufunc is np.exp
    assert ps.erf.ufunc is None


# Casts


@pytest.mark.parametrize("dtype", [type.dtype for type in all_types])
def test_casts(dtype, evaluate):
    cast = ps.CASTS[dtype]
    assert isinstance(cast, ps.Cast)
    for source in all_types:
        x = source("x")
        if source in ps.complex_types and ScalarType(dtype) not in (*ps.complex_types, ps.bool_):
            with pytest.raises(DtypeError, match="real"):
                ps.cast(x, dtype)
            continue
        y = ps.cast(x, dtype)
        assert y.type is ScalarType(dtype)
        assert (y is x) == (source.dtype == dtype)
        value = source.numpy_dtype.type(3)
        assert evaluate([y], {x: value}) == [value.astype(dtype)]
        array = np.array([0, 1, 100], source.dtype)
        np.testing.assert_array_equal(cast.impl(array), array.astype(dtype))
        kernel = cast.kernel([source.dtype])
        out = np.empty(3, dtype)
        assert kernel(array, out=out) is out
        np.testing.assert_array_equal(out, array.astype(dtype))


def test_cast_of_numbers():
    assert ps.cast(3, "float32").type is ps.float32
    with pytest.raises(DtypeError, match="not a scalar dtype"):
        ps.cast(3, "int7")


def test_second_reads_only_its_second_input():
    x, y = ps.float64(), ps.int8()
    node = ps.second.make_node(x, y)
    assert node.outputs[0].type is ps.int8
    assert ps.second.connection_pattern(node) == [[False], [True]]
    result = ps.second.kernel(["float64", "int8"])(np.ones((2, 3)), np.int8(4))
    np.testing.assert_array_equal(result, np.full((2, 3), 4, "int8"))
    result[0, 0] = 1  # memory of its own


def test_literals_of_switch_clip_and_second():
    b, f, i = ps.bool_(), ps.float32(), ps.int8()
    assert ps.switch(b, f, 0).type is ps.float32
    assert ps.switch(True, f, 0.5).type is ps.float32
    assert ps.switch(1, i, 0).type is ps.int8
    assert ps.switch(b, 1, 2).type is ps.int64
    assert ps.switch(b, 1.0, 2).type is ps.float64
    with config.change_flags(floatX="float32"):
        assert ps.switch(b, 1.0, 2.0).type is ps.float32
    assert ps.switch(0.5, 1.0, 2).type is ps.float64
    assert ps.clip(f, 0, 1).type is ps.float32
    assert ps.clip(i, 0, 10).type is ps.int8
    assert ps.clip(i, 0.5, 10).type is ps.float64
    assert ps.second(f, 0).type is ps.float32
    assert ps.complex(f, 1).type is ps.complex64
    assert ps.jv(1, f).type is ps.float32
    assert ps.erf(1).type is ps.float64


def test_scipy_is_not_loaded_with_the_package():
    import subprocess
    import sys

    code = "import sys, phintys.scalar; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "interval",
    [(1e-300, 0.5), (0.5, 1.5), (0.99999, 1.00001), (1.5, 2.5), (1.99999, 2.00001), (2.5, 10.0),
     (9.5, 1e3), (1e3, 1e300)],
)  # fmt: skip
def test_gammaln_has_its_digits_near_its_zeros_too(interval):
    mpmath = pytest.importorskip("mpmath")
    x = np.exp(np.random.default_rng(3).uniform(*np.log(interval), 100))
    with mpmath.workdps(40):
        expected = [float(mpmath.loggamma(mpmath.mpf(float(one)))) for one in x]
    np.testing.assert_allclose(SCALAR_OPS["gammaln"].impl(x), expected, rtol=1.2e-15)


def test_gammaln_of_numbers_that_are_not_negative_does_not_import_scipys_special_functions():
    code = """
        import sys, numpy as np, phintys.tensor as pt
        assert pt.gammaln(np.array([0.0, 0.5, 3.0, 70.0, np.inf])).eval(mode="reference")[2] > 0
        assert "scipy.special" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120)
