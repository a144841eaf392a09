"""Schur forms of matrices and of pairs, and Sylvester's equation, which they solve."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys._base.late import LateModule
from phintys.tensor.diagonals import triu
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    adjoint,
    as_matrices,
    check_choice,
    is_complex,
    lapack_function,
)
from phintys.tensor.products import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import linalg

    from phintys.tensor.variable import TensorVariable
else:
    linalg = LateModule("scipy.linalg")


_REGIONS = ("lhp", "rhp", "iuc", "ouc")


class _SchurForm(FailingMatrixOp):
    """A decomposition into triangular matrices, which need not be unique.

    Parameters
    ----------
    output
        ``"real"``: the triangular matrices of real ones are real, with blocks of two rows for pairs
        of complex eigenvalues; or ``"complex"``.
    sort
        Which eigenvalues come first: those in the left or right half plane (``"lhp"``, ``"rhp"``),
        inside or outside of the unit circle (``"iuc"``, ``"ouc"``); ``None`` is any order.
    on_error
        What is done if the iteration does not converge.
    """

    __props__: ClassVar[tuple[str, ...]] = ("output", "sort", "on_error")

    def __init__(
        self, output: str = "real", sort: str | None = None, on_error: OnError = "raise"
    ) -> None:
        super().__init__(on_error)
        check_choice(output, ("real", "complex"), "output")
        if sort is not None:
            check_choice(sort, _REGIONS, "sort")
        self.output: Any = output
        self.sort: Any = sort

    @property
    def _outputs(self) -> tuple[int, ...]:
        return tuple(range(len(self.dims()[1])))

    @property
    def complex_outputs(self) -> tuple[int, ...]:
        """All outputs, if complex ones are asked for."""
        return self._outputs if self.output == "complex" else ()

    def _checked(self, *matrices: Any) -> bool:
        """Return whether there is anything to decompose."""
        if not all(np.isfinite(x).all() for x in matrices):
            raise MatrixError("has an element that is not finite")
        return bool(matrices[0].size)

    def _no_gradient(self) -> MethodNotDefinedError:
        return MethodNotDefinedError(
            f"The gradient of {self} is not defined: its factors are not unique, and not smooth "
            "where eigenvalues meet. eigvals, eig and solve_sylvester have one."
        )

    def adjoint_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> list[Any]:
        """Raise an error: the gradient is not defined."""
        raise self._no_gradient()

    def tangent_rule(
        self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]
    ) -> list[Any]:
        """Raise an error: the R-operator is not defined."""
        raise self._no_gradient()


class Schur(_SchurForm):
    """Return T and Z of ``A = Z T Z^H``, for a triangular T and a unitary Z.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.schur import Schur
    >>> t, z = Schur()([[2.0, 1.0], [0.0, 3.0]])
    >>> t.eval()
    array([[2., 1.],
           [0., 3.]])
    """

    signature = "(n,n)->(n,n),(n,n)"
    called = "schur"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with SciPy."""
        (a,) = matrices
        if not self._checked(a):
            return a, a
        try:
            return linalg.schur(a, self.output, sort=self.sort)[:2]
        except np.linalg.LinAlgError as error:
            raise MatrixError(f"has no Schur form that was found: {error}") from error


class QZ(_SchurForm):
    """Return S, T, Q and Z of ``A = Q S Z^H`` and ``B = Q T Z^H``.

    Examples
    --------
    >>> from phintys.tensor.linear_algebra.schur import QZ
    >>> s, t, q, z = QZ()([[2.0, 1.0], [0.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> (q @ s @ z.T).eval().round(6)
    array([[2., 1.],
           [0., 3.]])
    """

    signature = "(n,n),(n,n)->(n,n),(n,n),(n,n),(n,n)"
    called = "qz"

    def compute(self, *matrices: Any) -> Sequence[Any]:
        """Decompose with SciPy."""
        a, b = matrices
        if not self._checked(a, b):
            return a, a, a, a
        try:
            if self.sort is None:
                return linalg.qz(a, b, self.output)
            s, t, _, _, q, z = linalg.ordqz(a, b, self.sort, self.output)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise MatrixError(f"has no Schur form that was found: {error}") from error
        return s, t, q, z


