"""Solutions of Sylvester's equation, by the Schur forms of its matrices."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.late import LateModule
from phintys.tensor.diagonals import triu
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    is_complex,
    lapack_function,
)
from phintys.tensor.linear_algebra.schur import Schur
from phintys.tensor.products import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import linalg

    from phintys.tensor.variable import TensorVariable
else:
    linalg = LateModule("scipy.linalg")

_COMMON = "and the negative of the second one have a common eigenvalue"


def require_finite(*matrices: Any) -> None:
    """Raise :class:`MatrixError` unless all elements are finite."""
    if not all(np.isfinite(x).all() for x in matrices):
        raise MatrixError("or another one of the equation has an element that is not finite")


def sum_of(*terms: Any) -> Any:
    """Return the sum of the terms that are there."""
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


class QuasiTriangularSylvester(FailingMatrixOp):
    """Return the solution X of ``R X + X S = Q``, for Schur forms R and S.

    What is below their diagonals is not read, but for the blocks of two rows of real ones.

    Parameters
    ----------
    turn_r, turn_s
        Whether the adjoint of R, and of S, stands in the equation.
    on_error
        What is done if there is no single solution.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.sylvester import QuasiTriangularSylvester
    >>> QuasiTriangularSylvester()([[2.0]], [[1.0]], [[6.0]]).eval()
    array([[2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("turn_r", "turn_s", "on_error")
    signature = "(m,m),(n,n),(m,n)->(m,n)"

    def __init__(
        self, turn_r: bool = False, turn_s: bool = False, on_error: OnError = "raise"
    ) -> None:
        super().__init__(on_error)
        self.turn_r = bool(turn_r)
        self.turn_s = bool(turn_s)

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Substitute with LAPACK."""
        r, s, q = matrices
        if not q.size:
            return (q,)
        turns = ("C" if turn else "N" for turn in (self.turn_r, self.turn_s))
        x, scale, info = lapack_function("trsyl", r, s, q)(r, s, q, *turns)
        if info > 0:
            raise MatrixError(_COMMON)
        return (x / scale,)

    def _adjoint(self) -> QuasiTriangularSylvester:
        return QuasiTriangularSylvester(not self.turn_r, not self.turn_s, self.on_error)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """As for :class:`Sylvester`; for R and S, the part that is read."""
        (r, s, _), (x,), (g,) = inputs, outputs, gradients
        inner = self._adjoint()(r, s, g)
        first = matmul(x, adjoint(inner)) if self.turn_r else matmul(inner, adjoint(x))
        second = matmul(adjoint(inner), x) if self.turn_s else matmul(adjoint(x), inner)
        below = 0 if is_complex(x) else -1
        return [-triu(first, below), -triu(second, below), inner]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``R dX + dX S = dQ - dR X - X dS``"""
        (r, s, _), (x,), (dr, ds, dq) = inputs, outputs, tangents
        below = 0 if is_complex(x) else -1
        terms = [dq]
        if dr is not None:
            read = triu(dr, below)
            terms.append(-matmul(adjoint(read) if self.turn_r else read, x))
        if ds is not None:
            read = triu(ds, below)
            terms.append(-matmul(x, adjoint(read) if self.turn_s else read))
        return [self(r, s, sum_of(*terms))]


class Sylvester(FailingMatrixOp):
    """Return the solution X of ``A X + X B = Q``.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.sylvester import Sylvester
    >>> Sylvester()([[2.0]], [[1.0]], [[6.0]]).eval()
    array([[2.]])
    """

    __props__: ClassVar[tuple[str, ...]] = ("on_error",)
    signature = "(m,m),(n,n),(m,n)->(m,n)"
    called = "solve_sylvester"

    def expanded(
        self, a: Any, b: Any, q: Any, *, turn_a: bool = False, turn_b: bool = False
    ) -> Any:
        """Return the solution by Schur forms, which other equations of the matrices may share.

        The adjoint of ``a``, or of ``b``, may stand in the equation.
        """
        schur = Schur("real", None, self.on_error)
        (r, u), (s, v) = schur(a), schur(b)
        inner = QuasiTriangularSylvester(turn_a, turn_b, self.on_error)
        turned = matmul(matmul(adjoint(u), q), v)
        return matmul(matmul(u, inner(r, s, turned)), adjoint(v))

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Solve with the Schur forms of A and B (Bartels and Stewart, 1972)."""
        a, b, q = matrices
        if not q.size:
            return (q,)
        require_finite(a, b, q)
        r, u = linalg.schur(a)
        s, v = linalg.schur(b)
        inner, scale, info = lapack_function("trsyl", r, s, q)(r, s, u.conj().T @ q @ v)
        if info > 0:
            raise MatrixError(_COMMON)
        return (u @ (inner / scale) @ v.conj().T,)

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """``gQ = S, gA = -S X^H, gB = -X^H S``, where ``A^H S + S B^H = gX``"""
        (a, b, _), (x,), (g,) = inputs, outputs, gradients
        inner = self(adjoint(a), adjoint(b), g)
        return [-matmul(inner, adjoint(x)), -matmul(adjoint(x), inner), inner]

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """``A dX + dX B = dQ - dA X - X dB``"""
        (a, b, _), (x,), (da, db, dq) = inputs, outputs, tangents
        right = sum_of(
            dq,
            None if da is None else -matmul(da, x),
            None if db is None else -matmul(x, db),
        )
        return [self(a, b, right)]


@lru_cache(maxsize=2)
def _sylvester(on_error: OnError) -> Sylvester:
    return Sylvester(on_error)


def solve_sylvester(a: Any, b: Any, q: Any, *, on_error: OnError = "raise") -> TensorVariable:
    """Return the solution x of ``a x + x b = q``.

    Parameters
    ----------
    a, b
        Square matrices, or stacks of them. There is one solution if no eigenvalue of ``a`` is the
        negative of one of ``b``.
    q
        A matrix with the rows of ``a`` and the columns of ``b``, or a stack of them.
    on_error
        ``"raise"`` an error that names a matrix for which there is no single solution, or return
        ``"nan"`` for it.

    Returns
    -------
    TensorVariable
        x, of the shape of ``q``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.constant([[1.0, 0.0], [0.0, 2.0]]), pt.constant([[1.0]])
    >>> pt.linalg.solve_sylvester(a, b, pt.constant([[2.0], [6.0]])).eval()
    array([[1.],
           [2.]])
    """
    a, b, q = (as_matrices(x, "solve_sylvester") for x in (a, b, q))
    return _sylvester(on_error)(a, b, q)
