"""Gradients through loops, against finite differences and against programs without loops."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DisconnectedInputError, NullGradientError
from phintys.control import (
    LoopArguments,
    Scan,
    fori_loop,
    gradient_memory,
    loop,
    scan_checkpoints,
    while_loop,
)
from phintys.control.loop_derivatives import through_time
from phintys.graph import Apply, FunctionGraph, Op, generic
from phintys.graph.null_type import disconnected_type, grad_undefined
from phintys.graph.traversal import toposort
from phintys.tensor.linear_algebra.matrix_op import FailingMatrixOp
from tests.budget import budget
from tests.control.loops_for_tests import steps, unrolled

MODES = ["native", "reference", "debug"]


def variables_for(op, values):
    """Return the variables of the arguments of a loop."""
    return [pt.tensor(f"v{i}", shape=(None,) * np.ndim(x)) for i, x in enumerate(values)]


def weighted(results, which):
    """Return a cost that depends on some results, each element in its own way."""
    terms = []
    for number, result in enumerate(results):
        if result is None or not which >> number & 1:
            continue
        row = pt.sin(pt.arange(1.0, 4.0) * (number + 1))
        terms.append((row * result).sum())
        if result.ndim == 2:
            terms.append((result**2)[0, 1])
    return sum(terms, start=pt.constant(0.0))


class Drawn:
    """A loop that was drawn and the program without it, with a cost of either."""

    def __init__(self, drawn, n, which, only_last=False, is_known=False):
        op, values = drawn
        self.inputs = [pt.lscalar("n"), *variables_for(op, values)]
        self.values = [n, *values]
        results = op(n if is_known else self.inputs[0], *self.variables, return_list=True)
        ran = n
        if op.arguments.has_until:
            count = phintys.function(
                self.inputs, results.pop(), mode="reference", on_unused_input="ignore"
            )
            ran = int(count(*self.values))
        others = unrolled(op, ran, self.variables)
        results = [x if y is not None else None for x, y in zip(results, others, strict=True)]
        if only_last and ran:
            results, others = map(last_rows, (results, others))
        self.costs = [weighted(results, which), weighted(others, which)]
        self.results = results, others

    @property
    def variables(self):
        return self.inputs[1:]

    def compare(self, found, expected, mode="reference"):
        """Compare values of the loop with those of the program without it."""
        f = phintys.function(self.inputs, [*found, *expected], mode=mode, on_unused_input="ignore")
        values = f(*self.values)
        for one, other in zip(values[: len(found)], values[len(found) :], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def last_rows(results):
    """Return the last rows of matrices, and the vectors."""
    return [x[-1] if x is not None and x.ndim == 2 else x for x in results]


def gradients(cost, variables):
    """Return gradients, zero where there is no connection."""
    return phintys.grad(cost, variables, disconnected_inputs="ignore")


@budget(10)
@given(steps(), st.integers(0, 4), st.integers(1, 63), st.booleans())
def test_gradients_are_those_of_the_program_without_a_loop(drawn, n, which, only_last):
    case = Drawn(drawn, n, which, only_last)
    case.compare(*(gradients(cost, case.variables) for cost in case.costs))


@budget(10)
@given(
    steps(depth=0, truncates=True, checkpoints=(None, False, 1, 2)),
    st.integers(0, 4),
    st.integers(1, 63),
    st.booleans(),
)
def test_truncated_gradients_go_through_the_last_steps_only(drawn, n, which, only_last):
    case = Drawn(drawn, n, which, only_last)
    case.compare(*(gradients(cost, case.variables) for cost in case.costs))


@budget(10)
@given(
    steps(checkpoints=(None, False, 1, 2, 3)),
    st.integers(0, 4),
    st.integers(1, 63),
    st.booleans(),
    st.booleans(),
)
def test_gradients_with_checkpoints_are_those_of_the_program_without_a_loop(
    drawn, n, which, only_last, is_known
):
    case = Drawn(drawn, n, which, only_last, is_known)
    with phintys.config.change_flags(loop_megabytes=0):
        found, expected = (gradients(cost, case.variables) for cost in case.costs)
    case.compare(found, expected)


@budget(10)
@given(steps(), st.integers(0, 3), st.integers(1, 63))
def test_tangents_are_those_of_the_program_without_a_loop(drawn, n, which):
    case = Drawn(drawn, n, which)
    points = [pt.cos(x + 1.0) for x in case.variables]
    found, expected = (
        phintys.Rop(cost, case.variables, points, disconnected_outputs="ignore")
        for cost in case.costs
    )
    case.compare([found], [expected])


@budget(6)
@given(steps(depth=0), st.integers(0, 3), st.integers(1, 63))
def test_second_derivatives_are_those_of_the_program_without_a_loop(drawn, n, which):
    case = Drawn(drawn, n, which)
    found = []
    for cost in case.costs:
        first = gradients(cost, case.variables)
        norm = sum((pt.sin(g) * 0.5 * g).sum() for g in first)
        points = [pt.cos(x + 1.0) for x in case.variables]
        forward = phintys.Rop(first, case.variables, points, disconnected_outputs="ignore")
        found.append([*gradients(norm, case.variables), *forward])
    case.compare(*found)


def recurrent(n, x, h, w):
    """Return a trace of tanh(x[t] + w h + 0.1 h'), for the states h and h' before, and a stack."""
    t, row, before, last, v = pt.lscalar(), *pt.dvectors("a", "b", "c"), pt.dmatrix()
    new = pt.tanh(row + v @ last + 0.1 * before)
    step = FunctionGraph([t, row, before, last, v], [new, pt.exp(new).sum() * row / (1.0 + t)])
    arguments = LoopArguments(sequences=1, taps=((-2, -1),), stacked=1, captured=1)
    return Scan(step, arguments)(n, x, h, w, return_list=True)


@pytest.mark.parametrize(
    "mode", ["native", "reference", pytest.param("debug", marks=pytest.mark.stress)]
)
def test_gradients_are_those_of_finite_differences(mode):
    rng = np.random.default_rng(3)
    given = rng.normal(size=(4, 3)), rng.normal(size=(2, 3)), rng.normal(size=(3, 3))

    def f(x, h, w):
        trace, stack = recurrent(4, x, h, w)
        return (trace**2).sum() + pt.sin(stack).sum() + trace[-1, 0]

    phintys.gradient.verify_grad(f, given, rng=rng, mode=mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [None, 3.0, -1.0])
def test_a_while_loop_without_traces_has_gradients(mode, limit):
    t, x, a = pt.lscalar(), pt.dscalar(), pt.dscalar()
    step = FunctionGraph(
        [t, x, a], [x * a + pt.sin(x), pt.gt(x * a, 5.0 if limit is None else limit)]
    )
    loop = Scan(step, LoopArguments(untraced=1, captured=1, has_until=True))
    x0, a0 = pt.dscalars("x0", "a0")
    y, ran = loop(np.iinfo(np.int64).max, x0, a0)
    f = phintys.function([x0, a0], [y, ran, *phintys.grad(y, [x0, a0])], mode=mode)
    found, n, *gradients = f(0.7, 1.4)
    dx, da, x = 1.0, 0.0, 0.7
    for _ in range(n):
        dx, da = (1.4 + np.cos(x)) * dx, x + (1.4 + np.cos(x)) * da
        x = x * 1.4 + np.sin(x)
    np.testing.assert_allclose([found, *gradients], [x, dx, da])


def test_what_a_finished_loop_did_not_run_contributes_nothing():
    t, x, total = pt.lscalar(), pt.dscalar(), pt.dscalar()
    step = FunctionGraph([t, x, total], [total + pt.sqrt(x), pt.lt(x, 1.0)])
    loop = Scan(step, LoopArguments(sequences=1, taps=((-1,),), has_until=True))
    xs = pt.dvector("xs")
    trace, _ = loop(xs.shape[0], xs, np.zeros(1))
    f = phintys.function([xs], phintys.grad(trace[-1], xs), mode="reference")
    np.testing.assert_allclose(f([4.0, 0.25, -1.0, 0.0]), [0.25, 1.0, 0.0, 0.0])


@pytest.mark.parametrize("mode", MODES)
def test_integer_states_have_no_gradient_and_stop_none(mode):
    t, x, i, u = pt.lscalar(), pt.dscalar(), pt.lscalar(), pt.dscalar()
    step = FunctionGraph([t, x, i, u], [i + 2, u * x * i])
    loop = Scan(step, LoopArguments(sequences=1, untraced=2))
    xs, i0, u0 = pt.dvector("xs"), pt.lscalar("i0"), pt.dscalar("u0")
    last, y = loop(xs.shape[0], xs, i0, u0)
    assert phintys.grad(y, [xs, u0])
    f = phintys.function([xs, i0, u0], [y, last, *phintys.grad(y, [xs, u0])], mode=mode)
    y, last, to_xs, to_u0 = f([2.0, 3.0, 0.5], 1, 4.0)
    assert last == 7
    np.testing.assert_allclose([y, to_u0], [4 * 3 * 15.0, 3 * 15.0])
    np.testing.assert_allclose(to_xs, y / np.array([2.0, 3.0, 0.5]))


def test_only_values_that_take_long_are_saved():
    x, h, w = pt.dmatrix("x"), pt.dmatrix("h"), pt.dmatrix("w")
    trace, stack = recurrent(x.shape[0], x, h, w)
    node = trace.owner
    loops = loops_of(phintys.grad(trace[-1].sum(), w))
    forward = [each for each in loops if each.op.name is None]
    # The new rows, from which the derivative of tanh is computed, are those of the trace.
    assert forward == [node]
    (backward,) = (each for each in loops if each not in forward)
    assert backward.op.arguments.sequences == 2
    loops = loops_of(phintys.grad(stack.sum(), w))
    forward = [each.op.arguments for each in loops if each.op.name is None]
    assert forward[-1].stacked == 1 + 2  # the exponential, and its sum


def test_states_of_which_only_the_last_value_is_kept_are_kept_for_the_gradient():
    t, h, w = pt.lscalar(), pt.dvector("h"), pt.dmatrix("w")
    step = FunctionGraph([t, h, w], [pt.tanh(w @ h)])
    n, h0, w0 = pt.lscalar("n"), pt.dvector("h0"), pt.dmatrix("w0")
    last = Scan(step, LoopArguments(untraced=1, captured=1))(n, h0, w0)
    loops = loops_of(phintys.grad(last.sum(), w0))
    kept = [each.op.arguments for each in loops if each.op.name is None]
    assert LoopArguments(taps=((-1,),), captured=1) in kept


def test_the_gradient_for_the_last_row_needs_no_zeros_for_the_others():
    x, h, w = pt.dmatrix("x"), pt.dmatrix("h"), pt.dmatrix("w")
    trace, _ = recurrent(x.shape[0], x, h, w)
    for loss in (
        trace[-1].sum(),
        trace[2:][-1].sum(),
        trace[-1, 1],
        trace[-1].sum() + trace[-1, 0],
    ):
        (loop,) = (each for each in loops_of(phintys.grad(loss, w)) if each.op.name)
        assert loop.op.arguments.sequences == 2  # the new rows, and the rows before


def loops_of(variable):
    """Return the loops in a graph."""
    return [node for node in toposort([variable]) if isinstance(node.op, Scan)]


LONG_LOOP = """
import resource
import numpy as np, phintys, phintys.tensor as pt
from phintys.control import (
    LoopArguments,
    Scan,
    fori_loop,
    gradient_memory,
    loop,
    scan_checkpoints,
    while_loop,
)
from phintys.control.loop_derivatives import through_time
from phintys.graph import Apply, FunctionGraph, Op, generic
from phintys.graph.null_type import disconnected_type, grad_undefined

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

t, x, a = pt.lscalar(), *(pt.tensor(shape=(1000,)) for _ in range(2))
step = FunctionGraph([t, x, a], [x + 1e-6 * pt.tanh(a * x)])
x0, a0 = pt.dvectors("x0", "a0")
last = Scan(step, LoopArguments(untraced=1, captured=1))({steps}, x0, a0)
f = phintys.function([x0, a0], phintys.grad((last**2).sum(), [x0, a0]))
before = peak()
found = f(np.ones(1000), np.ones(1000))
print(peak() - before, *(g[0] for g in found))
"""


@pytest.mark.parametrize(
    ("steps_", "budget", "most"),
    [(20_000, 16, 60), pytest.param(1_000_000, 256, 1000, marks=pytest.mark.stress)],
)
def test_gradients_of_long_loops_keep_some_states_only(steps_, budget, most):
    run = subprocess.run(
        [sys.executable, "-c", LONG_LOOP.format(steps=steps_)],
        env=os.environ | {"PHINTYS_FLAGS": f"loop_megabytes={budget}"},
        capture_output=True,
        timeout=600,
        check=True,
    )
    megabytes, to_x, to_a = map(float, run.stdout.split())
    assert megabytes < most  # the states of all steps take 8 kB each
    x = dx = 1.0
    da = 0.0
    for _ in range(steps_):
        slope = 1e-6 * (1 - np.tanh(x) ** 2)
        da, dx, x = da + slope * (x + da), dx + slope * dx, x + 1e-6 * np.tanh(x)
    np.testing.assert_allclose([to_x, to_a], [2 * x * dx, 2 * x * da], rtol=1e-6)


def test_the_loop_that_is_differentiated_is_named_after_its_segments():
    x, h, w = pt.dmatrix("x"), pt.dmatrix("h"), pt.dmatrix("w")
    trace, _ = recurrent(100, x, h, w)
    assert "segments" not in phintys.dprint(phintys.grad(trace[-1].sum(), w), file="str")
    with phintys.config.change_flags(loop_megabytes=0):
        text = phintys.dprint(phintys.grad(trace[-1].sum(), w), file="str")
    assert "gradient of Scan in segments" in text
    x0 = pt.tensor(shape=(1000,))
    last = phintys.scan(pt.sin, None, x0, n_steps=100_000, return_updates=False)[-1]
    text = phintys.dprint(phintys.grad(last.sum(), x0), file="str")
    assert "gradient of Scan in segments of " in text


@pytest.mark.parametrize("checkpoint", [True, 0.5, -3])
def test_invalid_checkpoints_are_errors(checkpoint):
    t, x = pt.lscalar(), pt.dscalar()
    with pytest.raises(ArgumentError, match="number of steps between the states"):
        Scan(FunctionGraph([t, x], [x]), LoopArguments(untraced=1), checkpoint=checkpoint)


@pytest.mark.parametrize("apply", [
    lambda body, x, every: phintys.scan(body, x, 0.5, return_updates=False, checkpoint=every)[-1],
    lambda body, x, every: loop(lambda h, row: (body(row, h), None), 0.5, x, checkpoint=every)[0],
    lambda body, x, every: fori_loop(
        0, x.shape[0], lambda i, h: body(x[i], h), 0.5, checkpoint=every
    ),
    lambda body, x, every: while_loop(
        lambda pair: pair[0] < x.shape[0],
        lambda pair: (pair[0] + 1, body(x[pair[0]], pair[1])),
        (0, 0.5),
        checkpoint=every,
    )[1],
])  # fmt: skip
def test_functions_for_loops_take_checkpoints(apply):
    x = pt.dvector("x")
    found = []
    for every in (None, 2, 3):
        last = apply(lambda row, h: pt.sin(h) * row + h, x, every)
        gradient = phintys.grad(last, x)
        assert ("segments" in phintys.dprint(gradient, file="str")) == (every is not None)
        found.append(phintys.function([x], gradient, mode="reference")(np.arange(1.0, 6.0)))
    np.testing.assert_allclose(found[1], found[0])
    np.testing.assert_allclose(found[2], found[0])


def test_scan_checkpoints_keeps_what_its_blocks_return():
    x = pt.dvector("x")
    states, _ = scan_checkpoints(lambda row, h: pt.sin(h) * row, x, 0.5, save_every_N=3)
    backward = [node.op for node in loops_of(phintys.grad(states[-1], x)) if node.op.name]
    outer = [op for op in backward if op.name == "checkpointscan_fn_outer"]
    assert {op.arguments.stacked for op in outer} == {0}


class Jumps(Op):
    """The fractional part, without a gradient."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(inputs[0] % 1.0)

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, 0, inputs[0], "it jumps")]


