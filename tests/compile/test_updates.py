"""Updates of shared values: overwritten where nobody else has them, and never half done."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import IndexingError, ShapeError
from phintys.backends.native.lower import lower_program
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.verify import verify_program
from phintys.graph import Apply, Op

MODES = ["reference", "native"]


def address(s):
    return s.get_value(borrow=True).ctypes.data


def setting(s):
    """A function that sets an element."""
    i, v = pt.lscalar("i"), pt.dscalar("v")
    updates = {s: pt.set_subtensor(s[i], v)}
    return phintys.function([i, v], mode="native", updates=updates)


def claims(f):
    program = lower_program(f.maker.fgraph)
    verify_program(program)
    return sum(isinstance(step, Claim) for step in program.steps)


class Raises(Op):
    """Returns its input, unless that is negative."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        if (inputs[0] < 0).any():
            raise ValueError("negative")
        output_storage[0][0] = inputs[0].copy()


class Remembers(Op):
    """Keeps what it is given."""

    __props__ = ()

    def __init__(self):
        self.kept = []

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.kept.append(inputs[0])
        output_storage[0][0] = inputs[0] + 0.0


@pytest.mark.parametrize("arguments", [(np.array(2), np.array(5.0)), (2, 5.0)])
def test_an_element_is_set_in_the_memory_of_the_value(arguments):
    s = phintys.shared(np.zeros(1000))
    f = setting(s)
    before = address(s)
    f(*arguments)
    assert address(s) == before
    assert s.get_value()[2] == 5.0
    assert np.count_nonzero(s.get_value()) == 1


@pytest.mark.parametrize(
    "hold", ["the value", "a view", "a buffer", "another variable", "a result"]
)
def test_what_others_hold_is_not_overwritten(hold):
    s = phintys.shared(np.zeros(5))
    f = setting(s)
    if hold == "a result":
        held = phintys.function([], phintys.Out(s, borrow=True))()
        assert np.shares_memory(held, s.get_value(borrow=True))
    else:
        value = s.get_value(borrow=True)
        held = {
            "the value": lambda: value,
            "a view": lambda: value[1:4][::-1],
            "a buffer": lambda: memoryview(value),
            "another variable": lambda: phintys.shared(value, borrow=True),
        }[hold]()
        del value
    f(2, 5.0)
    seen = held.get_value() if hold == "another variable" else np.asarray(held)
    assert not seen.any()
    assert s.get_value().tolist() == [0, 0, 5, 0, 0]
    before = address(s)  # from now on nobody else has it
    f(3, 6.0)
    assert address(s) == before
    assert not seen.any()


@pytest.mark.parametrize("kind", ["not contiguous", "read-only", "of somebody else"])
def test_values_that_cannot_be_overwritten_are_copied(kind):
    value = np.zeros((4, 6))
    given = {
        "not contiguous": lambda: np.asfortranarray(value),
        "read-only": lambda: np.frombuffer(bytes(4 * 6 * 8)).reshape(4, 6),
        "of somebody else": lambda: value[:, :],
    }[kind]()
    s = phintys.shared(given, borrow=True)
    del given
    v = pt.dscalar("v")
    f = phintys.function([v], mode="native", updates={s: pt.inc_subtensor(s[1, 2], v)})
    f(3.0)
    f(4.0)
    assert s.get_value()[1, 2] == 7.0
    assert np.count_nonzero(s.get_value()) == 1
    assert not value.any()


@pytest.mark.parametrize("mode", MODES)
def test_outputs_see_the_old_value(mode):
    s = phintys.shared(np.arange(5.0))
    i, v = pt.lscalar("i"), pt.dscalar("v")
    new = pt.set_subtensor(s[i], v)
    f = phintys.function([i, v], [s, s[1:3], s.sum(), s[i]], mode, updates={s: new})
    whole, part, total, element = f(1, 10.0)
    assert whole.tolist() == [0, 1, 2, 3, 4]
    assert part.tolist() == [1, 2]
    assert (total, element) == (10, 1)
    assert s.get_value().tolist() == [0, 10, 2, 3, 4]
    whole[:] = 7.0
    assert s.get_value().tolist() == [0, 10, 2, 3, 4]


