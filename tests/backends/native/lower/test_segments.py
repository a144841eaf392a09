"""Reductions of segments, in the order of the rows, as in the reference backend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.testing.strategies import arrays
from tests.budget import budget

DTYPES = ("bool", "int8", "uint64", "float16", "float32", "float64", "complex128")
SHAPES = st.sampled_from([(0,), (7,), (1, 1), (20, 3), (5, 0), (0, 4), (2, 3, 9)])
IDS = st.sampled_from(["int64", "uint8", "int16"])


@budget(20)
@given(st.data(), st.sampled_from(DTYPES), SHAPES, IDS, st.sampled_from(["host", "x86-64-v2"]))
def test_values(compare, data, dtype, shape, ids_dtype, target):
    value = data.draw(arrays((dtype,), shape, special=dtype != "complex128"))
    least = 0 if ids_dtype == "uint8" else -3
    numbers = np.random.default_rng(shape[0]).integers(least, 3, shape[0]).astype(ids_dtype)
    rows, ids = (pt.tensor(dtype=one.dtype, shape=(None,) * one.ndim) for one in (value, numbers))
    modes = ["prod"] if dtype == "complex128" else ["max", "min", "prod"]
    results = [pt.SegmentReduce(mode)(rows, ids, 3) for mode in modes]
    results.append(pt.SegmentReduce(modes[-1])(rows[::-1], ids[::-1], 3))
    compare([rows, ids], results, [value, numbers], exact=True, target=target)


@pytest.mark.parametrize("number", [2, -3])
def test_numbers_out_of_range(number):
    x, ids = pt.dvector("x"), pt.lvector("ids")
    function = phintys.function([x, ids], pt.segment_max(x, ids, 2), mode="native")
    with pytest.raises(IndexError, match="out of"):
        function([1.0, 2.0], [0, number])


def test_as_many_numbers_as_rows():
    x, ids = pt.dvector("x"), pt.lvector("ids")
    function = phintys.function([x, ids], pt.segment_min(x, ids, 2), mode="native")
    with pytest.raises(ShapeError, match="rows"):
        function([1.0, 2.0], [0])
