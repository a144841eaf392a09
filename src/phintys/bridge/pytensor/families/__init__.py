"""What PyTensor's Ops are in Phintys, one module a family of Ops, which registers functions."""

from phintys.bridge.pytensor.families import (  # noqa: F401 - registers functions
    arrays,
    elementwise,
    graph_ops,
    linear_algebra,
    loops,
    random,
    reductions,
    signal,
    sparse,
)
