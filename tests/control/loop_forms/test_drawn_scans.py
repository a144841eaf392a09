"""Scans with arguments drawn at random, against loops in Python."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from tests.control.loops_in_numpy import MODES, plain_scan

EXAMPLES = max(1, settings().max_examples // 6)
TAPS = st.lists(st.integers(-2, 2), min_size=1, max_size=2, unique=True)
STATE_TAPS = st.lists(st.integers(-3, -1), min_size=1, max_size=2, unique=True)


class State(NamedTuple):
    """A state: its taps, none for rows that steps do not read; its dtype, and its rank."""

    taps: list[int] | None
    dtype: str
    ndim: int


class Loop(NamedTuple):
    """A scan."""

    sequences: list[tuple[int, list[int], int]]  # length, taps, rank of a row
    states: list[State]
    n: int | None
    backwards: bool
    threshold: float | None
    counts: bool  # whether a shared variable is updated
    nested: bool  # whether a step contains another loop
    seed: int


@st.composite
def loops(draw):
    sequences = draw(st.lists(st.tuples(st.integers(0, 6), TAPS, st.integers(0, 1)), max_size=2))
    kinds = st.sampled_from(["float64", "float64", "float32", "int64", "complex128"])
    states = draw(
        st.lists(
            st.builds(State, st.none() | STATE_TAPS, kinds, st.integers(0, 1)),
            min_size=1,
            max_size=3,
        )
    )
    spans = [length - max(*taps, 0) + min(*taps, 0) for length, taps, _ in sequences]
    most = max(min(spans, default=5), 0)
    n = draw(st.integers(0, most)) if not sequences or draw(st.booleans()) else None
    threshold = draw(st.none() | st.floats(0, 2))
    flags = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    backwards, counts, nested = flags
    seed = draw(st.integers(0, 99))
    return Loop(sequences, states, n, backwards, threshold, counts, nested, seed)


def mixed(reads, state, number, inner) -> Any:
    """Return what a step computes for a state: of NumPy's values, and of variables."""
    total = 0.1 * (number + 1)
    for at, value in enumerate(reads):
        read = value if value.ndim <= state.ndim else value.sum()
        if read.dtype in ("complex64", "complex128") and state.dtype != "complex128":
            read = read.real
        total = total * 0.5 + read.astype("complex128" if state.dtype[0] == "c" else "float64") * (
            0.3 - 0.2 * at
        )
    if state.ndim:
        total = total + np.arange(3.0) * 0.1
    if state.dtype[0] == "i":
        return (total * 10 + 0.25).astype("int64")
    return inner(total / (1.5 + abs(total))).astype(state.dtype)


def plain_inner(h):
    for i in range(3):
        h = h * 0.9 + 0.1 * i
    return h


def symbolic_inner(h):
    rows, _ = phintys.scan(lambda i, h: h * 0.9 + 0.1 * i, pt.arange(3), h)
    return rows[-1]


def values_of(loop):
    """Return the values of the sequences, and those before the first step."""
    rng = np.random.default_rng(loop.seed)
    sequences = [rng.normal(size=(length, 3)[: ndim + 1]) for length, _, ndim in loop.sequences]
    firsts = [
        (rng.normal(size=(3, 3)[: state.ndim + 1]) * 3).astype(state.dtype)
        for state in loop.states
        if state.taps
    ]
    return sequences, firsts


def expected_of(loop, sequences, firsts):
    """Return the stacks of the states, and the number of steps that were run."""
    count = 0

    def step(*reads):
        nonlocal count
        reads = [np.asarray(value) for value in (1.0, *reads)]
        if loop.counts:
            reads.append(np.asarray(float(count)))
            count += 1
        inner = plain_inner if loop.nested else lambda h: h
        outputs = [mixed(reads, state, number, inner) for number, state in enumerate(loop.states)]
        stop = loop.threshold is not None and outputs[0].real.sum() > loop.threshold
        return outputs, stop

    given = iter(firsts)
    states = [
        (list(next(given)[3 + min(state.taps) :]), state.taps) if state.taps else None
        for state in loop.states
    ]
    pairs = [(x, taps) for x, (_, taps, _) in zip(sequences, loop.sequences, strict=True)]
    stacks, ran = plain_scan(step, pairs, states, loop.n, loop.backwards)
    return [
        np.array(stack, state.dtype).reshape(ran, *(3,) * state.ndim)
        for stack, state in zip(stacks, loop.states, strict=True)
    ], ran


