"""What ``grad``, ``Lop`` and ``subgraph_grad`` take, refuse, and say about it."""

import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.gradient import (
    DisconnectedInputError,
    DisconnectedType,
    GradientError,
    Lop,
    NullGradientError,
    NullType,
    disconnected_grad,
    grad,
    subgraph_grad,
)
from phintys.graph import Apply, Op, explicit_graph_inputs


def value(variable, **inputs):
    """Compute a variable from the values of the leaves of these names that it needs."""
    leaves = {leaf.name: leaf for leaf in explicit_graph_inputs([variable])}
    return variable.eval({leaf: inputs[name] for name, leaf in leaves.items()})


class TestContainers:
    @pytest.mark.parametrize("kind", [list, tuple])
    def test_a_sequence_gives_the_same_kind(self, kind):
        x, y = pt.dscalars("x", "y")
        gradients = grad(x * y, kind([x, y]))
        assert type(gradients) is kind
        assert [float(value(g, x=2.0, y=3.0)) for g in gradients] == [3.0, 2.0]

    def test_a_dict_gives_a_dict(self):
        x, y = pt.dscalars("x", "y")
        gradients = grad(x * y, {"weights": x, "bias": y})
        assert list(gradients) == ["weights", "bias"]
        assert float(value(gradients["bias"], x=2.0, y=3.0)) == 2.0

    def test_one_variable_gives_one(self):
        x = pt.dscalar("x")
        assert float(value(grad(x * x, x), x=4.0)) == 8.0

    def test_nothing_gives_nothing(self):
        assert grad(pt.dscalar("x") * 2, []) == []

    def test_a_variable_may_repeat(self):
        x, y = pt.dscalars("x", "y")
        first, second, third = grad(x * x * y, [x, y, x])
        assert first is third
        assert float(value(second, x=3.0, y=1.0)) == 9.0

    def test_wrt_what_is_computed(self):
        x = pt.dvector("x")
        hidden = pt.exp(x)
        cost = (hidden**2).sum()
        to_x, to_hidden = grad(cost, [x, hidden])
        np.testing.assert_allclose(value(to_hidden, x=[0.0, 1.0]), 2 * np.exp([0.0, 1.0]))
        np.testing.assert_allclose(value(to_x, x=[0.0, 1.0]), 2 * np.exp([0.0, 2.0]))

    def test_wrt_the_cost_itself(self):
        x = pt.dscalar("x")
        cost = x**2
        assert float(value(grad(cost, cost), x=3.0)) == 1.0
        assert float(value(grad(x, x), x=3.0)) == 1.0


class TestRefusals:
    @pytest.mark.parametrize(
        ("cost", "wrt", "error", "words"),
        [
            (lambda x: 3.0, lambda x: x, TypeError, "The cost must be a symbolic variable"),
            (lambda x: [x.sum()], lambda x: x, TypeError, "The cost must be a symbolic variable"),
            (lambda x: x.sum(), lambda x: 3.0, TypeError, "wrt must be a symbolic variable"),
            (lambda x: x.sum(), lambda x: [x, 3.0], TypeError, r"wrt\[1\] must be a symbolic"),
            (lambda x: x.sum(), lambda x: {x}, TypeError, "in the order of the variables"),
            (lambda x: x.sum(), lambda x: "x", TypeError, "wrt must be a symbolic variable"),
            (lambda x: x, lambda x: x, GradientError, "must be a scalar"),
            (lambda x: x.sum().astype("int64"), lambda x: x, GradientError, "a floating dtype"),
            (lambda x: x.astype("complex128").sum(), lambda x: x, GradientError, "must be real"),
            (lambda x: NullType("so it is")(), lambda x: x, NullGradientError, "so it is"),
            (lambda x: DisconnectedType()(), lambda x: x, GradientError, "depends on nothing"),
            (lambda x: None, lambda x: x, GradientError, "Nothing to differentiate"),
        ],
    )
    def test_cost_and_wrt(self, cost, wrt, error, words):
        x = pt.dvector("x")
        with pytest.raises(error, match=words):
            grad(cost(x), wrt(x))

    @pytest.mark.parametrize(
        "option", ["disconnected_inputs", "return_disconnected", "null_gradients"]
    )
    def test_choices(self, option):
        x = pt.dscalar("x")
        with pytest.raises(GradientError, match=f"{option} must be .* got 'perhaps'"):
            grad(x * x, x, **{option: "perhaps"})

    def test_a_bad_cost_is_named_with_its_line(self):
        x = pt.dvector("x")
        cost = x * 2
        with pytest.raises(GradientError, match=r"cost = x \* 2"):
            grad(cost, x)

    @pytest.mark.parametrize("given", [3, [3], ["x"]])
    def test_consider_constant(self, given):
        x = pt.dscalar("x")
        with pytest.raises(TypeError, match="consider_constant"):
            grad(x * x, x, consider_constant=given)


