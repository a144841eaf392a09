"""Random gradients at arguments where formulas have no value of their own."""

import numpy as np
import pytest

from tools.fuzz import check_seed, draw
from tools.fuzz.case import Case, Step
from tools.fuzz.gradients import check_gradients, smaller_gradients
from tools.fuzz.kinds import GRADIENTS
from tools.fuzz.modes import BASE


@pytest.fixture(scope="module")
def cases():
    return [draw(seed, GRADIENTS) for seed in range(60)]


def test_what_is_drawn_is_at_limits(cases):
    texts = [step.text for case in cases for step in case.steps]
    assert any("np.inf" in text for text in texts)
    assert any("loop_ops" in text for text in texts)
    assert any("pinv" in text or "svd" in text or "eigh" in text for text in texts)
    points = {given.name: [] for case in cases for given in case.givens}
    for case in cases:
        for given in case.givens:
            points[given.name].append(given.values[0])
    assert any(not one.any() for one in points["x"])
    assert any(np.array_equal(one, np.eye(3)) for one in points["m"])


def test_some_gradients_agree_with_differences():
    assert [check_seed(seed, GRADIENTS, 3) for seed in range(3)] == [None] * 3


def test_a_gradient_that_is_wrong_is_found_and_made_smaller(cases):
    case = next(one for one in cases if any(given.name == "x" for given in one.givens))
    wrong = "(gradient.disconnected_grad(x) * x).sum()"
    steps = (
        Step(("v0",), "pt.tanh(x)", ("x",)),
        Step(("cost",), wrong, ("x",)),
        Step(("pulled",), "gradient.grad(cost, x).sum()", ("cost", "x")),
        Step(("pushed",), "gradient.grad(cost, x).sum()", ("cost", "x")),
    )
    x = next(given for given in case.givens if given.name == "x")
    values = tuple(np.full(3, 1 + 1e-4 * place) for place in (0, 1, -1, 2, -2))
    givens = (type(x)(x.name, x.shape, values),)
    shown = Case(0, givens, steps, ("cost", "pulled", "pushed"), 5)
    found = check_gradients(shown, (BASE,))
    assert found is not None
    assert "differences give" in found.text
    assert all(len(one.steps) == 3 for one in smaller_gradients(shown))
