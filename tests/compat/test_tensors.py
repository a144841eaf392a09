"""Functions on tensors with the arguments that they took in the old packages."""

import importlib
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import OpContractError, ShapeError


def value(x, *pairs):
    return x.eval(dict(pairs))


def test_tensors_lose_leading_dimensions_of_size_1(theano):
    T = theano.tensor
    x = T.TensorType("float64", (True, True, False))("x")
    assert T.as_tensor_variable(x, ndim=1).broadcastable == (False,)
    assert T.as_tensor_variable(x, ndim=4).ndim == 4
    with pytest.raises(ShapeError, match="could not be cast to have 0 dimensions"):
        T.as_tensor_variable(x, ndim=0)


def test_only_values_are_cast(theano):
    T = theano.tensor
    assert T.as_tensor_variable([1.0, 2.0], dtype="int64").dtype == "int64"
    assert T.as_tensor_variable(T.dvector(), dtype="int64").dtype == "float64"


def test_shapes_of_arrays_and_of_shapes(aesara):
    at = aesara.tensor
    broadcast_shape = aesara.tensor.extra_ops.broadcast_shape
    x, y = at.dmatrix("x"), at.dvector("y")
    of_shapes = broadcast_shape((5, 1), at.as_tensor([3]), arrays_are_shapes=True)
    assert [int(size.eval()) for size in of_shapes] == [5, 3]
    rows, columns = broadcast_shape(x, y)
    assert value(rows, (x, np.ones((2, 3)))) == 2
    # Without the option, a list is an array.
    assert [int(size.eval()) for size in broadcast_shape([5, 1], [3, 4])] == [2]
    with pytest.raises(ShapeError, match="length of the shape"):
        broadcast_shape(at.lvector(), (3,), arrays_are_shapes=True)
    assert columns.dtype == "int64"


@pytest.mark.parametrize("numbers", [(1, 3), (3, 1), (3, 3), (1, 1), (0, 1), (2, 3)])
def test_lengths_that_are_known_at_run_time_broadcast(aesara, numbers):
    at = aesara.tensor
    broadcast_shape = aesara.tensor.extra_ops.broadcast_shape
    lengths = at.lscalars("i", "j")
    given = [(length, np.array(number)) for length, number in zip(lengths, numbers, strict=True)]
    (length,) = broadcast_shape(*[[one] for one in lengths], arrays_are_shapes=True)
    (fixed,) = broadcast_shape(lengths[:1], [5], arrays_are_shapes=True)
    if numbers == (2, 3):
        with pytest.raises(AssertionError, match="i, j must be 1"):
            value(length, *given)
        with pytest.raises(AssertionError, match="i must be 1, or equal"):
            value(fixed, given[0])
    else:
        assert (value(length, *given),) == np.broadcast_shapes(*[(number,) for number in numbers])
    assert value(fixed, (lengths[0], np.array(1))) == 5


def test_values_that_are_known(theano):
    T = theano.tensor
    known = T.get_scalar_constant_value
    half = T.constant(0.5)
    assert known(half + 1) == 1.5
    assert known(T.constant([1.0, 2.0])[1]) == 2
    assert known(T.second(T.dvector(), half)) == 0.5
    assert known(T.alloc(half, T.lscalar(), 3)) == 0.5
    assert known(T.Assert()(half, half < 1)) == 0.5
    assert known(T.TensorType("float64", (False, True))().shape[1]) == 1
    assert known(theano.scalar.constant(3)) == 3
    for unknown in (
        T.Assert()(half, half > 1),
        T.Assert()(half, T.dscalar() > 1),
        T.dscalar() + 1,
        theano.scalar.int64(),
    ):
        with pytest.raises(OpContractError, match="is not constant"):
            known(unknown)


def test_lengths_that_are_known(theano):
    T = theano.tensor
    n = T.lscalar("n")
    pair = T.as_tensor_variable([1, 2])
    for vector, length in (
        (theano.shared(np.arange(4)), 4),
        (T.join(0, pair, T.as_tensor_variable(n, ndim=1)), 3),
        (T.set_subtensor(pair[n:], 0), 2),
        (T.lvector()[-1:-1:3], 0),
        (T.stack([n, n]), 2),
    ):
        assert T.get_vector_length(vector) == length
    for unknown in (T.lvector(), T.lmatrix(), pair[n:]):
        with pytest.raises(ValueError, match=r"Length of .* not known before run time"):
            T.get_vector_length(unknown)


