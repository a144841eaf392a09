"""Values that are computed from the next value of a shared variable do not make it a copy."""

import random
import threading
from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.lower import lower_program
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.verify import verify_program
from phintys.graph import Apply, Op

i, v, w = pt.lscalar("i"), pt.dscalar("v"), pt.dvector("w")
TABLE = np.arange(60.0).reshape(12, 5)


def updating(change, outputs, start=TABLE, mode: Any = "native"):
    """Return (a function that updates a shared table, the table)."""
    table = phintys.shared(np.array(start))
    new = change(table)
    updates = [(table, new)]
    found = outputs(new, table)
    return phintys.function(
        [i, v, w], found, updates=updates, mode=mode, on_unused_input="ignore"
    ), table


def claims(f):
    program = lower_program(f.maker.fgraph)
    verify_program(program)
    return [step for step in program.steps if isinstance(step, Claim)]


def as_list(found):
    return found if isinstance(found, list) else [found]


CHANGES = {
    "set": lambda s: pt.set_subtensor(s[i], v),
    "inc": lambda s: pt.inc_subtensor(s[i, 1:], v),
    "by an array": lambda s: pt.inc_subtensor(s[[0, 0, 2]], v),
    "all of it": lambda s: s - v * 0.5,
    "all of it, in rows": lambda s: s - w,
}
VALUES = {
    "sum": lambda new, s: new.sum(),
    "sums of rows": lambda new, s: new.sum(axis=1),
    "sums of columns": lambda new, s: new.sum(axis=0),
    "several": lambda new, s: [(new**2).mean(), new.max(), new[i] * 2, pt.exp(-new).sum()],
    "position": lambda new, s: new.argmax(),
    "positions": lambda new, s: new.argmax(axis=1),
    "one of its values": lambda new, s: pt.sqrt((new**2).sum(axis=1))[i],
    "flat": lambda new, s: new.flatten()[3:20:2] + 1,
}
FIRST = {
    "gathered": lambda new, s: new[[1, 2, 7]].sum(),
    "a row times a vector": lambda new, s: new[i] @ w,
    "times a vector": lambda new, s: new @ w,
    "softmax": lambda new, s: pt.special.softmax(new, axis=1),
    "twice": lambda new, s: pt.concatenate([new, new]).sum(),
    "running": lambda new, s: pt.cumsum(new[:, 0]),
    "and the old sum": lambda new, s: new.sum() - s.sum(),
    "and a matrix of its size": lambda new, s: (new * pt.ones_like(new)).sum(),
}
DIFFERENCES = {
    "the largest": lambda new, s: abs(new - s).max(),
    "in rows": lambda new, s: ((new - s) ** 2).sum(axis=1),
    "all, and their sum": lambda new, s: [new - s, (new - s).sum()],
    "and the old values": lambda new, s: [pt.switch(new > s, new, s), s * 2, new],
}
CASES = [(change, VALUES[value], value) for change in CHANGES for value in VALUES]
CASES += [("set", FIRST[value], value) for value in FIRST]
CASES += [
    (change, DIFFERENCES[value], f"differences: {value}")
    for change in ("all of it", "all of it, in rows")
    for value in DIFFERENCES
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("change", "values"),
    [(c, f) for c, f, _ in CASES],
    ids=[f"{change}, {name}" for change, _, name in CASES],
)
def test_the_table_is_overwritten_and_the_values_are_those_of_the_reference(change, values):
    f, table = updating(CHANGES[change], values)
    g, other = updating(CHANGES[change], values, mode="reference")
    address = table.get_value(borrow=True).ctypes.data
    (claim,) = claims(f)
    assert claim.is_shared
    earlier = []
    for place, value in [(1, 5.0), (-1, 0.5), (7, np.nan)]:
        arguments = place, value, np.arange(5.0)
        found, wanted = as_list(f(*arguments)), as_list(g(*arguments))
        for one, same in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, same, rtol=1e-12)
            assert not np.shares_memory(one, table.get_value(borrow=True))
        np.testing.assert_array_equal(table.get_value(), other.get_value())
        for one, before in earlier:
            np.testing.assert_array_equal(one, before)
        earlier += [(one, one.copy()) for one in found]
    assert table.get_value(borrow=True).ctypes.data == address


