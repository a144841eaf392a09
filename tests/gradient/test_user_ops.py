"""The contract of ``grad``, ``L_op``, ``connection_pattern`` with users' own Ops and Types."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys.gradient import (
    DisconnectedInputError,
    DisconnectedType,
    NullGradientError,
    NullType,
    Rop,
    grad,
    grad_not_implemented,
    grad_undefined,
)
from phintys.graph import Apply, Op, Type, Variable


class Unary(Op):
    """y = 2 x, and a gradient to be chosen."""

    def __init__(self, gradient=None):
        self.gradient = gradient

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs, output_grads):
        return self.gradient(inputs[0], output_grads[0])


class TestReturns:
    @pytest.mark.parametrize("kind", [list, tuple])
    def test_a_list_or_tuple(self, kind):
        x = pt.dvector("x")
        cost = Unary(lambda x, g: kind([g * 2]))(x).sum()
        np.testing.assert_allclose(grad(cost, x).eval({x: [1.0, 2.0]}), [2.0, 2.0])

    @pytest.mark.parametrize(
        ("gradient", "words"),
        [
            (lambda x, g: g * 2, r"Unary\.grad must return a list or tuple"),
            (lambda x, g: [], "returned 0 gradients for 1 inputs"),
            (lambda x, g: [g, g], "returned 2 gradients for 1 inputs"),
            (lambda x, g: [2.0], "must return Variables, got 2.0"),
            (lambda x, g: [g.astype("int64")], "gradient of integer type"),
            (lambda x, g: [g > 0], "gradient of integer type"),
            (lambda x, g: [g.sum()], "the rank of that input"),
            (lambda x, g: [pt.ones((3,))], "the shape of that input"),
        ],
    )
    def test_wrong_ones_name_op_and_line(self, gradient, words):
        x = pt.tensor("x", dtype="float64", shape=(2,))
        y = Unary(gradient)(x)  # here
        with pytest.raises(OpContractError, match=words) as caught:
            grad(y.sum(), x)
        text = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
        assert "y = Unary(gradient)(x)  # here" in text

    def test_an_error_inside_says_where(self):
        def broken(x, g):
            raise KeyError("lost")

        x = pt.dvector("x")
        y = Unary(broken)(x)  # over here
        with pytest.raises(KeyError, match="lost") as caught:
            grad(y.sum(), x)
        assert "y = Unary(broken)(x)  # over here" in "".join(caught.value.__notes__)

    def test_no_grad_at_all(self):
        class Opaque(Op):
            def make_node(self, x):
                return Apply(self, [x], [x.type()])

        x = pt.dvector("x")
        y = Opaque()(x)  # opaque
        with pytest.raises(MethodNotDefinedError, match="Opaque does not define grad") as caught:
            grad(y.sum(), x)
        assert "y = Opaque()(x)  # opaque" in "".join(caught.value.__notes__)

    def test_no_grad_is_needed_where_none_is_asked_for(self):
        class Opaque(Op):
            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = inputs[0] + 1

        x, y = pt.dvectors("x", "y")
        gradient = grad((Opaque()(x) * y).sum(), y)
        assert gradient.eval({x: [1.0], y: [5.0]}).tolist() == [2.0]

    def test_L_op_goes_before_grad(self):
        class Exp(Op):
            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = np.exp(inputs[0])

            def grad(self, inputs, output_grads):
                raise AssertionError("L_op comes first")

            def L_op(self, inputs, outputs, output_grads):
                assert outputs[0].owner.op is self
                return [output_grads[0] * outputs[0]]

        x = pt.dvector("x")
        gradient = grad(Exp()(x).sum(), x)
        np.testing.assert_allclose(gradient.eval({x: [0.0, 1.0]}), np.exp([0.0, 1.0]))

    def test_methods_may_be_set_on_an_instance(self):
        op = Op()
        op.name = "triple"
        op.make_node = lambda x: Apply(op, [x], [x.type()])
        op.perform = lambda node, inputs, out: out[0].__setitem__(0, inputs[0] * 3)
        op.grad = lambda inputs, output_grads: [output_grads[0] * 3]
        x = pt.dvector("x")
        assert grad(op(x).sum(), x).eval({x: [1.0]}).tolist() == [3.0]

    def test_nodes_of_a_gradient_belong_to_the_line_of_the_forward_node(self):
        x = pt.dvector("x")
        y = Unary(lambda x, g: [g * 2])(x)
        gradient = grad(y.sum(), x)
        assert gradient.owner.origin.lineno == y.owner.origin.lineno


class TestDtypes:
    def test_a_gradient_is_cast_to_the_dtype_of_its_variable(self):
        x = pt.fvector("x")
        cost = Unary(lambda x, g: [g.astype("float64") * 2])(x).sum()
        gradient = grad(cost, x)
        assert gradient.type.dtype == "float32"

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
    def test_an_op_is_given_gradients_of_the_dtypes_of_its_outputs(self, dtype):
        seen = []
        x = pt.tensor("x", dtype=dtype, shape=(None,))
        y = Unary(lambda x, g: [seen.append(g.type.dtype) or g])(x)
        wide = pt.real(y.astype("complex128")).sum()
        grad(wide, x)
        assert seen == [dtype]

    def test_of_an_integer_output_it_is_given_a_float(self):
        seen = []
        n = pt.lvector("n")
        y = Unary(lambda x, g: [seen.append(g.type.dtype) or g])(n)
        grad((y * 0.5).sum(), n)
        assert seen == ["float64"]


class Pair(Op):
    """f(x), g(y) with f(x) = 2 x and g(y) = 3 y: y has no part in f, nor x in g."""

    def __init__(self, pattern=None, gradient=None):
        if pattern is not None:
            self.connection_pattern = lambda node: pattern
        self.gradient = gradient or self.right
        self.seen = []

    def right(self, inputs, output_grads):
        return [
            g if isinstance(g.type, DisconnectedType) else g * factor
            for g, factor in zip(output_grads, (2, 3), strict=True)
        ]

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type(), y.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2
        output_storage[1][0] = inputs[1] * 3

    def grad(self, inputs, output_grads):
        self.seen.append([isinstance(g.type, DisconnectedType) for g in output_grads])
        return self.gradient(inputs, output_grads)


DIAGONAL = [[True, False], [False, True]]


class TestConnection:
    def test_outputs_that_the_cost_does_not_use_are_disconnected(self):
        x, y = pt.dvectors("x", "y")
        op = Pair(DIAGONAL)
        f, _ = op(x, y)
        assert grad(f.sum(), x).eval({x: [1.0], y: [1.0]}).tolist() == [2.0]
        assert op.seen == [[False, True]]

    def test_the_pattern_tells_what_is_disconnected(self):
        x, y = pt.dvectors("x", "y")
        f, _ = Pair(DIAGONAL)(x, y)
        with pytest.raises(DisconnectedInputError):
            grad(f.sum(), y)

    def test_without_a_pattern_the_gradients_tell(self):
        x, y = pt.dvectors("x", "y")
        f, g = Pair()(x, y)
        to_x, to_y = grad(f.sum() + g.sum(), [x, y])
        assert to_x.eval({x: [1.0], y: [1.0]}).tolist() == [2.0]
        assert to_y.eval({x: [1.0], y: [1.0]}).tolist() == [3.0]
        with pytest.raises(DisconnectedInputError, match="Pair"):
            grad(f.sum(), y)

    def test_both_outputs(self):
        x = pt.dvector("x")
        f, g = Pair(DIAGONAL)(x, x)
        assert grad((f * g).sum(), x).eval({x: [1.0, 2.0]}).tolist() == [12.0, 24.0]

    def test_disconnected_outputs_are_not_differentiated(self):
        x, y = pt.dvectors("x", "y")
        op = Pair(DIAGONAL)
        op(x, y)
        f, _ = op(x, y)
        grad(f.sum(), x)
        assert len(op.seen) == 1

    @pytest.mark.parametrize(
        "pattern", [[[True]], [[True, True]], [True, True], "yes", [[True, True, True]] * 2]
    )
    def test_a_pattern_of_the_wrong_form(self, pattern):
        x, y = pt.dvectors("x", "y")
        with pytest.raises(OpContractError, match="a list of 2 lists"):
            grad(Pair(pattern)(x, y)[0].sum(), x)

    def test_a_gradient_where_the_pattern_denies_one(self):
        def both(inputs, output_grads):
            g = output_grads[0]
            return [g * 2, g * 2]

        x, y = pt.dvectors("x", "y")
        z = pt.exp(x)
        f, _ = Pair([[True, False], [False, True]], both)(x, x * y + z)  # denied
        with pytest.raises(OpContractError, match="has no influence on any output") as caught:
            grad(f.sum(), x)
        assert "# denied" in str(caught.value)

    def test_zeros_there_are_fine(self):
        def both(inputs, output_grads):
            return [output_grads[0] * 2, pt.zeros_like(inputs[1])]

        x = pt.dvector("x")
        f, _ = Pair(DIAGONAL, both)(x, pt.exp(x))
        assert grad(f.sum(), x).eval({x: [1.0]}).tolist() == [2.0]

    def test_null_there_is_fine(self):
        op = Pair(DIAGONAL, lambda inputs, gs: [gs[0] * 2, grad_undefined(op, 1, inputs[1])])
        x = pt.dvector("x")
        f, _ = op(x, pt.exp(x))
        assert grad(f.sum(), x).eval({x: [1.0]}).tolist() == [2.0]

    def test_hidden_outputs(self):
        class Hiding(Pair):
            default_output = 1

        x, y = pt.dvectors("x", "y")
        shown = Hiding(DIAGONAL)(x, y)
        assert isinstance(shown, Variable)
        assert grad(shown.sum(), y).eval({x: [1.0], y: [1.0]}).tolist() == [3.0]


class TestNull:
    @pytest.mark.parametrize(
        ("mark", "words"),
        [
            (lambda x, g: [None], "returned None for input 0"),
            (lambda x, g: [NullType("it jumps")()], "it jumps"),
            (
                lambda x, g: [grad_undefined(op, 0, x, "it jumps")],
                "Unary .* is undefined: it jumps",
            ),
            (lambda x, g: [grad_not_implemented(op, 0, x)], r"input 0, x \(type .*not implemented"),
        ],
    )
    def test_it_raises_with_its_reason_and_line(self, mark, words):
        x = pt.dvector("x")
        y = Unary(mark)(x)  # null
        with pytest.raises(NullGradientError, match=words) as caught:
            grad(y.sum(), x)
        assert "# null" in str(caught.value)

    def test_it_spreads(self):
        x = pt.dvector("x")
        deeper = Unary(lambda x, g: [NullType("it jumps")()])(pt.exp(x) * 2)
        cost = deeper.sum() + x.sum()
        with pytest.raises(NullGradientError, match="it jumps"):
            grad(cost, x)

    def test_it_does_not_matter_off_the_way(self):
        x, y = pt.dvectors("x", "y")
        cost = (Unary(lambda x, g: [None])(x) * y).sum()
        assert grad(cost, y).eval({x: [4.0], y: [0.0]}).tolist() == [8.0]

    def test_return(self):
        x, y = pt.dvectors("x", "y")
        cost = (Unary(lambda x, g: [NullType("it jumps")()])(x) * y).sum()
        to_x, to_y = grad(cost, [x, y], null_gradients="return")
        assert isinstance(to_x.type, NullType)
        assert to_x.type.why_null == "it jumps"
        assert to_y.eval({x: [4.0], y: [0.0]}).tolist() == [8.0]

    def test_through_an_op_only_what_it_reaches_is_null(self):
        x, y = pt.dvectors("x", "y")
        f, g = Pair(DIAGONAL)(x, y)
        bad = Unary(lambda x, g: [NullType("it jumps")()])
        to_x, to_y = grad(bad(f).sum() + g.sum(), [x, y], null_gradients="return")
        assert isinstance(to_x.type, NullType)
        assert to_y.eval({x: [1.0], y: [1.0]}).tolist() == [3.0]


op = Unary()


class TestUsersTypes:
    """The double of the seeds' tutorial, in own words."""

    @staticmethod
    def make():
        double = Type()

        def keep(value, strict=False, allow_downcast=None):
            if strict and not isinstance(value, float):
                raise TypeError("expected a float")
            return float(value)

        double.filter = keep
        double.values_eq_approx = lambda a, b: abs(a - b) < 1e-9

        class Mul(Op):
            __props__ = ()

            def make_node(self, x, y):
                return Apply(
                    self, [double.filter_variable(x), double.filter_variable(y)], [double()]
                )

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = inputs[0] * inputs[1]

            def grad(self, inputs, output_grads):
                (g,) = output_grads
                return [mul(g, inputs[1]), mul(g, inputs[0])]

            def R_op(self, inputs, eval_points):
                (x, y), (v, w) = inputs, eval_points
                if v is None:
                    return [mul(x, w)]
                return [mul(v, y)] if w is None else None

        mul = Mul()
        return double, mul

    def test_grad(self):
        double, mul = self.make()
        x, y = double("x"), double("y")
        gradient = grad(mul(x, mul(3.0, y)), x)
        assert gradient.type is double
        assert phintys.function([x, y], gradient)(2.0, 5.0) == 15.0

    def test_rop(self):
        double, mul = self.make()
        x, y, v = double("x"), double("y"), double("v")
        tangent = Rop(mul(x, y), x, v)
        f = phintys.function([x, y, v], tangent)
        assert f(2.0, 5.0, 10.0) == 50.0

    def test_zeros(self):
        double, mul = self.make()
        x, y = double("x"), double("y")
        zero = grad(mul(x, x), y, disconnected_inputs="ignore", known_grads={x: double("g")})
        assert zero.data == 0.0

    def test_sums_need_an_addition(self):
        double, mul = self.make()
        x = double("x")
        with pytest.raises(phintys.gradient.GradientError, match="Define __add__"):
            grad(mul(x, x), x)

    def test_an_addition_is_used(self):
        double, mul = self.make()

        class Add(Op):
            __props__ = ()

            def make_node(self, x, y):
                return Apply(self, [x, y], [double()])

            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = inputs[0] + inputs[1]

        class DoubleVariable(Variable):
            def __add__(self, other):
                return Add()(self, other)

        double.variable_type = DoubleVariable
        x = double("x")
        gradient = grad(mul(x, mul(x, x)), x)
        assert phintys.function([x], gradient)(2.0) == 12.0

    def test_a_type_that_is_not_of_numbers(self):
        things = Type()
        things.filter = lambda value, strict=False, allow_downcast=None: [value]
        with pytest.raises(phintys.gradient.GradientError, match="zeros_like"):
            grad(things("x"), things("y"), disconnected_inputs="ignore")
