"""Gaussian Markov random fields: normal vectors by their sparse precision."""

from __future__ import annotations

from typing import Any, ClassVar

from phintys._base.errors import ArgumentError, ShapeError
from phintys.random.distributions.base import FLOATS
from phintys.random.distributions.gaussian import LOG_TWO_PI, standard_normal
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.sparse import linalg, operations
from phintys.tensor import math, reduce
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.dim_shuffle import matrix_transpose
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of


class GaussianMarkovField(Multivariate):
    """Normal vectors by their precision, the inverse of the covariance, a sparse matrix.

    An element of the precision is 0 where two elements of a vector are independent given all
    others (H. Rue and L. Held, Gaussian Markov Random Fields, 2005). Densities and draws take the
    sparse factor alone; the gradient of the density by the precision is on its pattern.

    Parameters
    ----------
    mean
        Vectors of n elements.
    precision
        A symmetric positive definite sparse matrix of shape (n, n): a sparse variable or a value
        of SciPy. It is one matrix, not a batch.

    Raises
    ------
    ShapeError
        The mean is a number, the precision is not square, or sizes differ.
    TypeContractError
        The precision is not sparse.
    numpy.linalg.LinAlgError
        The precision is not symmetric and positive definite.

    Examples
    --------
    >>> import scipy.sparse
    >>> from phintys.random import GaussianMarkovField, logp
    >>> field = GaussianMarkovField([0.0, 0.0], scipy.sparse.eye_array(2))
    >>> round(float(logp(field, [0.0, 0.0]).eval()), 6)
    -1.837877
    """

    defaults: ClassVar[dict[str, Any]] = {"mean": [0.0], "precision": None}
    event_ndim: ClassVar[int] = 1
    core_ndim: ClassVar[dict[str, int]] = {"mean": 1, "precision": 2}

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        self.one_of("precision")

    def _parameter(self, parameter: str, value: Any) -> Any:
        if parameter != "precision":
            return super()._parameter(parameter, value)
        matrix = operations.as_sparse_variable(value)
        if matrix.dtype.startswith("complex"):
            msg = f"{type(self).__name__}: the precision must be real, got {matrix.dtype}."
            raise ArgumentError(msg)
        rows, columns = matrix.type.shape
        if None not in {rows, columns} and rows != columns:
            msg = f"{type(self).__name__}: the precision must be square, got ({rows}, {columns})."
            raise ShapeError(msg)
        return matrix if matrix.dtype in FLOATS else operations.cast(matrix, "float64")

    def _batches(self) -> dict[str, tuple[Any, ...]]:
        mean = self.parameters["mean"]
        return {"mean": sizes_of(mean)[:-1], "precision": ()}

    def core_sizes(self, parameter: str) -> tuple[Any, ...]:
        if parameter == "precision":
            return self.precision.shape
        return super().core_sizes(parameter)

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        size = self.common_size("mean", "precision")
        z = standard_normal(source, self.dtype, *lengths, size)
        return self.parameters["mean"] + self._by_columns(
            lambda columns: linalg.solve_root(self.precision, columns), z
        )

    @staticmethod
    def _by_columns(function: Any, vectors: Any) -> Any:
        """Return a function of vectors, which takes them as columns of a matrix."""
        if vectors.ndim == 1:
            return function(vectors)
        sizes = sizes_of(vectors)
        columns = matrix_transpose(reshape(vectors, (-1, sizes[-1])))
        return reshape(matrix_transpose(function(columns)), sizes, ndim=vectors.ndim)

    def logp(self, value: Any) -> Any:
        away = as_tensor_variable(value) - self.parameters["mean"]
        moved = self._by_columns(lambda columns: operations.dot(self.precision, columns), away)
        constant = LOG_TWO_PI * math.cast(self.precision.shape[0], self.dtype)
        distance = reduce.sum(away * moved, axis=-1)
        return 0.5 * (linalg.logdet(self.precision) - constant - distance)

    def mean(self) -> Any:
        return self.parameters["mean"]

    def mode(self) -> Any:
        return self.parameters["mean"]

    def variance(self) -> Any:
        return operations.diag(linalg.inverse_on_pattern(self.precision))

    def entropy(self) -> Any:
        size = math.cast(self.precision.shape[0], self.dtype)
        return 0.5 * ((LOG_TWO_PI + 1) * size - linalg.logdet(self.precision))
