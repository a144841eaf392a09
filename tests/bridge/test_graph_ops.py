"""PyTensor's Ops made of graphs, with derivatives of their own."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph, SymbolicOp
from pytensor.gradient import disconnected_type

import phintys
from phintys.bridge.pytensor import from_pytensor

PYTHON = pytensor.compile.Mode(linker="py", optimizer=None)
U, V = pt.dvectors("u", "v")


def _halved(inputs, outputs, directions):
    return [0.5 * outputs[0] * directions[0], inputs[0] * directions[0]]


def _halved_first(inputs, outputs, directions):
    return 0.5 * outputs[0] * directions[0]


class Halved(SymbolicOp):
    """An Op whose class overrides the gradient."""

    def build_inner_graph(self, u, v):
        return [pt.exp(u) * v]

    def pullback(self, inputs, outputs, directions):
        return _halved(inputs, outputs, directions)


def _product(pullback, **arguments):
    return OpFromGraph([U, V], [pt.exp(U) * V], pullback=pullback, **arguments)


_Y, _G = pt.dvectors("y", "g")
OPS = {
    "function": _product(_halved, name="halved"),
    "list": _product([_halved_first, None]),
    "disconnected": _product(
        [_halved_first, disconnected_type()], connection_pattern=[[True], [False]]
    ),
    "op": _product(OpFromGraph([U, V, _Y, _G], [2 * _Y * _G, U * V * _G])),
    "class": Halved(),
}


@pytest.mark.parametrize("name", OPS)
def test_gradients_that_are_overridden_are_pytensors(name):
    op = OPS[name]
    x, y = pt.dvectors("x", "y")
    cost = (op(x, y) ** 2).sum() + y.sum()
    gradients = pytensor.grad(cost, [x, y])
    values = [np.array([0.5, -1.0]), np.array([2.0, 3.0])]
    expected = pytensor.function([x, y], [cost, *gradients], mode=PYTHON)(*values)
    *ours, our_cost = from_pytensor([x, y, cost])
    f = phintys.function(ours, [our_cost, *phintys.grad(our_cost, ours)])
    for value, wanted in zip(f(*values), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
    plain = (np.exp(values[0]) * values[1]) ** 2 * 2
    assert not np.allclose(f(*values)[1], plain)


class Steep(SymbolicOp):
    """An Op whose class overrides the tangent."""

    def build_inner_graph(self, u):
        return [u**2]

    def pushforward(self, inputs, outputs, tangents):
        return [(7 + 0 * outputs[0]) * tangents[0]]


TANGENTS = {
    "function": OpFromGraph([U], [U**2], pushforward=lambda inputs, tangents: [7 * tangents[0]]),
    "class": Steep(),
}


@pytest.mark.parametrize("name", TANGENTS)
def test_tangents_that_are_overridden_are_pytensors(name):
    op = TANGENTS[name]
    x, direction = pt.dvectors("x", "direction")
    y = op(x)
    theirs = pytensor.gradient.pushforward(y, x, direction, use_op_pushforward=True)
    values = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    expected = pytensor.function([x, direction], theirs, mode=PYTHON)(*values)
    ours, towards, out = from_pytensor([x, direction, y])
    found = phintys.function([ours, towards], phintys.Rop(out, ours, towards))(*values)
    assert found.tolist() == expected.tolist() == [7.0, -7.0]


def test_solutions_of_sylvesters_equation_have_pytensors_gradients():
    a, b, c = pt.dmatrices("a", "b", "c")
    cost = (pt.linalg.solve_sylvester(a, b, c) ** 2).sum()
    rng = np.random.default_rng(3)
    values = [rng.normal(size=(2, 2)) + 4 * np.eye(2) for _ in range(3)]
    theirs = pytensor.function([a, b, c], pytensor.grad(cost, [a, b, c]), mode=PYTHON)
    *ours, our_cost = from_pytensor([a, b, c, cost])
    f = phintys.function(ours, phintys.grad(our_cost, ours))
    for value, wanted in zip(f(*values), theirs(*values), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-9)
