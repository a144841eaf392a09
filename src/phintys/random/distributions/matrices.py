"""Distributions of covariances and of correlations."""

from __future__ import annotations

import math as numbers
from typing import Any, ClassVar

from phintys.random.distributions.checks import Domain, positive
from phintys.random.distributions.gaussian import log_diagonal, standard_normal
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.random.samplers.gamma import gamma_of_bits, log_gamma_of_bits
from phintys.tensor import math, reduce, special
from phintys.tensor.broadcasting import broadcast_to
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import ones, zeros
from phintys.tensor.diagonals import diagonal, eye, tril
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.cholesky import cholesky
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul
from phintys.tensor.ranges import arange
from phintys.tensor.shapes import sizes_of
from phintys.tensor.sizes import as_size, fold, subtract_sizes

LOG_PI = numbers.log(numbers.pi)


positive_diagonal = Domain(
    "must have a positive diagonal",
    lambda x, _: (x.diagonal(axis1=-2, axis2=-1) <= 0).any(axis=-1),
)


def _is_singular(df: Any, given: Any) -> Any:
    return df <= given["scale"].shape[-1] - 1


class Wishart(Multivariate, method="wishart"):
    """The sum of ``df`` squares of normal vectors, each with itself, of the covariance ``scale``.

    Parameters
    ----------
    df
        Greater than the number of rows less 1; not only integers.
    scale
        Positive definite matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random import Wishart, mean
    >>> mean(Wishart(4.0, np.eye(2))).eval()
    array([[4., 0.],
           [0., 4.]])
    """

    defaults: ClassVar[dict[str, Any]] = {"df": 1.0, "scale": [[1.0]]}
    domains: ClassVar[dict[str, Any]] = {
        "df": Domain("must be above the number of rows less 1", _is_singular),
        "scale": positive_diagonal,
    }
    core_ndim: ClassVar[dict[str, int]] = {"scale": 2}
    event_ndim: ClassVar[int] = 2

    def _size(self) -> Any:
        return self.core_sizes("scale")[0]

    def _halves(self) -> Any:
        """Return the shapes of the gamma numbers on the diagonal."""
        return 0.5 * (expand_dims(self.df, -1) - arange(self._size()))

    def _standard_factor(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        """Return triangular factors of draws whose scale is the identity."""
        # M. S. Bartlett's decomposition, 1934
        size = self._size()
        below = tril(standard_normal(source, self.dtype, *lengths, size, size), -1)
        squares = 2 * gamma_of_bits(source.bits(*lengths, size), self._halves())
        return below + expand_dims(math.sqrt(squares), -1) * eye(size, dtype=self.dtype)

    def _log_constant(self) -> Any:
        """Return the logarithm of the integral of the densities if the scale is the identity."""
        size = math.cast(self._size(), self.dtype)
        powers = 0.5 * numbers.log(2) * size * self.df + 0.25 * LOG_PI * size * (size - 1)
        return powers + reduce.sum(special.gammaln(self._halves()), axis=-1)

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        spread = matmul(cholesky(self.scale), self._standard_factor(source, lengths))
        return matmul(spread, matrix_transpose(spread))

    def logp(self, value: Any) -> Any:
        root, spread = cholesky(as_tensor_variable(value)), cholesky(self.scale)
        relative = solve_triangular(spread, root, lower=True, b_ndim=2)
        trace = reduce.sum(math.sqr(relative), axis=(-2, -1))
        size = math.cast(self._size(), self.dtype)
        main = (self.df - size - 1) * log_diagonal(root) - 0.5 * trace
        return main - self.df * log_diagonal(spread) - self._log_constant()

    def mean(self) -> Any:
        return expand_dims(self.df, (-2, -1)) * self.scale

    def variance(self) -> Any:
        entries = diagonal(self.scale, axis1=-2, axis2=-1)
        products = expand_dims(entries, -1) * expand_dims(entries, -2)
        return expand_dims(self.df, (-2, -1)) * (math.sqr(self.scale) + products)


class InverseWishart(Wishart, method="invwishart"):
    """The inverse of a Wishart matrix of ``df`` degrees of freedom and the inverse of ``scale``.

    Parameters
    ----------
    df
        Greater than the number of rows less 1; not only integers.
    scale
        Positive definite matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random import InverseWishart, mean
    >>> mean(InverseWishart(5.0, np.eye(2))).eval()
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        right = matrix_transpose(cholesky(self.scale))
        factor = self._standard_factor(source, lengths)
        if right.ndim < factor.ndim:
            right = broadcast_to(right, (*lengths, *sizes_of(right)[-2:]))
        spread = solve_triangular(factor, right, lower=True, b_ndim=2)
        return matmul(matrix_transpose(spread), spread)

    def logp(self, value: Any) -> Any:
        root, spread = cholesky(as_tensor_variable(value)), cholesky(self.scale)
        relative = solve_triangular(root, spread, lower=True, b_ndim=2)
        trace = reduce.sum(math.sqr(relative), axis=(-2, -1))
        size = math.cast(self._size(), self.dtype)
        main = self.df * log_diagonal(spread) - 0.5 * trace
        return main - (self.df + size + 1) * log_diagonal(root) - self._log_constant()

    def _beyond_size(self) -> Any:
        """Return how far the degrees of freedom are above the number of rows."""
        return expand_dims(self.df - math.cast(self._size(), self.dtype), (-2, -1))

    def mean(self) -> Any:
        rest = self._beyond_size() - 1
        return math.switch(rest > 0, self.scale / math.switch(rest > 0, rest, 1), numbers.nan)

    def variance(self) -> Any:
        rest = self._beyond_size()
        is_finite = rest > 3
        rest = math.switch(is_finite, rest, 4)
        entries = diagonal(self.scale, axis1=-2, axis2=-1)
        products = expand_dims(entries, -1) * expand_dims(entries, -2)
        whole = (rest + 1) * math.sqr(self.scale) + (rest - 1) * products
        finite = whole / (rest * math.sqr(rest - 1) * (rest - 3))
        return math.switch(is_finite, finite, numbers.nan)


class LKJCholesky(Multivariate, method="lkj_cholesky"):
    """Cholesky factors of correlations with densities in proportion to ``det ** (eta - 1)``.

    D. Lewandowski, D. Kurowicka and H. Joe, "Generating random correlation matrices based on vines
    and extended onion method", Journal of Multivariate Analysis 100, 2009.

    Parameters
    ----------
    n
        How many rows.
    eta
        1 for evenly distributed correlations, more for weaker ones.

    Examples
    --------
    >>> from phintys.random import LKJCholesky, logp
    >>> round(float(logp(LKJCholesky(2, 2.0), [[1.0, 0.0], [0.6, 0.8]]).eval()), 6)
    -0.733969
    """

    defaults: ClassVar[dict[str, Any]] = {"n": 2, "eta": 1.0}
    domains: ClassVar[dict[str, Any]] = {"eta": positive}
    option_names: ClassVar[tuple[str, ...]] = ("n",)
    event_ndim: ClassVar[int] = 2

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.n = fold(as_size(self.options["n"], "The number of rows"))

    def _factor(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        """Return Cholesky factors: each row is a point in a random direction, and the rest."""
        n, below = self.n, subtract_sizes(self.n, 1)
        row = arange(1, n)
        eta = expand_dims(self.eta, -1)
        shapes = 0.5 * math.cast(row, self.dtype), eta + 0.5 * (n - 1 - row)
        left, right = (log_gamma_of_bits(source.bits(*lengths, below), one) for one in shapes)
        z = tril(standard_normal(source, self.dtype, *lengths, below, n))
        square = reduce.sum(math.sqr(z), axis=-1)
        rows = z * expand_dims(math.sqrt(math.sigmoid(left - right) / square), -1)
        rest = math.sqrt(math.sigmoid(right - left))
        rows = rows + expand_dims(rest, -1) * eye(below, n, 1, dtype=self.dtype)
        first = concatenate(
            [ones((*lengths, 1, 1), self.dtype), zeros((*lengths, 1, below), self.dtype)], axis=-1
        )
        return concatenate([first, rows], axis=-2)

    def _log_volume(self) -> Any:
        """Return the logarithm of the integral of the densities without their constant."""
        count = math.cast(self.n, self.dtype) - 1
        row = arange(1, self.n)
        each = special.gammaln(expand_dims(self.eta, -1) + 0.5 * (self.n - 1 - row))
        whole = reduce.sum(each + 0.5 * LOG_PI * row, axis=-1)
        return whole - count * special.gammaln(self.eta + 0.5 * count)

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        return self._factor(source, lengths)

    def logp(self, value: Any) -> Any:
        entries = diagonal(as_tensor_variable(value), axis1=-2, axis2=-1)[..., 1:]
        powers = self.n - 1 - arange(1, self.n) + 2 * (expand_dims(self.eta, -1) - 1)
        return reduce.sum(powers * math.log(entries), axis=-1) - self._log_volume()


class LKJ(LKJCholesky, method="lkj"):
    """Correlation matrices with densities in proportion to ``det ** (eta - 1)``.

    Parameters
    ----------
    n
        How many rows the matrices have, an int.
    eta
        How near the matrices are to the unit matrix; all are equally likely for 1.

    Examples
    --------
    >>> from phintys.random import LKJ, logp
    >>> round(float(logp(LKJ(2, 2.0), [[1.0, 0.5], [0.5, 1.0]]).eval()), 6)
    -0.575364
    """

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        factor = self._factor(source, lengths)
        return matmul(factor, matrix_transpose(factor))

    def logp(self, value: Any) -> Any:
        factor = cholesky(as_tensor_variable(value))
        return 2 * (self.eta - 1) * log_diagonal(factor) - self._log_volume()

    def mean(self) -> Any:
        return expand_dims(0 * self.eta, (-2, -1)) + eye(self.n, dtype=self.dtype)