class TestDisconnected:
    def test_a_variable_that_is_not_in_the_graph(self):
        x, y = pt.dvectors("x", "y")
        with pytest.raises(DisconnectedInputError, match="it is not part of the graph"):
            grad(x.sum(), y)

    def test_a_namesake(self):
        x = pt.dvector("x")
        with pytest.raises(DisconnectedInputError, match="another variable of the name 'x'"):
            grad(x.sum(), pt.dvector("x"))

    def test_only_the_shape_is_used(self):
        x = pt.dvector("x")
        cost = x.shape[0].astype("float64") * 2.0
        with pytest.raises(DisconnectedInputError, match="only its shape") as caught:
            grad(cost, x)
        assert "x.shape[0]" in str(caught.value)

    def test_a_disconnected_grad_on_the_way(self):
        x = pt.dvector("x")
        with pytest.raises(DisconnectedInputError, match="DisconnectedGrad"):
            grad(disconnected_grad(x).sum(), x)

    def test_everything_considered_constant(self):
        x = pt.dvector("x")
        hidden = pt.exp(x)
        with pytest.raises(DisconnectedInputError, match="consider_constant"):
            grad(hidden.sum(), x, consider_constant=[hidden])

    def test_warn(self):
        x, y = pt.dscalar("x"), pt.fvector("y")
        with pytest.warns(UserWarning, match="does not depend on y") as caught:
            gradient = grad(x * x, y, disconnected_inputs="warn")
        assert caught[0].filename == __file__
        np.testing.assert_array_equal(value(gradient, y=[1, 2]), np.zeros(2, "float32"))

    def test_ignore(self):
        x, y = pt.dscalar("x"), pt.lmatrix("y")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            gradient = grad(x * x, y, disconnected_inputs="ignore")
        assert gradient.type.dtype == "float64"
        assert value(gradient, y=np.ones((2, 3), "int64")).tolist() == [[0.0] * 3] * 2

    def test_return_disconnected(self):
        x, y = pt.dscalars("x", "y")
        options = {"disconnected_inputs": "ignore"}
        assert grad(x * x, [x, y], return_disconnected="none", **options)[1] is None
        kept = grad(x * x, y, return_disconnected="disconnected", **options)
        assert isinstance(kept.type, DisconnectedType)
        zero = grad(x * x, y, return_disconnected="zero", **options)
        assert float(zero.eval()) == 0.0


class TestKnownGradients:
    def test_they_start_the_walk(self):
        x, g = pt.dvectors("x", "g")
        y = x**2
        gradient = grad(None, x, known_grads={y: g})
        np.testing.assert_allclose(value(gradient, x=[1.0, 2.0], g=[3.0, 5.0]), [6.0, 20.0])

    def test_they_replace_what_would_be_computed(self):
        x = pt.dscalar("x")
        y = x * 3
        cost = y**2 + x
        gradient = grad(cost, x, known_grads={y: 100.0})
        assert float(value(gradient, x=1.0)) == 301.0

    def test_one_of_wrt_may_be_known(self):
        x, g = pt.dscalars("x", "g")
        y = x * 3
        assert grad(None, y, known_grads={y: g}) is g

    def test_a_disconnected_one_cuts(self):
        x = pt.dscalar("x")
        y = x * 3
        gradient = grad(y + x, x, known_grads={y: DisconnectedType()()})
        assert float(value(gradient, x=1.0)) == 1.0

    def test_they_are_cast_to_the_dtype(self):
        x, g = pt.fscalar("x"), pt.dscalar("g")
        gradient = grad(None, x, known_grads={x * x: g})
        assert gradient.type.dtype == "float32"

    @pytest.mark.parametrize(
        ("known", "words"),
        [
            (lambda y: [y], "must be a dict"),
            (lambda y: {y: pt.dmatrix("g")}, "rank and shape"),
            (lambda y: {y: pt.lvector("g")}, "floating or complex dtype"),
            (lambda y: {y: pt.zvector("g")}, "belongs to the real"),
        ],
    )
    def test_refusals(self, known, words):
        x = pt.dvector("x")
        y = x * 2
        with pytest.raises(GradientError, match=words):
            grad(None, x, known_grads=known(y))

    def test_keys_must_be_variables(self):
        with pytest.raises(TypeError, match="key of known_grads"):
            grad(None, pt.dscalar("x"), known_grads={1.0: 2.0})


class TestConsiderConstant:
    def test_nothing_flows_through(self):
        x = pt.dscalar("x")
        y = x**2
        assert float(value(grad(x * y, x, consider_constant=[y]), x=3.0)) == 9.0

    def test_what_is_asked_for_still_gets_its_gradient(self):
        x = pt.dscalar("x")
        y = x**2
        to_x, to_y = grad(x * y, [x, y], consider_constant=[y])
        assert float(value(to_x, x=3.0)) == 9.0
        assert float(value(to_y, x=3.0)) == 3.0

    def test_any_collection(self):
        x = pt.dscalar("x")
        y = x**2
        for given in (y, (y,), {y}, iter([y])):
            assert float(value(grad(x * y, x, consider_constant=given), x=3.0)) == 9.0


