"""What is returned of the next value of a shared variable is read when that has been written."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from tools.fuzz.user_ops import strided

i, v, w = pt.lscalar("i"), pt.dscalar("v"), pt.dvector("w")


def updating(change, outputs, start, dtype="float64"):
    """Return (a function that updates a shared table and returns parts of it, the table)."""
    table = phintys.shared(np.array(start, dtype))
    new = change(table)
    inputs = [i, v, w]
    return phintys.function(
        inputs, outputs(new), updates=[(table, new)], on_unused_input="ignore"
    ), table


CHANGES = {
    "set": lambda table: pt.set_subtensor(table[i], v),
    "inc": lambda table: pt.inc_subtensor(table[i], v),
    "set, then inc": lambda table: pt.inc_subtensor(pt.set_subtensor(table[i], v)[1:3], w),
    "by an array": lambda table: pt.inc_subtensor(table[[0, 0, 2]], v),
}
OUTPUTS = {
    "the same place": lambda new: new[i],
    "several": lambda new: [new[i], new[1:], new[-1], new[::-2]],
    "a part of a part": lambda new: new[1:][::-1],
    "a column": lambda new: new[:2][:, None],
    "one part twice": lambda new: [new[i], new[i]],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", OUTPUTS)
def test_the_table_is_updated_in_place_and_read_afterwards(change, read):
    start = np.arange(4.0)
    f, table = updating(CHANGES[change], OUTPUTS[read], start)
    g, other = updating(CHANGES[change], OUTPUTS[read], start)
    address = table.get_value(borrow=True).ctypes.data
    assert f.explain().count("claim") >= 1
    for place, value in [(1, 5.0), (-1, 0.5), (2, np.nan)]:
        found = f(place, value, [1.0, 2.0])
        with phintys.config.change_flags(mode="reference"):
            wanted, _ = updating(CHANGES[change], OUTPUTS[read], other.get_value())
        given = wanted(place, value, [1.0, 2.0])
        many = isinstance(found, list)
        for one, same in zip(found if many else [found], given if many else [given], strict=True):
            np.testing.assert_array_equal(one, same)
            assert not np.shares_memory(one, table.get_value(borrow=True))
        g(place, value, [1.0, 2.0])
        np.testing.assert_array_equal(table.get_value(), other.get_value())
    assert table.get_value(borrow=True).ctypes.data == address


def test_a_read_that_fails_leaves_the_table_as_it_was():
    f, table = updating(CHANGES["set"], lambda new: [new[0], new[i + 1]], [1.0, 2.0, 3.0])
    with pytest.raises(IndexError):
        f(2, 9.0, [0.0])
    assert table.get_value().tolist() == [1.0, 2.0, 3.0]
    assert [float(one) for one in f(1, 9.0, [0.0])] == [1.0, 3.0]
    assert table.get_value().tolist() == [1.0, 9.0, 3.0]


def test_integers_are_read_anew():
    table = phintys.shared(np.arange(4))
    new = pt.set_subtensor(table[i], 7)
    f = phintys.function([i], [new[i], new[0]], updates=[(table, new)])
    assert [int(one) for one in f(2)] == [7, 0]
    assert [int(one) for one in f(0)] == [7, 7]


def test_what_is_computed_from_the_next_value_is_still_right():
    table = phintys.shared(np.arange(4.0))
    new = pt.set_subtensor(table[i], v)
    f = phintys.function([i, v], [new[i], new.sum(), new[:2] * 2], updates=[(table, new)])
    part, total, twice = f(1, 5.0)
    assert (part, total, twice.tolist()) == (5.0, 10.0, [0.0, 10.0])
    assert table.get_value().tolist() == [0.0, 5.0, 2.0, 3.0]


def _sum_of_next(s):
    new = s * 2
    return [(new * strided(s)).sum(), new.sum() * w], new


SEEN = {
    "by the kernel of the update": (lambda s: ([strided(s) * 3 + s], s * 2), False),
    "by a kernel that reads the next value": (_sum_of_next, False),
    "as a part of the next value": (lambda s: ([v], s + strided(s)), False),
    "before the update": (lambda s: ([strided(s).sum()], s * 2), True),
}


@pytest.mark.parametrize("name", SEEN)
def test_a_value_that_an_op_in_python_shows_is_not_overwritten_where_that_is_read(name):
    build, is_claimed = SEEN[name]
    for mode in ("native", "debug"):
        s = phintys.shared(np.arange(6.0))
        outputs, new = build(s)
        f = phintys.function([v, w], outputs, updates={s: new}, mode=mode, on_unused_input="ignore")
        if mode == "native":
            assert ("claim" in f.explain()) == is_claimed
        wanted = phintys.function(
            [v, w], [*build(s)[0], new], mode="reference", on_unused_input="ignore"
        )(1.0, [1.0])
        for one, same in zip([*f(1.0, [1.0]), s.get_value()], wanted, strict=True):
            np.testing.assert_array_equal(one, same)


NEW_BY_NAME = {
    "alloc": lambda new: pt.alloc(new, 1, *new.shape)[0],
    "tile": lambda new: pt.tile(new, 1 + new.shape[0] - new.shape[0], ndim=1),
    "flattened alloc": lambda new: pt.alloc(new, 1, *new.shape).flatten(),
    "broadcast": lambda new: pt.broadcast_to(new, (1, *new.shape))[0],
    "stack": lambda new: pt.stack([new])[0],
}
UPDATES = {
    "row": CHANGES["set"],
    "product": lambda table: table - 2 * pt.dot(pt.outer(table, table), table),
}


@pytest.mark.parametrize("change", UPDATES)
@pytest.mark.parametrize("name", NEW_BY_NAME)
def test_an_output_that_would_be_the_next_value_itself_is_a_copy(name, change):
    found = []
    for mode in ("native", "reference"):
        table = phintys.shared(np.arange(4.0), shape=(None,))
        new = UPDATES[change](table)
        output = NEW_BY_NAME[name](new)
        f = phintys.function(
            [i, v], output, updates={table: new}, mode=mode, on_unused_input="ignore"
        )
        made = f(2, 7.0)
        assert not np.shares_memory(made, table.get_value(borrow=True))
        found.append([made, table.get_value()])
    np.testing.assert_array_equal(*found)
