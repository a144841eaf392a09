"""Costs with kernels of tens to hundreds of microseconds, in the words that frameworks share.

``np`` is a module with NumPy's names. ``repeat(step, state, count)`` carries out a step so many
times, and returns the last state.
"""

from __future__ import annotations

from typing import Any


def radial(np: Any, repeat: Any, x: Any, y: Any, weights: Any, width: Any) -> Any:
    """A weighted sum of a radial kernel."""
    distances = ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=2)
    return (weights[:, None] * np.exp(-distances / (2 * width * width))).sum()


def sinkhorn(np: Any, repeat: Any, costs: Any, a: Any, b: Any) -> Any:
    """The cost of a transport plan after some steps of Sinkhorn's."""
    kernel = np.exp(-costs / 0.1)

    def step(u: Any, v: Any) -> tuple[Any, Any]:
        u = a / (kernel @ v)
        return u, b / (kernel.T @ u)

    u, v = repeat(step, (a, b), 20)
    return (u[:, None] * kernel * costs * v[None, :]).sum()


def differential(np: Any, repeat: Any, x: Any, weights: Any) -> Any:
    """The last state of an equation after Runge-Kutta steps, squared."""

    def slope(x: Any) -> Any:
        return np.tanh(weights @ x)

    def step(x: Any) -> tuple[Any]:
        k1 = slope(x)
        k2 = slope(x + 0.05 * k1)
        k3 = slope(x + 0.05 * k2)
        k4 = slope(x + 0.1 * k3)
        return (x + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4),)

    (last,) = repeat(step, (x,), 20)
    return (last**2).sum()


def mixture(np: Any, repeat: Any, x: Any, means: Any, widths: Any, weights: Any) -> Any:
    """The log density of a mixture of normal distributions."""
    z = (x[:, None] - means[None, :]) / widths[None, :]
    terms = -0.5 * z * z - np.log(widths)[None, :] + np.log(weights)[None, :]
    largest = terms.max(axis=1)
    return (largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))).sum()


def products(np: Any, repeat: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """A chain of products."""
    return np.tanh(a @ b @ c @ d).sum()


JOBS = {
    "radial": (radial, (0, 3)),
    "sinkhorn": (sinkhorn, ()),
    "differential": (differential, (0, 1)),
    "mixture": (mixture, (1, 2, 3)),
    "products": (products, ()),
}
"""Costs, and the arguments by which they are differentiated."""
