"""Derivatives of functions of matrices that are written as products of vectors.

For ``A = V diag(w) V^H`` and ``Y = V diag(f) V^H``, a direction dA and ``M = V^H dA V``::

    dY = V (D * M + diag(df)) V^H,  D[i, j] = (f[j] - f[i]) / (w[j] - w[i])

If f is a function of w, these divided differences have the slope of f as a limit where values are
equal: there the vectors alone have no derivative, and Y has one (Yu. L. Daleckii and S. G. Krein,
1951; N. J. Higham, "Functions of Matrices", 2008, theorem 3.11). For ``A = U diag(s) V^H``, there
are two quotients: one for the Hermitian part of ``U^H dA V``, and one for the other part (V.
Noferini, "A formula for the Frechet derivative of a generalized matrix function", 2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.records import record
from phintys.tensor import math
from phintys.tensor._rules import conjugate
from phintys.tensor.diagonals import eye
from phintys.tensor.dim_shuffle import expand_dims
from phintys.tensor.linear_algebra.matrix_op import adjoint, read_triangle
from phintys.tensor.products import matmul
from phintys.tensor.shapes import sizes_of

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
