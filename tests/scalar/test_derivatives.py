"""The derivative rules of all rows against finite differences of their values.

The push-forward (R_op) is checked against differences along a direction, complex ones too. The
pullback (L_op) is checked against the push-forward: each is the adjoint of the other, so for each
gradient g of the output and direction v of the inputs ``Re(conj(g) R v) == sum Re(conj(L g) v)``,
which is the convention dC/da + i dC/db for a complex z = a + ib.
"""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

import phintys.scalar as ps
from phintys._base.config import config
from phintys.graph import Constant, DisconnectedType, NullType
from phintys.graph.traversal import io_toposort
from phintys.scalar import SCALAR_OPS, ScalarType
from phintys.scalar.row import dtype_of
from phintys.testing.scalar_domains import DOMAINS

POINTS = 8
STEP = 1e-3
DIFFERENCES = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
JUMPS = {"ceil", "floor", "trunc", "rint", "round_half_away"}  # kept away from
rows = pytest.mark.parametrize("name", DOMAINS)


def points(name, dtype, seed):
    """Yield points of the domain, one value for each argument."""
    domain = DOMAINS[name]
    rng = np.random.default_rng(seed)
    for _ in range(POINTS):
        point = []
        for i, (low, high) in enumerate(domain.intervals):
            if i in domain.integers:
                point.append(np.int32(rng.integers(low, high + 1)))
            elif i in domain.whole:
                point.append(np.float64(rng.integers(low, high + 1)))
            else:
                x, y = rng.uniform(low, high, 2)
                if name in JUMPS:
                    x, y = (math.floor(part) + 0.1 + 0.3 * (part % 1) for part in (x, y))
                point.append(np.complex128(complex(x, y)) if dtype == "complex128" else x)
        yield point


def direction(name, point, rng):
    """Return a direction, with None where there can be none."""
    domain = DOMAINS[name]
    fixed = {*domain.integers, *domain.whole, *domain.undefined}
    parts = rng.uniform(-1, 1, (len(point), 2))
    return [
        None if i in fixed else np.complex128(complex(re, im)) if x.dtype.kind == "c" else re
        for i, (x, (re, im)) in enumerate(zip(point, parts, strict=True))
    ]


def directions(v):
    """Return variables for a direction."""
    return [None if d is None else ScalarType(d.dtype)() for d in v]


def numeric_tangent(function, point, v):
    """Return the derivative along a direction by differences of eighth order."""

    def along(t):
        with np.errstate(all="ignore"):
            moved = [x if d is None else x + t * d for x, d in zip(point, v, strict=True)]
            return np.asarray(function(*moved))

    return sum(c * (along(k * STEP) - along(-k * STEP)) for k, c in DIFFERENCES) / STEP


def variables(point):
    return [ScalarType(x.dtype)() for x in point]


def feed(inputs, values):
    return {x: v for x, v in zip(inputs, values, strict=True) if x is not None}


def smooth(name):
    """Yield the dtypes an op is differentiable in."""
    for dtype, kind in (("float64", "f"), ("complex128", "c")):
        if kind not in DOMAINS[name].kinds:
            continue
        inputs = variables(next(points(name, dtype, 0)))
        if SCALAR_OPS[name].make_node(*inputs).outputs[0].type in ps.continuous_types:
            yield dtype


SMOOTH = [(name, dtype) for name in DOMAINS for dtype in smooth(name)]
SMOOTH.remove(("digamma", "complex128"))  # whose derivative SciPy does not have


def test_most_rows_are_smooth():
    assert len(SMOOTH) > 130
    assert ("exp", "complex128") in SMOOTH
    assert ("lt", "float64") not in SMOOTH


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "dtype"), SMOOTH)
def test_push_forward_against_differences(name, dtype, evaluate):
    row = SCALAR_OPS[name]
    rng = np.random.default_rng(1)
    drawn = [(point, direction(name, point, rng)) for point in points(name, dtype, seed=2)]
    xs, vs = variables(drawn[0][0]), directions(drawn[0][1])
    (tangent,) = row.R_op(xs, vs)
    if tangent is None:
        assert vs == [None] * len(vs)
        return
    for point, v in drawn:
        (value,) = evaluate([tangent], feed(xs, point) | feed(vs, v))
        expected = numeric_tangent(row.impl, point, v)
        scale = 1 + abs(expected) + abs(row.impl(*point))
        assert abs(value - expected) < 1e-9 * scale, (point, v, value, expected)


