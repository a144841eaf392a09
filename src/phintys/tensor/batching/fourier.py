"""Batches of Fourier transforms: the Ops transform some axes of arrays of any rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.tensor.batching.rules import batches
from phintys.tensor.fourier.ops import FFT, IRFFT, RFFT

if TYPE_CHECKING:
    from phintys.tensor.batching.engine import Batch


@batches(FFT, RFFT, IRFFT)
def batch_transform(node: Any, batch: Batch) -> list[Any] | None:
    """Transform the same axes, which come after those of the batch."""
    x, *points = batch.inputs
    if any(batch.ranks[1:]):
        return None
    return [node.op.after(batch.ndim)(x, *points)]
