"""The programs in PyTensor."""
# Peers need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.scan.utils import until

from benchmarks.suite.linear_algebra import LinearAlgebra
from benchmarks.suite.loops import Loops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def symbols(arrays: Sequence[Any]) -> list[Any]:
    """Return a variable for each array; no static sizes are given."""
    return [pt.tensor(f"x{i}", shape=(None,) * a.ndim, dtype=a.dtype) for i, a in enumerate(arrays)]


def compiled(inputs: list[Any], outputs: Any) -> Callable[..., Any]:
    """Compile in the default mode."""
    return pytensor.function(inputs, outputs, on_unused_input="ignore")


def multiply(arrays: Any, size: int) -> Any:
    """x * y"""
    x, y = symbols(arrays)
    return compiled([x, y], x * y)


def _fused(x: Any, y: Any, z: Any) -> Any:
    return pt.exp(-(x**2) / 2) * pt.sin(y) + pt.tanh(z)


def fused(arrays: Any, size: int) -> Any:
    """exp(-x**2/2) * sin(y) + tanh(z)"""
    inputs = symbols(arrays)
    return compiled(inputs, _fused(*inputs))


def fused_sum(arrays: Any, size: int) -> Any:
    """The same, summed."""
    inputs = symbols(arrays)
    return compiled(inputs, _fused(*inputs).sum())


def axpy(arrays: Any, size: int) -> Any:
    """2 * x + y"""
    x, y = symbols(arrays)
    return compiled([x, y], 2.0 * x + y)


def softmax(arrays: Any, size: int) -> Any:
    """Of each row."""
    (x,) = symbols(arrays)
    return compiled([x], pt.special.softmax(x, axis=-1))


def layer_norm(arrays: Any, size: int) -> Any:
    """(x - mean) / sqrt(variance + eps) of each row"""
    (x,) = symbols(arrays)
    centred = x - x.mean(axis=1, keepdims=True)
    return compiled([x], centred / pt.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5))


def logsumexp(arrays: Any, size: int) -> Any:
    """Of each row."""
    (x,) = symbols(arrays)
    return compiled([x], pt.logsumexp(x, axis=1))


def column_sums(arrays: Any, size: int) -> Any:
    """Sum over rows."""
    (x,) = symbols(arrays)
    return compiled([x], x.sum(axis=0))


def product(arrays: Any, size: int) -> Any:
    """A matrix times a matrix or a vector."""
    x, y = symbols(arrays)
    return compiled([x, y], x @ y)


def stacked(arrays: Any, size: int) -> Any:
    """A stack of matrices times another one, times a matrix."""
    x, y, z = symbols(arrays)
    return compiled([x, y, z], pt.einsum("bik,bkj,jl->bil", x, y, z))


def attention(arrays: Any, size: int) -> Any:
    """Scores of queries and keys."""
    q, k = symbols(arrays)
    return compiled([q, k], pt.einsum("bhqd,bhkd->bhqk", q, k))


def total(arrays: Any, size: int) -> Any:
    """The sum of everything."""
    (x,) = symbols(arrays)
    return compiled([x], x.sum())


def logistic(arrays: Any, size: int) -> Any:
    """Negative log-likelihood of a logistic regression, and its gradient."""
    x, y, w = symbols(arrays)
    score = x @ w
    cost = (pt.softplus(score) - y * score).mean()
    return compiled([x, y, w], [cost, pytensor.grad(cost, w)])


def perceptron(arrays: Any, size: int) -> Any:
    """Cross-entropy of a network with one hidden layer, and its gradient."""
    x, t, w1, b1, w2, b2 = symbols(arrays)
    hidden = pt.tanh(x @ w1 + b1)
    cost = -(t * pt.special.log_softmax(hidden @ w2 + b2, axis=-1)).sum(axis=1).mean()
    return compiled([x, t, w1, b1, w2, b2], [cost, *pytensor.grad(cost, [w1, b1, w2, b2])])


def hierarchy(arrays: Any, size: int) -> Any:
    """Log density of a regression with an intercept a group, and its gradient."""
    inputs = symbols(arrays)
    group, x, y, mu, log_tau, z, slope, log_sigma = inputs
    prediction = (mu + pt.exp(log_tau) * z)[group] + slope * x
    residual = (y - prediction) * pt.exp(-log_sigma)
    density = (-0.5 * residual**2 - log_sigma).sum() - 0.5 * (z**2).sum() - 0.5 * mu**2
    wrt = [mu, log_tau, z, slope, log_sigma]
    return compiled(inputs, [density, *pytensor.grad(density, wrt)])


def outer(arrays: Any, size: int) -> Any:
    """a b' + tanh(c d')"""
    a, b, c, d = inputs = symbols(arrays)
    return compiled(inputs, a[:, None] * b[None, :] + pt.tanh(c[:, None] * d[None, :]))


def chain(arrays: Any, size: int) -> Any:
    """A chain of ``size`` elementwise steps, summed, with its gradient."""
    (x,) = symbols(arrays)
    y = x
    for step in range(size // 2):
        y = pt.sin(y) * (1.0 + 0.5 / (step + 1))
    cost = y.sum()
    return compiled([x], [cost, pytensor.grad(cost, x)])


def blocks(arrays: Any, size: int) -> Any:
    """Many separate small programs in one."""
    inputs = symbols(arrays)
    return compiled(inputs, [pt.tanh(x * x).sum() + np.float64(i) for i, x in enumerate(inputs)])


_loops = Loops(
    symbols,
    compiled,
    pytensor.scan,
    until,
    pytensor.grad,
    pytensor.gradient.hessian,
    pt,
)
ar_filter = _loops.ar_filter
recurrent = _loops.recurrent
recurrent_gradient = _loops.recurrent_gradient
nested_loops = _loops.nested_loops
predator_prey = _loops.predator_prey
curvature = _loops.curvature
hidden_markov = _loops.hidden_markov
markov_in_logs = _loops.markov_in_logs
kalman = _loops.kalman
lstm = _loops.lstm
newton = _loops.newton


_matrices = LinearAlgebra(symbols, compiled, pytensor.grad, pt)
normal_density = _matrices.normal_density
gaussian_process = _matrices.gaussian_process
small_inverses = _matrices.small_inverses
small_factors = _matrices.small_factors
solution = _matrices.solution
spectrum = _matrices.spectrum
singular_values = _matrices.singular_values
orthogonal_factor = _matrices.orthogonal_factor
