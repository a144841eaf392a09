"""Jacobians, Hessians, and the loop over rows that makes them."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import RowLoop
from phintys.gradient import (
    DisconnectedInputError,
    GradientError,
    Rop,
    grad,
    hessian,
    hessian_vector_product,
    jacobian,
)
from phintys.graph import Apply, Op, Type, applys_between


class Python(Op):
    """Doubles a vector, in Python."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs, output_grads):
        return [Python()(output_grads[0])]


def numeric_jacobian(f, at, step=1e-6):
    """Return the derivatives of ``f`` at ``at`` by central differences, any ranks."""
    at = np.array(at, dtype=float)
    columns = []
    for index in np.ndindex(at.shape):
        ahead, behind = at.copy(), at.copy()
        ahead[index] += step
        behind[index] -= step
        columns.append((f(ahead) - f(behind)) / (2 * step))
    shape = np.shape(f(at)) + at.shape
    return np.stack(columns, axis=-1).reshape(shape) if columns else np.zeros(shape)


@pytest.mark.parametrize("out_ndim", [0, 1, 2, 3])
@pytest.mark.parametrize("in_ndim", [0, 1, 2])
def test_every_rank(out_ndim, in_ndim):
    rng = np.random.default_rng(5)
    x = pt.tensor("x", dtype="float64", shape=(None,) * in_ndim)
    at = rng.normal(size=(3, 2)[:in_ndim])
    weights = rng.normal(size=(2, 3, 4)[:out_ndim] + at.shape)

    def f(value):
        return np.sin((weights * value).sum(axis=tuple(range(out_ndim, weights.ndim))))

    y = pt.sin((weights * x).sum(axis=tuple(range(out_ndim, weights.ndim))))
    found = jacobian(y, x)
    assert found.type.ndim == out_ndim + in_ndim
    np.testing.assert_allclose(found.eval({x: at}), numeric_jacobian(f, at), atol=1e-8)


def test_sizes_are_only_known_at_run_time():
    x = pt.dvector("x")
    f = phintys.function([x], jacobian(pt.cumsum(x**2), x))
    for n in (3, 0, 1, 5):
        at = np.arange(float(n))
        np.testing.assert_allclose(f(at), np.tril(np.broadcast_to(2 * at, (n, n))))


def test_no_rows_and_no_columns():
    x = pt.dmatrix("x")
    f = phintys.function([x], jacobian(x.sum(axis=1), x))
    assert f(np.zeros((0, 3))).shape == (0, 0, 3)
    assert f(np.zeros((2, 0))).shape == (2, 2, 0)


def test_several_variables():
    x, y = pt.dvectors("x", "y")
    at = {x: [1.0, 2.0], y: [3.0, 4.0]}
    to_x, to_y = jacobian(x * y, [x, y])
    np.testing.assert_allclose(to_x.eval(at), np.diag(at[y]))
    np.testing.assert_allclose(to_y.eval(at), np.diag(at[x]))
    one, other = jacobian(x * y, [x, y], vectorize=False)
    assert one.owner is other.owner, "one loop computes the rows of both"
    assert set(jacobian(x * y, {"x": x, "y": y})) == {"x", "y"}


def test_static_sizes_stay_known():
    x = pt.tensor("x", dtype="float64", shape=(3,))
    assert jacobian(x**2, x).type.shape == (3, 3)


def test_float32():
    x = pt.fvector("x")
    assert jacobian(x**2, x).eval({x: [1, 2]}).dtype == "float32"


def test_integers():
    n = pt.lvector("n")
    found = jacobian(n * 0.5, n)
    assert found.eval({n: [1, 2]}).tolist() == [[0.5, 0.0], [0.0, 0.5]]


def test_disconnected():
    x, y = pt.dvectors("x", "y")
    with pytest.raises(DisconnectedInputError, match="not part of the graph"):
        jacobian(x * 2, y)
    zeros = jacobian(x * 2, y, disconnected_inputs="ignore")
    assert zeros.eval({x: [1.0, 2.0], y: [0.0] * 3}).tolist() == [[0.0] * 3] * 2


