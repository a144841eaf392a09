"""Convolutions of vectors: ends, tiles and what is left over, as in the reference backend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from tests.budget import budget

DTYPES = st.sampled_from(["float64", "float32", "int64", "uint16", "int8"])
LENGTHS = st.sampled_from([1, 2, 31, 64, 65, 130, 300])


@budget(20)
@given(DTYPES, LENGTHS, LENGTHS, st.integers(0, 99), st.sampled_from(["host", "x86-64-v2"]))
def test_values(compare, dtype, n, m, seed, target):
    """Of whole numbers, whose sums are exact."""
    draw = np.random.default_rng(seed)
    values = [draw.integers(0, 10, length).astype(dtype) for length in (n, m)]
    a, v = (pt.vector(dtype=dtype) for _ in values)
    compare([a, v], [pt.convolve(a, v), pt.convolve(a[::-1], v[::2])], values, target=target)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_where_it_is(compare, bad):
    a, v = pt.dvectors("a", "v")
    values = [np.arange(1.0, 200.0), np.arange(1.0, 31.0)]
    values[0][[0, 100, -1]] = bad
    compare([a, v], [pt.convolve(a, v), pt.correlate(v, a, "full")], values)


@pytest.mark.parametrize("lengths", [(0, 2), (2, 0)])
def test_vectors_are_not_empty(lengths):
    a, v = pt.dvectors("a", "v")
    function = phintys.function([a, v], pt.convolve(a, v), mode="native")
    with pytest.raises(ShapeError, match="not empty"):
        function(*(np.ones(length) for length in lengths))
