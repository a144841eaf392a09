"""Classes of reductions."""

from __future__ import annotations

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.compat import op_families

VALUE = np.array([[1.0, 0.0, 3.0], [4.0, 5.0, 0.5]])

_NUMPY = {
    "Sum": np.sum, "Prod": np.prod, "Max": np.max, "Min": np.min, "All": np.all, "Any_": np.any,
}  # fmt: skip


@pytest.mark.parametrize("name", _NUMPY)
@pytest.mark.parametrize("axis", [None, 0, (1,)])
def test_a_class_reduces_and_tells_its_own_ops_from_others(name, axis):
    value = VALUE > 0.7 if name in {"All", "Any_"} else VALUE
    x = pt.tensor("x", shape=(2, 3), dtype=str(value.dtype))
    found = getattr(op_families, name)(axis)(x)
    np.testing.assert_allclose(found.eval({x: value}), _NUMPY[name](value, axis=axis))
    kinds = [other for other in _NUMPY if isinstance(found.owner.op, getattr(op_families, other))]
    assert kinds == [name]
    assert not isinstance(pt.exp(x).owner.op, getattr(op_families, name))


def test_dtypes_come_after_the_axis():
    x = pt.imatrix("x")
    assert op_families.Sum(0, "float32")(x).dtype == "float32"
    assert op_families.Prod(axis=0, acc_dtype="float64", no_zeros_in_input=True)(x).dtype == "int64"


def test_a_product_without_zeros():
    x = pt.dmatrix("x")
    found = op_families.ProdWithoutZeros(axis=1)(x).eval({x: VALUE})
    np.testing.assert_array_equal(found, [3.0, 10.0])
