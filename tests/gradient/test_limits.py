"""Derivatives where factors of the chain rule are 0 and infinite, but their product has a limit.

All of it holds in reverse and in forward mode, and without any rewriting too.
"""

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.compile import Mode
from phintys.graph.traversal import toposort
from phintys.passes import PIPELINES
from phintys.testing.scalar_domains import DOMAINS

INF = np.inf
MODES = {
    "native": "native",
    "reference": "reference",
    "not rewritten": Mode("reference", PIPELINES["none"]),
}

# Elementwise, so for scalars and tensors: expression of x, values, derivatives.
ELEMENTWISE = {
    "square of a root": (lambda x: ps.sqr(ps.sqrt(x)), [0, 4], [1, 1]),
    "power of a root": (lambda x: ps.sqrt(x) ** 2, [0, 4], [1, 1]),
    "fourth power of a root": (lambda x: ps.sqrt(x) ** 4, [0, 4], [0, 8]),
    "product of roots": (lambda x: ps.sqrt(x) * ps.sqrt(x), [0, 4], [1, 1]),
    "sinc of an underflowing root": (
        lambda x: ps.sinc(ps.sqrt(ps.exp(-1e4 * x))),
        [0, 1],
        [5e3, 0],
    ),
    "square of a power": (lambda x: (x**0.5) ** 2, [0, 4], [1, 1]),
    "inverse powers": (lambda x: (x ** (1 / 3)) ** 3, [0, 8], [1, 1]),
    "cube of a cube root": (lambda x: ps.cbrt(x) ** 3, [0, 8], [1, 1]),
    "root of a root": (lambda x: ps.sqrt(ps.sqrt(x)) ** 4, [0, 16], [1, 1]),
    "only partly": (lambda x: ps.sqrt(x) ** 3, [0, 4], [0, 3]),
    "still steep": (lambda x: ps.sqrt(x) ** 1.5, [0, 16], [INF, 0.375]),
    "root": (ps.sqrt, [0, 4], [INF, 0.25]),
    "root of a square": (lambda x: ps.sqrt(x**2), [0, 3, -3], [0, 1, -1]),
    "squared root of a square": (lambda x: ps.sqrt(ps.sqr(x)) ** 2, [0, 3], [0, 6]),
    "Huber": (
        lambda x: ps.switch(
            ps.le(ps.sqrt(x * x), 1), ps.sqrt(x * x) ** 2 / 2, ps.sqrt(x * x) - 0.5
        ),
        [0, 0.5, 3],
        [0, 0.5, 1],
    ),
    "hypot": (lambda x: ps.hypot(x, 2 * x), [0, 1], [0, 5**0.5]),
    "squared hypot": (lambda x: ps.hypot(x, 2 * x) ** 2, [0, 1], [0, 10]),
    "root of a power that underflows": (lambda x: ps.sqrt(ps.exp(-x)), [1e4, 0], [0, -0.5]),
    "power of one": (lambda x: ps.exp(-x) ** 0.25, [1e4, 0], [0, -0.25]),
    "root of a product that underflows": (
        lambda x: ps.sqrt(3 * x * ps.exp(-(x**2))),
        [100, 1],
        [0, -0.5 * (3 / np.e) ** 0.5],
    ),
    "logarithm of a root": (lambda x: ps.log(ps.sqrt(ps.exp(-x))), [1e4, 1], [-0.5, -0.5]),
    "logarithm of a power": (lambda x: ps.log(ps.exp(x) ** x), [0.5, 1], [1, 2]),
    "logarithm of gamma": (lambda x: ps.log(ps.gamma(x)), [2], [1 - np.euler_gamma]),
    "x log(y) at x = y = 0": (lambda x: ps.xlogy(0 * x, x), [1], [0]),
    "cosine of a root": (lambda x: ps.cos(ps.sqrt(x)), [0, 4], [-0.5, -np.sin(2) / 4]),
    "logarithm of a cosine of a root": (
        lambda x: ps.log(ps.cosh(ps.sqrt(x))),
        [0, 4],
        [0.5, np.tanh(2) / 4],
    ),
    "Bessel function of a root": (lambda x: ps.j0(ps.sqrt(x)), [0], [-0.25]),
    "logarithm with its square": (lambda x: ps.xlogy(x**2, x), [0, 1], [0, 1]),
    "logarithm of a square with it": (lambda x: ps.xlogy(x * x, x * x), [0, -1], [0, -2]),
    "square of x log(x)": (lambda x: ps.xlogx(x) ** 2, [0, np.e], [0, 4 * np.e]),
    "multiple of an entropy": (lambda x: x * ps.entr(x), [0, 1], [0, -1]),
    "multiple of a dilogarithm": (lambda x: x * ps.spence(x), [0, 1], [np.pi**2 / 6, -1]),
    "multiple of a cube root": (lambda x: x * ps.cbrt(x), [0, -8, 8], [0, -8 / 3, 8 / 3]),
    "entropy of a square": (lambda x: ps.entr(x**2), [0, 1], [0, -2]),
    "logarithm with a fourth power": (lambda x: ps.xlogx(x**4), [0, 1], [0, 4]),
    "sine by a cube root": (lambda x: ps.sin(x) * ps.cbrt(x), [0], [0]),
    "sine by the cube root of a multiple": (lambda x: ps.sin(x * 2) * ps.cbrt(x * 2), [0], [0]),
    "cosine of the cube root of a square": (lambda x: ps.cos(ps.cbrt(x**2)), [0], [0]),
    "cube root of a fourth power": (lambda x: ps.cbrt(x**4), [0, -8, 8], [0, -8 / 3, 8 / 3]),
    "logarithm of a cube root": (lambda x: x * ps.log(ps.cbrt(x) ** 2), [1, -1], [2 / 3, 2 / 3]),
    "square of a cube root of a square": (lambda x: ps.cbrt(x**2) ** 2, [0, 8], [0, 8 / 3]),
    "square of the hyperbolic angle of a product": (
        lambda x: ps.arccosh(1 + (x * (x + 2)) ** 2) ** 2,
        [0],
        [0],
    ),
    "square of an angle": (lambda x: ps.arccos(x) ** 2, [1, 0.5], [-2, -4 * np.pi / 27**0.5]),
    "square of a hyperbolic angle": (lambda x: ps.arccosh(x) ** 2, [1], [2]),
    "multiple of sinc": (lambda x: x * ps.sinc(x), [0, 1], [1, -1]),
    **{
        f"{row} of an infinite {how}": (
            lambda x, row=row, how=how: SATURATED[row](HOW[how](x)),
            [0.5, 2],
            [0, 0],
        )
        for row in ("erf", "erfc", "ndtr", "tanh", "sigmoid", "arctan", "log_ndtr")
        for how in ("product", "quotient", "difference", "standardized")
    },
    **{
        f"{row} of a negative infinite product": (
            lambda x, row=row: SATURATED[row](x * -INF),
            [0.5, 2],
            [0, 0],
        )
        for row in ("exp", "exp2", "expm1", "sigmoid", "softplus", "log1mexp", "erf", "ndtr")
    },
    "normal density": (lambda x: ps.exp(-(((INF - x) / x) ** 2)), [0.5, 2], [0, 0]),
    "gammainc": (lambda x: ps.gammainc(x, INF * x), [0.5, 2], [0, 0]),
    "gammaincc": (lambda x: ps.gammaincc(x, INF * x), [0.5, 2], [0, 0]),
    **{
        f"logarithm of the logistic distribution function: {how}": (build, [-1e3, 0], [2, 1])
        for how, build in {
            "sum": lambda x: ps.log(0.5 + 0.5 * ps.tanh(x)),
            "difference": lambda x: ps.log(0.5 - 0.5 * ps.tanh(-x)),
            "product": lambda x: ps.log(0.5 * (1 + ps.tanh(x))),
            "quotient": lambda x: ps.log((ps.tanh(x) + 1) / 2),
        }.items()
    },
    "log of a sum of nothing": (lambda x: ps.logaddexp(x, x), [-INF, 0], [0, 1]),
    "binary log of nothing": (lambda x: ps.logaddexp2(x, x - 1), [-INF, 0], [0, 1]),
}
# What is 0 at 0, with its value and its derivative at 1; and the roots that it is multiplied with.
OF_ROOTS = {
    "a number": (lambda x: x, 1, 1),
    "a multiple": (lambda x: 2 * x, 2, 2),
    "a quotient": (lambda x: x / 4, 0.25, 0.25),
    "a product": (lambda x: x * (x + 2), 3, 4),
    "a square": (lambda x: x**2, 1, 2),
    "a negative twice": (lambda x: ps.neg(-x), 1, 1),
}
ROOTS = {
    "the root": (ps.sqrt, 1 / 2),
    "the cube root": (ps.cbrt, 1 / 3),
    "the square of the cube root": (lambda v: ps.cbrt(v) ** 2, 2 / 3),
    "the fourth root": (lambda v: v**0.25, 1 / 4),
    "the root of the cube root": (lambda v: ps.sqrt(ps.cbrt(v)), 1 / 6),
    "the cube root of the root": (lambda v: ps.cbrt(ps.sqrt(v)), 1 / 6),
    "the cube root of the square": (lambda v: ps.cbrt(v**2), 2 / 3),
}
ELEMENTWISE |= {
    f"{what} by {how}": (
        lambda x, of=of, root=root: of(x) * root(of(x)),
        [0, 1],
        [0, (1 + power) * value**power * slope],
    )
    for what, (of, value, slope) in OF_ROOTS.items()
    for how, (root, power) in ROOTS.items()
}
# In forward mode, the choice between the formulas of sinc is multiplied before the root is.
IN_REVERSE = {
    "sinc of a root": (lambda x: ps.sinc(ps.sqrt(x)), [0, 1], [-(np.pi**2) / 6, -0.5]),
}
# Not as one op, whose derivatives know the value of an output only.
NOT_AS_ONE_OP = {
    "cube root of a cube": (lambda x: ps.cbrt(x**3), [0, -2, 2], [1, 1, 1]),
    "power by its logarithm": (lambda x: ps.exp(2 * ps.log(x)), [0, 3], [0, 6]),
    "number by its logarithm": (lambda x: ps.exp(ps.log(x)), [0, 3], [1, 1]),
    "power of one more": (lambda x: ps.exp(3 * ps.log1p(x - 1)), [0, 2], [0, 12]),
    "density of gamma numbers": (
        lambda x: ps.exp((1 + 2 * ps.log(x)) - x),
        [0, 1],
        [0, 1],
    ),
}
SATURATED = ps.SCALAR_OPS
HOW = {
    "product": lambda x: x * INF,
    "quotient": lambda x: INF / x,
    "difference": lambda x: (INF - x) * 2,
    "standardized": lambda x: (INF - x) / x,
}

