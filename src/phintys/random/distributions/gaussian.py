"""Distributions of vectors and matrices that are made of normal numbers."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

import numpy as np

from phintys._base.config import config
from phintys.random.distributions.discrete import log_if
from phintys.random.distributions.location_scale import Normal
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.tensor import math, reduce, special
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import diagonal
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose
from phintys.tensor.linear_algebra.cholesky import cholesky
from phintys.tensor.linear_algebra.solving import inv
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.linear_algebra.vectors import matvec
from phintys.tensor.products import matmul
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size

LOG_TWO_PI = numbers.log(2 * numbers.pi)


def standard_normal(source: Source, dtype: str, *lengths: Any) -> Any:
    """Return normal numbers of mean 0 and variance 1."""
    zero, one = np.zeros((), dtype), np.ones((), dtype)
    return source.draw(Normal(zero, one), *lengths)


def times(matrix: Any, vectors: Any) -> Any:
    """Return products of a matrix, or of each of a batch, and vectors."""
    if vectors.ndim == 1 or matrix.ndim > 2:
        return matvec(matrix, vectors)
    return matmul(vectors, matrix_transpose(matrix))


def solved(triangle: Any, vectors: Any, *, lower: bool = True) -> Any:
    """Return solutions of triangular systems, of one matrix or of a batch of them."""
    if vectors.ndim == 1 or triangle.ndim > 2:
        return solve_triangular(triangle, vectors, lower=lower, b_ndim=1)
    sizes = sizes_of(vectors)
    rows = reshape(vectors, (-1, sizes[-1]))
    solutions = solve_triangular(triangle, matrix_transpose(rows), lower=lower, b_ndim=2)
    return reshape(matrix_transpose(solutions), sizes, ndim=vectors.ndim)


def log_diagonal(triangle: Any) -> Any:
    """Return the logarithm of the determinant of a triangular matrix with a positive diagonal."""
    return reduce.sum(math.log(diagonal(triangle, axis1=-2, axis2=-1)), axis=-1)


class MultivariateNormal(Multivariate, method="multivariate_normal"):
    """The multivariate normal distribution, by its covariance, a factor of it, or its inverse.

    Parameters
    ----------
    mean
        Vectors.
    cov
        The covariance.
    size
        The shape of the batch that is drawn.
    chol
        The lower triangular Cholesky factor of the covariance, instead of it.
    precision
        The inverse of the covariance, instead of it.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random import MultivariateNormal, logp
    >>> two = MultivariateNormal(np.zeros(2), np.eye(2))
    >>> round(float(logp(two, [0.0, 0.0]).eval()), 6)
    -1.837877
    """

    defaults: ClassVar[dict[str, Any]] = {
        "mean": [0.0],
        "cov": None,
        "size": None,
        "chol": None,
        "precision": None,
    }
    event_ndim: ClassVar[int] = 1
    core_ndim: ClassVar[dict[str, int]] = {"mean": 1, "cov": 2, "chol": 2, "precision": 2}

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.one_of("cov", "chol", "precision")

    def _spread(self) -> Any:
        """Return the Cholesky factor of the covariance."""
        return self.chol if "chol" in self.parameters else cholesky(self.cov)

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        size = self.common_size("mean", "cov", "chol", "precision")
        z = standard_normal(source, self.dtype, *lengths, size)
        if "precision" in self.parameters:
            upper = matrix_transpose(cholesky(self.precision))
            return self.parameters["mean"] + solved(upper, z, lower=False)
        return self.parameters["mean"] + times(self._spread(), z)

    def _standardized(self, value: Any) -> tuple[Any, Any]:
        """Return independent standard normal numbers, and the log-determinant of the spread."""
        away = as_tensor_variable(value) - self.parameters["mean"]
        if "precision" in self.parameters:
            factor = cholesky(self.precision)
            return times(matrix_transpose(factor), away), -log_diagonal(factor)
        return solved(self._spread(), away), log_diagonal(self._spread())

    def logp(self, value: Any) -> Any:
        z, logarithm = self._standardized(value)
        constant = 0.5 * LOG_TWO_PI * math.cast(sizes_of(z)[-1], z.dtype)
        return -0.5 * reduce.sum(math.sqr(z), axis=-1) - logarithm - constant

    def mean(self) -> Any:
        return self.parameters["mean"]

    def covariance(self) -> Any:
        """Return the covariance."""
        if "precision" in self.parameters:
            return inv(self.precision)
        if "cov" in self.parameters:
            return self.cov
        return matmul(self.chol, matrix_transpose(self.chol))

    def variance(self) -> Any:
        return diagonal(self.covariance(), axis1=-2, axis2=-1)

    def entropy(self) -> Any:
        size = math.cast(self.common_size("mean", "cov", "chol", "precision"), self.dtype)
        if "precision" in self.parameters:
            logarithm = -log_diagonal(cholesky(self.precision))
        else:
            logarithm = log_diagonal(self._spread())
        return 0.5 * (LOG_TWO_PI + 1) * size + logarithm


class MatrixNormal(Multivariate, method="matrix_normal"):
    """Matrices with covariances among their rows and among their columns.

    Parameters
    ----------
    mean
        Matrices.
    rowcov, colcov
        The covariances of the rows, and of the columns.

    Examples
    --------
    >>> from phintys.random import MatrixNormal, logp
    >>> one = MatrixNormal([[0.0, 0.0]], [[1.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> round(float(logp(one, [[0.5, 0.5]]).eval()), 6)
    -2.087877
    """

    defaults: ClassVar[dict[str, Any]] = {"mean": [[0.0]], "rowcov": None, "colcov": None}
    event_ndim: ClassVar[int] = 2
    core_ndim: ClassVar[dict[str, int]] = {"mean": 2, "rowcov": 2, "colcov": 2}

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.one_of("rowcov")
        self.one_of("colcov")

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        sizes = self.core_sizes("rowcov")[0], self.core_sizes("colcov")[0]
        z = standard_normal(source, self.dtype, *lengths, *sizes)
        rows, columns = cholesky(self.rowcov), cholesky(self.colcov)
        return self.parameters["mean"] + matmul(matmul(rows, z), matrix_transpose(columns))

    def logp(self, value: Any) -> Any:
        away = as_tensor_variable(value) - self.parameters["mean"]
        rows, columns = cholesky(self.rowcov), cholesky(self.colcov)
        half = solve_triangular(rows, away, lower=True, b_ndim=2)
        z = solve_triangular(columns, matrix_transpose(half), lower=True, b_ndim=2)
        n, m = (math.cast(self.core_sizes(one)[0], self.dtype) for one in ("rowcov", "colcov"))
        logarithm = m * log_diagonal(rows) + n * log_diagonal(columns)
        return -0.5 * reduce.sum(math.sqr(z), axis=(-2, -1)) - logarithm - 0.5 * LOG_TWO_PI * n * m

    def mean(self) -> Any:
        return self.parameters["mean"]

    def variance(self) -> Any:
        of_rows = expand_dims(diagonal(self.rowcov, axis1=-2, axis2=-1), -1)
        return of_rows * expand_dims(diagonal(self.colcov, axis1=-2, axis2=-1), -2)


class UniformDirection(Multivariate, method="uniform_direction"):
    """Points on the unit sphere of a space with ``dim`` dimensions, evenly.

    Parameters
    ----------
    dim
        How many dimensions the space has.

    Examples
    --------
    >>> from phintys.random import UniformDirection, logp
    >>> round(float(logp(UniformDirection(3), [0.6, 0.0, 0.8]).eval()), 6)
    -2.531024
    """

    defaults: ClassVar[dict[str, Any]] = {"dim": 3}
    event_ndim: ClassVar[int] = 1

    def _parameter(self, parameter: str, value: Any) -> Any:
        return as_size(value, "The number of dimensions")

    @property
    def dtype(self) -> str:
        return config.floatX

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        z = standard_normal(source, self.dtype, *lengths, self.dim)
        return z / math.sqrt(reduce.sum(math.sqr(z), axis=-1, keepdims=True))

    def logp(self, value: Any) -> Any:
        value = as_tensor_variable(value)
        half = 0.5 * math.cast(self.dim, self.dtype)
        is_unit = abs(reduce.sum(math.sqr(value), axis=-1) - 1) < unit_tolerance(value)
        return log_if(
            is_unit, special.gammaln(half) - half * numbers.log(numbers.pi) - numbers.log(2)
        )


def unit_tolerance(value: Any) -> float:
    """Return how far from 1 a sum may be that is 1 but for rounding."""
    return 1e-3 if value.dtype == "float32" else 1e-8
