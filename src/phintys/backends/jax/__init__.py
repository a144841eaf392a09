"""JAX: programs on accelerators, and functions of JAX as Ops. It needs the extra ``phintys[jax]``.

Examples
--------
>>> import phintys
>>> "from_jax" in dir(phintys.jax)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys._base.late import late_names

if TYPE_CHECKING:
    from phintys.backends.jax.checkpoints import load_values, save_values
    from phintys.backends.jax.functions_for_jax import to_jax
    from phintys.backends.jax.functions_of_jax import from_jax
    from phintys.backends.jax.meshes import mesh
    from phintys.backends.jax.modes import mode
else:
    __getattr__, __dir__ = late_names(__name__)

__all__ = ["from_jax", "load_values", "mesh", "mode", "save_values", "to_jax"]
