"""Means and variances against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import DtypeError, ShapeError

CASES = {"mean": (pt.mean, np.mean), "var": (pt.var, np.var), "std": (pt.std, np.std)}
RTOL = {"float16": 5e-3, "float32": 1e-5, "complex64": 1e-5}


def _compare(result, expected, value):
    assert result.dtype == expected.dtype
    rtol = RTOL.get(value.dtype.name, 1e-12)
    scale = np.max(np.abs(value.astype(complex)), initial=0) ** 2 + 1
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol * scale)


def _expected(function, value, **options):
    """NumPy's result; in float16 of the same data in float32, as NumPy itself adds in float16."""
    with np.errstate(all="ignore"), pytest.warns() as _:
        import warnings

        warnings.warn("so that there is one", stacklevel=1)
        if value.dtype == np.float16:
            return np.asarray(function(value.astype(np.float32), **options)).astype(np.float16)
        return np.asarray(function(value, **options))


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
def test_like_numpy(name, data, draw, evaluate):
    build, function = CASES[name]
    value = draw.array(data, finite=True)
    x = draw.variable(data, value)
    options = {
        "axis": draw.axes(data, value.ndim),
        "keepdims": data.draw(st.booleans(), "keepdims"),
    }
    if name != "mean":
        options["ddof"] = data.draw(st.sampled_from([0, 1, 2]), "ddof")
    result = evaluate(build(x, **options), {x: value})
    _compare(result, _expected(function, value, **options), value)
