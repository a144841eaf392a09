"""Draws of PyTensor's random variables: the same bits from the same generator."""

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.tensor.random import basic

from phintys.bridge.pytensor import callbacks, from_pytensor

PARAMETERS = {
    "beta": (2.0, 3.0),
    "binomial": (8, 0.3),
    "exponential": (2.0,),
    "_gamma": (2.0, 3.0),  # the function without it takes the rate
    "geometric": (0.3,),
    "hypergeometric": (5, 6, 4),
    "laplace": (0.0, 1.0),
    "logistic": (0.0, 1.0),
    "lognormal": (0.0, 1.0),
    "normal": (np.array([0.0, 5.0]), 2.0),
    "poisson": (3.0,),
    "triangular": (0.0, 0.5, 1.0),
    "uniform": (0.0, 2.0),
    "vonmises": (0.0, 1.0),
    "wald": (1.0, 2.0),
    "weibull": (2.0,),
}
OTHERS = {"categorical": (np.array([0.2, 0.3, 0.5]),), "cauchy": (0.0, 1.0)}


def drawn(parameters, state):
    """Return one draw after the other, and the last state."""
    found = []
    for name, given in parameters.items():
        for size in (None, (3, 2)):
            state, draw = getattr(basic, name)(*given, size=size, rng=state, return_next_rng=True)
            found.append(draw)
    return [*found, state]


def assert_same(f, g):
    for value, expected in zip(f(), g(), strict=True):
        if isinstance(value, np.random.Generator):
            assert value.bit_generator.state == expected.bit_generator.state
        else:
            assert value.dtype == expected.dtype
            np.testing.assert_array_equal(value, expected, strict=True)


def test_draws_are_the_same_bits():
    state = pytensor.shared(np.random.default_rng(5))
    outputs = drawn(PARAMETERS | OTHERS, state)
    f, g = (pytensor.function([], outputs, mode=mode) for mode in ("PHINTYS", "FAST_COMPILE"))
    assert_same(f, g)
    found = callbacks(from_pytensor(outputs))
    assert sum(found.values()) == 2 * len(OTHERS)


def test_draws_in_a_loop():
    """The generator is a state of the loop, which the next call begins with."""
    state = pytensor.shared(np.random.default_rng(5))

    def step(before, state):
        after, draw = pt.random.normal(before, 1.0, rng=state, return_next_rng=True)
        return draw, after

    walk, after = pytensor.scan(
        step, outputs_info=[np.float64(0.0), state], n_steps=4, return_updates=False
    )
    f = pytensor.function([], walk, updates={state: after}, mode="PHINTYS")
    numpys = np.random.default_rng(5)
    for _ in range(2):
        np.testing.assert_allclose(f(), np.cumsum(numpys.normal(size=4)), rtol=1e-12)
