"""Products of vectors, matrices and batches against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import OpContractError, ShapeError
from phintys.gradient import Rop, grad
from tests.budget import budget

TOLERANCE = {"float16": 2e-2, "float32": 1e-5, "complex64": 1e-5}


def _compare(result, expected):
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if result.dtype.kind in "biu":
        np.testing.assert_array_equal(result, expected)
    else:
        tolerance = TOLERANCE.get(result.dtype.name, 1e-12)
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=10 * tolerance)


def _expected(function, *args):
    with np.errstate(all="ignore"):
        return np.asarray(function(*args))


def _sizes(data, count):
    return data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count), "sizes")


def _operands(data, draw, x_shape, y_shape):
    """Draw two operands; those that are a dot's rows and columns fit."""
    a = draw.array(data, shape=tuple(x_shape), finite=True)
    b = draw.array(data, shape=tuple(y_shape), finite=True)
    return draw.variable(data, a, "x"), draw.variable(data, b, "y"), a, b


@budget(200)
@given(data=st.data())
def test_dot(data, draw, evaluate):
    x_shape, y_shape = (_sizes(data, data.draw(st.integers(0, 4))) for _ in range(2))
    if x_shape and y_shape:
        y_shape[max(len(y_shape) - 2, 0)] = x_shape[-1]
    x, y, a, b = _operands(data, draw, x_shape, y_shape)
    _compare(evaluate(pt.dot(x, y), {x: a, y: b}), _expected(np.dot, a, b))


@budget(200)
@given(data=st.data())
def test_matmul(data, draw, evaluate):
    x_shape, y_shape = (_sizes(data, data.draw(st.integers(1, 4))) for _ in range(2))
    y_shape[-2 if len(y_shape) > 1 else 0] = x_shape[-1]
    broadcast = []
    for i in range(3, min(len(x_shape), len(y_shape)) + 1):
        which = data.draw(st.sampled_from(["x", "y", "neither"]))
        x_shape[-i] = y_shape[-i] = max(x_shape[-i], 2)
        if which != "neither":
            (x_shape if which == "x" else y_shape)[-i] = 1
            broadcast.append((which, -i))
    x, y, a, b = _operands(data, draw, x_shape, y_shape)
    # What broadcasts is known to be of size 1.
    x = _with_known(x, a, [i for which, i in broadcast if which == "x"])
    y = _with_known(y, b, [i for which, i in broadcast if which == "y"])
    _compare(evaluate(pt.matmul(x, y), {x: a, y: b}), _expected(np.matmul, a, b))


def _with_known(x, value, dims):
    dims = [dim % value.ndim for dim in dims]
    shape = [1 if i in dims else size for i, size in enumerate(x.type.shape)]
    return pt.tensor(x.name, dtype=x.dtype, shape=shape)


@given(data=st.data())
def test_tensordot(data, draw, evaluate):
    x_shape, y_shape = _sizes(data, data.draw(st.integers(0, 4))), None
    y_shape = _sizes(data, data.draw(st.integers(0, 4)))
    count = data.draw(st.integers(0, min(len(x_shape), len(y_shape))), "count")
    if data.draw(st.booleans(), "as a number"):
        axes = count
        pairs = [(len(x_shape) - count + i, i) for i in range(count)]
    else:
        x_axes = data.draw(st.permutations(range(len(x_shape))))[:count]
        y_axes = data.draw(st.permutations(range(len(y_shape))))[:count]
        pairs = list(zip(x_axes, y_axes, strict=True))
        axes = (x_axes, [axis - len(y_shape) for axis in y_axes])
        if count == 1 and data.draw(st.booleans()):
            axes = (x_axes[0], y_axes[0])
    for i, j in pairs:
        y_shape[j] = x_shape[i]
    x, y, a, b = _operands(data, draw, x_shape, y_shape)
    _compare(evaluate(pt.tensordot(x, y, axes), {x: a, y: b}), _expected(np.tensordot, a, b, axes))


