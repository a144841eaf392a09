"""Common mistakes with derivatives, and what the errors say."""

import pytest

from phintys._base.errors import (
    ArgumentError,
    DisconnectedInputError,
    GradientError,
    NullGradientError,
    TypeContractError,
)
from tests.test_wrong_inputs import Case, check

GRADIENTS = {
    "a cost that is no scalar": Case(
        """
        x = pt.vector("x")
        phintys.grad(x * 2, x)
        """,
        GradientError,
        ["scalar", "Vector(float64", "cost.sum()", "jacobian"],
    ),
    "a cost that is no variable": Case(
        'phintys.grad(3.0, pt.vector("x"))', TypeContractError, ["cost", "3.0", "float"]
    ),
    "a variable that does not matter": Case(
        """
        x, y = pt.vectors("x", "y")
        phintys.grad(x.sum(), y)
        """,
        DisconnectedInputError,
        ["y", "not part of the graph", "disconnected_inputs='ignore'"],
    ),
    "an output that the cost does not need, in grad of an Op": Case(
        """
        class SumAndDifference(Op):
            __props__ = ()

            def make_node(self, x, y):
                return Apply(self, [x, y], [x.type(), x.type()])

            def grad(self, inputs, output_grads):
                of_sum, of_difference = output_grads
                return [of_sum + of_difference, of_sum - of_difference]

        x, y = pt.dvectors("x", "y")
        total, difference = SumAndDifference()(x, y)
        phintys.grad(total.sum(), x)
        """,
        TypeContractError,
        ["disconnected gradient", "isinstance(g.type, DisconnectedType)", "zeros_like", "line 12"],
    ),
    "an element as variable": Case(
        """
        x = pt.vector("x")
        phintys.grad((x**2).sum(), x[0])
        """,
        DisconnectedInputError,
        ["Subtensor{0}", "not part of the graph", "grad(cost, x)[index]"],
    ),
    "an expression written twice": Case(
        """
        x = pt.vector("x")
        phintys.grad(((x * 2) ** 2).sum(), x * 2)
        """,
        DisconnectedInputError,
        ["computed apart", "keep an expression in a name"],
    ),
    "an equation without its unknown": Case(
        """
        x, y = pt.dvectors("x", "y")
        pt.optimize.root(y**2 - 1, x)
        """,
        ArgumentError,
        ["root", "does not depend on x", "the very variables"],
    ),
    "an integer cost": Case(
        """
        n = pt.lvector("n")
        phintys.grad(n.sum(), n)
        """,
        GradientError,
        ["Scalar(int64)", "line 2", "astype"],
    ),
    "a complex cost": Case(
        """
        z = pt.zvector("z")
        phintys.grad(z.sum(), z)
        """,
        GradientError,
        ["complex128", "cost.real", "line 2"],
    ),
    "an undefined gradient": Case(
        """
        x = pt.vector("x")
        y = phintys.gradient.undefined_grad(x)
        phintys.grad(y.sum(), x)
        """,
        NullGradientError,
        ["x", "line 2"],
    ),
    "a misspelt choice": Case(
        """
        x = pt.vector("x")
        phintys.grad(x.sum(), x, disconnected_inputs="warning")
        """,
        GradientError,
        ["'raise', 'warn' or 'ignore'", "'warning'"],
    ),
    "a direction of another rank": Case(
        """
        x = pt.vector("x")
        phintys.Rop(x**2, x, pt.matrix("v"))
        """,
        GradientError,
        ["x", "v", "Vector(float64", "Matrix(float64"],
    ),
    "a wrong gradient": Case(
        """
        twice = lambda x: phintys.gradient.grad_scale(x, 2.0)
        phintys.testing.verify_grad(twice, [np.ones(3)], rng=np.random.default_rng(0))
        """,
        GradientError,
        ["input 0", "symbolic", "numeric", "2 times"],
    ),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_mistake_is_explained(name):
    check(GRADIENTS[name])
