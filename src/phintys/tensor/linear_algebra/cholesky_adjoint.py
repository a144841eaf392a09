"""What gradients through Cholesky factors are made of.

For ``A = L L^H`` and the gradient gL of a cost, that of A is ``L^-H phi(L^H gL) L^-1``, where phi
takes the lower triangle and half of the diagonal. It is an Op, so that rules can see what it is of:
for the costs of normal distributions it is an inverse and an outer product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys.tensor import math
from phintys.tensor.diagonals import eye, tri, tril
from phintys.tensor.linear_algebra.matrix_op import (
    MatrixOp,
    adjoint,
    is_complex,
    lapack_function,
    read_triangle,
)
from phintys.tensor.linear_algebra.triangular import solve_triangular
from phintys.tensor.products import matmul
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    >>> from phintys.tensor.linear_algebra.cholesky_adjoint import CholeskyAdjoint
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
    >>> from phintys.tensor.linear_algebra.cholesky_adjoint import CholeskyInverse
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
