"""Alloc and what is made with it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import DtypeError, ShapeError
from phintys.graph import FunctionGraph, contract
from phintys.graph.null_type import DisconnectedType
from phintys.tensor.creation import Alloc, AllocEmpty, as_sizes
from phintys.tensor.indexing import IncSubtensor


def _sizes(data, shape, values):
    """Draw how sizes are given: as ints, or as symbolic integers."""
    sizes = []
    for size in shape:
        if data.draw(st.booleans()):
            n = data.draw(st.sampled_from([pt.lscalar, pt.bscalar]))("n")
            values[n] = np.array(size, n.dtype)
            sizes.append(n)
        else:
            sizes.append(size)
    return sizes


def _broadcastable(data, draw, array):
    """Draw an input for an array whose dimensions of size 1 broadcast."""
    x = draw.variable(data, array)
    static = [
        1 if size == 1 else known for size, known in zip(array.shape, x.type.shape, strict=True)
    ]
    return x.type.clone(shape=static)("x")


@given(data=st.data())
def test_alloc_against_numpy(data, draw, evaluate):
    value = draw.array(data)
    x = _broadcastable(data, draw, value)
    before = data.draw(st.lists(st.integers(0, 3), max_size=2))
    grown = [data.draw(st.integers(0, 3)) if size == 1 else size for size in value.shape]
    values = {x: value}
    out = pt.alloc(x, *_sizes(data, [*before, *grown], values))
    found = evaluate(out, values)
    np.testing.assert_array_equal(found, np.broadcast_to(value, (*before, *grown)))
    assert found.flags.writeable


LIKE = {
    "zeros_like": (pt.zeros_like, np.zeros_like),
    "ones_like": (pt.ones_like, np.ones_like),
    "full_like": (lambda x, d=None: pt.full_like(x, 1, d), lambda x, d=None: np.full_like(x, 1, d)),
}


@pytest.mark.parametrize("name", LIKE)
@given(data=st.data())
def test_like(name, data, draw, evaluate):
    build, reference = LIKE[name]
    value = draw.array(data)
    x = draw.variable(data, value)
    for dtype in (None, "float32"):
        found, expected = evaluate(build(x, dtype), {x: value}), reference(value, dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


NEW = {
    "zeros": (pt.zeros, np.zeros),
    "ones": (pt.ones, np.ones),
    "full": (lambda s, d=None: pt.full(s, 2.5, d), lambda s, d=None: np.full(s, 2.5, d)),
}


@pytest.mark.parametrize("name", NEW)
@given(data=st.data())
def test_new(name, data, evaluate):
    build, reference = NEW[name]
    shape = data.draw(st.lists(st.integers(0, 3), max_size=3))
    values = {}
    sizes = _sizes(data, shape, values)
    for dtype in (None, "int16"):
        found, expected = evaluate(build(sizes, dtype), values), reference(shape, dtype)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_shapes_may_be_given_as(evaluate):
    x = pt.matrix("x")
    value = np.ones((2, 3))
    for shape in (x.shape, (2, 3), [2, 3], np.array([2, 3]), pt.constant([2, 3])):
        assert evaluate(pt.zeros(shape), {x: value}).shape == (2, 3)
    assert pt.zeros(3).type.shape == (3,)
    assert pt.zeros(pt.lscalar("n")).type.shape == (None,)
    assert pt.alloc(1.0, (2, 3)).type.shape == (2, 3)
    assert pt.alloc(1.0, x.shape).ndim == 2


def test_floatx_is_the_default():
    with config.change_flags(floatX="float32"):
        assert pt.zeros(3).dtype == pt.ones(3).dtype == pt.empty(3).dtype == "float32"
    assert pt.full(3, 7).dtype == "int64"


def test_zeros_are_positive(evaluate):
    assert not np.signbit(evaluate(pt.zeros(2))).any()
    assert np.signbit(evaluate(pt.alloc(-0.0, 2))).all()


def test_of_a_scalar_is_a_constant():
    assert pt.zeros_like(pt.dscalar("x")).data == 0
    assert pt.ones_like(pt.dscalar("x"), "int8").data.dtype == np.int8


def test_static_shape():
    n, row = pt.lscalar("n"), pt.tensor("x", shape=(1, 4))
    assert pt.alloc(row, 2, n, 4).type.shape == (2, None, 4)
    assert pt.alloc(row, n, n).type.shape == (None, 4)  # it would not fit otherwise
    assert pt.alloc(row, 1, n).type.shape == (1, 4)


WRONG = {
    "rank": (lambda: pt.alloc(pt.matrix("x"), 3), ShapeError, "more dimensions"),
    "size": (lambda: pt.alloc(pt.constant([1, 2]), 3), ShapeError, "does not broadcast"),
    "to 1": (lambda: pt.alloc(pt.constant([1, 2]), 1), ShapeError, "does not broadcast"),
    "negative": (lambda: pt.zeros(-1), ShapeError, "not be negative, got -1"),
    "float": (lambda: pt.zeros((2.0, 3)), DtypeError, "an integer, got 2.0"),
    "bool": (lambda: pt.zeros(True), DtypeError, "an integer, got True"),
    "float scalar": (lambda: pt.zeros(pt.dscalar("n")), DtypeError, "dtype float64"),
    "matrix": (lambda: pt.zeros(pt.lmatrix("n")), ShapeError, "no dimensions"),
    "unknown rank": (lambda: pt.zeros(pt.lvector("n")), ShapeError, "length of n .* not known"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    build, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        build()


def test_fails_at_run_time(evaluate):
    x, n = pt.vector("x"), pt.lscalar("n")
    out = pt.alloc(x, n)
    with pytest.raises(ShapeError, match=r"shape \(1,\) does not broadcast to \(3,\)"):
        evaluate(out, {x: np.ones(1), n: np.array(3)})
    with pytest.raises(ShapeError, match=r"shape \(2,\) does not broadcast to \(3,\)"):
        evaluate(out, {x: np.ones(2), n: np.array(3)})
    with pytest.raises(ShapeError, match="not be negative"):
        evaluate(pt.zeros((n,)), {n: np.array(-3)})


@pytest.mark.parametrize(
    ("static", "shape"),
    [((2, 3), (2, 3)), ((1, 3), (2, 3)), ((1, 1), (4, 2, 3)), ((), (2,)), ((1,), (1,))],
)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_alloc_derivatives(static, shape, dtype, check_derivatives):
    value = np.arange(1.0, 1 + np.prod(static, dtype=int)).reshape(static).astype(dtype)
    check_derivatives(
        lambda x: pt.alloc(pt.specify_shape(x, static), *shape) ** 2, [value], order=2
    )


def test_sizes_are_disconnected():
    out = pt.alloc(pt.dscalar("x"), pt.lscalar("n"))
    assert contract.connection_pattern(out.owner) == [[True], [False]]
    gradients = contract.input_gradients(out.owner, [pt.ones_like(out)])
    assert isinstance(gradients[1].type, DisconnectedType)


def test_gradient_of_an_integer_is_zero(evaluate):
    out = pt.alloc(pt.iscalar("x"), 3)
    gradient, _ = contract.input_gradients(out.owner, [pt.ones_like(out, "float64")])
    assert evaluate(gradient) == 0.0
    assert gradient.dtype == "float64"


def test_constant_folding():
    """An Alloc that will be written to, or returned, is not made a constant."""
    x = pt.constant([1.0, 2.0])
    allocated = pt.alloc(pt.constant(1.0), 2)
    node = allocated.owner

    def folds(*outputs):
        fgraph = FunctionGraph([], list(outputs), clone=False)
        return contract.do_constant_folding(fgraph, node)

    assert folds(allocated + x)
    assert not folds(allocated)
    assert not folds(IncSubtensor((0,))(allocated, pt.constant(1.0)))
    assert folds(IncSubtensor((0,))(x, allocated[0]))
    assert contract.do_constant_folding(None, node)


def test_empty(evaluate):
    n = pt.lscalar("n")
    out = pt.empty((2, n), "int8")
    assert out.type == pt.TensorType("int8", (2, None))
    assert evaluate(out, {n: np.array(3)}, check=False).shape == (2, 3)
    assert not contract.do_constant_folding(None, out.owner)
    assert contract.connection_pattern(out.owner) == [[False], [False]]
    x = pt.tensor("x", shape=(None, 3), dtype="float32")
    assert pt.empty_like(x).type == x.type
    with pytest.raises(ShapeError, match="not be negative"):
        evaluate(out, {n: np.array(-3)}, check=False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
def test_empty_is_always_the_same_when_debugging(dtype):
    op = AllocEmpty(dtype)
    node = op.make_node(3)
    results = []
    for _ in range(2):
        cells = [[None]]
        op.debug_perform(node, [np.array(3)], cells)
        results.append(cells[0][0])
    np.testing.assert_array_equal(*results)
    assert results[0].all()


def test_as_sizes():
    n = pt.bscalar("n")
    assert [size.dtype for size in as_sizes((2, n))] == ["int64", "int64"]
    assert as_sizes(()) == []
    assert [size.data for size in as_sizes(range(2))] == [0, 1]


def test_alloc_is_one_op():
    assert Alloc() == Alloc()
    assert pt.zeros(3).owner.op == Alloc()
