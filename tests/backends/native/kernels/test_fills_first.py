"""What scatters start from is written before the kernels that compute what they add."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.steps.kernel import Kernel
from phintys.graph.fgraph import FunctionGraph

x, y = pt.dvectors("x", "y")
index = np.random.default_rng(3).integers(0, 7, 50)


def scatter(values):
    return pt.inc_subtensor(pt.zeros(7)[index], values)


def scattering(inputs, outputs):
    """Return the kernels of a program that add to elements."""
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    return [
        step
        for step in program.steps
        if isinstance(step, Kernel) and any(one.accumulate for one in step.statements)
    ]


def test_scatters_share_a_kernel_with_what_they_add():
    values = pt.exp(x[index]) * y
    outputs = [values.sum(), scatter(values), scatter(values * y)]
    (kernel,) = scattering([x, y], outputs)
    assert sum(one.accumulate is not None for one in kernel.statements) == 2


@pytest.mark.parametrize(
    "outputs",
    [
        [pt.inc_subtensor(pt.zeros(7)[index], y) + pt.zeros(7)],
        [pt.inc_subtensor(x[index], pt.inc_subtensor(x[index], y)[index])],
        [scatter(scatter(y)[index]) * scatter(y * 2)],
        [scatter(y), pt.inc_subtensor(scatter(y)[index], x[index])],
        [pt.inc_subtensor(pt.full(7, x[0])[index], y)],
        [pt.inc_subtensor(pt.zeros(pt.cast(x[0], "int64") + 7)[index], y)],
    ],
)
def test_values_are_those_of_the_reference(outputs):
    draw = np.random.default_rng(4)
    values = draw.random(7), draw.random(50)
    native, expected = (
        phintys.function([x, y], outputs, mode=mode, on_unused_input="ignore")(*values)
        for mode in ("native", "reference")
    )
    for found, wanted in zip(native, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_shared_value_that_starts_anew_is_read_before():
    s = phintys.shared(np.arange(7.0), name="s")
    f = phintys.function([y], s * 2, updates={s: scatter(y) + s.sum()}, mode="native")
    given = np.ones(50)
    np.testing.assert_array_equal(f(given), np.arange(7.0) * 2)
    np.testing.assert_array_equal(s.get_value(), np.bincount(index, minlength=7) + 21.0)
