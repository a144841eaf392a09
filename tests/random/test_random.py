"""Generators and distributions, from seeds to compiled functions."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.random.bits.philox import philox
from phintys.random.bits.random_bits import RandomBits
from phintys.random.generators import streams

KNOWN = [
    ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter, key, words):
    assert " ".join(f"{word:08x}" for word in philox(counter, key)) == words


def test_native_bits_are_those_of_the_reference():
    state, n = random.random_type("state"), pt.lscalar("n")
    draws = [RandomBits(dtype)(random.StateWords()(state), n) for dtype in ("uint32", "uint64")]
    native = phintys.function([state, n], draws)
    reference = phintys.function([state, n], draws, mode="FAST_COMPILE")
    last = np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], "uint64")
    for words in (random.state(3), last):
        for count in (0, 1, 2, 3, 7, 1001):
            for left, right in zip(native(words, count), reference(words, count), strict=True):
                assert left.dtype == right.dtype
                np.testing.assert_array_equal(left, right)


def test_bits_are_the_words_of_the_published_generator_in_order():
    draw = RandomBits("uint32")(random.StateWords()(random.rng("r")), 8)
    words = draw.eval({draw.owner.inputs[0].owner.inputs[0]: np.zeros(3, "uint64")})
    assert " ".join(f"{word:08x}" for word in words[:4]) == KNOWN[0][2]
    np.testing.assert_array_equal(words[4:], philox([1, 0, 0, 0], [0, 0]))


def test_default_updates():
    stream = random.RandomStream(5)
    draw, other = stream.uniform(size=4), stream.uniform(size=4)
    f = phintys.function([], [draw, other])
    first, second = f(), f()
    assert len(np.unique(np.concatenate([*first, *second]))) == 16
    stream.seed(5)
    np.testing.assert_array_equal(f(), first)
    still = phintys.function([], draw, no_default_updates=True)
    np.testing.assert_array_equal(still(), still())


def test_one_state_gives_one_draw_and_two_states_two():
    r = random.shared_rng(1)
    after, draw = r.normal(size=3)
    _, same = r.normal(size=3)
    _, later = after.normal(size=3)
    a, b, c = phintys.function([], [draw, same, later])()
    np.testing.assert_array_equal(a, b)
    assert not np.isin(a, c).any()


def test_draws_in_a_loop():
    r = random.rng("r")

    def step(state):
        after, draw = state.uniform(size=2)
        return after, draw

    _, draws = phintys.scan(step, outputs_info=[r, None], n_steps=3, return_updates=False)
    looped = phintys.function([r], draws)(random.state(2))
    state, expected = r, []
    for _ in range(3):
        state, draw = state.uniform(size=2)
        expected.append(draw)
    np.testing.assert_array_equal(looped, phintys.function([r], expected)(random.state(2)))


def test_streams_in_a_loop():
    stream = random.RandomStream(7)
    numbers, updates = phintys.scan(lambda: stream.uniform(size=2), n_steps=3)
    f = phintys.function([], numbers, updates=updates)
    assert len(np.unique(np.concatenate([f(), f()]))) == 12


def test_children_differ():
    r = random.rng("r")
    after, children = r.split(3)
    generators = [r, after, *children, r.jump(), r.fold_in(0), r.fold_in(1), r.jump().fold_in(0)]
    f = phintys.function([r], [one.uniform(size=50)[1] for one in generators])
    numbers = np.concatenate(f(random.state(8)))
    # The next state after a split goes on where the generators' own numbers do.
    assert len(np.unique(numbers[100:])) == len(numbers) - 100
    assert len(np.unique(numbers[:50])) == 50


def test_derivatives_of_draws():
    r, loc, scale = random.rng("r"), pt.dscalar("loc"), pt.dscalar("scale")
    _, draw = r.normal(loc, scale, 5)
    by_loc, by_scale = phintys.grad(draw.sum(), [loc, scale])
    f = phintys.function([r, loc, scale], [draw, by_loc, by_scale])
    values, of_loc, of_scale = f(random.state(3), 1.0, 2.0)
    assert of_loc == 5
    np.testing.assert_allclose(of_scale, ((values - 1) / 2).sum())


def test_parameters_broadcast_and_size_is_checked():
    r = random.shared_rng(4)
    _, draw = r.normal(np.zeros((2, 1)), np.ones(3))
    assert draw.eval().shape == (2, 3)
    assert len(np.unique(draw.eval())) == 6
    _, single = r.normal(np.float32(0), np.float32(1), size=(2, 2))
    assert single.dtype == "float32"
    with pytest.raises(phintys._base.errors.ShapeError, match="more than size"):
        r.normal(np.zeros((2, 3)), 1.0, size=3)


def test_seeds():
    sequence = np.random.SeedSequence(9)
    np.testing.assert_array_equal(random.state(sequence), random.state(9))
    assert not np.array_equal(random.state([1, 2]), random.state([2, 1]))
    np.testing.assert_array_equal(random.state("9"), random.state(9))
    np.testing.assert_array_equal(random.state(np.array([1, 2])), random.state([1, 2]))
    assert not np.array_equal(random.state(None), random.state(None))
    for wrong in (-1, 1.5, "seven", True, [1, -2], ["7"]):
        with pytest.raises(phintys._base.errors.ArgumentError, match="non-negative int"):
            random.state(wrong)


def test_states_are_not_numbers():
    with pytest.raises(TypeError, match="Expected a tensor"):
        pt.add(random.rng("r"), 1)


def test_pickles():
    stream = random.RandomStream(6)
    f = phintys.function([], stream.exponential(2.0, size=3))
    f()
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(f(), again())
    r = streams.shared_rng(1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(r)).get_value(), r.get_value())
