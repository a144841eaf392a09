"""Exponentials of matrices and their derivatives: scaling, a Pade approximant, and squaring.

The degree and the number of squarings follow from norms of powers of the matrix (A. H. Al-Mohy and
N. J. Higham, "A new scaling and squaring algorithm for the matrix exponential", SIAM J. Matrix
Anal. Appl. 31, 2009), in a simpler form: the even powers up to the sixth are always computed, and
there are at most two degrees. It differs in two points, both of which keep the digits of matrices
whose norm says little, such as ``[[0, 1e30], [0, 0]]`` and ``[[1e6, 1e6], [-1e6, -1e6]]``:

- The error of the approximant is bounded by ``|A| |A^2|^m`` instead of ``|A|^(2m + 1)``, so that
  what cancels in the square needs no scaling.
- Where diagonals are small, ``E = exp(A / 2^s) - 1`` is squared instead of the exponential, by
  ``E^2 + 2 E``: a rounded 1 would be wrong by 2^s units in the last place after s squarings. Of
  functions of matrices near the identity this is said in B. Skaflestad and W. M. Wright, "The
  scaling and modified squaring method for matrix functions related to the exponential", Appl.
  Numer. Math. 59, 2009.

Derivatives are those of each step (A. H. Al-Mohy and N. J. Higham, "Computing the Frechet
derivative of the matrix exponential", SIAM J. Matrix Anal. Appl. 30, 2009).

Native code takes the same steps; constants of both are here.
"""

from __future__ import annotations

from math import comb, factorial
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.late import LateModule
from phintys._base.records import record

if TYPE_CHECKING:
    import scipy.linalg as scipy_linalg
else:
    scipy_linalg = LateModule("scipy.linalg")


@record(frozen=True)
class Degree:
    """An approximant.

    Attributes
    ----------
    degree
        Its degree.
    of_norm
        The largest norm of a matrix for which its error is below rounding.
    of_powers
        The same for roots of norms of powers, if norms of larger powers are looked at as well.
    """

    degree: int
    of_norm: float
    of_powers: float

    @property
    def coefficients(self) -> list[float]:
        """Those of the numerator, exactly, up to one power of two for all: the first is near 1."""
        m = self.degree
        known = [
            factorial(2 * m - k) * factorial(m) // (factorial(m - k) * factorial(k)) // factorial(m)
            for k in range(m + 1)
        ]
        return [number / 2 ** known[0].bit_length() for number in known]

    @property
    def of_error(self) -> float:
        """The first coefficient of the error."""
        m = self.degree
        return 1 / (comb(2 * m, m) * factorial(2 * m + 1))


DEGREES = {
    "float64": (Degree(7, 9.504178996162932e-1, 9.504178996162932e-1), Degree(13, 5.3719, 4.25)),
    "float32": (Degree(7, 3.925724783138660, 3.925724783138660),),
}

LARGEST_EXPONENT = 20
"""Matrices whose powers overflow are first divided, until their norm is two to this power."""

SMALL = 2.0**-40
"""Lengths are multiplied by this number before they are summed, so that no sum overflows."""

FAR_LARGER = 1024.0
"""Matrices whose elements below the diagonal are so many times as large as those above are turned.

Of large elements below the diagonal, pivots would be made, in which small numbers are lost.
"""

MOST_OF_DIAGONAL = 0.5
"""As long as no diagonal element of exp(A) - 1 is larger, neither does adding 1 cancel."""


def exponential(a: Any, direction: Any = None) -> Any:
    """Return the exponential of a matrix, or its derivative in a direction.

    Parameters
    ----------
    a
        A square matrix of floating-point or complex numbers.
    direction
        The direction, a matrix of the same shape.

    Returns
    -------
    numpy.ndarray
        A matrix of the same shape, of NaN if an element of ``a`` is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.tensor.linear_algebra.exponentials import exponential
    >>> exponential(np.array([[0.0, 1e30], [0.0, 0.0]]))
    array([[1.e+00, 1.e+30],
           [0.e+00, 1.e+00]])
    """
    if not a.size:
        return a
    if not np.isfinite(a).all():
        return np.full_like(a, np.nan)
    with np.errstate(all="ignore"):
        below, above = (abs(part).max() for part in (np.tril(a, -1), np.triu(a, 1)))
        if below / FAR_LARGER > above:
            turned = _Exponential(a.T, None if direction is None else direction.T)
            return np.ascontiguousarray(turned.result().T)
        return _Exponential(a, direction).result()


