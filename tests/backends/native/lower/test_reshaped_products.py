"""Products that leave reshaped are written where they are returned."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

x, z = pt.tensor3("x"), pt.matrix("z")
product = x @ z
A, C = np.arange(60.0).reshape(3, 4, 5), np.arange(10.0).reshape(5, 2)


def test_a_reshaped_product_is_not_copied():
    f = phintys.function([x, z], product, mode="native")
    assert f.explain().startswith("1 call, 4 checks\n")
    np.testing.assert_array_equal(f(A, C), A @ C)
    with pytest.raises(phintys._base.errors.ShapeError):
        f(A, C.T)


@pytest.mark.parametrize(
    "others",
    [
        lambda y: [y + 1],
        lambda y: [y.reshape((-1,))],
        lambda y: [y[0]],
        lambda y: [y],
        lambda y: [y.owner.inputs[0]],
    ],
    ids=["read", "reshaped twice", "in part", "twice", "before"],
)
def test_other_uses_keep_their_values(others):
    outputs = [product, *others(product)]
    f = phintys.function([x, z], outputs, mode="native")
    oracle = phintys.function([x, z], outputs, mode="reference")
    found = f(A, C)
    for one, other in zip(found, oracle(A, C), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.shares_memory(*found)


def test_a_shared_value_can_take_its_memory():
    state = phintys.shared(np.zeros((3, 4, 2)))
    f = phintys.function([x, z], product, updates={state: product}, mode="native")
    returned = f(A, C)
    returned[:] = 0
    np.testing.assert_array_equal(state.get_value(), A @ C)