@pytest.mark.parametrize("name", ["outer", "inner", "vdot", "kron"])
@given(data=st.data())
def test_other_products(name, data, draw, evaluate):
    x_shape, y_shape = _sizes(data, data.draw(st.integers(0, 3))), None
    y_shape = _sizes(data, data.draw(st.integers(0, 3)))
    if name == "inner" and x_shape and y_shape:
        y_shape[-1] = x_shape[-1]
    if name == "vdot":
        y_shape = [int(np.prod(x_shape, dtype=int))]
    x, y, a, b = _operands(data, draw, x_shape, y_shape)
    result = evaluate(getattr(pt, name)(x, y), {x: a, y: b})
    _compare(result, _expected(getattr(np, name), a, b))


@given(data=st.data())
def test_batched_dot(data, draw, evaluate):
    x_shape, y_shape = (_sizes(data, data.draw(st.integers(1, 4))) for _ in range(2))
    y_shape[0] = x_shape[0]
    if min(len(x_shape), len(y_shape)) > 1:
        y_shape[max(1, len(y_shape) - 2)] = x_shape[-1]
    x, y, a, b = _operands(data, draw, x_shape, y_shape)
    out = pt.batched_dot(x, y)
    each = [_expected(np.dot, m, n) for m, n in zip(a, b, strict=True)]
    result = evaluate(out, {x: a, y: b})
    assert result.dtype == np.result_type(a, b)
    if each:
        _compare(result, np.stack(each))
    else:
        assert result.shape[0] == 0


def test_batched_tensordot(evaluate):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(2, 5, 3, 6))
    x, y = pt.dtensor4("x"), pt.dtensor4("y")
    result = evaluate(pt.batched_tensordot(x, y, ([1, 3], [2, 1])), {x: a, y: b})
    np.testing.assert_allclose(result, np.einsum("bijk,bkil->bjl", a, b))
    c = rng.normal(size=(2, 4, 5, 6))
    result = evaluate(pt.batched_tensordot(x, y, 2), {x: a, y: c})
    np.testing.assert_allclose(result, np.einsum("bijk,bjkl->bil", a, c))
    with pytest.raises(ShapeError, match="first axis"):
        pt.batched_tensordot(x, y, ([0], [1]))


# ---- types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x_shape", "y_shape", "expected"),
    [
        ((3,), (3,), ()),
        ((2, 3), (3,), (2,)),
        ((None,), (3, 4), (4,)),
        ((2, None), (None, 4), (2, 4)),
        ((5, 2, 3), (3, 4), (5, 2, 4)),
        ((None, 2, 3), (3, 4), (None, 2, 4)),
        ((2, 3), (5, 3, 4), (5, 2, 4)),
        ((3,), (5, 3, 4), (5, 4)),
        ((5, 2, 3), (3,), (5, 2)),
        ((1, 2, 3), (None, 3, 4), (None, 2, 4)),
        ((1, 2, 3), (1, 3, 4), (1, 2, 4)),
        ((None, 2, 3), (5, 3, 4), (5, 2, 4)),
        ((6, 1, 2, 3), (5, 3, 4), (6, 5, 2, 4)),
    ],
)
def test_static_shape_of_matmul(x_shape, y_shape, expected):
    x = pt.tensor("x", dtype="float64", shape=x_shape)
    y = pt.tensor("y", dtype="float64", shape=y_shape)
    assert (x @ y).type.shape == expected


def test_few_nodes():
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    for out in (pt.dot(x, y), x @ y, pt.matmul(x, y), pt.tensordot(x, y, 1)):
        assert isinstance(out.owner.op, pt.Dot)
        assert out.owner.inputs == [x, y]
    x = pt.dtensor3("x")
    assert isinstance((x @ x).owner.op, pt.BatchedDot)
    assert isinstance(pt.batched_dot(x, x).owner.op, pt.BatchedDot)
    assert pt.Dot() == pt.Dot()