def scan_of(loop):
    """Return the inputs, outputs and updates of the scan, and the shared variable."""
    count = phintys.shared(0.0, name="count")

    def step(*reads):
        reads = [pt.constant(1.0), *reads]
        if loop.counts:
            reads.append(count)
        inner = symbolic_inner if loop.nested else lambda h: h
        found = [mixed(reads, state, number, inner) for number, state in enumerate(loop.states)]
        parts: list[Any] = [found]
        if loop.counts:
            parts.append({count: count + 1.0})
        if loop.threshold is not None:
            parts.append(phintys.until(found[0].real.sum() > loop.threshold))
        return parts

    sequences = [
        pt.tensor(f"x{i}", dtype="float64", shape=(None,) * (ndim + 1))
        for i, (_, _, ndim) in enumerate(loop.sequences)
    ]
    firsts, infos = [], []
    for i, state in enumerate(loop.states):
        if not state.taps:
            infos.append(None)
            continue
        h = pt.tensor(f"h{i}", dtype=state.dtype, shape=(None,) * (state.ndim + 1))
        firsts.append(h)
        first = h[-1] if state.taps == [-1] else h[3 + min(state.taps) :]
        infos.append({"initial": first, "taps": state.taps})
    found, updates = phintys.scan(
        step,
        [
            {"input": x, "taps": taps}
            for x, (_, taps, _) in zip(sequences, loop.sequences, strict=True)
        ],
        infos,
        n_steps=loop.n,
        go_backwards=loop.backwards,
        return_list=True,
    )
    return [*sequences, *firsts], found, updates, count


@given(loop=loops())
@settings(max_examples=EXAMPLES)
def test_scans_that_are_drawn(loop):
    sequences, firsts = values_of(loop)
    expected, ran = expected_of(loop, sequences, firsts)
    inputs, outputs, updates, count = scan_of(loop)
    is_single = any(state.dtype == "float32" for state in loop.states)
    modes: list[Any] = MODES if loop.seed % 4 == 0 else MODES[:2]
    for mode in modes:
        count.set_value(0.0)
        f = phintys.function(inputs, outputs, updates=updates, mode=mode, on_unused_input="ignore")
        for one, other in zip(f(*sequences, *firsts), expected, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            np.testing.assert_allclose(
                one, other, rtol=1e-4 if is_single else 1e-9, atol=1e-5 * is_single
            )
        assert count.get_value() == ran * loop.counts


@given(loop=loops())
@settings(max_examples=EXAMPLES)
def test_gradients_of_scans_that_are_drawn(loop):
    states = [state._replace(dtype="float64") for state in loop.states]
    loop = loop._replace(states=states, threshold=None)
    sequences, firsts = values_of(loop)
    inputs, outputs, _, _ = scan_of(loop)
    cost: Any = sum(((at + 1.0) * output.sum() for at, output in enumerate(outputs)))
    mode: Any = MODES[loop.seed % 2]
    gradients = phintys.grad(cost, inputs, disconnected_inputs="ignore", return_disconnected="zero")
    f = phintys.function(
        inputs,
        gradients,
        mode=mode,
        on_unused_input="ignore",
    )
    given = [*sequences, *firsts]
    found = f(*given)

    def cost_of(values):
        stacks, _ = expected_of(loop, values[: len(sequences)], values[len(sequences) :])
        return sum((at + 1.0) * stack.sum() for at, stack in enumerate(stacks))

    rng = np.random.default_rng(loop.seed)
    along = [rng.normal(size=x.shape) for x in given]
    up, down = (
        [x + sign * 1e-5 * v for x, v in zip(given, along, strict=True)] for sign in (1, -1)
    )
    slope = (cost_of(up) - cost_of(down)) / 2e-5
    assert all(g.shape == x.shape for g, x in zip(found, given, strict=True))
    pulled = sum((g * v).sum() for g, v in zip(found, along, strict=True))
    np.testing.assert_allclose(pulled, slope, rtol=1e-5, atol=1e-7)
