"""Lists of values as values of variables."""

from __future__ import annotations

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, TypeContractError
from phintys.compat import typed_list as lists
from phintys.compat.old_classes import SliceType

VALUES = [np.arange(3.0), np.arange(2.0), np.arange(3.0)]


@pytest.fixture
def x():
    return lists.TypedListType(pt.dvector)("x")


def _same(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_operations_of_lists(x):
    v, i, where = pt.dvector("v"), pt.lscalar("i"), SliceType()("where")
    outputs = [
        x[i], x[1:], x[where], x.append(v), x.extend(x), x.insert(i, v), x.remove(v), x.reverse(),
        x.count(v), x.ind(v), lists.length(x), lists.make_list([v, v + 1]),
    ]  # fmt: skip
    f = phintys.function([x, v, i, where], outputs)
    new = np.arange(2.0)
    at, part, first, more, twice, inserted, less, back, times, place, number, made = f(
        VALUES, new, -1, slice(0, 2)
    )
    np.testing.assert_array_equal(at, VALUES[-1])
    _same(part, VALUES[1:])
    _same(first, VALUES[:2])
    _same(more, [*VALUES, new])
    _same(twice, VALUES * 2)
    _same(inserted, [*VALUES[:-1], new, VALUES[-1]])
    _same(less, [VALUES[0], VALUES[2]])
    _same(back, VALUES[::-1])
    _same(made, [new, new + 1])
    assert (times, place, number) == (1, 1, 3)
    assert len(VALUES) == 3


def test_what_is_not_there(x):
    with pytest.raises(IndexError, match="none at index 7"):
        phintys.function([x], x[7])(VALUES)
    with pytest.raises(ValueError, match="no element"):
        phintys.function([x], x.remove(np.array([5.0])))(VALUES)
    with pytest.raises(TypeContractError, match="takes a list"):
        phintys.function([x], lists.length(x))(np.zeros((2, 2)))
    with pytest.raises(ArgumentError, match="0 or more"):
        lists.TypedListType(pt.dvector, -1)
    with pytest.raises(TypeContractError, match="integer"):
        lists.getitem(x, 1.5)


def test_lists_of_lists():
    kind = lists.TypedListType(pt.dvector, 1)
    assert kind == lists.TypedListType(lists.TypedListType(pt.dvector))
    assert kind.get_depth() == 1
    x = kind("x")
    f = phintys.function([x], lists.length(x[0]))
    assert f([VALUES, []]) == 3


def test_lists_in_loops(theano):
    T, typed = theano.tensor, theano.typed_list
    x = typed.TypedListType(T.dvector)("x")
    sums, _ = theano.scan(
        lambda i, x: x[i].sum(), sequences=[T.arange(typed.length(x))], non_sequences=[x]
    )
    assert theano.function([x], sums)(VALUES).tolist() == [3.0, 1.0, 3.0]