def test_flops():
    assert pt.Dot().flops([(2, 3), (3, 4)], [(2, 4)]) == 48
    assert pt.BatchedDot().flops([(5, 2, 3), (5, 3, 4)], [(5, 2, 4)]) == 240


# ---- derivatives ---------------------------------------------------------------------------------

PAIRS = [
    (pt.dot, (3,), (3,)),
    (pt.dot, (2, 3), (3,)),
    (pt.dot, (3,), (3, 4)),
    (pt.dot, (2, 3), (3, 4)),
    (pt.dot, (2, 2, 3), (2, 3, 4)),
    (pt.matmul, (2, 2, 3), (2, 3, 4)),
    (pt.matmul, (2, 2, 3), (3, 2)),
    (pt.matmul, (2, 2, 3), (3,)),
    (pt.matmul, (3,), (2, 3, 2)),
    (pt.outer, (2,), (3,)),
    (pt.inner, (2, 3), (4, 3)),
    (pt.vdot, (2, 3), (6,)),
    (pt.kron, (2, 2), (1, 3)),
    (pt.batched_dot, (2, 3, 4), (2, 4)),
    (lambda x, y: pt.tensordot(x, y, ([0, 2], [1, 0])), (2, 3, 4), (4, 2)),
]


def _random(shape, dtype, seed):
    value = np.random.default_rng(seed).normal(size=(*shape, 2))
    return value[..., 0] + 1j * value[..., 1] if dtype == "complex128" else value[..., 0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("build", "x_shape", "y_shape"), PAIRS)
@pytest.mark.parametrize(
    "dtypes", [("float64",) * 2, ("complex128",) * 2, ("float64", "complex128")]
)
def test_derivatives(build, x_shape, y_shape, dtypes, check_derivatives):
    values = [_random(x_shape, dtypes[0], 0), _random(y_shape, dtypes[1], 1)]
    if build is pt.vdot and dtypes[0] == "complex128":
        # Not holomorphic in its first operand, but each derivative is real-linear all the same.
        check_derivatives(build, values)
    else:
        check_derivatives(build, values, order=2 if dtypes[0] == "float64" else 1)


def test_gradients_of_broadcast_stacks(evaluate, check_derivatives):
    a, b = _random((1, 2, 3), "float64", 0), _random((4, 3, 2), "float64", 1)

    def build(x, y):
        return pt.matmul(pt.specify_broadcastable(x, 0), y)

    check_derivatives(build, [a, b], order=2)
    check_derivatives(lambda x, y: build(y, x), [b, a], order=2)


@pytest.mark.parametrize(("x_shape", "y_shape"), [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4))])
def test_integers(x_shape, y_shape, evaluate):
    """A product of integers has zero gradients; one of floats and integers that of floats."""
    a, b = np.ones(x_shape, np.int64), np.full(y_shape, 2, np.int64)
    x = pt.tensor("x", dtype="int64", shape=(None,) * a.ndim)
    y = pt.tensor("y", dtype="int64", shape=(None,) * b.ndim)
    gradients = grad(pt.sum(pt.cast(pt.dot(x, y), "float64")), [x, y])
    for gradient, value in zip(evaluate(gradients, {x: a, y: b}), (a, b), strict=True):
        assert gradient.dtype == "float64"
        np.testing.assert_array_equal(gradient, np.zeros(value.shape))

    z = pt.tensor("z", dtype="float64", shape=(None,) * a.ndim)
    w = pt.tensor("w", dtype="float64", shape=(None,) * b.ndim)
    mixed = grad(pt.sum(pt.dot(z, y)), [z, y])
    floats = grad(pt.sum(pt.dot(z, w)), [z, w])
    found = evaluate(mixed, {z: 1.5 * a, y: b})
    expected = evaluate(floats, {z: 1.5 * a, w: 1.0 * b})
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == "float64"
        np.testing.assert_array_equal(one, other)


