"""Square roots and logarithms of matrices, and derivatives by spectra.

For ``A = V diag(w) V^H`` and ``Y = V diag(f) V^H``, a direction dA and ``M = V^H dA V``::

    dY = V (D * M + diag(df)) V^H,  D[i, j] = (f[j] - f[i]) / (w[j] - w[i])

If f is a function of w, these divided differences have the slope of f as a limit where values are
equal: there the vectors alone have no derivative, and Y has one (Yu. L. Daleckii and S. G. Krein,
1951; N. J. Higham, "Functions of Matrices", 2008, theorem 3.11). For ``A = U diag(s) V^H``, there
are two quotients: one for the Hermitian part of ``U^H dA V``, and one for the other part (V.
Noferini, "A formula for the Frechet derivative of a generalized matrix function", 2017).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.late import LateModule
from phintys._base.records import record
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.creation import zeros_like
from phintys.tensor.diagonals import eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.joining import concatenate
from phintys.tensor.linear_algebra.matrix_op import (
    FailingMatrixOp,
    MatrixError,
    MatrixOp,
    OnError,
    adjoint,
    as_matrices,
    read_triangle,
)
from phintys.tensor.linear_algebra.schur import solve_sylvester
from phintys.tensor.products import matmul
from phintys.tensor.shapes import sizes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scipy import linalg

    from phintys.tensor.variable import TensorVariable
else:
    linalg = LateModule("scipy.linalg")


_NEARNESS = 0.4
"""Values whose relative distance is below the machine epsilon to this power count as equal: the
difference of functions of them has few digits, and the mean of their slopes many."""


@record(frozen=True)
class Spectrum:
    """Values of a matrix, and those of a function.

    Attributes
    ----------
    values
        Real values of the matrix.
    function
        A number for each of them.
    slope
        Its derivatives; ``None`` if the numbers are not a function of the values.
    """

    values: Any
    function: Any
    slope: Any

    def pairs(self, x: Any) -> tuple[Any, Any]:
        """Return the numbers for j and for i, where a matrix has the element ``[i, j]``."""
        return expand_dims(x, -2), expand_dims(x, -1)

    def quotients(self) -> Any:
        """Return ``(f[j] - f[i]) / (w[j] - w[i])``, and 0 on the diagonal."""
        (after, before), (high, low) = self.pairs(self.function), self.pairs(self.values)
        gaps = high - low
        if self.slope is None:
            is_near, limit = math.eq(gaps, 0), np.asarray(np.nan, self.values.dtype)
        else:
            near = np.finfo(self.values.dtype).eps ** _NEARNESS
            least = near * math.maximum(math.abs(high), math.abs(low))
            is_near = math.le(math.abs(gaps), least)
            rising, falling = self.pairs(self.slope)
            limit = (rising + falling) / 2
        found = math.switch(is_near, limit, (after - before) / math.switch(is_near, 1, gaps))
        return self.beside_diagonal(found)

    def quotients_of_squares(self) -> Any:
        """Return ``(f[j] - f[i]) / (w[j]^2 - w[i]^2)``, and 0 on the diagonal."""
        high, low = self.pairs(self.values)
        return self.beside_diagonal(self.quotients() / (high + low))

    def beside_diagonal(self, x: Any) -> Any:
        """Return matrices with 0 on the diagonal."""
        return math.switch(eye(sizes_of(self.values)[-1], dtype="bool"), 0, x)

    def means(self) -> Any:
        """Return ``(f[j] + f[i]) / (w[j] + w[i])``, whose limit for an odd f at 0 is its slope."""
        (after, before), (high, low) = self.pairs(self.function), self.pairs(self.values)
        limit = None if self.slope is None else self.pairs(self.slope)[0]
        return _odd_ratio(after + before, high + low, limit)

    def ratios(self) -> Any:
        """Return ``f / w``, whose limit for an odd f at 0 is its slope."""
        return _odd_ratio(self.function, self.values, self.slope)


def _odd_ratio(above: Any, below: Any, limit: Any) -> Any:
    if limit is None:
        return above / below
    has_limit = math.eq(below, 0) & math.eq(above, 0)
    return math.switch(has_limit, limit, above / math.switch(has_limit, 1, below))


@record(frozen=True)
class Flow:
    """The gradient for ``L diag(f) R^H``, a product ``a b^H``, seen by the vectors L and R.

    Attributes
    ----------
    first, last
        a and b; b may be ``None``, the identity.
    left, right
        ``L^H a`` and ``R^H b``.
    """

    first: Any
    last: Any
    left: Any
    right: Any

    @property
    def inner(self) -> Any:
        """``L^H a b^H R``, whose diagonal is the gradient for f."""
        return matmul(self.left, adjoint(self.right))


def hermitian_slope(v: Any, spectrum: Spectrum, flow: Flow) -> Any:
    """Return the gradient for a Hermitian matrix, for the triangle that is read.

    That through f is left out.
    """
    inner = conjugate(spectrum.quotients()) * flow.inner
    return read_triangle(matmul(matmul(v, inner), adjoint(v)))


def singular_slope(u: Any, v: Any, spectrum: Spectrum, flow: Flow, *, both: bool) -> Any:
    """Return the gradient for ``U diag(s) V^H``, given that for ``U diag(f) V^H``, or for
    ``U diag(f) U^H`` unless ``both``; that through f is left out.
    """
    turned, inner, ratios = adjoint(v), flow.inner, spectrum.ratios()
    along, across = expand_dims(ratios, -2), expand_dims(ratios, -1)
    right = matmul(flow.first, adjoint(flow.right)) - matmul(u, inner)
    if both:
        even, odd = conjugate(spectrum.quotients()) * inner, conjugate(spectrum.means()) * inner
        inner = (even + adjoint(even)) / 2 + (odd - adjoint(odd)) / 2
        rows = flow.left if flow.last is None else matmul(flow.left, adjoint(flow.last))
        left = rows - matmul(flow.inner, turned)
        found = matmul(u, inner) + right * conjugate(along)
        return matmul(found, turned) + matmul(u, conjugate(across) * left)
    even = conjugate(spectrum.quotients_of_squares()) * inner
    last = adjoint(flow.left)
    left = (last if flow.last is None else matmul(flow.last, last)) - matmul(u, adjoint(inner))
    found = (
        matmul(u, (even + adjoint(even)) * expand_dims(spectrum.values, -2))
        + right * conjugate(along)
        + left * along
    )
    return matmul(found, turned)


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
