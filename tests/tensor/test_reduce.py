"""Reductions against NumPy: values, dtypes, shapes, derivatives."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import DtypeError, MethodNotDefinedError, OpContractError, ShapeError
from phintys.gradient import grad

ANY = ("bool",)
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ALL = ANY + INTS + FLOATS + COMPLEX


@dataclass(frozen=True)
class Case:
    """A reduction, and the NumPy function that it must agree with."""

    build: Callable
    reference: Callable
    dtypes: tuple = ALL
    empty: bool = True  # whether there is a result for no elements


def _sum_in_float32(function):
    """NumPy adds float16 along some axes in float16; we always do in float32."""

    def reference(x, dtype=None, **options):
        if x.dtype == np.float16 and dtype is None:
            return function(x, dtype=np.float32, **options).astype(np.float16)
        return function(x, dtype=dtype, **options)

    return reference


CASES = {
    "sum": Case(pt.sum, _sum_in_float32(np.sum)),
    "prod": Case(pt.prod, _sum_in_float32(np.prod)),
    "max": Case(pt.max, np.max, empty=False),
    "min": Case(pt.min, np.min, empty=False),
    "all": Case(pt.all, np.all),
    "any": Case(pt.any, np.any),
    "ptp": Case(pt.ptp, np.ptp, INTS + FLOATS + COMPLEX, empty=False),
}
"""The reductions that agree with NumPy to the last bit."""

BITWISE = {
    "and_": (ps.and_, np.bitwise_and),
    "or_": (ps.or_, np.bitwise_or),
    "xor": (ps.xor, np.bitwise_xor),
}


def _expected(reference, x, **options):
    with np.errstate(all="ignore"):
        return np.asarray(reference(x, **options))


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_numpy(name, data, draw, evaluate):
    case = CASES[name]
    value = draw.array(data, case.dtypes)
    x = draw.variable(data, value)
    axis = draw.axes(data, value.ndim)
    keepdims = data.draw(st.booleans(), "keepdims")
    axes = range(value.ndim) if axis is None else np.atleast_1d(np.array(axis, int))
    if not case.empty and any(value.shape[i] == 0 for i in axes):
        with pytest.raises(ShapeError, match=r"no element along axis"):
            evaluate(case.build(x, axis=axis, keepdims=keepdims), {x: value})
        return
    out = case.build(x, axis=axis, keepdims=keepdims)
    expected = _expected(case.reference, value, axis=axis, keepdims=keepdims)
    result = evaluate(out, {x: value})
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)
    assert np.array_equal(np.signbit(result.real), np.signbit(expected.real)) or name == "ptp"


@pytest.mark.parametrize("name", BITWISE)
@given(data=st.data())
def test_bits(name, data, draw, evaluate):
    scalar_op, ufunc = BITWISE[name]
    value = draw.array(data, ANY + INTS)
    x = draw.variable(data, value)
    axis = draw.axes(data, value.ndim)
    axes = tuple(np.atleast_1d(np.array(axis, int)) % value.ndim) if axis is not None else None
    result = evaluate(pt.Reduce(scalar_op, axes)(x), {x: value})
    expected = np.asarray(ufunc.reduce(value, axis=axis))
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["sum", "prod"])
@given(data=st.data())
def test_dtype(name, data, draw, evaluate):
    case = CASES[name]
    value = draw.array(data, ANY + INTS + FLOATS, finite=True)
    dtype = data.draw(st.sampled_from([*FLOATS[1:], *COMPLEX]))
    axis = draw.axes(data, value.ndim)
    x = draw.variable(data, value)
    result = evaluate(case.build(x, axis=axis, dtype=dtype), {x: value})
    expected = _expected(case.reference, value, axis=axis, dtype=dtype)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("given_dtype", "out", "acc"),
    [
        ("bool", "int64", "int64"),
        ("int8", "int64", "int64"),
        ("uint8", "uint64", "uint64"),
        ("uint64", "uint64", "uint64"),
        ("float16", "float16", "float32"),
        ("float32", "float32", "float32"),
        ("complex64", "complex64", "complex64"),
    ],
)
def test_default_dtypes_of_a_sum(given_dtype, out, acc):
    assert pt.Reduce(ps.add).resolve_dtypes(given_dtype) == (out, acc)
    assert pt.Reduce(ps.maximum).resolve_dtypes(given_dtype) == (given_dtype, given_dtype)


def test_float16_adds_in_float32(evaluate):
    value = np.full(4096, 1, np.float16)
    x = pt.tensor("x", dtype="float16", shape=(None,))
    assert evaluate(pt.sum(x), {x: value}) == 4096
    x2 = pt.tensor("x", dtype="float16", shape=(None, None))
    assert np.all(evaluate(pt.sum(x2, axis=0), {x2: np.full((4096, 2), 1, np.float16)}) == 4096)


def test_acc_dtype(evaluate):
    x = pt.fvector("x")
    value = np.array([1e8, 1, -1e8], np.float32)
    wide = evaluate(pt.sum(x, acc_dtype="float64"), {x: value})
    assert wide.dtype == "float32"
    assert wide == 1
    assert evaluate(pt.sum(x), {x: value}) == 0


def test_equal_reductions_are_equal_nodes():
    x = pt.matrix("x", dtype="float64")
    same = [
        pt.sum(x),
        pt.sum(x, axis=(0, 1)),
        pt.sum(x, axis=(-1, 0)),
        pt.sum(x, dtype="float64"),
        pt.sum(x, acc_dtype="float64"),
        x.sum(),
    ]
    assert len({out.owner.op for out in same}) == 1
    assert pt.sum(x, axis=0).owner.op != pt.sum(x, axis=1).owner.op
    assert pt.sum(x).owner.op != pt.prod(x).owner.op


@pytest.mark.parametrize(
    ("shape", "axis", "keepdims", "expected"),
    [
        ((2, None, 4), 1, False, (2, 4)),
        ((2, None, 4), (0, 2), False, (None,)),
        ((2, None, 4), 1, True, (2, 1, 4)),
        ((2, None, 4), None, True, (1, 1, 1)),
        ((2, None, 4), (), False, (2, None, 4)),
    ],
)
def test_static_shape(shape, axis, keepdims, expected):
    x = pt.tensor("x", dtype="float64", shape=shape)
    for case in CASES.values():
        assert case.build(x, axis=axis, keepdims=keepdims).type.shape == expected


@given(data=st.data())
def test_isclose_and_allclose(data, draw, evaluate):
    a = draw.array(data)
    b = draw.array(data, shape=a.shape)
    x, y = draw.variable(data, a, "x"), draw.variable(data, b, "y")
    equal_nan = data.draw(st.booleans())
    options = {"rtol": 0.25, "atol": 0.5, "equal_nan": equal_nan}
    with np.errstate(all="ignore"):
        expected = np.isclose(a, b, **options)
    np.testing.assert_array_equal(evaluate(pt.isclose(x, y, **options), {x: a, y: b}), expected)
    assert evaluate(pt.allclose(x, y, **options), {x: a, y: b}) == expected.all()


# ---- derivatives ---------------------------------------------------------------------------------

WITH_ZEROS = {
    "none": [[2.0, -3.0, 0.5], [1.5, 4.0, -1.0]],
    "one": [[2.0, 0.0, 0.5], [1.5, 4.0, -1.0]],
    "two": [[2.0, 0.0, 0.5], [0.0, 4.0, -1.0]],
    "two in a row": [[0.0, 0.0, 0.5], [1.5, 4.0, -1.0]],
    "three": [[0.0, 0.0, 0.5], [1.5, 0.0, -1.0]],
    "all": [[0.0, 0.0], [0.0, 0.0]],
}
AXES = (None, 0, 1, (0, 1))


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("build", [pt.sum, pt.max, pt.min, pt.ptp])
def test_derivatives(build, axis, check_derivatives):
    rng = np.random.default_rng(0)
    check_derivatives(
        lambda x: build(x, axis=axis), [rng.permutation(np.arange(12.0)).reshape(3, 4)], order=2
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("zeros", WITH_ZEROS)
def test_derivatives_of_prod(zeros, axis, check_derivatives):
    check_derivatives(lambda x: pt.prod(x, axis=axis), [WITH_ZEROS[zeros]], order=3)


def test_derivatives_of_prod_over_three_axes(check_derivatives):
    value = np.random.default_rng(1).uniform(0.5, 1.5, (2, 2, 3))
    value[0, 1, 2] = 0
    for axis in (None, (0, 2), (1, 2), 1):
        check_derivatives(lambda x, axis=axis: pt.prod(x, axis=axis), [value], order=2)


@pytest.mark.parametrize("build", [pt.sum, pt.prod])
def test_complex_derivatives(build, check_derivatives):
    value = np.array([[1 + 2j, 0, 3 - 1j], [2j, 1, -1 - 1j]])
    for axis in AXES:
        check_derivatives(lambda x, axis=axis: build(x, axis=axis), [value], order=2)


def test_derivatives_where_there_is_nothing(evaluate):
    for build in (pt.sum, pt.prod):
        x = pt.matrix("x", dtype="float64")
        for shape in ((0, 3), (3, 0), (0, 0)):
            value = np.zeros(shape)
            for axis in AXES:
                result = evaluate(grad(pt.sum(build(x, axis=axis)), x), {x: value})
                assert result.shape == shape


def test_gradient_of_a_scalar(check_derivatives):
    for build in (pt.sum, pt.prod, pt.max, pt.min):
        check_derivatives(build, [3.0], order=2)


def test_gradient_in_the_dtype_of_the_input(evaluate):
    x = pt.fvector("x")
    gradient = grad(pt.sum(x, dtype="float64"), x)
    assert gradient.dtype == "float32"
    gradient = grad(pt.prod(x, dtype="float64"), x)
    assert gradient.dtype == "float32"
    np.testing.assert_array_equal(
        evaluate(gradient, {x: np.array([2, 3, 4], np.float32)}), [12, 8, 6]
    )
    gradient = grad(pt.real(pt.sum(x, dtype="complex64")), x)
    assert gradient.dtype == "float32"


def test_extremes_share_the_gradient(evaluate):
    x = pt.dvector("x")
    value = np.array([1.0, 3.0, 3.0, 2.0])
    np.testing.assert_array_equal(evaluate(grad(pt.max(x), x), {x: value}), [0, 0.5, 0.5, 0])
    np.testing.assert_array_equal(evaluate(grad(pt.min(x), x), {x: -value}), [0, 0.5, 0.5, 0])
    # so that moving all of them together gives the derivative of one
    t = pt.dscalar("t")
    cost = pt.max(pt.second(x, t))
    assert evaluate(grad(cost, t), {x: value, t: 1.0 * np.ones(())}) == 1


def test_integers_and_gradients(evaluate):
    x = pt.lvector("x")
    value = np.array([1, 2, 3])
    # An integer result is a step function of its input ...
    for build in (pt.sum, pt.prod, pt.max):
        gradient = grad(pt.cast(build(x), "float64"), x)
        assert gradient.dtype == "float64"
        np.testing.assert_array_equal(evaluate(gradient, {x: value}), [0, 0, 0])
    # ... a float result is not, whatever the input.
    gradient = grad(pt.prod(x, dtype="float64"), x)
    np.testing.assert_array_equal(evaluate(gradient, {x: value}), [6, 3, 2])


def test_gradient_of_truth_is_zero(evaluate):
    x = pt.dvector("x")
    for build in (pt.all, pt.any):
        gradient = grad(pt.cast(build(x), "float64"), x)
        np.testing.assert_array_equal(evaluate(gradient, {x: np.array([1.0, 2.0])}), [0, 0])


# ---- errors --------------------------------------------------------------------------------------


def test_wrong_axes():
    x = pt.matrix("x")
    with pytest.raises(ShapeError, match=r"Axis 2 is out of range .* rank 2"):
        pt.sum(x, axis=2)
    with pytest.raises(ShapeError, match="named twice"):
        pt.sum(x, axis=(0, -2))
    with pytest.raises(OpContractError, match="An axis is an int"):
        pt.sum(x, axis=0.5)
    with pytest.raises(OpContractError, match="count from the front"):
        pt.Reduce(ps.add, axis=(-1,))
    with pytest.raises(ShapeError, match="reduces axis 2"):
        pt.Reduce(ps.add, axis=(2,))(x)


def test_wrong_dtypes():
    z = pt.tensor("z", dtype="complex64", shape=(None,))
    with pytest.raises(DtypeError, match="imaginary part"):
        pt.sum(z, dtype="float64")
    with pytest.raises(DtypeError, match="computed in complex128 cannot be of dtype int64"):
        pt.sum(pt.dvector("x"), dtype="int64", acc_dtype="complex128")
    with pytest.raises(DtypeError):
        pt.Reduce(ps.and_)(pt.dvector("x"))


def test_wrong_scalar_ops():
    with pytest.raises(OpContractError, match="associative"):
        pt.Reduce(ps.sub)
    with pytest.raises(OpContractError, match="associative"):
        pt.Reduce(ps.exp)
    with pytest.raises(OpContractError, match="takes a scalar op"):
        pt.Reduce(np.add)
    x = pt.dvector("x")
    with pytest.raises(MethodNotDefinedError, match="No derivative is known"):
        grad(pt.Reduce(ps.hypot)(x), x)


def test_names():
    x = pt.matrix("x")
    assert str(pt.sum(x, axis=0).owner.op) == "Sum{axis=0}"
    assert str(pt.max(x).owner.op) == "Max"
    assert str(pt.prod(x, axis=1, dtype="float32").owner.op) == "Prod{axis=1; dtype=float32}"
    assert pt.sum(x).owner.op.flops([(3, 4)], [()]) == 12