def test_mixed_precision(evaluate):
    x, y = pt.fmatrix("x"), pt.dmatrix("y")
    out = pt.dot(x, y)
    gradients = grad(out.sum(), [x, y])
    assert [out.dtype, *(g.dtype for g in gradients)] == ["float64", "float32", "float64"]
    v = pt.fmatrix("v")
    assert Rop(out, x, v).dtype == "float64"
    z = pt.tensor("z", dtype="complex128", shape=(None, None))
    assert grad(pt.real(pt.dot(y, z)).sum(), y).dtype == "float64"


# ---- errors --------------------------------------------------------------------------------------


def test_misfits_when_built():
    x = pt.tensor("x", dtype="float64", shape=(2, 3))
    y = pt.tensor("y", dtype="float64", shape=(4, 5))
    with pytest.raises(ShapeError, match=r"(?s)do not fit.*x: shape \(2, 3\).*y: shape \(4, 5\)"):
        pt.dot(x, y)
    with pytest.raises(ShapeError, match=r"stacks do not fit"):
        pt.matmul(
            pt.tensor("x", dtype="float64", shape=(2, 2, 3)),
            pt.tensor("y", dtype="float64", shape=(4, 3, 3)),
        )
    with pytest.raises(ShapeError, match=r"axis 1 of x.*axis 0 of y"):
        pt.tensordot(x, y, 1)


def test_misfits_when_run(evaluate):
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    with pytest.raises(ShapeError, match=r"(?s)shape \(2, 3\).*shape \(4, 5\).*pt\.tensordot"):
        evaluate(pt.dot(x, y), {x: np.ones((2, 3)), y: np.ones((4, 5))})
    # 2 * 3 == 3 * 2, but the axes do not fit one by one
    with pytest.raises(ShapeError, match="size"):
        evaluate(pt.tensordot(x, y, 2), {x: np.ones((2, 3)), y: np.ones((3, 2))})
    x, y = pt.dtensor3("x"), pt.dtensor3("y")
    with pytest.raises(ShapeError, match=r"(?s)stacks do not fit.*known to be 1"):
        evaluate(x @ y, {x: np.ones((1, 2, 3)), y: np.ones((4, 3, 2))})
    with pytest.raises(ShapeError, match="do not fit"):
        evaluate(x @ y, {x: np.ones((4, 2, 3)), y: np.ones((4, 2, 2))})


def test_wrong_ranks_and_axes():
    x, y, z = pt.dmatrix("x"), pt.dscalar("y"), pt.dtensor3("z")
    with pytest.raises(ShapeError, match=r"write \*"):
        pt.matmul(x, y)
    with pytest.raises(ShapeError, match="vectors and matrices"):
        pt.Dot()(x, z)
    with pytest.raises(ShapeError, match="same rank"):
        pt.BatchedDot()(x, z)
    with pytest.raises(ShapeError, match="cannot sum over 3 axes"):
        pt.tensordot(x, z, 3)
    with pytest.raises(ShapeError, match="cannot be paired"):
        pt.tensordot(x, z, ([0, 1], [0]))
    with pytest.raises(ShapeError, match="named twice"):
        pt.tensordot(x, z, ([0, -2], [0, 1]))
    with pytest.raises(OpContractError, match="pair of axes"):
        pt.tensordot(x, z, [0, 1, 2])
    with pytest.raises(ShapeError, match="out of range"):
        pt.tensordot(x, z, ([2], [0]))


def test_stacks_with_a_size_of_1_say_how_to_make_it_broadcast():
    w, x = phintys.shared(np.ones((1, 3, 2)), name="w"), pt.dtensor3("x")
    f = phintys.function([x], pt.matmul(x, w))
    with pytest.raises(ShapeError, match=r"make w with shared\(value, shape=\(1, None, None\)\)"):
        f(np.ones((4, 2, 3)))


def test_output_types_are_remembered_in_tables_of_bounded_size():
    op = pt.Dot()
    for length in range(520):
        op(pt.tensor(shape=(length,), dtype="float64"), pt.dvector())
    assert len(op._types) <= 512
