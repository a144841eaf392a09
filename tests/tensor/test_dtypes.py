"""What is known of dtypes, beside NumPy."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.tensor.type import DTYPES

KINDS = (
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_kinds_and_limits_are_those_of_numpy(dtype):
    for kind in KINDS:
        assert pt.isdtype(dtype, kind) == np.isdtype(np.dtype(dtype), kind)
    assert pt.isdtype(dtype, KINDS)
    assert not pt.isdtype(dtype, ())
    x = pt.vector("x", dtype=dtype)
    if np.dtype(dtype).kind in "iu":
        assert (pt.iinfo(x).min, pt.iinfo(x).max) == (np.iinfo(dtype).min, np.iinfo(dtype).max)
    elif dtype != "bool":
        assert pt.finfo(x).eps == np.finfo(dtype).eps
    assert getattr(pt, dtype) == dtype == x.dtype


def test_casts_and_promotion_are_those_of_numpy():
    for a in DTYPES:
        for b in DTYPES:
            assert pt.promote_types(a, b) == np.promote_types(a, b)
            assert pt.result_type(a, pt.vector(dtype=b)) == np.result_type(a, b)
            assert pt.issubdtype(a, b) == np.issubdtype(a, b)
            for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
                assert pt.can_cast(a, b, casting) == np.can_cast(a, b, casting)


@pytest.mark.parametrize("number", [True, 2, 2.5, 2j])
def test_python_numbers_only_say_what_kind_a_result_is(number):
    for dtype in DTYPES:
        assert pt.result_type(dtype, number) == np.result_type(np.empty(0, dtype), number)


def test_abstract_dtypes_are_numpys():
    assert pt.issubdtype("float32", np.floating)
    assert not pt.issubdtype(pt.lvector(), np.floating)
