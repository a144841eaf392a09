"""Loops through the pipelines: values and errors before and after, and what each rule leaves."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import Mode
from phintys._base.errors import ArgumentError, PhintysError, ShapeError
from phintys.control import Scan
from phintys.graph import Apply, FunctionGraph, Op
from phintys.graph.traversal import explicit_graph_inputs
from phintys.passes import PIPELINES
from phintys.testing.random_loops import make_loop, random_loops

PLAIN = Mode("reference")
FULL = Mode("reference", PIPELINES["full"])


def outcome(inputs, outputs, mode, values):
    f = phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")
    try:
        with np.errstate(all="ignore"):
            return f(*map(np.copy, values))
    except PhintysError as error:
        return error


def check_program(seed, mode):
    inputs, outputs, values = random_loops(Random(seed))
    before = outcome(inputs, outputs, PLAIN, values)
    after = outcome(inputs, outputs, mode, values)
    if isinstance(before, PhintysError):
        assert isinstance(after, PhintysError), before
        return
    assert not isinstance(after, PhintysError), after
    for one, other in zip(before, after, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        tolerance = 1e-4 if one.dtype == "float32" else 1e-9
        np.testing.assert_allclose(other, one, rtol=tolerance, atol=tolerance)


@given(st.integers(0, 2**32))
def test_random_loops_have_the_same_values(seed):
    check_program(seed, FULL)


def test_more_random_loops_have_the_same_values(repeats):
    for seed in range(repeats(25, 5_000)):
        check_program(seed, FULL)
        check_program(seed, Mode("reference", PIPELINES["light"]))


x, y = pt.dvectors("x", "y")
X, W = pt.dmatrices("X", "W")
s, t = pt.dscalars("s", "t")
n = pt.lscalar("n")


def rewritten(outputs, *excluded):
    """Return the graph of a program, and the rules for loops that were applied to it."""
    mode = FULL.excluding(*excluded).tracing()
    leaves = list(explicit_graph_inputs(outputs if isinstance(outputs, list) else [outputs]))
    f = phintys.function(leaves, outputs, mode=mode)
    passes = {"loops", "combine_loops"}
    names = [event.rule for event in f.trace().events if event.pass_name in passes]
    return f.maker.fgraph, names


def loops_of(fgraph: FunctionGraph) -> list[Any]:
    return [node for node in fgraph.toposort() if isinstance(node.op, Scan)]


def arguments_of(outputs, *excluded):
    """Return the arguments of the only loop that is left, and the rules that were applied."""
    fgraph, names = rewritten(outputs, *excluded)
    (node,) = loops_of(fgraph)
    return node.op.arguments, names


class TestArguments:
    def test_results_that_nobody_reads_are_dropped(self):
        results = make_loop(
            lambda t, row, a, b, c: [pt.cos(a) + row, b + a, c + b, a * 2],
            x.shape[0],
            [x],
            [((-1,), x[:1]), ((-1,), x[:1])],
            [s],
        )
        arguments, names = arguments_of(results[1])
        assert (len(arguments.taps), arguments.untraced, arguments.stacked) == (2, 0, 0)
        assert "drop_unread_results" in names
        assert arguments_of(results[0])[0].taps == ((-1,),)
        assert arguments_of(results)[0].stacked == 1

    def test_what_a_condition_needs_is_kept(self):
        results = make_loop(
            lambda t, a, b: [a * b, b + 1, pt.gt(b, 3)], n, untraced=[s, t], until=True
        )
        assert arguments_of(results[-1])[0].untraced == 1

    def test_inputs_that_no_step_reads_are_dropped(self):
        results = make_loop(lambda t, a, row, u: [pt.cos(u) + a], x.shape[0], [x, x], [], [s])
        arguments, names = arguments_of(results)
        assert arguments.sequences == 1
        assert "drop_unread_inputs" in names

    @pytest.mark.parametrize("count", [n, 3])
    def test_a_sequence_that_is_too_short_remains_an_error(self, count):
        (total,) = make_loop(lambda t, a, row, u: [pt.cos(u) + a], count, [x, y], [], [s])
        f = phintys.function([n, x, y, s], total, mode=FULL, on_unused_input="ignore")
        value = 0.0
        for row in (1, 2, 3):
            value = np.cos(value) + row
        np.testing.assert_allclose(f(3, [1, 2, 3], [1, 2, 3, 4], 0.0), value)
        with pytest.raises(ShapeError):
            f(3, [1, 2, 3], [1, 2], 0.0)

    def test_equal_inputs_are_united(self):
        results = make_loop(
            lambda t, a, b, u, c, d: [pt.cos(u) * a + b * c + d], 7, [x, x], [], [s], [t, t]
        )
        arguments, names = arguments_of(results)
        assert (arguments.sequences, arguments.captured) == (1, 1)
        assert "unite_inputs" in names

    def test_constants_are_part_of_the_step(self):
        arguments, names = arguments_of(
            make_loop(lambda t, u, c: [pt.cos(u) * c], n, untraced=[s], captured=[3.0])
        )
        assert arguments.captured == 0
        assert "capture_constants" in names

    def test_rows_that_are_all_the_same_are_captured(self):
        (total,) = make_loop(lambda t, row, u: [pt.cos(u) * row], n, [pt.alloc(s, n)], untraced=[t])
        arguments, names = arguments_of(total)
        assert (arguments.sequences, arguments.captured) == (0, 1)
        assert "capture_repeated_rows" in names

    @pytest.mark.parametrize("value", [[0.5, np.nan], [0.0, 0.0], 3.0])
    def test_rows_of_a_constant_that_are_all_the_same_are_part_of_the_step(self, value):
        rows = pt.constant(np.tile(value, (7,) + (1,) * np.ndim(value)))
        (last,) = make_loop(lambda t, row, u: [pt.cos(u) * row.sum()], 7, [rows], untraced=[t])
        arguments, _ = arguments_of(last)
        assert (arguments.sequences, arguments.captured) == (0, 0)

    @pytest.mark.parametrize("value", [[0.0, -0.0, 0.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
    def test_rows_of_a_constant_that_differ_stay_rows(self, value):
        rows = pt.constant(value)
        (last,) = make_loop(lambda t, row, u: [pt.cos(u) * row], 3, [rows], untraced=[x])
        assert "capture_repeated_rows" not in rewritten(last)[1]

    def test_states_that_do_not_change_are_captured(self):
        results = make_loop(lambda t, u, v: [pt.cos(u) * v, v], n, untraced=[s, t])
        arguments, names = arguments_of(results)
        assert (arguments.untraced, arguments.captured) == (1, 1)
        assert "capture_unchanging_states" in names


class TestWorkOutside:
    def test_what_is_the_same_in_all_steps_is_computed_once(self):
        (result,) = make_loop(lambda t, u, w: [u * pt.exp(w)], n, untraced=[s], captured=[t])
        fgraph, names = rewritten(result)
        (loop,) = loops_of(fgraph)
        assert "hoist_invariant_work" in names
        assert [str(one.op) for one in loop.op.fgraph.toposort()] == ["Mul"]

    def test_what_may_fail_stays_in_a_loop_that_may_not_run(self):
        class Fail(Op):
            __props__ = ()

            def make_node(self, x):
                return Apply(self, [x], [x.type()])

            def perform(self, node, inputs, output_storage):
                msg = "it failed"
                raise ValueError(msg)

        def build(count):
            return make_loop(lambda t, u, w: [u * Fail()(w)], count, [], [], [s], [t])

        f = phintys.function([n, s, t], build(n), mode=FULL)
        assert f(0, 2.0, 1.0) == [2.0]
        with pytest.raises(ValueError, match="it failed"):
            f(1, 2.0, 1.0)
        assert "hoist_invariant_work" in rewritten(build(7))[1]

    def test_what_only_one_side_of_a_choice_needs_stays(self):
        (result,) = make_loop(
            lambda t, u, w: [phintys.ifelse(u > 0, u * pt.exp(w), u)], n, [], [], [s], [t]
        )
        assert "hoist_invariant_work" not in rewritten(result)[1]

    @pytest.mark.parametrize("is_left", [False, True])
    def test_products_of_rows_are_one_product_before_the_loop(self, is_left):
        def step(t, row, h, w):
            return [pt.tanh((w @ row if is_left else row @ w) + h)]

        (trace,) = make_loop(step, X.shape[0], [X], [((-1,), X[:1])], [], [W])
        fgraph, names = rewritten(trace)
        (loop,) = loops_of(fgraph)
        assert "multiply_before_loop" in names
        assert not [one for one in loop.op.fgraph.apply_nodes if isinstance(one.op, pt.Dot)]

    def test_products_of_rows_stay_in_a_loop_that_may_end(self):
        def step(t, row, h, w):
            return [row @ w + h, pt.gt(h.sum(), 3)]

        results = make_loop(step, X.shape[0], [X], [((-1,), X[:1])], [], [W], until=True)
        assert "multiply_before_loop" not in rewritten(results[0])[1]

    def test_products_of_states_are_one_product_after_the_loop(self):
        results = make_loop(
            lambda t, h, w: [pt.tanh(h), pt.exp(h * 2) @ w], n, [], [((-1,), X[:1])], [], [W]
        )
        fgraph, names = rewritten(results)
        (loop,) = loops_of(fgraph)
        assert "multiply_after_loop" in names
        assert loop.op.arguments.stacked == 0

    def test_products_that_states_need_stay(self):
        results = make_loop(
            lambda t, h, w: [pt.tanh(h @ w), h @ w], n, [], [((-1,), X[:1])], [], [W]
        )
        assert "multiply_after_loop" not in rewritten(results)[1]

    def test_a_map_needs_no_loop(self):
        (result,) = make_loop(lambda t, row, w: [pt.exp(row @ w) * t], n, [X], captured=[W])
        fgraph, names = rewritten(result)
        assert not loops_of(fgraph)
        assert "map_whole_arrays" in names
        f = phintys.function([n, X, W], result, mode=FULL)
        given = np.arange(6.0).reshape(3, 2) / 7, np.eye(2)
        np.testing.assert_allclose(f(2, *given), np.exp(given[0][:2]) * [[0], [1]])
        with pytest.raises(ShapeError):
            f(4, *given)
        with pytest.raises((ArgumentError, ShapeError)):
            f(-1, *given)

    def test_rows_that_are_there_are_not_stacked(self):
        results = make_loop(lambda t, row, h: [pt.cos(h), h, row], n, [x], [((-1,), y[:1])])
        arguments, names = arguments_of(results)
        assert arguments.stacked == 0
        assert "stack_once" in names

    @pytest.mark.parametrize("until", [False, True])
    def test_what_is_the_same_in_all_steps_is_not_stacked(self, until):
        def step(t, h, w):
            return [pt.cos(h), w, pt.constant([1.0, 2.0]), *([h > 0.9] if until else [])]

        results = make_loop(step, n, [], [((-1,), y[:1])], captured=[x], until=until)
        arguments, names = arguments_of(results)
        assert arguments.stacked == 0
        assert "stack_once" in names
        f = phintys.function([n, x, y], results, mode=FULL)
        trace, repeated, constants, *_ = f(4, [3.0, 4.0, 5.0], [1.0])
        steps = len(trace) - 1
        assert steps == (1 if until else 4)
        np.testing.assert_array_equal(repeated, [[3.0, 4.0, 5.0]] * steps)
        np.testing.assert_array_equal(constants, [[1.0, 2.0]] * steps)

    @pytest.mark.parametrize("sized", [False, True])
    def test_the_gradient_of_a_step_that_is_a_gradient_is_as_simple_as_outside(self, sized):
        def step(h):
            cost = (h**3 * pt.eye(h.shape[0])[0]).sum()
            return h - 0.1 * phintys.grad(cost, h)

        start = pt.dvector("start", shape=(4 if sized else None,))
        trace, _ = phintys.scan(step, outputs_info=[start], n_steps=9)
        fgraph, _ = rewritten(phintys.grad((trace[-1] ** 2).sum(), start))
        names = {str(node.op) for one in loops_of(fgraph) for node in one.op.fgraph.apply_nodes}
        assert not names & {"Pow", "Switch", "And_"}
        assert "ARange{dtype=int64}" not in names or not sized
        assert all(one.op.arguments.stacked == 0 for one in loops_of(fgraph)) or not sized


class TestFewSteps:
    def test_few_small_steps_are_written_out(self):
        results = make_loop(
            lambda t, row, h, g, u: [h + g, u * row, pt.exp(u + t)],
            3,
            [x],
            [((-2, -1), y[:2])],
            [s],
        )
        fgraph, names = rewritten(results)
        assert not loops_of(fgraph)
        assert "write_out_few_steps" in names
        inputs = list(explicit_graph_inputs(results))
        values: dict[Any, Any] = {x: np.arange(1.0, 5.0), y: np.ones(4), s: 0.5}
        given = [values[v] for v in inputs]
        plain, full = (phintys.function(inputs, results, mode=mode) for mode in (PLAIN, FULL))
        for one, other in zip(plain(*given), full(*given), strict=True):
            np.testing.assert_allclose(one, other)
        values[x] = np.ones(2)
        with pytest.raises(ShapeError, match="Sequence 0 of a loop of 3 steps has 2 rows"):
            full(*(values[v] for v in inputs))

    def test_no_steps_return_what_was_given(self):
        results = make_loop(lambda t, h, u: [h * 2, u * 2], 0, [], [((-1,), y[:1])], [s])
        assert not loops_of(rewritten(results)[0])

    def test_many_or_large_steps_stay(self):
        def long(t, u):
            for _ in range(20):
                u = pt.sin(u) + pt.cos(u)
            return [u]

        assert loops_of(rewritten(make_loop(lambda t, u: [pt.sin(u)], 5, untraced=[s]))[0])
        assert loops_of(rewritten(make_loop(long, 3, untraced=[s]))[0])
        until = make_loop(lambda t, u: [pt.sin(u), u > 3], 3, untraced=[s], until=True)
        assert loops_of(rewritten(until[0])[0])

    def test_a_state_that_changes_its_shape_remains_an_error(self):
        (result,) = make_loop(lambda t, u: [pt.join(0, u, u)], 2, untraced=[x])
        f = phintys.function([x], result, mode=FULL)
        with pytest.raises(ShapeError):
            f([1.0, 2.0])


def test_a_rule_can_be_left_out():
    (result,) = make_loop(lambda t, row: [pt.exp(row)], n, [x])
    assert loops_of(rewritten(result, "map_whole_arrays")[0])
    assert loops_of(rewritten(result, "loops")[0])


def test_a_program_without_loops_is_left_alone():
    loops = next(one for one in PIPELINES["full"] if one.name == "loops")
    fgraph = FunctionGraph([x], [pt.exp(x) * 1])
    before = fgraph.toposort()
    loops.apply(fgraph)
    assert fgraph.toposort() == before


@pytest.mark.parametrize(
    ("excluded", "expected"),
    [
        ((), ["Add", "Log1p"]),
        (("loops", "combine_loops"), ["Add", "Log1p"]),
        (("inner_graphs",), ["Add", "Add", "Log"]),
        (("stabilize",), ["Add", "Add", "Log"]),
        (("inner_graphs", "canonicalize"), ["Add", "Add", "Log", "Mul"]),
        (("inner_graphs", "loops"), ["Add", "Add", "Log", "Mul"]),
    ],
)
def test_the_graph_of_a_step_is_rewritten_by_the_pipeline_of_the_mode(excluded, expected):
    (result,) = make_loop(lambda t, u, v: [pt.log(1 + u * 1) + v], n, [], [], [s], [t])
    (loop,) = loops_of(rewritten(result, *excluded)[0])
    assert sorted(str(node.op) for node in loop.op.fgraph.toposort()) == expected


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
def test_rewritten_loops_have_the_same_values_in_all_modes(mode, repeats):
    for seed in range(repeats(4, 300)):
        check_program(seed, phintys.get_mode(mode))
