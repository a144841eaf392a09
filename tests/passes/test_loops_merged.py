"""Loops that become one, states that become one, and what is kept of a state."""

from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import Mode
from phintys._base.errors import IndexingError, ShapeError
from phintys.control import Scan
from phintys.graph import FunctionGraph
from phintys.graph.traversal import explicit_graph_inputs
from phintys.passes import PIPELINES
from phintys.testing.random_loops import make_loop

FULL = Mode("reference", PIPELINES["full"])
x, y = pt.dvectors("x", "y")
X, W = pt.dmatrices("X", "W")
s, t = pt.dscalars("s", "t")
n = pt.lscalar("n")


def compiled(outputs: Any, *excluded: str) -> tuple[Any, list[Any], list[str]]:
    """Return a function, its loops, and the rules for loops that were applied."""
    inputs = list(explicit_graph_inputs(outputs if isinstance(outputs, list) else [outputs]))
    f = phintys.function(inputs, outputs, mode=FULL.excluding(*excluded).tracing())
    passes = {"loops", "combine_loops"}
    names = [event.rule for event in f.trace().events if event.pass_name in passes]
    return f, loops_of(f.maker.fgraph), names


def loops_of(fgraph: FunctionGraph) -> list[Any]:
    return [node for node in fgraph.toposort() if isinstance(node.op, Scan)]


def running(row, u):
    return pt.tanh(row + u)


