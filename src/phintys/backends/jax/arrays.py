"""The modules of JAX that the rules use. Importing this module needs the extra ``phintys[jax]``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from phintys.backends.jax.requirement import library

jax: Any = library()
jnp: Any = import_module("jax.numpy")
lax: Any = import_module("jax.lax")
jsp: Any = import_module("jax.scipy.special")
jsl: Any = import_module("jax.scipy.linalg")
