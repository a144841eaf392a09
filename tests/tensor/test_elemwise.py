"""Elemwise: operands, literals, shapes, work in place, storage, errors."""

import gc
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import DtypeError, OpContractError, OutOfBoundsError, ShapeError
from phintys.gradient import Rop, grad
from phintys.graph import contract
from phintys.tensor.elemwise import _CACHE_OF_OTHERS, Elemwise, elemwise, pad_rank
from phintys.tensor.inplace import neg_inplace
from phintys.tensor.type import DTYPES
from phintys.testing.strategies import arrays, broadcastable

X = np.array([[1.0, -2.0, 3.0], [0.5, 0.25, -4.0]])


def run(variable, *values, former=None):
    """Carry out the node of a variable, with something in its storage cell."""
    cells = [[former]]
    variable.owner.op.perform(variable.owner, list(values), cells)
    return cells[0][0]


# ---- what is remembered --------------------------------------------------------------------------


def test_output_types_are_remembered_in_tables_of_bounded_size():
    shuffled = pt.dvector("v").dimshuffle("x", 0).owner.op
    for length in range(20_000, 22_000):
        x = pt.tensor("x", shape=(length,), dtype="float32")
        assert pt.exp(x).type.shape == (length,)
        assert shuffled(x).type.shape == (1, length)
    assert len(pt.exp._output_types) <= 512
    assert len(shuffled._output_types) <= 512


def test_elementwise_ops_of_composites_do_not_stay():
    def of_number(number):
        x = ps.float64("x")
        return ps.Composite([x], [x * float(number)])

    kept = elemwise(of_number(0))
    for number in range(300):
        elemwise(of_number(number))
    gc.collect()
    assert len(_CACHE_OF_OTHERS) <= 10
    assert elemwise(of_number(0)) is kept
    assert elemwise(ps.exp) is pt.exp


# ---- operands and literals -----------------------------------------------------------------------


@pytest.mark.parametrize("literal", [2, 1.5, -1, 0, 0.0, True, False, 1j])
@pytest.mark.parametrize("dtype", DTYPES)
def test_literals_are_weak_as_in_numpy(literal, dtype):
    x = pt.tensor("x", shape=(None,), dtype=dtype)
    try:
        expected = np.ones(1, dtype) + (np.bool_(literal) if type(literal) is bool else literal)
    except OverflowError:
        with pytest.raises(OutOfBoundsError):
            x + literal
        return
    assert (x + literal).dtype == (literal + x).dtype == expected.dtype


def test_a_literal_that_does_not_fit():
    x = pt.bvector("x")
    for _ in range(2):  # also when it was remembered
        with pytest.raises(OutOfBoundsError, match="300"):
            x + 300
    assert (x + 100).dtype == "int8"


@pytest.mark.parametrize("literal", [0.0, -0.0, math.nan, math.inf, -math.inf, 1, 1.0, True])
def test_literals_keep_their_bits(literal):
    x = pt.dvector("x")
    for _ in range(2):
        for other in (0.0, -0.0, 0, 1, 1.0, True, False):
            _ = x + other
        (_, held) = (x + literal).owner.inputs
        assert held.data.dtype == ("bool" if type(literal) is bool else "float64")
        assert np.signbit(float(held.data.item())) == np.signbit(float(literal))
        np.testing.assert_array_equal(held.data.ravel(), [literal])


def test_literals_follow_floatx_where_nothing_else_says_a_dtype():
    i = pt.lvector("i")
    assert (i + 1.5).dtype == "float64"
    with phintys.config.change_flags(floatX="float32"):
        assert (i + 1.5).dtype == "float64"  # NumPy's rule for int64 and a Python float
        assert pt.exp(1.5).dtype == "float32"
    assert pt.exp(1.5).dtype == "float64"


def test_many_literals():
    x = pt.dvector("x")
    for number in range(2000):
        assert (x * number).owner.inputs[1].data == number