TENSORS = {
    "norm": (pt.linalg.norm, [0, 0], [0, 0]),
    "norm of rows": (lambda x: pt.linalg.norm(x[:, None], axis=1), [0, -2], [0, -1]),
    "squared norm": (lambda x: pt.linalg.norm(x) ** 2, [0, 0], [0, 0]),
    "norm of order 3": (lambda x: pt.linalg.norm(x, 3), [0, 0], [0, 0]),
    "root of a dot": (lambda x: pt.sqrt(x.dot(x)), [0, 0], [0, 0]),
    "standard deviation": (lambda x: x.std(), [3, 3], [0, 0]),
    "variance": (lambda x: x.std() ** 2, [3, 5], [-1, 1]),
    "distances": (
        lambda x: pt.sqrt(((x[:, None] - x) ** 2)[:, :, None].sum(axis=2)),
        [1, 4],
        [-2, 2],
    ),
    "logsumexp": (pt.logsumexp, [-INF, -INF], [0, 0]),
    "logsumexp of rows": (
        lambda x: pt.logsumexp(pt.stack([x, x - 0.5], axis=1), axis=1),
        [-INF, 0],
        [0, 1],
    ),
    "some infinite": (
        lambda x: pt.erf(np.array([[INF], [1.0], [-INF]]) / x).sum(axis=0),
        [2.0],
        [-0.5 * np.exp(-0.25) / np.pi**0.5],
    ),
    "spectral density": (
        lambda x: pt.sqrt(x * np.sqrt(2 * np.pi) * pt.exp(-0.5 * np.array([0.0, 1e3]) ** 2 * x**2)),
        [1.0, 1.0],
        [0.5 * (2 * np.pi) ** 0.25, 0],
    ),
}

