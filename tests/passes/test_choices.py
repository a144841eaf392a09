"""Combination of choices by the same condition: which are combined, and that all stay lazy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import ifelse
from phintys.control import IfElse
from phintys.graph import FunctionGraph, generic
from phintys.graph.verify import verify_graph
from phintys.passes.choices import combine_choices
from phintys.rewriting import RewriteTrace
from tests.counted import Counted

MODES = ("native", "reference")
X, Y = np.array([0.5, 1.0, 2.0]), np.array([2.0, 3.0, 0.25])
c, d = pt.bscalars("c", "d")
x, y = pt.dvectors("x", "y")


def merged(*outputs):
    """Return the graph after the pass, and the numbers of outputs of its choices."""
    trace = RewriteTrace()
    graph = FunctionGraph([c, d, x, y], list(outputs), copy_inputs=False)
    combine_choices.apply(graph, trace)
    verify_graph(graph)
    counts = sorted(len(n.outputs) for n in graph.toposort() if isinstance(n.op, IfElse))
    return graph, counts, trace


def test_choices_by_the_same_condition_are_merged():
    first, second = ifelse(c, x, y), ifelse(c, [x * 2, y], [y, x])
    graph, counts, trace = merged(first, *second, ifelse(d, x, y))
    assert counts == [1, 3]
    assert graph.outputs[0].owner is graph.outputs[2].owner
    assert trace.counts() == {"combine_choices": 2}
    assert str(first.owner.origin) == str(graph.outputs[0].owner.origin)


def test_names():
    def name(*names):
        graph, _, _ = merged(*(ifelse(c, x * n, y, name=one) for n, one in enumerate(names)))
        return str(graph.outputs[0].owner.op)

    assert name("one", "one") == "one"
    assert name("one", None) == "one"
    assert name("one", "two") == "one and two"
    assert name(None, None) == "IfElse"


def test_one_that_depends_on_the_other_is_not():
    first = ifelse(c, x, y)
    assert merged(first, ifelse(c, pt.exp(first), x))[1] == [1, 1]


def test_one_after_another_choice():
    between = ifelse(d, x, y)
    assert merged(ifelse(c, x, y), between, ifelse(c, between * 2, x))[1] == [1, 2]
    assert merged(ifelse(c, between * 2, x), between, ifelse(c, x, y))[1] == [1, 2]


def test_two_pairs_that_cannot_both_be_merged():
    one = ifelse(c, x, y)
    two = ifelse(d, one * 2, y)
    other = ifelse(d, x * 3, y)
    last = ifelse(c, other * 4, y)
    _, counts, _ = merged(one, two, other, last)
    assert counts == [1, 1, 2]


def test_those_needed_in_other_cases_are_not():
    inner = ifelse(c, pt.exp(x), y)
    guarded = ifelse(d, inner * 2, y)
    assert merged(guarded, ifelse(c, x, y))[1] == [1, 1, 1]
    again = ifelse(c, pt.sin(x), y)
    assert merged(ifelse(d, inner * again, y))[1] == [1, 2]
    assert merged(ifelse(d, inner, again))[1] == [1, 1, 1]


def test_those_with_too_many_cases_are_left_alone():
    conditions = [pt.bscalar() for _ in range(10)]
    one, two = ifelse(c, pt.exp(x), y), ifelse(c, pt.sin(x), y)
    outputs = [ifelse(k, one * n, y) for n, k in enumerate(conditions)]
    outputs += [ifelse(k, two * n, y) for n, k in enumerate(conditions[:-1])]
    graph = FunctionGraph([c, *conditions, x, y], outputs, copy_inputs=False)
    combine_choices.apply(graph)
    found = [n for n in graph.toposort() if isinstance(n.op, IfElse) and n.inputs[0] is c]
    assert [len(node.outputs) for node in found] == [1, 1]


def test_objects_are_merged_apart_from_tensors():
    a, b = generic("a"), generic("b")
    outputs = [ifelse(c, x, y), ifelse(c, y, x), ifelse(c, a, b), ifelse(c, b, a)]
    graph = FunctionGraph([c, x, y, a, b], outputs, copy_inputs=False)
    combine_choices.apply(graph)
    assert sorted(len(node.outputs) for node in graph.apply_nodes) == [2, 2]


@pytest.mark.parametrize("mode", [*MODES, "debug"])
def test_what_they_share_is_computed_once(mode):
    op = Counted("shared")
    middle = op(x)
    f = phintys.function([c, x, y], [ifelse(c, middle + 1, y), ifelse(c, middle * 2, y)], mode=mode)
    for value in (0, 1):
        op.calls = 0
        one, two = f(value, X, Y)
        np.testing.assert_allclose(one, np.sin(X) + 1 if value else Y)
        np.testing.assert_allclose(two, np.sin(X) * 2 if value else Y)
        assert bool(op.calls) == bool(value)
        if mode != "debug":
            assert op.calls == value


def test_native_code_has_one_branch():
    middle = pt.exp(x)
    f = phintys.function(
        [c, x, y], [ifelse(c, middle + 1, y), ifelse(c, middle * 2, y)], mode="native"
    )
    assert f.explain().count("exp(") == 1
    assert "1 branch" in f.explain().splitlines()[0]


@pytest.mark.parametrize("mode", MODES)
def test_all_stay_lazy(mode):
    ops = [Counted(str(number)) for number in range(4)]
    inner = ifelse(c, ops[0](x), ops[1](x))
    f = phintys.function(
        [c, d, x, y], [ifelse(d, inner * 2, y), ifelse(c, ops[2](x), ops[3](x))], mode=mode
    )
    for first, second in itertools.product((0, 1), repeat=2):
        for op in ops:
            op.calls = 0
        f(first, second, X, Y)
        needed = [second and first, second and not first, first, not first]
        assert [op.calls for op in ops] == [int(one) for one in needed]


def test_native_code_still_has_branches_where_one_of_them_cannot_be_one():
    filtered = ifelse(c, x[x > 0.7], y)
    outputs = [filtered, ifelse(c, pt.exp(x), y), ifelse(c, y, -x)]
    f = phintys.function([c, x, y], outputs, mode="native")
    assert sum(len(n.outputs) for n in f.maker.fgraph.apply_nodes if isinstance(n.op, IfElse)) == 3
    assert len(f.vm.callback_nodes) == 1
    assert len(f.vm.callback_nodes[0].outputs) == 1
    for value in (0, 1):
        found = f(value, X, Y)
        expected = [X[X > 0.7], np.exp(X), Y] if value else [Y, Y, -X]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other)


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 4), min_size=2, max_size=9))
@settings(max_examples=settings().max_examples // 2)
def test_generated_choices(steps):
    def build(choose):
        made = [x, y]
        for condition, i, j, kind in steps:
            one, other = made[i % len(made)], made[j % len(made)]
            made.append(
                choose((c, d)[condition % 2], one * kind, other + 1)
                if kind % 3
                else pt.tanh(one) - other
            )
        return made[2:]

    graph, _, _ = merged(*build(ifelse))
    f, g = (
        phintys.function([c, d, x, y], outputs, mode="reference", on_unused_input="ignore")
        for outputs in (graph.outputs, build(pt.switch))
    )
    for first, second in itertools.product((0, 1), repeat=2):
        for one, other in zip(f(first, second, X, Y), g(first, second, X, Y), strict=True):
            np.testing.assert_allclose(one, other)