class TestMerging:
    def test_loops_over_the_same_sequence_become_one(self):
        (a,) = make_loop(lambda t, row, u: [running(row, u)], n, [x], untraced=[s])
        (b,) = make_loop(lambda t, row, u: [u * row + 1], n, [x], untraced=[s])
        f, loops, names = compiled([a, b])
        assert (len(loops), names.count("combine_loops")) == (1, 1)
        assert loops[0].op.arguments.sequences == 1
        unmerged, two, _ = compiled([a, b], "combine_loops")
        assert len(two) == 2
        values = [3, np.arange(4.0), 0.5]
        for one, other in zip(f(*values), unmerged(*values), strict=True):
            np.testing.assert_allclose(one, other)

    def test_loops_of_one_op_with_other_values_become_one(self):
        (a,) = make_loop(lambda i, u, c, d: [u * c + d], n, untraced=[s], captured=[s, t])
        op = a.owner.op
        (b,) = op(n, s, t, s, return_list=True)
        f, loops, _ = compiled([a, b])
        assert len(loops) == 1
        unmerged, _, _ = compiled([a, b], "combine_loops")
        for mine, expected in zip(f(4, 0.5, 0.3), unmerged(4, 0.5, 0.3), strict=True):
            np.testing.assert_allclose(mine, expected)

    def test_what_both_compute_is_computed_once(self):
        def step(row, u, v):
            return [running(row, v), u * v]

        first = make_loop(lambda t, *given: step(*given), n, [x], [], [s, t])
        again = make_loop(lambda t, *given: [*step(*given), pt.exp(given[2])], n, [x], [], [s, t])
        _, (loop,), _ = compiled([first[0], again[2]])
        assert (loop.op.arguments.untraced, loop.op.arguments.stacked) == (2, 1)
        ops = sorted(str(node.op) for node in loop.op.fgraph.toposort())
        assert ops == ["Add", "Exp", "Mul", "Tanh"]

    def test_a_row_is_passed_within_the_step(self):
        (a,) = make_loop(lambda t, row, u: [running(row, u)], n, [x], [((-1,), y[:1])])
        (b,) = make_loop(lambda t, new, old, u: [u + new * old], n, [a[1:], a[:-1]], [], [s])
        f, (loop,), names = compiled(b)
        assert "combine_loops" in names
        assert (loop.op.arguments.sequences, loop.op.arguments.taps) == (1, ((-1,),))
        trace = [0.5]
        for row in (1.0, 2.0, 3.0):
            trace.append(np.tanh(row + trace[-1]))
        values: dict[Any, Any] = {n: 3, x: [1.0, 2.0, 3.0], y: [0.5], s: 0.0}
        found = f(*(values[v] for v in explicit_graph_inputs([b])))
        np.testing.assert_allclose(found, np.dot(trace[1:], trace[:-1]))

    @pytest.mark.parametrize("part", [slice(None, None, -1), slice(1, -1), slice(2, None)])
    def test_other_rows_are_not_passed(self, part):
        (a,) = make_loop(lambda t, row, u: [running(row, u)], n, [x], [((-1,), y[:1])])
        (b,) = make_loop(lambda t, row, u: [u + row], n, [a[part]], [], [s])
        assert "combine_loops" not in compiled(b)[2]

    def test_a_loop_that_needs_the_result_of_the_other_stays(self):
        a = make_loop(lambda t, row, u: [running(row, u), row * u], n, [x], [], [s])
        (b,) = make_loop(lambda t, row, u, last: [u * last + row], n, [a[1]], [], [s], [a[0]])
        assert "combine_loops" not in compiled(b)[2]

    def test_loops_of_other_lengths_or_conditions_stay(self):
        def build(count, least=None):
            def step(t, row, u):
                return [running(row, u), *([] if least is None else [pt.gt(u, least)])]

            return make_loop(step, count, [x], [], [s], until=least is not None)[0]

        assert len(compiled([build(n), build(n + 1)])[1]) == 2
        assert len(compiled([build(n), build(n, 2)])[1]) == 2
        assert len(compiled([build(n, 1), build(n, 2)])[1]) == 2

    def test_loops_with_the_same_condition_become_one(self):
        def build(*more):
            def step(t, row, u):
                return [running(row, u), *(f(u) for f in more), pt.gt(u, 2)]

            return make_loop(step, n, [x], [], [s], until=True)

        assert len(compiled([build()[0], *build(pt.exp)[1:]])[1]) == 1

    def test_what_is_needed_in_different_cases_stays_apart(self):
        (a,) = make_loop(lambda t, row, u: [running(row, u)], n, [x], untraced=[s])
        (b,) = make_loop(lambda t, row, u: [u * row + 1], n, [x], untraced=[s])
        assert len(compiled(phintys.ifelse(s > 0, a, b))[1]) == 2
        assert len(compiled(phintys.ifelse(s > 0, [a, b], [s, s]))[1]) == 1

    def test_both_sequences_are_still_checked(self):
        (a,) = make_loop(lambda t, row, other, u: [running(row, u)], n, [x, y], [], [s])
        (b,) = make_loop(lambda t, row, u: [u * row], n, [x], [], [s])
        f, loops, _ = compiled([a, b])
        assert len(loops) == 1
        given: dict[Any, Any] = {n: 3, x: np.ones(3), y: np.ones(2), s: 1.0}
        with pytest.raises(ShapeError):
            f(*(given[v] for v in explicit_graph_inputs([a, b])))


