"""Constant folding: nodes that depend only on constants are computed at compile time."""

from __future__ import annotations

from collections import Counter
from math import prod
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import InconsistencyError
from phintys.graph.alias_map import is_overwritten
from phintys.graph.apply import Apply
from phintys.graph.contract import do_constant_folding
from phintys.graph.inner import HasInnerGraph
from phintys.graph.traversal import applys_between
from phintys.graph.variable import Constant
from phintys.rewriting import GraphRewriter
from phintys.tensor.creation import Alloc
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import Slice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace

SMALL = 4096
"""Results of up to this many elements are always folded."""

GROWTH = 4
"""Larger results are folded if they have at most this many times the elements of the inputs."""

LARGEST = 1 << 22
"""Results of up to this many elements are computed, and dropped again, for what is made of them."""

_MOST_KEPT = 4 * LARGEST


class ConstantFolding(GraphRewriter):
    """f(constants) -> constant

    Makes a single walk in topological order, so that chains of constants are folded at once. A node
    is not folded if

    - its Op disallows it (``do_constant_folding``), or it has no inputs, so that it is not known to
      be constant;
    - it overwrites an input, or another node overwrites its result;
    - its Op has an inner graph, and the pass runs before ``inner_graphs`` (``inner=False``);
    - it is a slice of a large constant, one of several that together have more elements than it,
      and only elementwise nodes read it: these read it where it is;
    - a result would have more than :data:`SMALL` elements and more than :data:`GROWTH` times those
      of the inputs: ``zeros((10_000, 10_000))`` is cheap to compute and expensive to store. What is
      made of it can be folded nevertheless: the eigenvalues of a matrix with a constant diagonal;
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
        large = _LargeResults()
        for node in fgraph.toposort():
            inputs = node.inputs
            if not inputs or not large.is_known(inputs[0]):
                continue  # fast path for the common case
            if isinstance(node.op, HasInnerGraph) and not self.inner:
                continue
            if node not in fgraph.apply_nodes or not _may_compute(fgraph, node, large):
                continue
            used = [variable for variable in node.outputs if fgraph.clients.get(variable)]
            is_small = all(_is_small(node, _static_size(variable)) for variable in used)
            if is_small and do_constant_folding(fgraph, node) and not _stays(fgraph, node, large):
                _fold(fgraph, node, large, trace)
            else:
                large.defer(node, [_static_size(variable) for variable in used])


class _LargeResults:
    """Results of constants that are too large to be constants, computed if they are needed.

    Attributes
    ----------
    overlapping
        Whether the slices of a constant have more elements than it.
    """

    def __init__(self) -> None:
        self.overlapping: dict[Variable, bool] = {}
        self._nodes: dict[Variable, Apply] = {}
        self._kept: dict[Variable, Constant] = {}

    def is_known(self, variable: Variable) -> bool:
        """Return whether a variable is a constant, or could be computed."""
        return isinstance(variable, Constant) or variable in self._nodes

    def defer(self, node: Apply, sizes: Iterable[int]) -> bool:
        """Note a node whose inputs are known, unless its results are too large to compute."""
        fits = all(0 < size <= LARGEST for size in sizes)
        if fits:
            self._nodes.update(dict.fromkeys(node.outputs, node))
        return fits

    def keep(self, values: dict[Variable, Constant]) -> None:
        """Keep results for others that are made of them, up to a limit."""
        both = self._kept | values
        self._kept = both if sum(_size(one.data) for one in both.values()) <= _MOST_KEPT else values

    def constants(self, node: Apply) -> list[Constant]:
        """Return the outputs of a node as constants, from those that it is made of.

        Each of these is dropped when no other one needs it; the inputs of the node are kept for
        others that are made of them.
        """
        if all(isinstance(variable, Constant) for variable in node.inputs):
            return compute_constants(node)
        before = list(applys_between(self._kept, node.inputs))
        uses = Counter(variable for one in (*before, node) for variable in set(one.inputs))
        values = dict(self._kept)
        for current in before:
            found = compute_constants(current, values)
            for variable in dict.fromkeys(current.inputs):
                uses[variable] -= 1
                if not uses[variable]:
                    values.pop(variable, None)
            values.update(
                (old, new) for old, new in zip(current.outputs, found, strict=True) if uses[old]
            )
        self.keep({one: values[one] for one in node.inputs if one in values})
        return compute_constants(node, values)


def _may_compute(fgraph: FunctionGraph, node: Apply, large: _LargeResults) -> bool:
    return (
        all(map(large.is_known, node.inputs))
        and not node.op.destroy_map
        and not any(is_overwritten(fgraph, variable) for variable in node.outputs)
        # An Alloc that is written to is not folded, but results that depend on it are.
        and (do_constant_folding(fgraph, node) or isinstance(node.op, Alloc))
    )


def _stays(fgraph: FunctionGraph, node: Apply, large: _LargeResults) -> bool:
    """Return whether a node is one of the slices of a large constant that are read where it is."""
    whole = node.inputs[0]
    if not isinstance(whole, Constant) or _size(whole.data) <= SMALL:
        return False
    if not _is_read_as_slice(fgraph, node, large):
        return False
    if whole not in large.overlapping:
        slices = {client for client, _ in fgraph.clients[whole] if isinstance(client, Apply)}
        copied = sum(
            _static_size(one.outputs[0]) for one in slices if _is_read_as_slice(fgraph, one, large)
        )
        large.overlapping[whole] = copied > _size(whole.data)
    return large.overlapping[whole]


def _is_read_as_slice(fgraph: FunctionGraph, node: Apply, large: _LargeResults) -> bool:
    """Return whether a node takes a slice of step 1 that only elementwise nodes read.

    None of these may be one of constants alone, which is folded itself.
    """
    op = node.op
    if not isinstance(op, Subtensor) or not all(map(_is_dense, op.idx_list)):
        return False
    return all(
        isinstance(client, Apply)
        and isinstance(client.op, Elemwise)
        and not all(map(large.is_known, client.inputs))
        for client, _ in fgraph.clients[node.outputs[0]]
    )


def _is_dense(entry: Any) -> bool:
    return isinstance(entry, Slice) and entry.step in {None, 1}


def _fold(
    fgraph: FunctionGraph, node: Apply, large: _LargeResults, trace: RewriteTrace | None
) -> None:
    start = perf_counter()
    pairs: list[tuple[Variable, Variable]] = []
    refused = ""
    try:
        constants = large.constants(node)
    except Exception as error:  # noqa: BLE001 - an Op may raise anything; it will at the call, too
        refused = f"{type(error).__name__}: {error}"
    else:
        wanted = zip(node.outputs, constants, strict=True)
        found = [(old, new) for old, new in wanted if fgraph.clients.get(old)]
        if not all(_is_small(node, _size(new.data)) for _, new in found):
            refused = "the result is large"
            if large.defer(node, [_size(new.data) for _, new in found]):
                large.keep(dict(found))
        else:
            pairs.extend(found)
            try:
                fgraph.replace_all_validate(pairs, reason="constant_folding")
            except InconsistencyError as error:
                refused = str(error)
    if trace is not None:
        seconds = perf_counter() - start
        trace.record("constant_folding", node, tuple(pairs), seconds, refused)


def compute_constants(
    node: Apply, known: Mapping[Variable, Constant] = MappingProxyType({})
) -> list[Constant]:
    """Compute a node whose inputs are all constants; return its outputs as constants.

    Parameters
    ----------
    node
        The node, which is not modified.
    known
        Constants in place of inputs that are none.

    Raises
    ------
    Exception
        Whatever the Op raises.
    """
    storage: dict[Variable, list[Any]] = {}
    for variable in node.inputs:
        constant = known.get(variable, variable)
        assert isinstance(constant, Constant)
        storage[variable] = [constant.data]
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


def _total_size(variables: Sequence[Variable]) -> int:
    """Return the number of elements of constants, and of slices of constants."""
    total = 0
    for variable in variables:
        node = variable.owner
        if isinstance(variable, Constant):
            total += _size(variable.data)
        elif node is not None and isinstance(node.op, Subtensor):
            total += _static_size(variable) if isinstance(node.inputs[0], Constant) else 0
    return total


def _size(value: Any) -> int:
    """Return the number of elements of a value; 1 if it is not an array."""
    return value.size if isinstance(value, np.ndarray) else 1


def _static_size(variable: Variable) -> int:
    """Return the static number of elements of a variable; 0 if it is not known."""
    sizes: Any = getattr(variable.type, "shape", None)
    if not isinstance(sizes, tuple):
        return 0
    ndim = len(sizes)
    node = variable.owner
    if None in sizes and node is not None and isinstance(node.op, Alloc):
        # Sizes may have become constants only after the type was made.
        sizes = [size.data.item() for size in node.inputs[1:] if isinstance(size, Constant)]
    return prod(sizes) if len(sizes) == ndim and None not in sizes else 0


constant_folding = ConstantFolding()