def test_constants_of_literals_are_separate_variables():
    x = pt.dvector("x")
    first, second = (x * 3.0).owner.inputs[1], (x * 3.0).owner.inputs[1]
    assert first is not second
    assert first.signature() == second.signature()


def test_ranks_are_made_equal_by_ones_in_front(evaluate):
    s, v, m = pt.dscalar("s"), pt.dvector("v"), pt.dmatrix("m")
    out = pt.add(s, v, m)
    assert out.type.shape == (None, None)
    assert {x.ndim for x in out.owner.inputs} == {2}
    given_ = {s: np.array(1.0), v: np.arange(3.0), m: X}
    np.testing.assert_array_equal(evaluate(out, given_), 1 + np.arange(3.0) + X)


def test_padding():
    v = pt.dvector("v")
    assert pad_rank(v, 3).type.shape == (1, 1, None)
    made = pad_rank(pt.constant([1, 2], name="c"), 2)
    assert isinstance(made, pt.TensorConstant)
    assert (made.type.shape, made.name) == ((1, 2), "c")


def test_the_number_of_operands():
    with pytest.raises(OpContractError, match=r"Sub takes 2 operands, got 3"):
        pt.sub(1.0, 2.0, 3.0)
    with pytest.raises(OpContractError, match="Exp takes 1 operand, got 0"):
        pt.exp()
    with pytest.raises(OpContractError, match="Add takes one or more operands, got 0"):
        pt.add()
    assert pt.add(pt.dvector()).type == pt.dvector


def test_dtypes_that_an_op_does_not_take():
    with pytest.raises(DtypeError, match="takes bools, integers"):
        pt.bitwise_and(pt.dvector(), 1)


def test_elemwise_of_what_is_no_scalar_op():
    with pytest.raises(OpContractError, match="Elemwise takes a scalar op, got"):
        Elemwise(np.exp)


# ---- static shapes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [
        ((None,), (None,), (None,)),
        ((3,), (None,), (3,)),
        ((1,), (None,), (None,)),
        ((1,), (4,), (4,)),
        ((1,), (1,), (1,)),
        ((None, 1), (2,), (None, 2)),
        ((), (5, None), (5, None)),
        ((0,), (1,), (0,)),
        ((0,), (None,), (0,)),
    ],
)
def test_static_shapes(first, second, result):
    x, y = pt.tensor("x", shape=first), pt.tensor("y", shape=second)
    assert (x + y).type.shape == (y + x).type.shape == result


def test_static_shapes_that_do_not_fit():
    x, y = pt.tensor("x", shape=(2, 3)), pt.tensor("y", shape=(4,))
    given = r"x: shape \(2, 3\)\n  y\[None, :\]: shape \(1, 4\)\n"
    with pytest.raises(ShapeError, match=rf"Mul: .*\n  {given}.* dimension 1 must be equal"):
        x * y


@given(st.data())
def test_shapes_as_in_numpy(data):
    first, second = broadcastable(2)(data.draw)
    x, y = (
        pt.tensor(shape=[1 if n == 1 else None for n in shape], dtype="float64")
        for shape in (first, second)
    )
    out = x + y
    inputs = [np.ones(v.type.ndim * (1,)) for v in out.owner.inputs]
    for array, shape, position in ((first, first, 0), (second, second, 1)):
        inputs[position] = np.ones((1,) * (out.ndim - len(shape)) + tuple(array))
    assert run(out, *inputs).shape == np.broadcast_shapes(first, second)


# ---- run-time shapes -----------------------------------------------------------------------------


def test_a_mismatch_at_run_time_names_op_shapes_line_and_remedy():
    x, y = pt.dmatrix("x"), pt.dvector("y")
    out = x + y  # the line that is named
    f = phintys.function([x, y], out, mode="reference")
    with pytest.raises(ShapeError, match="Add: the operands do not fit together") as caught:
        f(X, np.zeros(2))
    text = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "x: shape (2, 3)" in text
    assert "shape (1, 2)" in text
    assert "The sizes in dimension 1 must be equal" in text
    assert "write y[:, None]" in text
    assert "out = x + y  # the line that is named" in text


