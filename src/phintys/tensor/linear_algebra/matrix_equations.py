"""Solutions of Lyapunov's and Riccati's equations; Sylvester's is in a module of its own.

The derivatives are those of implicit functions: they solve a linear equation of the same kind (Kao
and Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations",
2020).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.late import LateModule
from phintys._base.origin import in_steps
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.diagonals import eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    check_choice,
    matrix_dtype,
)
from phintys.tensor.linear_algebra.schur import (
    Sylvester,
    require_finite,
    sum_of,
)
from phintys.tensor.linear_algebra.solving import solve
from phintys.tensor.products import matmul
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import linalg

    from phintys.tensor.variable import TensorVariable
else:
    linalg = LateModule("scipy.linalg")


def _hermitian(x: Any) -> Any:
    return (x + adjoint(x)) * np.asarray(0.5, x.type.numpy_dtype)


# ---- Lyapunov ------------------------------------------------------------------------------------


@in_steps
def solve_continuous_lyapunov(a: Any, q: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the solution x of ``a x + x a^H = q``.

    Parameters
    ----------
    a, q
        Square matrices, or stacks of them.
    on_error
        As for :func:`solve_sylvester`.

    Returns
    -------
    TensorVariable
        x, of the shape of ``q``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.solve_continuous_lyapunov(pt.constant([[2.0]]), pt.constant([[8.0]])).eval()
    array([[2.]])
    """
    a, q = (as_matrices(x, "solve_continuous_lyapunov") for x in (a, q))
    return Sylvester(on_error)(a, adjoint(a), q)


@in_steps
def solve_discrete_lyapunov(
    a: Any, q: Any, method: str = "bilinear", *, on_error: OnError = "raise"
) -> TensorVariable:
    """Return the solution x of ``x = a x a^H + q``.

    Parameters
    ----------
    a, q
        Square matrices, or stacks of them.
    method
        ``"bilinear"``: a continuous equation of the same size, of which -1 must not be an
        eigenvalue of ``a``. ``"direct"``: one system of as many equations as x has elements, which
        is for small matrices.
    on_error
        As for :func:`solve_sylvester`.

    Returns
    -------
    TensorVariable
        x, of the shape of ``q``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.solve_discrete_lyapunov(pt.constant([[0.5]]), pt.constant([[3.0]])).eval()
    array([[4.]])
    """
    check_choice(method, ("bilinear", "direct"), "method")
    a, q = (as_matrices(x, "solve_discrete_lyapunov") for x in (a, q))
    dtype = matrix_dtype([a, q], "solve_discrete_lyapunov")
    a, q = math.cast(a, dtype), math.cast(q, dtype)
    if method == "direct":
        return _direct(a, q, on_error)
    one = eye(sizes_of(a)[-1], dtype=dtype)
    left = a + one
    right = solve(left, adjoint(solve(left, q, b_ndim=2, on_error=on_error)), b_ndim=2)
    turned = solve(left, a - one, b_ndim=2, on_error=on_error)
    return Sylvester(on_error)(turned, adjoint(turned), adjoint(right) * np.asarray(-2, dtype))


def _direct(a: Any, q: Any, on_error: OnError) -> Any:
    """Solve ``(I - kron(a, conj(a))) vec(x) = vec(q)``."""
    n = sizes_of(a)[-1]
    rows = expand_dims(expand_dims(a, -2), -1)
    columns = expand_dims(expand_dims(conjugate(a), -3), -2)
    whole = reshape(rows * columns, (*sizes_of(a)[:-2], n * n, n * n))
    flat = reshape(q, (*sizes_of(q)[:-2], n * n, 1))
    x = solve(eye(n * n, dtype=a.dtype) - whole, flat, b_ndim=2, on_error=on_error)
    return reshape(x, (*sizes_of(x)[:-2], n, n))


# ---- Riccati -------------------------------------------------------------------------------------


