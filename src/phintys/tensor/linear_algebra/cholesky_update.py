"""Cholesky factors of matrices to which an outer product is added."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import DtypeError
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import tril
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose, squeeze
from phintys.tensor.linear_algebra.cholesky_adjoint import (
    CholeskyAdjoint,
    from_triangle,
    half_lower,
)
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    as_matrices,
    is_complex,
)
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.tensor.variable import TensorVariable


class CholeskyUpdate(FailingMatrixOp):
    """Return the factor of ``L L^T + x x^T``, given L and x; or of ``L L^T - x x^T``.

    The elements above the diagonals of the factors are not read.

    Parameters
    ----------
    downdate
        Whether the product is subtracted.
    on_error
        What is done if the result is not positive definite.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.cholesky_update import CholeskyUpdate
    >>> CholeskyUpdate()([[3.0, 0.0], [0.0, 1.0]], [4.0, 0.0]).eval()
    array([[5., 0.],
           [0., 1.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("downdate", "on_error")
    signature = "(n,n),(n)->(n,n)"
    called = "cholesky_update"

    def __init__(self, downdate: bool = False, on_error: OnError = "raise") -> None:
        super().__init__(on_error)
        self.downdate = bool(downdate)

    @property
    def sign(self) -> int:
        """The factor of the product."""
        return -1 if self.downdate else 1

    def make_node(self, *inputs: Any) -> Apply:
        """Apply to stacks of real factors and vectors."""
        node = super().make_node(*inputs)
        if is_complex(node.outputs[0]):
            msg = f"{self} takes real factors, got {node.inputs[0]} of type {node.inputs[0].type}."
            raise DtypeError(msg)
        return node

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Rotate the vector into one column after the other."""
        factor, x = np.tril(matrices[0]), matrices[1].copy()
        for k in range(len(x)):
            square = factor[k, k] ** 2 + self.sign * x[k] ** 2
            if square <= 0:
                raise MatrixError(not_definite(k))
            root = np.sqrt(square)
            cosine, sine = root / factor[k, k], x[k] / factor[k, k]
            below = (factor[k + 1 :, k] + self.sign * sine * x[k + 1 :]) / cosine
            x[k + 1 :] = cosine * x[k + 1 :] - sine * below
            factor[k, k], factor[k + 1 :, k] = root, below
        return (factor,)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gL = tril(2 S L)`` and ``gx = 2 S x``, for the gradient S for ``L L^T + x x^T``."""
        (factor, x), (out,), (g,) = inputs, outputs, gradients
        lower = CholeskyAdjoint()(out, g)
        doubled = lower + matrix_transpose(lower)
        scale = np.asarray(self.sign, x.dtype)
        gradient_x = squeeze(matmul(doubled, expand_dims(x, -1)), -1) * scale
        return [tril(matmul(doubled, tril(factor))), gradient_x]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dL' = L' phi(L'^-1 dM L'^-T)``, as for the factor of a matrix M"""
        (factor, x), (out,), (d_factor, dx) = inputs, outputs, tangents
        half: Any = None
        if d_factor is not None:
            half = matmul(tril(d_factor), matrix_transpose(tril(factor)))
        if dx is not None:
            scale = np.asarray(self.sign, x.dtype)
            outer = scale * expand_dims(dx, -1) * expand_dims(x, -2)
            half = outer if half is None else half + outer
        whole = from_triangle(half + matrix_transpose(half))
        left = solve_triangular(out, whole, lower=True)
        both = matrix_transpose(solve_triangular(out, matrix_transpose(left), lower=True))
        return [matmul(out, half_lower(both))]


def not_definite(minor: int) -> str:
    """Return why there is no factor."""
    return (
        "is the factor of one that is not positive definite after the update: its leading minor of "
        f"order {minor + 1} is not positive"
    )


@lru_cache(maxsize=4)
def _update(downdate: bool, on_error: OnError) -> CholeskyUpdate:
    return CholeskyUpdate(downdate, on_error)


def cholesky_update(
    factor: Any,
    x: Any,
    *,
    lower: bool = True,
    downdate: bool = False,
    on_error: OnError = "raise",
) -> TensorVariable:
    """Return the Cholesky factor of a matrix to which ``x x^T`` is added, given its own.

    It takes time proportional to the square of the size, unlike a new factorization.

    Parameters
    ----------
    factor
        A real triangular matrix L, or a stack of them. The other triangle is not read.
    x
        A vector, or a stack of them.
    lower
        Whether the factors are lower triangular: ``L L^T``, otherwise ``U^T U``.
    downdate
        Subtract the product. Then the result may have no factor, and is less accurate the closer it
        is to a singular matrix.
    on_error
        ``"raise"`` an error that names a factor without a result, or return ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        The factor of the sum, of the shape of ``factor``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> factor = pt.constant([[3.0, 0.0], [0.0, 1.0]])
    >>> pt.linalg.cholesky_update(factor, pt.constant([4.0, 0.0])).eval()
    array([[5., 0.],
           [0., 1.]])
    """
    factor, x = as_matrices(factor, "cholesky_update"), as_tensor_variable(x)
    op = _update(bool(downdate), on_error)
    if lower:
        return op(factor, x)
    return matrix_transpose(op(matrix_transpose(factor), x))
