"""Gamma numbers of random bits, in exact steps, with implicit derivatives in the shape.

The method is that of Marsaglia and Tsang ("A simple method for generating gamma variables", 2000).
For a shape below 1 it draws with the shape plus 1, and multiplies by ``u**(1 / shape)`` for a
uniform u, which is made of the bits that key the attempts.

A draw is not smooth in the shape, as attempts are accepted or not; its distribution is. The
derivative is that of the quantile of the draw's own probability, which gives the same gradients of
expectations as any other smooth way from random bits to numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys import scalar as ps
from phintys.random.exact.functions import exact_exp, exact_exponential, exact_log, exact_normal
from phintys.random.exact.steps import RareCase, Rejection, exact_function
from phintys.random.exact.uniform import open_uniform


def word_of(bits: Any, dtype: str) -> Any:
    """Return 64 random bits as the word for a float64, the upper half for a float32."""
    if dtype == "float64":
        return bits
    return ps.cast(ps.right_shift(bits, np.uint64(32)), "uint32")


def _prepare(shape: Any) -> tuple[Any, ...]:
    d = ps.switch(ps.lt(shape, 1.0), shape + 1.0, shape) - 0.3333333333333333
    return d, 1.0 / ps.sqrt(9.0 * d)


# Positive if the attempt is accepted. Where the authors' simple bound decides, no logarithm is
# computed.
_margin = RareCase(
    "_margin",
    nin=4,
    usual=lambda z, v, d, u: 1.0 + 0.0 * z,
    rare=lambda z, v, d, u: (0.5 * (z * z) + d * ((1.0 - v) + exact_log(v))) - exact_log(u),
    is_rare=lambda z, v, d, u: ps.ge(u, 1.0 - 0.0331 * ((z * z) * (z * z))),
)


def _attempt(first: Any, second: Any, d: Any, c: Any) -> tuple[Any, Any]:
    z = exact_normal(word_of(first, d.dtype))
    u = open_uniform(word_of(second, d.dtype), d.dtype)
    root = 1.0 + c * z
    v = (root * root) * root
    is_refused = ps.or_(ps.le(v, 0.0), ps.le(_margin(z, v, d, u), 0.0))
    return d * v, ps.logical_not(is_refused)


# Gamma numbers of a shape of at least 1: of the shape plus 1, if it is below.
_gamma_attempts = Rejection("_gamma_attempts", nin=2, prepare=_prepare, attempt=_attempt)


_LEAST = {"float64": 1e-300, "float32": 1e-36}
"""The least shape: the logarithms of numbers of a smaller one would be infinite."""


def _log_of_factor(bits: Any, shape: Any) -> Any:
    """Return the logarithm of the factor for a shape below 1."""
    is_small = ps.lt(shape, 1.0)
    divisor = ps.maximum(ps.switch(is_small, shape, 1.0), _LEAST[shape.dtype])
    below = -exact_exponential(word_of(bits, shape.dtype)) / divisor
    return ps.switch(is_small, below, 0.0)


# For a shape of at least 1 there is no factor. Vectors of such shapes compute none.
_with_factor = RareCase(
    "_with_factor",
    nin=3,
    usual=lambda value, bits, shape: value,
    rare=lambda value, bits, shape: value * exact_exp(_log_of_factor(bits, shape)),
    is_rare=lambda value, bits, shape: ps.lt(shape, 1.0),
    has_wide_inputs=True,
)
_with_log_of_factor = RareCase(
    "_with_log_of_factor",
    nin=3,
    usual=lambda value, bits, shape: value,
    rare=lambda value, bits, shape: value + _log_of_factor(bits, shape),
    is_rare=lambda value, bits, shape: ps.lt(shape, 1.0),
    has_wide_inputs=True,
)


@exact_function(
    derivative=lambda bits, shape, out: (0, out * ps.log_gamma_slope(shape, ps.log(out))),
    cost=170.0,
)
def gamma_of_bits(bits: Any, shape: Any) -> Any:
    """Gamma numbers of a shape, of uint64 bits."""
    return _with_factor(_gamma_attempts(bits, shape), bits, shape)


@exact_function(derivative=lambda bits, shape, out: (0, ps.log_gamma_slope(shape, out)), cost=190.0)
def log_gamma_of_bits(bits: Any, shape: Any) -> Any:
    """Logarithms of gamma numbers, which do not underflow for small shapes."""
    return _with_log_of_factor(exact_log(_gamma_attempts(bits, shape)), bits, shape)
