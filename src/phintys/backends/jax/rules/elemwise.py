"""Elementwise Ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.backends.jax.arrays import jnp
from phintys.backends.jax.rules.scalars import apply_scalar
from phintys.backends.jax.tracing import MisfitError, Trace, converts
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from phintys.graph.apply import Apply


@converts(Elemwise)
def elemwise(op: Any, node: Apply, trace: Trace, *inputs: Any) -> list[Any]:
    """Apply the scalar op; only sizes that are statically 1 are broadcast."""
    _check_sizes(node, inputs)
    dtypes = [np.dtype(output.type.dtype) for output in node.outputs]  # pyright: ignore[reportAttributeAccessIssue]
    shape = np.broadcast_shapes(*(np.shape(value) for value in inputs))
    args = [jnp.asarray(value) for value in _with_scalars(inputs)]
    found = apply_scalar(op.scalar_op, args, dtypes, trace, node)
    return [
        jnp.broadcast_to(result, shape).astype(dtype)
        for result, dtype in zip(found, dtypes, strict=True)
    ]


def _with_scalars(values: Sequence[Any]) -> Sequence[Any]:
    """Return values of which those with one element are scalars, if others are larger.

    XLA takes ``x / exp(s)`` apart into ``x * exp(-s)`` where ``s`` is an array of one element, and
    computes the product again in each kernel that uses it.
    """
    if all(np.size(value) == 1 for value in values):
        return values
    return [value.reshape(()) if np.size(value) == 1 else value for value in values]


def _check_sizes(node: Apply, inputs: Sequence[Any]) -> None:
    for axis in range(max((np.ndim(value) for value in inputs), default=0)):
        sizes = {
            np.shape(value)[axis]
            for value, variable in zip(inputs, node.inputs, strict=True)
            if variable.type.shape[axis] != 1  # pyright: ignore[reportAttributeAccessIssue]
        }
        if len(sizes) > 1:
            raise MisfitError(node)