class TestNames:
    def test_results_are_named_after_cost_and_variable(self):
        x, y = pt.dscalar("x"), pt.dscalar()
        cost = x**2 * y
        cost.name = "cost"
        to_x, to_y = grad(cost, [x, y])
        assert to_x.name == "(dcost/dx)"
        assert to_y.name is None

    def test_not_without_names_or_wish(self):
        x = pt.dscalar("x")
        assert grad(x**2, x).name is None
        cost = x**2
        cost.name = "cost"
        assert grad(cost, x, add_names=False).name is None

    def test_expressions_of_the_user_keep_theirs(self):
        class Times(Op):
            def make_node(self, x, y):
                return Apply(self, [x, y], [x.type()])

            def grad(self, inputs, output_grads):
                x, y = inputs
                return [y, x]  # right for a cost, whose own gradient is 1

        x, y = pt.dscalars("x", "y")
        factor = x + y
        cost = Times()(x, factor)
        cost.name = "cost"
        assert grad(cost, x, consider_constant=[factor]) is factor
        assert factor.name is None


class TestLop:
    def test_it_is_the_vector_times_the_jacobian(self):
        x, v = pt.dvectors("x", "v")
        matrix = np.arange(6.0).reshape(2, 3)
        product = Lop(pt.dot(matrix, x), x, v)
        np.testing.assert_allclose(value(product, x=np.ones(3), v=[1.0, 10.0]), [30, 41, 52])

    def test_outputs_may_depend_on_each_other(self):
        x, v, w = pt.dscalars("x", "v", "w")
        y = x**2
        z = y**3
        product = Lop([y, z], x, [v, w])
        # dy/dx = 2x and dz/dx = 6x**5, at 2
        assert float(value(product, x=2.0, v=1.0, w=10.0)) == 4 + 10 * 192

    def test_an_output_may_repeat(self):
        x = pt.dscalar("x")
        y = x**2
        assert float(value(Lop([y, y], x, [1.0, 2.0]), x=1.0)) == 6.0

    def test_none_is_zero(self):
        x = pt.dscalar("x")
        assert float(value(Lop([x**2, x], x, [None, 1.0]), x=5.0)) == 1.0

    def test_points_must_fit(self):
        x = pt.dvector("x")
        with pytest.raises(GradientError, match="expected 1, got 2"):
            Lop(x * 2, x, [x, x])
        with pytest.raises(GradientError, match="rank and shape"):
            Lop(x * 2, x, pt.dscalar("v"))
        with pytest.raises(GradientError, match="rank and shape"):
            Lop(x.sum(keepdims=True), x, pt.tensor("v", shape=(3,), dtype="float64"))

    def test_disconnected(self):
        x, y = pt.dvectors("x", "y")
        with pytest.raises(DisconnectedInputError, match="not part of the graph"):
            Lop(x * 2, y, x)
        zeros = Lop(x * 2, y, x, disconnected_inputs="ignore")
        assert value(zeros, y=[1.0, 2.0]).tolist() == [0.0, 0.0]


class TestSubgraphGrad:
    def test_pieces_give_the_whole(self):
        rng = np.random.default_rng(1)
        x = pt.dvector("x")
        weights = [phintys.shared(rng.normal(size=(3, 3)), name=f"w{i}") for i in range(3)]
        layers = [x]
        for w in weights:
            layers.append(pt.tanh(pt.dot(w, layers[-1])))
        cost = (layers[-1] ** 2).sum()
        whole = grad(cost, weights)
        pieces, start, extra = {}, None, cost
        for i in reversed(range(3)):
            (pieces[i],), ends = subgraph_grad(
                wrt=[weights[i]], end=[layers[i]], start=start, cost=extra
            )
            start, extra = {layers[i]: ends[0]}, None
        for i in range(3):
            at = rng.normal(size=3)
            np.testing.assert_allclose(value(pieces[i], x=at), value(whole[i], x=at))

    def test_start_and_cost_are_added(self):
        w, x = pt.dscalars("w", "x")
        y = w * x
        (total,), (to_x,), (from_start,), (from_cost,) = subgraph_grad(
            wrt=[w], end=[x], start={y: 2.0}, cost=w**2, details=True
        )
        at = {"w": 3.0, "x": 5.0}
        assert float(value(from_start, **at)) == 10.0
        assert float(value(from_cost, **at)) == 6.0
        assert float(value(total, **at)) == 16.0
        assert float(value(to_x, **at)) == 6.0

    def test_details_of_what_was_not_given(self):
        w, x = pt.dscalars("w", "x")
        *_, from_start, from_cost = subgraph_grad([w], [x], cost=w * x, details=True)
        assert from_start is None
        assert float(value(from_cost[0], w=1.0, x=7.0)) == 7.0

    def test_it_needs_a_start(self):
        x = pt.dscalar("x")
        with pytest.raises(GradientError, match="give start, cost, or both"):
            subgraph_grad([x], [x])