def test_consider_constant():
    x = pt.dvector("x")
    y = x**2
    found = jacobian(x * y, x, consider_constant=[y])
    np.testing.assert_allclose(found.eval({x: [2.0, 3.0]}), np.diag([4.0, 9.0]))


@pytest.mark.parametrize(
    ("expression", "error", "words"),
    [
        (lambda x: x.astype("int64"), GradientError, "a real floating dtype"),
        (lambda x: x.astype("complex128"), GradientError, "a real floating dtype"),
        (lambda x: 3.0, TypeError, "must be a symbolic variable"),
        (lambda x: Type()("thing"), GradientError, "must be a tensor"),
    ],
)
def test_refusals(expression, error, words):
    x = pt.dvector("x")
    with pytest.raises(error, match=words):
        jacobian(expression(x), x)
    with pytest.raises(error, match=r"tensor|symbolic"):
        jacobian(x, 3.0 if error is TypeError else Type()("thing"))


class TestHessian:
    @staticmethod
    def cost(x):
        return (pt.exp(x) * x[::-1]).sum() + pt.prod(pt.sin(x))

    @staticmethod
    def values(x):
        return (np.exp(x) * x[::-1]).sum() + np.prod(np.sin(x))

    def expected(self, at):
        return numeric_jacobian(
            lambda x: numeric_jacobian(self.values, x, step=1e-4), at, step=1e-4
        )

    def test_a_vector(self):
        x = pt.dvector("x")
        at = np.array([0.3, -0.5, 1.1])
        found = hessian(self.cost(x), x).eval({x: at})
        np.testing.assert_allclose(found, self.expected(at), atol=1e-6)
        np.testing.assert_allclose(found, found.T)

    def test_a_matrix(self):
        x = pt.dmatrix("x")
        at = np.array([[1.0, 2.0], [3.0, 4.0]])
        found = hessian((x**3).sum(), x).eval({x: at})
        expected = np.zeros((2, 2, 2, 2))
        for i, j in np.ndindex(2, 2):
            expected[i, j, i, j] = 6 * at[i, j]
        np.testing.assert_allclose(found, expected)

    def test_several(self):
        x, y = pt.dvectors("x", "y")
        of_x, of_y = hessian((x**2 * y**3).sum(), [x, y])
        at = {x: [2.0], y: [3.0]}
        assert of_x.eval(at).tolist() == [[54.0]]
        assert of_y.eval(at).tolist() == [[72.0]]

    def test_a_linear_cost(self):
        x = pt.dvector("x")
        assert hessian((3 * x).sum(), x).eval({x: [1.0, 2.0]}).tolist() == [[0.0, 0.0]] * 2

    def test_disconnected(self):
        x, y = pt.dvectors("x", "y")
        with pytest.raises(DisconnectedInputError):
            hessian((x**2).sum(), y)
        zeros = hessian((x**2).sum(), y, disconnected_inputs="ignore")
        assert zeros.eval({x: [1.0, 2.0], y: [1.0]}).tolist() == [[0.0]]

    def test_products_with_vectors(self):
        x, p = pt.dvectors("x", "p")
        at, along = np.array([0.3, -0.5, 1.1]), np.array([1.0, 2.0, -1.0])
        product = hessian_vector_product(self.cost(x), x, p).eval({x: at, p: along})
        full = hessian(self.cost(x), x).eval({x: at})
        np.testing.assert_allclose(product, full @ along)
        forward = Rop(grad(self.cost(x), x), x, p).eval({x: at, p: along})
        np.testing.assert_allclose(forward, product)

    def test_products_over_several_variables(self):
        x, y, p, q = pt.dscalars("x", "y", "p", "q")
        of_x, of_y = hessian_vector_product(x**2 * y, [x, y], [p, q])
        at = {x: 2.0, y: 3.0, p: 10.0, q: 100.0}
        assert float(of_x.eval(at)) == 2 * 3 * 10 + 2 * 2 * 100
        assert float(of_y.eval(at)) == 2 * 2 * 10

    def test_a_vector_that_does_not_fit(self):
        x = pt.dvector("x")
        with pytest.raises(GradientError, match="rank and shape"):
            hessian_vector_product((x**2).sum(), x, pt.dmatrix("p"))


