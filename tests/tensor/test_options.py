"""Options of NumPy's functions, besides those of reductions."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import DtypeError

A = np.array([[1.0, 4.0, 9.0], [2.0, 3.0, 5.0]])

CALLS = {
    "concatenate": lambda lib, x: lib.concatenate([x, x], dtype="float32"),
    "concatenate unsafe": lambda lib, x: lib.concatenate([x, x], dtype="int8", casting="unsafe"),
    "stack": lambda lib, x: lib.stack([x, x], axis=1, dtype="complex128"),
    "hstack": lambda lib, x: lib.hstack([x, x], dtype="float32"),
    "vstack": lambda lib, x: lib.vstack([x[0], x], dtype="float32"),
    "trace": lambda lib, x: lib.trace(x, dtype="float32"),
    "zeros_like": lambda lib, x: lib.zeros_like(x, shape=(2, 2)),
    "ones_like": lambda lib, x: lib.ones_like(x, dtype="int8", shape=(4,)),
    "full_like": lambda lib, x: lib.full_like(x, 7, shape=(1, 2)),
    "empty_like": lambda lib, x: lib.empty_like(x, shape=(1, 0)),
    "diff prepend": lambda lib, x: lib.diff(x, prepend=0),
    "diff append": lambda lib, x: lib.diff(x, axis=0, append=x[:1]),
    "diff both": lambda lib, x: lib.diff(x, n=2, axis=1, prepend=x[:, :1], append=1.5),
    "linspace": lambda lib, x: lib.linspace(0.0, 3.0, 4, retstep=True)[1],
    "linspace open": lambda lib, x: lib.linspace(x[0], 3.0, 4, endpoint=False, retstep=True)[1],
    "linspace of one": lambda lib, x: lib.linspace(0.0, 3.0, 1, retstep=True)[1],
    "linspace of ints": lambda lib, x: lib.linspace(0.0, 3.0, 4, dtype="int32", retstep=True)[0],
    "eye": lambda lib, x: lib.eye(2, M=3),
    "tri": lambda lib, x: lib.tri(N=2, M=3, k=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpys_options(name, evaluate):
    x = pt.dmatrix("x")
    found, expected = evaluate(CALLS[name](pt, x), {x: A}), np.asarray(CALLS[name](np, A))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack"])
def test_digits_are_not_lost_unasked(name):
    with pytest.raises(DtypeError, match="casting='same_kind'"):
        getattr(pt, name)([pt.dmatrix("x")], dtype="int64")