class _Riccati(FailingMatrixOp):
    """An equation of Riccati: its solution is Hermitian, and Q and R are read as such."""

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(n,n),(n,m),(n,n),(m,m)->(n,n)"

    def _solver(self) -> Any:
        raise NotImplementedError

    def _gain(self, inputs: Sequence[Any], x: Any) -> Any:
        """Return the gain K of the feedback."""
        raise NotImplementedError

    def _stepped(self, x: Any, closed: Any) -> Any:
        """Return the matrix before dA in the direction of the equation."""
        raise NotImplementedError

    def _linear(self, closed: Any, right: Any) -> Any:
        """Solve the linear equation of directions, for ``closed``, the adjoint of A - B K."""
        raise NotImplementedError

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Solve with SciPy, by an ordered QZ form of the pencil."""
        a, b, q, r = matrices
        if not a.size:
            return (q,)
        require_finite(*matrices)
        try:
            x = self._solver()(a, b, (q + q.conj().T) / 2, (r + r.conj().T) / 2)
        except np.linalg.LinAlgError as error:
            msg = f"has no stabilizing solution with the other ones: {error}"
            raise MatrixError(msg) from error
        return (x,)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gA = 2 P^H S, gB = -gA K^H, gQ = S, gR = K S K^H``

        ``P`` is :meth:`_stepped`, and S solves the linear equation with ``A - B K`` for gX.
        """
        (a, b, *_), (x,) = inputs, outputs
        gain = self._gain(inputs, x)
        closed = a - matmul(b, gain)
        inner = _hermitian(self._linear(closed, _hermitian(gradients[0])))
        ga = matmul(adjoint(self._stepped(x, closed)), inner) * np.asarray(2, x.dtype)
        return [
            ga,
            -matmul(ga, adjoint(gain)),
            inner,
            matmul(matmul(gain, inner), adjoint(gain)),
        ]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """The linear equation for ``dQ + P (dA - dB K) + (...)^H + K^H dR K``."""
        (a, b, *_), (x,), (da, db, dq, dr) = inputs, outputs, tangents
        gain = self._gain(inputs, x)
        closed = a - matmul(b, gain)
        change = sum_of(da, None if db is None else -matmul(db, gain))
        if change is not None:
            change = matmul(self._stepped(x, closed), change) * np.asarray(2, x.dtype)
        inner = None if dr is None else matmul(matmul(adjoint(gain), dr), gain)
        right = _hermitian(sum_of(dq, change, inner))
        return [self._linear(adjoint(closed), right)]


class ContinuousRiccati(_Riccati):
    """Return the stabilizing X of ``A^H X + X A - X B R^-1 B^H X + Q = 0``.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.matrix_equations import ContinuousRiccati
    >>> ContinuousRiccati()([[0.0]], [[1.0]], [[4.0]], [[1.0]]).eval().round(6)
    array([[2.]])
    """

    called = "solve_continuous_are"

    def _solver(self) -> Any:
        return linalg.solve_continuous_are

    def _gain(self, inputs: Sequence[Any], x: Any) -> Any:
        _, b, _, r = inputs
        return solve(_hermitian(r), matmul(adjoint(b), x), b_ndim=2, on_error=self.on_error)

    def _stepped(self, x: Any, closed: Any) -> Any:
        return x

    def _linear(self, closed: Any, right: Any) -> Any:
        return solve_continuous_lyapunov(closed, -right, on_error=self.on_error)


class DiscreteRiccati(_Riccati):
    """Return the stabilizing X of ``X = A^H X A - A^H X B (R + B^H X B)^-1 B^H X A + Q``.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.matrix_equations import DiscreteRiccati
    >>> DiscreteRiccati()([[0.0]], [[1.0]], [[4.0]], [[1.0]]).eval().round(6)
    array([[4.]])
    """

    called = "solve_discrete_are"

    def _solver(self) -> Any:
        return linalg.solve_discrete_are

    def _gain(self, inputs: Sequence[Any], x: Any) -> Any:
        a, b, _, r = inputs
        half = matmul(adjoint(b), x)
        left = _hermitian(r) + matmul(half, b)
        return solve(left, matmul(half, a), b_ndim=2, on_error=self.on_error)

    def _stepped(self, x: Any, closed: Any) -> Any:
        return matmul(adjoint(closed), x)

    def _linear(self, closed: Any, right: Any) -> Any:
        return solve_discrete_lyapunov(closed, right, on_error=self.on_error)


@lru_cache(maxsize=4)
def _riccati(kind: type[_Riccati], on_error: OnError) -> _Riccati:
    return kind(on_error)


def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, *, on_error: OnError = "raise"
) -> TensorVariable:
    """Return the stabilizing solution x of Riccati's equation in continuous time.

    The equation is ``a^H x + x a - x b r^-1 b^H x + q = 0``.

    Parameters
    ----------
    a, b, q, r
        Matrices, or stacks of them: ``a`` and ``q`` are square, ``b`` has the rows of ``a`` and the
        columns of ``r``. Of ``q`` and ``r`` the Hermitian parts are read.
    on_error
        ``"raise"`` an error that names a matrix for which there is no such solution, or return
        ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        x, of the shape of ``a``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.solve_continuous_are([[0.0]], [[1.0]], [[4.0]], [[1.0]]).eval().round(6)
    array([[2.]])
    """
    matrices = [as_matrices(x, "solve_continuous_are") for x in (a, b, q, r)]
    return _riccati(ContinuousRiccati, on_error)(*matrices)


def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, *, on_error: OnError = "raise"
) -> TensorVariable:
    """Return the stabilizing solution x of Riccati's equation in discrete time.

    The equation is ``x = a^H x a - a^H x b (r + b^H x b)^-1 b^H x a + q``.

    Parameters
    ----------
    a, b, q, r, on_error
        As for :func:`solve_continuous_are`.

    Returns
    -------
    TensorVariable
        x, of the shape of ``a``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.linalg.solve_discrete_are([[0.0]], [[1.0]], [[4.0]], [[1.0]]).eval().round(6)
    array([[4.]])
    """
    matrices = [as_matrices(x, "solve_discrete_are") for x in (a, b, q, r)]
    return _riccati(DiscreteRiccati, on_error)(*matrices)
