"""Sorting and searching."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

from pytensor.tensor.extra_ops import SearchsortedOp, Unique
from pytensor.tensor.sort import ArgSortOp, SortOp

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op


@convert_op.register(SortOp)
def _sort(op: Any, node: Any, x: Any) -> Any:
    return pt.sort(x, axis=op.axis, kind=op.kind)


@convert_op.register(ArgSortOp)
def _argsort(op: Any, node: Any, x: Any) -> Any:
    return pt.argsort(x, axis=op.axis, kind=op.kind)


@convert_op.register(SearchsortedOp)
def _searchsorted(op: Any, node: Any, x: Any, v: Any, sorter: Any = None) -> Any:
    return pt.searchsorted(x, v, side=op.side, sorter=sorter)


@convert_op.register(Unique)
def _unique(op: Any, node: Any, x: Any) -> Any:
    return pt.unique(x, op.return_index, op.return_inverse, op.return_counts, axis=op.axis)
