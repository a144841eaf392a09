"""Short programs as users write them, ten in all, which strict type checkers accept without casts.

Read by ``make types``, never run.
"""
# pyright: strict

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.contrib import adam


def regression() -> float:
    """A cost and its gradient, minimized."""
    w, x, y = pt.dvector("w"), pt.dmatrix("x"), pt.dvector("y")
    cost = ((x @ w - y) ** 2).mean()
    found = phintys.optimize.minimize(cost, w, np.zeros(2), {x: np.eye(2), y: np.ones(2)})
    return float(found.params[0])


def training() -> float:
    """Shared weights, updated by a call."""
    w = phintys.shared(np.zeros((2, 3)), name="w")
    x = pt.dmatrix("x")
    cost = pt.tanh(x @ w).sum()
    step = phintys.function([x], cost, updates=adam(phintys.grad(cost, [w]), [w]))
    return float(step(np.ones((4, 2))))


def profiling() -> int:
    """A profile is there if it was asked for."""
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x), profile=True)
    f([1.0])
    return 0 if f.profile is None else f.profile.calls


def owners() -> str:
    """A variable has an owner unless it is an input."""
    y = pt.exp(pt.dvector("x"))
    return "" if y.owner is None else str(y.owner.op)


def several_results() -> tuple[float, float]:
    """A list of results."""
    x = pt.dscalar("x")
    value, slope = phintys.function([x], [x**2, phintys.grad(x**2, x)])(3.0)
    return float(value), float(slope)


def systems() -> float:
    """Linear algebra."""
    a, b = pt.dmatrix("a"), pt.dvector("b")
    f = phintys.function([a, b], pt.linalg.solve(a, b).max(), name="solution")
    return float(f(np.eye(2), np.ones(2)))


def logistic_map() -> float:
    """A loop in the functional form."""
    x = pt.dscalar("x")
    last, rows = phintys.control.loop(
        lambda carry, _: (3.7 * carry * (1 - carry), carry), x, length=10
    )
    f = phintys.function([x], [last, rows])
    return float(f(0.5)[0])


def moving_average() -> int:
    """A scan with a state, over a sequence."""
    x = pt.dvector("x")
    averages: pt.TensorVariable
    averages, updates = phintys.scan(
        lambda row, before: 0.9 * before + 0.1 * row, sequences=x, outputs_info=pt.constant(0.0)
    )
    f = phintys.function([x], averages[-1], updates=updates)
    return int(f([1.0, 2.0]).ndim)


def posterior() -> float:
    """A density, and its gradient."""
    mean = pt.dscalar("mean")
    data = phintys.shared(np.ones(3), name="data")
    density = phintys.random.logp(phintys.random.Normal(mean, 1.0), data).sum()
    f = phintys.function([mean], [density, phintys.grad(density, mean)], mode="reference")
    value, slope = f(0.0)
    return float(value + slope)


def walk() -> float:
    """Draws from a generator that the caller hands over."""
    r = phintys.random.rng("r")
    after, steps = r.normal(0.0, 1.0, size=100)
    f = phintys.function([r], [after, pt.cumsum(steps)[-1]])
    state, end = f(phintys.random.state(17))
    f(state)
    return float(end)