class TestStates:
    def test_states_that_are_equal_in_all_steps_become_one(self):
        results = make_loop(
            lambda t, a, b, c: [a + pt.sin(b), b + pt.sin(a), a * b * c], n, untraced=[s, s, s]
        )
        _, (loop,), names = compiled(results)
        assert loop.op.arguments.untraced == 2
        assert "unite_equal_results" in names

    def test_states_that_differ_after_a_step_stay(self):
        results = make_loop(lambda t, a, b: [a + pt.sin(b), b + pt.cos(a)], n, untraced=[s, s])
        assert compiled(results)[1][0].op.arguments.untraced == 2

    def test_equal_states_of_which_one_starts_elsewhere_stay(self):
        results = make_loop(lambda t, a, b: [pt.sin(a), pt.sin(b)], n, untraced=[s, t])
        assert compiled(results)[1][0].op.arguments.untraced == 2

    @pytest.mark.parametrize("taps", [(-1,), (-2, -1), (-3,)])
    def test_only_the_last_rows_are_kept(self, taps):
        depth = -taps[0]
        (trace,) = make_loop(lambda t, *u: [pt.sin(sum(u)) + t], n, [], [(taps, X[:depth])])
        f, (loop,), names = compiled([trace[-1], trace[depth:][-1, 0], trace.shape[0]])
        assert "keep_last_rows" in names
        assert (loop.op.arguments.taps, loop.op.arguments.untraced) == ((), depth)
        first = np.arange(6.0).reshape(3, 2)
        plain = phintys.function(
            [n, X], [trace[-1], trace[-1, 0], trace.shape[0]], mode="reference"
        )
        for count in (1, 2, 5):
            for one, other in zip(f(count, first), plain(count, first), strict=True):
                np.testing.assert_allclose(one, other)
        with pytest.raises((IndexingError, IndexError)):
            f(0, first)

    def test_the_last_row_of_the_trace_is_always_there(self):
        (trace,) = make_loop(lambda t, u: [pt.sin(u)], n, [], [((-1,), X[:1])])
        f, _, names = compiled(trace[-1])
        assert "keep_last_rows" in names
        np.testing.assert_array_equal(f(0, [[1.0, 2.0]]), [1.0, 2.0])

    @pytest.mark.parametrize("taps", [(-1,), (-2, -1), (-3,)])
    def test_numbers_are_kept_without_the_first_ones(self, taps):
        depth = -taps[0]

        def step(i: Any, *u: Any) -> list[Any]:
            return [pt.sin(sum(u)) + i]

        (trace,) = make_loop(step, n, [], [(taps, x[:depth])])
        rows = [trace[depth:], trace[depth:][-1]]
        f, (loop,), names = compiled(rows)
        assert "keep_later_rows" in names
        arguments = loop.op.arguments
        assert (arguments.taps, arguments.untraced, arguments.stacked) == ((), depth, 1)
        first = np.arange(3.0)
        plain = phintys.function([n, x], rows, mode="reference")
        for count in (1, 2, 5):
            for one, other in zip(f(count, first), plain(count, first), strict=True):
                np.testing.assert_array_equal(one, other)
        empty = phintys.function([n, x], rows[0], mode=FULL)
        assert empty(0, first).shape == (0,)

    @pytest.mark.parametrize("read", [lambda z: z[2:], lambda z: z[1::2], lambda z: z[1:-1]])
    def test_numbers_of_which_others_are_read_stay(self, read):
        (trace,) = make_loop(lambda t, u: [pt.sin(u)], n, [], [((-1,), x[:1])])
        assert compiled([read(trace), trace[1:]])[1][0].op.arguments.taps == ((-1,),)

    @pytest.mark.parametrize(
        "read", [lambda z: z, lambda z: z[-2], lambda z: z[n], lambda z: z[1:]]
    )
    def test_a_trace_of_which_more_is_read_stays(self, read):
        (trace,) = make_loop(lambda t, u: [pt.sin(u)], n, [], [((-1,), X[:1])])
        assert compiled([read(trace), trace[-1]])[1][0].op.arguments.taps == ((-1,),)