@pytest.mark.parametrize("mode", ["reference", "native"])
@pytest.mark.parametrize(
    ("make", "value", "remedy"),
    [
        (
            lambda: phintys.shared(np.ones((2, 1)), name="w"),
            None,
            "make w with shared(value, shape=(None, 1)).",
        ),
        (
            lambda: phintys.shared([1.0], name="w"),
            None,
            "make w with shared(value, shape=(1,)).",
        ),
        (
            lambda: pt.dmatrix("w"),
            np.ones((2, 1)),
            "make w with pt.tensor('w', shape=(None, 1), dtype='float64').",
        ),
        (
            lambda: pt.exp(phintys.shared(np.ones((2, 1)))),
            None,
            "write pt.specify_broadcastable(y, 1) for the operand y = ",
        ),
    ],
)
def test_a_mismatch_with_a_size_of_1_says_how_to_make_it_broadcast(make, value, remedy, mode):
    w, x = make(), pt.dmatrix("x")
    f = phintys.function([x] if value is None else [x, w], x * w, mode=mode)
    with pytest.raises(ShapeError) as caught:
        f(*([X] if value is None else [X, value]))
    assert remedy in str(caught.value)
    assert "in dimension 1" in str(caught.value)


def test_a_size_of_1_broadcasts_only_if_that_is_known():
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], x + y, mode="reference")
    with pytest.raises(ShapeError, match="broadcasts only if its size is known to be 1"):
        f(np.zeros(1), np.zeros(3))
    known = pt.tensor("x", shape=(1,), dtype="float64")
    g = phintys.function([known, y], known + y, mode="reference")
    assert g(np.zeros(1), np.zeros(3)).shape == (3,)
    assert g(np.zeros(1), np.zeros(0)).shape == (0,)


def test_sizes_0_and_1_do_not_broadcast_by_chance():
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], x + y, mode="reference")
    with pytest.raises(ShapeError):
        f(np.zeros(1), np.zeros(0))


# ---- computing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["exp", "neg", "isnan", "sigmoid", "softplus", "conj", "identity"])
def test_results_are_arrays_of_their_own(name):
    op = elemwise(getattr(ps, name))
    for shape in ((), (3,), (0,), (2, 1)):
        value = np.ones(shape)
        x = pt.tensor("x", shape=(None,) * len(shape), dtype="float64")
        result = run(op(x), value)
        assert type(result) is np.ndarray
        assert result.shape == shape
        assert not np.shares_memory(result, value)


@pytest.mark.parametrize("op", [pt.add, pt.maximum, pt.switch, pt.second, pt.hypot])
def test_results_do_not_share_memory_when_operands_broadcast(op):
    row, matrix = pt.drow("r"), pt.dmatrix("m")
    operands = (matrix, row, matrix) if op is pt.switch else (matrix, row)
    values = [np.ones((1, 3)) if x is row else X for x in operands]
    result = run(op(*operands), *values)
    assert result.shape == X.shape
    assert result.flags.writeable
    assert not any(np.shares_memory(result, value) for value in values)


def test_storage_is_reused_where_it_fits():
    out = pt.exp(pt.dmatrix("x"))
    former = np.empty(X.shape)
    assert run(out, X, former=former) is former
    np.testing.assert_array_equal(former, np.exp(X))
    for other in (np.empty(3), np.empty((3, 2)), np.empty(X.shape, "float32")):
        assert run(out, X, former=other) is not other
    locked = np.empty(X.shape)
    locked.flags.writeable = False
    assert run(out, X, former=locked) is not locked


