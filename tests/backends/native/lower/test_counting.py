"""Results that are as long as values say: nonzero, masks, repetitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import IndexingError, ShapeError
from phintys.testing.strategies import arrays
from tests.budget import budget

FEW = budget(25)
TARGETS = st.sampled_from(["host", "x86-64-v2"])
SHAPES = st.lists(st.sampled_from([0, 1, 2, 3, 5, 19]), min_size=1, max_size=3).map(tuple)


def like(value):
    return pt.tensor(dtype=value.dtype, shape=(None,) * value.ndim)


@FEW
@given(st.data(), SHAPES, TARGETS)
def test_nonzero(compare, data, shape, target):
    value = data.draw(arrays(shape=shape, interval=(-1, 1)))
    x = like(value)
    compare([x], [*pt.nonzero(x), *pt.nonzero(x.T[::-1])], [value], exact=True, target=target)


@st.composite
def masked(draw):
    """An array and a mask of some of its axes, which begin at one of them."""
    shape = draw(SHAPES)
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first + 1, len(shape)))
    value = draw(arrays(("float64", "int16", "complex64"), shape, special=False))
    return value, draw(arrays(("bool",), shape[first:last])), first


@FEW
@given(masked(), st.booleans(), TARGETS)
def test_masks(compare, drawn, is_constant, target):
    value, mask, first = drawn
    x, m = like(value), like(mask)
    place = x[(*[slice(None)] * first, mask if is_constant else m)]
    outputs = [
        place,
        pt.set_subtensor(place, np.int8(2)),
        pt.inc_subtensor(place, np.int8(2)),
        pt.set_subtensor(place, place[::-1] if not first else place),
    ]
    compare([x, m], outputs, [value, mask], exact=True, target=target)


def test_masks_beside_arrays_and_new_axes(compare):
    x, m, i = pt.dmatrix("x"), pt.tensor("m", dtype="bool", shape=(None,)), pt.lvector("i")
    values = [np.arange(12.0).reshape(3, 4), np.array([True, False, True]), np.array([3, -1])]
    outputs = [x[m, i], x[None, m, None], x[m][:, ::2], x[m, 1:], x[m[:, None] & (x > 2)]]
    compare([x, m, i], outputs, values, exact=True)


def test_what_is_found_is_used_further(compare):
    x = pt.dvector("x")
    found = x[x > 0]
    outputs = [pt.exp(found).sum(), found * found[::-1], found.shape[0] + 1]
    compare([x], outputs, [np.linspace(-1, 1, 41)])


def test_order_beside_reductions(compare):
    """Reductions of columns change the order of loops, which must not change who is last."""
    x, i = pt.lmatrix("x"), pt.lvector("i")
    y = x * 2
    written = pt.set_subtensor(pt.zeros((2, 3), dtype="int64")[i], y)
    outputs = [*pt.nonzero(y), y.sum(axis=0), written, y.max(axis=0), y.sum(axis=1), y.sum()]
    values = [np.arange(12).reshape(4, 3) % 5, np.array([0, 1, 1, 0])]
    compare([x, i], outputs, values, exact=True)


def test_a_mask_that_does_not_fit():
    x, m = pt.dvector("x"), pt.tensor("m", dtype="bool", shape=(None,))
    f = phintys.function([x, m], x[m])
    with pytest.raises(IndexingError, match="mask of shape"):
        f(np.zeros(3), np.zeros(4, bool))
    assert f(np.arange(3.0), np.array([True, False, True])).tolist() == [0, 2]


@FEW
@given(
    st.lists(st.integers(0, 4), max_size=20), st.sampled_from(["int8", "uint32", "int64"]), TARGETS
)
def test_repetitions(compare, counts, dtype, target):
    counts = np.array(counts, dtype)
    c, x = like(counts), pt.dmatrix("x")
    outputs = [pt.RepeatIndex()(c), pt.repeat(x, c, axis=0)]
    values = [counts, np.arange(2.0 * len(counts)).reshape(-1, 2)]
    compare([c, x], outputs, values, exact=True, target=target)


def test_negative_counts():
    c = pt.lvector("c")
    f = phintys.function([c], pt.RepeatIndex()(c))
    with pytest.raises(ShapeError, match="not be negative"):
        f(np.array([2, -1]))
    assert f(np.array([2, 0, 1])).tolist() == [0, 0, 2]