def test_a_gradient_that_does_not_exist_names_the_line_of_the_step():
    x, y = pt.dvectors("x", "y")
    states = phintys.scan(
        lambda a, b, h: Jumps()(h) * a + b,  # the line
        [x, y],
        0.5,
        return_updates=False,
    )
    for result in (states[-1], states.sum()):
        with pytest.raises(NullGradientError, match=r"it jumps(.|\n)*Jumps\(\)\(h\) \* a"):
            phintys.grad(result, y)


def test_values_that_a_choice_skips_are_not_saved_for_the_gradient():
    x = pt.dmatrix("x")

    def step(row, h):
        return phintys.ifelse(row[0] > 0, Counted()(row).sum() * h, h)

    last = phintys.scan(step, x, 1.0, return_updates=False)[-1]
    f = phintys.function([x], [last, phintys.grad(last, x)], mode="reference")
    value = np.array([[2.0, 1.0], [-1.0, 5.0], [1.0, 3.0]])
    Counted.calls = 0
    found, gradient = f(value)
    np.testing.assert_allclose(found, 5 * 10)
    np.testing.assert_allclose(gradient, [[40, 20], [0, 0], [10, 30]])
    assert Counted.calls <= 4  # for two of the three steps, and again for the gradient


class Counted(Op):
    """The square, which counts its calls."""

    __props__ = ()
    calls = 0

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        Counted.calls += 1
        output_storage[0][0] = inputs[0] ** 2

    def L_op(self, inputs, outputs, output_grads):
        return [2 * inputs[0] * output_grads[0]]


