"""The few rows of a Jacobian of single numbers, which are written out."""

import re

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import RowLoop
from phintys.control.rows import row_batches
from phintys.gradient import DisconnectedInputError, hessian, jacobian
from phintys.graph import applys_between

x = pt.tensor("x", dtype="float64", shape=(3,))
AT = np.array([0.3, -0.7, 1.2])


def oscillator(v):
    """Return the state of Van der Pol's oscillator after two steps under a force."""
    state, force = [v[0], v[1]], v[2]
    for _ in range(2):
        a, b = state
        state = [a + 0.1 * ((1 - b * b) * a - b + force), b + 0.1 * a]
    return pt.stack(state)


def has_loop(variable):
    return any(isinstance(node.op, RowLoop) for node in applys_between([], [variable]))


def written_into_zeros(v):
    """Return a sum of numbers in vectors of zeros, and of a vector."""
    zeros = pt.zeros(3)
    first = pt.inc_subtensor(zeros[0], pt.sin(v[0]) * v[1] * pt.exp(v[2]))
    return first + pt.inc_subtensor(zeros[2], v[1] * v[1] * pt.cos(v[2])) + v


CASES = {
    "oscillator": oscillator,
    "linear": lambda v: pt.stack([v[0] * v[1] * pt.sin(v[2]), 3 * v[1], pt.constant(2.0)]),
    "into zeros": written_into_zeros,
    "gradient": lambda v: phintys.grad(oscillator(v)[0], v),
    "gradient of a part": lambda v: phintys.grad(pt.sin(v[0] * v[2]) * v[0], v),
    "read twice": lambda v: oscillator(v) * oscillator(v)[::-1],
    "matrix": lambda v: pt.stack([oscillator(v), oscillator(v[::-1])]),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_a_loop(name):
    y = CASES[name](x)
    rows, looped = jacobian(y, x), jacobian(y, x, vectorize=False)
    assert rows.type == looped.type
    assert has_loop(looped)
    one, other = phintys.function([x], [rows, looped])(AT)
    np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)


def test_those_of_an_oscillator_need_neither_a_loop_nor_an_array():
    for rows in (jacobian(oscillator(x), x), hessian(oscillator(x).sum(), x)):
        assert not has_loop(rows)
        text = phintys.function([x], rows, mode="native").explain()
        assert "loop" not in text.splitlines()[0]
        assert not re.search(r" for \w", text)
        assert set(re.findall(r"8 \* (\d+) bytes", text)) <= {"1"}, "numbers between kernels"


def test_a_row_leaves_out_what_its_number_does_not_depend_on():
    y = pt.stack([x[0] * x[1] * pt.sin(x[0]), pt.sqrt(x[2]) * x[0]])
    found = jacobian(y, x).eval({x: [1.0, 2.0, 0.0]})  # the slope of the root is infinite
    slopes = [2 * (np.sin(1.0) + np.cos(1.0)), np.sin(1.0), 0.0]
    np.testing.assert_allclose(found[0], slopes, rtol=1e-14)
    assert found[1].tolist() == [0.0, 0.0, np.inf]


def test_variables_and_constants_on_the_way():
    y = pt.stack([x[0] * x[1] * pt.sin(x[0]), x[2] * pt.exp(x[2]) * x[1]])
    z = y + pt.stack([pt.exp(x[0] * x[1]) * x[2], pt.sin(x[1]) * x[0] * x[2]])
    np.testing.assert_array_equal(jacobian(z, y).eval({x: AT}), np.eye(2))
    for constants in ([y], [y, x[1]]):
        found = [jacobian(z, x, iter(constants), vectorize=how) for how in (None, False)]
        one, other = phintys.function([x], found)(AT)
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-15)
    w = pt.dscalar("w")
    to_x, to_w = jacobian(oscillator(x), [x, w], disconnected_inputs="ignore")
    assert to_x.type.shape == (2, 3)
    assert to_w.eval({x: AT, w: 1.0}).tolist() == [0.0, 0.0]
    with pytest.raises(DisconnectedInputError):
        jacobian(oscillator(x), w)


def test_more_than_a_few_are_computed_in_a_loop(monkeypatch):
    v = pt.tensor("v", dtype="float64", shape=(33,))
    many = [v[i] * pt.sin(v[i - 1]) * v[0] for i in range(9)]
    assert has_loop(jacobian(pt.stack(many), v)), "nine rows"
    assert has_loop(jacobian(pt.stack(many[:2]), v)), "33 columns"
    assert has_loop(jacobian(pt.tanh(x) * x[0], x)), "of arrays"
    monkeypatch.setattr(row_batches, "_MOST_NODES", 200)
    h = x[0] * x[1]
    for _ in range(20):
        h = pt.sin(h) * x[2]
    assert has_loop(jacobian(pt.stack([h, h * h, h * x[0]]), x)), "many nodes"
