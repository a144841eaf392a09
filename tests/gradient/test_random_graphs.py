"""Random smooth graphs: gradient, R-operator and finite differences agree on each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys.gradient import Lop, Rop, grad, hessian_vector_product
from tests.budget import budget

N = 3
MATRIX = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [-0.2, 0.3, 0.7]])

# Each takes two vectors of length 3 and gives one, all smooth and of moderate size.
STEPS = [
    lambda a, b: pt.tanh(a) + b,
    lambda a, b: pt.sin(a * b),
    lambda a, b: a * pt.sigmoid(b),
    lambda a, b: a / (1.5 + pt.cos(b)),
    lambda a, b: pt.exp(pt.tanh(a)) - b,
    lambda a, b: pt.dot(MATRIX, a) + b[::-1],
    lambda a, b: pt.tanh(a.sum() * b),
    lambda a, b: pt.concatenate([a[1:], b[:1]]),
    lambda a, b: pt.set_subtensor(a[1], b[2]),
    lambda a, b: pt.inc_subtensor(a[np.array([0, 2, 0])], pt.tanh(b)),
    lambda a, b: pt.dot(pt.tanh(a).dimshuffle(0, "x") * b.dimshuffle("x", 0), a),
    lambda a, b: pt.tanh((a.reshape((3, 1)) + b.reshape((1, 3))).mean(axis=0)),
    lambda a, b: pt.softmax(a) * b,
    lambda a, b: pt.log1p(a**2) + pt.sqrt(1 + b**2),
    lambda a, b: pt.cumsum(pt.tanh(a)) * 0.5 + b,
    lambda a, b: pt.switch(pt.arange(3) > 0, a, b),
    lambda a, b: pt.stack([a, b]).sum(axis=0) * 0.5,
]


@st.composite
def graphs(draw):
    """A function of two vectors, as a list of steps, each on two of the vectors so far."""
    program = []
    for i in range(draw(st.integers(1, 6))):
        step = draw(st.integers(0, len(STEPS) - 1))
        program.append((step, draw(st.integers(0, i + 1)), draw(st.integers(0, i + 1))))
    return program


def build(program, x, y):
    made = [x, y]
    for step, a, b in program:
        made.append(STEPS[step](made[a], made[b]))
    return made[-1] + 0.1 * (x + y)  # so that nothing is disconnected


def points(seed):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, N) for _ in range(5)]


@budget(30)
@given(graphs(), st.integers(0, 1000))
def test_the_derivatives_agree(program, seed):
    x, y, u, v, w = pt.dvectors("x", "y", "u", "v", "w")
    z = build(program, x, y)
    forward = Rop(z, [x, y], [v, w])
    forward_in_reverse = Rop(z, [x, y], [v, w], use_op_rop_implementation=False)
    to_x, to_y = Lop(z, [x, y], u)
    f = phintys.function([x, y], z)
    derivatives = phintys.function(
        [x, y, u, v, w],
        [forward, forward_in_reverse, (u * forward).sum(), (to_x * v).sum() + (to_y * w).sum()],
        on_unused_input="ignore",
    )
    at_x, at_y, at_u, at_v, at_w = points(seed)
    pushed, pushed_in_reverse, there, back = derivatives(at_x, at_y, at_u, at_v, at_w)
    h = 1e-5
    ahead = f(at_x + h * at_v, at_y + h * at_w)
    behind = f(at_x - h * at_v, at_y - h * at_w)
    difference = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(pushed, difference, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(pushed_in_reverse, pushed, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(there, back, rtol=1e-10, atol=1e-12)


@budget(15)
@given(graphs(), st.integers(0, 1000))
def test_second_derivatives_agree(program, seed):
    x, y, p, q = pt.dvectors("x", "y", "p", "q")
    cost = (build(program, x, y) ** 2).sum()
    gradients = grad(cost, [x, y])
    products = hessian_vector_product(cost, [x, y], [p, q])
    pushed = Rop(gradients, [x, y], [p, q])
    f = phintys.function([x, y], gradients)
    second = phintys.function([x, y, p, q], [*products, *pushed], on_unused_input="ignore")
    at_x, at_y, at_p, at_q, _ = points(seed)
    product_x, product_y, pushed_x, pushed_y = second(at_x, at_y, at_p, at_q)
    h = 1e-5
    ahead = f(at_x + h * at_p, at_y + h * at_q)
    behind = f(at_x - h * at_p, at_y - h * at_q)
    for found, again, a, b in zip(
        (product_x, product_y), (pushed_x, pushed_y), ahead, behind, strict=True
    ):
        np.testing.assert_allclose(found, (a - b) / (2 * h), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_each_step_alone(step):
    test_the_derivatives_agree.hypothesis.inner_test([(step, 0, 1)], 7)
