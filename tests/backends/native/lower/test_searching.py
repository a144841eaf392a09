"""Searches in sorted vectors, in lanes and one by one, as in the reference backend."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from tests.budget import budget

DTYPES = st.sampled_from(
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float32"),
        ("bool", "int8"),
        ("uint64", "uint64"),
        ("uint64", "int64"),
        ("int16", "uint8"),
        ("int64", "float32"),
    ]
)
LENGTHS = st.sampled_from([0, 1, 2, 3, 8, 33])
SHAPES = st.sampled_from([(0, 3), (1, 1), (5, 7), (9, 11)])


def numbers(seed, dtype, shape):
    draw = np.random.default_rng(seed)
    found = draw.integers(0, 20, shape).astype(dtype)
    if found.dtype.kind == "f" and found.size > 4:
        found.reshape(-1)[:4] = [np.nan, np.inf, -np.inf, -0.0]
    return found


@budget(20)
@given(DTYPES, LENGTHS, SHAPES, st.integers(0, 99), st.sampled_from(["host", "x86-64-v2"]))
def test_places(compare, dtypes, length, shape, seed, target):
    x, v = pt.vector(dtype=dtypes[0]), pt.matrix(dtype=dtypes[1])
    values = [np.sort(numbers(seed, dtypes[0], length)), numbers(seed + 1, dtypes[1], shape)]
    found = [pt.searchsorted(x, places, side) for side in ("left", "right") for places in (v, v.T)]
    compare([x, v], found, values, target=target)


def test_views_of_both(compare):
    x, v = pt.dvectors("x", "v")
    values = [np.arange(19.0, -1.0, -1.0), np.linspace(-1, 21, 45)]
    compare([x, v], [pt.searchsorted(x[::-2], v[::-3]), pt.searchsorted(x[::-1], v[4])], values)