class _Exponential:
    """The steps for one matrix. Matrices stand beside their derivatives, or ``None``."""

    def __init__(self, a: Any, direction: Any) -> None:
        self.a = (a, direction)
        self.degrees = DEGREES[a.real.dtype.name]
        self.rounding = float(np.finfo(a.dtype).eps) / 2

    def result(self) -> Any:
        """Return the exponential or the derivative."""
        low, final = self.degrees[0], self.degrees[-1]
        small, before = _norm(self.a[0] * SMALL), 0
        powers = self._powers()
        if not np.isfinite(powers[2][0]).all():  # as it is if one of the others is not finite
            before = _halvings(small, 2.0**LARGEST_EXPONENT * SMALL)
            self.a = _scaled(self.a, -before, 1)
            powers = self._powers()
        elif final is not low and small <= low.of_norm * SMALL:
            return self._squared(powers, low, 0)
        squarings = max(
            _squarings(_norm(power), final.of_powers, k, before)
            for (power, _), k in zip(powers[1:], (4, 6), strict=True)
        )
        powers = self._all_scaled(powers, before - squarings)
        more = self._more_halvings(powers[0][0], final)
        return self._squared(self._all_scaled(powers, -more), final, squarings + more)

    def _powers(self) -> list[Any]:
        """Return the second, fourth and sixth power."""
        second = _product(self.a, self.a)
        fourth = _product(second, second)
        return [second, fourth, _product(fourth, second)]

    def _all_scaled(self, powers: list[Any], exponent: int) -> list[Any]:
        """Multiply the matrix by two to an exponent, and return its powers."""
        self.a = _scaled(self.a, exponent, 1)
        return [_scaled(one, exponent, k) for one, k in zip(powers, (2, 4, 6), strict=True)]

    def _more_halvings(self, square: Any, degree: Degree) -> int:
        """Return how often the matrix is halved so that ``|A| |A^2|^m`` bounds a small error."""
        a = abs(self.a[0]) * SMALL
        norm, lengths = _norm(a), abs(square)
        if norm <= degree.of_norm * SMALL:
            return 0
        sums = a.sum(axis=0)
        for _ in range(degree.degree):
            sums = sums @ lengths
        error = float(sums.max() / norm) * degree.of_error
        if np.isfinite(error):
            return _halvings(error, self.rounding, 0.25**degree.degree)
        return _halvings(norm, degree.of_norm * SMALL)

    def _squared(self, powers: list[Any], degree: Degree, squarings: int) -> Any:
        """Return the result, from an approximant that is squared some times."""
        (a, da), one = self.a, np.eye(len(self.a[0]), dtype=self.a[0].dtype)
        is_less = squarings > 0 and abs(a.diagonal()).max() <= MOST_OF_DIAGONAL
        upper, lower = _approximant((a, da), powers, degree)
        both = 2 * upper[0] if is_less else lower[0] + upper[0]
        factors = scipy_linalg.lu_factor(lower[0] - upper[0], check_finite=False)
        x, dx = scipy_linalg.lu_solve(factors, both, check_finite=False), None
        if da is not None:
            slope = 2 * upper[1] if is_less else lower[1] + upper[1]
            slope = slope + (upper[1] - lower[1]) @ x
            dx = scipy_linalg.lu_solve(factors, slope, check_finite=False)
        for _ in range(squarings):
            square, its = _product((x, dx), (x, dx))
            if is_less:
                square = square + 2 * x
                its = None if dx is None else its + 2 * dx
                is_less = abs(square.diagonal()).max() <= MOST_OF_DIAGONAL
                square = square if is_less else square + one
            x, dx = square, its
        return dx if dx is not None else x + one if is_less else x


def _approximant(a: Any, powers: list[Any], degree: Degree) -> tuple[Any, Any]:
    """Return U and V, of which ``(V + U) / (V - U)`` is the approximant, with their derivatives.

    ``U = A (A^6 (odd powers from 9) + odd powers up to 7)``, and V likewise without A.
    """
    known, one = degree.coefficients, np.eye(len(a[0]), dtype=a[0].dtype)
    found: list[Any] = []
    for first in (1, 0):
        sums = _combined(powers, known[first + 2 : first + 7 : 2])
        sums = (sums[0] + known[first] * one, sums[1])
        if degree.degree > 7:
            high = _product(powers[2], _combined(powers, known[first + 8 :: 2]))
            sums = _sum(sums, high)
        found.append(_product(a, sums) if first else sums)
    return found[0], found[1]


def _combined(powers: list[Any], known: list[float]) -> Any:
    """Return a sum of multiples of matrices."""
    total: Any = (0, None if powers[0][1] is None else 0)
    for (power, slope), factor in zip(powers, known, strict=False):
        total = _sum(total, (power * factor, None if slope is None else slope * factor))
    return total


def _sum(x: Any, y: Any) -> Any:
    return x[0] + y[0], None if x[1] is None else x[1] + y[1]


def _product(x: Any, y: Any) -> Any:
    slope = None if x[1] is None else x[0] @ y[1] + x[1] @ y[0]
    return x[0] @ y[0], slope


def _scaled(x: Any, exponent: int, times: int) -> Any:
    """Multiply by two to an exponent some times, whose product alone could overflow."""
    if not exponent:
        return x
    for _ in range(times):
        x = tuple(None if one is None else one * 2.0**exponent for one in x)
    return x


def _norm(a: Any) -> float:
    return float(abs(a).sum(axis=0).max())


def _halvings(number: float, most: float, by: float = 0.5) -> int:
    """Return how often a finite number is divided until it is at most some number."""
    count = 0
    while most < number < np.inf:
        number, count = number * by, count + 1
    return count


def _squarings(norm: float, most: float, k: int, before: int) -> int:
    """Return how often A is halved in all, where the norm of the power k of ``A / 2^before`` is."""
    most, by = most**k, 2.0**k
    count = before + _halvings(norm, most, 1 / by)
    while count and count <= before and norm * by <= most:
        norm, count = norm * by, count - 1
    return count
