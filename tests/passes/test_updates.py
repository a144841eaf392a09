import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import PhintysError
from phintys.graph.fgraph import FunctionGraph
from phintys.passes import updates as rules
from phintys.tensor.creation import zeros_like

x, y = pt.dvector("x"), pt.dvector("y")
X = pt.dmatrix("X")
s, t = pt.dscalar("s"), pt.dscalar("t")
i = pt.lscalar("i")
at = i % 3
k = pt.lvector("k") % 3
f32 = pt.fvector("f32")
row = pt.tensor("row", dtype="float64", shape=(1, None))
one = pt.tensor("one", dtype="float64", shape=(1,))


def written(where, value, base=x):
    return pt.inc_subtensor(zeros_like(base)[where], value)


SEVERAL = written(2, s)
TURN, READ = rules.increment_in_turn, rules.read_what_was_incremented
BESIDE, VECTOR = rules.read_beside_what_was_written, rules.vector_of_what_is_written
WHOLE = rules.write_whole
v3, w3 = (pt.tensor(name, dtype="float64", shape=(3,)) for name in ("v3", "w3"))
M = pt.tensor("M", dtype="float64", shape=(3, 4))


def in_turn(base, *updates, write=pt.inc_subtensor):
    for place, value in updates:
        base = write(base[place], value)
    return base


ZEROS = pt.zeros(3)
FIRST = pt.inc_subtensor(ZEROS[0], s)

APPLIES = [
    (TURN, "two places", lambda: written(0, s) + written(2, t), 2),
    (TURN, "one place twice", lambda: written(1, s) + written(1, t), 2),
    (TURN, "three, and something else", lambda: pt.add(written(0, s), y * x, written(-1, t), x), 2),
    (TURN, "slices that overlap", lambda: written(slice(1, None), s) + written(slice(2), t), 2),
    (TURN, "an unknown place", lambda: written(at, s) + x, 1),
    (TURN, "an array of places", lambda: written(k, s) + x, 1),
    (TURN, "what is set", lambda: pt.set_subtensor(zeros_like(x)[1], s) + x, 1),
    (TURN, "rows", lambda: written(0, x, X) + written(1, y, X), 2),
    (READ, "an element", lambda: pt.inc_subtensor(x[at], s)[at], 0),
    (READ, "rows", lambda: pt.inc_subtensor(X[1:], x)[1:], 0),
    (READ, "one of length 1", lambda: pt.inc_subtensor(x[:2], one)[:2], 0),
    (BESIDE, "an element", lambda: pt.inc_subtensor(v3[1], s)[-1], 0),
    (BESIDE, "before a slice", lambda: pt.inc_subtensor(v3[1:], w3[1:])[0], 0),
    (BESIDE, "what was set", lambda: pt.set_subtensor(v3[:2], s)[2:], 0),
    (BESIDE, "every other one", lambda: pt.set_subtensor(v3[1::-1], s)[2], 0),
    (BESIDE, "in other columns", lambda: pt.inc_subtensor(M[:, 1:], s)[1:, 0], 0),
    (VECTOR, "all elements", lambda: in_turn(ZEROS, (0, s), (1, t), (2, s * t)), 0),
    (VECTOR, "some, and one twice", lambda: in_turn(ZEROS, (-1, s), (1, t), (2, t)), 0),
    (
        VECTOR,
        "the last one counts",
        lambda: in_turn(ZEROS, (1, s), (1, t), write=pt.set_subtensor),
        0,
    ),
    (VECTOR, "of numbers", lambda: in_turn(pt.stack([s, t]), (0, t), (0, s)), 0),
    (VECTOR, "half of twelve", lambda: in_turn(pt.zeros(12), *((2 * i, s) for i in range(6))), 0),
    (VECTOR, "any few", lambda: in_turn(v3 * 2, (0, t), (2, s)), 0),
    (WHOLE, "the only row", lambda: pt.set_subtensor(v3[None][0], w3), 0),
    (WHOLE, "added to the only column", lambda: pt.inc_subtensor(v3[:, None][:, -1], w3), 0),
    (WHOLE, "of its own length", lambda: pt.set_subtensor(x[None][0], pt.exp(x)), 0),
    (WHOLE, "everything", lambda: pt.set_subtensor(M[:], 2 * M), 0),
    (WHOLE, "the only number", lambda: pt.inc_subtensor(pt.zeros(1)[0], s), 0),
]
DOES_NOT = [
    (TURN, "needed elsewhere too", lambda: (SEVERAL + x) * SEVERAL),
    (TURN, "one that is repeated", lambda: pt.inc_subtensor(zeros_like(row)[0], s) + X),
    (TURN, "another length", lambda: written(0, s) + y),
    (TURN, "not into zeros", lambda: pt.inc_subtensor(pt.ones_like(x)[0], s) + x),
    (TURN, "another dtype", lambda: pt.inc_subtensor(zeros_like(f32)[0], f32[0]) + x),
    (TURN, "the last of several", lambda: pt.set_subtensor(zeros_like(x)[k], y) + x),
    (READ, "another place", lambda: pt.inc_subtensor(x[at], s)[0]),
    (READ, "what was set", lambda: pt.set_subtensor(x[at], s)[at]),
    (READ, "one element of several", lambda: pt.inc_subtensor(x[:2], s)[:1]),
    (READ, "a value that may be longer", lambda: pt.inc_subtensor(one[:], x[:1])[:]),
    (BESIDE, "the same place", lambda: pt.inc_subtensor(v3[1], s)[1]),
    (BESIDE, "places that overlap", lambda: pt.inc_subtensor(v3[1:], s)[:2]),
    (BESIDE, "places that cross", lambda: pt.inc_subtensor(M[1], s)[:, 0]),
    (BESIDE, "a length that is not known", lambda: pt.inc_subtensor(x[1:], s)[0]),
    (BESIDE, "a value that may not fit", lambda: pt.inc_subtensor(v3[1:], y[:2])[0]),
    (BESIDE, "an unknown place", lambda: pt.inc_subtensor(v3[at], s)[0]),
    (VECTOR, "a single one", lambda: FIRST),
    (VECTOR, "slices", lambda: in_turn(ZEROS, (slice(1), s), (slice(1, 2), t))),
    (VECTOR, "an unknown place", lambda: in_turn(ZEROS, (at, s), (at, t))),
    (VECTOR, "many elements", lambda: in_turn(pt.zeros(9), (0, s), (1, t))),
    (VECTOR, "several, not zeros", lambda: in_turn(pt.exp(pt.ones(5) * s), (0, s), (1, t))),
    (VECTOR, "rows", lambda: in_turn(M, (0, s), (1, t))),
    (WHOLE, "a part", lambda: pt.set_subtensor(v3[1:], w3[1:])),
    (WHOLE, "a value that is repeated", lambda: pt.set_subtensor(v3[None][0], s)),
    (WHOLE, "a value that may not fit", lambda: pt.set_subtensor(v3[None][0], y)),
    (WHOLE, "another length that is not known", lambda: pt.set_subtensor(x[None][0], y)),
    (WHOLE, "an unknown place", lambda: pt.set_subtensor(v3[None][at * 0], w3)),
]