@pytest.mark.sampled(2, 1)
@pytest.mark.parametrize(("name", "dtype"), SMOOTH)
def test_pullback_is_the_adjoint_of_the_push_forward(name, dtype, evaluate):
    row = SCALAR_OPS[name]
    rng = np.random.default_rng(3)
    drawn = [(point, direction(name, point, rng)) for point in points(name, dtype, seed=4)]
    xs, vs = variables(drawn[0][0]), directions(drawn[0][1])
    (out,) = row.make_node(*xs).outputs
    g = out.type()
    gradients = row.L_op(xs, [out], [g])
    (tangent,) = row.R_op(xs, vs)
    if tangent is None:
        return
    wanted = [L for L, d in zip(gradients, vs, strict=True) if d is not None]
    reached = [L for L in wanted if not isinstance(L.type, DisconnectedType)]
    assert reached == wanted[name == "second" :]
    for point, v in drawn:
        moving = [d for d in v if d is not None][name == "second" :]
        g_value = out.type.numpy_dtype.type(
            rng.normal() + (1j * rng.normal() if out.type in ps.complex_types else 0)
        )
        given = feed(xs, point) | feed(vs, v) | {g: g_value}
        t_value, *L_values = evaluate([tangent, *reached], given)
        backward = sum((np.conj(L) * d).real for L, d in zip(L_values, moving, strict=True))
        forward = (np.conj(g_value) * t_value).real
        scale = sum(abs(L * d) for L, d in zip(L_values, moving, strict=True)) + 1e-300
        assert abs(backward - forward) <= 1e-12 * max(scale, abs(g_value * t_value)), point


# Their derivatives by a and b have none by a and b; those by x are tested as rows of their own.
FIRST_ONLY = {"betainc", "betaincc", "betainccinv", "betaincinv", "hyp1f1", "hyp2f1"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", [name for name, dtype in SMOOTH if dtype == "float64" and name not in FIRST_ONLY]
)
def test_second_derivatives(name, evaluate):
    """The gradient, as an op of its own, pushed forward against its differences."""
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    rng = np.random.default_rng(5)
    drawn = [(point, direction(name, point, rng)) for point in points(name, "float64", seed=6)]
    xs, vs = variables(drawn[0][0]), directions(drawn[0][1])
    out = row(*xs)
    if out.type in ps.complex_types:
        return
    gradients = row.L_op(xs, [out], [out.type.make_constant(1)])
    for i, gradient in enumerate(gradients):
        if i in {*domain.integers, *domain.whole, *domain.undefined}:
            continue
        if isinstance(gradient.type, DisconnectedType):
            continue
        op = ps.Composite(xs, [gradient])
        (tangent,) = op.R_op(xs, vs)
        for point, v in drawn:
            (value,) = evaluate([tangent], feed(xs, point) | feed(vs, v))
            expected = numeric_tangent(op.impl, point, v)
            scale = 1 + abs(expected) + abs(op.impl(*point))
            assert abs(value - expected) < 1e-8 * scale, (i, point, v, value, expected)


@rows
def test_what_is_not_known_is_null_with_a_reason(name):
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    if "f" not in domain.kinds:
        return
    xs = variables(next(points(name, "float64", 0)))
    node = row.make_node(*xs)
    out = node.outputs[0]
    g = ScalarType("float64")() if out.type in ps.discrete_types else out.type()
    for i, gradient in enumerate(row.L_op(xs, [out], [g])):
        if i in domain.undefined:
            assert isinstance(gradient.type, NullType)
            assert f"{name} has no gradient for its input {i}" in gradient.type.why_null
            assert "disconnected_grad" in gradient.type.why_null
            v = [None] * len(xs)
            v[i] = ps.float64()
            (tangent,) = row.R_op(xs, v)
            assert isinstance(tangent.type, NullType)
        else:
            assert not isinstance(gradient.type, NullType)


def test_complex_digamma_is_not_known():
    z = ps.complex128("z")
    (gradient,) = ps.digamma.L_op([z], [ps.digamma(z)], [ps.complex128()])
    assert "real numbers only" in gradient.type.why_null


@rows
def test_disconnected_outputs_disconnect_the_inputs(name):
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    dtype = "float64" if "f" in domain.kinds else "int64"
    xs = [
        ps.int32() if i in domain.integers else ScalarType(dtype)()
        for i in range(len(domain.intervals))
    ]
    gradients = row.L_op(xs, [row(*xs)], [DisconnectedType()()])
    assert all(isinstance(g.type, DisconnectedType) for g in gradients)
    assert len(gradients) == len(xs)
    assert row.R_op(xs, [None] * len(xs)) == [None]
    assert row.R_op(xs, [DisconnectedType()()] * len(xs)) == [None]


