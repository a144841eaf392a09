"""Ops made from Python functions."""

import inspect
import pickle
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import GradientError, OpContractError, TypeContractError
from phintys.graph import Type
from phintys.testing import check_op


@phintys.wrap_py(
    [pt.dvector],
    [pt.dvector],
    infer_shape=lambda fgraph, node, shapes: shapes,
    grad=lambda inputs, output_grads: [2 * inputs[0] * output_grads[0]],
)
def square(x):
    """x * x."""
    return x * x


@phintys.wrap_py([pt.dvector, pt.lscalar], [pt.dvector, pt.dscalar])
def head_and_rest(x, n):
    return x[:n], float(x[n:].sum())


@phintys.wrap_py(pt.dvector, pt.dvector)
def same(x):
    return x


X = np.array([1.0, 2.0, 3.0])


def test_values_and_gradients():
    check_op(square, [[X]], reference=np.square)
    check_op(
        head_and_rest, [[X, 2]], reference=lambda x, n: [x[:n], x[n:].sum()], differentiable=[]
    )


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_in_a_function(mode):
    x = pt.dvector("x")
    f = phintys.function([x], [square(x + 1) * 2, phintys.grad(square(x).sum(), x)], mode=mode)
    value, slope = f(X)
    np.testing.assert_array_equal(value, 2 * (X + 1) ** 2)
    np.testing.assert_array_equal(slope, 2 * X)


def test_it_looks_like_the_function():
    assert square.__doc__ == (None if sys.flags.optimize > 1 else "x * x.")
    assert square.__name__ == str(square) == "square"
    assert list(inspect.signature(square).parameters) == ["x"]


def test_a_result_that_is_an_argument_is_copied():
    check_op(same, [[X]], reference=lambda x: x, differentiable=[])
    x = pt.dvector("x")
    given = X.copy()
    result = phintys.function([x], same(x))(given)
    assert not np.shares_memory(result, given)


def test_what_does_not_fit_is_explained():
    def text(x):
        return "text"

    def pair(x):
        return x, x, x

    x = pt.dvector("x")
    f = phintys.function([x], phintys.wrap_py(pt.dvector, pt.dvector)(text)(x), mode="reference")
    with pytest.raises(TypeContractError) as caught:
        f(X)
    assert any("text returned 'text' as output 0" in note for note in caught.value.__notes__)
    two = phintys.wrap_py([pt.dvector], [pt.dvector, pt.dvector])(pair)
    g = phintys.function([x], two(x), mode="reference")
    with pytest.raises(OpContractError, match="pair must return 2 values, got 3"):
        g(X)
    with pytest.raises(OpContractError, match="itypes is a Type or a list of Types"):
        phintys.wrap_py("dvector", pt.dvector)
    with pytest.raises(OpContractError, match="decorates a function"):
        phintys.wrap_py(pt.dvector, pt.dvector)(3)
    with pytest.raises(TypeContractError):
        square(pt.dmatrix("m"))


def test_a_wrong_gradient_is_found():
    wrong = phintys.wrap_py(pt.dvector, pt.dvector, grad=lambda inputs, gs: [gs[0]])(np.square)
    with pytest.raises(GradientError):
        check_op(wrong, [[X]], skip=["pickling"])
    other = phintys.wrap_py(pt.dvector, pt.dscalar, infer_shape=lambda fgraph, node, s: s)(np.sum)
    with pytest.raises(OpContractError, match="must return a tuple of 0 sizes"):
        check_op(other, [[X]], differentiable=[])


def test_without_a_gradient_there_is_none():
    x = pt.dvector("x")
    with pytest.raises(phintys.PhintysError):
        phintys.grad(same(x).sum(), x)


class Text(Type):
    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        if not isinstance(value, str):
            raise TypeError(f"expected a str, got {value!r}")
        return value


text = Text()


def test_types_of_ones_own():
    count = phintys.wrap_py([text], [pt.lscalar])(len)
    check_op(count, [["hello"]], types=[text], reference=len)


def test_equality_and_pickling():
    again = phintys.wrap_py(pt.dvector, pt.dvector)(same.function)
    assert again == same
    assert again != phintys.wrap_py(pt.dvector, pt.dscalar)(same.function)
    anonymous = phintys.wrap_py(pt.dvector, pt.dvector)(np.square)
    assert pickle.loads(pickle.dumps(anonymous)) == anonymous
