"""Determinants, and the logarithms of their absolute values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys.tensor import math
from phintys.tensor.diagonals import diagonal
from phintys.tensor.dim_shuffle import expand_dims, matrix_transpose
from phintys.tensor.linear_algebra.lu import LUFactor
from phintys.tensor.linear_algebra.matrix_op import (
    MatrixOp,
    adjoint,
    as_matrices,
    is_complex,
    lapack_function,
)
from phintys.tensor.linear_algebra.solving import inv
from phintys.tensor.ranges import arange
from phintys.tensor.reduce import prod, sum
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.tensor.variable import TensorVariable


def _factors(a: Any) -> tuple[Any, int]:
    """Return the diagonal of U, and the sign of the exchanges."""
    if not a.size:
        return np.ones(0, a.dtype), 1
    getrf = lapack_function("getrf", a)
    factors, pivots, _ = getrf(a)
    is_odd = np.count_nonzero(pivots != np.arange(len(pivots))) % 2
    return np.diagonal(factors), -1 if is_odd else 1


def _sign_of_exchanges(pivots: Any, dtype: str) -> Any:
    moved = math.neq(pivots, arange(sizes_of(pivots)[-1]))
    return math.cast(1 - 2 * (sum(moved, axis=-1) % 2), dtype)


def _by_products(a: Any) -> Any:
    """Return the determinants of matrices of one to three rows, by their first rows."""

    def minor(row: int, *columns: int) -> Any:
        """Return the determinant of some columns, from a row to the last one."""
        terms = [a[..., row, column] for column in columns]
        if len(columns) == 1:
            return terms[0]
        for at, column in enumerate(columns):
            terms[at] = terms[at] * minor(row + 1, *(one for one in columns if one != column))
        return terms[0] - terms[1] if len(terms) == 2 else terms[0] - terms[1] + terms[2]

    return minor(0, *range(a.type.shape[-1]))


class Det(MatrixOp):
    """Return determinants.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.determinants import Det
    >>> Det()([[2.0, 1.0], [1.0, 3.0]]).eval()
    array(5.)
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n,n)->()"
    called = "det"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Multiply the diagonal of U."""
        entries, sign = _factors(matrices[0])
        return (np.prod(entries) * sign,)

    def expanded(self, a: Any) -> Any:
        """Return the determinant by factors, which other expressions of the matrix may share.

        That of a matrix of up to three rows, if their number is known, is a sum of products.
        """
        if a.type.shape[-1] in {1, 2, 3}:
            return _by_products(a)
        factors, pivots, _ = LUFactor()(a)
        entries = diagonal(factors, 0, factors.ndim - 2, factors.ndim - 1)
        return _sign_of_exchanges(pivots, a.dtype) * prod(entries, axis=-1)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = g conj(det) A^-H``"""
        (a,), (value,), (g,) = inputs, outputs, gradients
        factor = g * (math.conj(value) if is_complex(value) else value)
        return [_as_matrix(factor) * adjoint(inv(a, on_error="nan"))]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``d det = det tr(A^-1 dA)``"""
        return [outputs[0] * _trace_of_ratio(inputs[0], tangents[0])]


class SlogDet(MatrixOp):
    """Return the signs of determinants, and the logarithms of their absolute values.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.linear_algebra.determinants import SlogDet
    >>> [result.eval() for result in SlogDet()([[0.0, 1.0], [1.0, 0.0]])]
    [array(-1.), array(0.)]
    """

    __props__: ClassVar[tuple[str, ...]] = ()
    signature = "(n,n)->(),()"
    called = "slogdet"
    real_outputs = (1,)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Add the logarithms of the diagonal of U."""
        entries, sign = _factors(matrices[0])
        sizes = np.abs(entries)
        with np.errstate(divide="ignore", invalid="ignore"):
            units = np.where(sizes == 0, 0, entries / sizes).astype(entries.dtype)
            return np.prod(units) * sign, np.sum(np.log(sizes))

    def expanded(self, a: Any) -> tuple[Any, Any]:
        """Return the results by factors, which other expressions of the matrix may share."""
        factors, pivots, _ = LUFactor()(a)
        entries = diagonal(factors, 0, factors.ndim - 2, factors.ndim - 1)
        sizes = math.abs(entries)
        units = math.sign(entries)
        sign = _sign_of_exchanges(pivots, a.dtype) * prod(units, axis=-1)
        return sign, sum(math.log(sizes), axis=-1)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = (g_log + i Im(g_sign conj(sign))) A^-H``"""
        (a,), (sign, _), (g_sign, g) = inputs, outputs, gradients
        factor = None if g is None else g
        if g_sign is not None and is_complex(sign):
            turned = math.imag(g_sign * math.conj(sign))
            turned = math.cast(turned, sign.dtype) * np.asarray(1j, sign.dtype)
            factor = turned if factor is None else factor + turned
        if factor is None:
            return [None]
        return [_as_matrix(factor) * adjoint(inv(a, on_error="nan"))]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``d log|det| = Re tr(A^-1 dA)``, ``d sign = i sign Im tr(A^-1 dA)``"""
        sign, logarithm = outputs
        ratio = _trace_of_ratio(inputs[0], tangents[0])
        if not is_complex(sign):
            return [math.mul(sign, 0), ratio]
        turned = math.cast(math.imag(ratio), sign.dtype) * np.asarray(1j, sign.dtype)
        return [sign * turned, math.cast(math.real(ratio), logarithm.dtype)]


def _as_matrix(x: Any) -> Any:
    return expand_dims(expand_dims(x, -1), -1)


def _trace_of_ratio(a: Any, direction: Any) -> Any:
    """Return ``tr(A^-1 dA)``."""
    product = inv(a, on_error="nan") * matrix_transpose(direction)
    return sum(product, axis=(-2, -1))


_det, _slog_det = Det(), SlogDet()


def det(a: Any) -> TensorVariable:
    """Return the determinant of matrices.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.

    Returns
    -------
    TensorVariable
        The shape of ``a`` without the last two dimensions.

    Raises
    ------
    ShapeError
        The matrices are not square.

    Notes
    -----
    The gradient at a singular matrix is NaN. The logarithm of a determinant is best written with
    :func:`slogdet`, which does not overflow; the compiler makes it of ``log(abs(det(a)))``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.det(pt.constant([[2.0, 1.0], [1.0, 3.0]])).eval()
    array(5.)
    """
    return _det(as_matrices(a, "det"))


class SlogdetResult(NamedTuple):
    """The result of :func:`slogdet`."""

    sign: Any
    logabsdet: Any


def slogdet(a: Any) -> SlogdetResult:
    """Return the sign of determinants, and the logarithm of their absolute values.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.

    Returns
    -------
    SlogdetResult
        ``sign`` (a number of absolute value 1, or 0 for a singular matrix) and ``logabsdet``, such
        that the determinant is ``sign * exp(logabsdet)``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> sign, logabsdet = pt.linalg.slogdet(pt.constant([[0.0, 1.0], [1.0, 0.0]]))
    >>> sign.eval(), logabsdet.eval()
    (array(-1.), array(0.))
    """
    sign, logarithm = _slog_det(as_matrices(a, "slogdet"))
    return SlogdetResult(sign, logarithm)
