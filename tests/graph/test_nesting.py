"""Inner graphs inside of inner graphs: all works to the greatest depth, and more is an error."""

import pickle
from io import StringIO

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.control import LoopArguments, OpFromGraph, Scan
from phintys.graph import FunctionGraph
from phintys.graph.cloning import clone_replace
from phintys.graph.equality import equal_computations
from phintys.graph.inner import MOST_NESTED


def nested_ops(depth):
    op = pt.sin
    for _ in range(depth):
        v = pt.dscalar("v")
        op = OpFromGraph([v], [op(v) * 1.01], inline=False)
    return op


def nested_loops(depth):
    op, step = None, pt.sin
    for _ in range(depth):
        t, h = pt.lscalar("t"), pt.dscalar("h")
        op = Scan(FunctionGraph([t, h], [step(h) * 1.01]), LoopArguments(untraced=1))
        step = lambda h, op=op: op(1, h)  # noqa: E731 - the step of the loop around it
    return step


@pytest.fixture(params=[nested_ops, nested_loops])
def nest(request):
    return request.param


def test_too_deep_a_nest_is_an_error_that_says_so(nest):
    with pytest.raises(ArgumentError, match=f"nested {MOST_NESTED + 1} deep"):
        nest(MOST_NESTED + 1)


def test_graphs_of_the_greatest_depth_are_copied_compared_and_printed(nest):
    x, z = pt.dscalar("x"), pt.dscalar("z")
    y = nest(MOST_NESTED)(x)
    assert equal_computations([y], [nest(MOST_NESTED)(x)])
    assert not equal_computations([y], [nest(MOST_NESTED - 1)(x)])
    (copied,) = clone_replace([y], {x: z})
    assert equal_computations([copied], [y], [z], [x])
    assert pickle.loads(pickle.dumps(y)).type == y.type
    text = StringIO()
    phintys.dprint(y, file=text)
    assert text.getvalue().count("Sin") == 1
    assert phintys.pprint(y)


@pytest.mark.parametrize(
    "derive",
    [
        phintys.grad,
        lambda y, x: phintys.grad(phintys.grad(y, x), x),
        lambda y, x: phintys.Rop(y, x, x),
        lambda y, x: pt.vectorize_graph(y, {x: pt.dvector("xs")}),
        lambda y, x: phintys.gradient.jacobian(pt.stack([y, y]), x),
    ],
    ids=["gradient", "second", "tangent", "batch", "jacobian"],
)
def test_graphs_of_the_greatest_depth_have_derivatives(nest, derive):
    x = pt.dscalar("x")
    assert derive(nest(MOST_NESTED)(x), x).type.dtype == "float64"


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_graphs_of_the_greatest_depth_are_compiled(mode):
    x = pt.dscalar("x")
    y = nested_loops(MOST_NESTED)(x)
    f = phintys.function([x], [y, phintys.grad(y, x)], mode=mode)
    expected = 1.01**MOST_NESTED
    value, slope = f(0.0)
    assert value == 0
    assert slope == pytest.approx(expected)
    assert pickle.loads(pickle.dumps(f))(0.0)[1] == slope
