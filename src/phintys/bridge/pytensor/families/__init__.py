"""What PyTensor's Ops are in Phintys, one module a family of Ops."""

from phintys.bridge.pytensor.families import (
    control,
    elementwise,
    graph_ops,
    indexing,
    linear_algebra,
    loops,
    ordering,
    random,
    reductions,
    shapes,
    signal,
    solving,
    sparse,
)

__all__ = ["FAMILIES"]

FAMILIES = (
    elementwise,
    reductions,
    shapes,
    signal,
    indexing,
    ordering,
    linear_algebra,
    solving,
    control,
    graph_ops,
    loops,
    random,
    sparse,
)