MIXED = [
    "bool",
    "int8",
    "uint32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.sampled(4)
@rows
def test_dtypes_of_gradients(name):
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    for dtypes in itertools.product(MIXED, repeat=len(domain.intervals)):
        if len(set(dtypes)) > 2:
            continue
        xs = [ScalarType(dtype)() for dtype in dtypes]
        try:
            out = row(*xs)
        except TypeError:
            continue
        discrete = out.type in ps.discrete_types
        with config.change_flags(floatX="float32"):
            g = ps.float32() if discrete else out.type()
            gradients = row.L_op(xs, [out], [g])
            vs = [ScalarType("float32" if x.type in ps.discrete_types else x.dtype)() for x in xs]
            (tangent,) = row.R_op(xs, vs)
        for x, gradient in zip(xs, gradients, strict=True):
            if isinstance(gradient.type, NullType | DisconnectedType):
                continue
            if x.type in ps.continuous_types:
                assert gradient.type is x.type, (dtypes, gradient.type)
            elif isinstance(gradient, Constant):
                assert gradient.type is ps.float32
            else:
                assert gradient.type.numpy_dtype == ps.real_dtype(dtype_of(out)), dtypes
            if discrete:
                assert isinstance(gradient, Constant)
                assert gradient.data == 0
        if isinstance(tangent.type, NullType):
            continue
        assert tangent.type is (ps.float32 if discrete else out.type)


@pytest.mark.sampled(3, 1)
@rows
def test_integers_have_the_gradient_of_the_floats_that_they_are(name, evaluate):
    row, domain = SCALAR_OPS[name], DOMAINS[name]
    if not {"i", "f"} <= set(domain.kinds) or domain.integers:
        return
    rng = np.random.default_rng(0)
    ints = [ps.int8() for _ in domain.intervals]
    out = row(*ints)
    if out.type in ps.discrete_types:
        return
    floats = [out.type.clone(dtype=ps.real_dtype(dtype_of(out)))() for _ in ints]
    g = out.type()
    of_ints = row.L_op(ints, [out], [g])
    of_floats = row.L_op(floats, [row(*floats)], [g])
    for _ in range(5):
        point = []
        for i in range(len(ints)):
            low, high = domain.interval(i, "i")
            point.append(int(rng.integers(low, high + 1)))
        for a, b in zip(of_ints, of_floats, strict=True):
            if isinstance(a.type, NullType | DisconnectedType):
                continue
            (ours,) = evaluate([a], feed(ints, point) | {g: 1})
            (theirs,) = evaluate([b], feed(floats, point) | {g: 1})
            np.testing.assert_allclose(ours, theirs, rtol=1e-2 if out.dtype == "float16" else 1e-12)


def gradients_of(name, *values, evaluate, dtype="float64"):
    xs = [ScalarType(dtype)() for _ in values]
    out = SCALAR_OPS[name](*xs)
    gradients = SCALAR_OPS[name].L_op(xs, [out], [out.type.make_constant(1)])
    return [float(v) for v in evaluate(gradients, feed(xs, values))]


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        # x ** y: 0 ** 0 is 1 for all x, and 0 ** y is 0 for all y > 0
        ("pow", (0, 0), (0, 0)),
        ("pow", (0, 1), (1, 0)),
        ("pow", (0, 2), (0, 0)),
        ("pow", (0, 0.5), (INF, 0)),
        ("pow", (0, 3), (0, 0)),
        ("pow", (3, 0), (0, math.log(3))),
        ("pow", (-2, 2), (-4, NAN)),
        ("pow", (-2, 3), (12, NAN)),
        ("pow", (INF, 0), (0, INF)),
        ("abs", (0,), (0,)),
        ("abs", (-0.0,), (0,)),
        ("sqrt", (0,), (INF,)),
        ("cbrt", (0,), (INF,)),
        ("log", (0,), (INF,)),
        ("log1p", (-1,), (INF,)),
        ("sqr", (0,), (0,)),
        ("true_div", (1, 0), (INF, -INF)),
        ("xlogy", (0, 2), (math.log(2), 0)),
        ("xlogy", (0, 0.5), (math.log(0.5), 0)),
        ("maximum", (1, 1), (1, 0)),
        ("minimum", (1, 1), (1, 0)),
        ("maximum", (1, 2), (0, 1)),
        ("minimum", (1, 2), (1, 0)),
        ("fmax", (1, NAN), (1, 0)),
        ("fmax", (NAN, 1), (0, 1)),
        ("fmin", (NAN, 1), (0, 1)),
        ("clip", (0, 0, 1), (1, 0, 0)),
        ("clip", (1, 0, 1), (1, 0, 0)),
        ("clip", (-1, 0, 1), (0, 1, 0)),
        ("clip", (2, 0, 1), (0, 0, 1)),
        ("clip", (0.5, 1, 0), (0, 0, 1)),
        ("clip", (2, 1, 0), (0, 0, 1)),
        ("clip", (-1, 1, 0), (0, 0, 1)),
        ("switch", (1, INF, NAN), (0, 1, 0)),
        ("switch", (0, NAN, 2), (0, 0, 1)),
        ("heaviside", (0, 2), (0, 1)),
        ("heaviside", (1, 2), (0, 0)),
        ("sign", (0,), (0,)),
        ("floor", (2,), (0,)),
        ("sigmoid", (-1000,), (0,)),
        ("sigmoid", (1000,), (0,)),
        ("softplus", (-1000,), (0,)),
        ("softplus", (1000,), (1,)),
        ("log_sigmoid", (-1000,), (1,)),
        ("log1mexp", (-1000,), (0,)),
        ("logaddexp", (-1000, 1000), (0, 1)),
        ("logaddexp", (1e8, 1e8), (0.5, 0.5)),
        ("arcsin", (1,), (INF,)),
        ("arccosh", (1,), (INF,)),
        ("arccosh", (-2,), (NAN,)),
        ("gammainc", (1, 0), (0, 1)),
        ("j1", (0,), (0.5,)),
        ("i1", (0,), (0.5,)),
        ("i0e", (0,), (0,)),
        ("tanh", (50,), (0,)),
        ("arctan", (1e300,), (0,)),
        ("mod", (5, 3), (1, -1)),
        ("mod", (-5, 3), (1, 2)),
        ("fmod", (-5, 3), (1, 1)),
        ("copysign", (-2, 3), (-1, 0)),
        ("erfc", (30,), (0,)),
    ],
)
def test_gradients_at_the_edges(name, values, expected, evaluate):
    result = gradients_of(name, *values, evaluate=evaluate)
    np.testing.assert_allclose(result, expected, rtol=1e-15, atol=0)


