"""Singular values and vectors, and ranks."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.diagonals import diagonal, eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.eigen import eigh, reciprocals_beside_diagonal
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    is_complex,
    lapack_function,
)
from phintys.tensor.products import matmul
from phintys.tensor.reduce import max, sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


class SVD(FailingMatrixOp):
    """Return ``U``, ``S`` and ``V^H`` of ``A = U diag(S) V^H``; the singular values descend.

    Parameters
    ----------
    full_matrices
        Whether U and V are square.
    on_error
        What is done if the iteration does not converge.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.singular_values import SVD
    >>> SVD()([[3.0, 0.0], [0.0, 4.0]])[1].eval()
    array([4., 3.])
    """

    __props__: ClassVar[tuple[str, ...]] = ("full_matrices", "on_error")
    called = "svd"
    is_decomposition = True
    least: ClassVar[dict[str, tuple[str, str]]] = {"k": ("m", "n")}
    real_outputs = (1,)

    def __init__(self, full_matrices: bool = False, on_error: OnError = "raise") -> None:
        super().__init__(on_error)
        self.full_matrices = bool(full_matrices)

    @property
    def signature(self) -> str:
        """The core signature, by which matrices are wanted."""
        return "(m,n)->(m,m),(k),(n,n)" if self.full_matrices else "(m,n)->(m,k),(k),(k,n)"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with LAPACK."""
        (a,) = matrices
        m, n = a.shape
        if not a.size:
            square = (np.eye(m), np.zeros(0), np.eye(n))
            return square if self.full_matrices else (np.zeros((m, 0)), square[1], np.zeros((0, n)))
        if not np.isfinite(a).all():  # of which LAPACK complains on the standard output
            raise MatrixError("has an element that is not finite: no convergence")
        # The transposed matrix, as in native code, where rows are LAPACK's columns: so the vectors
        # have the same phases.
        gesdd = lapack_function("gesdd", a)
        v, s, uh, info = gesdd(a.T, full_matrices=self.full_matrices)
        if info != 0:
            raise MatrixError("has singular values that LAPACK does not find: no convergence")
        return uh.T, s, v.T

    def _require_thin(self) -> None:
        if self.full_matrices:
            msg = (
                "The gradient of svd with full_matrices=True is not defined: the vectors beyond "
                "the singular values are arbitrary. Use full_matrices=False."
            )
            raise MethodNotDefinedError(msg)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = U (F * skew(U^H gU) S + S F * skew(V^H gV) + diag(gS)) V^H``, and what U and V
        leave out; ``F[i, j] = 1 / (S[j]^2 - S[i]^2)``.
        """
        (u, s, vh), (gu, gs, gvh) = outputs, gradients
        if gu is None and gvh is None:
            if gs is None:
                return [None]
            if self.full_matrices:
                u, s, vh = _svd(full_matrices=False, on_error=self.on_error)(inputs[0])
            return [matmul(u * _row(_unless_zero(s, gs), u), vh)]
        self._require_thin()
        v = adjoint(vh)
        gv = None if gvh is None else adjoint(gvh)
        row, column = _row(s, u), expand_dims(_as_type(s, u), -1)
        factors = _differences(s, u)
        inner = matmul(u * 0, vh)  # for the shape, if nothing else is there
        middle = None
        if gs is not None:
            is_diagonal = eye(sizes_of(s)[-1], dtype="bool")
            middle = math.switch(is_diagonal, expand_dims(_as_type(gs, u), -1), 0)
        if gu is not None:
            product = matmul(adjoint(u), gu)
            part = factors * (product - adjoint(product)) * row
            if is_complex(u):  # the phases: they turn both vectors
                entries = diagonal(product, 0, product.ndim - 2, product.ndim - 1)
                phases = math.imag(entries) / s
                is_diagonal = eye(sizes_of(s)[-1], dtype="bool")
                turned = math.cast(expand_dims(phases, -1), u.dtype) * np.asarray(1j, u.dtype)
                part = part + math.switch(is_diagonal, turned, 0)
            middle = part if middle is None else middle + part
            beyond = gu - matmul(u, product)
            inner = inner + matmul(beyond / row, vh)
        if gv is not None:
            product = matmul(vh, gv)
            part = column * (factors * (product - adjoint(product)))
            middle = part if middle is None else middle + part
            beyond = gv - matmul(v, product)
            inner = inner + matmul(u / row, adjoint(beyond))
        return [inner + matmul(matmul(u, middle), vh)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``dS = Re diag(U^H dA V)``, and rotations of the vectors, unless some are arbitrary."""
        (u, s, vh), (direction,) = outputs, tangents
        if self.full_matrices:
            u, s, vh = _svd(full_matrices=False, on_error=self.on_error)(inputs[0])
            product = sum(math.conj(u) * matmul(direction, adjoint(vh)), axis=-2)
            return [None, _unless_zero(s, math.real(product)), None]
        v = adjoint(vh)
        row, column = _row(s, u), expand_dims(_as_type(s, u), -1)
        inner = matmul(matmul(adjoint(u), direction), v)
        factors = _differences(s, u)
        turn_u = factors * (inner * row + column * adjoint(inner))
        turn_v = factors * (column * inner + adjoint(inner) * row)
        entries = diagonal(inner, 0, inner.ndim - 2, inner.ndim - 1)
        if is_complex(u):
            is_diagonal = eye(sizes_of(s)[-1], dtype="bool")
            phases = math.cast(expand_dims(math.imag(entries) / s, -1), u.dtype)
            turn_u = turn_u + math.switch(is_diagonal, phases * np.asarray(1j, u.dtype), 0)
        right = matmul(direction, v) / row
        left = matmul(adjoint(direction), u) / row
        du = matmul(u, turn_u) + right - matmul(u, matmul(adjoint(u), right))
        dv = matmul(v, turn_v) + left - matmul(v, matmul(vh, left))
        return [du, _unless_zero(s, math.real(entries)), adjoint(dv)]


