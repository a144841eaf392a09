"""Indexing with arrays of integers and of bools."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import DtypeError, IndexingError, OpContractError, ShapeError
from phintys.gradient import grad
from phintys.graph import contract
from phintys.tensor.indexing import ARRAY, NEWAXIS, SCALAR, AdvancedSubtensor, Mask
from phintys.tensor.indexing.advanced import may_repeat


@given(data=st.data())
def test_against_numpy(data, draw, draw_advanced, evaluate):
    value = draw.array(data, min_dims=1)
    x = draw.variable(data, value)
    index = draw_advanced(data, value.shape)
    found = evaluate(x[index.symbolic], {x: value, **index.values})
    expected = value[index.numpy]
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, expected)


@given(data=st.data())
def test_masks_against_numpy(data, draw, draw_mask, evaluate):
    value = draw.array(data, min_dims=1)
    x = draw.variable(data, value)
    index = draw_mask(data, value.shape)
    found = evaluate(x[index.symbolic], {x: value, **index.values})
    np.testing.assert_array_equal(found, value[index.numpy])


A = np.array([0, 1, 1])
M = np.array([True, False, True])
PLACES = {
    "neighbours": np.s_[:, A, A],
    "apart": np.s_[A, :, A],
    "apart by an ellipsis": np.s_[A, ..., A],
    "apart by an ellipsis that stands for nothing": np.s_[:, A, ..., A],
    "apart by a new dimension": np.s_[:, A, None, A],
    "integer beside an array": np.s_[:, 0, A],
    "integer apart from an array": np.s_[0, :, A],
    "after new dimensions": np.s_[None, None, A],
    "before new dimensions": np.s_[A, None],
    "ellipsis in front": np.s_[..., A, A],
    "ellipsis in front that stands for nothing": np.s_[..., A, A, A],
    "mask": np.s_[M],
    "mask apart from an array": np.s_[M, :, np.array([1, 1])],
    "true": np.s_[True],
    "false": np.s_[False],
    "true beside an array": np.s_[A, True],
    "broadcast": np.s_[A[:, None], A[None]],
    "empty list": np.s_[[]],
    "list of lists": np.s_[[[0], [1]]],
    "range": np.s_[range(2)],
    "tuple": np.s_[(0, 1), :],
}


@pytest.mark.parametrize("name", PLACES)
def test_where_the_dimensions_go(name, evaluate):
    value = np.arange(3 * 4 * 5.0).reshape(3, 4, 5)
    x = pt.tensor3("x")
    np.testing.assert_array_equal(evaluate(x[PLACES[name]], {x: value}), value[PLACES[name]])


STATIC = {
    "vector": (lambda: np.s_[pt.tensor("i", shape=(7,), dtype="int8")], (7, 4, None)),
    "matrix": (lambda: np.s_[:, pt.lmatrix("i")], (3, None, None, None)),
    "constant mask": (lambda: np.s_[M], (2, 4, None)),
    "mask": (lambda: np.s_[pt.vector("m", dtype="bool")], (None, 4, None)),
    "mask of two": (lambda: np.s_[pt.matrix("m", dtype="bool")], (None, None)),
    "slice": (lambda: np.s_[A, 1:], (3, 3, None)),
    "apart": (lambda: np.s_[A, ::2, A], (3, 2)),
}


@pytest.mark.parametrize("name", STATIC)
def test_static_shape(name):
    index, expected = STATIC[name]
    assert pt.tensor("x", shape=(3, 4, None))[index()].type.shape == expected


def test_in_print():
    x, i = pt.tensor3("x"), pt.lscalar("i")
    assert str(x[1:i, None, A].owner.op) == "AdvancedSubtensor{1:i, newaxis, array}"
    assert str(x[x > 0].owner.op) == "AdvancedSubtensor{mask}"


def test_fails_at_run_time(evaluate):
    x, i, m = pt.matrix("x"), pt.lvector("i"), pt.vector("m", dtype="bool")
    value = np.ones((2, 3))
    with pytest.raises(IndexingError, match="index 3 is out of range for axis 1 of x") as caught:
        evaluate(x[:, i], {x: value, i: np.array([0, 3, 1])})
    assert "It is element [1] of the index array." in caught.value.__notes__
    with pytest.raises(IndexingError, match="index -3 is out of range for axis 0 of x"):
        evaluate(x[i], {x: value, i: np.array([-3])})
    with pytest.raises(IndexingError, match=r"mask of shape \(3,\) covers .* sizes \(2,\)"):
        evaluate(x[m], {x: value, m: np.array([True, False, True])})
    for change in (lambda at: at, lambda at: pt.set_subtensor(at, 0)):
        # NumPy takes a mask of nothing for any axis.
        with pytest.raises(IndexingError, match=r"mask of shape \(0,\) covers .* sizes \(2,\)"):
            evaluate(change(x[m]), {x: value, m: np.array([], bool)})
    j = pt.lvector("j")
    with pytest.raises(ShapeError, match="index arrays, of shapes"):
        evaluate(x[i, j], {x: value, i: np.array([0, 1]), j: np.array([0, 1, 2])})
    with pytest.raises(ShapeError, match="known to be 1"):
        evaluate(x[i, j], {x: value, i: np.array([0, 1]), j: np.array([0])})


def test_known_to_be_wrong():
    x = pt.tensor("x", shape=(3, 4))
    with pytest.raises(IndexingError, match="out of range for axis 0"):
        x[3, A]
    with pytest.raises(IndexingError, match="mask of shape"):
        x[np.array([True, False])]
    with pytest.raises(ShapeError, match="do not fit together"):
        x[A, np.array([0, 1])]


WRONG_NODES = {
    "no array": (lambda: AdvancedSubtensor([0]), OpContractError, "for Subtensor"),
    "too few": (lambda: AdvancedSubtensor([ARRAY])(pt.vector()), OpContractError, "takes 1"),
    "floats": (lambda: AdvancedSubtensor([ARRAY])(pt.vector(), [0.5]), DtypeError, "of integers"),
    "no mask": (lambda: AdvancedSubtensor([Mask(1)])(pt.vector(), [0]), DtypeError, "of bools"),
    "mask rank": (
        lambda: AdvancedSubtensor([Mask(2)])(pt.matrix(), [True]),
        DtypeError,
        "bools with 2 dimensions",
    ),
    "scalar": (
        lambda: AdvancedSubtensor([ARRAY, SCALAR])(pt.matrix(), [0], [0]),
        DtypeError,
        "without dimensions",
    ),
    "rank": (
        lambda: AdvancedSubtensor([NEWAXIS, ARRAY, 0])(pt.vector(), [0]),
        IndexingError,
        "too many",
    ),
}


@pytest.mark.parametrize("name", WRONG_NODES)
def test_refuses_nodes(name):
    build, error, message = WRONG_NODES[name]
    with pytest.raises(error, match=message):
        build()


# ---- derivatives ---------------------------------------------------------------------------------

DERIVATIVES = {
    "repeated": lambda x: x[[0, 0, 1]],
    "apart": lambda x: x[A, :, A],
    "mixed": lambda x: x[None, A, ::-1, 0],
    "broadcast": lambda x: x[A[:, None], [[0, 1]]],
    "mask": lambda x: x[pt.constant(np.arange(8).reshape(2, 2, 2) % 3 == 0)],
    "mask of one": lambda x: x[:, pt.constant(np.array([False, True]))],
    "nonzero": lambda x: x[(pt.real(x) > 3.5).nonzero()],
    "range": lambda x: x[pt.arange(2), pt.arange(2)],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives(name, dtype, check_derivatives):
    build = DERIVATIVES[name]
    value = np.arange(1.0, 9).reshape(2, 2, 2).astype(dtype)
    check_derivatives(lambda x: build(x) ** 2, [value], order=2)


def test_indices_are_disconnected():
    x, i = pt.vector("x"), pt.lvector("i")
    assert contract.connection_pattern(x[i].owner) == [[True], [False]]


def test_of_integers_the_gradient_is_zero(evaluate):
    x = pt.lvector("x")
    gradient = grad((x[[0, 0]] * 1.5).sum(), x)
    np.testing.assert_array_equal(evaluate(gradient, {x: np.array([1, 2])}), [0.0, 0.0])


# ---- whether an index may name an element twice --------------------------------------------------

X3 = pt.tensor3("x")
ONCE = {
    "mask": lambda: X3[X3 > 0],
    "constant": lambda: X3[[2, 0, 1]],
    "from the end": lambda: X3[[-1, -3]],
    "range": lambda: X3[pt.arange(3)],
    "range in a column": lambda: X3[pt.arange(3)[:, None], :, [[0]]],
    "one of two": lambda: X3[pt.arange(3), [0, 0, 0]],
    "nonzero": lambda: X3[X3.nonzero()],
    "one element": lambda: X3[pt.tensor("i", shape=(1,), dtype="int64")],
}
TWICE = {
    "unknown": lambda: X3[pt.lvector("i")],
    "repeated": lambda: X3[[0, 0]],
    "from both ends": lambda: X3[[0, -1]],
    "range from below 0": lambda: X3[pt.arange(-1, 2)],
    "broadcast": lambda: X3[pt.arange(3)[:, None], [[0, 0]]],
    "some of nonzero": lambda: X3[X3.nonzero()[0]],
    "mask and array": lambda: X3[pt.tensor("m", shape=(1,), dtype="bool"), [0]],
}


@pytest.mark.parametrize("name", [*ONCE, *TWICE])
def test_may_repeat(name):
    node = (ONCE | TWICE)[name]().owner
    assert may_repeat(node.op.idx_list, node.inputs[1:]) == (name in TWICE)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_steps_of_a_loop_that_became_one_index_can_be_told(mode):
    x, i = pt.dmatrix("x"), pt.lvector("i")
    rows, _ = phintys.scan(lambda at, x: x[at].sum(), sequences=[i], non_sequences=[x])
    f = phintys.function([x, i], rows, mode=mode)
    with pytest.raises(IndexingError, match="index 99 is out of range") as caught:
        f(np.ones((3, 3)), np.where(np.arange(20) == 9, 99, 0))
    notes = "\n".join(caught.value.__notes__)
    assert "It is element [9] of the index array." in notes or "In step 9 of" in notes