class SchurResult(NamedTuple):
    """The result of :func:`schur`."""

    T: Any
    Z: Any


class QZResult(NamedTuple):
    """The result of :func:`qz` and :func:`ordqz`: ``A = Q AA Z^H`` and ``B = Q BB Z^H``."""

    AA: Any
    BB: Any
    Q: Any
    Z: Any


def schur(
    a: Any, output: str = "real", sort: str | None = None, *, on_error: OnError = "raise"
) -> SchurResult:
    """Return the Schur form of matrices: ``a = Z T Z^H``.

    Parameters
    ----------
    a
        A square matrix, or a stack of them.
    output
        ``"real"`` or ``"complex"``. The real form of a real matrix has blocks of two rows on its
        diagonal, for pairs of complex eigenvalues; its complex form is triangular.
    sort
        Which eigenvalues come first: those in the left or right half plane (``"lhp"``, ``"rhp"``),
        inside or outside of the unit circle (``"iuc"``, ``"ouc"``). By default any.
    on_error
        ``"raise"`` an error that names a matrix for which the iteration fails, or return ``"nan"``.

    Returns
    -------
    SchurResult
        A named tuple: ``T`` and ``Z``.

    Notes
    -----
    It has no gradient.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> t, z = pt.linalg.schur(pt.constant([[0.0, 2.0], [2.0, 0.0]]), sort="lhp")
    >>> pt.diagonal(t).eval().round(6)
    array([-2.,  2.])
    """
    return SchurResult(*Schur(output, sort, on_error)(as_matrices(a, "schur")))


def qz(
    A: Any,
    B: Any,
    output: str = "real",
    *,
    on_error: OnError = "raise",
) -> QZResult:
    """Return the generalized Schur form of pairs: ``A = Q AA Z^H`` and ``B = Q BB Z^H``.

    Parameters
    ----------
    A, B
        Square matrices, or stacks of them.
    output, on_error
        As for :func:`schur`.

    Returns
    -------
    QZResult
        A named tuple: ``AA``, ``BB``, ``Q`` and ``Z``.

    Notes
    -----
    It has no gradient.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.constant([[1.0, 2.0], [3.0, 4.0]]), pt.constant([[1.0, 1.0], [0.0, 2.0]])
    >>> aa, bb, q, z = pt.linalg.qz(a, b)
    >>> (q @ bb @ z.T).eval().round(6)
    array([[1., 1.],
           [0., 2.]])
    """
    return QZResult(*QZ(output, None, on_error)(as_matrices(A, "qz"), as_matrices(B, "qz")))


def ordqz(
    A: Any,
    B: Any,
    sort: str = "lhp",
    output: str = "real",
    *,
    on_error: OnError = "raise",
) -> QZResult:
    """Return the generalized Schur form with some eigenvalues first.

    The eigenvalues are the ratios of the diagonals of ``AA`` and ``BB``.

    Parameters
    ----------
    A, B, output, on_error
        As for :func:`qz`.
    sort
        Those in the left or right half plane (``"lhp"``, ``"rhp"``), inside or outside of the unit
        circle (``"iuc"``, ``"ouc"``).

    Returns
    -------
    QZResult
        A named tuple: ``AA``, ``BB``, ``Q`` and ``Z``; without the eigenvalues that SciPy's
        function returns.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> a, b = pt.constant([[2.0, 0.0], [0.0, -3.0]]), pt.constant([[1.0, 0.0], [0.0, 1.0]])
    >>> aa, bb, q, z = pt.linalg.ordqz(a, b)
    >>> (pt.diagonal(aa) / pt.diagonal(bb)).eval().round(6)
    array([-3.,  2.])
    """
    return QZResult(*QZ(output, sort, on_error)(as_matrices(A, "ordqz"), as_matrices(B, "ordqz")))


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
    >>> from phintys.tensor.linear_algebra.schur import QuasiTriangularSylvester
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
    >>> from phintys.tensor.linear_algebra.schur import Sylvester
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
