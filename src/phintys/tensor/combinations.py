"""Special functions that are combinations of others, or have several results."""

from __future__ import annotations

import math as numbers
from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys._base.public import public_dir
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

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().round(3).tolist() for part in pt.sici(1.0)]
    [0.946, 0.337]
    """
    return math.sine_integral(x), math.cosine_integral(x)


def fresnel(x: Any) -> tuple[TensorVariable, TensorVariable]:
    """Return both of Fresnel's integrals; see :func:`fresnel_sine`, :func:`fresnel_cosine`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> [part.eval().round(3).tolist() for part in pt.fresnel(1.0)]
    [0.438, 0.78]
    """
    return math.fresnel_sine(x), math.fresnel_cosine(x)


def kn(n: Any, x: Any) -> TensorVariable:
    """Return the modified Bessel function of the second kind, of a whole order; see :func:`kv`.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.kn(1, 2.0).eval().round(3)
    np.float64(0.14)
    """
    return math.kv(n, x)


def gammal(k: Any, x: Any) -> TensorVariable:
    """Return the lower incomplete gamma function, not regularized.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.gammal(1.0, 2.0).eval().round(3)
    np.float64(0.865)
    """
    return math.gammainc(k, x) * math.gamma(k)


def gammau(k: Any, x: Any) -> TensorVariable:
    """Return the upper incomplete gamma function, not regularized.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.gammau(1.0, 2.0).eval().round(3)
    np.float64(0.135)
    """
    return math.gammaincc(k, x) * math.gamma(k)


def chi2sf(x: Any, k: Any) -> TensorVariable:
    """Return the survival function of the chi-squared distribution with k degrees of freedom.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> pt.chi2sf(2.0, 2).eval().round(3)
    np.float64(0.368)
    """
    return math.gammaincc(math.true_div(k, 2), math.true_div(x, 2))


__dir__ = public_dir(__name__)
