"""Arguments by the names of NumPy, the array API and PyTensor."""

import inspect

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, OpContractError
from phintys.graph.equality import equal_computations
from phintys.tensor.synonyms import SYNONYMS

X = pt.dmatrix("x")
Y = pt.dmatrix("y")
V = pt.dvector("v")
INDICES = pt.lmatrix("i")

REST = {
    "angle": {"z": X},
    "append": {"values": Y},
    "argpartition": {"kth": 1},
    "array_equal": {"a": X, "b": Y},
    "array_equiv": {"a": X, "b": Y},
    "array_split": {"indices_or_sections": 2},
    "broadcast_to": {"shape": (2, 3, 4)},
    "can_cast": {"source": "int8", "to": "int16"},
    "ceil_intdiv": {"y": Y},
    "choose": {"x": INDICES, "choices": (1, 2)},
    "clip": {"min": 0, "max": Y},
    "column_stack": {"tensors": [X, Y]},
    "compress": {"condition": [True]},
    "cross": {"x1": [1, 2, 3], "x2": [4, 5, 6]},
    "delete": {"obj": 0},
    "dot": {"y": Y},
    "dstack": {"tensors": [X, Y]},
    "extract": {"condition": X > 0},
    "fill_diagonal": {"val": 1},
    "hstack": {"tensors": [X, Y]},
    "inner": {"y": Y},
    "insert": {"obj": 0, "values": 1},
    "intersect1d": {"a": X, "b": Y},
    "kron": {"y": Y},
    "matmul": {"y": Y},
    "nanpercentile": {"q": 50},
    "nanquantile": {"q": 0.5},
    "outer": {"y": Y},
    "pad": {"pad_width": 1},
    "partition": {"kth": 1},
    "percentile": {"q": 50},
    "place": {"mask": X > 0, "values": [1, 2]},
    "polyadd": {"p": V, "q": [1, 2]},
    "polymul": {"p": V, "q": [1, 2]},
    "polysub": {"p": V, "q": [1, 2]},
    "put": {"indices": [0], "values": 1},
    "put_along_axis": {"indices": INDICES, "values": 1, "axis": 0},
    "quantile": {"q": 0.5},
    "ravel_multi_index": {"multi_index": (INDICES, INDICES), "shape": (2, 3)},
    "reshape": {"shape": (2, 3)},
    "roll": {"shift": 1},
    "searchsorted": {"x": V, "v": Y},
    "setdiff1d": {"a": X, "b": Y},
    "setxor1d": {"a": X, "b": Y},
    "shape_padaxis": {"axis": 0},
    "split": {"splits_size": [1, 2]},
    "stacklists": {"tensors": [X, Y]},
    "take": {"indices": [0]},
    "take_along_axis": {"indices": INDICES, "axis": 0},
    "tensordot": {"y": Y},
    "union1d": {"a": X, "b": Y},
    "unravel_index": {"indices": INDICES, "shape": (2, 3)},
    "vdot": {"x": V, "y": V},
    "vstack": {"tensors": [X, Y]},
    "concatenate": {"tensors": [X, Y]},
    "eye": {"n": 2, "m": 3},
    "expand_dims": {"axis": 0},
    "full_like": {"fill_value": 2},
    "moveaxis": {"source": 0, "destination": 1},
    "repeat": {"repeats": 2},
    "stack": {"tensors": [X, Y]},
    "swapaxes": {"axis1": 0, "axis2": 1},
    "tile": {"reps": 2},
    "tri": {"n": 2, "m": 3},
    "where": {"condition": X > 0, "x": X, "y": Y},
}
"""The other arguments of a function."""

SPELLINGS = [
    (name, other, ours) for name, table in SYNONYMS.items() for other, ours in table.items()
]


@pytest.mark.parametrize(("name", "other", "ours"), SPELLINGS)
def test_other_names_mean_the_same(name, other, ours):
    function = getattr(pt.fft if "fft" in name else pt, name)
    parameters = inspect.signature(function).parameters
    options = ({"x": X} if "x" in parameters else {}) | REST.get(name, {})
    assert ours in options
    renamed = {other if key == ours else key: value for key, value in options.items()}
    assert _equal(function(**options), function(**renamed))


def _equal(found, expected):
    if not isinstance(found, pt.TensorVariable | pt.TensorConstant | list | tuple):
        return found == expected
    several = isinstance(found, list | tuple)
    return equal_computations(*((list(x) if several else [x]) for x in (found, expected)))


def test_an_argument_is_given_once():
    with pytest.raises(ArgumentError, match="twice"):
        pt.sum(x=X, a=X)
    with pytest.raises(TypeError, match="multiple values"):
        pt.sum(X, a=X)
    with pytest.raises(TypeError, match="unexpected"):
        pt.sum(b=X)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: pt.exp(x=X), lambda: pt.exp(X)),
        (lambda: pt.exp(a=X), lambda: pt.exp(X)),
        (lambda: pt.arctan2(x1=X, x2=Y), lambda: pt.arctan2(X, Y)),
        (lambda: pt.arctan2(X, y=Y), lambda: pt.arctan2(X, Y)),
        (lambda: pt.xlogy(y=Y, x=X), lambda: pt.xlogy(X, Y)),
        (lambda: pt.betaln(b=Y, a=X), lambda: pt.betaln(X, Y)),
        (lambda: pt.kv(v=1.5, x=X), lambda: pt.kv(1.5, X)),
        (lambda: pt.clip(X, min=0, max=Y), lambda: pt.clip(X, 0, Y)),
        (lambda: X.clip(max=Y), lambda: pt.minimum(X, Y)),
        (lambda: pt.clip(X, Y, None), lambda: pt.maximum(X, Y)),
        (lambda: pt.clip(X), lambda: pt.tensor_copy(X)),
        (lambda: pt.angle(X, deg=True), lambda: pt.rad2deg(pt.angle(X))),
        (lambda: pt.switch(cond=X > 0, ift=X, iff=Y), lambda: pt.switch(X > 0, X, Y)),
        (lambda: pt.clip(X, a_max=1, a_min=0), lambda: pt.clip(X, 0, 1)),
        (lambda: pt.clip(x=X, lower=0, upper=1), lambda: pt.clip(X, 0, 1)),
        (lambda: pt.switch(X > 0, y=Y, x=X), lambda: pt.switch(X > 0, X, Y)),
    ],
)
def test_operands_by_name(found, expected):
    assert equal_computations([found()], [expected()])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pt.exp(X, z=Y), "no operand of that name. Its operands are x"),
        (lambda: pt.exp(X, x=Y), "got 'x' twice"),
        (lambda: pt.arctan2(x2=Y), "x1 is missing"),
        (lambda: pt.switch(X, 0, 1, 2, y=Y), "twice"),
        (lambda: pt.add(X, y=Y), "operand"),
    ],
)
def test_wrong_names(call, message):
    with pytest.raises(OpContractError, match=message):
        call()


def test_results_can_be_named_besides():
    assert pt.arctan2(x1=X, x2=Y, name="angle").name == "angle"
    assert np.dtype(pt.sum(a=[1, 2]).dtype) == np.int64
