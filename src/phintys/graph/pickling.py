"""Pickling and deep-copying of graphs of any depth.

Pickle saves what an object refers to before the object itself, so a chain of 100,000 nodes would
need 100,000 nested calls. Here the first computed variable that a pickler meets brings a
:class:`_Bundle` along: a list of all nodes below it, inputs first. Pickle walks that list, and by
the time it reaches a node, the node's inputs are already in the pickler's memo, so nothing nests.

How does a variable know that a bundle is on its way? The pickler's memo keeps the bundle alive for
just as long as the memo's own life, so a weak reference to the newest bundle says it. Should the
answer be wrong (two picklers taking turns on one thread), the variable is still saved correctly,
only with nesting.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Constant, Variable

__all__ = ["reduce_apply", "reduce_constant", "reduce_variable"]


class _Bundle:
    """The nodes that a pickler saves before anything that depends on them, inputs first."""

    def __init__(self, nodes: dict[Apply, None] | None = None) -> None:
        self.nodes: dict[Apply, None] = {} if nodes is None else nodes
        self.announced: set[Apply] = set(self.nodes)

    def append(self, node: Apply) -> None:
        """Accept a node; pickle and copy call this as they rebuild."""
        self.nodes[node] = None

    def __reduce__(self) -> tuple[Any, ...]:
        return (_Bundle, (), None, iter(self.nodes))


class _Newest(threading.local):
    bundle: weakref.ref[_Bundle] | None = None


_NEWEST = _Newest()


def _announced() -> set[Apply] | None:
    reference = _NEWEST.bundle
    bundle = None if reference is None else reference()
    return None if bundle is None else bundle.announced


def _nodes_below(node: Apply, known: set[Apply]) -> Iterator[Apply]:
    """Yield ``node`` and the nodes it needs that are not ``known``, inputs first."""
    seen: set[Apply] = set()
    stack = [(node, False)]
    while stack:
        current, expanded = stack.pop()
        if expanded:
            yield current
        elif current not in seen and current not in known:
            seen.add(current)
            stack.append((current, True))
            stack.extend(
                (variable.owner, False)
                for variable in reversed(current.inputs)
                if variable.owner is not None
            )


def _bundle_for(node: Apply) -> _Bundle | None:
    """Return a new bundle that brings ``node``, or ``None`` if one on its way already does."""
    known = _announced()
    if known is not None and node in known:
        return None
    bundle = _Bundle(dict.fromkeys(_nodes_below(node, known or set())))
    if known is not None:
        bundle.announced |= known
    _NEWEST.bundle = weakref.ref(bundle)
    return bundle


def _pick_output(node: Apply, index: int) -> Variable:
    return node.outputs[index]


def _pick_bundled_output(_bundle: _Bundle, node: Apply, index: int) -> Variable:
    return node.outputs[index]


def _pick_bundled_node(_bundle: _Bundle, node: Apply) -> Apply:
    return node


def _new_leaf(cls: type[Variable]) -> Variable:
    return cls.__new__(cls)


def _new_node(
    cls: type[Apply],
    op: Any,
    inputs: list[Variable],
    outputs: list[tuple[type[Variable], dict[str, Any]]],
    state: dict[str, Any],
) -> Apply:
    node = cls.__new__(cls)
    node.op = op
    node.inputs = inputs
    node.outputs = []
    for variable_class, variable_state in outputs:
        variable = variable_class.__new__(variable_class)
        variable.__dict__.update(variable_state)
        variable.owner = node
        node.outputs.append(variable)
    node.__dict__.update(state)
    return node


def reduce_variable(variable: Variable) -> tuple[Any, ...]:
    """Answer pickle for a variable: a leaf by its state, a computed one by its node."""
    node = variable.owner
    if node is None:
        return (_new_leaf, (type(variable),), dict(variable.__dict__))
    index = node.outputs.index(variable) if variable.index is None else variable.index
    bundle = _bundle_for(node)
    if bundle is None:
        return (_pick_output, (node, index))
    return (_pick_bundled_output, (bundle, node, index))


def reduce_constant(constant: Constant) -> tuple[Any, ...]:
    """Answer pickle for a constant, which is always a leaf."""
    return (_new_leaf, (type(constant),), dict(constant.__dict__))


def reduce_apply(node: Apply) -> tuple[Any, ...]:
    """Answer pickle for an Apply node."""
    bundle = _bundle_for(node)
    if bundle is not None:
        return (_pick_bundled_node, (bundle, node))
    outputs = [
        (type(variable), {k: v for k, v in variable.__dict__.items() if k != "owner"})
        for variable in node.outputs
    ]
    state = {k: v for k, v in node.__dict__.items() if k not in {"op", "inputs", "outputs"}}
    return (_new_node, (type(node), node.op, node.inputs, outputs, state))