@given(arrays(("float32", "float64")), st.sampled_from(["isnan", "isinf", "isfinite", "signbit"]))
def test_storage_with_strides(array, name):
    """NumPy's loops for these ignore the strides of what they write to."""
    op = elemwise(getattr(ps, name))
    x = pt.tensor("x", shape=(None,) * array.ndim, dtype=array.dtype)
    expected = getattr(np, name)(array)
    former = np.flip(np.empty(array.shape[::-1], bool)).T
    np.testing.assert_array_equal(run(op(x), array, former=former), expected)


def test_strides_of_long_storage():
    values = np.tile([1.0, -1.0, np.nan, np.inf], 16)
    for name in ("isnan", "isinf", "isfinite", "signbit"):
        former = np.ones(128, bool)[::2]
        found = run(elemwise(getattr(ps, name))(pt.dvector()), values, former=former)
        np.testing.assert_array_equal(found, getattr(np, name)(values))


def test_several_outputs():
    x, y = ps.float64("x"), ps.float64("y")
    op = Elemwise(ps.Composite([x, y], [x + y, x * y]))
    total, product = op(pt.dvector("a"), pt.dvector("b"))
    cells = [[None], [np.empty(2)]]
    kept = cells[1][0]
    total.owner.op.perform(total.owner, [np.array([1.0, 2.0]), np.array([3.0, 4.0])], cells)
    np.testing.assert_array_equal(cells[0][0], [4, 6])
    np.testing.assert_array_equal(cells[1][0], [3, 8])
    assert cells[1][0] is kept
    assert product.index == 1


# ---- in place ------------------------------------------------------------------------------------


def test_work_in_place():
    op = Elemwise(ps.add, {0: 1})
    assert op.destroy_map == {0: [1]}
    x, y = X.copy(), X.copy()
    result = run(op(pt.dmatrix("x"), pt.dmatrix("y")), x, y)
    assert result is y
    np.testing.assert_array_equal(y, 2 * X)
    np.testing.assert_array_equal(x, X)
    assert repr(op) == "Add{inplace 0->1}"
    assert str(op) == "Add"  # what messages say


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("step", [2, 4, 8, -4, -8])
def test_work_in_place_on_what_is_not_contiguous(dtype, step):
    """NumPy's own np.negative(x, out=x) leaves elements out here, in some of its versions."""
    buffer = np.arange(5 * abs(step), dtype=dtype)
    value = buffer[::step]
    expected = value.copy() * -1
    x = pt.vector(dtype=dtype)
    node = neg_inplace(x).owner
    storage = [[None]]
    node.op.perform(node, [value], storage)
    assert storage[0][0] is value
    np.testing.assert_array_equal(value, expected)


def test_in_place_on_more_terms_than_two():
    op = Elemwise(ps.add, {0: 2})
    values = [X.copy(), X.copy(), X.copy()]
    result = run(op(*[pt.dmatrix() for _ in values]), *values)
    assert result is values[2]
    np.testing.assert_array_equal(result, 3 * X)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        (lambda: (pt.fmatrix("x"), pt.dmatrix("y")), r"x: it is of dtype float32 and the result"),
        (lambda: (pt.drow("x"), pt.dmatrix("y")), r"x: it broadcasts in dimension 0"),
        (lambda: (pt.lmatrix("x"), pt.dmatrix("y")), r"of dtype int64 and the result of float64"),
    ],
)
def test_what_cannot_work_in_place(operands, message):
    with pytest.raises(OpContractError, match=message):
        Elemwise(ps.add, {0: 0})(*operands())


# ---- the op as a value ---------------------------------------------------------------------------


def test_equality():
    assert Elemwise(ps.add) == Elemwise(ps.add) == pt.add
    assert hash(Elemwise(ps.add)) == hash(pt.add)
    assert Elemwise(ps.add) != Elemwise(ps.mul)
    assert Elemwise(ps.add, {0: 0}) != Elemwise(ps.add)
    assert Elemwise(ps.add, {0: 0}) != Elemwise(ps.add, {0: 1})
    assert elemwise(ps.exp) is pt.exp


