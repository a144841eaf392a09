import pytest

import phintys.tensor as pt
from phintys import gradient
from phintys.graph import FunctionGraph, Type
from phintys.passes.gradient import CANONICAL_GRADIENT, drop_gradient_mark
from phintys.passes.pipelines import CANONICAL
from phintys.rewriting import Worklist

MARKS = [
    gradient.consider_constant,
    gradient.disconnected_grad,
    gradient.undefined_grad,
    gradient.zero_grad,
    lambda x: gradient.grad_clip(x, -1, 1),
    lambda x: gradient.grad_scale(x, 3),
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("type_", [pt.dmatrix, pt.lscalar, Type()], ids=str)
def test_marks_are_dropped(mark, type_):
    x = type_("x")
    fgraph = FunctionGraph([x], [mark(mark(x))], copy_inputs=False)
    Worklist([drop_gradient_mark], name="test").apply(fgraph, None)
    assert fgraph.outputs == [x]
    assert not fgraph.apply_nodes


def test_it_is_canonical():
    assert set(CANONICAL_GRADIENT) <= set(CANONICAL)
