"""Linear algebra, in the words that Phintys and PyTensor share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class LinearAlgebra:
    """The programs of one framework.

    Attributes
    ----------
    symbols, compiled
        Those of the framework's module.
    grad, tensor
        The framework's own.
    """

    symbols: Callable[[Sequence[Any]], list[Any]]
    compiled: Callable[[list[Any], Any], Any]
    grad: Any
    tensor: Any

    def _with_gradients(self, inputs: list[Any], cost: Any, wrt: list[Any]) -> Any:
        return self.compiled(inputs, [cost, *self.grad(cost, wrt)])

    def _density(self, covariance: Any, values: Any) -> Any:
        pt = self.tensor
        factor = pt.linalg.cholesky(covariance)
        white = pt.linalg.solve_triangular(factor, values, lower=True)
        return -0.5 * (white**2).sum() - pt.log(pt.diagonal(factor)).sum()

    def normal_density(self, arrays: Any, size: int) -> Any:
        """The log-density of a multivariate normal, with its gradient for all that is given."""
        covariance, values, mean = inputs = self.symbols(arrays)
        return self._with_gradients(inputs, self._density(covariance, values - mean), inputs)

    def gaussian_process(self, arrays: Any, size: int) -> Any:
        """The marginal likelihood with a Matern kernel, and its gradient for the parameters."""
        pt = self.tensor
        x, y, logs = inputs = self.symbols(arrays)
        scale, length, noise = (pt.exp(logs[i]) for i in range(3))
        covariance = matern(pt, x, scale, length) + noise * pt.eye(x.shape[0])
        return self._with_gradients(inputs, self._density(covariance, y), [logs])

    def small_inverses(self, arrays: Any, size: int) -> Any:
        """Inverses and log-determinants of many small matrices."""
        linalg = self.tensor.linalg
        (a,) = inputs = self.symbols(arrays)
        return self.compiled(inputs, [linalg.inv(a), linalg.slogdet(a)[1]])

    def small_factors(self, arrays: Any, size: int) -> Any:
        """Cholesky factors of many small matrices, and the gradient of a function of them."""
        (a,) = inputs = self.symbols(arrays)
        factors = self.tensor.linalg.cholesky(a)
        return self.compiled(inputs, [factors, self.grad((factors**2 * 0.5).sum(), a)])

    def solution(self, arrays: Any, size: int) -> Any:
        """A system of equations, and the gradient of a function of its solution."""
        a, b = inputs = self.symbols(arrays)
        return self._with_gradients(inputs, (self.tensor.linalg.solve(a, b) ** 2).sum(), inputs)

    def spectrum(self, arrays: Any, size: int) -> Any:
        """Eigenvalues and eigenvectors, and the gradient of a function of both."""
        (a,) = inputs = self.symbols(arrays)
        values, vectors = self.tensor.linalg.eigh(a)
        cost = (values**2).sum() + ((vectors**2).sum(axis=1) * (vectors[:, 0] ** 2)).sum()
        return self._with_gradients(inputs, cost, inputs)

    def singular_values(self, arrays: Any, size: int) -> Any:
        """A singular value decomposition."""
        (a,) = inputs = self.symbols(arrays)
        u, s, vh = self.tensor.linalg.svd(a, full_matrices=False)
        return self.compiled(inputs, [(u * s[None, :]) @ vh, s])

    def orthogonal_factor(self, arrays: Any, size: int) -> Any:
        """A QR decomposition."""
        (a,) = inputs = self.symbols(arrays)
        q, r = self.tensor.linalg.qr(a, mode="economic")
        return self.compiled(inputs, [q @ r, abs(r)])


def matern(np_like: Any, x: Any, scale: Any, length: Any) -> Any:
    """Return the covariances of a Matern process of order 3/2."""
    ratio = np.sqrt(3.0) * abs(x[:, None] - x[None, :]) / length
    return scale * (1.0 + ratio) * np_like.exp(-ratio)
