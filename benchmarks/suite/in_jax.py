"""The programs in JAX, with 64-bit floats switched on."""
# Peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.suite.jobs import JOBS
from benchmarks.suite.linear_algebra import matern
from benchmarks.suite.loops import rates_of_two, runge_kutta

if TYPE_CHECKING:
    from collections.abc import Callable

jax.config.update("jax_enable_x64", True)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile, and wait for the results of each call."""
    quick = jax.jit(function)
    return lambda *arrays: jax.block_until_ready(quick(*arrays))


def multiply(arrays: Any, size: int) -> Any:
    """x * y"""
    return compiled(lambda x, y: x * y)


def _fused(x: Any, y: Any, z: Any) -> Any:
    return jnp.exp(-(x**2) / 2) * jnp.sin(y) + jnp.tanh(z)


def fused(arrays: Any, size: int) -> Any:
    """exp(-x**2/2) * sin(y) + tanh(z)"""
    return compiled(_fused)


def fused_sum(arrays: Any, size: int) -> Any:
    """The same, summed."""
    return compiled(lambda *inputs: _fused(*inputs).sum())


def axpy(arrays: Any, size: int) -> Any:
    """2 * x + y"""
    return compiled(lambda x, y: 2.0 * x + y)


def softmax(arrays: Any, size: int) -> Any:
    """Of each row."""
    return compiled(lambda x: jax.nn.softmax(x, axis=-1))


def layer_norm(arrays: Any, size: int) -> Any:
    """(x - mean) / sqrt(variance + eps) of each row"""

    def normalise(x: Any) -> Any:
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)

    return compiled(normalise)


def logsumexp(arrays: Any, size: int) -> Any:
    """Of each row."""
    return compiled(lambda x: jax.nn.logsumexp(x, axis=1))


def column_sums(arrays: Any, size: int) -> Any:
    """Sum over rows."""
    return compiled(lambda x: x.sum(axis=0))


def product(arrays: Any, size: int) -> Any:
    """A matrix times a matrix or a vector."""
    return compiled(lambda x, y: x @ y)


def stacked(arrays: Any, size: int) -> Any:
    """A stack of matrices times another one, times a matrix."""
    return compiled(lambda x, y, z: jnp.einsum("bik,bkj,jl->bil", x, y, z))


def attention(arrays: Any, size: int) -> Any:
    """Scores of queries and keys."""
    return compiled(lambda q, k: jnp.einsum("bhqd,bhkd->bhqk", q, k))


def total(arrays: Any, size: int) -> Any:
    """The sum of everything."""
    return compiled(lambda x: x.sum())


def logistic(arrays: Any, size: int) -> Any:
    """Negative log-likelihood of a logistic regression, and its gradient."""

    def cost(w: Any, x: Any, y: Any) -> Any:
        score = x @ w
        return (jax.nn.softplus(score) - y * score).mean()

    return compiled(lambda x, y, w: jax.value_and_grad(cost)(w, x, y))


def perceptron(arrays: Any, size: int) -> Any:
    """Cross-entropy of a network with one hidden layer, and its gradient."""

    def cost(parameters: Any, x: Any, t: Any) -> Any:
        w1, b1, w2, b2 = parameters
        hidden = jnp.tanh(x @ w1 + b1)
        return -(t * jax.nn.log_softmax(hidden @ w2 + b2, axis=-1)).sum(axis=1).mean()

    def value_and_gradient(x: Any, t: Any, *parameters: Any) -> Any:
        value, gradient = jax.value_and_grad(cost)(parameters, x, t)
        return value, *gradient

    return compiled(value_and_gradient)


def hierarchy(arrays: Any, size: int) -> Any:
    """Log density of a regression with an intercept a group, and its gradient."""

    def density(parameters: Any, group: Any, x: Any, y: Any) -> Any:
        mu, log_tau, z, slope, log_sigma = parameters
        prediction = (mu + jnp.exp(log_tau) * z)[group] + slope * x
        residual = (y - prediction) * jnp.exp(-log_sigma)
        return (-0.5 * residual**2 - log_sigma).sum() - 0.5 * (z**2).sum() - 0.5 * mu**2

    def value_and_gradient(group: Any, x: Any, y: Any, *parameters: Any) -> Any:
        value, gradient = jax.value_and_grad(density)(parameters, group, x, y)
        return value, *gradient

    return compiled(value_and_gradient)


def outer(arrays: Any, size: int) -> Any:
    """a b' + tanh(c d')"""
    return compiled(lambda a, b, c, d: a[:, None] * b[None, :] + jnp.tanh(c[:, None] * d[None, :]))


def chain(arrays: Any, size: int) -> Any:
    """A chain of ``size`` elementwise steps, summed, with its gradient."""

    def cost(x: Any) -> Any:
        for step in range(size // 2):
            x = jnp.sin(x) * (1.0 + 0.5 / (step + 1))
        return x.sum()

    return compiled(jax.value_and_grad(cost))


def blocks(arrays: Any, size: int) -> Any:
    """Many separate small programs in one."""
    return compiled(
        lambda *inputs: [jnp.tanh(x * x).sum() + np.float64(i) for i, x in enumerate(inputs)]
    )


def ar_filter(arrays: Any, size: int) -> Any:
    """h = a h + x for each element of x"""

    def run(x: Any, h: Any, a: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            return (a * h + x,) * 2

        return jax.lax.scan(step, h, x)[1]

    return compiled(run)


def _recurrent(w: Any, x: Any, h: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        return (jnp.tanh(w @ h + x),) * 2

    return jax.lax.scan(step, h, x)[1]


def recurrent(arrays: Any, size: int) -> Any:
    """h = tanh(w h + x) for each row of x"""
    return compiled(_recurrent)


def recurrent_gradient(arrays: Any, size: int) -> Any:
    """The sum of squares of the same, and its gradient."""
    return compiled(jax.value_and_grad(lambda *inputs: (_recurrent(*inputs) ** 2).sum()))


def nested_loops(arrays: Any, size: int) -> Any:
    """A loop in a loop on a short vector."""

    def run(u: Any, y: Any) -> Any:
        def outer(_: Any, u: Any) -> Any:
            return jnp.tanh(jax.lax.fori_loop(0, size, lambda _, v: 0.9 * v + y, u))

        return jax.lax.fori_loop(0, size, outer, u)

    return compiled(run)


def predator_prey(arrays: Any, size: int) -> Any:
    """Lotka-Volterra by Runge-Kutta steps, with the gradient for all that is given."""

    def cost(x: Any, y: Any, *parameters: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            return (runge_kutta(*state, *parameters),) * 2

        traces = jax.lax.scan(step, (x, y), None, length=size)[1]
        return sum((trace**2).sum() for trace in traces)

    return compiled(_value_and_gradients(cost, tuple(range(len(arrays)))))


def curvature(arrays: Any, size: int) -> Any:
    """The Hessian of a sum over Euler steps, for the parameters of the rates."""

    def cost(parameters: Any, state: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            return (y + 0.01 * jnp.stack(rates_of_two(y, parameters)),) * 2

        return (jax.lax.scan(step, state, None, length=size)[1] ** 2).sum()

    second = jax.hessian(cost)
    return compiled(lambda state, parameters: second(parameters, state))


def hidden_markov(arrays: Any, size: int) -> Any:
    """The log-likelihood by the forward algorithm, with its gradient."""

    def cost(transition: Any, emission: Any, start: Any) -> Any:
        def step(alpha: Any, e: Any) -> Any:
            unscaled = (alpha @ transition) * e
            scale = unscaled.sum()
            return unscaled / scale, jnp.log(scale)

        return jax.lax.scan(step, start, emission)[1].sum()

    return compiled(_value_and_gradients(cost, (0, 1)))


def markov_in_logs(arrays: Any, size: int) -> Any:
    """The same from and in logarithms, with the gradient."""

    def cost(transition: Any, emission: Any, start: Any) -> Any:
        def step(alpha: Any, e: Any) -> Any:
            return jax.nn.logsumexp(alpha[:, None] + transition, axis=0) + e, None

        return jax.nn.logsumexp(jax.lax.scan(step, start, emission)[0])

    return compiled(_value_and_gradients(cost, (0, 1)))


def kalman(arrays: Any, size: int) -> Any:
    """The log-likelihood by a Kalman filter, with its gradient for all matrices."""

    def cost(f: Any, h: Any, q: Any, r: Any, y: Any, m: Any, p: Any) -> Any:
        def step(state: Any, y: Any) -> Any:
            m, p = f @ state[0], f @ state[1] @ f.T + q
            error, spread = y - h @ m, h @ p @ h.T + r
            precision = jnp.linalg.inv(spread)
            gain = p @ h.T @ precision
            fit = -0.5 * (error @ precision @ error + jnp.log(jnp.linalg.det(spread)))
            return (m + gain @ error, p - gain @ h @ p), fit

        return jax.lax.scan(step, (m, p), y)[1].sum()

    return compiled(_value_and_gradients(cost, (0, 1, 2, 3)))


def lstm(arrays: Any, size: int) -> Any:
    """An LSTM: the sum of squares of its last state, and gradients."""

    def cost(x: Any, w: Any, u: Any, b: Any, h: Any, c: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            h, c = state
            gates = x @ w + h @ u + b
            take, keep, give = (jax.nn.sigmoid(gates[:, i * 128 : (i + 1) * 128]) for i in range(3))
            c = keep * c + take * jnp.tanh(gates[:, 384:])
            return (give * jnp.tanh(c), c), None

        return (jax.lax.scan(step, (h, c), x)[0][0] ** 2).sum()

    return compiled(_value_and_gradients(cost, (1, 2, 3)))


def newton(arrays: Any, size: int) -> Any:
    """A square root by Newton's method, until a step is small."""

    def run(a: Any, first: Any) -> Any:
        def step(state: Any) -> Any:
            _, x, t = state
            return x, 0.5 * (x + a / x), t + 1

        def goes_on(state: Any) -> Any:
            old, new, t = state
            return (t == 0) | ((abs(new - old) >= 1e-12) & (t < size))

        return jax.lax.while_loop(goes_on, step, (first, first, 0))[1]

    return compiled(run)


