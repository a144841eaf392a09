"""What may stand between brackets, and what may not."""

import numpy as np
import pytest

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import IndexingError

X = pt.matrix("x")

WRONG = {
    "float": (1.0, r"got 1\.0 of type float. Cast"),
    "numpy float": (np.float64(1), "Cast it to an integer"),
    "text": ("a", "got 'a' of type str"),
    "list of floats": ([0.5], "integers or bools"),
    "list of texts": (["a"], "integers or bools"),
    "ragged": ([[0], [0, 1]], "integers or bools"),
    "float array": (np.ones(2), "Cast it to an integer"),
    "float variable": (pt.dscalar("i"), "Cast it to an integer"),
    "float vector": (pt.dvector("i"), "Cast it to an integer"),
    "complex": (pt.zvector("i"), "integers or bools"),
    "object": (object(), "An index is"),
    "dict": ({}, "An index is"),
    "set": ({0}, "An index is"),
    "huge": (2**70, "64 bits"),
    "too many": ((0, 0, 0), "Too many indices .* 2 dimensions, and 3 are indexed"),
    "too many with masks": ((np.ones((2, 2), bool), 0), "3 are indexed"),
    "two ellipses": ((..., ...), "one ellipsis"),
    "step 0": (slice(None, None, 0), "cannot be 0"),
    "float start": (slice(0.5, None), "The start of a slice"),
    "text stop": (slice(None, "a"), "The stop of a slice"),
    "float step": (slice(None, None, 0.5), "The step of a slice"),
    "array stop": (slice(None, np.array([1])), "The stop of a slice"),
    "symbolic array stop": (slice(None, pt.lvector("i")), "The stop of a slice"),
    "float variable stop": (slice(None, pt.dscalar("i")), "integers or bools"),
    "bool start": (slice(True, None), "The start of a slice"),
    "slice of slices": (slice(slice(1), None), "The start of a slice"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refuses(name):
    index, message = WRONG[name]
    with pytest.raises(IndexingError, match=message):
        X[index]
    with pytest.raises(IndexError):
        X[index]


VALUE = np.arange(12.0).reshape(3, 4)
I = pt.lscalar("i")
TAKEN = {
    "numpy integer": (np.uint8(2), 2),
    "array without dimensions": (np.array(2), 2),
    "constant": (pt.constant(2), 2),
    "variable": (I, 1),
    "scalar variable": (ps.constant(np.int64(1)), 1),
    "expression": (I + 1, 2),
    "list with a variable": ([0, I], [0, 1]),
    "list of lists": ([[0, 1], [I, 0]], [[0, 1], [1, 0]]),
    "range": (range(2), [0, 1]),
    "slice of numpy": (slice(np.int8(1), np.array(3)), slice(1, 3)),
    "slice of constants": (slice(pt.constant(1), None), slice(1, None)),
    "slice of expressions": (slice(I, I + 1), slice(1, 2)),
    "numpy bool": (np.True_, True),
    "newaxis": (np.newaxis, None),
}


@pytest.mark.parametrize("name", TAKEN)
def test_takes(name, evaluate):
    index, meant = TAKEN[name]
    found = evaluate(X[index], {X: VALUE, I: np.array(1)})
    np.testing.assert_array_equal(found, VALUE[meant])