# Constants that are infinite by steps, beside a column of x.
INFINITE = {
    "absolute value": lambda: pt.abs(np.array([-INF, INF])),
    "other dtype": lambda: pt.cast(np.array([-INF, INF], np.float32), "float64"),
    "logarithm of 0": lambda: pt.log(np.zeros(2)),
    "reciprocals": lambda: 1 / pt.abs(pt.as_tensor_variable(np.array([0.0, -0.0]))),
    "larger one": lambda: pt.maximum(np.array([INF, INF]), 0.5),
    "chosen": lambda: pt.switch(np.array([True, False]), INF, -INF),
    "axes": lambda: pt.abs(pt.as_tensor_variable(np.array([-INF, INF])))[None, :][:, ::-1][0],
}
TENSORS |= {
    f"erf of an infinite {name}": (
        lambda x, bound=bound: pt.erf((bound() - x[:, None]) / pt.exp(x[:, None])).sum(axis=1),
        [0.5, 2.0],
        [0, 0],
    )
    for name, bound in INFINITE.items()
}

EXPRESSIONS = ELEMENTWISE | NOT_AS_ONE_OP | TENSORS


def _check(f, values, expected):
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(f(np.array(values, float)), expected, rtol=1e-10, atol=1e-15)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", EXPRESSIONS | IN_REVERSE)
def test_gradient(name, mode):
    build, values, expected = (EXPRESSIONS | IN_REVERSE)[name]
    x = pt.dvector("x")
    f = phintys.function([x], phintys.grad(build(x).sum(), x), mode=MODES[mode])
    _check(f, values, expected)