def counting(has_gradient):
    """Return a loop with a state of no tensor type, a Python list that grows; and its input."""
    t, items, h = pt.lscalar(), generic("items"), pt.dscalar("h")
    size = SizeOf(has_gradient)(items)
    step = FunctionGraph([t, items, h], [Longer()(items), h * size])
    h0 = pt.dscalar("h0")
    items0 = generic("items0")
    _, last = Scan(step, LoopArguments(untraced=2))(3, items0, h0)
    return items0, h0, last


class Longer(Op):
    """A list with an item more."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = [*inputs[0], None]


class SizeOf(Op):
    """The length of a list, as a float."""

    __props__ = ("has_gradient",)

    def __init__(self, has_gradient):
        self.has_gradient = has_gradient

    def make_node(self, x):
        return Apply(self, [x], [pt.dscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.asarray(float(len(inputs[0])))

    def L_op(self, inputs, outputs, output_grads):
        if self.has_gradient:
            return [Longer()(inputs[0])]
        return [disconnected_type()]


@pytest.mark.parametrize("mode", MODES)
def test_states_that_are_not_tensors_are_not_differentiated(mode):
    items0, h0, last = counting(has_gradient=False)
    f = phintys.function([items0, h0], [last, phintys.grad(last, h0)], mode=mode)
    np.testing.assert_allclose(f([None, None], 0.5), [0.5 * 2 * 3 * 4, 2 * 3 * 4])


def test_the_gradient_of_a_state_that_is_not_a_tensor_does_not_exist():
    items0, h0, last = counting(has_gradient=True)
    assert phintys.grad(last, h0) is not None
    with pytest.raises(NullGradientError, match="only tensors"):
        phintys.grad(last, items0)


@pytest.mark.parametrize(
    ("n", "size", "checkpoint", "decision"),
    [
        (100, 10, None, "keeps everything, 0.008 MB for 100 steps"),
        (
            pt.lscalar(),
            10,
            None,
            r"everything, 8 MB for 100000 steps \(their number is unknown",
        ),
        (pt.lscalar(), None, None, r"everything, 0.08 MB for 100 steps \(their number is unknown"),
        (pt.lscalar(), 1_000, None, "everything if it takes at most 256 MB when it runs, and else"),
        (10_000, 10_000, None, "before every 100 steps: everything would take 800 MB"),
        (pt.lscalar(), 1_000_000, None, r"before about every sqrt\(1 n\) steps"),
        (2_000, None, None, "keeps everything, 1.6 MB for 2000 steps"),
        (10_000, None, None, "everything if it takes at most 256 MB when it runs, and else the st"),
        (10_000, 10_000, False, "keeps everything, 800 MB for 10000 steps, as checkpoint=False"),
        (10_000, 10, 50, "keeps the states before every 50 steps"),
    ],
)
def test_what_a_gradient_keeps_is_told(n, size, checkpoint, decision):
    t, x = pt.lscalar(), pt.tensor(shape=(size,))
    step = FunctionGraph([t, x], [pt.tanh(x)])
    loop = Scan(step, LoopArguments(taps=((-1,),)), checkpoint=checkpoint)
    trace = loop(n, pt.tensor(shape=(1, size)))
    assert re.search(decision, gradient_memory(trace))


def test_sizes_that_are_known_when_a_gradient_runs_decide_what_it_keeps():
    x, n = pt.dvector("x"), 10_000
    last = phintys.scan(lambda h: h - 1e-3 * pt.sin(h), None, x, n_steps=n, return_updates=False)[
        -1
    ]
    gradient = phintys.grad(last.sum(), x)
    (segments,) = [
        node for node in loops_of(gradient) if node.op.name == "gradient of Scan in segments"
    ]
    f = phintys.function([x], [segments.inputs[0], gradient])
    # A cosine for each step and element is kept: 80 kB for an element.
    found = [f(np.ones(size)) for size in (1, 3200, 3201)]
    assert [count.item() for count, _ in found] == [0, 0, 100]
    np.testing.assert_allclose([g[0] for _, g in found], found[0][1][0])


def test_numbers_of_steps_that_are_known_when_a_gradient_runs_decide_what_it_keeps():
    x, n = pt.vector("x", shape=(1_000,)), pt.lscalar("n")
    last = phintys.scan(lambda h: h - 1e-5 * pt.sin(h), None, x, n_steps=n, return_updates=False)[
        -1
    ]
    gradient = phintys.grad(last.sum(), x)
    (segments,) = [
        node for node in loops_of(gradient) if node.op.name == "gradient of Scan in segments"
    ]
    f = phintys.function([x, n], [segments.inputs[0], gradient[:1]])
    found = [f(np.ones(1_000), count) for count in (32_000, 32_001)]
    assert [count.item() for count, _ in found] == [0, 178]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3)


def test_an_inverse_that_the_steps_compute_is_the_gradient_of_their_determinants():
    a, x = pt.dmatrix("a"), pt.dvector("x")

    def step(p):
        p = a @ p @ a.T + pt.eye(2)
        return p, x @ pt.linalg.inv(p) @ x + pt.log(pt.linalg.det(p))

    rows, _ = phintys.scan(step, None, [pt.eye(2), None], n_steps=3)
    gradient = phintys.grad(rows[1].sum(), a)
    (backward,) = [node.op for node in loops_of(gradient) if node.op.name]
    assert not any(isinstance(node.op, FailingMatrixOp) for node in backward.fgraph.apply_nodes)
    cost, p = 0.0, pt.eye(2)
    for _ in range(3):
        p, term = step(p)
        cost += term
    values = np.array([[0.5, 0.2], [-0.1, 0.8]]), np.array([1.0, -2.0])
    f = phintys.function([a, x], [gradient, phintys.grad(cost, a)])
    np.testing.assert_allclose(*f(*values))


@pytest.mark.parametrize("power", [2, 0.5, -1])
def test_simple_powers_are_not_kept(power):
    x = pt.dvector("x")
    states, _ = phintys.scan(lambda h: 1.0 / (1 + h**power), None, x, n_steps=100)
    gradient = phintys.grad(states[-1].sum(), x)
    assert all(not node.op.arguments.stacked for node in loops_of(gradient))


def test_a_map_whose_values_are_too_large_computes_them_again():
    x = pt.dmatrix("x")
    with phintys.config.change_flags(loop_megabytes=0):
        rows = phintys.scan(lambda row: pt.exp(pt.sin(row)), x, return_updates=False)
        gradient = phintys.grad((rows**2).sum(), x)
    assert {node.op.arguments.stacked for node in loops_of(gradient)} == {1}  # no residuals
    value = np.arange(6.0).reshape(3, 2)
    expected = 2 * np.exp(2 * np.sin(value)) * np.cos(value)
    np.testing.assert_allclose(phintys.function([x], gradient)(value), expected)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_derivatives_of_all_kinds_agree(mode):
    x, v = pt.dvectors("x", "v")
    states = phintys.scan(lambda a, h: pt.sin(h) * a + h, x, 0.5, return_updates=False)
    results = [
        phintys.jacobian(states, x),
        phintys.hessian(states[-1], x),
        phintys.Lop(states, x, v),
        phintys.Rop(states, x, v),
        phintys.gradient.hessian_vector_product(states[-1], [x], [v])[0],
        phintys.grad(states[-1], x),
    ]
    f = phintys.function([x, v], results, mode=mode)
    at, along = np.array([0.3, 0.7, -0.2]), np.array([1.0, 2.0, 0.5])
    jacobian, hessian, left, right, product, slope = f(at, along)
    np.testing.assert_allclose(left, along @ jacobian)
    np.testing.assert_allclose(right, jacobian @ along)
    np.testing.assert_allclose(product, hessian @ along)
    np.testing.assert_allclose(slope, jacobian[-1])
    steps_ = 1e-6 * np.eye(3)
    rows = [(f(at + step, along)[5] - f(at - step, along)[5]) / 2e-6 for step in steps_]
    np.testing.assert_allclose(hessian, rows, rtol=1e-6, atol=1e-8)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", [(), ..., slice(None), (slice(None), slice(None)), (..., None)])
def test_gradients_for_all_rows_however_they_are_indexed(index, mode):
    x, h0 = pt.dmatrix("x"), pt.dvector("h0")
    states = phintys.scan(lambda a, h: pt.sin(h) * a + h, x, h0, return_updates=False)
    found = phintys.grad((states[index] ** 2).sum() + states[-1].sum(), [x, h0])
    expected = phintys.grad((states**2).sum() + states[-1].sum(), [x, h0])
    f = phintys.function([x, h0], [*found, *expected], mode=mode)
    g, g0, e, e0 = f(np.linspace(-1, 1, 6).reshape(3, 2), [0.3, -0.5])
    np.testing.assert_allclose(g, e)
    np.testing.assert_allclose(g0, e0)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_have_the_dtypes_of_their_variables(mode):
    x, c, k = pt.fvector("x"), pt.dscalar("c"), pt.lvector("k")
    start = np.float32(0.5)
    states = phintys.scan(
        lambda i, h: (pt.tanh(c * h) + x[i]).astype("float32"), k, start, return_updates=False
    )
    found = phintys.grad(states[-1].astype("float64"), [x, c])
    assert [g.dtype for g in found] == ["float32", "float64"]
    to_x, to_c = phintys.function([x, c, k], found, mode=mode)([0.5, 0.25], 2.0, [0, 1])
    h = np.tanh(1.0) + 0.5
    slope = 1 - np.tanh(2 * h) ** 2
    np.testing.assert_allclose(to_x, [2 * slope, 1.0], rtol=1e-6)
    np.testing.assert_allclose(to_c, slope * (h + 2 * 0.5 * (1 - np.tanh(1.0) ** 2)), rtol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_complex_states_have_complex_gradients(mode):
    z, z0 = pt.zvector("z"), pt.zscalar("z0")
    states = phintys.scan(lambda a, h: a * h + h**2, z, z0, return_updates=False)
    cost = abs(states[-1]) ** 2
    f = phintys.function([z, z0], [cost, phintys.grad(cost, z0)], mode=mode)
    given, at, tiny = np.array([0.5 + 0.2j, 0.3 - 0.4j]), 0.3 + 0.1j, 1e-6
    parts = [(f(given, at + d)[0] - f(given, at - d)[0]) / (2 * tiny) for d in (tiny, tiny * 1j)]
    np.testing.assert_allclose(f(given, at)[1], parts[0] + 1j * parts[1], rtol=1e-6)


def test_numbers_of_steps_and_shapes_have_no_gradient():
    n, x = pt.lscalar("n"), pt.dvector("x")
    last = phintys.scan(lambda h: h * 1.5, None, [x.sum()], n_steps=n, return_updates=False)[-1]
    with pytest.raises(DisconnectedInputError, match=r"Scan, applied at(.|\n)*h \* 1.5"):
        phintys.grad(last, n)
    size = x.shape[0]
    last = phintys.scan(lambda h: h + size, None, 0.0, n_steps=3, return_updates=False)[-1]
    with pytest.raises(DisconnectedInputError, match="its shape or the like"):
        phintys.grad(last, x)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("whole", [slice(None), ..., ()])
def test_gradients_through_an_index_of_all_rows(whole, mode):
    x = pt.dvector("x")
    sums, _ = phintys.scan(lambda a, s: a + s / 2, sequences=x, outputs_info=pt.zeros(()))
    costs = [(rows**2).sum() + rows[-1] for rows in (sums, sums[whole])]
    f = phintys.function([x], [phintys.grad(cost, x) for cost in costs], mode=mode)
    expected, found = f([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found, expected)


def test_a_number_that_is_computed_anew_in_each_step_has_a_gradient():
    """A state that is not a tensor, and that no step reads."""
    t, h, c, x = pt.lscalar("t"), ps.float64("h"), ps.float64("c"), pt.dscalar("x")
    op = Scan(FunctionGraph([t, h, c], [ps.sin(c)]), LoopArguments(untraced=1, captured=1))
    y = pt.tensor_from_scalar(op(3, ps.constant(1.0), pt.scalar_from_tensor(x)))
    np.testing.assert_allclose(phintys.grad(y, x).eval({x: 0.3}), np.cos(0.3))


def markov(transition, emission, start):
    """Return the logarithms of probabilities after the last of some steps.

    The bound keeps the sums of exponentials from being products.
    """

    def step(e, alpha, transition):
        return pt.logsumexp(pt.minimum(alpha[:, None] + transition, 1e9), axis=0) + e

    return phintys.scan(step, [emission], start, [transition], return_updates=False)[-1]


@pytest.mark.parametrize(
    ("states", "most"), [(None, 16_000_000), (None, 3 * 3 * 8 * 5 - 1), (3, 16_000_000)]
)
def test_exponentials_are_kept_or_taken_again_with_the_same_results(monkeypatch, states, most):
    monkeypatch.setattr(through_time, "MOST_BESIDE", most)
    a = pt.matrix("a", shape=(states, states))
    e = pt.matrix("e", shape=(None, states))
    s = pt.vector("s", shape=(states,))
    cost = pt.logsumexp(markov(a, e, s))
    gradients = phintys.grad(cost, [a, e, s])
    curvature = phintys.grad((gradients[0] ** 2).sum(), a)
    looped = phintys.function([a, e, s], [cost, *gradients, curvature])

    alpha = s
    for t in range(5):
        alpha = pt.logsumexp(alpha[:, None] + a, axis=0) + e[t]
    cost = pt.logsumexp(alpha)
    gradients = phintys.grad(cost, [a, e, s])
    curvature = phintys.grad((gradients[0] ** 2).sum(), a)
    flat = phintys.function([a, e, s], [cost, *gradients, curvature])

    rng = np.random.default_rng(1)
    values = [rng.normal(size=(3, 3)), rng.normal(size=(5, 3)), np.array([0.5, -np.inf, 0.1])]
    values[0][1, :] = values[0][:, 1] = -np.inf
    for found, expected in zip(looped(*values), flat(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-16)


def test_exponentials_are_kept_if_there_is_room_when_the_gradient_runs():
    a, e, s = pt.dmatrix("a"), pt.dmatrix("e"), pt.dvector("s")
    gradient = phintys.grad(pt.logsumexp(markov(a, e, s)), a)
    function = phintys.function([a, e, s], gradient, mode="native")
    text = function.explain()
    assert "callback" not in text
    assert "<= 16000000.0" in text
    # In the forward loop, for the sum of the last row, and in one side of the backward loop.
    assert sum("= exp(" in line for line in text.splitlines()) == 3


def test_exponentials_of_few_states_are_kept_in_any_case():
    a = pt.matrix("a", shape=(3, 3))
    e, s = pt.matrix("e", shape=(None, 3)), pt.vector("s", shape=(3,))
    gradient = phintys.grad(pt.logsumexp(markov(a, e, s)), a)
    function = phintys.function([a, e, s], gradient, mode="native")
    text = function.explain()
    assert "IfElse" not in text
    assert sum("= exp(" in line for line in text.splitlines()) == 2
