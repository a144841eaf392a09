"""Common subexpression elimination: equal computations are merged.

Two nodes are merged if their Ops compare equal and they have the same inputs; two constants, if
their signatures are equal. A single walk in topological order finds them all, since the inputs of
equal nodes have already been merged by the time the nodes are reached.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from phintys._base.errors import InconsistencyError
from phintys.graph.alias_map import overwritten_variables
from phintys.graph.variable import Constant
from phintys.rewriting import GraphRewriter
from phintys.tensor.elemwise import Elemwise

if TYPE_CHECKING:
    from collections.abc import Hashable

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting import RewriteTrace

    Pairs = list[tuple[Variable, Variable]]


class Merge(GraphRewriter):
    """f(x), f(x) -> one f(x); x + y, y + x -> one x + y

    Of equal computations, the first in topological order is kept. The time is linear in the size of
    the graph.

    The following are not merged:

    - Ops with a ``destroy_map``, and nodes whose results such an Op overwrites, also through views:
      values that are equal must not share memory if one of them changes later;
    - nodes whose outputs have different types;
    - Ops and constants that cannot be compared. If ``__hash__``, ``__eq__`` or ``signature``
      raises, the error is recorded in the trace.

    Examples
    --------
    >>> from phintys.graph import Apply, FunctionGraph, Op, generic
    >>> from phintys.passes.merging import merge
    >>> class Twice(Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [generic()])
    >>> x = generic("x")
    >>> fgraph = FunctionGraph([x], [Twice()(x), Twice()(x)])
    >>> merge.apply(fgraph)
    >>> len(fgraph.apply_nodes)
    1
    """

    def __init__(self) -> None:
        super().__init__(name="merge")

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Merge equal computations in ``fgraph``."""
        _Merging(fgraph, trace).run()


class _Merging:
    """A single run over one graph."""

    def __init__(self, fgraph: FunctionGraph, trace: RewriteTrace | None) -> None:
        self.fgraph = fgraph
        self.trace = trace
        self.fixed = overwritten_variables(fgraph)
        # The tables keep their objects alive, so that ids are not reused.
        self.constants: dict[Hashable, Constant] = {}
        self.seen_constants: dict[int, Constant] = {}
        self.nodes: dict[tuple[int, tuple[int, ...]], list[Apply]] = {}

    def run(self) -> None:
        for node in self.fgraph.toposort():
            if node not in self.fgraph.apply_nodes:
                continue  # merged already
            for variable in node.inputs:
                if isinstance(variable, Constant):
                    self._merge_constant(variable)
            self._merge_node(node)
        for variable in self.fgraph.outputs:
            if isinstance(variable, Constant):
                self._merge_constant(variable)

    def _merge_constant(self, constant: Constant) -> None:
        if self.seen_constants.setdefault(id(constant), constant) is not constant:
            return
        if constant in self.fixed:
            return
        try:
            first = self.constants.setdefault(constant.signature(), constant)
        except Exception as error:  # noqa: BLE001 - a user's Type may raise anything
            self._note(None, ((constant, constant),), _incomparable(constant, error))
            return
        if first is not constant:
            self._replace(None, [(constant, first)])

    def _merge_node(self, node: Apply) -> None:
        op = node.op
        if op.destroy_map or not self.fixed.isdisjoint(node.outputs):
            return
        try:
            inputs = [id(variable) for variable in node.inputs]
            if len(inputs) == 2 and _is_commutative(op):
                inputs.sort()
            key = (hash(op), tuple(inputs))
        except Exception as error:  # noqa: BLE001 - a user's Op may raise anything
            self._note(node, (), _incomparable(op, error))
            return
        alike = self.nodes.setdefault(key, [])
        for first in alike:
            if (
                first in self.fgraph.apply_nodes
                and self._equal_ops(first, node)
                and self._equal_types(first, node)
                and self._replace(node, list(zip(node.outputs, first.outputs, strict=True)))
            ):
                return
        alike.append(node)

    def _equal_ops(self, first: Apply, node: Apply) -> bool:
        one, other = first.op, node.op
        if one is other:
            return True
        try:
            return bool(one == other)
        except Exception as error:  # noqa: BLE001 - a user's Op may raise anything
            self._note(node, (), _incomparable(other, error))
            return False

    def _equal_types(self, first: Apply, node: Apply) -> bool:
        if len(first.outputs) != len(node.outputs):
            return False
        try:
            return all(
                one.type is other.type or bool(one.type == other.type)
                for one, other in zip(first.outputs, node.outputs, strict=True)
            )
        except Exception as error:  # noqa: BLE001 - a user's Type may raise anything
            self._note(node, (), _incomparable(node.outputs[0].type, error))
            return False

    def _replace(self, node: Apply | None, pairs: Pairs) -> bool:
        pairs = [(old, new) for old, new in pairs if self.fgraph.clients.get(old)]
        start = perf_counter()
        refused = ""
        try:
            self.fgraph.replace_all_validate(pairs, reason="merge")
        except InconsistencyError as error:
            refused = str(error)
        except Exception as error:  # noqa: BLE001 - a user's Type may raise anything
            refused = _incomparable(pairs[0][0].type, error)
        if self.trace is not None:
            seconds = perf_counter() - start
            self.trace.record("merge", node, tuple(pairs), seconds, refused)
        return not refused

    def _note(self, node: Apply | None, pairs: Any, refused: str) -> None:
        if self.trace is not None:
            self.trace.record("merge", node, pairs, 0.0, refused)


def _is_commutative(op: Any) -> bool:
    """Return whether an Op has two operands that can be swapped without changing the result."""
    return isinstance(op, Elemwise) and op.scalar_op.commutative


def _incomparable(thing: object, error: Exception) -> str:
    return f"{type(thing).__name__} cannot be compared: {type(error).__name__}: {error}"


merge = Merge()
