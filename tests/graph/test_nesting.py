"""Inner graphs inside of inner graphs: to which depth all works, and what is an error beyond."""

import math
import pickle
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.compile import Mode
from phintys.control import LoopArguments, OpFromGraph, Scan
from phintys.graph import FunctionGraph
from phintys.graph.aliasing import overwrites
from phintys.graph.cloning import clone_replace
from phintys.graph.equality import equal_computations
from phintys.graph.inner import MOST_NESTED
from phintys.passes import PIPELINES


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


FAR_TOO_DEEP = 120

ENTERED = {
    "gradient": phintys.grad,
    "tangent": lambda y, x: phintys.Rop(y, x, x),
    "batch": lambda y, x: pt.vectorize_graph(y, {x: pt.dvector("xs")}),
    "pickle": lambda y, x: pickle.dumps(y),
    "native": lambda y, x: phintys.function([x], y, mode="native"),
    "reference": lambda y, x: phintys.function([x], y, mode="reference"),
    "no pass": lambda y, x: phintys.function([x], y, mode=Mode("reference", PIPELINES["none"])),
}


def test_any_nest_is_made_compared_copied_and_printed(nest):
    x, z = pt.dscalar("x"), pt.dscalar("z")
    y = nest(FAR_TOO_DEEP)(x)
    assert equal_computations([y], [nest(FAR_TOO_DEEP)(x)])
    assert not equal_computations([y], [nest(FAR_TOO_DEEP - 1)(x)])
    assert equal_computations(clone_replace([y], {x: z}), [y], [z], [x])
    text = StringIO()
    phintys.dprint(y, file=text)
    assert text.getvalue().count("Sin") == 1


@pytest.mark.parametrize("how", ENTERED)
def test_what_nests_calls_too_deeply_is_an_error_that_says_so(nest, how):
    x = pt.dscalar("x")
    with pytest.raises(ArgumentError, match=f"nested {FAR_TOO_DEEP} deep.*setrecursionlimit"):
        ENTERED[how](nest(FAR_TOO_DEEP)(x), x)


def test_with_a_higher_limit_deep_nests_are_differentiated_compiled_and_pickled(python_command):
    done = subprocess.run(
        python_command(Path(__file__), "100"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_an_op_that_is_used_twice_in_each_level_is_compared_once():
    """Were each use compared, it would be 2**60 of them."""

    def twice(depth):
        op = pt.sin
        for _ in range(depth):
            v = pt.dscalar("v")
            op = OpFromGraph([v], [op(v) + op(2 * v)], inline=False)
        return op

    assert twice(60) == twice(60)
    assert not overwrites(twice(60)(pt.dscalar("x")).owner)


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


def _walk(depth):
    sys.setrecursionlimit(20_000)
    x = pt.dscalar("x")
    for nest in (nested_ops, nested_loops):
        x, y = pickle.loads(pickle.dumps((x, nest(depth)(x))))
        assert phintys.grad(y, x).type == phintys.Rop(y, x, x).type == y.type
        assert pt.vectorize_graph(y, {x: pt.dvector("xs")}).type.ndim == 1
    for mode in ("native", "reference"):
        f = pickle.loads(pickle.dumps(phintys.function([x], y, mode=mode)))
        assert f(0.3) == pytest.approx(math.sin(0.3) * 1.01**depth)


if __name__ == "__main__":
    _walk(int(sys.argv[1]))
