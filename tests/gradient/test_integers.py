"""The rules for integers, with the five examples of the contract, on users' Ops and on ours."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.config import config
from phintys.gradient import (
    DisconnectedInputError,
    DisconnectedType,
    NullGradientError,
    Rop,
    disconnected_type,
    grad,
    grad_undefined,
)
from phintys.graph import Apply, Op


class Dot(Op):
    """The product of two vectors of any dtypes, differentiated as if they were real."""

    def make_node(self, x, y):
        dtype = np.result_type(x.type.dtype, y.type.dtype)
        return Apply(self, [x, y], [pt.scalar(dtype=dtype)])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(np.dot(*inputs))

    def grad(self, inputs, output_grads):
        x, y = inputs
        (g,) = output_grads
        return [g * y, g * x]


class ArgMax(Op):
    """The index of the largest element along an axis that is itself an input."""

    def make_node(self, x, axis):
        return Apply(self, [x, axis], [pt.vector(dtype="int64")])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.argmax(inputs[0], axis=int(inputs[1]))

    def grad(self, inputs, output_grads):
        x, axis = inputs
        return [pt.zeros_like(x), grad_undefined(self, 1, axis, "there is no fractional axis")]


class Repeat(Op):
    """A vector with y elements, each of the value x."""

    def __init__(self, with_pattern):
        if with_pattern:
            self.connection_pattern = lambda node: [[True], [False]]

    def make_node(self, x, y):
        return Apply(self, [x, y], [pt.vector(dtype=x.type.dtype)])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.full(int(inputs[1]), inputs[0])

    def grad(self, inputs, output_grads):
        return [output_grads[0].sum(), disconnected_type()]


class ToInt(Op):
    def make_node(self, x):
        return Apply(self, [x], [pt.scalar(dtype="int64")])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0]).astype("int64")

    def grad(self, inputs, output_grads):
        return [inputs[0].zeros_like()]


class ToFloat(Op):
    def make_node(self, y):
        return Apply(self, [y], [pt.scalar(dtype="float64")])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0]).astype("float64")

    def grad(self, inputs, output_grads):
        return [output_grads[0]]


class TestExamples:
    @pytest.mark.parametrize("dot", [Dot(), pt.dot], ids=["own", "ours"])
    def test_1_dot_of_integers(self, dot):
        x, y = pt.lvectors("x", "y")
        to_x, to_y = grad(dot(x, y) * 0.5, [x, y])
        at = {x: [1, 2], y: [3, 4]}
        assert to_x.type.dtype == to_y.type.dtype == config.floatX
        assert to_x.eval(at).tolist() == [0.0, 0.0]
        assert to_y.eval(at).tolist() == [0.0, 0.0]

    @pytest.mark.parametrize("dot", [Dot(), pt.dot], ids=["own", "ours"])
    def test_2_dot_of_floats_and_integers(self, dot):
        x, y = pt.dvector("x"), pt.lvector("y")
        to_x, to_y = grad(dot(x, y) * 0.5, [x, y])
        assert to_x.eval({x: [1.0, 2.0], y: [3, 4]}).tolist() == [1.5, 2.0]
        assert to_y.eval({x: [1.0, 2.0], y: [3, 4]}).tolist() == [0.5, 1.0]

    def test_3_argmax_with_an_axis(self):
        x, axis = pt.dmatrix("x"), pt.lscalar("axis")
        cost = (ArgMax()(x, axis) * 0.5).sum()
        assert grad(cost, x).eval({x: np.eye(2)}).tolist() == [[0.0, 0.0]] * 2
        with pytest.raises(NullGradientError, match="no fractional axis"):
            grad(cost, axis)

    def test_3_our_argmax(self):
        x = pt.dmatrix("x")
        cost = (pt.argmax(x, axis=1) * 0.5).sum()
        assert grad(cost, x).eval({x: np.eye(2)}).tolist() == [[0.0, 0.0]] * 2

    @pytest.mark.parametrize("with_pattern", [True, False])
    def test_4_a_vector_of_y_elements(self, with_pattern):
        x, y = pt.dscalar("x"), pt.lscalar("y")
        cost = Repeat(with_pattern)(x, y).sum()
        assert float(grad(cost, x).eval({x: 1.0, y: 7})) == 7.0
        with pytest.raises(DisconnectedInputError):
            grad(cost, y)
        kept = grad(cost, y, disconnected_inputs="ignore", return_disconnected="disconnected")
        assert isinstance(kept.type, DisconnectedType)

    def test_4_our_alloc(self):
        x, y = pt.dscalar("x"), pt.lscalar("y")
        cost = pt.alloc(x, y).sum()
        assert float(grad(cost, x).eval({x: 1.0, y: 7})) == 7.0
        with pytest.raises(DisconnectedInputError):
            grad(cost, y)

    @pytest.mark.parametrize(
        ("f", "g"),
        [
            (ToInt(), ToFloat()),
            (lambda x: x.astype("int64"), lambda y: y.astype("float64")),
        ],
        ids=["own", "ours"],
    )
    def test_5_casts_there_and_back(self, f, g):
        x = pt.dscalar("x")
        y = f(x)
        cost = 0.5 * g(y)
        to_y, to_x = grad(cost, [y, x])
        assert float(to_y.eval({x: 3.7})) == 0.5
        assert float(to_x.eval({x: 3.7})) == 0.0


class TestTheEngineKeepsTheRule:
    def test_an_op_that_forgets_that_its_output_is_an_integer(self):
        class Floor(ToInt):
            def grad(self, inputs, output_grads):
                return [output_grads[0]]  # as if it were the identity

        x = pt.dscalar("x")
        cost = Floor()(x) * 0.5 + x
        assert float(grad(cost, x).eval({x: 3.7})) == 1.0

    def test_through_what_follows(self):
        x = pt.dvector("x")
        steps = pt.exp((x > 0).astype("float64") * 3).sum()
        assert grad(steps, x).eval({x: [1.0, -1.0]}).tolist() == [0.0, 0.0]

    def test_no_nan_from_zero_times_infinity(self):
        # The slope of sqrt is infinite at 0; what leads there is a step, whose slope is 0.
        x = pt.dscalar("x")
        cost = pt.sqrt(ToInt()(x) * 1.0)
        assert float(grad(cost, x).eval({x: 0.3})) == 0.0

    def test_undefined_stays_undefined_behind_a_step(self):
        x, axis = pt.dmatrix("x"), pt.lscalar("axis")
        cost = (ArgMax()(x, axis * 2) * 0.5).sum()
        with pytest.raises(NullGradientError, match="no fractional axis"):
            grad(cost, axis)

    def test_gradients_of_integers_have_a_floating_dtype(self):
        n = pt.bvector("n")
        x = pt.fvector("x")
        assert grad((n * x).sum(), n).type.dtype == "float32"
        with config.change_flags(floatX="float32"):
            assert grad(((n > 0) * x).sum(), n).type.dtype == "float32"
            assert grad(x.sum(), n, disconnected_inputs="ignore").type.dtype == "float32"

    def test_forward(self):
        x, v = pt.dscalars("x", "v")
        y = ToInt()(x) * 0.5 + x**2
        assert float(Rop(y, x, v).eval({x: 3.0, v: 1.0})) == 6.0
        step = x.astype("int64")
        zero = Rop(step, x, v)
        assert zero.type.dtype == config.floatX
        assert float(zero.eval({x: 3.0})) == 0.0

    def test_forward_between_integers(self):
        n = pt.lscalar("n")
        assert float(Rop(n * n * 0.5, n, 1.0).eval({n: 3})) == 0.0  # n * n is an integer: it steps
        assert float(Rop(n * 0.5, n, 1.0).eval({n: 3})) == 0.5

    def test_forward_undefined(self):
        x, axis = pt.dmatrix("x"), pt.lscalar("axis")
        with pytest.raises(NullGradientError, match="no fractional axis"):
            Rop(ArgMax()(x, axis) * 0.5, axis, 1.0)