@pytest.mark.sampled(5, 2)
@pytest.mark.parametrize("twice_in_reverse", [False, True])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_forward(name, twice_in_reverse):
    build, values, expected = EXPRESSIONS[name]
    x, v = pt.dvectors("x", "v")
    tangent = phintys.Rop(build(x).sum(), x, v, use_op_rop_implementation=not twice_in_reverse)
    f = phintys.function([x, v], tangent, mode=MODES["not rewritten"])
    with np.errstate(all="ignore"):
        for i, one in enumerate(expected):
            direction = np.eye(len(values))[i]
            if np.isfinite(expected).all():
                np.testing.assert_allclose(
                    f(np.array(values, float), direction), one, rtol=1e-10, atol=1e-15
                )


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_composite(name):
    """A graph of scalars, as one op."""
    build, values, expected = ELEMENTWISE[name]
    s = ps.float64("s")
    op = pt.Elemwise(ps.Composite([s], [build(s)]))
    x = pt.dvector("x")
    f = phintys.function([x], phintys.grad(op(x).sum(), x), mode=MODES["not rewritten"])
    _check(f, values, expected)


def _is_odd_with_a_slope(row):
    x = np.array([0.0, 1e-9, 0.1, 0.3])
    with np.errstate(all="ignore"):
        values, opposite = row.impl(x), row.impl(-x)
    has_slope = 1e-3 < values[1] / x[1] < 1e3
    return values[0] == 0 and has_slope and (values == -opposite).all()


ODD = [
    name
    for name, domain in DOMAINS.items()
    if "f" in domain.kinds and len(domain.intervals) == 1
    if _is_odd_with_a_slope(ps.SCALAR_OPS[name])
]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_function_of_a_root_has_its_slope(name):
    """f(s) is a multiple of s near 0, so s * f(s) has a derivative by s**2 and by s**3."""
    row = ps.SCALAR_OPS[name]
    x = pt.dvector("x")
    f = pt.Elemwise(row)
    costs = [pt.sqrt(x) * f(pt.sqrt(x)), pt.cbrt(x) ** 2 * f(pt.cbrt(x))]
    slopes = [phintys.grad(cost.sum(), x) for cost in costs]
    first, second = phintys.function([x], slopes, mode=MODES["not rewritten"])([0.0])
    slope = row.impl(1e-9) / 1e-9
    np.testing.assert_allclose([first, second], [[slope], [slope]], rtol=1e-8)


SECOND = {
    "square of a root": 0,
    "fourth power of a root": 2,
    "squared root of a square": 2,
    "squared hypot": 10,
    "root of a square": 0,
    "hypot": 0,
    "root of a power that underflows": 0,
    "erf of an infinite quotient": 0,
    "power by its logarithm": 2,
    "power of one more": 0,
    "exp of a negative infinite product": 0,
    "log of a sum of nothing": 0,
    "squared norm": 2,
    "norm": 0,
    "standard deviation": 0,
    "logsumexp": 0,
}