def _loops(variable):
    return [n for n in applys_between([], [variable]) if isinstance(n.op, RowLoop)]


def test_rows_are_computed_at_once_or_one_by_one_as_is_cheaper():
    x, w = pt.dvector("x"), pt.dmatrix("w")
    y = pt.tanh(w @ x)
    assert not _loops(jacobian(y, x))
    assert not _loops(hessian((y**2).sum(), x))
    assert _loops(jacobian(y, x, vectorize=False))
    large = pt.tensor("large", shape=(100_000, None))
    assert _loops(jacobian(large @ x, x)) == []
    assert _loops(jacobian(pt.tanh(large @ x), x)), "the rows would take 80 GB"
    assert _loops(jacobian(pt.tanh(x) * x[0], x)), "there is nothing to gain"
    assert _loops(jacobian(Python()(w @ x), x)), "Python has no batched form"
    assert not _loops(jacobian(Python()(w @ x), x, vectorize=True))


def _path(step, y, *parameters):
    """Return the states of a loop of three steps."""
    return phintys.scan(step, outputs_info=[y], non_sequences=parameters, n_steps=3)[0]


def _by_numbers(y, p):
    """Return the next state, whose numbers are computed one by one."""
    return y + 0.1 * pt.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - y[1]])


@pytest.mark.parametrize("sizes", [(None, None), (2, 3)])
def test_loops_over_single_numbers_are_run_row_by_row(sizes):
    y, p = (pt.tensor(shape=(n,), dtype="float64") for n in sizes)
    states = _path(_by_numbers, y, p)
    nested = _path(lambda y, p: _path(_by_numbers, y, p)[-1], y, p)
    second = hessian((states**2).sum(), p)
    assert _loops(second), "a batch would store an array for each number"
    assert _loops(jacobian(states[-1], y))
    assert _loops(jacobian(nested[-1], p))
    at_once = hessian((states**2).sum(), p, vectorize=True)
    assert not _loops(at_once)
    rng = np.random.default_rng(0)
    one, other = phintys.function([y, p], [second, at_once])(rng.normal(size=2), rng.normal(size=3))
    np.testing.assert_allclose(one, other)


def test_loops_over_arrays_are_run_for_all_rows_at_once():
    y, k, w = pt.dvector("y"), pt.dscalar("k"), pt.dmatrix("w")

    def bounded(y, k):
        inner = k * (y[2:] - 2 * y[1:-1] + y[:-2]) * pt.exp(-y[1:-1])
        return pt.set_subtensor(y[1:-1], y[1:-1] + inner)[::1] + y[0] * k

    assert not _loops(jacobian(_path(lambda y, k: y + k * y * (1 - y), y, k)[-1], y))
    assert not _loops(jacobian(_path(bounded, y, k)[-1], y))
    assert not _loops(jacobian(_path(lambda y, w: pt.tanh(w @ y) * y[0], y, w)[-1], y))


@pytest.mark.parametrize("vectorize", [None, False, True])
def test_both_ways_agree(vectorize):
    x, w = pt.dvector("x"), pt.dmatrix("w")
    y = pt.concatenate([pt.softmax(w @ x), pt.cumsum(x[::-1]) * x.sum()])
    rng = np.random.default_rng(0)
    at, matrix = rng.normal(size=3), rng.normal(size=(4, 3))
    to_x, to_w = phintys.function([x, w], jacobian(y, [x, w], vectorize=vectorize))(at, matrix)
    step = 1e-6
    f = phintys.function([x, w], y)
    for j, e in enumerate(np.eye(3)):
        change = (f(at + step * e, matrix) - f(at - step * e, matrix)) / (2 * step)
        np.testing.assert_allclose(to_x[:, j], change, atol=1e-8)
    assert to_w.shape == (7, 4, 3)
    second = phintys.function([x, w], hessian((y**2).sum(), x, vectorize=vectorize))(at, matrix)
    np.testing.assert_allclose(second, second.T)


def test_a_wrong_choice():
    x = pt.dvector("x")
    with pytest.raises(GradientError, match="'yes'"):
        jacobian(x**2, x, vectorize="yes")
