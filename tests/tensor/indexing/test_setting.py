"""set_subtensor and inc_subtensor as users call them, and take."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import DtypeError, IndexingError, OpContractError, ShapeError

VALUE = np.arange(24.0).reshape(2, 3, 4)

# Each pair: a part of a symbolic array; the same as a view into an array of NumPy.
CHAINS = {
    "transposed": (lambda x: x[1:].dimshuffle(2, 0, 1), lambda a: a[1:].transpose(2, 0, 1)),
    "new dimension": (lambda x: x[0, None], lambda a: a[0, None]),
    "new dimensions alone": (lambda x: x[None, :, None], lambda a: a[None, :, None]),
    "dropped": (lambda x: x[:1].dimshuffle(1, 2), lambda a: a[0]),
    "reshaped": (lambda x: x[0].reshape((2, 6)), lambda a: a[0].reshape(2, 6)),
    "flat": (lambda x: x[0].flatten(), lambda a: a[0].reshape(-1)),
    "specified": (lambda x: pt.specify_shape(x[0], (3, 4)), lambda a: a[0]),
    "several": (lambda x: x[0].T.reshape((3, 4)).T, None),
    "the whole": (lambda x: x[:], lambda a: a[:]),
    "a part of a part": (lambda x: x[1][1:], None),
}


@pytest.mark.parametrize("name", [name for name, (_, view) in CHAINS.items() if view])
@given(data=st.data())
def test_through_views(name, data, evaluate):
    build, view = CHAINS[name]
    expected = VALUE.copy()
    place = view(expected)
    shape = place.shape[data.draw(st.integers(0, place.ndim)) :]
    shape = tuple(1 if data.draw(st.booleans()) else n for n in shape)
    y = np.arange(np.prod(shape, dtype=int)).reshape(shape) + 100.0
    sets = data.draw(st.booleans())
    x = data.draw(st.sampled_from([pt.tensor3("x"), pt.tensor("x", shape=(2, 3, 4))]))
    part = build(x)
    found = evaluate(part.set(y) if sets else part.inc(y), {x: VALUE})
    place[...] = y if sets else place + y
    np.testing.assert_array_equal(found, expected)


def test_through_several_reorderings(evaluate):
    x = pt.tensor3("x")
    y = np.arange(12.0).reshape(4, 3) + 100
    found = evaluate(CHAINS["several"][0](x).set(y), {x: VALUE})
    part = evaluate(CHAINS["several"][0](x), {x: found})
    np.testing.assert_array_equal(part, y)
    np.testing.assert_array_equal(found[1], VALUE[1])


PARTS_OF_PARTS = {
    "a part": lambda x: x[1:],
    "the whole": lambda x: x[:],
    "everything": lambda x: x[...],
    "a new dimension": lambda x: x[None],
    "new dimensions": lambda x: x[:, None, ..., None],
}


@pytest.mark.parametrize("name", PARTS_OF_PARTS)
@pytest.mark.parametrize("array", [lambda x: x[1], lambda x: x[[2, 0]][0], lambda x: x[1].T])
def test_of_a_part_the_part_is_returned(name, array, evaluate):
    x = pt.tensor("x", dtype="float64", shape=(3, 4, 4))
    value = np.arange(48.0).reshape(3, 4, 4)
    found = evaluate(PARTS_OF_PARTS[name](array(x)).set(0), {x: value})
    expected = array(value).copy()
    PARTS_OF_PARTS[name](expected)[...] = 0
    np.testing.assert_array_equal(found, expected)


def test_functions_and_methods_are_the_same(evaluate):
    x = pt.tensor3("x")
    for a, b in (
        (pt.set_subtensor(x[0], 1), x[0].set(1)),
        (pt.inc_subtensor(x[0], 1), x[0].inc(1)),
        (pt.inc_subtensor(x[0], 1, set_instead_of_inc=True), x[0].set(1)),
    ):
        assert a.owner.op == b.owner.op
        np.testing.assert_array_equal(evaluate(a, {x: VALUE}), evaluate(b, {x: VALUE}))


NUMBERS = {
    "int into float": (1, "float32"),
    "float into float": (1.5, "float32"),
    "bool into int": (True, "int8"),
    "complex into complex": (1j, "complex64"),
    "list": ([1, 2.5], "float32"),
    "tuple": ((1, 2), "int8"),
    "empty": ([], "int8"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_take_the_dtype_of_the_array(name, evaluate):
    y, dtype = NUMBERS[name]
    value = np.zeros(2, dtype)
    x = pt.vector("x", dtype=dtype)
    part = x[:0] if y == [] else x[:]
    found = evaluate(part.set(y), {x: value})
    if y != []:
        value[:] = y
    assert found.dtype == value.dtype
    np.testing.assert_array_equal(found, value)


X = pt.tensor("x", shape=(3, None), dtype="int8")
WRONG = {
    "float into int": (lambda: X[0].set(1.5), DtypeError, "1.5 does not fit into .* int8"),
    "complex into int": (lambda: X[0].set(1j), DtypeError, "without loss"),
    "text": (lambda: X[0].set("1"), DtypeError, "without loss"),
    "too large": (lambda: X[0].set(300), OverflowError, "300"),
    "numpy": (lambda: X[0].set(np.int64(3)), DtypeError, "without loss"),
    "leaf": (lambda: X.set(0), OpContractError, r"write .*|Write set_subtensor\(x\[index\], y\)"),
    "result": (lambda: pt.inc_subtensor(X + 1, 0), OpContractError, "the result of Add"),
    "transposed": (lambda: X.T.set(0), OpContractError, r"for all of x, x\[:\]"),
    "number": (lambda: pt.set_subtensor(3, 0), OpContractError, "got 3"),
    "rank": (lambda: X[0, None].set(pt.tensor3("y", dtype="int8")), ShapeError, "more dimensions"),
    "new dimension": (lambda: X[None].set(np.ones((2, 3, 1), "int8")), ShapeError, "size is 2"),
    "item": (lambda: X.__setitem__(0, 0), TypeError, r"x\[index\].set\(value\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    build, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        build()


def test_derivatives_through_views(check_derivatives):
    values = [np.arange(6.0).reshape(2, 3), np.array([[1.0, 2.0]])]
    check_derivatives(lambda x, y: x[:, 1:].T.set(y) ** 2, [values[0], values[1].repeat(2, 0)])
    check_derivatives(lambda x, y: x.flatten()[:2].inc(y[0]) ** 2, values)
    check_derivatives(lambda x, y: x[0].reshape((3, 1)).inc(y[0, 0]) ** 2, values)


# ---- take ----------------------------------------------------------------------------------------


@given(data=st.data())
def test_take_against_numpy(data, draw, evaluate):
    value = draw.array(data, min_side=1)
    x = draw.variable(data, value)
    axis = data.draw(st.none() | st.integers(-value.ndim, value.ndim - 1)) if value.ndim else None
    size = value.size if axis is None else value.shape[axis]
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip", None]))
    within = st.integers(-size, size - 1) if mode in {"raise", None} else st.integers(-9, 9)
    shape = data.draw(st.sampled_from([(), (3,), (0,), (2, 2)]))
    count = int(np.prod(shape, dtype=int))
    numbers = data.draw(st.lists(within, min_size=count, max_size=count))
    indices = np.array(numbers, "int64").reshape(shape)
    if data.draw(st.booleans()):
        given_indices = pt.tensor("i", shape=(None,) * indices.ndim, dtype="int64")
    else:
        given_indices = indices.tolist()
    found = evaluate(
        pt.take(x, given_indices, axis, mode),
        {x: value, given_indices: indices}
        if isinstance(given_indices, pt.TensorVariable)
        else {x: value},
    )
    np.testing.assert_array_equal(found, np.take(value, indices, axis, mode=mode or "raise"))


def test_take_refuses(evaluate):
    x = pt.vector("x")
    with pytest.raises(OpContractError, match="raise, wrap, clip"):
        pt.take(x, 0, mode="fill")
    with pytest.raises(DtypeError, match="integers"):
        pt.take(x, [0.5])
    with pytest.raises(DtypeError, match="integers"):
        pt.take(x, [True])
    with pytest.raises(ShapeError, match="out of range"):
        pt.take(x, [0], axis=1)
    with pytest.raises(IndexingError, match="index 5"):
        evaluate(pt.take(x, [5]), {x: np.ones(3)})
    with pytest.raises(IndexingError, match="which is empty"):
        evaluate(pt.take(x, [5], mode="wrap"), {x: np.ones(0)})


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_derivatives(mode, check_derivatives):
    value = np.arange(6.0).reshape(2, 3)
    check_derivatives(lambda x: x.take([0, 2, 2], axis=1, mode=mode) ** 2, [value], order=2)
