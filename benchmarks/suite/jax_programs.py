"""Ten programs as graphs and as hand-written JAX, which `benchmarks.suite.mode_jax` compares.

A program by hand is what a user of JAX would write; it has the arguments and results of the graph.
"""

# The peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys
import phintys.tensor as pt

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTIES = 85
HOUSES = 900
LOG_SQRT_2_PI = 0.9189385332046727


@dataclass(frozen=True)
class Program:
    """A graph, a function of JAX that computes the same, and arguments.

    Attributes
    ----------
    inputs, outputs
        The graph.
    arrays
        The arguments.
    by_hand
        The function of JAX.
    is_equal
        The function by hand returns the same values: it does not for draws.
    """

    inputs: list[Any]
    outputs: list[Any]
    arrays: list[Any]
    by_hand: Callable[..., Any]
    is_equal: bool = True


def _normal(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray[Any, Any]:
    return scale * rng.standard_normal(shape)


def softmax(rng: np.random.Generator) -> Program:
    """Rows of a matrix."""
    import jax

    x = pt.dmatrix("x")
    return Program(
        [x],
        [pt.softmax(x, axis=-1)],
        [_normal(rng, 512, 1000)],
        lambda x: [jax.nn.softmax(x, axis=-1)],
    )


def perceptron(rng: np.random.Generator) -> Program:
    """The cost of a classifier with three layers, and its gradient."""
    import jax
    import jax.numpy as jnp

    sizes = [64, 256, 256, 10]
    x, y = pt.dmatrix("x"), pt.lvector("y")
    weights = [pt.dmatrix(f"w{layer}") for layer in range(3)]
    biases = [pt.dvector(f"b{layer}") for layer in range(3)]
    h = x
    for w, b in zip(weights[:2], biases[:2], strict=True):
        h = pt.maximum(h @ w + b, 0)
    log_p = pt.log_softmax(h @ weights[2] + biases[2], axis=-1)
    cost = -log_p[pt.arange(y.shape[0]), y].mean()

    def by_hand(x: Any, y: Any, *parameters: Any) -> list[Any]:
        def cost(parameters: Any) -> Any:
            weights, biases = parameters[:3], parameters[3:]
            h = x
            for w, b in zip(weights[:2], biases[:2], strict=True):
                h = jnp.maximum(h @ w + b, 0)
            log_p = jax.nn.log_softmax(h @ weights[2] + biases[2], axis=-1)
            return -log_p[jnp.arange(y.shape[0]), y].mean()

        value, gradients = jax.value_and_grad(cost)(parameters)
        return [value, *gradients]

    arrays = [_normal(rng, 128, 64), rng.integers(0, 10, 128)]
    arrays += [_normal(rng, n, m, scale=0.1) for n, m in pairwise(sizes)]
    arrays += [np.zeros(m) for m in sizes[1:]]
    parameters = [*weights, *biases]
    outputs = [cost, *phintys.grad(cost, parameters)]
    return Program([x, y, *parameters], outputs, arrays, by_hand)


def recurrent(rng: np.random.Generator) -> Program:
    """The square of the last state of a recurrent net, and its gradient."""
    import jax
    import jax.numpy as jnp

    xs, h0, w, u = pt.dtensor3("xs"), pt.dmatrix("h0"), pt.dmatrix("w"), pt.dmatrix("u")
    states: Any = phintys.scan(
        lambda x, h, w, u: pt.tanh(x @ u + h @ w),
        sequences=[xs],
        outputs_info=[h0],
        non_sequences=[w, u],
        return_updates=False,
    )
    cost = (states[-1] ** 2).sum()

    def by_hand(xs: Any, h0: Any, w: Any, u: Any) -> list[Any]:
        def cost(w: Any, u: Any) -> Any:
            last, _ = jax.lax.scan(lambda h, x: (jnp.tanh(x @ u + h @ w), None), h0, xs)
            return (last**2).sum()

        value, gradients = jax.value_and_grad(cost, (0, 1))(w, u)
        return [value, *gradients]

    arrays = [_normal(rng, 50, 16, 32), np.zeros((16, 64))]
    arrays += [_normal(rng, 64, 64, scale=0.1), _normal(rng, 32, 64, scale=0.1)]
    return Program([xs, h0, w, u], [cost, *phintys.grad(cost, [w, u])], arrays, by_hand)


def logistic(rng: np.random.Generator) -> Program:
    """The cost of a logistic regression with a penalty, and its gradient."""
    import jax

    x, y, w = pt.dmatrix("x"), pt.dvector("y"), pt.dvector("w")
    z = x @ w
    cost = (pt.softplus(z) - y * z).mean() + 0.01 * (w**2).sum()

    def by_hand(x: Any, y: Any, w: Any) -> list[Any]:
        def cost(w: Any) -> Any:
            z = x @ w
            return (jax.nn.softplus(z) - y * z).mean() + 0.01 * (w**2).sum()

        return [*jax.value_and_grad(cost)(w)]

    arrays = [_normal(rng, 20_000, 100), (rng.random(20_000) < 0.5) * 1.0]
    arrays += [_normal(rng, 100, scale=0.1)]
    return Program([x, y, w], [cost, phintys.grad(cost, w)], arrays, by_hand)


def gaussian_process(rng: np.random.Generator) -> Program:
    """The log density of a Gaussian process, and its gradient."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    x, y, t = pt.dvector("x"), pt.dvector("y"), pt.dvector("t")
    distances = (x[:, None] - x[None, :]) / pt.exp(t[1])
    kernel = pt.exp(t[0]) * pt.exp(-0.5 * distances**2) + pt.exp(t[2]) * pt.eye(x.shape[0])
    factor = pt.linalg.cholesky(kernel)
    white = pt.linalg.solve_triangular(factor, y, lower=True)
    density = -0.5 * (white**2).sum() - pt.log(pt.diag(factor)).sum()

    def by_hand(x: Any, y: Any, t: Any) -> list[Any]:
        def density(t: Any) -> Any:
            distances = (x[:, None] - x[None, :]) / jnp.exp(t[1])
            kernel = jnp.exp(t[0]) * jnp.exp(-0.5 * distances**2)
            factor = jnp.linalg.cholesky(kernel + jnp.exp(t[2]) * jnp.eye(x.shape[0]))
            white = solve_triangular(factor, y, lower=True)
            return -0.5 * (white**2).sum() - jnp.log(jnp.diag(factor)).sum()

        return [*jax.value_and_grad(density)(t)]

    arrays = [np.linspace(0, 10, 300), _normal(rng, 300), np.array([0.0, 0.0, -2.0])]
    return Program([x, y, t], [density, phintys.grad(density, t)], arrays, by_hand)


def convolutional(rng: np.random.Generator) -> Program:
    """A step of gradient descent of a small convolutional net."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    x, y, w, v = pt.dtensor4("x"), pt.lvector("y"), pt.dtensor4("w"), pt.dmatrix("v")
    h = pt.signal.max_pool(pt.maximum(pt.signal.conv(x, w), 0), (2, 2))
    log_p = pt.log_softmax(h.reshape((x.shape[0], -1)) @ v, axis=-1)
    cost = -log_p[pt.arange(y.shape[0]), y].mean()
    dw, dv = phintys.grad(cost, [w, v])

    def by_hand(x: Any, y: Any, w: Any, v: Any) -> list[Any]:
        def cost(w: Any, v: Any) -> Any:
            h = lax.conv_general_dilated(x, w, (1, 1), "VALID", precision="highest")
            window = (1, 1, 2, 2)
            h = lax.reduce_window(jnp.maximum(h, 0), -jnp.inf, lax.max, window, window, "VALID")
            log_p = jax.nn.log_softmax(h.reshape(x.shape[0], -1) @ v, axis=-1)
            return -log_p[jnp.arange(y.shape[0]), y].mean()

        value, (dw, dv) = jax.value_and_grad(cost, (0, 1))(w, v)
        return [value, w - 0.1 * dw, v - 0.1 * dv]

    arrays = [_normal(rng, 16, 3, 28, 28), rng.integers(0, 10, 16)]
    arrays += [_normal(rng, 8, 3, 5, 5, scale=0.1), _normal(rng, 8 * 144, 10, scale=0.1)]
    return Program([x, y, w, v], [cost, w - 0.1 * dw, v - 0.1 * dv], arrays, by_hand)


def attention(rng: np.random.Generator) -> Program:
    """The squares of what attention computes, and their gradient."""
    import jax

    q, k, v = pt.dtensor3("q"), pt.dtensor3("k"), pt.dtensor3("v")
    weights = pt.softmax(pt.matmul(q, k.transpose(0, 2, 1)) / 8.0, axis=-1)
    cost = (pt.matmul(weights, v) ** 2).sum()

    def by_hand(q: Any, k: Any, v: Any) -> list[Any]:
        def cost(q: Any, k: Any, v: Any) -> Any:
            weights = jax.nn.softmax(q @ k.transpose(0, 2, 1) / 8.0, axis=-1)
            return ((weights @ v) ** 2).sum()

        value, gradients = jax.value_and_grad(cost, (0, 1, 2))(q, k, v)
        return [value, *gradients]

    arrays = [_normal(rng, 8, 128, 64) for _ in range(3)]
    return Program([q, k, v], [cost, *phintys.grad(cost, [q, k, v])], arrays, by_hand)


def gathers(rng: np.random.Generator) -> Program:
    """Sums of rows of a table, and the gradient with respect to the table."""
    import jax

    table, rows = pt.dmatrix("table"), pt.lmatrix("rows")
    cost = (table[rows].sum(axis=1) ** 2).sum()

    def by_hand(table: Any, rows: Any) -> list[Any]:
        return [*jax.value_and_grad(lambda table: (table[rows].sum(axis=1) ** 2).sum())(table)]

    arrays = [_normal(rng, 5000, 64), rng.integers(0, 5000, (256, 20))]
    return Program([table, rows], [cost, phintys.grad(cost, table)], arrays, by_hand)


def normal_draws(rng: np.random.Generator) -> Program:
    """Draws of the normal distribution; JAX has another generator."""
    import jax

    state: Any = phintys.random.random_type("state")
    _, draws = state.normal(0.0, 1.0, size=(100_000,))

    def by_hand(state: Any) -> list[Any]:
        key = jax.random.wrap_key_data(state[:2].astype("uint32"))
        return [jax.random.normal(key, (100_000,), dtype="float64")]

    return Program([state], [draws], [phintys.random.state(3)], by_hand, is_equal=False)


def radon(rng: np.random.Generator) -> Program:
    """The log density of a hierarchical model, and its gradient."""
    import jax
    import jax.numpy as jnp

    county = rng.integers(0, COUNTIES, HOUSES)
    floor, level = (rng.random(HOUSES) < 0.3) * 1.0, _normal(rng, HOUSES)

    def density(m: Any, theta: Any, county: Any, floor: Any, level: Any) -> Any:
        def normal(x: Any, mean: Any, log_scale: Any) -> Any:
            return -0.5 * ((x - mean) / m.exp(log_scale)) ** 2 - log_scale - LOG_SQRT_2_PI

        mean_a, mean_b, scale_a, scale_b, scale = (theta[at] for at in range(5))
        a, b = theta[5 : 5 + COUNTIES], theta[5 + COUNTIES :]
        priors = normal(mean_a, 0.0, 1.0) + normal(mean_b, 0.0, 1.0)
        priors += sum(normal(one, 0.0, 0.0) for one in (scale_a, scale_b, scale))
        groups = normal(a, mean_a, scale_a).sum() + normal(b, mean_b, scale_b).sum()
        return priors + groups + normal(level, a[county] + b[county] * floor, scale).sum()

    theta = pt.dvector("theta")
    value = density(pt, theta, *map(pt.constant, (county, floor, level)))

    def by_hand(theta: Any) -> list[Any]:
        return [*jax.value_and_grad(lambda t: density(jnp, t, county, floor, level))(theta)]

    arrays = [_normal(rng, 5 + 2 * COUNTIES, scale=0.1)]
    return Program([theta], [value, phintys.grad(value, theta)], arrays, by_hand)


PROGRAMS = {
    "softmax": softmax,
    "perceptron, gradient": perceptron,
    "recurrent net, gradient": recurrent,
    "logistic regression, gradient": logistic,
    "Gaussian process, gradient": gaussian_process,
    "convolutional net, step": convolutional,
    "attention, gradient": attention,
    "gathers, gradient": gathers,
    "normal draws": normal_draws,
    "radon density, gradient": radon,
}
