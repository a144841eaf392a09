"""Shared variables that hold arrays and numbers."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import shared
from phintys._base.errors import TypeContractError
from phintys.graph import generic
from phintys.tensor.shared_variable import TensorSharedVariable, shared_array, shared_number


def test_an_array():
    value = np.arange(6.0).reshape(2, 3)
    x = shared(value, name="x")
    assert isinstance(x, TensorSharedVariable)
    assert x.name == "x"
    assert x.type == pt.dmatrix  # sizes may change
    assert not np.shares_memory(x.get_value(borrow=True), value)
    np.testing.assert_array_equal(x.get_value(), value)


def test_values_of_other_shapes_and_dtypes():
    x = shared(np.zeros(2, "float32"))
    x.set_value(np.ones(5, "float32"))
    assert x.get_value().shape == (5,)
    x.set_value([1.0, 2.0])
    assert x.get_value().dtype == "float32"
    for wrong in (np.zeros((2, 2), "float32"), np.zeros(2, "float64"), "text", pt.fvector()):
        with pytest.raises(TypeContractError):
            x.set_value(wrong)
    np.testing.assert_array_equal(x.get_value(), [1, 2])


def test_a_fixed_shape():
    x = shared(np.zeros((2, 3)), shape=(None, 3))
    assert x.type.shape == (None, 3)
    x.set_value(np.zeros((5, 3)))
    with pytest.raises(TypeContractError, match="Wrong shape"):
        x.set_value(np.zeros((5, 4)))
    row = shared(np.zeros((1, 3)), broadcastable=(True, False))
    assert row.type == pt.drow
    with pytest.raises(TypeContractError, match="Wrong shape"):
        shared(np.zeros((2, 3)), broadcastable=(True, False))


def test_borrowing():
    value = np.zeros(3)
    x = shared(value, borrow=True)
    assert x.get_value(borrow=True) is value
    value[0] = 1
    assert x.get_value()[0] == 1
    copy = x.get_value()
    copy[1] = 7
    assert x.get_value()[1] == 0
    other = np.ones(3)
    x.set_value(other, borrow=True)
    assert x.get_value(borrow=True) is other
    x.set_value(other)
    assert x.get_value(borrow=True) is not other


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"),
        (3, "int64"),
        (1.5, "float64"),
        (2j, "complex128"),
        (np.float32(1), "float32"),
        (np.int8(1), "int8"),
        (np.bool_(True), "bool"),
        (np.array(1, "uint8"), "uint8"),
    ],
)
def test_numbers(value, dtype):
    x = shared(value)
    assert x.type == pt.TensorType(dtype, ())
    assert x.get_value() == value
    assert isinstance(x.get_value(), np.ndarray)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        ([1.0, 2.0], pt.dvector),
        ((1, 2), pt.lvector),
        ([[1, 2.5], (3, 4)], pt.dmatrix),
        ([], pt.dvector),
        ([True, False], pt.vector(dtype="bool").type),
        ([np.float32(1), np.float32(2)], pt.fvector),
        ([np.zeros(3), np.ones(3)], pt.dmatrix),
    ],
)
def test_lists_of_numbers(value, type_):
    x = shared(value)
    assert isinstance(x, TensorSharedVariable)
    assert x.type == type_
    np.testing.assert_array_equal(x.get_value(), value)
    assert (x + x).type == type_


def test_options_of_lists():
    assert shared([1, 2], dtype="int8", name="x").dtype == "int8"
    assert shared([[1.0, 2.0]], shape=(1, None)).type.shape == (1, None)
    assert shared([1, 2], type=pt.fvector).dtype == "float32"
    with phintys.config.change_flags(floatX="float32"):
        assert shared([1.5]).dtype == "float32"


class Pair(NamedTuple):
    x: int
    y: int


def test_lists_that_are_not_arrays():
    for value in (["a", "b"], [1, None], [[1], "a"], {"a": 1}):
        assert shared(value).type == generic
    assert shared(Pair(1, 2)).get_value() == Pair(1, 2)
    assert shared([1, [2]], type=generic).get_value() == [1, [2]]
    with pytest.raises(
        TypeContractError, match=r"value\[0\] has length 2 and value\[1\] has"
    ) as caught:
        shared([[1, 2], [3]])
    assert any("type=phintys.graph.generic" in note for note in caught.value.__notes__)
    with pytest.raises(
        TypeContractError, match=r"value\[0\]\[0\] is a number and value\[1\]\[0\] has length 1"
    ):
        shared([[1, 2], [[3], 4]])
    with pytest.raises(TypeContractError, match="symbolic variables"):
        shared([pt.dscalar(), 1.0])


def test_python_floats_have_floatx():
    with phintys.config.change_flags(floatX="float32"):
        assert shared(1.5).dtype == "float32"
        assert shared(np.float64(1.5)).dtype == "float64"
    assert shared_number(1, dtype="int8").dtype == "int8"
    assert shared_number(1.5, dtype="floatX").dtype == "float64"


def test_strictness():
    x = shared_array(np.zeros(2), strict=True)
    with pytest.raises(TypeContractError, match="strict=True"):
        x.set_value([1.0, 2.0])
    y = shared_array(np.zeros(2, "float32"), allow_downcast=True)
    y.set_value(np.array([0.1, 0.2]))
    assert y.get_value().dtype == "float32"


def test_zero():
    x = shared(np.ones(3), borrow=True)
    held = x.get_value(borrow=True)
    x.zero()
    assert held.tolist() == [1, 1, 1]
    assert x.get_value().tolist() == [0, 0, 0]
    held = x.get_value(borrow=True)
    held[...] = 5
    x.zero(borrow=True)
    assert held.tolist() == [0, 0, 0]
    assert x.get_value(borrow=True) is held


def test_in_expressions():
    x = shared(np.arange(3.0))
    y = pt.dvector("y")
    f = phintys.function([y], (x + y).sum(), mode="reference")
    assert f([1.0, 1.0, 1.0]) == 6
    x.set_value(np.zeros(3))
    assert f([1.0, 1.0, 1.0]) == 3
    assert (x * 2).owner.inputs[0] is x
    assert x.T.type == pt.dvector
    assert pt.as_tensor_variable(x) is x


def test_updates():
    x = shared(0)
    f = phintys.function([], x, updates={x: x + 1}, mode="reference")
    assert [int(f()), int(f()), int(x.get_value())] == [0, 1, 2]


def test_clone_and_pickle():
    x = shared(np.arange(3.0), name="x")
    again = pickle.loads(pickle.dumps(x))
    assert isinstance(again, TensorSharedVariable)
    np.testing.assert_array_equal(again.get_value(), x.get_value())
    again.set_value(np.zeros(3))
    assert x.get_value()[1] == 1
    assert x.clone().container is x.container


@pytest.mark.parametrize("value", [pt.dvector("v"), np.array(["a"])])
def test_what_cannot_be_shared(value):
    with pytest.raises(TypeError):
        shared(value)


def test_masked_arrays_are_refused():
    with pytest.raises(TypeContractError, match=r"array.filled"):
        shared(np.ma.array([1.0], mask=[True]))


def test_scalar_and_zero_size_arrays():
    assert shared(np.zeros((0, 2))).get_value().shape == (0, 2)
    assert shared(np.array(2.0)).get_value().shape == ()
