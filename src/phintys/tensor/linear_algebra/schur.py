"""Schur forms of matrices, and generalized ones of pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys._base.late import LateModule
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    OnError,
    as_matrices,
    check_choice,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import linalg
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