class TestSums:
    def test_sums_of_outer_products_are_one_product(self):
        results = make_loop(
            lambda t, row, h, w, b: [pt.tanh(row * h), w + row[:, None] * h[None] * 2, b + h],
            n,
            [X],
            [],
            [x, W, x],
        )
        f, (loop,), names = compiled(results[1:])
        assert "sum_products_after_loop" in names
        assert (loop.op.arguments.untraced, loop.op.arguments.stacked) == (1, 1)
        rows, h, w = np.arange(12.0).reshape(4, 3) / 9, np.ones(3) / 3, np.zeros((3, 3))
        b = h.copy()
        given: dict[Any, Any] = {n: 4, X: rows, x: h, W: w}
        found = f(*(given[v] for v in explicit_graph_inputs(results[1:])))
        for row in rows:
            w, b, h = w + 2 * np.outer(row, h), b + h, np.tanh(row * h)
        np.testing.assert_allclose(found[0], w)
        np.testing.assert_allclose(found[1], b)

    @pytest.mark.parametrize(("length", "is_moved"), [(None, True), (4, True), (32, False)])
    def test_short_products_of_matrices_are_one_product(self, length, is_moved):
        first = pt.tensor("first", dtype="float64", shape=(length, None))
        results = make_loop(
            lambda t, h, w: [pt.tanh(h), w + pt.dot(h.T, pt.exp(h))], n, [], [], [first, W]
        )
        assert ("sum_products_after_loop" in compiled(results)[2]) is is_moved

    def test_rows_written_into_zeros_are_written_after_the_loop(self):
        k = pt.lvector("k")
        results = make_loop(
            lambda t, at, h, w: [pt.tanh(h * 2), w + pt.inc_subtensor(pt.zeros((3, 2))[at], h)],
            n,
            [k],
            [],
            [x, W],
        )
        f, (loop,), _ = compiled(results[1])
        assert loop.op.arguments.untraced == 1
        given: dict[Any, Any] = {n: 3, k: [2, 0, 2], x: np.ones(2) / 2, W: np.ones((3, 2))}
        expected, h = np.ones((3, 2)), np.ones(2) / 2
        for at in (2, 0, 2):
            expected[at] += h
            h = np.tanh(h * 2)
        values = [given[v] for v in explicit_graph_inputs(results[1:])]
        np.testing.assert_allclose(f(*values), expected)

    @pytest.mark.parametrize("dtype", ["float64", "int8"])
    def test_sums_and_cumulative_sums_and_products_need_no_loop(self, dtype):
        v, a = pt.tensor("v", dtype=dtype, shape=(None,)), pt.tensor("a", dtype=dtype, shape=(1,))
        two = pt.constant(np.asarray(2, dtype))
        results = make_loop(
            lambda t, row, b, c, d: [b + row * two, c * row, d + row, d],
            v.shape[0],
            [v],
            [((-1,), a), ((-1,), a)],
            [a[0]],
        )
        f, loops, names = compiled(results[:3])
        assert not loops
        assert "accumulate_whole_arrays" in names
        plain = phintys.function([v, a], results[:3], mode="reference")
        for rows in ([], [3], [5, 7, -6, 3, 100]):
            given: dict[Any, Any] = {v: np.asarray(rows, dtype), a: np.asarray([3], dtype)}
            found = f(*(given[leaf] for leaf in explicit_graph_inputs(results[:3])))
            for one, other in zip(found, plain(*given.values()), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)

    def test_sums_over_the_number_of_the_step_take_no_memory(self):
        results = make_loop(lambda t, a: [a + 1 / (t + 1.0)], n, untraced=[s])
        assert len(compiled(results)[1]) == 1

    def test_sums_that_take_more_memory_than_the_rows_stay(self):
        (result,) = make_loop(lambda t, row, a, w: [a + row * w], n, [y], [], [x], [x])
        assert len(compiled(result)[1]) == 1

    def test_sums_that_later_steps_read_stay(self):
        results = make_loop(
            lambda t, row, h, w: [pt.tanh(w @ h), w + row[:, None] * h], n, [X], [], [x, W]
        )
        assert "sum_products_after_loop" not in compiled(results)[2]

    def test_sums_of_rows_stay(self):
        results = make_loop(lambda t, row, b: [b + pt.exp(row)], n, [X], [], [x])
        assert "sum_products_after_loop" not in compiled(results)[2]


def test_the_gradient_of_a_loop_does_not_run_the_steps_again():
    def step(t, row, h, w):
        return [pt.tanh(pt.exp(pt.sin(row @ w) * h) + h @ w)]

    (trace,) = make_loop(step, X.shape[0], [X], [((-1,), X[:1])], [], [W])
    cost = (trace[1:] ** 2).sum()
    outputs = [cost, phintys.grad(cost, W)]
    f, loops, _ = compiled(outputs)
    assert len(loops) == 2
    plain = phintys.function(
        list(explicit_graph_inputs(outputs)), outputs, mode=FULL.excluding("loops", "combine_loops")
    )
    rng = np.random.default_rng(1)
    given = rng.normal(size=(5, 3)), rng.normal(size=(3, 3)) / 3
    for one, other in zip(f(*given), plain(*given), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
