"""Cholesky factors, and what is solved with them.

For ``A = L L^H`` and a direction dA: ``dL = L phi(L^-1 dA L^-H)``, where phi takes the lower
triangle and half of the diagonal (Giles, "Collected matrix derivative results", 2008; Murray,
"Differentiation of the Cholesky decomposition", 2016).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from phintys._base.errors import ArgumentError
from phintys._base.origin import in_steps
from phintys.tensor.linear_algebra.cholesky_adjoint import (
    CholeskyAdjoint,
    from_triangle,
    half_lower,
)
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    lapack_function,
)
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


class Cholesky(FailingMatrixOp):
    """Return the lower triangular ``L`` of ``A = L L^H``, for positive definite matrices.

    The elements above the diagonal of the matrices are not read.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.cholesky import Cholesky
    >>> Cholesky()(pt.constant([[4.0, 2.0], [2.0, 2.0]])).eval()
    array([[2., 0.],
           [1., 1.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n)->(n,n)"
    called = "cholesky"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Factorize with LAPACK."""
        (a,) = matrices
        if not a.size:
            return (a,)
        potrf = lapack_function("potrf", a)
        factor, info = potrf(a, lower=True, clean=True)
        if info > 0:
            raise MatrixError(not_positive(info))
        return (factor,)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = L^-H phi(L^H gL) L^-1``, of which the lower triangle counts."""
        return [CholeskyAdjoint()(outputs[0], gradients[0])]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dL = L phi(L^-1 dA L^-H)``, with the lower triangle of dA."""
        (factor,), (direction,) = outputs, tangents
        whole = from_triangle(direction)
        left = solve_triangular(factor, whole, lower=True)
        both = adjoint(solve_triangular(factor, adjoint(left), lower=True))
        return [matmul(factor, half_lower(both))]


def not_positive(minor: int) -> str:
    """Return why a matrix has no Cholesky factor."""
    return (
        f"is not positive definite: its leading minor of order {minor} is not positive. If it is "
        "in exact arithmetic, add a small number to its diagonal"
    )


@lru_cache(maxsize=8)
def _cholesky(on_error: OnError) -> Cholesky:
    return Cholesky(on_error)


def cholesky(
    x: Any, lower: bool = True, *, upper: bool = False, on_error: OnError = "raise"
) -> TensorVariable:
    """Return the Cholesky factor of positive definite matrices, ``x = L L^H`` or ``x = U^H U``.

    Parameters
    ----------
    x
        A symmetric or Hermitian matrix, or a stack of them in the last two axes. Only its lower
        triangle is read (or, for ``lower=False``, the upper one); so is the gradient.
    lower
        Return L, lower triangular; otherwise U, upper triangular.
    upper
        Return U, as with ``lower=False``: the name of NumPy and of the array API.
    on_error
        ``"raise"`` an error that names a matrix that is not positive definite, or return ``"nan"``
        for it.

    Returns
    -------
    TensorVariable
        A tensor of the shape of ``x``, with zeros in the other triangle.

    Raises
    ------
    ShapeError
        The matrices are not square.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.cholesky(pt.constant([[4.0, 2.0], [2.0, 2.0]])).eval()
    array([[2., 0.],
           [1., 1.]])
    """
    x = as_matrices(x, "cholesky")
    if lower and not upper:
        return _cholesky(on_error)(x)
    return adjoint(_cholesky(on_error)(adjoint(x)))


def cho_factor(
    a: Any, lower: bool = False, *, on_error: OnError = "raise"
) -> tuple[TensorVariable, bool]:
    """Return a Cholesky factor, and whether it is the lower one: the argument of :func:`cho_solve`.

    Parameters
    ----------
    a, lower, on_error
        As for :func:`cholesky`. The other triangle of the factor is zero.

    Returns
    -------
    tuple
        The factor, of the shape of ``a``, and ``lower``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> factor = pt.linalg.cho_factor(pt.constant([[4.0, 2.0], [2.0, 2.0]]))
    >>> pt.linalg.cho_solve(factor, pt.constant([8.0, 6.0])).eval()
    array([1., 2.])
    """
    return cholesky(a, lower, on_error=on_error), bool(lower)


@in_steps
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, *, b_ndim: int | None = None
) -> TensorVariable:
    """Solve ``A x = b``, given a Cholesky factor of A.

    Parameters
    ----------
    c_and_lower
        The factor, and whether it is lower triangular: the result of :func:`cho_factor`.
    b
        A vector, a matrix, or a stack of them.
    b_ndim
        1 if ``b`` is a stack of vectors, 2 for one of matrices. By default a vector is one, and all
        else are matrices.

    Returns
    -------
    TensorVariable
        x, of the shape of ``b``.

    Raises
    ------
    ArgumentError
        ``c_and_lower`` is not a pair.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> factor = pt.linalg.cho_factor(pt.constant([[4.0, 2.0], [2.0, 2.0]]))
    >>> pt.linalg.cho_solve(factor, pt.constant([8.0, 6.0])).eval()
    array([1., 2.])
    """
    if not isinstance(c_and_lower, tuple | list) or len(c_and_lower) != 2:
        msg = (
            "cho_solve takes the pair of a factor and whether it is lower triangular, as "
            f"cho_factor returns it; got {c_and_lower!r}."
        )
        raise ArgumentError(msg)
    factor, lower = c_and_lower
    factor = as_matrices(factor, "cho_solve")
    first, second = (factor, adjoint(factor)) if lower else (adjoint(factor), factor)
    half = solve_triangular(first, b, lower=True, b_ndim=b_ndim)
    return solve_triangular(second, half, lower=False, b_ndim=b_ndim)
