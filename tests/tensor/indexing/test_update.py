"""Setting and incrementing what an index names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import DtypeError, IndexingError, OpContractError, ShapeError
from phintys.gradient import Rop, grad
from phintys.graph import contract
from phintys.tensor.indexing import (
    ARRAY,
    SCALAR,
    AdvancedIncSubtensor,
    IncSubtensor,
    inc_subtensor,
)
from phintys.testing.layouts import lay_out


def _draw_written(data, draw, dtype, part):
    """Draw what is written to a part: of a dtype that fits, and of a shape that broadcasts."""
    fitting = [name for name in draw.ALL if np.can_cast(name, dtype)]
    shape = part.shape[data.draw(st.integers(0, part.ndim)) :]
    shape = tuple(1 if data.draw(st.integers(0, 3)) == 0 else n for n in shape)
    array = draw.array(data, fitting, shape, finite=True)
    static = [n if n == 1 or data.draw(st.booleans()) else None for n in shape]
    return array, pt.tensor("y", shape=static, dtype=array.dtype)


def _reference(value, index, written, sets):
    result = value.copy()
    with np.errstate(all="ignore"):
        if sets:
            result[index] = written
        else:
            np.add.at(result, index, written)
    return result


@pytest.mark.parametrize("kind", ["basic", "advanced", "mask"])
@given(data=st.data())
def test_against_numpy(kind, data, draw, draw_basic, draw_advanced, draw_mask, evaluate):
    draw_index = {"basic": draw_basic, "advanced": draw_advanced, "mask": draw_mask}[kind]
    value = draw.array(data, min_dims=0 if kind == "basic" else 1, finite=True)
    x = draw.variable(data, value)
    index = draw_index(data, value.shape)
    written, y = _draw_written(data, draw, value.dtype, value[index.numpy])
    part = x[index.symbolic]
    for out, sets in ((part.set(y), True), (part.inc(y), False)):
        assert out.type == x.type
        found = evaluate(out, {x: value, y: written, **index.values})
        expected = _reference(value, index.numpy, written, sets)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sets", [True, False])
@given(data=st.data())
def test_in_place(sets, data, draw, draw_basic, draw_advanced, evaluate):
    value = draw.array(data, min_dims=1, finite=True)
    advanced = data.draw(st.booleans())
    index = (draw_advanced if advanced else draw_basic)(data, value.shape)
    x = draw.variable(data, value)
    written, y = _draw_written(data, draw, value.dtype, value[index.numpy])
    out = inc_subtensor(x[index.symbolic], y, inplace=True, set_instead_of_inc=sets)
    assert out.owner.op.destroy_map == {0: [0]}
    expected = _reference(value, index.numpy, written, sets)
    found = evaluate(out, {x: value, y: written, **index.values}, check=False)
    assert found is value
    np.testing.assert_array_equal(found, expected)


def test_what_is_written_may_be_the_array_itself(evaluate):
    x = pt.vector("x")
    value = np.arange(5.0)
    op = IncSubtensor(
        [slice(1, None)], inplace=True, set_instead_of_inc=True, tolerate_aliased=True
    )
    assert op.destroyhandler_tolerate_aliased == [(0, 1)]
    out = op(x, x[:-1])
    np.testing.assert_array_equal(evaluate(out, {x: value}, check=False), [0, 0, 1, 2, 3])


def test_duplicates(evaluate):
    x = pt.vector("x")
    value, y = np.zeros(2), np.array([1.0, 2.0, 4.0])
    part = x[[0, 0, 1]]
    assert evaluate(part.inc(y), {x: value}).tolist() == [3.0, 4.0]
    assert evaluate(part.set(y), {x: value}).tolist() == [2.0, 4.0]
    out = inc_subtensor(part, y, ignore_duplicates=True)
    assert evaluate(out, {x: value}).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("mode", ["reference", "native"])
@pytest.mark.parametrize("layout", ["C", "F", "reversed", "stepped"])
@pytest.mark.parametrize("ignores", [False, True])
def test_the_last_of_several_values_is_that_of_the_last_row_and_column(mode, layout, ignores):
    x, y, i = pt.lvector("x"), pt.lmatrix("y"), pt.lmatrix("i")
    op = AdvancedIncSubtensor([ARRAY], set_instead_of_inc=not ignores, ignore_duplicates=ignores)
    f = phintys.function([x, y, i], op(x, y, i), mode=mode)
    at = np.array([[0, 1, 0], [2, 0, 2]])
    values = np.arange(1, 7).reshape(2, 3)
    assert f(np.zeros(3, int), lay_out(values, layout), lay_out(at, layout)).tolist() == [5, 2, 6]


def test_in_print():
    x = pt.matrix("x")
    assert str(x[1:].set(0).owner.op) == "SetSubtensor{1:}"
    overwriting = inc_subtensor(x[0], 0, inplace=True).owner.op
    assert (str(overwriting), repr(overwriting)) == ("IncSubtensor{0}", "IncSubtensor{inplace; 0}")
    assert str(x[[0]].inc(0).owner.op) == "AdvancedIncSubtensor{array}"
    assert str(x[[0]].set(0).owner.op) == "AdvancedSetSubtensor{array}"


# ---- errors --------------------------------------------------------------------------------------

X, I = pt.tensor("x", shape=(3, None), dtype="float32"), pt.lvector("i")
WRONG_NODES = {
    "dtype": (lambda: X[0].set(pt.dvector("y")), DtypeError, "does not fit into x of dtype"),
    "complex": (lambda: X[[0]].inc(pt.zmatrix("y")), DtypeError, "without loss"),
    "rank": (lambda: X[0].set(pt.fmatrix("y")), ShapeError, "has more dimensions"),
    "size": (lambda: X[:2].set(np.ones((3, 1), "float32")), ShapeError, r"the shape \(2, \?\)"),
    "advanced size": (lambda: X[[0, 1]].set(np.ones((3, 1), "f")), ShapeError, "does not fit"),
    "array": (lambda: IncSubtensor([ARRAY]), OpContractError, "AdvancedSubtensor"),
    "no array": (lambda: AdvancedIncSubtensor([SCALAR]), OpContractError, "for Subtensor"),
    "inputs": (lambda: IncSubtensor([SCALAR])(X, 0), OpContractError, "takes 1 indices"),
    "range": (lambda: IncSubtensor([3])(X, np.int8(0)), IndexingError, "out of range for axis 0"),
}


@pytest.mark.parametrize("name", WRONG_NODES)
def test_refuses_nodes(name):
    build, error, message = WRONG_NODES[name]
    with pytest.raises(error, match=message):
        build()


def test_fails_at_run_time(evaluate):
    x, y, i, j = pt.matrix("x"), pt.vector("y"), pt.lscalar("i"), pt.lvector("j")
    value = np.ones((2, 3))
    with pytest.raises(IndexingError, match="index 2 is out of range for axis 0"):
        evaluate(x[i].set(y), {x: value, i: np.array(2), y: np.ones(3)})
    with pytest.raises(IndexingError, match="index 2 is out of range for axis 0"):
        evaluate(x[j].set(y), {x: value, j: np.array([2]), y: np.ones(3)})
    for part in (x[i], x[j], x[pt.neq(j, 0)]):
        with pytest.raises(ShapeError, match=r"shape \(1,\) does not fit .*\(.*3,?\)"):
            evaluate(part.set(y), {x: value, i: np.array(1), j: np.array([0, 1]), y: np.ones(1)})


# ---- derivatives ---------------------------------------------------------------------------------

A = np.array([0, 1, 1])
PARTS = {
    "slice": (lambda x: x[1:], (1, 3)),
    "broadcast": (lambda x: x[:, ::2], ()),
    "row": (lambda x: x[:], (3,)),
    "integer": (lambda x: x[1, 2], ()),
    "array": (lambda x: x[[1, 0]], (2, 3)),
    "repeated": (lambda x: x[A], (3, 3)),
    "repeated, broadcast": (lambda x: x[A], (3,)),
    "repeated, a number": (lambda x: x[A, A], ()),
    "repeated beside a slice": (lambda x: x[A, 1:], (3, 2)),
    "apart": (lambda x: x[A, None, A], (3, 1)),
    "mask": (lambda x: x[pt.constant(np.array([[True, False, True], [False, True, False]]))], (3,)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("sets", [True, False])
@pytest.mark.parametrize("ignores", [True, False])
def test_derivatives(name, sets, ignores, check_derivatives):
    build, shape = PARTS[name]

    def update(x, y):
        y = pt.specify_shape(y, shape)
        out = inc_subtensor(build(x), y, set_instead_of_inc=sets, ignore_duplicates=ignores)
        return out**2

    rng = np.random.default_rng(0)
    check_derivatives(update, [rng.normal(size=(2, 3)), rng.normal(size=shape)], order=2)


def test_derivatives_of_complex_numbers(check_derivatives):
    values = [np.ones(3), np.array([1 + 1j, 2j])]
    check_derivatives(lambda x, y: (x + 0j)[[0, 0]].set(y) ** 2, values, order=2)
    check_derivatives(lambda x, y: (y[:1] + 0j)[[0, 0]].inc(x[:2]), values)


@pytest.mark.parametrize("sets", [True, False])
def test_one_direction_is_missing(sets, evaluate):
    x, y = pt.vector("x"), pt.scalar("y")
    out = inc_subtensor(x[:1], y, set_instead_of_inc=sets)
    given_values = {x: np.ones(2), y: np.array(3.0)}
    point = pt.constant([5.0, 7.0])
    assert evaluate(Rop(out, x, point), given_values).tolist() == [0.0 if sets else 5.0, 7.0]
    assert evaluate(Rop(out, y, pt.constant(2.0)), given_values).tolist() == [2.0, 0.0]


def test_of_integers(evaluate):
    x, y = pt.lvector("x"), pt.lscalar("y")
    given_values = {x: np.array([1, 2]), y: np.array(3)}
    out = (x[0].set(y) * 1.5).sum()
    for gradient, shape in zip(grad(out, [x, y]), [(2,), ()], strict=True):
        np.testing.assert_array_equal(evaluate(gradient, given_values), np.zeros(shape))
    z = pt.dvector("z")
    out = z[:1].inc(y)
    gradient = grad(out.sum(), y)
    assert evaluate(gradient, {z: np.ones(2), y: np.array(3)}) == 1.0
    tangent = Rop(out, z, pt.constant([1.0, 1.0]))
    assert evaluate(tangent, {z: np.ones(2), y: np.array(3)}).tolist() == [1.0, 1.0]


def test_float32_stays_float32(evaluate):
    x, y = pt.fvector("x"), pt.bscalar("y")
    out = x[[0, 0]].set(y)
    given_values = {x: np.ones(2, "float32"), y: np.array(3, "int8")}
    gradient = grad((out**2).sum(), x)
    assert evaluate(gradient, given_values).dtype == np.float32
    tangent = Rop(out, x, pt.constant(np.ones(2, "float32")))
    assert evaluate(tangent, given_values).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("build", [lambda x, y, i: x[i[0]].set(y), lambda x, y, i: x[i].inc(y)])
def test_indices_are_disconnected(build):
    out = build(pt.vector("x"), pt.scalar("y"), I)
    assert contract.connection_pattern(out.owner) == [[True], [True], [False]]


def test_of_the_op_in_place(evaluate):
    x = pt.vector("x")
    out = inc_subtensor((x * 1)[[0, 0]], pt.constant(2.0), inplace=True, set_instead_of_inc=True)
    gradient = grad((out**2).sum(), x)
    assert all(not node.op.destroy_map for node in _nodes(gradient) if node is not out.owner)
    np.testing.assert_array_equal(
        evaluate(gradient, {x: np.array([1.0, 3.0])}, check=False), [0.0, 6.0]
    )


def _nodes(variable):
    found, stack = set(), [variable.owner]
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found.add(node)
            stack.extend(v.owner for v in node.inputs)
    return found
