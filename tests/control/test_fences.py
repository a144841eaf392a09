"""Fences: what is merged, fused and computed across them, and what is not."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import grad
from phintys.control.fences import Fence, fence
from phintys.graph import generic
from phintys.graph.null_type import DisconnectedType

MODES = ("native", "reference", "debug")
X, Y = np.array([0.5, 1.0, -2.0]), np.array([2.0, 3.0, 0.25])


@pytest.mark.parametrize("mode", MODES)
def test_values_pass(mode):
    x, y = pt.dvectors("x", "y")
    a, b = fence([x * 2, y], [pt.exp(y)])
    total, double = phintys.function([x, y], [a + b, a], mode=mode)(X, Y)
    np.testing.assert_array_equal(total, 2 * X + Y)
    np.testing.assert_array_equal(double, 2 * X)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_values_of_any_type(mode):
    x, thing = pt.dvector("x"), generic("thing")
    a, same = fence([x * 2, thing])
    found = phintys.function([x, thing], [a, same], mode=mode)(X, "it")
    assert found[0].tolist() == (2 * X).tolist()
    assert found[1] == "it"


def test_results_are_the_callers_own():
    x = pt.dvector("x")
    value = X.copy()
    found = phintys.function([x], fence([x]))(value)[0]
    found[...] = 100.0
    assert value.tolist() == X.tolist()


def test_derivatives_are_those_of_the_values():
    x, y = pt.dvectors("x", "y")
    a, b = fence([x**2, x * y], [pt.exp(x)])
    cost = (a * b).sum()
    plain = (x**2 * (x * y)).sum()
    found, expected = (
        phintys.function([x, y], [*grad(one, [x, y]), phintys.Rop(one, x, y)])(X, Y)
        for one in (cost, plain)
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)
    (later,) = fence([x], [y])
    assert isinstance(
        grad(later.sum(), y, disconnected_inputs="ignore", return_disconnected="disconnected").type,
        DisconnectedType,
    )


def test_equal_computations_are_not_merged_across_it():
    x = pt.dvector("x")
    first = pt.exp(x)
    (later,) = fence([x], [first])
    f = phintys.function([x], [first.sum(), pt.exp(later) * 2], mode="native")
    text = f.explain()
    assert text.count("= exp(") == 2
    assert text.index("= exp(") < text.index("fence after") < text.rindex("= exp(")
    kernels = [line for line in text.splitlines() if "kernel" in line]
    assert len(kernels) == 3  # of one line at the top, and two


def test_equal_fences_are_merged():
    x, y = pt.dvectors("x", "y")
    outputs = [pt.exp(fence([x], [y])[0]), pt.exp(fence([x], [y])[0]) * 2]
    f = phintys.function([x, y], outputs)
    assert sum(isinstance(node.op, Fence) for node in f.maker.fgraph.apply_nodes) == 1


def test_shapes_are_known_without_it():
    x = pt.dmatrix("x")
    (later,) = fence([pt.exp(x)])
    f = phintys.function([x], pt.tanh(later).shape)
    assert not any(isinstance(node.op, Fence) for node in f.maker.fgraph.apply_nodes)


def test_values_that_nobody_reads_are_not_computed():
    x, y = pt.dvectors("x", "y")
    a, _ = fence([x, pt.exp(y)], [pt.sin(y)])
    f = phintys.function([x, y], a * 2)
    names = {str(node.op) for node in f.maker.fgraph.apply_nodes}
    assert "Sin" in names
    assert "Exp" not in names


def test_constants_and_repeated_values():
    x = pt.dvector("x")
    one = pt.constant(1.0)
    a, b, c = fence([x, one, x], [one, x])
    assert a is c
    assert b is one
    assert a.owner.inputs == [x]
    assert fence([one], [x]) == [one]
    assert fence([]) == []
