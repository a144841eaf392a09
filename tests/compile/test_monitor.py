"""MonitorMode: hooks before and after each node."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.compile import MonitorMode, function
from phintys.passes import PIPELINES
from phintys.tensor.inplace import exp_inplace


def test_hooks_see_each_node_in_order():
    seen = []

    def pre(fgraph, i, node, fn):
        assert node in fgraph.apply_nodes
        seen.append(("pre", i, str(node.op), fn.inputs[0][0].tolist(), fn.outputs[0][0]))

    def post(fgraph, i, node, fn):
        seen.append(("post", i, str(node.op), fn.inputs[0][0].tolist(), fn.outputs[0][0].tolist()))

    x = pt.dvector("x")
    f = function([x], pt.exp(-x), mode=MonitorMode(pre, post))
    for _ in range(2):
        seen.clear()
        f([0.0])
        assert seen == [
            ("pre", 0, "Neg", [0.0], None),
            ("post", 0, "Neg", [0.0], [-0.0]),
            ("pre", 1, "Exp", [-0.0], None),
            ("post", 1, "Exp", [-0.0], [1.0]),
        ]


def test_values_before_a_node_are_those_that_it_overwrites():
    before, after = [], []
    mode = MonitorMode(
        pre_func=lambda fgraph, i, node, fn: before.append(fn.inputs[0][0].tolist()),
        post_func=lambda fgraph, i, node, fn: after.append(fn.inputs[0][0].tolist()),
    )
    x = pt.dvector("x")
    function([x], exp_inplace(x + 1.0), mode=mode, accept_inplace=True)([-1.0])
    assert (before[-1], after[-1]) == ([0.0], [1.0])


@pytest.mark.parametrize("hooks", [{}, {"pre_func": None}])
def test_hooks_may_be_left_out(hooks):
    x = pt.dvector("x")
    assert function([x], x * 2, mode=MonitorMode(**hooks))([1.0]).tolist() == [2.0]


def test_pipelines_and_errors_of_hooks():
    def refuse(fgraph, i, node, fn):
        if np.isnan(fn.outputs[0][0]).any():
            raise FloatingPointError("NaN")

    x = pt.dvector("x")
    y = pt.log(x)  # the line
    f = function([x], y * 1, mode=MonitorMode(post_func=refuse, pipeline=PIPELINES["full"]))
    assert len(f.maker.fgraph.apply_nodes) == 1
    f([1.0])
    with np.errstate(invalid="ignore"), pytest.raises(FloatingPointError) as caught:
        f([-1.0])
    assert "# the line" in "\n".join(caught.value.__notes__)
