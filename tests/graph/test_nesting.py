"""Inner graphs inside of inner graphs: to which depth all works, and what is an error beyond."""

import inspect
import math
import pickle
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, InconsistencyError
from phintys.compile import Mode
from phintys.control import LoopArguments, OpFromGraph, Scan
from phintys.graph import FunctionGraph
from phintys.graph.aliasing import check_aliasing, overwrites
from phintys.graph.cloning import clone_replace
from phintys.graph.equality import equal_computations
from phintys.graph.inner import MOST_NESTED
from phintys.graph.verify import verify_graph
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
    "no pass, native": lambda y, x: phintys.function(
        [x], y, mode=Mode("native", PIPELINES["none"])
    ),
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


def nested_derivatives(depth):
    """Each Op has a derivative of its own, which is an Op with the one before inside."""
    op = pt.sin
    for _ in range(depth):
        v, out, g = pt.dscalars("v", "out", "g")
        pullback = OpFromGraph([v, out, g], [g * op(v)], inline=False)
        op = OpFromGraph([v], [pt.sin(v)], inline=False, lop_overrides=pullback)
    return op


def nested_updates(depth):
    """Each Op overwrites its input."""
    op = inc_subtensor_inplace
    for _ in range(depth):
        v = pt.dvector("v")
        op = OpFromGraph([v], [op(v)], inline=False, destroy_map={0: [0]})
    return op


def inc_subtensor_inplace(v):
    return pt.inc_subtensor(v[0], 1.0, inplace=True)


def test_derivatives_of_derivatives_are_entered_by_pickling_alone():
    x = pt.dscalar("x")
    y: Any = nested_derivatives(FAR_TOO_DEEP)(x)
    with pytest.raises(ArgumentError, match=f"nested {2 * FAR_TOO_DEEP} deep"):
        pickle.dumps(y)
    twin = y.owner.op.clone()
    with pytest.raises(ArgumentError, match=f"nested {2 * FAR_TOO_DEEP} deep"):
        pickle.dumps(twin)
    assert phintys.function([x], phintys.grad(y, x), mode="reference")(0.0) == 0.0
    few = pickle.loads(pickle.dumps(nested_derivatives(3)))
    assert few == nested_derivatives(3)


@pytest.fixture
def few_calls():
    """Not many more calls inside of each other than there are."""
    before, frame, used = sys.getrecursionlimit(), inspect.currentframe(), 0
    while frame is not None:
        used, frame = used + 1, frame.f_back
    yield lambda: sys.setrecursionlimit(used + FAR_TOO_DEEP)
    sys.setrecursionlimit(before)


def test_nests_are_verified_without_nested_calls(nest, few_calls):
    x = pt.dscalar("x")
    fgraph = FunctionGraph([x], [nest(FAR_TOO_DEEP)(x)])
    few_calls()
    verify_graph(fgraph)


def test_nests_that_overwrite_are_checked_without_nested_calls(few_calls):
    x = pt.dvector("x")
    fgraph = FunctionGraph([x], [nested_updates(FAR_TOO_DEEP)(x)])
    few_calls()
    check_aliasing(fgraph, fgraph.inputs)


def test_an_error_deep_in_a_nest_names_all_nodes_around_it():
    x = pt.dvector("x")
    fgraph = FunctionGraph([x], [nested_updates(7)(x)])
    node: Any = next(iter(fgraph.apply_nodes))
    for _ in range(5):
        (node,) = node.op.fgraph.apply_nodes
    node.op.mutable_inner = ()
    with pytest.raises(InconsistencyError, match="overwrites") as caught:
        check_aliasing(fgraph, fgraph.inputs)
    assert sum("In the inner graph" in note for note in caught.value.__notes__) == 6
    with pytest.raises(ArgumentError, match=f"nested {FAR_TOO_DEEP} deep"):
        phintys.function(
            [phintys.In(x, mutable=True)],
            nested_updates(FAR_TOO_DEEP)(x),
            accept_inplace=True,
            mode="native",
        )


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
    y: Any = twice(60)(pt.dscalar("x"))
    assert not overwrites(y.owner)


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
