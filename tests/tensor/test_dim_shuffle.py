"""DimShuffle, and the functions said in terms of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import OpContractError, ShapeError
from phintys.gradient import grad
from phintys.graph import contract
from phintys.tensor.dim_shuffle import DimShuffle, normalize_axes, normalize_axis

X = np.arange(6.0).reshape(2, 3)


# ---- the op --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "order", "result"),
    [
        ((None, 3), (1, 0), (3, None)),
        ((2,), ("x", 0, "x"), (1, 2, 1)),
        ((1, None), (1,), (None,)),
        ((None, None), (1,), (None,)),  # its size is checked at run time
        ((), ("x",), (1,)),
        ((1, 1), (), ()),
        ((2, None, 1), (1, "x", 0), (None, 1, 2)),
    ],
)
def test_static_shapes(shape, order, result):
    x = pt.tensor("x", shape=shape)
    assert DimShuffle(len(shape), order)(x).type.shape == result


@pytest.mark.parametrize(
    ("order", "text"),
    [
        ((1, 0), "Transpose{1,0}"),
        ((0, "x", 1), "ExpandDims{0,x,1}"),
        ((1, "x", 0), "DimShuffle{1,x,0}"),
    ],
)
def test_names(order, text):
    assert str(DimShuffle(2, order)) == text


@pytest.mark.parametrize("order", [(0, 2), (-1, 0), (0.5, 1), ("y", 0, 1), (None, 0, 1)])
def test_no_such_dimension(order):
    with pytest.raises(OpContractError, match=r"is not a dimension of an array of rank 2"):
        DimShuffle(2, order)


def test_a_dimension_named_twice():
    with pytest.raises(OpContractError, match=r"names a dimension twice"):
        DimShuffle(2, (0, 0))


def test_the_rank_must_be_right():
    with pytest.raises(ShapeError, match=r"takes an array of rank 2, got v of type Vector"):
        DimShuffle(2, (1, 0))(pt.dvector("v"))


def test_only_ones_can_be_dropped():
    with pytest.raises(ShapeError, match=r"drops dimension 0 of x, whose size is 2"):
        DimShuffle(2, (1,))(pt.tensor("x", shape=(2, 3)))
    op = DimShuffle(2, (1,))
    node = op.make_node(pt.dmatrix("x"))
    with pytest.raises(ShapeError, match=r"drops dimension 0 .* size is 2, of shape \(2, 3\)"):
        op.perform(node, [X], [[None]])


def test_the_result_is_a_view():
    op = DimShuffle(2, (1, "x", 0))
    assert op.view_map == {0: [0]}
    cells = [[None]]
    op.perform(op.make_node(pt.dmatrix()), [X], cells)
    assert np.shares_memory(cells[0][0], X)
    assert cells[0][0].shape == (3, 1, 2)
    locked = X.copy()
    locked.flags.writeable = False
    op.perform(op.make_node(pt.dmatrix()), [locked], cells)
    assert not cells[0][0].flags.writeable


def test_rank_0_stays_an_array():
    op = DimShuffle(1, ())
    cells = [[None]]
    op.perform(op.make_node(pt.dvector()), [np.ones(1)], cells)
    assert type(cells[0][0]) is np.ndarray
    assert cells[0][0].shape == ()


def test_equality_and_facts():
    op = DimShuffle(3, (2, "x", 0))
    assert op == DimShuffle(3, [2, "x", 0])
    assert hash(op) == hash(DimShuffle(3, [2, "x", 0]))
    assert op != DimShuffle(4, (2, "x", 0))
    assert (op.shuffle, op.augment, op.drop) == ([2, 0], [1], [1])


def test_infer_shape():
    node = DimShuffle(2, (1, "x", 0)).make_node(pt.dmatrix())
    rows, columns = pt.lscalars("r", "c")
    ((first, one, last),) = contract.infer_shape(None, node, [(rows, columns)])
    assert (first, last) == (columns, rows)
    assert one.data == 1


def test_the_gradient_goes_back(evaluate):
    x = pt.tensor("x", shape=(1, None), dtype="float64")
    weights = np.arange(3.0)
    cost = pt.sum(DimShuffle(2, (1, "x"))(x)[:, 0] * weights)
    np.testing.assert_array_equal(evaluate(grad(cost, x), {x: X[:1]}), weights[None])


# ---- the function --------------------------------------------------------------------------------


def test_ways_to_give_a_pattern():
    x = pt.dtensor3("x")
    assert x.dimshuffle(2, "x", 0, 1).owner.op == x.dimshuffle([2, "x", 0, 1]).owner.op
    assert x.dimshuffle(-1, 0, 1).owner.op.new_order == (2, 0, 1)
    assert x.dimshuffle((2, 1, 0)).owner.op is pt.transpose(x).owner.op


def test_nothing_to_do():
    x = pt.dmatrix("x")
    assert x.dimshuffle(0, 1) is x
    assert pt.transpose(pt.dvector("v")).owner is None
    assert pt.moveaxis(x, 0, 0) is x
    assert pt.swapaxes(x, 1, -1) is x
    assert pt.squeeze(x) is x


def test_squeeze_drops_what_is_known_to_be_one(evaluate):
    x = pt.tensor("x", shape=(1, None, 1), dtype="float64")
    assert pt.squeeze(x).type.shape == (None,)
    assert pt.squeeze(x, 0).type.shape == (None, 1)
    assert pt.squeeze(x, (-1, 0)).type.shape == (None,)
    with pytest.raises(ShapeError, match="whose size is 2"):
        pt.squeeze(pt.tensor("y", shape=(2,)), 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: pt.transpose(x, (0,)), ShapeError, r"x has 2 dimensions, got the order \(0,\)"),
        (lambda x: pt.transpose(x, (0, 0)), OpContractError, "names a dimension twice"),
        (lambda x: pt.swapaxes(x, 0, 2), ShapeError, "Axis 2 is out of range .* rank 2"),
        (lambda x: pt.moveaxis(x, (0, 1), 0), ShapeError, "2 sources and 1 destinations"),
        (lambda x: pt.moveaxis(x, (0, 0), (0, 1)), ShapeError, "named twice"),
        (lambda x: pt.moveaxis(x, (0, 1), (0, -2)), ShapeError, "named twice"),
        (lambda x: pt.expand_dims(x, (0, 0)), ShapeError, "named twice"),
        (lambda x: pt.expand_dims(x, 4), ShapeError, "Axis 4 is out of range .* rank 3"),
        (lambda x: pt.squeeze(x, (0, -2)), ShapeError, "named twice"),
        (lambda x: x.dimshuffle(3), ShapeError, "Axis 3 is out of range"),
        (lambda x: x.dimshuffle("y", 0), OpContractError, "An axis is an int, got 'y'"),
    ],
)
def test_wrong_axes(call, error, message):
    with pytest.raises(error, match=message):
        call(pt.dmatrix("x"))


@given(st.data())
def test_axes(data):
    ndim = data.draw(st.integers(1, 4))
    axis = data.draw(st.integers(-ndim, ndim - 1))
    for spelled in (axis, np.int8(axis), np.array(axis), pt.constant(axis)):
        assert normalize_axis(spelled, ndim) == axis % ndim
    some = data.draw(st.lists(st.integers(0, ndim - 1), unique=True))
    for spelled in (some, tuple(some), np.array(some, int)):
        assert normalize_axes(spelled, ndim) == tuple(sorted(some))
    assert normalize_axes(None, ndim) == tuple(range(ndim))
    assert normalize_axes(axis, ndim) == (axis % ndim,)


@pytest.mark.parametrize("axis", ["0", 1.0, None, pt.lscalar("i"), [0]])
def test_no_axes(axis):
    with pytest.raises(OpContractError, match="An axis is an int, got"):
        normalize_axis(axis, 2)