@pytest.mark.parametrize("mode", MODES)
def test_the_new_value_may_be_an_output_too(mode):
    s = phintys.shared(np.zeros(3))
    new = pt.set_subtensor(s[0], s[0] + 1)
    f = phintys.function([], [new, new.sum()], mode, updates={s: new})
    first, _ = f()
    second, total = f()
    assert (first.tolist(), second.tolist(), total) == ([1, 0, 0], [2, 0, 0], 2)


@pytest.mark.parametrize("mode", MODES)
def test_values_that_are_exchanged_see_each_other_as_they_were(mode):
    a, b = phintys.shared(np.arange(4.0)), phintys.shared(np.arange(4.0) * 10)
    updates = {a: pt.set_subtensor(a[:2], b[:2]), b: pt.inc_subtensor(b[1:3], a[:2])}
    f = phintys.function([], [], mode, updates=updates)
    f()
    f()
    assert a.get_value().tolist() == [0, 10, 2, 3]
    assert b.get_value().tolist() == [0, 10, 31, 30]
    if mode == "native":
        assert claims(f) == 2


@pytest.mark.parametrize("mode", MODES)
def test_what_is_written_may_come_from_the_value_itself(mode):
    s = phintys.shared(np.arange(6.0))
    index = phintys.shared(np.array([0, 0, 5]))
    new = pt.set_subtensor(s[1:], s[:-1])
    new = pt.inc_subtensor(new[index], s[index] + 1)
    f = phintys.function([], [], mode, updates={s: new, index: pt.set_subtensor(index[0], 1)})
    f()
    assert s.get_value().tolist() == [2, 0, 1, 2, 3, 10]
    assert index.get_value().tolist() == [1, 0, 5]
    f()
    assert s.get_value().tolist() == [2 + 3, 2 + 1, 0, 1, 2, 3 + 11]
    if mode == "native":
        assert claims(f) == 2


FAILURES = {
    "an index": (lambda s, x: pt.set_subtensor(s[pt.cast(x[0], "int64")], 1.0), [9.0, 0.0]),
    "an index of an array": (
        lambda s, x: pt.inc_subtensor(s[pt.cast(x, "int64")], 1.0),
        [0.0, 9.0],
    ),
    "a second index": (
        lambda s, x: pt.inc_subtensor(pt.set_subtensor(s[0], 8.0)[pt.cast(x, "int64")], np.ones(2)),
        [0.0, -9.0],
    ),
    "a shape": (lambda s, x: pt.set_subtensor(s[:3], x), [1.0, 2.0]),
    "an Op": (lambda s, x: pt.set_subtensor(s[:2], Raises()(x)), [1.0, -1.0]),
    "another update": (lambda s, x: pt.set_subtensor(s[0], 5.0), [1.0, -1.0]),
}


@pytest.mark.parametrize("mode", MODES)
def test_powers_of_integers_that_fail_change_nothing(mode):
    s, n = phintys.shared(np.arange(6).reshape(2, 3)), pt.lscalar("n")
    f = phintys.function([n], [], mode, updates={s: s**n})
    with pytest.raises(ValueError, match="negative integer powers"):
        f(-1)
    assert s.get_value().tolist() == [[0, 1, 2], [3, 4, 5]]
    f(2)
    assert s.get_value().tolist() == [[0, 1, 4], [9, 16, 25]]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FAILURES)
def test_a_call_that_fails_changes_nothing(name, mode):
    update, bad = FAILURES[name]
    s, other = phintys.shared(np.arange(4.0)), phintys.shared(np.zeros(2))
    x = pt.dvector("x")
    updates = {s: update(s, x), other: pt.inc_subtensor(other[0], 1.0)}
    total = phintys.shared(0.0)
    if name == "another update":
        updates[total] = Raises()(x).sum()
    f = phintys.function([x], s.sum(), mode, updates=updates)
    before = s.get_value(), other.get_value()
    for _ in range(2):
        with pytest.raises((IndexingError, ShapeError, ValueError)):
            f(np.array(bad))
        np.testing.assert_array_equal(s.get_value(), before[0])
        np.testing.assert_array_equal(other.get_value(), before[1])
    good = [0.0, 1.0, 2.0] if name == "a shape" else [0.0, 1.0]
    f(np.array(good))
    assert other.get_value().tolist() == [1, 0]


