import numpy as np
import pytest

import phintys.tensor as pt
from phintys.gradient import disconnected_grad, grad, grad_clip, grad_scale, zero_grad
from phintys.passes import rewrite_graph
from phintys.passes.marks import CANONICAL_GRADIENT, drop_gradient_mark

x = pt.dmatrix("x")


@pytest.mark.parametrize(
    "mark",
    [
        zero_grad,
        disconnected_grad,
        lambda a: grad_clip(a, -1, 1),
        lambda a: grad_scale(a, 2.0),
    ],
)
def test_marks_go(apply_rule, mark):
    result = apply_rule(drop_gradient_mark, pt.exp(mark(x)))
    assert result.count == 1
    assert result.ops == ["Exp"]
    np.testing.assert_array_equal(result.after, result.before)


def test_other_nodes_stay(apply_rule):
    assert apply_rule(drop_gradient_mark, pt.exp(x)).count == 0


def test_the_list():
    assert [rule.name for rule in CANONICAL_GRADIENT] == ["drop_gradient_mark"]


def test_what_a_mark_did_to_a_gradient_stays(evaluate):
    values = {x: np.ones((2, 2))}
    gradient = rewrite_graph(grad(pt.sum(grad_scale(x, 3.0)), x))
    np.testing.assert_array_equal(evaluate([gradient], values)[0], np.full((2, 2), 3.0))
