"""Loops, in the words that Phintys and PyTensor share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Loops:
    """The programs of one framework.

    Attributes
    ----------
    symbols, compiled
        Those of the framework's module.
    scan, until, grad, hessian, tensor
        The framework's own.
    """

    symbols: Callable[[Sequence[Any]], list[Any]]
    compiled: Callable[[list[Any], Any], Any]
    scan: Any
    until: Any
    grad: Any
    hessian: Any
    tensor: Any

    def _rows(self, step: Any, sequences: Any, first: Any, others: Any = (), n: Any = None) -> Any:
        return self.scan(
            step,
            sequences=sequences,
            outputs_info=first,
            non_sequences=list(others),
            n_steps=n,
            return_updates=False,
        )

    def ar_filter(self, arrays: Any, size: int) -> Any:
        """h = a h + x for each element of x"""
        x, h, a = inputs = self.symbols(arrays)
        return self.compiled(inputs, self._rows(lambda x, h, a: a * h + x, [x], h, [a]))

    def _recurrent(self, w: Any, x: Any, h: Any) -> Any:
        pt = self.tensor
        return self._rows(lambda x, h, w: pt.tanh(w @ h + x), [x], h, [w])

    def recurrent(self, arrays: Any, size: int) -> Any:
        """h = tanh(w h + x) for each row of x"""
        inputs = self.symbols(arrays)
        return self.compiled(inputs, self._recurrent(*inputs))

    def recurrent_gradient(self, arrays: Any, size: int) -> Any:
        """The sum of squares of the same, and its gradient."""
        w, x, h = self.symbols(arrays)
        cost = (self._recurrent(w, x, h) ** 2).sum()
        return self.compiled([w, x, h], [cost, self.grad(cost, w)])

    def nested_loops(self, arrays: Any, size: int) -> Any:
        """A loop in a loop on a short vector."""
        pt = self.tensor
        u, y = inputs = self.symbols(arrays)

        def inner(u: Any, y: Any) -> Any:
            return 0.9 * u + y

        def outer(u: Any, y: Any) -> Any:
            return pt.tanh(self._rows(inner, None, u, [y], size)[-1])

        return self.compiled(inputs, self._rows(outer, None, u, [y], size)[-1])

    def predator_prey(self, arrays: Any, size: int) -> Any:
        """Lotka-Volterra by Runge-Kutta steps, with the gradient for all that is given."""
        x, y, *parameters = inputs = self.symbols(arrays)
        traces = self._rows(runge_kutta, None, [x, y], parameters, size)
        cost = sum((trace**2).sum() for trace in traces)
        return self.compiled(inputs, [cost, *self.grad(cost, inputs)])

    def curvature(self, arrays: Any, size: int) -> Any:
        """The Hessian of a sum over Euler steps, for the parameters of the rates."""
        pt = self.tensor
        state, parameters = inputs = self.symbols(arrays)

        def step(y: Any, p: Any) -> Any:
            return y + 0.01 * pt.stack(rates_of_two(y, p))

        states = self._rows(step, None, state, [parameters], size)
        return self.compiled(inputs, self.hessian((states**2).sum(), parameters))

    def hidden_markov(self, arrays: Any, size: int) -> Any:
        """The log-likelihood by the forward algorithm, with its gradient."""
        pt = self.tensor
        transition, emission, start = inputs = self.symbols(arrays)

        def step(e: Any, alpha: Any, transition: Any) -> Any:
            unscaled = (alpha @ transition) * e
            scale = unscaled.sum()
            return unscaled / scale, pt.log(scale)

        _, logs = self._rows(step, [emission], [start, None], [transition])
        cost = logs.sum()
        return self.compiled(inputs, [cost, *self.grad(cost, [transition, emission])])

    def markov_in_logs(self, arrays: Any, size: int) -> Any:
        """The same from and in logarithms, with the gradient."""
        logsumexp = self.tensor.logsumexp
        transition, emission, start = inputs = self.symbols(arrays)

        def step(e: Any, alpha: Any, transition: Any) -> Any:
            return logsumexp(alpha[:, None] + transition, axis=0) + e

        alphas = self._rows(step, [emission], start, [transition])
        cost = logsumexp(alphas[-1])
        return self.compiled(inputs, [cost, *self.grad(cost, [transition, emission])])

    def kalman(self, arrays: Any, size: int) -> Any:
        """The log-likelihood by a Kalman filter, with its gradient for all matrices."""
        linalg, log = self.tensor.linalg, self.tensor.log
        f, h, q, r, y, m, p = inputs = self.symbols(arrays)

        def step(y: Any, m: Any, p: Any, f: Any, h: Any, q: Any, r: Any) -> Any:
            m, p = f @ m, f @ p @ f.T + q
            error, spread = y - h @ m, h @ p @ h.T + r
            precision = linalg.inv(spread)
            gain = p @ h.T @ precision
            fit = -0.5 * (error @ precision @ error + log(linalg.det(spread)))
            return m + gain @ error, p - gain @ h @ p, fit

        *_, fits = self._rows(step, [y], [m, p, None], [f, h, q, r])
        cost = fits.sum()
        return self.compiled(inputs, [cost, *self.grad(cost, [f, h, q, r])])

    def lstm(self, arrays: Any, size: int) -> Any:
        """An LSTM: the sum of squares of its last state, and gradients."""
        pt = self.tensor
        x, w, u, b, h, c = inputs = self.symbols(arrays)

        def step(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
            gates = x @ w + h @ u + b
            take, keep, give = (pt.sigmoid(gates[:, i * 128 : (i + 1) * 128]) for i in range(3))
            c = keep * c + take * pt.tanh(gates[:, 384:])
            return give * pt.tanh(c), c

        rows, _ = self._rows(step, [x], [h, c], [w, u, b])
        cost = (rows[-1] ** 2).sum()
        return self.compiled(inputs, [cost, *self.grad(cost, [w, u, b])])

    def newton(self, arrays: Any, size: int) -> Any:
        """A square root by Newton's method, until a step is small."""
        a, first = inputs = self.symbols(arrays)

        def step(x: Any, a: Any) -> Any:
            new = 0.5 * (x + a / x)
            return new, self.until(abs(new - x) < 1e-12)

        return self.compiled(inputs, self._rows(step, None, first, [a], size)[-1])


def runge_kutta(x: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the next numbers of prey and predators."""
    h = 0.01

    def rates(x: Any, y: Any) -> tuple[Any, Any]:
        return a * x - b * x * y, d * x * y - c * y

    k1 = rates(x, y)
    k2 = rates(x + h / 2 * k1[0], y + h / 2 * k1[1])
    k3 = rates(x + h / 2 * k2[0], y + h / 2 * k2[1])
    k4 = rates(x + h * k3[0], y + h * k3[1])
    return (
        x + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0]),
        y + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]),
    )


def rates_of_two(y: Any, p: Any) -> list[Any]:
    """Return how fast two numbers change that are given as a vector, with six parameters."""
    prey = p[0] * y[0] - p[1] * y[0] * y[1] + p[4]
    return [prey, p[2] * y[0] * y[1] - p[3] * y[1] + p[5] * y[0]]
