"""Square roots and logarithms of matrices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.late import LateModule
from phintys.tensor.creation import zeros_like
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    MatrixOp,
    OnError,
    adjoint,
    as_matrices,
)
from phintys.tensor.linear_algebra.schur import solve_sylvester
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scipy import linalg

    from phintys.tensor.variable import TensorVariable
else:
    linalg = LateModule("scipy.linalg")

NEAR, NODES = 0.25, 8
"""Distance from the identity at which as many nodes are enough for double precision."""

MOST_HALVINGS = 64


class AnalyticMatrixOp(MatrixOp):
    """An Op that computes an analytic function ``f`` of square matrices.

    Its derivative at A in a direction E is a block of the same function of a matrix twice as large
    (N. J. Higham, *Functions of Matrices*, SIAM 2008, theorem 3.6).
    """

    signature = "(n,n)->(n,n)"

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Differentiate in the direction of the gradient at ``A^H``."""
        return [self._derivative(adjoint(inputs[0]), gradients[0])]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Differentiate in a direction."""
        return [self._derivative(inputs[0], tangents[0])]

    def _derivative(self, a: Any, direction: Any) -> Any:
        """Return the block at the upper right of ``f([[A, E], [0, A]])``."""
        above = concatenate([a, direction], axis=-1)
        below = concatenate([zeros_like(a), a], axis=-1)
        n = sizes_of(a)[-1]
        return self(concatenate([above, below], axis=-2))[..., :n, n:]


def _function(f: Callable[[Any], Any], a: Any, what: str) -> Any:
    """Return a function of a matrix in its dtype, if there is one."""
    if not a.size:
        return a
    if not np.isfinite(a).all():
        raise MatrixError("has an element that is not finite")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # about singular matrices, which are errors here
        value: Any = np.asarray(f(a))
    if not np.isfinite(value).all():
        raise MatrixError(f"has no {what}: it is singular")
    if np.iscomplexobj(value) and not np.iscomplexobj(a):
        if np.abs(value.imag).max() > np.finfo(a.dtype).eps * 1e3 * np.abs(value).max():
            raise MatrixError(
                f"has no real {what}: it has an eigenvalue that is negative. Cast it to a complex "
                'dtype first: a.astype("complex128")'
            )
        value = value.real
    return value.astype(a.dtype)


def _logarithm(a: Any) -> Any:
    """Return ``2^k log(T^(1/2^k))``, for the Schur form T (inverse scaling and squaring).

    Near the identity, the logarithm is an integral, which quadrature by Gauss and Legendre turns
    into a sum of solutions: a Pade approximant (Higham, "Functions of Matrices", 2008, chapter 11).
    """
    form, unitary = linalg.schur(a.astype(complex), "complex")
    _require_no_overflow(form)
    entries = np.diagonal(form)
    if not entries.all():
        raise MatrixError("has no logarithm: it is singular")
    one, root, halvings = np.eye(len(form)), form, 0
    while np.linalg.norm(root - one, 1) > NEAR and halvings < MOST_HALVINGS:
        # Old releases of SciPy return long complex numbers, which its solvers round to short ones.
        root, halvings = linalg.sqrtm(root).astype(form.dtype), halvings + 1
        _require_no_overflow(root)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    rest, total = root - one, np.zeros_like(form)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        total += weight * linalg.solve_triangular(one + node * rest, rest)
    total *= 2.0**halvings
    np.fill_diagonal(total, np.log(entries))
    return unitary @ total @ unitary.conj().T


def _require_no_overflow(step: Any) -> None:
    if not np.isfinite(step).all():
        raise MatrixError("has no logarithm that can be computed: its elements are too large")


class Sqrtm(FailingMatrixOp):
    """Return the principal square roots of matrices.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.matrix_functions import Sqrtm
    >>> Sqrtm()([[4.0, 0.0], [0.0, 9.0]]).eval()
    array([[2., 0.],
           [0., 3.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n)->(n,n)"
    called = "sqrtm"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Compute with SciPy, by the Schur form."""
        return (_function(linalg.sqrtm, matrices[0], "square root"),)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``X^H gA + gA X^H = gX``"""
        turned = adjoint(outputs[0])
        return [solve_sylvester(turned, turned, gradients[0], on_error=self.on_error)]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``X dX + dX X = dA``"""
        (x,), (direction,) = outputs, tangents
        return [solve_sylvester(x, x, direction, on_error=self.on_error)]


class Logm(AnalyticMatrixOp, FailingMatrixOp):
    """Return the principal logarithms of matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.tensor.linear_algebra.matrix_functions import Logm
    >>> Logm()(np.diag([1.0, np.e])).eval()
    array([[0., 0.],
           [0., 1.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    called = "logm"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Compute by square roots of the Schur form, and an approximant near the identity."""
        return (_function(_logarithm, matrices[0], "logarithm"),)


@lru_cache(maxsize=2)
def _sqrtm(on_error: OnError) -> Sqrtm:
    return Sqrtm(on_error)


@lru_cache(maxsize=2)
def _logm(on_error: OnError) -> Logm:
    return Logm(on_error)


def sqrtm(a: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the principal square root of matrices: ``x @ x == a``.

    Parameters
    ----------
    a
        A square matrix, or a stack of them. A real one has a real root unless it has a negative
        eigenvalue; cast it to a complex dtype then.
    on_error
        ``"raise"`` an error that names a matrix without a root of its dtype, or return ``"nan"``.

    Returns
    -------
    TensorVariable
        Matrices of the shape of ``a``.

    Notes
    -----
    The gradient solves Sylvester's equation, which a singular matrix has no solution of.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.sqrtm(pt.constant([[4.0, 0.0], [0.0, 9.0]])).eval()
    array([[2., 0.],
           [0., 3.]])
    """
    return _sqrtm(on_error)(as_matrices(a, "sqrtm"))


def logm(a: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the principal logarithm of matrices: ``expm(x) == a``.

    Parameters
    ----------
    a
        A square matrix, or a stack of them. A real one has a real logarithm unless it has a
        negative eigenvalue; cast it to a complex dtype then.
    on_error
        ``"raise"`` an error that names a matrix without a logarithm of its dtype, or return
        ``"nan"``.

    Returns
    -------
    TensorVariable
        Matrices of the shape of ``a``.

    Examples
    --------
    >>> import numpy as np, phintys.tensor as pt
    >>> pt.linalg.logm(pt.constant(np.diag([1.0, np.e]))).eval()
    array([[0., 0.],
           [0., 1.]])
    """
    return _logm(on_error)(as_matrices(a, "logm"))
