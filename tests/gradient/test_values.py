import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.gradient import value_and_grad


def product(a, b, c=1.0):
    return a * b["x"] * c


def evaluated(result, a, b):
    return phintys.function([a, b], result)(3.0, {"x": 5.0})


def test_values_and_gradients():
    a, b = pt.dscalar("a"), {"x": pt.dscalar("x")}
    assert evaluated(value_and_grad(product)(a, b), a, b) == [15, 5]
    assert evaluated(value_and_grad(product, 1)(a, b, c=2.0), a, b) == [30, {"x": 6}]
    assert evaluated(value_and_grad(product, (0, -1))(a, b), a, b) == [15, (5, {"x": 3})]

    def with_aux(a, b):
        return a * a, {"kept": b["x"]}

    assert evaluated(value_and_grad(with_aux, has_aux=True)(a, b), a, b) == [(9, {"kept": 5}), 6]
    assert phintys.value_and_grad is value_and_grad
    assert value_and_grad(product).__name__ == "product"


def test_an_argument_that_is_not_there():
    with pytest.raises(ArgumentError, match="argument 2, but there are 2 arguments"):
        value_and_grad(product, 2)(pt.dscalar(), {"x": pt.dscalar()})


def test_a_variable_or_no_position_is_refused():
    with pytest.raises(ArgumentError, match="takes a function of variables"):
        value_and_grad(pt.dscalar("x") ** 2, 0)
    with pytest.raises(ArgumentError, match="argnums is the position of an argument"):
        value_and_grad(product, "a")
