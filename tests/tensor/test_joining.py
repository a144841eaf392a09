"""Join, Split, stacking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import DtypeError, OpContractError, ShapeError
from phintys.gradient import Rop, grad
from phintys.graph import contract
from phintys.tensor.joining import Join, Split, stack_nested


def _draw_arrays(data, draw, axis, ndim):
    """Draw arrays that differ only in their size along an axis."""
    shape = data.draw(st.lists(st.integers(0, 3), min_size=ndim, max_size=ndim))
    arrays = []
    for _ in range(data.draw(st.integers(1, 3))):
        own = list(shape)
        own[axis] = data.draw(st.integers(0, 3))
        arrays.append(draw.array(data, shape=tuple(own)))
    return arrays


@given(data=st.data())
def test_concatenate_against_numpy(data, draw, evaluate):
    ndim = data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(-ndim, ndim - 1))
    arrays = _draw_arrays(data, draw, axis, ndim)
    inputs = [draw.variable(data, array) for array in arrays]
    out = pt.concatenate(inputs, axis)
    expected = np.concatenate(arrays, axis)
    with np.errstate(all="ignore"):
        found = evaluate(out, dict(zip(inputs, arrays, strict=True)))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@given(data=st.data())
def test_stack_against_numpy(data, draw, evaluate):
    shape = data.draw(st.lists(st.integers(0, 3), max_size=2))
    arrays = [draw.array(data, shape=tuple(shape)) for _ in range(data.draw(st.integers(1, 3)))]
    inputs = [draw.variable(data, array) for array in arrays]
    axis = data.draw(st.integers(-1 - len(shape), len(shape)))
    found = evaluate(pt.stack(inputs, axis), dict(zip(inputs, arrays, strict=True)))
    expected = np.stack(arrays, axis)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


ROWS = {"hstack": (pt.hstack, np.hstack), "vstack": (pt.vstack, np.vstack)}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shapes", [[(2,), (2,)], [(), ()], [(2, 3), (2, 3)], [(2, 1, 3)] * 2])
def test_rows(name, shapes, evaluate):
    build, reference = ROWS[name]
    arrays = [np.full(shape, float(i)) for i, shape in enumerate(shapes)]
    np.testing.assert_array_equal(
        evaluate(build(list(map(pt.constant, arrays)))), reference(arrays)
    )


@given(data=st.data())
def test_split_against_numpy(data, draw, evaluate):
    value = draw.array(data, min_dims=1)
    x = draw.variable(data, value)
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    size = value.shape[axis]
    cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=3)))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    values = {x: value}
    how = data.draw(st.sampled_from(["ints", "mixed", "vector"]))
    if how == "vector":
        wanted = pt.lvector("sizes")
        values[wanted] = np.array(sizes)
        parts = pt.split(x, wanted, len(sizes), axis)
    else:
        wanted = list(sizes)
        if how == "mixed":
            wanted[0] = pt.lscalar("n")
            values[wanted[0]] = np.array(sizes[0])
        parts = pt.split(x, wanted, axis=axis)
    found = evaluate(parts, values)
    for part, expected in zip(found, np.split(value, cuts, axis), strict=True):
        np.testing.assert_array_equal(part, expected)
        assert not part.size or np.shares_memory(part, value)


@given(data=st.data())
def test_array_split_against_numpy(data, draw, evaluate):
    value = draw.array(data, min_dims=1)
    x = draw.variable(data, value)
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    size = value.shape[axis]
    places = st.lists(st.integers(0, size), max_size=3).map(sorted)
    where = data.draw(st.integers(1, 5) | places)
    found = evaluate(pt.array_split(x, where, axis), {x: value})
    for part, expected in zip(found, np.array_split(value, where, axis), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_static_shapes():
    x, y = pt.tensor("x", shape=(2, None)), pt.tensor("y", shape=(3, 4))
    assert pt.concatenate([x, y]).type.shape == (5, 4)
    assert pt.concatenate([x, x], 1).type.shape == (2, None)
    assert pt.stack([x, x]).type.shape == (2, 2, None)
    a, b = pt.split(pt.vector("v"), [2, pt.lscalar("n")])
    assert (a.type.shape, b.type.shape) == ((2,), (None,))


def test_numbers_among_tensors_are_weak():
    x = pt.fscalar("x")
    assert pt.stack([x, 1.0, 2]).dtype == "float32"
    assert pt.stack([pt.bscalar("i"), 1.5]).dtype == "float64"
    assert pt.stack([1, 2]).dtype == "int64"


def test_scalars_make_a_vector():
    a, b = pt.lscalars("a", "b")
    assert pt.stack([a, b]).owner.op == pt.MakeVector("int64")


def test_one_array_is_returned_itself():
    x = pt.matrix("x")
    assert pt.concatenate([x]) is x
    assert pt.join(0, x, x).owner.op == Join(0)


WRONG = {
    "ranks": (lambda: pt.concatenate([pt.vector(), pt.matrix()]), ShapeError, "equal rank"),
    "scalars": (lambda: pt.concatenate([pt.scalar(), pt.scalar()]), ShapeError, "use pt.stack"),
    "none": (lambda: pt.concatenate([]), ShapeError, "at least one"),
    "a tensor": (lambda: pt.concatenate(pt.matrix("x")), OpContractError, "list or tuple"),
    "sizes": (
        lambda: pt.concatenate([pt.constant([[1, 2]]), pt.constant([[1, 2, 3]])]),
        ShapeError,
        "those in dimension 1 differ",
    ),
    "axis": (lambda: pt.concatenate([pt.vector(), pt.vector()], 1), ShapeError, "out of range"),
    "symbolic axis": (
        lambda: pt.join(pt.dscalar("a"), pt.vector(), pt.vector()),
        DtypeError,
        "axis",
    ),
    "stack ranks": (lambda: pt.stack([pt.vector(), pt.scalar()]), ShapeError, "equal rank"),
    "stack none": (lambda: pt.stack([]), ShapeError, "at least one"),
    "split sum": (lambda: pt.split(pt.constant([1, 2]), [1, 2]), ShapeError, "add up"),
    "split negative": (lambda: pt.split(pt.vector("x"), [-1, 2]), ShapeError, "not be negative"),
    "split floats": (lambda: pt.split(pt.vector("x"), [1.0]), DtypeError, "integer"),
    "split number": (lambda: pt.split(pt.vector("x"), [1], 2), ShapeError, "makes 2 parts"),
    "split unknown": (lambda: pt.split(pt.vector("x"), pt.lvector("s")), ShapeError, "n_splits"),
    "split float vector": (
        lambda: pt.split(pt.vector("x"), pt.dvector("s"), 2),
        DtypeError,
        "vector of integers",
    ),
    "no part": (lambda: Split(0), OpContractError, "from 1 to"),
    "no axis": (lambda: Split(1, 1)(pt.vector("x"), [1]), ShapeError, "no dimension 1"),
    "parts": (lambda: pt.array_split(pt.vector("x"), 0), OpContractError, "from 1 to"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    build, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        build()


def test_fails_at_run_time(evaluate):
    x, y, s = pt.matrix("x"), pt.matrix("y"), pt.lvector("s")
    with pytest.raises(ShapeError, match=r"(?s)dimension 1 differ.*x: shape \(1, 2\)"):
        evaluate(pt.concatenate([x, y]), {x: np.ones((1, 2)), y: np.ones((1, 3))})
    parts = pt.split(x, s, 2)
    for sizes in ([1, 1], [3, -1], [2]):
        with pytest.raises(ShapeError):
            evaluate(parts, {x: np.ones((3, 2)), s: np.array(sizes)})


# ---- derivatives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_join_derivatives(axis, dtype, check_derivatives):
    values = [np.ones((2, 2), dtype), np.arange(4.0).reshape(2, 2)]
    check_derivatives(lambda x, y: pt.concatenate([x, y, x], axis) ** 2, values, order=2)
    check_derivatives(lambda x, y: pt.stack([x, y], axis) ** 2, values)


def test_split_derivatives(check_derivatives):
    value = np.arange(6.0).reshape(2, 3)
    check_derivatives(lambda x: pt.split(x, [1, 2], axis=1)[1] ** 2, [value], order=2)
    check_derivatives(
        lambda x: pt.concatenate([part**2 for part in pt.split(x, [1, 2], axis=1)], 1), [value]
    )


def test_scalars_derivatives(check_derivatives):
    check_derivatives(
        lambda x, y: pt.stack([x, y**2, x * y]), [np.array(1.5), np.array(2.0)], order=2
    )


def test_of_integers_the_gradient_is_zero(evaluate):
    x, y = pt.lvector("x"), pt.lvector("y")
    given_values = {x: np.array([1, 2]), y: np.array([3])}
    joined = pt.concatenate([x, y])
    gradient = grad((joined * 1.5).sum(), x)
    np.testing.assert_array_equal(evaluate(gradient, given_values), [0.0, 0.0])
    mixed = pt.concatenate([x, y * 1.5])
    np.testing.assert_array_equal(evaluate(grad(mixed.sum(), x), given_values), [1.0, 1.0])


def test_missing_directions(evaluate):
    x, y = pt.vectors("x", "y")
    tangent = Rop(pt.concatenate([x, y]), y, pt.constant([5.0]))
    found = evaluate(tangent, {x: np.ones(2), y: np.ones(1)})
    np.testing.assert_array_equal(found, [0.0, 0.0, 5.0])


def test_sizes_of_parts_are_disconnected():
    parts = pt.split(pt.vector("x"), pt.lvector("s"), 2)
    assert contract.connection_pattern(parts[0].owner) == [[True, True], [False, False]]


# ---- nested lists --------------------------------------------------------------------------------


def test_nested_lists(evaluate):
    x, y = pt.dscalars("x", "y")
    values = {x: np.array(1.5), y: np.array(2.5)}
    for build in (pt.stacklists, pt.as_tensor_variable):
        found = evaluate(build([[x, 1], [2.0, y], [np.float64(3), x]]), values)
        np.testing.assert_array_equal(found, [[1.5, 1], [2, 2.5], [3, 1.5]])
    v = pt.vector("v")
    assert pt.as_tensor_variable([v, [1.0, 2.0]]).ndim == 2
    assert pt.as_tensor_variable([v[:2], [1.0, 2.0]]).type.shape == (2, 2)
    assert stack_nested([1, 2]).data.tolist() == [1, 2]
    with pytest.raises(ShapeError):
        pt.as_tensor_variable([v, 1.0])


# ---- along an axis that is known at run time -----------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_a_symbolic_axis(axis):
    i, x, y = pt.iscalar("i"), pt.dmatrix("x"), pt.fmatrix("y")
    z = pt.join(i, x, y, x)
    assert (z.dtype, z.ndim) == ("float64", 2)
    weights = pt.dmatrix("weights")
    gradients = phintys.grad((z * weights).sum(), [x, y])
    f = phintys.function([i, x, y, weights], [z, *gradients])
    values = np.arange(6.0).reshape(2, 3), np.float32([[7, 8, 9], [10, 11, 12]])
    expected = np.concatenate([*values, values[0]], axis)
    w = np.arange(18.0).reshape(expected.shape)
    joined, of_x, of_y = f(axis, *values, w)
    np.testing.assert_array_equal(joined, expected)
    first, second, third = np.split(w, 3, axis)
    np.testing.assert_array_equal(of_x, first + third)
    np.testing.assert_array_equal(of_y, second)


def test_a_symbolic_axis_that_is_known():
    x = pt.dmatrix("x")
    axis = pt.constant([0, 1])[1] + 0
    assert isinstance(pt.concatenate([x, x], axis).owner.op, pt.Join)


def test_wrong_symbolic_axes():
    i, x, c = pt.lscalar("i"), pt.dmatrix("x"), pt.col("c", dtype="float64")
    with pytest.raises(TypeError, match="An axis is an integer without dimensions"):
        pt.join(pt.dscalar("a"), x, x)
    with pytest.raises(ShapeError, match="arrays of equal rank"):
        pt.join(i, x, pt.dvector("v"))
    f = phintys.function([i, x, c], pt.join(i, x, c))
    wide, tall = np.ones((2, 3)), np.ones((2, 1))
    assert f(1, wide, tall).shape == (2, 4)
    with pytest.raises(AssertionError, match="beside the axis must be equal"):
        f(0, wide, tall)
    with pytest.raises(AssertionError, match="out of range for arrays of rank 2"):
        f(2, wide, tall)
    with pytest.raises(ShapeError, match="does not fit"):
        phintys.function([i, x], pt.join(i, x, x[:, :2]))(0, wide)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_splitting_along_a_symbolic_axis(axis):
    i, x, sizes = pt.iscalar("i"), pt.dmatrix("x"), pt.lvector("sizes")
    values = np.arange(9.0).reshape(3, 3)
    for amounts, parts in (([0, 2, 1], 3), (sizes, 3), ([3], 1)):
        found = pt.split(x, amounts, parts, axis=i)
        cost = sum(((number + 1) * part**2).sum() for number, part in enumerate(found))
        f = phintys.function([i, x, sizes], [*found, grad(cost, x)], on_unused_input="ignore")
        *got, slope = f(axis, values, [0, 2, 1])
        expected = np.split(values, [0, 2] if parts == 3 else [], axis)
        factors = np.repeat([2, 3] if parts == 3 else [1], [2, 1] if parts == 3 else [3])
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_array_equal(one, other)
        along = factors[:, None] if axis in {0, -2} else factors
        np.testing.assert_array_equal(slope, 2 * along * values)


def test_wrong_splits_along_symbolic_axes():
    i, x, sizes = pt.lscalar("i"), pt.dmatrix("x"), pt.lvector("sizes")
    with pytest.raises(TypeError, match="An axis is an integer without dimensions"):
        pt.split(x, [1, 2], axis=pt.dscalar("a"))
    with pytest.raises(TypeError, match="a vector of integers"):
        pt.split(x, pt.dvector("s"), 2, axis=i)
    with pytest.raises(ShapeError, match="2 sizes for 3 parts"):
        pt.split(x, [1, 2], 3, axis=i)
    with pytest.raises(ShapeError, match="no dimension"):
        pt.split(pt.dscalar("s"), [1], axis=i)
    f = phintys.function([i, x, sizes], pt.split(x, sizes, 2, axis=i))
    wide = np.ones((2, 3))
    assert [part.shape for part in f(1, wide, [1, 2])] == [(2, 1), (2, 2)]
    for axis, amounts in ((0, [1, 2]), (1, [4, -1]), (1, [1, 2, 0]), (1, [3])):
        with pytest.raises((AssertionError, IndexError), match=r"2 sizes are needed|out of"):
            f(axis, wide, amounts)
    with pytest.raises(AssertionError, match="out of range for arrays of rank 2"):
        f(2, wide, [1, 2])


def test_a_symbolic_axis_that_is_known_splits_as_a_number():
    parts = pt.split(pt.dmatrix("x"), [1, 2], axis=pt.constant([0, 1])[1] + 0)
    assert isinstance(parts[0].owner.op, Split)