def _density(covariance: Any, values: Any) -> Any:
    factor = jnp.linalg.cholesky(covariance)
    white = jax.scipy.linalg.solve_triangular(factor, values, lower=True)
    return -0.5 * (white**2).sum() - jnp.log(jnp.diagonal(factor)).sum()


def normal_density(arrays: Any, size: int) -> Any:
    """The log-density of a multivariate normal, with its gradient for all that is given."""

    def cost(covariance: Any, values: Any, mean: Any) -> Any:
        return _density(covariance, values - mean)

    return compiled(_value_and_gradients(cost, (0, 1, 2)))


def gaussian_process(arrays: Any, size: int) -> Any:
    """The marginal likelihood with a Matern kernel, and its gradient for the parameters."""

    def cost(x: Any, y: Any, logs: Any) -> Any:
        scale, length, noise = jnp.exp(logs)
        return _density(matern(jnp, x, scale, length) + noise * jnp.eye(x.shape[0]), y)

    return compiled(_value_and_gradients(cost, (2,)))


def small_inverses(arrays: Any, size: int) -> Any:
    """Inverses and log-determinants of many small matrices."""
    return compiled(lambda a: (jnp.linalg.inv(a), jnp.linalg.slogdet(a)[1]))


def small_factors(arrays: Any, size: int) -> Any:
    """Cholesky factors of many small matrices, and the gradient of a function of them."""

    def cost(a: Any) -> Any:
        factors = jnp.linalg.cholesky(a)
        return (factors**2 * 0.5).sum(), factors

    def flat(a: Any) -> Any:
        gradient, factors = jax.grad(cost, has_aux=True)(a)
        return factors, gradient

    return compiled(flat)