def test_pickling(evaluate):
    for op in (pt.exp, Elemwise(ps.add, {0: 0}), Elemwise(ps.tanh, name="squash")):
        op(*[pt.dvector()] * max(op.scalar_op.nin, 1))  # fills the caches
        again = pickle.loads(pickle.dumps(op))
        assert again == op
        assert hash(again) == hash(op)
        assert str(again) == str(op)
        assert again.destroy_map == op.destroy_map
    x = pt.dmatrix("x")
    out = pickle.loads(pickle.dumps(pt.exp))(x)
    np.testing.assert_array_equal(evaluate(out, {x: X}), np.exp(X))


def test_names():
    assert str(pt.exp) == "Exp"
    assert str(Elemwise(ps.tanh, name="squash")) == "squash"
    assert pt.exp(pt.dvector(), name="y").name == "y"


def test_flops():
    assert pt.add.flops([(2, 3), (2, 3)], [(2, 3)]) == 6
    assert pt.exp.flops([(2, 3)], [(2, 3)]) == 6 * ps.exp.cost


def test_lists_of_outputs():
    (out,) = pt.exp(pt.dvector(), return_list=True)
    assert out.type == pt.dvector


# ---- lifting -------------------------------------------------------------------------------------


def test_scalar_ops_on_tensors(evaluate):
    x = pt.dmatrix("x")
    out = ps.exp(x)
    assert out.owner.op is pt.exp
    assert ps.add(x, 1).owner.op is pt.add
    assert ps.add(ps.float64("s"), x).type == pt.dmatrix
    np.testing.assert_array_equal(evaluate(out, {x: X}), np.exp(X))


def test_scalar_ops_on_arrays():
    s = ps.float64("s")
    for out in (s + np.arange(3.0), np.arange(3.0) + s, ps.add(s, np.arange(3.0))):
        assert out.type == pt.TensorType("float64", (3,))
    f = phintys.function([s], s * np.arange(3.0), mode="reference")
    np.testing.assert_array_equal(f(2.0), [0, 2, 4])
    assert isinstance((s + np.array(1.0)).type, ps.ScalarType)


# ---- derivatives ---------------------------------------------------------------------------------


def test_gradients_are_summed_over_what_was_broadcast(evaluate):
    row, matrix, number = pt.drow("r"), pt.dmatrix("m"), pt.dscalar("s")
    cost = pt.sum(row * matrix * number)
    values = {row: X[:1], matrix: X, number: np.array(2.0)}
    of_row, of_matrix, of_number = evaluate(grad(cost, [row, matrix, number]), values)
    np.testing.assert_allclose(of_row, 2 * X.sum(axis=0, keepdims=True))
    np.testing.assert_allclose(of_matrix, 2 * np.broadcast_to(X[:1], X.shape))
    np.testing.assert_allclose(of_number, (X[:1] * X).sum())


def test_directions_are_broadcast_to_the_result(evaluate):
    row, matrix = pt.drow("r"), pt.dmatrix("m")
    tangent = Rop(row + matrix, row, pt.constant(np.ones((1, 3))))
    assert evaluate(tangent, {row: X[:1], matrix: X}).shape == (2, 3)


def test_connection_pattern_is_the_scalar_ops():
    assert not contract.defines(pt.exp.scalar_op, "connection_pattern")
    x, y = ps.float64("x"), ps.float64("y")
    op = Elemwise(ps.Composite([x, y], [ps.exp(x)]))
    node = op.make_node(pt.dvector(), pt.dvector())
    assert contract.connection_pattern(node) == [[True], [False]]


def test_infer_shape_takes_what_is_known():
    x, y = pt.tensor("x", shape=(None, 1)), pt.tensor("y", shape=(1, 4))
    node = (x + y).owner
    rows = pt.lscalar("rows")
    ((first, second),) = contract.infer_shape(None, node, [(rows, 1), (1, 4)])
    assert first is rows
    assert second.data == 4
