"""Uniform numbers of random bits, in exact steps.

What samplers use, for tensors as for scalars in the steps of a
:class:`~phintys.random.exact.steps.Rejection`:

- :func:`half_open_uniform` and :func:`open_uniform`, of one word for each element.
- :mod:`phintys.random.exact.functions`: ``exact_normal(bits)`` and ``exact_exponential(bits)``, the
  fastest way from bits to those numbers, and ``exact_log``, ``exact_exp``, ``exact_ndtri``,
  ``exact_sin_pi``, ``exact_cos_pi``. Their results are the same bits from every backend; those of
  ``pt.log`` and the like are not.
- ``+``, ``-``, ``*``, ``/``, ``sqrt``, ``floor``, comparisons and ``switch`` are exact as they are.
- :class:`phintys.random.exact.steps.Rejection` for a sampler that makes attempts. It takes 64 bits
  for each element, of uint64 even for draws of float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys import scalar as ps


def half_open_uniform(bits: Any, dtype: str) -> Any:
    """Return numbers in [0, 1): multiples of 2**-53, or of 2**-24 in float32; all steps exact."""
    digits = {"float64": 53, "float32": 24}[dtype]
    return ps.mul(_leading(bits, digits, dtype), np.dtype(dtype).type(2.0**-digits))


def open_uniform(bits: Any, dtype: str) -> Any:
    """Return numbers in (0, 1): odd multiples of 2**-53, or of 2**-24 in float32.

    All steps are exact, and the numbers lie symmetrically about 1/2.
    """
    digits = {"float64": 52, "float32": 23}[dtype]
    kind = np.dtype(dtype).type
    middle = ps.add(_leading(bits, digits, dtype), kind(0.5))
    return ps.mul(middle, kind(2.0**-digits))


def _leading(bits: Any, digits: int, dtype: str) -> Any:
    width = 8 * np.dtype(bits.dtype).itemsize
    whole = ps.right_shift(bits, np.dtype(bits.dtype).type(width - digits))
    signed = "int64" if width == 64 else "int32"  # processors convert signed integers faster
    return ps.cast(ps.cast(whole, signed), dtype)