def test_constants_of_constants(theano):
    one = theano.tensor.constant([1.0])
    assert theano.tensor.constant(one) is one
    assert theano.tensor.constant(1, dtype="int8").dtype == "int8"
    two = theano.tensor.constant(one, ndim=2)
    assert two.broadcastable == (True, True)
    assert theano.tensor.constant(two, ndim=0).data == 1.0
    with pytest.raises(ShapeError):
        theano.tensor.constant(theano.tensor.constant([1.0, 2.0]), ndim=0)


def test_shapes_that_are_shared_are_as_long_as_their_values(aesara):
    at = aesara.tensor
    shape = aesara.shared(np.array([3, 4]))
    i = at.lscalar("i")
    parts = aesara.function([i], at.unravel_index(i, shape))
    assert [int(part) for part in parts(7)] == [1, 3]
    assert at.ravel_multi_index((i, 3), shape).eval({i: 1}) == 7
    with pytest.raises(ShapeError, match="not known"):
        at.unravel_index(i, at.lvector("shape"))


def test_the_type_of_all_objects_is_where_it_was(aesara):
    from aesara.link.c.type import Generic, generic

    assert generic == Generic()
    x = generic("x")
    assert aesara.function([x], x)({}) == {}


def test_sums_of_several_logarithms(aesara):
    at = aesara.tensor
    x = at.dscalar("x")
    found = value(at.logaddexp(x, 1.0, 2.0), (x, 0.5))
    np.testing.assert_allclose(found, np.log(np.exp([0.5, 1.0, 2.0]).sum()))


def test_products_with_all_options(theano):
    T = theano.tensor
    x = T.dmatrix("x")
    numbers = np.array([[2.0, 3.0], [4.0, 5.0]])
    for result in (
        T.prod(x, axis=1, no_zeros_in_input=True),
        T.elemwise.Prod(axis=1, no_zeros_in_input=True)(x),
    ):
        np.testing.assert_array_equal(value(result, (x, numbers)), [6, 20])
    copy = pickle.loads(pickle.dumps(T.elemwise.Prod()))
    assert not copy.no_zeros_in_input
    assert value(copy(x), (x, numbers)) == 120


@pytest.mark.parametrize("axes", [(0, 1), (1, 2), (2, 0)])
@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_diagonals_along_any_axes(theano, offset, axes):
    T = theano.tensor
    x = T.dtensor3("x")
    numbers = np.arange(60.0).reshape(3, 4, 5)
    found = value(T.basic.ExtractDiag(offset, *axes)(x), (x, numbers))
    np.testing.assert_array_equal(found, np.diagonal(numbers, offset, *axes))
    y = T.dmatrix("y")
    rows = np.arange(6.0).reshape(2, 3)
    made = value(T.basic.AllocDiag(offset, *axes)(y), (y, rows))
    np.testing.assert_array_equal(np.diagonal(made, offset, *axes), rows)
    assert made.sum() == rows.sum()
    assert isinstance(T.diag(y).owner.op, T.basic.ExtractDiag)


def test_elements_without_a_mode(theano):
    T = theano.tensor
    assert T.take(T.constant([1.0, 2.0]), 1, mode=None).eval() == 2
    with pytest.raises(phintys.PhintysError):
        T.take(T.constant([1.0, 2.0]), 1, mode="wrong")


def test_values_are_compared_without_a_type(theano):
    T = theano.tensor
    a = np.array([1.0, np.nan])
    assert T.TensorType.values_eq(a, a.copy())
    assert not T.TensorType.values_eq(a, np.ones(2))
    assert not T.TensorType.values_eq(a, a.astype("float32"))
    assert T.TensorType.values_eq_approx(a, a + 1e-12)
    assert T.TensorType.may_share_memory(a, a[:1])
    assert not T.TensorType.may_share_memory(a, 1.0)


