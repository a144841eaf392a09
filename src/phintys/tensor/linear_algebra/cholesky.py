"""Cholesky factors, what is solved with them, their gradients and updates.

For ``A = L L^H`` and the gradient gL of a cost, that of A is ``L^-H phi(L^H gL) L^-1``, where phi
takes the lower triangle and half of the diagonal. It is an Op, so that rules can see what it is of:
for the costs of normal distributions it is an inverse and an outer product.

For ``A = L L^H`` and a direction dA: ``dL = L phi(L^-1 dA L^-H)``, where phi takes the lower
triangle and half of the diagonal (Giles, "Collected matrix derivative results", 2008; Murray,
"Differentiation of the Cholesky decomposition", 2016).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import eye, tri, tril
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose, squeeze
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    MatrixOp,
    OnError,
    adjoint,
    as_matrices,
    is_complex,
    lapack_function,
    read_triangle,
)
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.tensor.variable import TensorVariable


def half_lower(x: Any, like: Any = None) -> Any:
    """Return the lower triangle, with half of the diagonal; ``like`` has the same sizes."""
    half = np.asarray(0.5, x.type.numpy_dtype.type(0).real.dtype)
    rows, columns = sizes_of(x if like is None else like)[-2:]
    is_below = tri(rows, columns, -1, dtype="bool")
    zero = np.zeros((), x.type.numpy_dtype)
    own = math.switch(eye(rows, columns, dtype="bool"), x * half, zero)
    return math.switch(is_below, x, own)


def from_triangle(x: Any) -> Any:
    """Return the Hermitian matrices with the lower triangles of ``x``."""
    strict = tril(x, -1)
    is_diagonal = eye(*sizes_of(x)[-2:], dtype="bool")
    own = math.cast(math.real(x), x.dtype) if is_complex(x) else x
    return math.switch(is_diagonal, own, strict + adjoint(strict))


class CholeskyAdjoint(MatrixOp):
    """Return the gradients for matrices, given their Cholesky factors and the gradients for those.

    The lower triangles of both inputs are read. The result is lower triangular as well: an element
    below the diagonal counts for both.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.cholesky import CholeskyAdjoint
    >>> CholeskyAdjoint()([[2.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]).eval()
    array([[ 0.375,  0.   ],
           [-0.5  ,  0.5  ]])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n,n),(n,n)->(n,n)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Solve two triangular systems with LAPACK."""
        factor, g = matrices
        if not factor.size:
            return (factor,)
        inner = np.tril(np.tril(factor).conj().T @ np.tril(g))
        np.fill_diagonal(inner, np.diagonal(inner) / 2)
        trtrs = lapack_function("trtrs", factor)
        left, _ = trtrs(factor, inner, lower=True, trans=2)
        both, _ = trtrs(factor, left.conj().T, lower=True, trans=2)
        out = np.tril(both.conj().T + both)
        np.fill_diagonal(out, np.real(np.diagonal(out)) / 2)
        return (out,)

    def expanded(self, factor: Any, g: Any) -> Any:
        """Return the result as a product and two triangular systems; the factor is triangular."""
        inner = half_lower(matmul(adjoint(factor), tril(g)))
        return read_triangle(_between(adjoint(factor), inner, lower=False))

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Differentiate ``L^-H phi(L^H gL) L^-1``, whose sum with its adjoint is known."""
        (factor, g), (out,), (cotangent,) = inputs, outputs, gradients
        whole = from_triangle(cotangent)
        inner = half_lower(_between(factor, whole, lower=True))
        gradient = -_over(matmul(_doubled(out), whole), adjoint(factor), lower=False)
        gradient = gradient + matmul(tril(g), adjoint(inner))
        return [tril(gradient), tril(matmul(tril(factor), inner))]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Differentiate ``L^-H phi(L^H gL) L^-1``, whose sum with its adjoint is known."""
        (factor, g), (out,), (d_factor, d_g) = inputs, outputs, tangents
        found, inner = None, None
        if d_factor is not None:
            d_factor = tril(d_factor)
            found = -matmul(_doubled(out), _over(d_factor, factor, lower=True))
            inner = matmul(adjoint(d_factor), tril(g))
        if d_g is not None:
            other = matmul(adjoint(tril(factor)), tril(d_g))
            inner = other if inner is None else inner + other
        if inner is not None:
            last = _between(adjoint(factor), half_lower(inner), lower=False)
            found = last if found is None else found + last
        return [read_triangle(found)]


class CholeskyInverse(MatrixOp):
    """Return the lower triangles of ``(L L^H)^-1``, given the lower triangular factors L.

    Their diagonals are real, and the upper triangles are not read. The result is NaN for a factor
    with a zero on its diagonal.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.cholesky import CholeskyInverse
    >>> CholeskyInverse()([[2.0, 0.0], [1.0, 1.0]]).eval()
    array([[ 0.5,  0. ],
           [-0.5,  1. ]])
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n,n)->(n,n)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Invert with LAPACK."""
        (factor,) = matrices
        if not factor.size:
            return (factor,)
        found, info = lapack_function("potri", factor)(factor, lower=True)
        return (np.tril(found) if info == 0 else np.full_like(factor, np.nan),)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gL = -X (gX + gX^H) L^-H``, for the whole inverse X and the triangle gX."""
        (factor,), (out,), (g,) = inputs, outputs, gradients
        lower = tril(g)
        product = matmul(from_triangle(out), lower + adjoint(lower))
        return [tril(-_over(product, adjoint(factor), lower=False))]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dX = -(M + M^H)`` for ``M = X dL L^-1``."""
        (factor,), (out,), (direction,) = inputs, outputs, tangents
        half = matmul(from_triangle(out), _over(tril(direction), factor, lower=True))
        return [tril(-(half + adjoint(half)))]


def _between(triangle: Any, x: Any, *, lower: bool) -> Any:
    """Return ``T^-1 x T^-H``."""
    left = solve_triangular(triangle, x, lower=lower)
    return adjoint(solve_triangular(triangle, adjoint(left), lower=lower))


def _over(x: Any, triangle: Any, *, lower: bool) -> Any:
    """Return ``x T^-1``."""
    return adjoint(solve_triangular(adjoint(triangle), adjoint(x), lower=not lower))


def _doubled(out: Any) -> Any:
    """Return the sum of X and its adjoint, given the triangle that stands for X."""
    is_diagonal = eye(*sizes_of(out)[-2:], dtype="bool")
    whole = from_triangle(out)
    return math.switch(is_diagonal, 2 * whole, whole)


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
    >>> from phintys.tensor.linear_algebra.cholesky import CholeskyUpdate
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
