"""The rows of Jacobians are loops of steps."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.loop import Loop
from phintys.gradient import hessian, jacobian
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op
from tests.budget import budget


class Twice(Op):
    """An Op that has only Python code."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    def infer_shape(self, fgraph, node, input_shapes):
        return input_shapes

    def L_op(self, inputs, outputs, output_grads):
        return [Twice()(output_grads[0])]


x, w = pt.dvector("x"), pt.dmatrix("w")
FUNCTIONS = {
    "elementwise": pt.exp(x) * x.sum(),
    "product": pt.tanh(pt.dot(w, x)),
    "running": pt.cumsum(x) ** 2,
    "slice": x[::2] ** 2,
    "joined": pt.concatenate([x, x * x]),
    "gather": (x * x)[pt.arange(x.shape[0])[::-1]],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@budget(
    8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(n=st.integers(0, 12), seed=st.integers(0, 2**16))
def test_jacobians(compare, name, n, seed):
    draw = np.random.default_rng(seed).normal
    rows = jacobian(FUNCTIONS[name], x, vectorize=False)
    program = compare([x, w], [rows, rows.sum(axis=0)], [draw(size=n), draw(size=(n, n))])
    assert any(isinstance(step, Loop) for step in program.steps)


def test_derivatives_of_jacobians(compare):
    rows = jacobian(pt.tanh(pt.dot(w, x)), x, vectorize=False)
    draw = np.random.default_rng(0).normal
    outputs = [phintys.grad((rows**2).sum(), w), hessian((pt.exp(x) * x.sum()).sum(), x)]
    compare([x, w], outputs, [draw(size=5), draw(size=(5, 5))])


def test_steps_of_python_in_a_loop():
    rows = jacobian(Twice()(x**2) * x, x, vectorize=False)
    f = phintys.function([x], rows)
    program = lower_program(FunctionGraph([x], [rows], clone=True))
    (loop,) = [step for step in program.steps if isinstance(step, Loop)]
    assert any(isinstance(step, Callback) for step in walk_steps(loop.body))
    for n in (0, 1, 40):
        value = np.linspace(-1, 1, n)
        np.testing.assert_allclose(f(value), np.diag(6 * value**2), rtol=1e-13)


def test_what_is_checked_for_a_row_is_not_known_without_rows():
    y = pt.dvector("y")
    rows = jacobian(pt.dot(w, x) * y, x, vectorize=False)
    f = phintys.function([w, x, y], [rows, y * 2])
    found, twice = f(np.zeros((0, 3)), np.ones(3), np.ones(2))
    assert found.shape == (0, 3)
    assert twice.tolist() == [2, 2]
    with pytest.raises(ShapeError):
        f(np.zeros((1, 3)), np.ones(3), np.ones(2))
