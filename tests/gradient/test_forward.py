"""The R-operator: by the Ops' own rules, by two pullbacks, and the two against each other."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys.gradient import (
    DisconnectedInputError,
    DisconnectedType,
    GradientError,
    Lop,
    NullGradientError,
    NullType,
    Rop,
    grad_undefined,
    pushforward_through_pullback,
)
from phintys.graph import Apply, Op

BOTH_WAYS = pytest.mark.parametrize("use_op_rop_implementation", [True, False])


class Square(Op):
    """y = x**2, with a choice of rules."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] ** 2


class Reverse(Square):
    """With L_op alone."""

    def L_op(self, inputs, outputs, output_grads):
        return [2 * inputs[0] * output_grads[0]]


class Forward(Square):
    """With R_op alone."""

    def R_op(self, inputs, eval_points):
        return [2 * inputs[0] * eval_points[0]]


class Mixed(Op):
    """y = x * z, which gives up as soon as a direction is missing, like many older Ops."""

    __props__ = ()

    def make_node(self, x, z):
        return Apply(self, [x, z], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * inputs[1]

    def grad(self, inputs, output_grads):
        return [output_grads[0] * inputs[1], output_grads[0] * inputs[0]]

    def R_op(self, inputs, eval_points):
        if None in eval_points:
            return [None]
        (x, z), (v, w) = inputs, eval_points
        return [x * w + v * z]


class TestValues:
    @BOTH_WAYS
    def test_the_jacobian_times_a_vector(self, use_op_rop_implementation):
        x, v = pt.dvectors("x", "v")
        matrix = np.arange(6.0).reshape(2, 3)
        y = pt.tanh(pt.dot(matrix, x))
        at, along = np.array([0.1, -0.2, 0.05]), np.array([1.0, 2.0, 3.0])
        expected = (1 - np.tanh(matrix @ at) ** 2) * (matrix @ along)
        found = Rop(y, x, v, use_op_rop_implementation=use_op_rop_implementation)
        np.testing.assert_allclose(found.eval({x: at, v: along}), expected)

    @BOTH_WAYS
    def test_several_inputs_and_outputs(self, use_op_rop_implementation):
        x, y, v, w = pt.dscalars("x", "y", "v", "w")
        f, g = Rop(
            [x * y, x + y**2],
            [x, y],
            [v, w],
            use_op_rop_implementation=use_op_rop_implementation,
        )
        at = {x: 2.0, y: 3.0, v: 10.0, w: 100.0}
        assert float(f.eval(at)) == 2 * 100 + 10 * 3
        assert float(g.eval(at)) == 10 + 600

    @BOTH_WAYS
    def test_a_variable_that_depends_on_another(self, use_op_rop_implementation):
        # As for gradients, directions add up: the transpose of Lop over the same variables.
        x, v, w = pt.dscalars("x", "v", "w")
        y = x**2
        z = y * 3
        found = Rop(z, [x, y], [v, w], use_op_rop_implementation=use_op_rop_implementation)
        assert float(found.eval({x: 2.0, v: 1.0, w: 10.0})) == 3 * 4 * 1 + 3 * 10

    @BOTH_WAYS
    def test_a_direction_of_what_broadcasts_has_the_shape_of_the_result(
        self, use_op_rop_implementation
    ):
        x, v = pt.dcols("x", "v")
        y = pt.drow("y")
        found = Rop(x + y, x, v, use_op_rop_implementation=use_op_rop_implementation)
        at = {x: np.ones((2, 1)), y: np.ones((1, 3)), v: [[1.0], [2.0]]}
        assert found.eval(at).tolist() == [[1.0] * 3, [2.0] * 3]

    @BOTH_WAYS
    def test_none_is_zero(self, use_op_rop_implementation):
        x, y, v = pt.dscalars("x", "y", "v")
        found = Rop(x * y, [x, y], [v, None], use_op_rop_implementation=use_op_rop_implementation)
        assert float(found.eval({x: 2.0, y: 3.0, v: 10.0})) == 30.0

    @BOTH_WAYS
    def test_f_may_be_wrt(self, use_op_rop_implementation):
        x, v = pt.dvectors("x", "v")
        found = Rop(x, x, v, use_op_rop_implementation=use_op_rop_implementation)
        assert found.eval({v: [1.0, 2.0], x: [0.0, 0.0]}).tolist() == [1.0, 2.0]

    @pytest.mark.parametrize("op", [Reverse(), Forward()], ids=str)
    def test_an_op_with_one_of_the_rules(self, op):
        x, v = pt.dvectors("x", "v")
        found = Rop(pt.exp(op(x * 2)), x, v)
        at, along = np.array([0.1, 0.5]), np.array([1.0, -2.0])
        expected = np.exp(4 * at**2) * 8 * at * along
        np.testing.assert_allclose(found.eval({x: at, v: along}), expected)

    def test_an_op_that_gives_up_is_asked_for_its_gradient(self):
        x, z, v, w = pt.dscalars("x", "z", "v", "w")
        assert float(Rop(Mixed()(x, z), x, v).eval({x: 2.0, z: 3.0, v: 10.0})) == 30.0
        both = Rop(Mixed()(x, z), [x, z], [v, w])
        assert float(both.eval({x: 2.0, z: 3.0, v: 10.0, w: 100.0})) == 230.0

    def test_pushforward_through_pullback(self):
        x, v = pt.dvectors("x", "v")
        (found,) = pushforward_through_pullback([Reverse()(x)], [x], [v])
        assert found.eval({x: [1.0, 2.0], v: [1.0, 10.0]}).tolist() == [2.0, 40.0]

    def test_of_complex_numbers(self):
        rng = np.random.default_rng(3)
        z, v = pt.zvectors("z", "v")
        at, along = (rng.normal(size=3) + 1j * rng.normal(size=3) for _ in range(2))
        for f, expected in (
            (z**2, 2 * at * along),
            (pt.conj(z) * z, np.conj(along) * at + np.conj(at) * along),
            (pt.real(z), along.real),
        ):
            for own in (True, False):
                found = Rop(f, z, v, use_op_rop_implementation=own)
                assert found.type.dtype == f.type.dtype
                values = found.eval({z: at, v: along})
                np.testing.assert_allclose(values, expected, atol=1e-14)


class TestKinds:
    @pytest.mark.parametrize("kind", [list, tuple])
    def test_a_sequence_gives_the_same_kind(self, kind):
        x, v = pt.dvectors("x", "v")
        assert type(Rop(kind([x * 2]), [x], [v])) is kind

    def test_a_direction_is_cast_to_the_dtype(self):
        x, v = pt.fvector("x"), pt.dvector("v")
        assert Rop(x * x, x, v).type.dtype == "float32"

    @BOTH_WAYS
    def test_a_direction_may_be_a_value(self, use_op_rop_implementation):
        x = pt.dvector("x")
        found = Rop(x**2, x, np.array([1, 10]), use_op_rop_implementation=use_op_rop_implementation)
        assert found.eval({x: [1.0, 1.0]}).tolist() == [2.0, 20.0]


class TestRefusals:
    @pytest.mark.parametrize(
        ("point", "words"),
        [
            (lambda: [pt.dvector("v")] * 2, "expected 1, got 2"),
            (lambda: pt.dscalar("v"), "rank and shape"),
            (lambda: pt.lvector("v"), "floating or complex"),
            (lambda: pt.zvector("v"), "belongs to the real"),
        ],
    )
    def test_points(self, point, words):
        x = pt.dvector("x")
        with pytest.raises(GradientError, match=words):
            Rop(x * 2, x, point())

    def test_arguments(self):
        x, v = pt.dvectors("x", "v")
        with pytest.raises(TypeError, match="f must be a symbolic variable"):
            Rop(3.0, x, v)
        with pytest.raises(TypeError, match="wrt must be a symbolic variable"):
            Rop(x, 3.0, v)
        with pytest.raises(GradientError, match="disconnected_outputs must be"):
            Rop(x, x, v, disconnected_outputs="maybe")
        with pytest.raises(GradientError, match="return_disconnected must be"):
            Rop(x, x, v, return_disconnected="maybe")

    @BOTH_WAYS
    def test_disconnected_outputs(self, use_op_rop_implementation):
        x, y, v = pt.dvectors("x", "y", "v")
        options = {"use_op_rop_implementation": use_op_rop_implementation}
        with pytest.raises(DisconnectedInputError, match="does not depend on any variable in wrt"):
            Rop(y * 2, x, v, **options)
        with pytest.warns(UserWarning, match="does not depend on any variable in wrt") as caught:
            zeros = Rop(y, x, v, "warn", **options)
        assert caught[0].filename == __file__
        assert zeros.eval({y: [1.0, 2.0]}).tolist() == [0.0, 0.0]
        assert Rop(y, x, v, "ignore", "none", **options) is None
        kept = Rop(y, x, v, "ignore", "disconnected", **options)
        assert isinstance(kept.type, DisconnectedType)

    def test_an_op_without_any_rule(self):
        x, v = pt.dvectors("x", "v")
        y = Square()(x)  # without rules
        with pytest.raises(MethodNotDefinedError) as caught:
            Rop(y, x, v)
        notes = "".join(caught.value.__notes__)
        assert "needs the R_op of Square" in notes
        assert "# without rules" in notes

    @pytest.mark.parametrize(
        ("result", "words"),
        [
            (lambda v: v, "must return a list"),
            (lambda v: [v, v], "2 results for 1 outputs"),
            (lambda v: [3.0], "must return Variables"),
            (lambda v: [v.sum()], "a direction with the rank"),
        ],
    )
    def test_wrong_returns(self, result, words):
        class Wrong(Square):
            def R_op(self, inputs, eval_points):
                return result(eval_points[0])

        x, v = pt.dvectors("x", "v")
        with pytest.raises(OpContractError, match=words):
            Rop(Wrong()(x), x, v)

    @pytest.mark.parametrize("whole", [None, [None]])
    def test_none_from_an_op_without_a_gradient(self, whole):
        class NotDifferentiable(Square):
            def R_op(self, inputs, eval_points):
                return whole

            def grad(self, inputs, output_grads):
                return [grad_undefined(self, 0, inputs[0], "it is rough")]

        x, v = pt.dvectors("x", "v")
        with pytest.raises(NullGradientError, match="it is rough"):
            Rop(NotDifferentiable()(x) + x, x, v)

    def test_a_null_direction_spreads_only_where_it_reaches(self):
        class Rough(Square):
            def R_op(self, inputs, eval_points):
                return [NullType("it is rough")()]

        x, v = pt.dvectors("x", "v")
        rough = Rough()(x)
        assert Rop(rough.shape[0] * x, x, v).eval({x: [0.0], v: [2.0]}).tolist() == [2.0]
        with pytest.raises(NullGradientError, match="it is rough"):
            Rop(pt.exp(rough) * x, x, v)


def test_the_transpose_of_lop():
    rng = np.random.default_rng(4)
    x, v, u = pt.dvectors("x", "v", "u")
    matrix = rng.normal(size=(3, 4))
    y = pt.sin(pt.dot(matrix, pt.exp(x))) * x[:3]
    left = (u * Rop(y, x, v)).sum()
    right = (Lop(y, x, u) * v).sum()
    at = {x: rng.normal(size=4), v: rng.normal(size=4), u: rng.normal(size=3)}
    np.testing.assert_allclose(left.eval(at), right.eval(at), rtol=1e-12)


def test_an_input_that_the_derivative_does_not_need_is_not_unused():
    x, v = pt.dvectors("x", "v")
    f = phintys.function([x, v], Rop(x * 3 + 1, x, v))
    assert f([1.0], [2.0]).tolist() == [6.0]
