"""Arguments that may be overwritten: read-only ones, and those in memory of others."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import In, Out
from phintys.graph import Apply, Op

MODES = ["native", "reference", "debug"]


class Negated(Op):
    """A user's Op that overwrites its input."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        (x,) = inputs
        np.negative(x, out=x)
        output_storage[0][0] = x


PROGRAMS = {
    "elementwise": lambda x, y: [pt.exp(x) + 1.0, y * 2.0],
    "read after": lambda x, y: [x * 2 + 1, y + x * 0],
    "written at an index": lambda x, y: [pt.set_subtensor(x[0], 7.0), y * 1.0],
    "in place": lambda x, y: [pt.set_subtensor(x[0], 7.0, inplace=True), y * 1.0],
    "cumulative": lambda x, y: [x * 3.0, pt.cumsum(y)],
    "own Op": lambda x, y: [Negated()(x), y * 2.0],
    "own Op twice": lambda x, y: [Negated()(Negated()(x)), y * 2.0],
    "both": lambda x, y: [Negated()(x), Negated()(y)],
    "updated inside": lambda x, y: [
        phintys.scan(lambda h: h * 2.0, None, x, n_steps=2, return_updates=False)[-1],
        y * 1.0,
    ],
}

MEMORY = {
    "the same": lambda base: (base[:4], base[:4]),
    "parts": lambda base: (base[:4], base[1:5]),
    "others": lambda base: (base[:4], base[4:]),
}


def compiled(make, mode, borrow=False, both=False):
    x, y = pt.dvector("x"), pt.dvector("y")
    outputs = [Out(output, borrow=borrow) for output in make(x, y)]
    inputs = [In(x, mutable=True), In(y, mutable=both)]
    return phintys.function(inputs, outputs, mode=mode, accept_inplace=True)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("borrow", [False, True])
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_an_argument_in_the_memory_of_another_one_is_copied(program, borrow, mode):
    make = PROGRAMS[program]
    f = compiled(make, mode, borrow, both=program == "both")
    for take in MEMORY.values():
        base = np.arange(1.0, 9.0)
        x, y = take(base)
        wanted, before = f(x.copy(), y.copy()), y.copy()
        for one, other in zip(f(x, y), wanted, strict=True):
            np.testing.assert_array_equal(one, other)
        if program != "both":
            np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("program", list(PROGRAMS))
def test_a_read_only_argument_is_copied(program, mode):
    f = compiled(PROGRAMS[program], mode)
    x, y = np.arange(1.0, 5.0), np.arange(2.0, 6.0)
    wanted = f(x.copy(), y)
    x.flags.writeable = False
    for one, other in zip(f(x, y), wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(x, np.arange(1.0, 5.0))


@pytest.mark.parametrize("mode", MODES)
def test_an_argument_in_the_memory_of_a_stored_value_is_copied(mode):
    x, stored = pt.dvector("x"), phintys.shared(np.arange(4.0), borrow=True)
    f = phintys.function(
        [In(x, mutable=True)], [Negated()(x), stored * 2.0], mode=mode, accept_inplace=True
    )
    one, other = f(stored.get_value(borrow=True))
    np.testing.assert_array_equal(one, -np.arange(4.0))
    np.testing.assert_array_equal(other, 2 * np.arange(4.0))
    np.testing.assert_array_equal(stored.get_value(), np.arange(4.0))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "twin",
    [
        lambda f: pickle.loads(pickle.dumps(f)),
        lambda f: f.copy(),
        lambda f: f.copy(share_memory=True),
        lambda f: lambda x, y: f(x, y, output_subset=[0, 1]),
        lambda f: lambda x, y: f(x=x, y=y),
    ],
    ids=["pickled", "copied", "sharing", "subset", "by name"],
)
def test_all_ways_to_call_a_function_copy_such_arguments(twin, mode):
    f = twin(compiled(PROGRAMS["own Op"], mode))
    x = np.arange(1.0, 5.0)
    one, other = f(x, x)
    np.testing.assert_array_equal(one, -np.arange(1.0, 5.0))
    np.testing.assert_array_equal(other, 2 * np.arange(1.0, 5.0))
    np.testing.assert_array_equal(x, np.arange(1.0, 5.0))


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_an_argument_with_memory_of_its_own_is_overwritten(mode):
    f = compiled(PROGRAMS["own Op"], mode, borrow=True)
    x = np.arange(1.0, 5.0)
    assert f(x, x.copy())[0] is x
    assert x[0] == -1


def test_functions_that_overwrite_no_argument_are_not_wrapped():
    x = pt.dvector("x")
    f = phintys.function([x], x * 2, mode="reference")
    assert f._program is f.vm
    native = phintys.function([In(x, mutable=True)], pt.set_subtensor(x[0], 1.0), mode="native")
    assert native._program is native.vm
