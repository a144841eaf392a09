"""Shape, Shape_i and SpecifyShape."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError, TypeContractError
from phintys.gradient import grad
from phintys.graph import contract
from phintys.graph.null_type import DisconnectedType
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape, vector_elements


@given(data=st.data())
def test_against_numpy(data, draw, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    given_values = {x: value}
    shape = evaluate(pt.shape(x), given_values)
    assert shape.dtype == np.int64
    assert tuple(shape) == value.shape
    assert evaluate(pt.size(x), given_values) == value.size
    sizes = pt.shape_tuple(x)
    assert tuple(int(n) for n in evaluate(list(sizes), given_values)) == value.shape
    for dim in range(-value.ndim, value.ndim):
        assert evaluate(pt.shape_i(x, dim), given_values) == value.shape[dim]


def test_what_is_known_is_a_constant():
    x = pt.tensor("x", shape=(None, 3))
    first, second = pt.shape_tuple(x)
    assert isinstance(first.owner.op, ShapeI)
    assert second.data == 3
    assert pt.size(pt.tensor("y", shape=(2, 3))).data == 6
    assert pt.size(pt.scalar("y")).data == 1
    assert str(first.owner.op) == "Shape_i{0}"


@pytest.mark.parametrize("op", [Shape(), ShapeI(0)])
def test_shape_is_disconnected_from_the_elements(op):
    x = pt.vector("x")
    out = op(x)
    assert contract.connection_pattern(out.owner) == [[False]]
    (gradient,) = contract.input_gradients(out.owner, [pt.zeros_like(out, "float64")])
    assert isinstance(gradient.type, DisconnectedType)
    assert contract.push_forward(out.owner, [x]) == [None]


def test_shape_refuses():
    with pytest.raises(ShapeError, match="no dimension 2"):
        ShapeI(2)(pt.matrix("x"))
    with pytest.raises(ShapeError, match="out of range"):
        pt.shape_i(pt.matrix("x"), 2)
    with pytest.raises(TypeContractError):
        pt.shape("text")


def test_vector_elements():
    x = pt.tensor("x", shape=(None, 3))
    assert isinstance(vector_elements(x.shape)[0].owner.op, ShapeI)
    assert [v.data for v in vector_elements(pt.constant([4, 5]))] == [4, 5]
    a, b = pt.lscalars("a", "b")
    assert vector_elements(pt.make_vector(a, b)) == [a, b]
    assert len(vector_elements(pt.tensor("v", dtype="int64", shape=(2,)))) == 2
    with pytest.raises(ShapeError, match="not known"):
        vector_elements(pt.lvector("v"))


# ---- SpecifyShape --------------------------------------------------------------------------------


@given(data=st.data())
def test_specify_shape_holds(data, draw, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    stated, given_values, expected = [], {x: value}, []
    for dim, size in enumerate(value.shape):
        how = data.draw(st.sampled_from(["nothing", "int", "symbolic"]))
        n = pt.lscalar("n")
        stated.append({"nothing": None, "int": size, "symbolic": n}[how])
        given_values[n] = np.array(size)
        expected.append(size if how == "int" else x.type.shape[dim])
    out = pt.specify_shape(x, stated)
    assert out.type.shape == tuple(expected)
    np.testing.assert_array_equal(evaluate(out, given_values), value)


def test_specify_shape_accepts_vectors():
    x = pt.matrix("x")
    assert pt.specify_shape(x, pt.constant([2, 3])).type.shape == (2, 3)
    assert pt.specify_shape(x, np.array([2, 3])).type.shape == (2, 3)
    y = pt.tensor("y", shape=(2, None))
    assert pt.specify_shape(x, y.shape).type.shape == (2, None)
    assert pt.specify_shape(pt.vector("v"), 3).type.shape == (3,)


def test_specify_shape_that_says_nothing_new_is_the_variable():
    x = pt.tensor("x", shape=(None, 3))
    assert pt.specify_shape(x, (None, 3)) is x


def test_specify_shape_fails_when_it_is_wrong(evaluate):
    x, n = pt.matrix("x"), pt.lscalar("n")
    value = np.ones((2, 3))
    for stated, extra in (((None, 4), {}), ((n, None), {n: np.array(5)})):
        out = pt.specify_shape(x, stated)
        with pytest.raises(ShapeError, match=r"must be of size \d, but the shape is \(2, 3\)"):
            evaluate(out, {x: value, **extra})


@pytest.mark.parametrize(
    ("stated", "error", "message"),
    [
        ((2,), ShapeError, "2 dimensions, got 1 sizes"),
        ((None, 4), ShapeError, "must be of size 4"),
        ((-1, None), ShapeError, "must be of size -1"),
        ((2.0, None), DtypeError, "integer"),
        ((pt.dscalar("n"), None), DtypeError, "integer"),
        (pt.lvector("v"), ShapeError, "needs 2 entries"),
    ],
)
def test_specify_shape_refuses(stated, error, message):
    with pytest.raises(error, match=message):
        pt.specify_shape(pt.tensor("x", shape=(None, 3)), stated)


def test_specify_shape_takes_as_many_sizes_as_it_checks():
    with pytest.raises(ShapeError, match="takes an array of rank 1 and 1 sizes"):
        SpecifyShape((True,))(pt.vector("x"))


def test_specify_shape_derivatives(check_derivatives):
    check_derivatives(lambda x: pt.specify_shape(x**2, (2, None)), [np.ones((2, 3))], order=2)


def test_sizes_stated_have_no_gradient():
    x, n = pt.vector("x"), pt.lscalar("n")
    out = pt.specify_shape(x, (n,))
    assert contract.connection_pattern(out.owner) == [[True], [False]]
    assert grad(out.sum(), n, disconnected_inputs="ignore").ndim == 0


def test_specify_broadcastable(evaluate):
    x = pt.matrix("x")
    out = pt.specify_broadcastable(x, -1)
    assert out.type.shape == (None, 1)
    value = np.ones((3, 1))
    sums = evaluate(out + pt.constant(np.zeros((3, 4))), {x: value})
    assert sums.shape == (3, 4)
    with pytest.raises(ShapeError):
        evaluate(out, {x: np.ones((3, 2))})


# ---- conversion of types -------------------------------------------------------------------------


def test_filter_variable_states_what_the_type_knows(evaluate):
    wanted = pt.TensorType("float64", (3, None))
    x = pt.tensor("x", shape=(None, 4))
    out = wanted.filter_variable(x)
    assert out.type.shape == (3, 4)
    with pytest.raises(ShapeError):
        evaluate(out, {x: np.ones((2, 4))})
    y = pt.tensor("y", shape=(3, 4))
    assert wanted.filter_variable(y) is y


@pytest.mark.parametrize(
    "x",
    [
        pt.tensor("x", shape=(2, None)),
        pt.tensor("x", shape=(3,)),
        pt.tensor("x", shape=(3, None), dtype="float32"),
    ],
)
def test_filter_variable_refuses_what_cannot_be(x):
    with pytest.raises(TypeContractError, match="Cannot use"):
        pt.TensorType("float64", (3, None)).filter_variable(x)
    assert pt.TensorType("float64", (3, None)).convert_variable(x) is None
