"""Special functions that are combinations of others, or have several results."""

from __future__ import annotations

import math as numbers
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.names import public_dir
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    from phintys.tensor.variable import TensorVariable

__all__ = ["chi2sf", "comb", "fresnel", "gammal", "gammau", "kn", "multigammaln", "perm", "sici"]


def comb(n: Any, k: Any, repetition: bool = False) -> TensorVariable:
    """Return the number of ways to choose k of n things, in floating point.

    Parameters
    ----------
    n, k
        Tensors. The result is 0 where k > n, or one of them is negative.
    repetition
        Whether a thing may be chosen several times.

    Returns
    -------
    TensorVariable
        The counts, with the common shape of ``n`` and ``k``; float64 for integers.

    Notes
    -----
    For ``repetition`` it is ``comb(n + k - 1, k)``: R. P. Stanley, "Enumerative Combinatorics",
    volume 1, 2nd edition, 2011, section 1.2.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.comb(5, [2, 6]).eval(), pt.comb(3, 2, repetition=True).eval()
    (array([10.,  0.]), array(6.))
    """
    n, k = as_tensor_variable(n), as_tensor_variable(k)
    if repetition:
        ways = math.binom(n + k - 1, k)
        empty = math.and_(math.eq(n, 0), math.eq(k, 0))
        return math.switch(empty, 1, math.switch(math.and_(math.ge(n, 0), math.ge(k, 0)), ways, 0))
    return math.switch(_are_counts(n, k), math.binom(n, k), 0)


def perm(n: Any, k: Any) -> TensorVariable:
    """Return the number of sequences of k of n things, in floating point.

    Parameters
    ----------
    n, k
        Tensors of integers or floats, which broadcast against each other. The result is 0 where k >
        n, or one of them is negative.

    Returns
    -------
    TensorVariable
        n! / (n - k)!, with the common shape of ``n`` and ``k``; float64 for integers.

    Notes
    -----
    It is computed as the Pochhammer symbol (n - k + 1)_k (DLMF 5.2.5).

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.perm(5, [2, 6]).eval()
    array([20.,  0.])
    """
    n, k = as_tensor_variable(n), as_tensor_variable(k)
    inside = _are_counts(n, k)
    return math.switch(inside, math.poch(math.switch(inside, n - k, 0) + 1, k), 0)


def _are_counts(n: Any, k: Any) -> Any:
    return math.and_(math.le(k, n), math.and_(math.ge(n, 0), math.ge(k, 0)))


def multigammaln(a: Any, d: int) -> TensorVariable:
    """Return the logarithm of the multivariate gamma function.

    Parameters
    ----------
    a
        A real tensor, above ``(d - 1) / 2``.
    d
        The dimension, an int from 1 on.

    Returns
    -------
    TensorVariable
        A floating tensor with the shape of ``a``.

    Raises
    ------
    ArgumentError
        ``d`` is not a positive int.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.multigammaln(3.0, 2).eval().round(6)
    np.float64(1.55...)
    """
    if not hasattr(d, "__index__") or d.__index__() < 1:
        msg = f"multigammaln: the dimension is an int from 1 on, got {d!r}."
        raise ArgumentError(msg)
    a = as_tensor_variable(a)
    terms = [math.gammaln(a - 0.5 * j) if j else math.gammaln(a) for j in range(d)]
    constant = d * (d - 1) / 4 * numbers.log(numbers.pi)
    return math.add(*terms, constant)


def sici(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return the sine and cosine integrals; see :func:`sine_integral`, :func:`cosine_integral`.

    Parameters
    ----------
    x
        A real tensor.

    Returns
    -------
    tuple of TensorVariable
        ``Si(x)`` and ``Ci(x)``, with the shape of ``x``; float64 for integers.

    Notes
    -----
    The integrals are those of DLMF 6.2.9 and 6.2.11. The order of the two is that of
    ``scipy.special.sici``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().round(3).tolist() for part in pt.sici(1.0)]
    [0.946, 0.337]
    """
    return math.sine_integral(x), math.cosine_integral(x)


def fresnel(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return both of Fresnel's integrals; see :func:`fresnel_sine`, :func:`fresnel_cosine`.

    Parameters
    ----------
    x
        A real tensor.

    Returns
    -------
    tuple of TensorVariable
        ``S(x)`` and ``C(x)``, with the shape of ``x``; float64 for integers.

    Notes
    -----
    The integrals are those of DLMF 7.2.7 and 7.2.8. The order of the two is that of
    ``scipy.special.fresnel``.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().round(3).tolist() for part in pt.fresnel(1.0)]
    [0.438, 0.78]
    """
    return math.fresnel_sine(x), math.fresnel_cosine(x)


def kn(n: Any, x: Any) -> TensorVariable:
    """Return the modified Bessel function of the second kind, of a whole order; see :func:`kv`.

    Parameters
    ----------
    n
        The order: a tensor of integers, or of floats that are integers.
    x
        A real tensor, which broadcasts against ``n``. The result is NaN where it is negative.

    Returns
    -------
    TensorVariable
        K_n(x), with the common shape of ``n`` and ``x`` (DLMF 10.25).

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.kn(1, 2.0).eval().round(3)
    np.float64(0.14)
    """
    return math.kv(n, x)


def gammal(k: Any, x: Any) -> TensorVariable:
    """Return the lower incomplete gamma function, not regularized.

    Parameters
    ----------
    k, x
        Real tensors that broadcast against each other; k > 0 and x >= 0.

    Returns
    -------
    TensorVariable
        The integral of ``t**(k - 1) * exp(-t)`` from 0 to x (DLMF 8.2.1), with the common shape.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.gammal(1.0, 2.0).eval().round(3)
    np.float64(0.865)
    """
    return math.gammainc(k, x) * math.gamma(k)


def gammau(k: Any, x: Any) -> TensorVariable:
    """Return the upper incomplete gamma function, not regularized.

    Parameters
    ----------
    k, x
        Real tensors that broadcast against each other; k > 0 and x >= 0.

    Returns
    -------
    TensorVariable
        The integral of ``t**(k - 1) * exp(-t)`` from x to infinity (DLMF 8.2.2), with the common
        shape.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.gammau(1.0, 2.0).eval().round(3)
    np.float64(0.135)
    """
    return math.gammaincc(k, x) * math.gamma(k)


def chi2sf(x: Any, k: Any) -> TensorVariable:
    """Return the survival function of the chi-squared distribution with k degrees of freedom.

    Parameters
    ----------
    x
        Where to evaluate it: a real tensor, x >= 0.
    k
        Degrees of freedom: a tensor of positive numbers, which broadcasts against ``x``.

    Returns
    -------
    TensorVariable
        The probability of a number above x, Q(k / 2, x / 2), with the common shape.

    Notes
    -----
    M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 1964, 26.4.2 and 26.4.19.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.chi2sf(2.0, 2).eval().round(3)
    np.float64(0.368)
    """
    return math.gammaincc(math.true_div(k, 2), math.true_div(x, 2))


__dir__ = public_dir(__name__)
