"""Constant folding: nodes that depend only on constants are computed at compile time."""

from __future__ import annotations

from math import prod
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import InconsistencyError
from phintys.graph.alias_map import is_overwritten
from phintys.graph.contract import do_constant_folding
from phintys.graph.inner import HasInnerGraph
from phintys.graph.variable import Constant
from phintys.rewriting import GraphRewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace

__all__ = ["GROWTH", "SMALL", "ConstantFolding", "compute_constants", "constant_folding"]

SMALL = 4096
"""Results of up to this many elements are always folded."""

GROWTH = 4
"""Larger results are folded if they have at most this many times the elements of the inputs."""


class ConstantFolding(GraphRewriter):
    """f(constants) -> constant

    Makes a single walk in topological order, so that chains of constants are folded at once. A node
    is not folded if

    - its Op disallows it (``do_constant_folding``), or it has no inputs, so that it is not known to
      be constant;
    - it overwrites an input, or another node overwrites its result;
    - its Op has an inner graph, and the pass runs before ``inner_graphs`` (``inner=False``);
    - a result would have more than :data:`SMALL` elements and more than :data:`GROWTH` times those
      of the inputs: ``zeros((10_000, 10_000))`` is cheap to compute and expensive to store;
    - computing it raises. The error is then raised when the function is called, with the user's
      line, and recorded in the trace.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.graph import FunctionGraph
    >>> from phintys.passes.folding import constant_folding
    >>> fgraph = FunctionGraph([], [pt.constant(1.0) + pt.constant(2.0)])
    >>> constant_folding.apply(fgraph)
    >>> fgraph.outputs[0].data
    array(3.)
    """

    def __init__(self, *, inner: bool = True) -> None:
        super().__init__(name="constant_folding")
        self.inner = inner

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Fold all foldable nodes of ``fgraph``."""
        for node in fgraph.toposort():
            inputs = node.inputs
            if not inputs or not isinstance(inputs[0], Constant):
                continue  # fast path for the common case
            if isinstance(node.op, HasInnerGraph) and not self.inner:
                continue
            if node in fgraph.apply_nodes and _may_fold(fgraph, node):
                _fold(fgraph, node, trace)


def _may_fold(fgraph: FunctionGraph, node: Apply) -> bool:
    return (
        all(isinstance(variable, Constant) for variable in node.inputs)
        and not node.op.destroy_map
        and all(_is_small(node, _static_size(variable)) for variable in node.outputs)
        and not any(is_overwritten(fgraph, variable) for variable in node.outputs)
        and do_constant_folding(fgraph, node)
    )


def _fold(fgraph: FunctionGraph, node: Apply, trace: RewriteTrace | None) -> None:
    start = perf_counter()
    pairs: list[tuple[Variable, Variable]] = []
    refused = ""
    try:
        constants = compute_constants(node)
    except Exception as error:  # noqa: BLE001 - an Op may raise anything; it will at the call, too
        refused = f"{type(error).__name__}: {error}"
    else:
        if not all(_is_small(node, _size(constant.data)) for constant in constants):
            refused = "the result is large"
        else:
            wanted = zip(node.outputs, constants, strict=True)
            pairs = [(old, new) for old, new in wanted if fgraph.clients.get(old)]
            try:
                fgraph.replace_all_validate(pairs, reason="constant_folding")
            except InconsistencyError as error:
                refused = str(error)
    if trace is not None:
        seconds = perf_counter() - start
        trace.record("constant_folding", node, tuple(pairs), seconds, refused)


def compute_constants(node: Apply) -> list[Constant]:
    """Compute a node whose inputs are all constants; return its outputs as constants.

    Parameters
    ----------
    node
        The node, which is not modified.

    Raises
    ------
    Exception
        Whatever the Op raises.
    """
    storage: dict[Variable, list[Any]] = {}
    for variable in node.inputs:
        assert isinstance(variable, Constant)
        storage[variable] = [variable.data]
    computed: dict[Variable, list[Any]] = {variable: [True] for variable in storage}
    for variable in node.outputs:
        storage[variable] = [None]
        computed[variable] = [False]
    thunk = node.op.make_thunk(node, storage, computed, [])
    # Floating-point errors are reported when a function is called, not while it is compiled.
    with np.errstate(all="ignore"):
        thunk()
    return [variable.type.make_constant(storage[variable][0]) for variable in node.outputs]


def _is_small(node: Apply, size: int) -> bool:
    return size <= SMALL or size <= GROWTH * _total_size(node.inputs)


def _total_size(constants: Sequence[Variable]) -> int:
    return sum(_size(variable.data) for variable in constants if isinstance(variable, Constant))


def _size(value: Any) -> int:
    """Return the number of elements of a value; 1 if it is not an array."""
    return value.size if isinstance(value, np.ndarray) else 1


def _static_size(variable: Variable) -> int:
    """Return the static number of elements of a variable; 0 if it is not known."""
    sizes: Any = getattr(variable.type, "shape", None)
    if not isinstance(sizes, tuple) or not all(isinstance(size, int) for size in sizes):
        return 0
    return prod(sizes)


constant_folding = ConstantFolding()
