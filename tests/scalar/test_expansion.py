"""A row given as an expression in others has native code and derivatives from it."""

import mpmath as mp
import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import MethodNotDefinedError
from phintys.scalar.expansion import expanded

# Digits of derivatives of sinc near 0 are lost by the quotient rule.
POINTS = [0.0, 5e-324, 1e-20, 1e-9, -1e-5, 0.01, 0.3, 0.5, -0.5, 0.75, 1.5, 3.25, -10.3]

logit = ps.FloatRow(
    "test_expansion_logit",
    lambda x: np.log(x / (1 - x)),
    doc="log(x / (1 - x)).",
    intervals=((0.1, 0.9),),
    expansion=lambda x: ps.log(x) - ps.log1p(-x),
)

lean = ps.FloatRow(
    "test_expansion_lean",
    lambda x, y: x * np.exp(y),
    nin=2,
    expansion=lambda x, y: x * ps.exp(y),
)


def _sinc_exactly(x, order):
    """Return a derivative of sinc: term by term of its series, or from the sine's."""
    with mp.workdps(60):
        x = mp.mpf(x)
        if abs(x) > 0.2:
            return float(mp.diff(lambda t: mp.sinc(mp.pi * t), x, order))
        terms = (
            (-1) ** n
            * mp.pi ** (2 * n)
            / mp.factorial(2 * n + 1)
            * mp.ff(2 * n, order)
            * x ** (2 * n - order)
            for n in range((order + 1) // 2, 20)
        )
        return float(sum(terms))


def _function(row, *inputs, mode):
    out = pt.Elemwise(row)(*inputs)
    gradients = phintys.grad(out.sum(), list(inputs))
    return phintys.function(list(inputs), [out, *gradients], mode=mode)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_sinc_and_its_derivatives_at_and_near_zero(mode):
    x = pt.dvector("x")
    first = phintys.grad(pt.sinc(x).sum(), x)
    second = phintys.grad(first.sum(), x)
    pushed = phintys.Rop(pt.sinc(x), x, pt.ones_like(x))
    f = phintys.function([x], [pt.sinc(x), first, second, pushed], mode=mode)
    values = f(POINTS)
    for order, found in zip((0, 1, 2, 1), values, strict=True):
        exact = [_sinc_exactly(point, order) for point in POINTS]
        np.testing.assert_allclose(found, exact, rtol=1e-14, atol=5e-324)


def test_sinc_of_complex_numbers():
    z = pt.zvector("z")
    f = phintys.function([z], pt.sinc(z), mode="native")
    given = np.array([0, 1e-9 + 1e-9j, 0.3 - 0.4j, 1 + 1j, -2.5 + 0.1j])
    np.testing.assert_allclose(f(given), np.sinc(given), rtol=1e-14)


def test_sinc_of_special_values():
    x = pt.dvector("x")
    f = phintys.function([x], [pt.sinc(x), phintys.grad(pt.sinc(x).sum(), x)], mode="native")
    value, slope = f([-0.0, np.nan, np.inf])
    np.testing.assert_array_equal(value, [1, np.nan, np.nan])
    np.testing.assert_array_equal(slope, [0, np.nan, np.nan])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("row", [ps.sinc, logit, lean], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "bool"])
def test_native_code_and_derivatives_are_those_of_the_function(row, dtype):
    rng = np.random.default_rng(3)
    values = [
        (rng.integers(0, 2, 5) if dtype in {"int8", "bool"} else rng.uniform(*interval, 5))
        for interval in row.intervals
    ]
    inputs = [pt.tensor(dtype=dtype, shape=(None,)) for _ in values]
    given = [value.astype(dtype) for value in values]
    native = _function(row, *inputs, mode="native")
    assert "callback" not in native.explain()
    expected = _function(row, *inputs, mode="reference")(*given)
    eps = {"float16": 4e-3, "float32": 2e-6}.get(dtype, 1e-13)
    with np.errstate(all="ignore"):
        for found, wanted in zip(native(*given), expected, strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=eps, atol=eps)


def test_an_expansion_inside_of_a_composite():
    x = ps.float64("x")
    op = ps.Composite([x], [ps.sinc(x) + 1])
    y = pt.dvector("y")
    f = phintys.function([y], pt.Elemwise(op)(y), mode="native")
    assert "callback" not in f.explain()
    np.testing.assert_allclose(f([0.0, 0.5]), [2, 1 + 2 / np.pi])


def test_stated_derivatives_come_first():
    row = ps.FloatRow(
        "test_expansion_stated",
        np.exp,
        expansion=ps.exp,
        derivative=lambda x, out: (out * 7,),
    )
    x = pt.dscalar("x")
    y = pt.Elemwise(row)(x)
    assert phintys.grad(y, x).eval({x: 0.0}) == 7
    assert phintys.Rop(y, x, pt.ones_like(x)).eval({x: 0.0}) == 7


def test_the_gradient_for_an_input_that_the_expansion_does_not_use_is_zero():
    row = ps.FloatRow("test_expansion_first", lambda x, y: x + 0 * y, nin=2, expansion=_first)
    x, y = pt.dvectors("x", "y")
    gradients = phintys.grad(pt.Elemwise(row)(x, y).sum(), [x, y])
    f = phintys.function([x, y], gradients)
    np.testing.assert_array_equal(f([1.0, 2.0], [3.0, 4.0]), [[1, 1], [0, 0]])


def _first(x, y):
    return x * 1.0


def test_rows_without_an_expansion_say_so():
    with pytest.raises(MethodNotDefinedError, match="exp has no expansion"):
        expanded(ps.exp, ["float64"])
