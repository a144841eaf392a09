"""Diagonals, identities and triangles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import DtypeError, ShapeError
from phintys.gradient import grad
from phintys.graph import contract
from phintys.tensor.diagonals import AllocDiag, ExtractDiag


@given(data=st.data())
def test_diagonal(data, draw, evaluate):
    value = draw.array(data, min_dims=2)
    x = draw.variable(data, value)
    offset = data.draw(st.integers(-4, 4))
    axes = data.draw(st.permutations(range(value.ndim)))[:2]
    out = pt.diagonal(x, offset, *axes)
    found = evaluate(out, {x: value})
    np.testing.assert_array_equal(found, value.diagonal(offset, *axes))
    assert found.flags.writeable == value.flags.writeable
    assert not found.size or np.shares_memory(found, value)


@given(data=st.data())
def test_trace(data, draw, evaluate):
    value = draw.array(data, ("int16", "float64", "complex128"), min_dims=2, finite=True)
    x = draw.variable(data, value)
    offset = data.draw(st.integers(-4, 4))
    found = evaluate(pt.trace(x, offset), {x: value})
    np.testing.assert_allclose(found, value.trace(offset))


@given(data=st.data())
def test_diag(data, draw, evaluate):
    value = draw.array(data, min_dims=1, max_dims=2)
    x = draw.variable(data, value)
    k = data.draw(st.integers(-3, 3))
    found = evaluate(pt.diag(x, k), {x: value})
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, np.diag(value, k))


@given(data=st.data())
def test_matrices_of_ones(data, evaluate):
    rows, columns = (data.draw(st.integers(0, 4)) for _ in range(2))
    shift = data.draw(st.integers(-4, 4))
    values, arguments = {}, []
    for number in (rows, columns, shift):
        if data.draw(st.booleans()):
            n = pt.lscalar("n")
            values[n] = np.array(number)
            arguments.append(n)
        else:
            arguments.append(number)
    for build, reference in ((pt.eye, np.eye), (pt.tri, np.tri)):
        for dtype in (None, "int8", "bool"):
            found = evaluate(build(*arguments, dtype=dtype), values)
            expected = reference(rows, columns, shift, dtype=dtype or float)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("build", "reference"), [(pt.tril, np.tril), (pt.triu, np.triu)])
@given(data=st.data())
def test_triangles(build, reference, data, draw, evaluate):
    value = draw.array(data, min_dims=2)
    x = draw.variable(data, value)
    k = data.draw(st.integers(-4, 4))
    shift, values = k, {x: value}
    if data.draw(st.booleans()):
        shift = pt.lscalar("k")
        values[shift] = np.array(k)
    found = evaluate(build(x, shift), values)
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, reference(value, k))


def test_defaults():
    with config.change_flags(floatX="float32"):
        assert pt.eye(2).type == pt.TensorType("float32", (2, 2))
        assert pt.identity(3).type == pt.TensorType("float32", (3, 3))
    x = pt.tensor("x", shape=(2, None), dtype="int16")
    assert pt.identity_like(x).type == x.type
    assert pt.identity_like(x, "float64").dtype == "float64"


WRONG = {
    "vector": (lambda: pt.diagonal(pt.vector("x")), ShapeError, "out of range"),
    "op on a vector": (lambda: ExtractDiag()(pt.vector("x")), ShapeError, "needs 2 dimensions"),
    "same axes": (lambda: pt.diagonal(pt.matrix("x"), 0, 1, -1), ShapeError, "must differ"),
    "diag of 3": (lambda: pt.diag(pt.tensor3("x")), ShapeError, "a vector or a matrix"),
    "diag of 0": (lambda: pt.diag(pt.scalar("x")), ShapeError, "a vector or a matrix"),
    "length": (lambda: AllocDiag(1)([1, 2], 2, 2), ShapeError, "has 1 elements, got 2"),
    "alloc of a number": (lambda: AllocDiag()(1.0, 2, 2), ShapeError, "a diagonal is a vector"),
    "eye": (lambda: pt.eye(-1), ShapeError, "not be negative"),
    "eye float": (lambda: pt.eye(2.5), DtypeError, "integer"),
    "shift": (lambda: pt.eye(2, k=0.5), DtypeError, "A diagonal is an integer"),
    "tril": (lambda: pt.tril(pt.vector("x")), ShapeError, "at least 2 dimensions"),
    "like": (lambda: pt.identity_like(pt.vector("x")), ShapeError, "takes a matrix"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    build, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        build()


def test_fails_at_run_time(evaluate):
    v, n = pt.vector("v"), pt.lscalar("n")
    with pytest.raises(ShapeError, match="has 3 elements, got 2"):
        evaluate(AllocDiag()(v, n, n), {v: np.ones(2), n: np.array(3)})
    with pytest.raises(ShapeError, match="not be negative"):
        evaluate(AllocDiag()(v, n, n), {v: np.ones(2), n: np.array(-3)})


DERIVATIVES = {
    "diagonal": (lambda x: pt.diagonal(x, 1), (3, 4)),
    "below": (lambda x: pt.diagonal(x, -1, 2, 0), (3, 2, 4)),
    "diag of a vector": (lambda x: pt.diag(x, -1), (3,)),
    "alloc": (lambda x: AllocDiag(1)(x, 2, 5), (3, 2)),
    "tril": (lambda x: pt.tril(x, 1), (2, 3, 3)),
    "triu": (pt.triu, (3, 3)),
    "trace": (pt.trace, (3, 3)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(name, dtype, check_derivatives):
    build, shape = DERIVATIVES[name]
    value = np.arange(1.0, 1 + np.prod(shape)).reshape(shape).astype(dtype) / 5
    check_derivatives(lambda x: build(x) ** 2, [value], order=2)


def test_of_integers_the_gradient_is_zero(evaluate):
    for build, value in ((pt.diagonal, np.ones((2, 2), int)), (pt.diag, np.ones(2, int))):
        x = pt.tensor("x", shape=(None,) * value.ndim, dtype="int64")
        gradient = grad((build(x) * 1.5).sum(), x)
        np.testing.assert_array_equal(evaluate(gradient, {x: value}), np.zeros(value.shape))


def test_sizes_are_disconnected():
    out = AllocDiag()(pt.vector("v"), pt.lscalar("n"), 3)
    assert contract.connection_pattern(out.owner) == [[True], [False], [False]]
