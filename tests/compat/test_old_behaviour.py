"""What programs of the old packages rely on besides names."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import phintys
from phintys.compat import install, uninstall
from phintys.random import shared_rng


@pytest.fixture
def pytensor():
    install("pytensor")
    import pytensor

    yield pytensor
    uninstall("pytensor")


def test_a_function_without_outputs_returns_an_empty_list(theano):
    state = theano.shared(1.0)
    f = theano.function([], updates=[(state, state + 1)])
    assert f() == []
    assert state.get_value() == 2
    assert phintys.function([], updates=[(state, state + 1)])() is None


def test_numpy_adds_lists_of_tensors(theano):
    x, y = theano.tensor.dvectors("x", "y")
    f = theano.function([x, y], [np.sum([x, y]), np.prod([x, y, x])])
    total, product = f([1.0, 2.0], [3.0, 4.0])
    assert (total.tolist(), product.tolist()) == ([4.0, 6.0], [3.0, 16.0])


@pytest.mark.parametrize("alpha", [0, 0.25])
def test_relu_of_an_array_is_an_array(theano, alpha):
    relu = theano.tensor.nnet.relu
    x = np.array([-2.0, 0.0, 3.0], "float32")
    found = relu(x, alpha)
    assert isinstance(found, np.ndarray)
    assert found.dtype == "float32"
    np.testing.assert_array_equal(found, relu(theano.shared(x), alpha).eval())


def test_signatures_are_those_of_the_functions(theano):
    names = inspect.getfullargspec(theano.function).args
    assert names[:5] == ["inputs", "outputs", "mode", "updates", "givens"]
    assert inspect.getfullargspec(theano.grad).args[:2] == ["cost", "wrt"]


def test_parts_of_loops_and_of_shared_values(theano):
    x = theano.tensor.dvector("x")
    out, _ = theano.scan(lambda row: row + 1, sequences=[x])
    op = out.owner.op
    assert (op.inputs, op.outputs) == (op.fgraph.inputs, op.fgraph.outputs)
    state = theano.shared(1.0)
    state.container.data = 3.0
    assert state.get_value() == state.container.data == 3


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_of_numpy_is_a_value_of_a_generator(pytensor, make):
    rng = shared_rng(1)
    draw = pytensor.function([], pytensor.tensor.random.normal(size=3, rng=rng))
    values = []
    for seed in (42, 42, 43):
        given = make(seed)
        rng.set_value(given)
        assert given.bytes(8) == make(seed).bytes(8)
        values.append(draw().tolist())
    assert values[0] == values[1] != values[2]


def test_variables_of_a_compiled_function_have_clients(theano):
    T = theano.tensor
    x = T.dvector()
    f = theano.function([x], (x + 1.0).sum(), mode="FAST_COMPILE")
    first, last = f.maker.fgraph.toposort()
    assert first.outputs[0].clients == [(last, 0)]
    ((user, place),) = last.outputs[0].clients
    assert user == "output"
    assert f.maker.fgraph.outputs[place] is last.outputs[0]
    with pytest.raises(AttributeError, match="compiled functions"):
        _ = x.clients
