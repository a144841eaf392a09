"""The programs in NumPy and SciPy, as one would write them by hand; gradients included."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special


def multiply(arrays: Any, size: int) -> Any:
    """x * y"""
    return lambda x, y: x * y


def _fused(x: Any, y: Any, z: Any) -> Any:
    return np.exp(-(x**2) / 2) * np.sin(y) + np.tanh(z)


def fused(arrays: Any, size: int) -> Any:
    """exp(-x**2/2) * sin(y) + tanh(z)"""
    return _fused


def fused_sum(arrays: Any, size: int) -> Any:
    """The same, summed."""
    return lambda *inputs: _fused(*inputs).sum()


def axpy(arrays: Any, size: int) -> Any:
    """2 * x + y"""
    return lambda x, y: 2.0 * x + y


def softmax(arrays: Any, size: int) -> Any:
    """Of each row."""
    return lambda x: special.softmax(x, axis=-1)


def layer_norm(arrays: Any, size: int) -> Any:
    """(x - mean) / sqrt(variance + eps) of each row"""

    def normalise(x: Any) -> Any:
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)

    return normalise


def logsumexp(arrays: Any, size: int) -> Any:
    """Of each row."""
    return lambda x: special.logsumexp(x, axis=1)


def column_sums(arrays: Any, size: int) -> Any:
    """Sum over rows."""
    return lambda x: x.sum(axis=0)


def product(arrays: Any, size: int) -> Any:
    """A matrix times a matrix or a vector."""
    return lambda x, y: x @ y


def stacked(arrays: Any, size: int) -> Any:
    """A stack of matrices times another one, times a matrix."""
    return lambda x, y, z: np.einsum("bik,bkj,jl->bil", x, y, z, optimize=True)


def attention(arrays: Any, size: int) -> Any:
    """Scores of queries and keys."""
    return lambda q, k: np.einsum("bhqd,bhkd->bhqk", q, k, optimize=True)


def total(arrays: Any, size: int) -> Any:
    """The sum of everything."""
    return lambda x: x.sum()


def logistic(arrays: Any, size: int) -> Any:
    """Negative log-likelihood of a logistic regression, and its gradient."""

    def value_and_gradient(x: Any, y: Any, w: Any) -> Any:
        score = x @ w
        cost = (np.logaddexp(0, score) - y * score).mean()
        return cost, x.T @ ((special.expit(score) - y) / len(y))

    return value_and_gradient


def perceptron(arrays: Any, size: int) -> Any:
    """Cross-entropy of a network with one hidden layer, and its gradient."""

    def value_and_gradient(x: Any, t: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
        hidden = np.tanh(x @ w1 + b1)
        logs = special.log_softmax(hidden @ w2 + b2, axis=-1)
        cost = -(t * logs).sum(axis=1).mean()
        g = (np.exp(logs) * t.sum(axis=1, keepdims=True) - t) / len(x)
        back = (g @ w2.T) * (1 - hidden**2)
        return cost, x.T @ back, back.sum(axis=0), hidden.T @ g, g.sum(axis=0)

    return value_and_gradient


def hierarchy(arrays: Any, size: int) -> Any:
    """Log density of a regression with an intercept a group, and its gradient."""

    def value_and_gradient(
        group: Any, x: Any, y: Any, mu: Any, log_tau: Any, z: Any, slope: Any, log_sigma: Any
    ) -> Any:
        tau, scale = np.exp(log_tau), np.exp(-log_sigma)
        residual = (y - (mu + tau * z)[group] - slope * x) * scale
        density = (-0.5 * residual**2 - log_sigma).sum() - 0.5 * (z**2).sum() - 0.5 * mu**2
        slope_of = residual * scale
        by_group = np.bincount(group, slope_of, len(z))
        return (
            density,
            slope_of.sum() - mu,
            (by_group * z).sum() * tau,
            by_group * tau - z,
            (slope_of * x).sum(),
            (residual**2).sum() - len(y),
        )

    return value_and_gradient


def outer(arrays: Any, size: int) -> Any:
    """a b' + tanh(c d')"""
    return lambda a, b, c, d: a[:, None] * b[None, :] + np.tanh(c[:, None] * d[None, :])


def chain(arrays: Any, size: int) -> Any:
    """A chain of ``size`` elementwise steps, summed, with its gradient."""

    def value_and_gradient(x: Any) -> Any:
        slope = np.ones_like(x)
        for step in range(size // 2):
            factor = 1.0 + 0.5 / (step + 1)
            slope = slope * np.cos(x) * factor
            x = np.sin(x) * factor
        return x.sum(), slope

    return value_and_gradient


def blocks(arrays: Any, size: int) -> Any:
    """Many separate small programs in one."""
    return lambda *inputs: [np.tanh(x * x).sum() + float(i) for i, x in enumerate(inputs)]


def small_inverses(arrays: Any, size: int) -> Any:
    """Inverses and log-determinants of many small matrices."""
    return lambda a: (np.linalg.inv(a), np.linalg.slogdet(a)[1])


def singular_values(arrays: Any, size: int) -> Any:
    """A singular value decomposition."""

    def run(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return (u * s) @ vh, s

    return run


def orthogonal_factor(arrays: Any, size: int) -> Any:
    """A QR decomposition."""

    def run(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return q @ r, abs(r)

    return run


def normal_density(arrays: Any, size: int) -> Any:
    """The log-density of a multivariate normal, with its gradient, by LAPACK through SciPy."""
    from scipy.linalg import lapack

    def value_and_gradient(covariance: Any, values: Any, mean: Any) -> Any:
        factor, _ = lapack.dpotrf(covariance.T, lower=0)
        white, _ = lapack.dtrtrs(factor, values - mean, trans=1)
        slope, _ = lapack.dtrtrs(factor, white)
        inverse, _ = lapack.dpotri(factor)
        value = -0.5 * (white @ white) - np.log(np.diagonal(factor)).sum()
        gradient = np.tril(np.outer(slope, slope) - inverse.T)
        np.fill_diagonal(gradient, np.diagonal(gradient) / 2)
        return value, gradient, -slope, slope

    return value_and_gradient
