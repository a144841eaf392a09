"""The way between scalars and tensors of rank 0."""

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import TypeContractError
from phintys.gradient import Rop, grad
from phintys.graph import Type, contract
from phintys.tensor.scalar_bridge import ScalarFromTensor, TensorFromScalar
from phintys.tensor.type import DTYPES


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype):
    scalar, tensor = ps.ScalarType(dtype)("s"), pt.scalar("t", dtype=dtype)
    assert pt.tensor_from_scalar(scalar).type == tensor.type
    assert pt.scalar_from_tensor(tensor).type is scalar.type


@pytest.mark.parametrize("dtype", DTYPES)
def test_values(dtype):
    value = np.asarray(1, dtype)
    there, back = pt.scalar_from_tensor, pt.tensor_from_scalar
    s = there(pt.scalar(dtype=dtype))
    cells = [[None]]
    s.owner.op.perform(s.owner, [value], cells)
    assert isinstance(cells[0][0], np.generic)
    assert s.type.is_valid_value(cells[0][0])
    t = back(s)
    number = cells[0][0]
    cells = [[None]]
    t.owner.op.perform(t.owner, [number], cells)
    assert type(cells[0][0]) is np.ndarray
    assert t.type.is_valid_value(cells[0][0])


def test_what_they_do_not_take():
    with pytest.raises(TypeContractError, match="TensorFromScalar takes a scalar, got x"):
        pt.tensor_from_scalar(pt.dscalar("x"))
    with pytest.raises(TypeContractError, match="takes a scalar"):
        pt.tensor_from_scalar(Type()("x"))
    with pytest.raises(TypeContractError, match=r"takes a tensor of rank 0, got v of type Vector"):
        pt.scalar_from_tensor(pt.dvector("v"))


def test_scalars_among_tensors():
    s, v = ps.float64("s"), pt.dvector("v")
    out = v * s + 1
    assert out.type == pt.dvector
    f = phintys.function([v, s], out, mode="reference")
    np.testing.assert_array_equal(f([1.0, 2.0], 3.0), [4, 7])


def test_constants_are_converted_now():
    constant = pt.as_tensor_variable(ps.constant(2.5))
    assert isinstance(constant, pt.TensorConstant)
    assert constant.data == 2.5
    assert constant.type == pt.dscalar


def test_tensors_into_scalar_graphs():
    t = pt.dscalar("t")
    out = ps.exp(pt.scalar_from_tensor(t))
    assert isinstance(out.type, ps.ScalarType)
    f = phintys.function([t], out, mode="reference")
    assert f(0.0) == 1.0


def test_derivatives():
    s, v = ps.float64("s"), pt.dvector("v")
    cost = pt.sum(pt.exp(v * s))
    of_s, of_v = grad(cost, [s, v])
    assert of_s.type is s.type
    f = phintys.function([v, s], [of_s, of_v], mode="reference")
    values = np.array([0.5, -1.0])
    by_s, by_v = f(values, 2.0)
    np.testing.assert_allclose(by_s, (values * np.exp(2 * values)).sum())
    np.testing.assert_allclose(by_v, 2 * np.exp(2 * values))
    tangent = Rop(pt.exp(v * s), s, ps.constant(1.0))
    g = phintys.function([v, s], tangent, mode="reference")
    np.testing.assert_allclose(g(values, 2.0), values * np.exp(2 * values))
    t = pt.dscalar("t")
    back = grad(ps.exp(pt.scalar_from_tensor(t)), t)
    assert phintys.function([t], back, mode="reference")(0.0) == 1.0


def test_shapes():
    node = pt.tensor_from_scalar(ps.float64("s")).owner
    assert contract.infer_shape(None, node, [None]) == [()]
    node = pt.scalar_from_tensor(pt.dscalar("t")).owner
    assert contract.infer_shape(None, node, [()]) == [None]


def test_equality():
    assert TensorFromScalar() == pt.tensor_from_scalar
    assert ScalarFromTensor() == pt.scalar_from_tensor
    assert TensorFromScalar() != ScalarFromTensor()
