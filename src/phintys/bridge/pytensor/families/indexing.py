"""Indexing, and assignment to what is indexed."""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytensor.tensor.extra_ops as extra
from pytensor.tensor import basic, subtensor
from pytensor.tensor.type_other import MakeSlice

import phintys.tensor as pt
from phintys.bridge.pytensor.conversion import convert_op


def _index(op: Any, given: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index of a node, from its form in the Op and from the inputs."""
    rest = iter(given)
    return tuple(_entry(entry, rest) for entry in op.idx_list)


def _entry(entry: Any, rest: Iterator[Any]) -> Any:
    if not isinstance(entry, slice):
        return next(rest)
    bounds = (entry.start, entry.stop, entry.step)
    return slice(*(None if one is None else next(rest) for one in bounds))


@convert_op.register(subtensor.Subtensor)
@convert_op.register(subtensor.AdvancedSubtensor)
def _subtensor(op: Any, node: Any, x: Any, *given: Any) -> Any:
    return x[_index(op, given)]


@convert_op.register(subtensor.IncSubtensor)
@convert_op.register(subtensor.AdvancedIncSubtensor)
def _inc_subtensor(op: Any, node: Any, x: Any, y: Any, *given: Any) -> Any:
    part = x[_index(op, given)]
    if op.set_instead_of_inc:
        return pt.set_subtensor(part, y)
    return pt.inc_subtensor(part, y, ignore_duplicates=getattr(op, "ignore_duplicates", False))


@convert_op.register(MakeSlice)
def _make_slice(op: Any, node: Any, *bounds: Any) -> Any:
    return slice(*bounds)


@convert_op.register(basic.Nonzero)
def _nonzero(op: Any, node: Any, x: Any) -> Any:
    return list(pt.nonzero(x))


@convert_op.register(basic.Choose)
def _choose(op: Any, node: Any, x: Any, choices: Any) -> Any:
    return pt.choose(x, choices, mode=op.mode)


@convert_op.register(extra.UnravelIndex)
def _unravel_index(op: Any, node: Any, places: Any, sizes: Any) -> Any:
    return list(pt.unravel_index(places, sizes, order=op.order))


@convert_op.register(extra.RavelMultiIndex)
def _ravel_multi_index(op: Any, node: Any, *given: Any) -> Any:
    *places, sizes = given
    return pt.ravel_multi_index(places, sizes, mode=op.mode, order=op.order)


@convert_op.register(basic.PermuteRowElements)
def _permute(op: Any, node: Any, x: Any, places: Any) -> Any:
    return pt.permute_row_elements(x, places, inverse=op.inverse)
