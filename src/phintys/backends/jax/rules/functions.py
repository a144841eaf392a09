"""Functions of JAX that are Ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.backends.jax.arrays import jnp
from phintys.backends.jax.functions_of_jax import JaxOp
from phintys.backends.jax.tracing import MisfitError, Trace, converts, makes_large

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


@converts(JaxOp)
@makes_large
def jax_function(op: Any, node: Apply, trace: Trace, *inputs: Any) -> list[Any]:
    """The function is a part of the program."""
    results = list(op.jax_function(*(jnp.asarray(value) for value in inputs)))
    types: list[Any] = [output.type for output in node.outputs]
    if [(str(r.dtype), r.ndim) for r in results] != [(t.dtype, t.ndim) for t in types]:
        raise MisfitError(node)
    return results
