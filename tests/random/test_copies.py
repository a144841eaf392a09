"""Copies of NumPy's generators are in the same state, and nobody else's."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from phintys.random.generators import numpy_generators
from phintys.random.generators.numpy_generators import (
    copied,
    copied_with_address,
    equal_states,
    interface_address,
)

KINDS = ("PCG64", "PCG64DXSM", "Philox", "MT19937", "SFC64")


def made(kind, seed=17):
    return np.random.Generator(getattr(np.random, kind)(seed))


@pytest.mark.parametrize("kind", KINDS)
def test_copies_have_the_state_and_the_seed(kind):
    generator = made(kind)
    generator.integers(9, size=3, dtype="uint32")  # half a word is left
    generator.normal(size=700)
    before = generator.bit_generator.state
    twin = copied(generator)
    assert equal_states(twin.bit_generator.state, before)
    assert twin.bit_generator.seed_seq is generator.bit_generator.seed_seq
    drawn = twin.integers(1000, size=2000, dtype="uint32")
    assert equal_states(generator.bit_generator.state, before)
    np.testing.assert_array_equal(generator.integers(1000, size=2000, dtype="uint32"), drawn)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_are_used_again_only_when_nobody_refers_to_them(kind):
    generator = made(kind)
    kept = [copied(generator) for _ in range(20)]
    alone = copied(generator).bit_generator  # a generator that is kept by its bits alone
    drawn = [twin.normal(size=2).tolist() for twin in kept]
    assert all(numbers == drawn[0] for numbers in drawn)
    state = alone.state
    for _ in range(40):
        copied(generator).normal()
    assert equal_states(alone.state, state)
    assert len({id(twin) for twin in kept}) == 20
    assert len({twin.normal() for twin in kept}) == 1


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)(),
    reason="copies are used again only where references are counted one by one",
)
def test_a_dropped_copy_is_used_again():
    generator = made("MT19937")
    seen = {id(copied(generator)) for _ in range(5)}
    assert len(seen) == 1


def test_copies_of_other_bit_generators_are_made_by_their_states():
    class Own(np.random.PCG64):
        pass

    generator = np.random.Generator(Own(3))
    twin = copied(generator)
    assert type(twin.bit_generator) is Own
    assert twin.normal() == generator.normal()


def test_threads_never_have_the_same_copy():
    generator = made("PCG64")
    wanted = made("PCG64").normal(size=3)

    def draw(_):
        return all((copied(generator).normal(size=3) == wanted).all() for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(draw, range(8)))


def test_the_number_of_kept_copies_is_limited():
    for seed in range(numpy_generators._MOST_SEEDS + 5):
        copied(made("SFC64", seed))
    assert len(numpy_generators._twins) <= numpy_generators._MOST_SEEDS


def test_addresses_are_those_of_the_copies():
    """Each is an array of its own, which native code may use as memory once it has been read."""
    generator = np.random.default_rng(4)
    first, at = copied_with_address(generator)
    second, other = copied_with_address(generator)
    assert (int(at), int(other)) == (interface_address(first), interface_address(second))
    at[...] = 0
    del first, at
    third, again = copied_with_address(generator)
    assert int(again) == interface_address(third)
    assert third.normal() == second.normal() == generator.normal()


def test_kinds_of_users_have_addresses_too():
    class Mine(np.random.PCG64):
        pass

    copy, at = copied_with_address(np.random.Generator(Mine(3)))
    assert type(copy.bit_generator) is Mine
    assert int(at) == interface_address(copy)
