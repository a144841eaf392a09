"""Memory ownership: explicit copies, so that no value is shared or overwritten without permission.

A result belongs to the caller. It must not share memory with an argument, a shared value, a
constant, or another result, unless both sides are marked ``borrow``. The new value of a shared
variable must not share memory with anything outside the function except arguments marked
``borrow``. Arguments, shared values and constants are not written to, except for arguments marked
``mutable``. Where the graph would break one of these rules, a
:class:`~phintys.compile.ops.DeepCopy` is inserted, so that backends need not know them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from phintys._base.origin import inherit_origin
from phintys.compile.ops import deep_copy
from phintys.graph.aliasing import DestroyHandler, check_maps
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from phintys.compile.io import In
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable

    Roots = frozenset[Variable]

__all__ = ["guard_memory", "separate_outputs"]


def guard_memory(fgraph: FunctionGraph, inputs: Sequence[In]) -> None:
    """Make it safe for Ops of a graph to overwrite their inputs, and keep it safe.

    Arguments, shared values and constants are copied before they are overwritten, as are outputs
    that would be overwritten later. From then on, a
    :class:`~phintys.graph.aliasing.DestroyHandler` rejects rewrites that break a rule.

    Parameters
    ----------
    fgraph
        The graph, before any rewrites.
    inputs
        The specification of each input of the graph.

    Raises
    ------
    InconsistencyError
        Two nodes overwrite the same value, or there is no valid execution order.
    OpContractError
        A ``view_map`` or ``destroy_map`` is not valid.
    """
    mutable = [
        variable
        for variable, spec in zip(fgraph.inputs, inputs, strict=True)
        if spec.mutable and not spec.shared and spec.update is None and spec.value is None
    ]
    for node in fgraph.apply_nodes:
        if node.op.view_map or node.op.destroy_map:
            check_maps(node)
    if any(node.op.destroy_map for node in fgraph.apply_nodes):
        _protect_inputs(fgraph, set(mutable))
        memory = _Memory(fgraph.toposort())
        for number, output in enumerate(fgraph.outputs):
            if memory.is_overwritten(output):
                _copy_output(fgraph, number)
    fgraph.attach_feature(DestroyHandler(mutable))
    fgraph.validate()


def separate_outputs(
    fgraph: FunctionGraph, inputs: Sequence[In], borrow: Sequence[bool], updated: Sequence[int]
) -> None:
    """Copy each output of a rewritten graph that would share memory where it must not.

    Parameters
    ----------
    fgraph
        The graph. Its outputs are the returned ones, followed by the new values of ``updated``.
    inputs
        The specification of each input of the graph.
    borrow
        For each returned output, whether it may share memory.
    updated
        For each update, the index of the input that it updates.
    """
    memory = _Memory(fgraph.toposort())
    specs = dict(zip(fgraph.inputs, inputs, strict=True))
    replaced = {fgraph.inputs[number] for number in updated}
    targets: list[Variable | None] = [None] * len(borrow)
    targets.extend(fgraph.inputs[number] for number in updated)
    users: dict[Variable, bool] = {}  # root -> whether all outputs that share it are borrowed
    # Views are handled last, since copying a view is cheaper than copying its base.
    views = [
        target is None and output not in memory.roots_of(output)
        for output, target in zip(fgraph.outputs, targets, strict=True)
    ]
    for number in sorted(range(len(views)), key=views.__getitem__):
        output, target = fgraph.outputs[number], targets[number]
        borrowed = target is None and borrow[number]
        roots = memory.roots_of(output)
        if any(_is_outside(root, target, borrowed, specs, replaced) for root in roots) or any(
            root in users and not (borrowed and users[root]) for root in roots
        ):
            _copy_output(fgraph, number)
            continue
        users.update(dict.fromkeys(roots, borrowed))


def _pairs(node: Apply) -> Iterator[tuple[Variable | None, Variable]]:
    """Yield pairs of an output and an input of a node that may share memory."""
    for aliases in (node.op.view_map, node.op.destroy_map):
        for output, positions in aliases.items():
            for position in positions:
                yield (None if output is None else node.outputs[output]), node.inputs[position]


def _destroyed(node: Apply) -> list[Variable]:
    """Return the inputs that a node overwrites."""
    destroy_map = node.op.destroy_map
    return [node.inputs[position] for positions in destroy_map.values() for position in positions]


class _Memory:
    """Memory sharing and overwriting in a sorted graph.

    Attributes
    ----------
    roots : dict
        Variable -> the variables whose memory it may share; itself if it has its own.
    """

    def __init__(self, nodes: Sequence[Apply]) -> None:
        self.roots: dict[Variable, Roots] = {}
        # Root -> the number of the last node that overwrites its memory.
        self.last_write: dict[Variable, int] = {}
        # For each root, the number of the last overwriting node that a value has gone through.
        self.written: dict[Variable, dict[Variable, int]] = {}
        for number, node in enumerate(nodes):
            self._add(node, number)

    def roots_of(self, variable: Variable) -> Roots:
        """Return the variables whose memory a variable may share."""
        return self.roots.get(variable) or frozenset((variable,))

    def is_overwritten(self, variable: Variable) -> bool:
        """Return whether the memory of a variable is written to after it was computed."""
        seen = self.written.get(variable, {})
        return any(
            self.last_write.get(root, -1) > seen.get(root, -1) for root in self.roots_of(variable)
        )

    def _add(self, node: Apply, number: int) -> None:
        found: dict[Variable, set[Variable]] = {}
        for output, source in _pairs(node):
            if output is not None:
                found.setdefault(output, set()).update(self.roots_of(source))
                seen = self.written.setdefault(output, {})
                for root, at in self.written.get(source, {}).items():
                    seen[root] = max(at, seen.get(root, -1))
        for output, roots in found.items():
            self.roots[output] = frozenset(roots)
        for victim in _destroyed(node):
            for root in self.roots_of(victim):
                self.last_write[root] = number
            for output in node.outputs:
                for root in self.roots_of(output).intersection(self.roots_of(victim)):
                    self.written.setdefault(output, {})[root] = number


def _protect_inputs(fgraph: FunctionGraph, mutable: set[Variable]) -> None:
    """Copy inputs and constants before they are overwritten."""
    memory = _Memory(fgraph.toposort())
    victims: dict[Variable, Apply] = {}
    for node in fgraph.apply_nodes:
        for victim in _destroyed(node):
            for root in memory.roots_of(victim):
                if root.owner is None and root not in mutable:
                    victims.setdefault(root, node)
    for victim, node in victims.items():
        with inherit_origin(node.origin):
            copied = deep_copy(victim)
        fgraph.replace(victim, copied, reason="protect inputs")


def _is_outside(
    root: Variable,
    target: Variable | None,
    borrowed: bool,
    specs: dict[Variable, In],
    replaced: set[Variable],
) -> bool:
    """Return whether an output must not share the memory of ``root``."""
    if isinstance(root, Constant):
        return True
    spec = specs.get(root)
    if spec is None:
        return False
    if target is None:
        return not (borrowed and spec.borrow)
    # An update can take over the old value of an updated variable, so a swap needs no copy.
    if root in replaced:
        return False
    return spec.shared or spec.value is not None or not spec.borrow


def _copy_output(fgraph: FunctionGraph, number: int) -> None:
    output = fgraph.outputs[number]
    with inherit_origin(output.origin):
        copied = deep_copy(output)
    fgraph.change_node_input("output", number, copied, reason="own outputs")
