"""What is returned of the next value of a shared variable is read when that has been written."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

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
