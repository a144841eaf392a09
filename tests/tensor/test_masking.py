"""``where=``, ``initial=`` and other options of reductions against NumPy."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.gradient import grad

A = np.array([[1.5, -2.0, 0.5], [4.0, np.nan, -1.0]])
MASK = np.array([[True, False, True], [True, False, True]])
WEIGHTS = np.array([[1.0, 3.0, 2.0], [2.0, 0.5, 1.0]])

CALLS = {
    "sum": lambda lib, x, m: lib.sum(x, axis=0, where=m),
    "sum initial": lambda lib, x, m: lib.sum(x, where=m, initial=2.5),
    "sum keepdims": lambda lib, x, m: lib.sum(x, axis=1, where=m, keepdims=True, initial=1),
    "sum row": lambda lib, x, m: lib.sum(x, where=m[0]),
    "prod": lambda lib, x, m: lib.prod(x, axis=1, where=m, initial=3.0),
    "max": lambda lib, x, m: lib.max(x, axis=1, where=m, initial=0.75),
    "max all": lambda lib, x, m: lib.max(x, where=m, initial=-np.inf),
    "min": lambda lib, x, m: lib.min(x, axis=0, where=m, initial=3, keepdims=True),
    "min initial": lambda lib, x, m: lib.min(x, axis=0, initial=-1.5),
    "max of nothing": lambda lib, x, m: lib.max(x[:, :0], axis=1, initial=7.0),
    "max of nothing at all": lambda lib, x, m: lib.max(x[:0, :0], initial=7.0),
    "all": lambda lib, x, m: lib.all(x > 0, axis=1, where=m),
    "any": lambda lib, x, m: lib.any(x > 3, axis=0, where=m, keepdims=True),
    "mean": lambda lib, x, m: lib.mean(x, axis=1, where=m),
    "mean keepdims": lambda lib, x, m: lib.mean(x, where=m, keepdims=True),
    "var": lambda lib, x, m: lib.var(x, axis=1, where=m),
    "var correction": lambda lib, x, m: lib.var(x, axis=1, where=m, correction=1),
    "var mean": lambda lib, x, m: lib.var(x[:, :1], axis=0, mean=x[:1, :1]),
    "std": lambda lib, x, m: lib.std(x, where=m, ddof=1, keepdims=True),
    "average": lambda lib, x, m: lib.average(x[:1], axis=1, returned=True)[1],
    "average weighed": lambda lib, x, m: lib.average(
        x[:, ::2], axis=0, weights=WEIGHTS[:, ::2], returned=True
    )[1],
    "method": lambda lib, x, m: x.sum(1, where=m) + x.max(axis=1, where=m, initial=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_options(name, evaluate):
    call = CALLS[name]
    x = pt.dmatrix("x")
    mask = pt.TensorType("bool", (None, None))("mask")
    found, expected = evaluate(call(pt, x, mask), {x: A, mask: MASK}), np.asarray(call(np, A, MASK))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_dtypes_are_numpys(name, dtype, evaluate):
    a = np.array([1, 0, 1]).astype(dtype)
    options = {"where": [True, False, True], "initial": 1}
    found = evaluate(getattr(pt, name)(pt.constant(a), **options), {})
    expected = getattr(np, name)(a, **options)
    assert found == expected
    assert found.dtype == expected.dtype


def test_gradients_stop_at_the_mask(evaluate):
    x = pt.dvector("x")
    mask = np.array([True, False, True])
    a = np.array([2.0, np.nan, 3.0])
    for cost, expected in (
        (pt.sum(x, where=mask), [1, 0, 1]),
        (pt.max(x, where=mask, initial=0.0), [0, 0, 1]),
        (pt.mean(x, where=mask), [0.5, 0, 0.5]),
        (pt.var(x, where=mask), [-0.5, 0, 0.5]),
    ):
        np.testing.assert_allclose(evaluate(grad(cost, x), {x: a}), expected)


def test_variance_takes_both_orders_of_arguments(evaluate):
    a = np.array([[1.0, 2.0, 4.0]])
    x = pt.dmatrix("x")
    expected = a.var(1, ddof=1, keepdims=True)
    for found in (
        pt.var(x, 1, None, 1, True),  # NumPy's, without `out`
        pt.var(x, 1, 1, True),  # PyTensor's
        x.var(1, 1, True),
        pt.var(x, axis=1, correction=1, keepdims=True),  # the array API's
        pt.var(x, 1, 0, True, True),
    ):
        np.testing.assert_allclose(evaluate(found, {x: a}), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: pt.sum(x, where=[1, 0]), DtypeError, "takes bools"),
        (lambda x: pt.sum(x, where=np.ones((2, 2, 2), bool)), ShapeError, "broadcast"),
        (lambda x: pt.sum(x[0][None], where=np.ones((2, 2), bool)), ShapeError, "broadcast"),
        (lambda x: pt.max(x, where=[True, False]), ArgumentError, "needs initial="),
        (lambda x: pt.sum(x, initial=[1.0, 2.0]), ShapeError, "one number"),
        (lambda x: pt.max(x.astype("int8"), initial=1000), DtypeError, "fits into int8"),
        (lambda x: pt.max(x, initial="a"), DtypeError, "takes a number"),
        (lambda x: pt.var(x, axis=1, mean=x.mean(axis=1)), ShapeError, "keepdims=True"),
        (lambda x: pt.var(x, ddof=1, correction=1), ArgumentError, "same argument"),
    ],
)
def test_wrong_options(call, error, message):
    with pytest.raises(error, match=message):
        call(pt.dmatrix("x"))
