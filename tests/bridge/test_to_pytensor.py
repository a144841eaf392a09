"""Phintys's functions and graphs inside of PyTensor's."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

import pickle

import numpy as np
import pytensor
import pytensor.tensor as theirs
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys.bridge.pytensor import PhintysOp, callbacks, from_pytensor, to_pytensor
from phintys.graph.type import generic

MODES = ["FAST_COMPILE", "PHINTYS"]


@to_pytensor
def waves(x, y):
    """Two outputs, of which the second depends on ``x`` alone."""
    return [pt.sum(pt.sin(x) * y), pt.exp(x)]


def cost(x, y):
    """A cost of PyTensor, with our Op in its midst, and the same in PyTensor alone."""
    total, powers = waves(2 * x, y)
    own = theirs.sum(theirs.sin(2 * x) * y) ** 2 + theirs.exp(2 * x).sum()
    return total**2 + powers.sum(), own


@pytest.mark.parametrize("mode", MODES)
def test_values_and_gradients_are_those_of_pytensors_own_graph(mode):
    x, y = theirs.dvectors("x", "y")
    found, wanted = cost(x, y)
    outputs = [found, *pytensor.grad(found, [x, y]), wanted, *pytensor.grad(wanted, [x, y])]
    f = pytensor.function([x, y], outputs, mode=mode)
    results = f([0.1, 0.2], [1.0, -3.0])
    for ours, own in zip(results[:3], results[3:], strict=True):
        np.testing.assert_allclose(ours, own, rtol=1e-12)


def test_numba_calls_it():
    pytest.importorskip("numba")
    x = theirs.dvector("x")
    with pytest.warns(UserWarning, match="object mode"):
        f = pytensor.function([x], waves(x, x)[1], mode="NUMBA")
    np.testing.assert_allclose(f([0.0, 1.0]), np.exp([0.0, 1.0]))


def test_in_our_graphs_it_is_no_callback():
    x, y = theirs.dvectors("x", "y")
    assert not callbacks(from_pytensor(cost(x, y)[0]))


def test_tangents_and_second_derivatives():
    x, v = theirs.dvectors("x", "v")
    ours, own = waves(x, x)[0], theirs.sum(theirs.sin(x) * x)
    outputs = [
        one
        for cost in (ours, own)
        for one in (
            pytensor.gradient.pushforward(cost, x, v, use_op_pushforward=True),
            pytensor.grad(theirs.dot(pytensor.grad(cost, x), v), x),
        )
    ]
    f = pytensor.function([x, v], outputs, mode="FAST_COMPILE")
    values = f([0.3, 0.7], [1.0, -2.0])
    for found, wanted in zip(values[:2], values[2:], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_inputs_that_do_not_matter_are_disconnected():
    x, y = theirs.dvectors("x", "y")
    powers = waves(x, y)[1].sum()
    with pytest.raises(pytensor.gradient.DisconnectedInputError):
        pytensor.grad(powers, y)
    k = theirs.lscalar("k")
    op = to_pytensor(lambda x, k: [x**k, k + 1])
    power, after = op(x, k)
    gradient = pytensor.grad((power * after).sum(), x)
    assert gradient.eval({x: [3.0], k: 2}, mode="FAST_COMPILE").tolist() == [18.0]


def test_a_gradient_that_does_not_exist_says_why():
    op = to_pytensor(lambda x: phintys.gradient.undefined_grad(x) * 2)
    x = theirs.dscalar("x")
    with pytest.raises(pytensor.gradient.NullTypeGradError):
        pytensor.grad(op(x), x)


@pytest.mark.parametrize("mode", MODES)
def test_compiled_functions_and_graphs_with_shared_variables(mode):
    x, w = pt.dvector("x"), phintys.shared(np.array([1.0, 2.0]), "w")
    y = theirs.dvector("y")
    for op in (to_pytensor(phintys.function([x], w * x)), to_pytensor([x], [w * x])):
        assert isinstance(op, PhintysOp)
        w.set_value(np.array([1.0, 2.0]))
        f = pytensor.function([y], op(y), mode=mode)
        assert f([1.0, 1.0]).tolist() == [1.0, 2.0]
        w.set_value(np.array([3.0, 4.0]))
        assert f([1.0, 1.0]).tolist() == [3.0, 4.0]


def test_equal_calls_are_one_node():
    x = theirs.dvector("x")
    mode = pytensor.compile.mode.Mode("py", "fast_run")
    f = pytensor.function([x], waves(x, x)[1] + waves(x, x)[1], mode=mode)
    nodes = [node for node in f.maker.fgraph.toposort() if isinstance(node.op, PhintysOp)]
    assert len(nodes) == 1
    assert str(nodes[0].op) == "Phintys:waves"


def test_an_op_is_pickled_with_its_graph():
    x = pt.dvector("x")
    op = to_pytensor([x], x + 1)
    assert op([1.0]).eval(mode="FAST_COMPILE").tolist() == [2.0]
    assert pickle.loads(pickle.dumps(op))([1.0]).eval(mode="FAST_COMPILE").tolist() == [2.0]


def test_generators_go_through():
    rng = theirs.random.type.random_generator_type("rng")

    @to_pytensor
    def draw(rng):
        return list(random.normal(size=2, rng=rng, return_next_rng=True))

    f = pytensor.function([rng], draw(rng)[1], mode="FAST_COMPILE")
    wanted = np.random.default_rng(3).normal(size=2)
    assert f(np.random.default_rng(3)).tolist() == wanted.tolist()


def test_wrong_arguments_are_named():
    x, y = pt.dvectors("x", "y")
    with pytest.raises(TypeError, match="takes a function of Phintys's variables"):
        to_pytensor(3)
    with pytest.raises(TypeError, match=r"the outputs depend on \[y\]"):
        to_pytensor([x], x + y)
    with pytest.raises(TypeError, match="outputs of a graph are variables of Phintys, got 3"):
        to_pytensor([x], 3)
    with pytest.raises(TypeError, match="inputs of a graph are variables of Phintys"):
        to_pytensor([theirs.dvector()], x)
    with pytest.raises(TypeError, match="outputs of a graph are variables of Phintys"):
        to_pytensor(lambda x: None)(theirs.dvector())
    w = phintys.shared(0.0)
    with pytest.raises(TypeError, match="has updates"):
        to_pytensor(phintys.function([], w, updates={w: w + 1}))
    with pytest.raises(TypeError, match="has 1 inputs, got 2"):
        to_pytensor([x], x)([1.0], [2.0])
    with pytest.raises(TypeError, match="PyTensor has no Type"):
        to_pytensor([generic("any"), x], x)(1, [2.0])