def test_small_names_of_the_old_packages(aesara):
    at = aesara.tensor
    x, y, z = at.dvectors("x", "y", "z")
    pairs = ((x, [1.0, 5.0]), (y, [2.0, 3.0]), (z, [3.0, 1.0]))
    np.testing.assert_array_equal(value(at.largest(x, y, z), *pairs), [3, 5])
    np.testing.assert_array_equal(value(at.smallest(x, y, z), *pairs), [1, 1])
    np.testing.assert_allclose(value(at.expit(x), *pairs[:1]), 1 / (1 + np.exp([-1.0, -5.0])))
    assert at.type.integer_dtypes == [*at.type.int_dtypes, *at.type.uint_dtypes]
    assert aesara.as_symbolic(x) is x
    assert aesara.as_symbolic(2.0).ndim == 0
    mode = aesara.compile.mode.get_mode("FAST_RUN")
    assert mode.optimizer is mode.pipeline
    assert mode.linker is mode.backend


def test_small_modules_of_the_old_packages(aesara):
    from aesara.graph.rewriting.utils import is_same_graph
    from aesara.misc.may_share_memory import may_share_memory
    from aesara.sandbox.rng_mrg import MRG_RandomStream
    from aesara.scalar.math import gammainc
    from aesara.tensor.xlogx import xlogx, xlogy0
    from aesara.utils import LOCAL_BITWIDTH, PYTHON_INT_BITWIDTH

    assert {LOCAL_BITWIDTH, PYTHON_INT_BITWIDTH} <= {32, 64}
    x, y = aesara.tensor.dscalars("x", "y")
    assert is_same_graph(x + 1, x + 1)
    assert not is_same_graph(x + 1, y + 1)
    assert is_same_graph(x + 1, y + 1, givens={x: y})
    numbers = np.zeros(3)
    assert may_share_memory(numbers, numbers[1:])
    assert not may_share_memory(numbers, None, raise_other_type=False)
    with pytest.raises(TypeError, match="NoneType"):
        may_share_memory(numbers, None)
    assert value(xlogx(x), (x, 0.0)) == 0
    assert value(xlogy0(x, y), (x, 0.0), (y, 0.0)) == 0
    assert 0 < value(gammainc(x, 1.0), (x, 2.0)) < 1
    assert MRG_RandomStream(1).uniform((2,)).eval().shape == (2,)


@pytest.mark.parametrize(
    ("name", "parameters", "mean"),
    [
        ("random", (), 0.5),
        ("standard_exponential", (), 1.0),
        ("standard_gamma", (2.0,), 2.0),
        ("randint", (0, 11), 5.0),
    ],
)
def test_draws_with_standard_parameters(aesara, name, parameters, mean):
    draw = getattr(aesara.tensor.random.basic, name)(*parameters, size=(4000,))
    np.testing.assert_allclose(draw.eval().mean(), mean, rtol=0.1)


def test_the_largest_elements_by_an_op(aesara):
    sort = importlib.import_module("aesara.tensor.sort")
    x = pt.dmatrix("x")
    values, places = sort.TopKOp(axis=0)(x, 2)
    f = aesara.function([x], [values, places, sort.TopKOp(return_values=False)(x, -1)])
    found = f([[1.0, 5.0], [3.0, 4.0], [2.0, 6.0]])
    assert [one.tolist() for one in found] == [
        [[3.0, 6.0], [2.0, 5.0]],
        [[1, 2], [2, 0]],
        [[0], [0], [0]],
    ]
    assert any(isinstance(node.op, sort.TopKOp) for node in f.maker.fgraph.apply_nodes)
    with pytest.raises(phintys.PhintysError, match="neither was asked for"):
        sort.TopKOp(return_values=False, return_indices=False)


def test_ops_under_their_own_names_are_the_functions(theano):
    T = theano.tensor
    x = T.dmatrix("x")
    numbers = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(
        value(T.basic.join_(0, x, x), (x, numbers)), np.concatenate([numbers, numbers])
    )
    filled = value(T.extra_ops.fill_diagonal_(x, 7.0), (x, numbers))
    np.testing.assert_array_equal(filled, [[7, 2], [3, 7]])
    moved = value(T.extra_ops.fill_diagonal_offset_(x, 7.0, 1), (x, numbers))
    np.testing.assert_array_equal(moved, [[1, 7], [3, 4]])
    found = value(T.subtensor.advanced_boolean_subtensor(x, numbers > 1.5), (x, numbers))
    np.testing.assert_array_equal(found, [2, 3, 4])
    np.testing.assert_allclose(T.extra_ops.bartlett_(5).eval(), np.bartlett(5))