class Doubled(Op):
    """A Python Op, which may raise."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        if np.any(inputs[0] < 0):
            raise ValueError("negative")
        output_storage[0][0] = inputs[0] * 2.0


@pytest.mark.parametrize(
    ("values", "error"),
    [
        (lambda new, s: [new.sum(), Doubled()(new)], ValueError),
        (lambda new, s: [new.sum(), Doubled()(new.sum())], ValueError),
        (lambda new, s: [new.sum(), Doubled()(-abs(v))], ValueError),
        (lambda new, s: [new.sum(), pt.arange(10)[pt.cast(new[i, 0], "int64") + 50]], IndexError),
        (lambda new, s: [new.sum(), pt.arange(10)[new.argmax()]], IndexError),
        (lambda new, s: [new.sum(), pt.zeros(pt.cast(new[i, 0], "int64"))], ValueError),
        (lambda new, s: [new.sum(), new.sum(axis=0) + pt.zeros(i + 3)], ValueError),
        (lambda new, s: [new.sum(), new[i + 12].sum()], IndexError),
        (lambda new, s: pt.cast(new, "int64") ** pt.cast(new, "int64"), ValueError),
    ],
)
def test_a_value_that_cannot_be_computed_leaves_the_table_as_it_was(values, error):
    for change in ("set", "all of it"):
        f, table = updating(CHANGES[change], values)
        with pytest.raises(error):
            f(1, -1e6 if change == "set" else 1e6, np.arange(5.0))
        np.testing.assert_array_equal(table.get_value(), TABLE)


def test_sizes_and_indices_that_depend_on_the_new_value_are_right():
    table = phintys.shared(np.arange(4))
    new = pt.set_subtensor(table[i], i)
    f = phintys.function([i], [pt.arange(new[3]), new[new[3]], new.sum()], updates=[(table, new)])
    first, second, total = f(3)
    assert (first.tolist(), int(second), int(total)) == ([0, 1, 2], 3, 6)


def test_what_the_values_need_is_not_overwritten_before_the_end():
    table = phintys.shared(np.arange(3.0))
    new = pt.inc_subtensor(table[i], v)
    x = w * 2
    changed = pt.set_subtensor(x[0], 100.0)
    inputs = [i, v, phintys.In(w, mutable=True)]
    f = phintys.function(
        inputs, [(new * x).sum(), changed, (new + w).sum()], updates=[(table, new)]
    )
    total, other, plain = f(1, 10.0, np.array([1.0, 2.0, 3.0]))
    assert (float(total), other.tolist(), float(plain)) == (56.0, [100.0, 4.0, 6.0], 19.0)


def test_two_tables_are_overwritten_and_one_is_written_from_the_other():
    a, b = phintys.shared(np.zeros(4)), phintys.shared(np.zeros(4))
    new = pt.inc_subtensor(a[i], v)
    other = pt.set_subtensor(b[i + 1], new.sum() + new[0])
    f = phintys.function([i, v], other.sum(), updates=[(a, new), (b, other)])
    assert len(claims(f)) == 2
    assert [float(f(0, 1.0)), float(f(1, 2.0))] == [2.0, 6.0]
    assert (a.get_value().tolist(), b.get_value().tolist()) == ([1, 2, 0, 0], [0, 2, 4, 0])


def test_two_tables_are_overwritten_by_elements_of_both():
    a, b = phintys.shared(np.arange(4.0)), phintys.shared(np.arange(4.0) + 10)
    updates = [(a, a + b), (b, a - b)]
    f = phintys.function([], [abs((a + b) - a).max(), (a - b) * b], updates=updates)
    assert len(claims(f)) == 2
    largest, products = f()
    assert (float(largest), products.tolist()) == (13.0, [-100.0, -110.0, -120.0, -130.0])
    assert a.get_value().tolist() == [10.0, 12.0, 14.0, 16.0]
    assert b.get_value().tolist() == [-10.0] * 4


def test_work_that_takes_longer_than_a_copy_is_not_done_at_the_end():
    for values in (
        lambda new, s: new.T @ new,
        lambda new, s: (new[:, None, :] * new[None, :, :]).sum(),
        lambda new, s: pt.exp(pt.alloc(new.sum(), i)).sum(),
    ):
        f, table = updating(CHANGES["set"], values)
        g, other = updating(CHANGES["set"], values, mode="reference")
        assert claims(f) == []
        np.testing.assert_allclose(f(1, 5.0, []), g(1, 5.0, []))
        np.testing.assert_array_equal(table.get_value(), other.get_value())


@pytest.mark.parametrize(
    "values",
    [
        lambda new: Doubled()(new.sum()),
        lambda new: new.T @ new,
        lambda new: pt.zeros((pt.cast(new[0, 0], "int64") + 3,)),
        lambda new: pt.sort(new, axis=0),
        lambda new: phintys.ifelse(i > 0, new.sum(), new.max()),
    ],
    ids=["Python", "a long product", "a size", "a routine", "a branch"],
)
def test_only_the_table_whose_values_are_needed_earlier_is_copied(values):
    def program(mode: Any):
        tables = [phintys.shared(TABLE.copy()), phintys.shared(TABLE.copy())]
        first, other = (pt.set_subtensor(table[i], v) for table in tables)
        updates = list(zip(tables, (first, other), strict=True))
        outputs = [values(first), other.sum(), other[i]]
        return phintys.function([i, v], outputs, updates=updates, mode=mode), tables

    f, tables = program("native")
    (claim,) = claims(f)
    assert claim.source.variable is f.maker.fgraph.inputs[-1]
    g, others = program("reference")
    for one, same in zip(f(1, 5.0), g(1, 5.0), strict=True):
        np.testing.assert_allclose(one, same, rtol=1e-12)
    for table, other in zip(tables, others, strict=True):
        np.testing.assert_array_equal(table.get_value(), other.get_value())


def test_a_table_that_others_hold_is_not_overwritten():
    f, table = updating(CHANGES["set"], VALUES["sum"])
    held = table.get_value(borrow=True)
    assert float(f(0, 1.0, [])) == TABLE[1:].sum() + 5
    np.testing.assert_array_equal(held, TABLE)


def test_a_large_table_is_copied_while_other_threads_wait():
    f, table = updating(CHANGES["set"], VALUES["sum"], np.zeros((5000, 200)))
    address = table.get_value(borrow=True).ctypes.data
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert float(f(0, 1.0, [])) == 200.0
    finally:
        done.set()
        thread.join()
    assert table.get_value(borrow=True).ctypes.data != address


# ---- programs drawn at random --------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table + table[-1],
        lambda table: table.T[0].dimshuffle(0, "x") + table,
    ],
)
def test_an_update_from_other_elements_beside_a_copy_of_its_old_value(change):
    f, table = updating(change, lambda new, old: [pt.tensor_copy(old), new + 0 * old])
    g, other = updating(
        change, lambda new, old: [pt.tensor_copy(old), new + 0 * old], mode="reference"
    )
    for one, same in zip(f(0, 1.5, np.zeros(5)), g(0, 1.5, np.zeros(5)), strict=True):
        np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(table.get_value(), other.get_value())


class Drawn:
    """A program that updates tables and returns values, drawn from a seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.index = pt.lvector("index")
        self.x = w * 2

    def changed(self, table, others):
        """A next value of a table, maybe from rows of the next value of another."""
        new = table
        for _ in range(self.draw.randint(1, 2)):
            new = self.draw.choice(
                [
                    lambda new: pt.set_subtensor(new[i], v),
                    lambda new: pt.inc_subtensor(new[self.index], v),
                    lambda new: pt.inc_subtensor(new[self.index], self.x.sum()),
                    lambda new: pt.set_subtensor(new[::2], new[i] + v),
                    lambda new: table - v * 2 + w[0],
                    *[
                        lambda new: pt.inc_subtensor(
                            new[self.index], others[0][self.index].sum(axis=-1)
                        ),
                        lambda new: pt.set_subtensor(new[i], others[0][self.index[0], i]),
                    ]
                    * len(others),
                ]
            )(new)
        return new

    def value(self, given):
        """A value computed from some of those given."""
        one = self.draw.choice(given)
        for _ in range(self.draw.randint(1, 3)):
            step = self.draw.choice(
                [
                    lambda x: x * 2,
                    lambda x: x.sum(),
                    lambda x: x + self.draw.choice(given).sum(),
                    lambda x: pt.exp(-abs(x) / 100),
                    *[
                        lambda x: x[i],
                        lambda x: x[self.index],
                        lambda x: x[1:],
                        lambda x: x.sum(axis=0),
                        lambda x: x.sum(axis=-1),
                        lambda x: pt.set_subtensor(x[0], v),
                        lambda x: pt.concatenate([x, x]),
                        lambda x: pt.cumsum(x, axis=0),
                        lambda x: pt.special.softmax(x, axis=-1),
                    ]
                    * (one.ndim > 0),
                ]
            )
            one = step(one)
        return one

    def function(self, mode: Any):
        """The function, and its tables."""
        tables = [phintys.shared(TABLE[:6].copy()), phintys.shared(TABLE[0].copy())]
        updates = []
        for table in tables[: self.draw.randint(1, 2)]:
            updates.append((table, self.changed(table, [new for _, new in updates])))
        given = [*[new for _, new in updates] * 3, *tables, w, self.x]
        given += [abs(new - table) for table, new in updates]
        outputs = []
        for _ in range(self.draw.randint(1, 4)):
            outputs.append(self.value(given))
            given.append(outputs[-1])
        inputs = [i, v, w, self.index]
        made = phintys.function(
            inputs, outputs, updates=updates, mode=mode, on_unused_input="ignore"
        )
        return made, tables


def test_random_programs_give_the_values_of_the_reference_and_errors_change_nothing(repeats):
    overwriting = failing = 0
    for seed in range(repeats(25, 3_000)):
        f, tables = Drawn(seed).function("native")
        g, others = Drawn(seed).function("reference")
        overwriting += bool(claims(f))
        for call in range(3):
            last = 50 if (seed + call) % 3 == 0 else -1
            arguments = call, 1.5, np.arange(5.0), [call, 1, last]
            try:
                wanted = g(*arguments)
            except IndexError:
                failing += 1
                with pytest.raises(IndexError):
                    f(*arguments)
            else:
                for one, same in zip(f(*arguments), wanted, strict=True):
                    np.testing.assert_allclose(one, same, rtol=1e-9, err_msg=f"seed {seed}")
            for table, other in zip(tables, others, strict=True):
                np.testing.assert_allclose(
                    table.get_value(), other.get_value(), rtol=1e-9, err_msg=f"seed {seed}"
                )
    assert overwriting > 10
    assert failing > 3