def _unless_zero(s: Any, slope: Any) -> Any:
    """Return a slope of singular values, but 0 where they are 0: like sizes, they have a kink."""
    return math.switch(math.eq(s, 0), 0, slope)


def _as_type(x: Any, other: Any) -> Any:
    return math.cast(x, other.dtype) if is_complex(other) else x


def _row(x: Any, other: Any) -> Any:
    return expand_dims(_as_type(x, other), -2)


def _differences(s: Any, u: Any) -> Any:
    """Return ``1 / (s[j]^2 - s[i]^2)``, NaN where two of them are equal, and 0 on the diagonal."""
    column, row = expand_dims(s, -1), expand_dims(s, -2)
    return _as_type(reciprocals_beside_diagonal((row - column) * (row + column)), u)


@lru_cache(maxsize=4)
def _svd(full_matrices: bool, on_error: OnError) -> SVD:
    return SVD(full_matrices, on_error)


class SVDResult(NamedTuple):
    """The result of :func:`svd`."""

    U: Any
    S: Any
    Vh: Any


def svd(
    x: Any, full_matrices: bool = True, compute_uv: bool = True, *, on_error: OnError = "raise"
) -> Any:
    """Return the singular value decomposition ``x = U diag(S) Vh``.

    Parameters
    ----------
    x
        A matrix, or a stack of them.
    full_matrices
        Return square U and Vh, of which the gradient is not defined unless they do not affect the
        cost; otherwise as many vectors as there are singular values.
    compute_uv
        Whether to return U and Vh; otherwise only S.
    on_error
        ``"raise"`` an error if the iteration does not converge, or return ``"nan"``.

    Returns
    -------
    SVDResult or TensorVariable
        ``U``, ``S`` (real, descending) and ``Vh``; or S alone.

    Notes
    -----
    Vectors of equal singular values are chosen among many, and have no derivatives: those of
    functions of them are NaN there. Products of the vectors that rebuild a function of the matrix,
    such as ``(U * f(S)) @ Vh``, ``U @ Vh`` and ``(U * f(S)) @ U.T``, do not depend on the choice
    and have right derivatives, for functions of each value that have a derivative; see
    :func:`eigh`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.svd(pt.constant([[3.0, 0.0], [0.0, 4.0]])).S.eval()
    array([4., 3.])
    """
    x = as_matrices(x, "svd")
    if not compute_uv:
        return svdvals(x, on_error=on_error)
    return SVDResult(*_svd(bool(full_matrices), on_error)(x))


def svdvals(x: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the singular values of matrices, which descend.

    Parameters
    ----------
    x, on_error
        As for :func:`svd`.

    Returns
    -------
    TensorVariable
        Real numbers, as many for each matrix as it has rows or columns, whichever are fewer.

    Notes
    -----
    The derivative of a singular value that is 0 is 0, as that of a norm is, whose kink it has:
    its vectors are chosen among many.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.svdvals(pt.constant([[3.0, 0.0], [0.0, 4.0]])).eval()
    array([4., 3.])
    """
    return _svd(full_matrices=False, on_error=on_error)(as_matrices(x, "svdvals"))[1]


def epsilon_of(dtype: str) -> Any:
    """Return the machine epsilon of a real dtype."""
    return np.finfo(dtype).eps


def threshold(s: Any, fraction: Any) -> Any:
    """Return the largest singular value that counts as 0, for each matrix."""
    fraction = math.cast(as_tensor_variable(fraction), s.dtype)
    return expand_dims(fraction * max(s, axis=-1, initial=0.0), -1)  # there may be none


def default_fraction(x: Any, dtype: str) -> Any:
    """Return the fraction of the largest singular value up to which others are rounding errors."""
    rows, columns = x.type.shape[-2:]
    if rows is not None and columns is not None:
        return np.maximum(rows, columns) * epsilon_of(dtype)
    return math.maximum(*sizes_of(x)[-2:]) * epsilon_of(dtype)


@in_steps
def matrix_rank(
    x: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None
) -> TensorVariable:
    """Return the number of singular values of matrices that are not 0.

    Parameters
    ----------
    x
        A matrix, or a stack of them.
    tol
        Singular values up to this count as 0.
    hermitian
        Take the matrices to be Hermitian, of which the lower triangle is read.
    rtol
        Singular values up to this fraction of the largest one do. By default it is the larger size
        times the machine epsilon.

    Returns
    -------
    TensorVariable
        An integer tensor with the shape of ``x`` without the last two dimensions.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.matrix_rank(pt.constant([[1.0, 2.0], [2.0, 4.0]])).eval()
    array(1)
    """
    x = as_matrices(x, "matrix_rank")
    values = math.abs(eigh(x).eigenvalues) if hermitian else svdvals(x)
    if tol is not None:
        least = expand_dims(as_tensor_variable(tol), -1)
    else:
        fraction = default_fraction(x, values.dtype) if rtol is None else rtol
        least = threshold(values, fraction)
    return sum(math.gt(values, least), axis=-1)