def test_nothing_is_written_if_there_is_no_memory_for_a_copy():
    """The second of two values is too large to be copied, and has to be, since it is borrowed."""
    a, b = phintys.shared(np.zeros(4)), phintys.shared(np.zeros(4))
    updates = {a: pt.set_subtensor(a[0], 1.0), b: pt.set_subtensor(b[0], 1.0)}
    f = phintys.function([], mode="native", updates=updates)
    huge = np.lib.stride_tricks.as_strided(np.zeros(1), (1 << 45,), (8,))
    b.set_value(huge, borrow=True)
    with pytest.raises(MemoryError):
        f()
    assert not a.get_value().any()


def test_an_op_that_keeps_the_value_keeps_it_as_it_was():
    s = phintys.shared(np.zeros(3))
    op = Remembers()
    updates = {s: pt.inc_subtensor(s[0], 1.0)}
    f = phintys.function([], op(s).sum(), "native", updates=updates)
    assert [float(f()) for _ in range(3)] == [0, 1, 2]
    assert [kept.tolist() for kept in op.kept] == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]


class Again(Op):
    """Calls a function that changes the value meanwhile."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        inner = self.inner
        self.inner = None
        if inner is not None:
            inner()
        output_storage[0][0] = inputs[0].copy()


@pytest.mark.parametrize("mode", MODES)
def test_a_value_that_is_changed_during_the_call(mode):
    s = phintys.shared(np.zeros(3))
    op = Again()
    f = phintys.function([], op(s[0]), mode, updates={s: pt.inc_subtensor(s[0], 1.0)})
    kept = []
    op.inner = f
    f()
    assert s.get_value().tolist() == [1, 0, 0]  # both began with the same value
    op.inner = lambda: s.set_value(np.full(3, 5.0))
    f()
    assert s.get_value().tolist() == [2, 0, 0]
    op.inner = lambda: kept.append(s.get_value(borrow=True))
    f()
    assert s.get_value().tolist() == [3, 0, 0]
    assert kept[0].tolist() == [2, 0, 0]


def test_functions_that_share_a_value():
    s = phintys.shared(np.zeros((3, 2)))
    row, x = pt.lscalar("row"), pt.dvector("x")
    put = phintys.function([row, x], updates={s: pt.set_subtensor(s[row], x)})
    add = phintys.function([row], mode="native", updates={s: pt.inc_subtensor(s[row, 0], 1.0)})
    look = phintys.function([], s * 1)
    twice = phintys.function([], updates={s: s * 2})
    put(1, np.array([3.0, 4.0]))
    add(1)
    twice()
    add(0)
    assert look().tolist() == [[1, 0], [8, 8], [0, 0]]
    other = phintys.shared(np.zeros((3, 2)))
    copied = add.copy(swap={s: other})
    before = address(other)
    copied(2)
    assert address(other) == before
    assert other.get_value()[2].tolist() == [1, 0]


def test_pickled_functions_overwrite_too():
    s = phintys.shared(np.zeros(100))
    f = pickle.loads(pickle.dumps(setting(s)))
    (copy,) = f.get_shared()
    f(1, 0.0)  # the array may lie in memory of the pickle
    before = address(copy)
    f(2, 5.0)
    assert address(copy) == before
    assert copy.get_value()[2] == 5
    assert not s.get_value().any()


def test_subsets_of_outputs_and_dicts():
    s = phintys.shared(np.zeros(3))
    f = phintys.function([], {"a": s[0], "b": s[1]}, updates={s: pt.inc_subtensor(s[0], 1.0)})
    assert f()["a"] == 0
    assert f(output_subset=["a"]) == {"a": 1}
    assert f()["a"] == 2
    assert s.get_value()[0] == 3


def test_masks_and_slices():
    s = phintys.shared(np.arange(12.0).reshape(3, 4))
    x = pt.dscalar("x")
    new = pt.set_subtensor(s[s > 5], x)
    new = pt.inc_subtensor(new[::2, pt.constant([0, 3, 3])], 100.0)
    f = phintys.function([x], mode="native", updates={s: new})
    before = address(s)
    f(-1.0)
    wanted = np.arange(12.0).reshape(3, 4)
    wanted[wanted > 5] = -1
    np.add.at(wanted, (slice(None, None, 2), np.array([0, 3, 3])), 100.0)
    np.testing.assert_array_equal(s.get_value(), wanted)
    assert address(s) == before


INDICES = [
    np.s_[0],
    np.s_[-1],
    np.s_[1:],
    np.s_[::-2],
    np.s_[:, 1],
    np.s_[1:3, ::2],
    np.s_[[2, 0, 2]],
    np.s_[:, [1, 1]],
    np.s_[[[0], [2]], [1, 3]],
    np.s_[..., None, 0],
]


@given(
    st.lists(st.tuples(st.sampled_from(INDICES), st.booleans(), st.booleans()), max_size=4),
    st.sampled_from(["float64", "float32", "int64", "bool", "complex128"]),
    st.integers(1, 3),
)
def test_chains_of_updates_are_as_in_numpy(steps, dtype, calls):
    start = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    s = phintys.shared(start.copy())
    wanted = start.copy()
    new = s
    for index, is_set, from_itself in steps:
        value = s[0, 0] if from_itself else pt.constant(np.array(3, dtype))
        new = (pt.set_subtensor if is_set or dtype == "bool" else pt.inc_subtensor)(
            new[index], value
        )
    f = phintys.function([], [], "native", updates={s: new} if steps else {})
    for _ in range(calls):
        f()
        old = wanted[0, 0].copy()
        for index, is_set, from_itself in steps:
            value = old if from_itself else np.array(3, dtype)
            if is_set or dtype == "bool":
                wanted[index] = value
            else:
                np.add.at(wanted, index, value)
    np.testing.assert_array_equal(s.get_value(), wanted)
    if steps:
        assert claims(f) == 1


def test_threads_see_whole_updates():
    """Both rows change in each call, and a reader finds them equal at all times."""
    s = phintys.shared(np.zeros((2, 4000)))
    x = pt.dscalar("x")
    new = pt.inc_subtensor(s[0, :], x)
    write = phintys.function([x], mode="native", updates={s: pt.inc_subtensor(new[1, :], x)})
    read = phintys.function([], [abs(s[0] - s[1]).max(), s[0, 0], s[1, -1]])
    one = np.array(1.0)
    errors, calls = [], 300
    done = threading.Event()

    def writer():
        for _ in range(calls):
            write(one)

    def reader():
        while not done.is_set():
            apart, first, last = read()
            value = s.get_value()
            if apart or first != last or (value != value[0, 0]).any():
                errors.append((apart, first, last))

    writers = [threading.Thread(target=writer) for _ in range(4)]
    readers = [threading.Thread(target=reader) for _ in range(2)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert not errors
    assert (s.get_value() == 4 * calls).all()


# ---- updates of whole values ---------------------------------------------------------------------


@pytest.mark.parametrize("threads", ["alone", "with others"])
@pytest.mark.parametrize("count", [10, 1_000_000])
def test_whole_values_are_overwritten(threads, count):
    """Large ones are not while other threads are there, which would have to wait.

    Those of a test runner count too; a process without any is in the native backend's own tests.
    """
    s, g = phintys.shared(np.ones(count)), phintys.shared(np.full(count, 2.0))
    rate = pt.dscalar("rate")
    f = phintys.function([rate], s[0], "native", updates={s: s - rate * g, g: g * 2})
    assert claims(f) == 2
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    if threads == "with others":
        other.start()
    before = address(s), address(g)
    assert f(0.5) == 1
    done.set()
    if count == 10:
        assert (address(s), address(g)) == before
    elif threads == "with others":
        assert address(s) != before[0]
        other.join()
    assert (s.get_value() == 0).all()
    assert (g.get_value() == 4).all()


def adam(p, m, v, g, rate):
    first, second = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
    return {p: p - rate * first / (pt.sqrt(second) + 1e-8), m: first, v: second}


@pytest.mark.parametrize("hold", [(), ("p",), ("m", "v"), ("p", "m", "v")])
def test_several_values_are_updated_in_one_pass(hold):
    start = {name: np.linspace(0.5, 2, 7) + at for at, name in enumerate("pmv")}
    results = []
    for mode in MODES:
        shared = {name: phintys.shared(value.copy(), name) for name, value in start.items()}
        g, rate = pt.dvector("g"), pt.dscalar("rate")
        updates = adam(*shared.values(), g, rate)
        f = phintys.function([g, rate], (g * shared["p"])[::2].sum(), mode, updates=updates)
        if mode == "native":
            assert claims(f) == 3
        held = {name: shared[name].get_value(borrow=True) for name in hold}
        seen = {name: value.copy() for name, value in held.items()}
        totals = [f(np.arange(7.0) + step, 0.1) for step in range(3)]
        for name, value in held.items():
            np.testing.assert_array_equal(value, seen[name])
        results.append([*totals, *(one.get_value() for one in shared.values())])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


DENSE = {
    "reversed": lambda s, t: {s: s[::-1] + 1},
    "rows": lambda s, t: {s: s.reshape((2, 3)).T.flatten() * 2},
    "softmax": lambda s, t: {s: pt.exp(s - s.max())},
    "the mean": lambda s, t: {s: s - s.mean(), t: t + s.mean()},
    "exchanged": lambda s, t: {s: t * 1, t: s * 1},
    "crossed": lambda s, t: {s: s + t, t: t - s},
    "both": lambda s, t: {s: s + 1, t: pt.set_subtensor(t[1:3], s[:2])},
    "both ways": lambda s, t: {s: s + t, t: pt.inc_subtensor(t[1:3], s[:2])},
    "gathered": lambda s, t: {s: s[pt.cast(t, "int64") % 6] + s, t: t + 1},
    "shifted": lambda s, t: {s: s + pt.concatenate([s[1:], s[:1]])},
    "added up": lambda s, t: {s: pt.cumsum(s), t: t + 1},
    "unequal": lambda s, t: {s: pt.switch(s > 2, s, -s), t: t * s.sum()},
    "the new one": lambda s, t: {s: s * 2, t: (s * 2)[::-1] + t},
    "in a vector": lambda s, t: {s: pt.inc_subtensor((s * 2)[t[0].astype("int64")], 1.0), t: t + 1},
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("returned", ["nothing", "old values", "new values"])
def test_updates_are_the_same_in_both_backends(name, returned):
    results = []
    for mode in MODES:
        s, t = phintys.shared(np.arange(6.0)), phintys.shared(np.arange(6.0) % 4)
        updates = DENSE[name](s, t)
        outputs = {
            "nothing": [],
            "old values": [s, t[1:], s.sum()],
            "new values": [new + 1 for new in updates.values()],
        }[returned]
        f = phintys.function([], outputs, mode, updates=updates)
        if mode == "native":
            claims(f)
        found = [value for _ in range(3) for value in f()]
        results.append([*found, s.get_value(), t.get_value()])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_failure_leaves_whole_values_as_they_were():
    s, t = phintys.shared(np.ones(3)), phintys.shared(np.ones(4))
    x = pt.dvector("x")
    f = phintys.function([x], Raises()(x), "native", updates={s: s + 1, t: t * x})
    assert claims(f) == 2
    for bad in (-np.ones(4), np.ones(3)):
        with pytest.raises((ShapeError, ValueError)):
            f(bad)
        assert (s.get_value() == 1).all()
        assert (t.get_value() == 1).all()
    f(np.ones(4))
    assert (s.get_value() == 2).all()


def test_results_of_the_last_kernel_are_returned_too():
    s = phintys.shared(np.arange(4.0))
    x = pt.dvector("x")
    step = x * 3
    f = phintys.function([x], step, "native", updates={s: s + step})
    assert claims(f) == 1
    before = address(s)
    assert f(np.ones(4)).tolist() == [3, 3, 3, 3]
    assert s.get_value().tolist() == [3, 4, 5, 6]
    assert address(s) == before
