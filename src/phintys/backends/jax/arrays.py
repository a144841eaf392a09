"""The modules of JAX that the rules use. Importing this module needs the extra ``phintys[jax]``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from phintys.backends.jax.requirement import library

jax: Any = library()
jnp: Any = import_module("jax.numpy")
lax: Any = import_module("jax.lax")
jsp: Any = import_module("jax.scipy.special")
jsl: Any = import_module("jax.scipy.linalg")


def converted(x: Any, dtype: Any) -> Any:
    """Return numbers in a dtype; those that an integer dtype lacks wrap around, as in NumPy.

    JAX takes the nearest integer of the dtype for floats. XLA takes 0 for the product of a NaN or
    an infinity and a float that was a bool; not for one that was an integer.
    """
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if x.dtype == bool and dtype.kind in "fc":
        return x.astype("int8").astype(dtype)
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    whole = x.astype("int64").astype(dtype)
    return jnp.where(x < 0, whole, x.astype(dtype)) if dtype == np.uint64 else whole
