"""Training steps that write some rows of tables, and read rows of what they have written."""

from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.lower import lower_program
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.verify import verify_program
from phintys.graph import Apply, Op

index, other, g = pt.lvector("index"), pt.lvector("other"), pt.dmatrix("g")
k, row = pt.lscalar("k"), pt.dvector("row")
INPUTS = [index, other, g, k, row]
ROWS, COLUMNS = 9, 4


class Positive(Op):
    """A Python Op, which may raise."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        if np.any(inputs[0] < 0):
            raise ValueError("negative")
        output_storage[0][0] = inputs[0] + 1.0


def adagrad(s, t):
    new = pt.inc_subtensor(s[index], g**2)
    return {s: new, t: pt.inc_subtensor(t[index], -g / pt.sqrt(new[index]))}, []


def adam(s, t, u):
    m = pt.set_subtensor(s[index], 0.9 * s[index] + 0.1 * g)
    v = pt.set_subtensor(t[index], 0.99 * t[index] + 0.01 * g**2)
    step = m[index] / (pt.sqrt(v[index]) + 1e-8)
    return {s: m, t: v, u: pt.inc_subtensor(u[index], -0.1 * step)}, [abs(step).max()]


def one_row(s, t):
    new = pt.inc_subtensor(s[k], row**2)
    return {s: new, t: pt.inc_subtensor(t[k], -row / pt.sqrt(new[k]))}, []


def slices(s, t):
    new = pt.set_subtensor(s[k:], s[k:] * 2 + row)
    return {s: new, t: pt.inc_subtensor(t[:2], new[-2:] - row)}, [new[:3] * 2]


def before_and_after(s):
    new = pt.inc_subtensor(s[index], g)
    return {s: new}, [new[index] - s[index], new[other] + s[other]]


def two_tables(s, t):
    a, b = pt.inc_subtensor(s[index], g), pt.inc_subtensor(t[other[:1]], g[:1])
    return {s: a, t: b}, [a[other] * b[other], (a[index] * b[index]).sum(axis=1)]


def replay(s):
    new = pt.set_subtensor(s[k], row)
    batch = new[other]
    return {s: new}, [batch, (batch**2).mean(axis=1)]


def replay_and_train(s, t, u):
    new, rewards = pt.set_subtensor(s[k], row), pt.inc_subtensor(t[k], 0.5)
    batch, reward = new[other], rewards[other]
    step = batch.T @ batch + reward.T @ batch
    return {s: new, t: rewards, u: u - 0.1 * step.sum()}, [step, Positive()(batch**2)]


def ring(s):
    new = pt.set_subtensor(s[k % s.shape[0]], row)
    return {s: new}, [new.mean(axis=0), new.max(), new[(k + 1) % s.shape[0]]]


def moments(s, t):
    mean = pt.inc_subtensor(s[index], 0.1 * (g - s[index]))
    spread = pt.inc_subtensor(t[index], (g - mean[index]) * (g - s[index]))
    return {s: mean, t: spread}, [mean[index], pt.sqrt(abs(spread[index]))]


def a_row_of_another(s, t):
    new = pt.set_subtensor(s[k], row)
    copied = pt.set_subtensor(t[k], new[(k + 1) % s.shape[0]] * 2)
    return {s: new, t: copied}, [new[other], copied[other]]


def columns(s):
    new = pt.inc_subtensor(s[:, other % 4], 1.0)
    return {s: new}, [new[other, other % 4], new[:, other % 4].sum()]


def by_a_mask(s):
    new = pt.set_subtensor(s[k], row)
    return {s: new}, [new[pt.gt(s[:, 0], 1.0)].sum()]


def stops_before(s, t):
    new = pt.inc_subtensor(s[index], Positive()(g))
    return {s: new, t: pt.inc_subtensor(t[index], new[other[:2]])}, [new[other].sum()]


PROGRAMS = {
    one.__name__: one
    for one in (
        *(adagrad, adam, one_row, slices, before_and_after, two_tables, replay, ring, moments),
        *(replay_and_train, a_row_of_another, columns, by_a_mask, stops_before),
    )
}
VALID = [
    ([3, 1], [2, 8, -1], [[1.0, 2.0, 3.0, 4.0]] * 2, 5, np.arange(4.0)),
    ([-1, -1], [8, 0, 0], np.linspace(0.5, 2, 8).reshape(2, 4), -2, np.ones(4)),
    ([0, 0], [0, 1, 1], np.full((2, 4), 0.25), 0, np.full(4, np.nan)),
]
FAILING = [
    ([3, ROWS], [2, 8, -1], np.ones((2, 4)), 5, np.ones(4)),
    ([3, 1], [2, 8, -ROWS - 1], np.ones((2, 4)), 5, np.ones(4)),
    ([3, 1], [2, 8, -1], np.ones((2, 4)), ROWS, np.ones(4)),
    ([3, 1], [2, 8, -1], np.ones((2, 4)), 5, np.ones(3)),
    ([3, 1], [2, 8, -1], -np.ones((2, 4)), 5, np.ones(4)),
    ([3, 1], [ROWS, 0, 1], np.ones((2, 4)), 5, np.ones(4)),
]


def compiled(name, mode: Any):
    """Return (the function, its tables)."""
    build = PROGRAMS[name]
    start = np.linspace(0.5, 4, ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    tables = [phintys.shared(start + at) for at in range(build.__code__.co_argcount)]
    updates, outputs = build(*tables)
    f = phintys.function(INPUTS, outputs, updates=updates, mode=mode, on_unused_input="ignore")
    return f, tables


def values(tables):
    return [table.get_value() for table in tables]


@pytest.mark.parametrize("name", PROGRAMS)
def test_tables_are_overwritten_and_hold_the_values_of_the_reference(name):
    f, tables = compiled(name, "native")
    h, others = compiled(name, "reference")
    program = lower_program(f.maker.fgraph)
    verify_program(program)
    claims = [step for step in program.steps if isinstance(step, Claim)]
    assert len(claims) == len(tables)
    places = [table.get_value(borrow=True).ctypes.data for table in tables]
    for arguments in VALID:
        for one, same in zip(f(*arguments), h(*arguments), strict=True):
            np.testing.assert_allclose(one, same, rtol=1e-12)
        for one, same in zip(values(tables), values(others), strict=True):
            np.testing.assert_allclose(one, same, rtol=1e-12)
    assert [table.get_value(borrow=True).ctypes.data for table in tables] == places
    failed = 0
    for arguments in FAILING:
        before = values(tables)
        try:
            wanted = h(*arguments)
        except (IndexError, ValueError):
            with pytest.raises((IndexError, ValueError)):
                f(*arguments)
            for one, same in zip(values(tables), before, strict=True):
                np.testing.assert_array_equal(one, same)
            failed += 1
        else:
            for one, same in zip(f(*arguments), wanted, strict=True):
                np.testing.assert_allclose(one, same, rtol=1e-12)
        for one, same in zip(tables, others, strict=True):
            same.set_value(one.get_value())
    assert failed


@pytest.mark.parametrize("name", ["adagrad", "adam", "one_row", "before_and_after", "moments"])
def test_values_that_take_no_longer_than_the_update_do_not_depend_on_other_threads(name):
    program = lower_program(compiled(name, "native")[0].maker.fgraph)
    claims = [step for step in program.steps if isinstance(step, Claim)]
    assert [claim.is_read for claim in claims] == [name == "before_and_after"] * len(claims)


def test_indices_are_checked_once_for_tables_of_one_size():
    tables = [phintys.shared(np.ones((ROWS, COLUMNS)), shape=(ROWS, COLUMNS)) for _ in range(2)]
    new = pt.inc_subtensor(tables[0][index], g**2)
    step = pt.inc_subtensor(tables[1][index], -g / pt.sqrt(new[index]))
    f = phintys.function([index, g], new[index], updates=zip(tables, (new, step), strict=True))
    assert f.explain().count("checked(") == 1
    f([2, 2], np.ones((2, COLUMNS)))
    with pytest.raises(IndexError, match="index 9 is out of range for axis 0"):
        f([2, ROWS], np.ones((2, COLUMNS)))
    assert [table.get_value()[2, 0] for table in tables] == [3.0, 1 - 2 / np.sqrt(3)]
