"""Indexing with integers and slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import DtypeError, IndexingError, OpContractError
from phintys.gradient import grad
from phintys.graph import contract
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.indexing import ARRAY, SCALAR, Slice, Subtensor


@given(data=st.data())
def test_against_numpy(data, draw, draw_basic, evaluate):
    value = draw.array(data)
    x = draw.variable(data, value)
    index = draw_basic(data, value.shape)
    out = x[index.symbolic]
    expected = value[index.numpy]
    found = evaluate(out, {x: value, **index.values})
    assert isinstance(found, np.ndarray)
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, expected)


@given(data=st.data())
def test_is_a_view(data, draw, draw_basic, evaluate):
    value = draw.array(data, ("float64",))
    x = draw.variable(data, value)
    index = draw_basic(data, value.shape)
    found = evaluate(x[index.symbolic], {x: value, **index.values}, check=False)
    assert not found.size or np.shares_memory(found, value)


STATIC = {
    "slice": (np.s_[:3], (3, None)),
    "reversed": (np.s_[::-1], (5, None)),
    "stepped": (np.s_[1::2], (2, None)),
    "beyond": (np.s_[3:10], (2, None)),
    "integer": (np.s_[0], (None,)),
    "unknown": (np.s_[:, 1:3], (5, None)),
    "empty": (np.s_[:, 3:3], (5, 0)),
    "up to 0": (np.s_[:, :0], (5, 0)),
    "unknown reversed": (np.s_[:, ::-1], (5, None)),
    "constant": (np.s_[: pt.constant(2)], (2, None)),
    "symbolic": (np.s_[: pt.lscalar("n")], (None, None)),
    "new": (np.s_[None, 0], (1, None)),
}


@pytest.mark.parametrize("name", STATIC)
def test_static_shape(name):
    index, expected = STATIC[name]
    assert pt.tensor("x", shape=(5, None))[index].type.shape == expected


def test_sizes_bound_slices():
    x, y = pt.tensor("x", shape=(5,)), pt.tensor("y", shape=(3,))
    assert x[: y.shape[0]].type.shape == (3,)


def test_new_dimensions_alone_need_no_subtensor():
    x = pt.matrix("x")
    for index in ((None,), (None, slice(None)), (..., None), (slice(None), None)):
        node = x[index].owner
        assert isinstance(node.op, DimShuffle)
        assert node.inputs == [x]


def test_the_whole_is_an_index_too():
    x = pt.matrix("x")
    for index in (slice(None), ..., ()):
        assert x[index].owner.op == Subtensor(())
    assert str(x[:].owner.op) == "Subtensor{...}"


def test_ints_stand_in_the_op():
    x, i = pt.matrix("x"), pt.lscalar("i")
    node = x[1:i, -2].owner
    assert node.op == Subtensor([Slice(1, SCALAR), -2])
    assert node.inputs == [x, i]
    assert str(node.op) == "Subtensor{1:i, -2}"
    assert x[np.int8(3)].owner.op == x[pt.constant(3)].owner.op == Subtensor([3])


def test_iteration(evaluate):
    x = pt.tensor("x", shape=(2, None))
    value = np.arange(6.0).reshape(2, 3)
    for row, expected in zip(x, value, strict=True):
        np.testing.assert_array_equal(evaluate(row, {x: value}), expected)


def test_fails_at_run_time(evaluate):
    x, i = pt.matrix("x"), pt.lscalar("i")
    value = np.ones((2, 3))
    out = x[:, i]
    message = r"index 3 is out of range for axis 1 of x, which has size 3: .* from -3 to 2"
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=message.replace("index 3", f"index {wrong}")):
            evaluate(out, {x: value, i: np.array(wrong)})
    with pytest.raises(IndexingError, match="which is empty"):
        evaluate(x[0], {x: np.ones((0, 3))})
    with pytest.raises(IndexingError, match="step of a slice of axis 0 is 0"):
        evaluate(x[::i], {x: value, i: np.array(0)})


@pytest.mark.parametrize("index", ["number", "array"])
def test_an_error_names_the_line(index):
    x, i = pt.vector("x"), {"number": pt.lscalar, "array": pt.lvector}[index]("i")
    f = phintys.function([x, i], x[i] * 2)  # this line
    with pytest.raises(IndexError, match="index 7 is out of range for axis 0") as caught:
        f([1.0, 2.0], 7 if index == "number" else [0, 7])
    notes = "\n".join(caught.value.__notes__)
    assert "test_basic.py" in notes
    assert "# this line" in notes


def test_known_to_be_out_of_range():
    x = pt.tensor("x", shape=(3, None))
    for wrong in (3, -4):
        with pytest.raises(IndexingError, match=f"index {wrong} is out of range for axis 0"):
            x[wrong]


WRONG_NODES = {
    "array": (lambda: Subtensor([ARRAY]), OpContractError, "AdvancedSubtensor"),
    "newaxis": (lambda: Subtensor([None]), OpContractError, "DimShuffle"),
    "text": (lambda: Subtensor(["0"]), OpContractError, "not a valid entry"),
    "bool": (lambda: Subtensor([True]), OpContractError, "not a valid entry"),
    "step": (lambda: Subtensor([slice(None, None, 0)]), IndexingError, "cannot be 0"),
    "too few": (lambda: Subtensor([SCALAR])(pt.vector("x")), OpContractError, "takes 1 indices"),
    "float": (lambda: Subtensor([SCALAR])(pt.vector("x"), 0.5), DtypeError, "an integer"),
    "rank": (lambda: Subtensor([0, 0])(pt.vector("x")), IndexingError, "too many indices"),
}


@pytest.mark.parametrize("name", WRONG_NODES)
def test_refuses_nodes(name):
    build, error, message = WRONG_NODES[name]
    with pytest.raises(error, match=message):
        build()


DERIVATIVES = {
    "integer": lambda x: x[1],
    "slice": lambda x: x[1:, ::-2],
    "symbolic": lambda x: x[pt.shape_i(x, 0) - 1, : pt.shape_i(x, 1)],
    "new": lambda x: x[1, None, ..., None],
    "nested": lambda x: x[1:][0][::2],
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(name, dtype, check_derivatives):
    build = DERIVATIVES[name]
    value = np.arange(1.0, 7).reshape(2, 3).astype(dtype)
    check_derivatives(lambda x: build(x) ** 2, [value], order=2)


def test_indices_are_disconnected():
    x, i = pt.vector("x"), pt.lscalar("i")
    assert contract.connection_pattern(x[i:].owner) == [[True], [False]]


def test_differentiable_where_the_index_depends_on_the_array(evaluate):
    x = pt.vector("x")
    value = np.array([1.0, 3.0, 2.0])
    gradient = grad(x[pt.argmax(x)] ** 2, x)
    np.testing.assert_array_equal(evaluate(gradient, {x: value}), [0.0, 6.0, 0.0])


def test_of_integers_the_gradient_is_zero(evaluate):
    x = pt.lvector("x")
    gradient = grad((x[1:] * 1.5).sum(), x)
    assert gradient.dtype == "float64"
    np.testing.assert_array_equal(evaluate(gradient, {x: np.array([1, 2])}), [0.0, 0.0])
