"""Values that compute expressions as they are written, under their old names."""

import importlib
import pickle
import warnings

import numpy as np
import pytest

from phintys._base.errors import ShapeError, TypeContractError
from phintys.compat.test_values import TestValueError


@pytest.fixture
def asked(theano):
    """The package, with test values that are required."""
    with theano.configparser.change_flags(compute_test_value="raise"):
        yield theano


def with_value(variable, value):
    variable.tag.test_value = np.asarray(value)
    return variable


def test_results_have_the_values_of_what_they_compute(asked):
    T = asked.tensor
    x = with_value(T.dmatrix("x"), [[1.0, 2.0, 3.0]])
    w = asked.shared(np.eye(3))
    y = T.nnet.sigmoid(T.dot(x, w)) * 2
    np.testing.assert_allclose(y.tag.test_value, 2 / (1 + np.exp([[-1.0, -2.0, -3.0]])))
    assert pickle.loads(pickle.dumps(y)).tag.test_value.shape == (1, 3)


def test_what_cannot_be_computed_fails_in_the_line_that_writes_it(asked):
    T = asked.tensor
    x = with_value(T.dmatrix("x"), np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"x: shape \(2, 3\)"):
        T.dot(x, x)


def test_values_are_of_the_type_of_their_variable(asked):
    x = with_value(asked.tensor.dmatrix("x"), [1.0])
    with pytest.raises(TypeContractError, match="expected 2") as error:
        x + 1
    assert error.value.__notes__ == ["It is the test value of x."]


def test_missing_values(asked):
    """raise, warn and ignore say what becomes of an input without a value."""
    x = asked.tensor.dvector("x")
    flags = asked.configparser.change_flags
    message = r"of Mul.0 cannot be computed, since x has none. Set x.tag.test_value"
    with pytest.raises(ValueError, match=message):
        x * 2
    with flags(compute_test_value="warn"), pytest.warns(UserWarning, match=message) as found:
        x * 2
    assert found[0].filename == __file__
    with flags(compute_test_value="ignore"), warnings.catch_warnings(action="error"):
        y = x * 2
    assert not hasattr(y.tag, "test_value")
    with_value(x, [1.0, 2.0])
    assert (y + 1).tag.test_value.tolist() == [3.0, 5.0]  # what was written before is computed


def test_without_the_option_nothing_is_computed(theano):
    x = with_value(theano.tensor.dvector("x"), [1.0])
    assert not hasattr((x * 2).tag, "test_value")


def test_gradients_and_loops(asked):
    T = asked.tensor
    x, n = with_value(T.dvector("x"), [1.0, 2.0]), with_value(T.iscalar("n"), np.int32(3))
    cost = (x**3).sum()
    assert T.grad(cost, x).tag.test_value.tolist() == [3.0, 12.0]
    assert asked.gradient.hessian(cost, x).tag.test_value.tolist() == [[6.0, 0.0], [0.0, 12.0]]
    assert asked.gradient.jacobian(x**2, x).tag.test_value.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert T.Rop(x**2, x, x).tag.test_value.tolist() == [2.0, 8.0]
    assert T.Lop(x**2, x, x).tag.test_value.tolist() == [2.0, 8.0]
    powers, _ = asked.scan(lambda p, x: p * x, None, T.ones_like(x), x, n_steps=n)
    assert powers.tag.test_value.tolist() == [[1.0, 2.0], [1.0, 4.0], [1.0, 8.0]]
    with pytest.raises(ShapeError, match=r"x: shape \(2,\)") as error:
        asked.map(lambda row: T.dot(x, T.ones((4,))) * row, x)
    assert "test_test_values.py" in str(error.value.__notes__)


def test_functions_and_eval_rewrite_without_them(asked):
    T = asked.tensor
    x = with_value(T.dvector("x"), [1.0, 2.0])
    y = T.log(T.exp(x)) * x
    assert asked.function([x], y)([3.0]).tolist() == [9.0]
    assert y.eval({x: [3.0]}).tolist() == [9.0]


def test_draws_choices_and_graphs_as_ops(asked):
    T = asked.tensor
    streams = importlib.import_module("theano.tensor.shared_randomstreams")
    draw = streams.RandomStreams(1).normal((2,))
    assert draw.tag.test_value.shape == (2,)
    x, n = with_value(T.dvector("x"), [1.0, 2.0]), with_value(T.lscalar("n"), 3)
    chosen = importlib.import_module("theano.ifelse").ifelse(n > 2, x.sum(), x.prod())
    assert chosen.tag.test_value == 3.0
    assert asked.OpFromGraph([x, n], [x * n])(x, n).tag.test_value.tolist() == [3.0, 6.0]


def test_copies_have_values_of_their_own(asked):
    x = with_value(asked.tensor.dvector("x"), [1.0, 2.0])
    doubled = x * 2
    assert asked.clone(doubled, replace={x: x + 1}).tag.test_value.tolist() == [4.0, 6.0]
    assert doubled.tag.test_value.tolist() == [2.0, 4.0]


def test_ops_read_them(asked):
    T = asked.tensor
    op = importlib.import_module("theano.gof.op")
    x, y = with_value(T.dvector("x"), [1.0, 2.0]), T.dvector("y")
    (values,) = op.get_debug_values(x, 3.0)
    assert [one.tolist() for one in values] == [[1.0, 2.0], 3.0]
    assert op.get_test_value(x + 1).tolist() == (x + 1).get_test_value().tolist() == [2.0, 3.0]
    with pytest.raises(AttributeError, match="y has no test value"):
        op.get_test_value(y)
    with pytest.raises(TestValueError):
        op.get_debug_values(x, y)
    flags = asked.configparser.change_flags
    with flags(compute_test_value="ignore"):
        assert op.get_debug_values(x, y) == []
    with flags(compute_test_value="off"):
        assert op.get_debug_values(x) == []


@pytest.mark.parametrize("module", ["aesara.graph.op", "aesara.graph.utils"])
def test_aesara_has_them(aesara, module):
    assert importlib.import_module(module).TestValueError is TestValueError