def test_near_the_edges_no_digits_are_lost(evaluate):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        for name, x, derivative in (
            ("arcsin", 1 - 1e-12, lambda x: 1 / mpmath.sqrt(1 - x * x)),
            ("arccos", -1 + 1e-12, lambda x: -1 / mpmath.sqrt(1 - x * x)),
            ("arctanh", 1 - 1e-12, lambda x: 1 / (1 - x * x)),
            ("arccosh", 1 + 1e-12, lambda x: 1 / mpmath.sqrt(x * x - 1)),
            ("log1mexp", -1e-12, lambda x: -mpmath.exp(x) / (1 - mpmath.exp(x))),
            ("softplus", -40.0, lambda x: 1 / (1 + mpmath.exp(-x))),
            ("logaddexp", 1e-9, lambda x: mpmath.exp(x) / (mpmath.exp(x) + 1)),
            ("log_ndtr", -30.0, lambda x: mpmath.npdf(x) / mpmath.ncdf(x)),
        ):
            values = (x, 0.0) if name == "logaddexp" else (x,)
            expected = float(derivative(mpmath.mpf(x)))
            result = gradients_of(name, *values, evaluate=evaluate)[0]
            np.testing.assert_allclose(result, expected, rtol=1e-12, err_msg=name)


def test_rules_cost_few_nodes():
    x, y, g = ps.float64("x"), ps.float64("y"), ps.float64("g")

    def nodes(row, *xs):
        out = row(*xs)
        gradients = row.L_op(xs, [out], [g])
        return gradients, io_toposort([*xs, out, g], [v for v in gradients if v.owner])

    gradients, made = nodes(ps.add, x, y)
    assert gradients == [g, g]
    gradients, made = nodes(ps.sub, x, y)
    assert gradients[0] is g
    assert [node.op for node in made] == [ps.neg]
    assert [node.op for node in nodes(ps.exp, x)[1]] == [ps.mul]
    assert [node.op for node in nodes(ps.sqrt, x)[1]] == [ps.true_div, ps.mul]
    assert [node.op for node in nodes(ps.tanh, x)[1]] == [ps.sqr, ps.sub, ps.mul]
    assert [node.op for node in nodes(ps.mul, x, y)[1]] == [ps.mul, ps.mul]
    assert nodes(ps.floor, x)[1] == []
    assert nodes(ps.identity, x)[0] == [g]
    # No guard against 0 ** 0 where the exponent cannot be 0.
    with_constant = ps.pow.L_op([x, ps.constant(2.0)], [x**2], [g])[0]
    assert ps.switch not in {node.op for node in io_toposort([x, g], [with_constant])}