def solution(arrays: Any, size: int) -> Any:
    """A system of equations, and the gradient of a function of its solution."""

    def cost(a: Any, b: Any) -> Any:
        return (jnp.linalg.solve(a, b) ** 2).sum()

    return compiled(_value_and_gradients(cost, (0, 1)))


def spectrum(arrays: Any, size: int) -> Any:
    """Eigenvalues and eigenvectors, and the gradient of a function of both."""

    def cost(a: Any) -> Any:
        values, vectors = jnp.linalg.eigh(a, symmetrize_input=False)
        both = (vectors**2).sum(axis=1) * (vectors[:, 0] ** 2)
        return (values**2).sum() + both.sum()

    return compiled(_value_and_gradients(cost, (0,)))


def singular_values(arrays: Any, size: int) -> Any:
    """A singular value decomposition."""

    def run(a: Any) -> Any:
        u, s, vh = jnp.linalg.svd(a, full_matrices=False)
        return (u * s[None, :]) @ vh, s

    return compiled(run)


def orthogonal_factor(arrays: Any, size: int) -> Any:
    """A QR decomposition."""

    def run(a: Any) -> Any:
        q, r = jnp.linalg.qr(a)
        return q @ r, abs(r)

    return compiled(run)


def _value_and_gradients(cost: Callable[..., Any], wrt: tuple[int, ...]) -> Callable[..., Any]:
    both = jax.value_and_grad(cost, argnums=wrt)

    def flat(*inputs: Any) -> Any:
        value, gradients = both(*inputs)
        return value, *gradients

    return flat


def _repeat(step: Any, state: Any, count: int) -> Any:
    return jax.lax.scan(lambda state, _: (step(*state), None), state, None, length=count)[0]


def _job(name: str) -> Callable[[Any, int], Any]:
    cost_of, wrt = JOBS[name]

    def cost(*inputs: Any) -> Any:
        return cost_of(jnp, _repeat, *inputs)

    return lambda arrays, size: compiled(_value_and_gradients(cost, wrt) if wrt else cost)


radial, sinkhorn, differential, mixture, products = map(_job, JOBS)