@pytest.mark.parametrize(
    ("rule", "text", "build", "left"), APPLIES, ids=[f"{c[0].name}: {c[1]}" for c in APPLIES]
)
def test_applies(apply_rule, rule, text, build, left):
    result = apply_rule(rule, build())
    assert result.count == 1
    np.testing.assert_allclose(result.after, result.before, rtol=1e-14)
    assert sum("IncSubtensor" in op for op in result.ops) == left


@pytest.mark.parametrize(
    ("rule", "text", "build"), DOES_NOT, ids=[f"{c[0].name}: {c[1]}" for c in DOES_NOT]
)
def test_does_not_apply(apply_rule, rule, text, build):
    assert apply_rule(rule, build()).count == 0


@pytest.mark.parametrize("index", [-4, 3])
def test_an_index_out_of_range_still_raises(index):
    f = phintys.function([x, i, s], pt.inc_subtensor(x[i], s)[i])
    assert f([1.0, 2.0, 3.0], 1, 5.0) == 7.0
    with pytest.raises(IndexError):
        f([1.0, 2.0, 3.0], index, 5.0)


def test_a_value_that_does_not_fit_still_raises():
    f = phintys.function([x, y], pt.inc_subtensor(x[1:], y)[1:])
    with pytest.raises((PhintysError, ValueError)):
        f([1.0, 2.0, 3.0], [1.0])


def test_a_state_of_few_numbers_is_computed_number_by_number():
    """A step of a differential equation, and its gradient: vectors of two are only at its ends."""
    h = pt.tensor("h", dtype="float64", shape=(2,))

    def slope(state):
        return pt.stack([state[1], -state[0]])

    def step(state, d=0.1):
        middle = state + d / 2 * slope(state)
        return state + d * slope(middle)

    f = phintys.function([h], phintys.grad(step(step(h)).sum(), h), mode="native")
    ops = [str(node.op) for node in f.maker.fgraph.toposort()]
    assert not any("IncSubtensor" in op for op in ops)
    assert f.explain().count(". kernel") <= 2
    matrix = np.array([[1 - 0.005, 0.1], [-0.1, 1 - 0.005]])
    np.testing.assert_allclose(f([1.0, 2.0]), (matrix @ matrix).sum(axis=0), rtol=1e-14)


def test_the_gradient_of_an_unrolled_program_writes_into_one_tensor():
    h = pt.constant(0.0)
    for step in range(20):
        h = pt.tanh(h * 0.5 + x[step])
    f = phintys.function([x], phintys.grad(h, x), mode="native")
    ops = [str(node.op) for node in f.maker.fgraph.toposort()]
    assert sum("Alloc" in op for op in ops) == 1
    assert "Add" not in ops[-1]
    value = np.linspace(-1.0, 1.0, 20)
    states = [0.0]
    for entry in value:
        states.append(np.tanh(states[-1] * 0.5 + entry))
    slopes = 1 - np.array(states[1:]) ** 2
    wanted = slopes * np.append(np.cumprod(0.5 * slopes[:0:-1])[::-1], 1.0)
    np.testing.assert_allclose(f(value), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "build",
    [
        lambda base: pt.set_subtensor(base[5], s)[0],
        lambda base: pt.inc_subtensor(pt.set_subtensor(base[0], s)[5], t),
    ],
)
def test_an_index_that_turns_out_to_be_out_of_range_raises(build):
    """The length becomes known when a part of the graph is replaced."""
    base = pt.exp(x)
    inputs, graph = [x, s, t, v3], FunctionGraph([x, s, t, v3], [build(base)], clone=False)
    graph.replace(base, pt.exp(v3), reason="test")
    f = phintys.function(inputs, graph.outputs[0], on_unused_input="ignore")
    with pytest.raises(IndexError, match="index 5 is out of range"):
        f(np.zeros(3), 1.0, 2.0, np.zeros(3))