def test_seed_example_of_casts(evaluate):
    """f(x) = int(x), g(y) = float(y): 0.5 * g(y) has gradient 0.5 for y, and none passes f."""
    y, x = ps.int64("y"), ps.float64("x")
    half = ps.float64.make_constant(0.5)
    (gy,) = ps.CASTS["float64"].L_op([y], [ps.cast(y, "float64")], [half])
    assert gy.data == 0.5
    (gx,) = ps.CASTS["int64"].L_op([x], [ps.cast(x, "int64")], [half])
    assert gx.type is ps.float64
    assert gx.data == 0


def test_gradients_through_casts(evaluate):
    for source, target in itertools.product(MIXED[4:], repeat=2):
        if source.startswith("complex") and not target.startswith("complex"):
            continue
        x, g, v = ScalarType(source)(), ScalarType(target)(), ScalarType(source)()
        out = ps.CASTS[target](x)
        (gradient,) = ps.CASTS[target].L_op([x], [out], [g])
        assert gradient.type is x.type
        assert evaluate([gradient], {g: 3, x: 1}) == [3]
        (tangent,) = ps.CASTS[target].R_op([x], [v])
        assert tangent.type is out.type
        assert evaluate([tangent], {v: 3, x: 1}) == [3]
    # The gradient for a real number is real, whatever it was made a part of.
    x, g = ps.float32(), ps.complex128()
    (gradient,) = ps.CASTS["complex128"].L_op([x], [ps.cast(x, "complex128")], [g])
    assert evaluate([gradient], {g: 3 + 4j, x: 1}) == [3]


def test_sum_of_many_and_product_of_many(evaluate):
    xs = [ps.float64() for _ in range(4)]
    values = [2.0, 3.0, 5.0, 7.0]
    g = ps.float64()
    out = ps.mul(*xs)
    gradients = ps.mul.L_op(xs, [out], [g])
    assert evaluate(gradients, feed(xs, values) | {g: 1}) == [105, 70, 42, 30]
    (tangent,) = ps.mul.R_op(xs, [None, xs[0], None, xs[0]])
    assert evaluate([tangent], feed(xs, values)) == [2 * 70 + 2 * 30]
    assert ps.add.L_op(xs, [ps.add(*xs)], [g]) == [g] * 4
    (tangent,) = ps.add.R_op(xs, [xs[0], None, None, xs[1]])
    assert evaluate([tangent], feed(xs, values)) == [5]
    x = xs[0]
    assert ps.mul.L_op([x], [ps.mul(x)], [g]) == [g]


def test_modulus_and_angle_of_complex_numbers(evaluate):
    """The gradient of |z| points away from 0, that of the angle turns left."""
    z = ps.complex128("z")
    value = 3 + 4j
    for op, expected in (
        (ps.abs, 0.6 + 0.8j),
        (ps.angle, (-4 + 3j) / 25),
        (ps.real, 1),
        (ps.imag, 1j),
    ):
        (gradient,) = op.L_op([z], [op(z)], [ps.float64.make_constant(1)])
        (result,) = evaluate([gradient], {z: value})
        np.testing.assert_allclose(result, expected, rtol=1e-15)
    (gradient,) = ps.abs.L_op([z], [abs(z)], [ps.float64.make_constant(1)])
    assert evaluate([gradient], {z: 0}) == [0]
    (gradient,) = ps.conj.L_op([z], [z.conj()], [ps.complex128.make_constant(1 + 2j)])
    assert evaluate([gradient], {z: 0}) == [1 - 2j]
    (gradient,) = ps.sqr.L_op([z], [ps.sqr(z)], [ps.complex128.make_constant(1)])
    assert evaluate([gradient], {z: 1 + 2j}) == [2 - 4j]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 2e-13), ("float32", 1e-4)])
def test_the_derivative_of_erfcx_keeps_its_digits(evaluate, dtype, tolerance):
    x = ScalarType(dtype)("x")
    out = ps.erfcx(x)
    (first,) = ps.erfcx.L_op([x], [out], [out.type.make_constant(1)])
    assert first.type == x.type
    for at in [-2.0, 0.0, 3.0, 15.9, 16.0, 16.1, 40.0, 1e6]:
        number = np.dtype(dtype).type(at)
        with mp.workprec(200):
            t = mp.mpf(float(number))
            exact = float(2 * t * mp.exp(t**2) * mp.erfc(t) - 2 / mp.sqrt(mp.pi))
        np.testing.assert_allclose(evaluate([first], {x: number}), [exact], rtol=tolerance)
    assert evaluate([first], {x: np.dtype(dtype).type(np.inf)}) == [0]
