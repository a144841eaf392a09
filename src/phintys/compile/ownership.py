"""Memory ownership: explicit copies, so that no value is shared or overwritten by surprise.

A result belongs to the caller. It must not share memory with an argument, a shared value, a
constant, or another result, unless both sides are marked ``borrow``. The new value of a shared
variable must not share memory with anything outside the function except arguments marked
``borrow``. Arguments, shared values and constants are not written to, except for arguments marked
``mutable``. Where the graph would break one of these rules, a
:class:`~phintys.compile.ownership.DeepCopy` is inserted, so that backends need not know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phintys._base.origin import inherit_origin
from phintys.backends.base import copy_value
from phintys.graph.alias_map import AliasMap, check_maps, destroyed_inputs
from phintys.graph.aliasing import DestroyHandler, overwrites
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph, require_calls
from phintys.graph.variable import Constant
from phintys.tensor.shape_rules import KeepsShape

if TYPE_CHECKING:
    from collections.abc import Collection

    from phintys.compile.io import In
    from phintys.graph.variable import Variable


class DeepCopy(KeepsShape):
    """y = x, as a copy in new memory.

    The compiler inserts it where an output would share memory with an input, a shared value, a
    constant or another output, and for inputs that would be overwritten.
    """

    __props__ = ()
    is_copy = True

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        output_storage[0][0] = copy_value(inputs[0])


deep_copy = DeepCopy()


def guard_memory(fgraph: FunctionGraph, inputs: Sequence[In]) -> None:
    """Make it safe for Ops of a graph to overwrite their inputs, and keep it safe.

    Arguments, shared values and constants are copied before they are overwritten, as are outputs
    that would be overwritten later, and inputs of inner graphs. From then on, a
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
        if spec.is_lent_for_writing
    ]
    check_maps(fgraph.apply_nodes)
    _protect(fgraph, set(mutable))
    fgraph.attach_feature(DestroyHandler(mutable))
    fgraph.validate()


def protected(fgraph: FunctionGraph, mutable: Collection[Variable]) -> FunctionGraph:
    """Return a copy of a graph in which only some inputs are overwritten.

    Parameters
    ----------
    fgraph
        The graph; it is itself returned if no Op overwrites anything.
    mutable
        Its inputs that may be overwritten.
    """
    if not any(map(overwrites, fgraph.apply_nodes)):
        return fgraph
    twin = FunctionGraph(fgraph.inputs, fgraph.outputs)
    pairs = zip(fgraph.inputs, twin.inputs, strict=True)
    _protect(twin, {copied for variable, copied in pairs if variable in mutable})
    return twin


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
    aliases = AliasMap.of_graph(fgraph)
    specs = dict(zip(fgraph.inputs, inputs, strict=True))
    replaced = {fgraph.inputs[number] for number in updated}
    targets: list[Variable | None] = [None] * len(borrow)
    targets.extend(fgraph.inputs[number] for number in updated)
    # Memory, by the variable that it was allocated for -> whether all outputs in it are borrowed.
    users: dict[Variable, bool] = {}
    # Views are handled last, since copying a view is cheaper than copying its base.
    views = [
        target is None and all(one is not output for one in aliases.memory(output))
        for output, target in zip(fgraph.outputs, targets, strict=True)
    ]
    for number in sorted(range(len(views)), key=views.__getitem__):
        output, target = fgraph.outputs[number], targets[number]
        borrowed = target is None and borrow[number]
        memory = aliases.memory(output)
        if any(_is_outside(root, target, borrowed, specs, replaced) for root in memory) or any(
            root in users and not (borrowed and users[root]) for root in memory
        ):
            _copy_output(fgraph, number)
            continue
        users.update(dict.fromkeys(memory, borrowed))


def _protect(fgraph: FunctionGraph, mutable: Collection[Variable]) -> None:
    """Copy what must not be overwritten, in a graph and in the inner graphs of its nodes."""
    if not any(map(overwrites, fgraph.apply_nodes)):
        return
    for node in list(fgraph.apply_nodes):
        if isinstance(node.op, HasInnerGraph) and overwrites(node):
            _protect_inner(fgraph, node, node.op)
    _protect_inputs(fgraph, mutable)
    aliases = AliasMap.of_graph(fgraph)
    for number, output in enumerate(fgraph.outputs):
        if aliases.is_overwritten(output):
            _copy_output(fgraph, number)


def _protect_inner(fgraph: FunctionGraph, node: Apply, op: Any) -> None:
    """Put another Op in place of one whose inner graph overwrites what it must not."""
    require_calls(op)
    twin = node.clone()
    mutable = [op.inner_inputs[position] for position in op.mutable_inner]
    twin.op = op.with_inner(protected(op.fgraph, mutable))
    fgraph.replace_all(zip(node.outputs, twin.outputs, strict=True), reason="protect inputs")


def _protect_inputs(fgraph: FunctionGraph, mutable: Collection[Variable]) -> None:
    """Copy inputs and constants before they are overwritten."""
    aliases = AliasMap.of_graph(fgraph)
    victims: dict[Variable, Apply] = {}
    for node in fgraph.apply_nodes:
        for position in destroyed_inputs(node):
            for root in aliases.roots(node.inputs[position]):
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