@pytest.mark.sampled(5, 1)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SECOND)
def test_second_derivative(name, mode):
    build, values, _ = EXPRESSIONS[name]
    x = pt.dvector("x")
    first = phintys.grad(build(x).sum(), x)
    second = phintys.grad(first[0], x, disconnected_inputs="ignore")[0]
    f = phintys.function([x], second, mode=MODES[mode], on_unused_input="ignore")
    _check(f, values, SECOND[name])


@pytest.mark.parametrize("mode", MODES)
def test_an_infinity_of_run_time_is_not_taken_for_a_limit(mode):
    """1 / (1 / s) has the derivative 1 at 0: a rule that 0 * inf is 0 would give 0."""
    s = pt.dvector("s")
    f = phintys.function([s], phintys.grad((1 / (1 / s)).sum(), s), mode=MODES[mode])
    with np.errstate(all="ignore"):
        assert f([0.0])[0] != 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "build", [lambda x: pt.sqrt(pt.sqrt(x) ** 2), lambda x: pt.hypot(pt.sqrt(x), 0)]
)
def test_a_steep_root_is_not_taken_for_a_kink(build, mode):
    """The root of x has no finite derivative at 0, however it is written."""
    x = pt.dvector("x")
    f = phintys.function([x], phintys.grad(build(x).sum(), x), mode=MODES[mode])
    with np.errstate(all="ignore"):
        first, second = f([0.0, 4.0])
    assert not np.isfinite(first)
    np.testing.assert_allclose(second, 0.25)


def test_what_cannot_cancel_is_multiplied_as_before():
    x, y = pt.dvectors("x", "y")
    gradient = phintys.grad((pt.tanh(x * y) + pt.exp(x) / y).sum(), x)
    ops = {node.op for node in toposort([gradient])}
    assert not {pt.switch, pt.Elemwise(ps.pow)} & ops


def test_a_reduction_is_no_product_of_factors():
    """prod(v) has a scalar op too, and is not taken apart."""
    s, v = pt.dscalar("s"), pt.dvector("v")
    gradient = phintys.grad(pt.log(s) * (pt.prod(v) * s), s)
    np.testing.assert_allclose(gradient.eval({s: 2.0, v: [3.0, 4.0]}), 12 * (np.log(2) + 1))


@pytest.mark.parametrize("mode", MODES)
def test_two_outputs_of_one_node_do_not_cancel_each_other(mode):
    x = pt.dvector("x")
    p, q = pt.split(x, [1, 1], 2)
    costs = [pt.log(p) * q, pt.sqrt(p) ** 2 * pt.log(q), p / q, pt.sqrt(p) / q**2]
    f = phintys.function([x], [phintys.grad(y.sum(), x) for y in costs], mode=MODES[mode])
    expected = [[1.5, np.log(2)], [np.log(3), 2 / 3], [1 / 3, -2 / 9]]
    expected.append([0.5 / np.sqrt(2) / 9, -2 * np.sqrt(2) / 27])
    np.testing.assert_allclose(f([2.0, 3.0]), expected)


def test_missing_values_stay_nan():
    x = pt.dvector("x")
    for build in (lambda: pt.sqrt(x**2), lambda: pt.hypot(x, x), lambda: pt.logaddexp(x, x)):
        f = phintys.function([x], phintys.grad(build().sum(), x))
        assert np.isnan(f([np.nan])).all()


