"""What is known of variables before run time."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import OpContractError

X = pt.dvector("x")


@pytest.mark.parametrize(
    ("variable", "number"),
    [
        (pt.constant(2.5), 2.5),
        (pt.full((2, 3), 4), 4),
        (pt.zeros_like(X), 0.0),
        (pt.assert_op(pt.constant(3), True), 3),
        (pt.constant(2) + 3, 5),
        (pt.constant([7, 7]), 7),
    ],
)
def test_the_number_that_all_elements_are(variable, number):
    assert variable.get_underlying_scalar_constant() == number
    assert pt.get_underlying_scalar_constant_value(variable).shape == ()


@pytest.mark.parametrize("variable", [X, X[0], pt.constant([1, 2]), pt.assert_op(3, X.sum() > 0)])
def test_no_number_is_known(variable):
    with pytest.raises(OpContractError, match="not known"):
        variable.get_underlying_scalar_constant()


def test_arrays_are_numbers_if_they_hold_one():
    assert pt.get_underlying_scalar_constant_value(np.array([2])) == 2
    with pytest.raises(OpContractError, match="not one number"):
        pt.get_underlying_scalar_constant_value([1, 2])


def test_a_variable_has_a_name_of_its_own():
    clone = X.clone()
    assert X.auto_name == X.auto_name != clone.auto_name
    assert X.auto_name.startswith("auto_")


def test_logaddexp_of_many():
    values = [np.array([1.0, -700.0]), 2.0, np.array([800.0, -900.0]), 3.0]
    expected = np.logaddexp.reduce([np.broadcast_to(one, 2) for one in values])
    found = pt.logaddexp(X, *values[1:], name="total")
    assert found.name == "total"
    np.testing.assert_allclose(found.eval({X: values[0]}), expected)


def test_trusted_arguments_are_not_checked():

    assert phintys.function([X], X * 2, trust_input=True).trust_input
    assert not phintys.function([X], X * 2).trust_input