VIEWS = {
    "column": lambda r: r[:, None],
    "row": lambda r: r[None, :],
    "transposed": lambda r: r[:, None].T,
    "reshaped": lambda r: r.reshape((2, 1)),
    "flat again": lambda r: r[:, None].reshape((1, 2)).flatten(),
    "twice": lambda r: r[:, None][:, None, :],
}
# (a function whose derivative divides by what a function of it is a multiple of, the derivative)
OF_VIEWS = {
    "square": (pt.sqrt, lambda r: r**2, [1, 1]),
    "sqr": (pt.sqrt, pt.sqr, [1, 1]),
    "fourth power": (pt.sqrt, lambda r: 2 * r**4, [0, 16]),
    "with a matrix": (pt.sqrt, lambda r: (r * np.full((1,) * r.ndim, 3.0)) ** 2, [9, 9]),
    "power": (lambda x: x**0.5, lambda r: r**3, [0, 3]),
    "underflowing": (lambda x: pt.sqrt(pt.exp(-1e4 * x)), lambda r: r**2, [-1e4, 0]),
    "logarithm": (lambda x: pt.exp(-1e4 * x), pt.log, [-1e4, -1e4]),
    "logarithm of a multiple": (lambda x: pt.exp(-1e4 * x), lambda r: pt.log(3 * r), [-1e4, -1e4]),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", OF_VIEWS)
def test_what_cancels_does_so_through_views(name, view):
    x, v = pt.dvectors("x", "v")
    inner, outer, expected = OF_VIEWS[name]
    y = outer(VIEWS[view](inner(x)))
    gradient = phintys.grad(y.sum(), x)
    slopes = [gradient] if name == "power" else [gradient, phintys.Rop(y, x, v).flatten()]
    f = phintys.function([x, v], slopes, mode=MODES["not rewritten"], on_unused_input="ignore")
    with np.errstate(all="ignore"):
        for found in f([0.0, 4.0], [1.0, 1.0]):
            np.testing.assert_allclose(found, expected)


# (what selects or joins elements of a root, how often it takes each of two elements)
SELECTED = {
    "one element": (lambda r: r[0], [1, 0]),
    "slice": (lambda r: r[:1], [1, 0]),
    "slice of a column": (lambda r: r[:, None][:1], [1, 0]),
    "column of a slice": (lambda r: r[:1][:, None], [1, 0]),
    "flipped": (lambda r: pt.flip(r)[:, None], [1, 1]),
    "repeated index": (lambda r: r[np.array([0, 1, 0])], [2, 1]),
    "taken by a matrix": (lambda r: r[np.array([[1, 0], [0, 0]])], [3, 1]),
    "mask": (lambda r: r[np.array([True, False])], [1, 0]),
    "repeat": (lambda r: pt.repeat(r, 2), [2, 2]),
    "broadcast": (lambda r: pt.broadcast_to(r, (3, 2)), [3, 3]),
    "broadcast column": (lambda r: pt.broadcast_to(r[:, None], (2, 3)), [3, 3]),
    "filled": (lambda r: pt.full((2, 3), r[0]), [6, 0]),
    "concatenated": (lambda r: pt.concatenate([r, np.ones(2), r[:1]]), [2, 1]),
    "stacked": (lambda r: pt.stack([r, r]), [2, 2]),
    "stacked numbers": (lambda r: pt.stack([r[1], r[0], r[0]]), [2, 1]),
    "stacked along the last axis": (lambda r: pt.stack([r, np.ones(2)], axis=1), [1, 1]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("select", SELECTED)
def test_what_cancels_does_so_through_selected_and_joined_elements(select):
    x, v = pt.dvectors("x", "v")
    slopes, expected = [], []
    selected, counts = SELECTED[select]
    for inner, outer, slope in OF_VIEWS.values():
        y = outer(selected(inner(x)))
        slopes += [phintys.grad(y.sum(), x), phintys.Rop(y.sum(), x, v)]
        expected.append(np.multiply(slope, counts))
    f = phintys.function([x, v], slopes, mode=MODES["not rewritten"])
    with np.errstate(all="ignore"):
        along = [f([0.0, 4.0], list(unit))[1::2] for unit in np.eye(2)]
        for found, forward, slope in zip(
            f([0.0, 4.0], [1.0, 1.0])[::2], zip(*along, strict=True), expected, strict=True
        ):
            np.testing.assert_allclose(found, slope)
            np.testing.assert_allclose(forward, slope)


def test_what_cancels_does_so_in_sums_over_repeated_elements():
    x, m = pt.dvector("x"), pt.dmatrix("m")
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    for repeated, along in ((pt.sqrt(x)[:, None], 1), (pt.sqrt(x), 0), (pt.sqrt(x)[None, :], 0)):
        slope = phintys.grad(((repeated * m) ** 2).sum(), x)
        f = phintys.function([x, m], slope, mode=MODES["not rewritten"])
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(f([0.0, 4.0], numbers), (numbers**2).sum(axis=along))
