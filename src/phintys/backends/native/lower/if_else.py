"""Lowering of IfElse: a branch, with the steps of each side inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys._base.caches import kept_property
from phintys._base.late import LateModule
from phintys.backends.native.dependence import arrays_written, varies
from phintys.backends.native.expressions import Expression, Literal, Operation, Statement
from phintys.backends.native.kernels.fusion import fuse
from phintys.backends.native.kernels.statements import prune
from phintys.backends.native.lower.graph import lower_each
from phintys.backends.native.lower.lowering import (
    Lowering,
    NotLowered,
    lowers,
    require_lengths_before,
)
from phintys.backends.native.lower.view import View
from phintys.backends.native.steps.branch import Branch
from phintys.control.branches import IfElse
from phintys.control.graph_ops.from_graph import OpFromGraph
from phintys.graph.apply import Apply
from phintys.graph.compiler import link_graph
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native import linking
    from phintys.backends.native.program import Step
    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array

    Equal = frozenset[tuple[Size, Size]]
else:
    linking = LateModule("phintys.backends.native.linking")

_BOOL = np.dtype("bool")


@lowers(IfElse)
def lower_if_else(op: IfElse, node: Apply, lowering: Lowering) -> None:
    """``if condition: out = then else: out = otherwise``.

    If that is possible for some outputs only, each has a branch of its own, and Python chooses the
    others.
    """
    everything = range(op.count)
    if lowering.sides.is_tangled:
        why = "choices are nested too deeply"
        _call_back(op, node, everything, lowering, why, is_tangled=True)
        return
    reasons: list[str] = []
    left: list[int] = []
    try:
        _lower_branch(op, node, everything, lowering)
    except NotLowered as reason:
        reasons.append(str(reason))
        left += everything
    if len(left) > 1 and not lowering.sides.path:  # inside of others, every try would multiply
        reasons.clear()
        left.clear()
        for output in everything:
            try:
                _lower_branch(op, node, [output], lowering)
            except NotLowered as reason:
                reasons.append(str(reason))
                left.append(output)
    if left:
        _call_back(op, node, left, lowering, ", ".join(dict.fromkeys(reasons)))


def _chosen_positions(op: IfElse, node: Apply, wanted: Sequence[int]) -> list[list[int]]:
    """Return the positions of the inputs of each side that are some outputs."""
    return [[side[output] for output in wanted] for side in op.sides(node)]


def _lower_branch(op: IfElse, node: Apply, wanted: Sequence[int], lowering: Lowering) -> None:
    """Add a branch for some outputs."""
    if not all(variable.type.holds_arrays for variable in node.inputs):
        msg = "it chooses between objects that are not arrays"
        raise NotLowered(msg)
    outputs = [node.outputs[output] for output in wanted]
    members = _chosen_positions(op, node, wanted)
    known = lowering.sides.known(node)
    if known is not None:  # inside of a branch on the same condition
        for variable, position in zip(outputs, members[known], strict=True):
            lowering.bind_same(variable, node.inputs[position])
        return
    sides: list[tuple[list[Step | Statement], list[View]]] = []
    equal: list[Equal] = []
    for number, positions in enumerate(members):
        with lowering.body() as steps, lowering.sides.inside(node, number):
            below = [node.inputs[position] for position in positions]
            lower_each(lowering.sides.needed(below=below), lowering)
            views = [lowering.view(node.inputs[position]) for position in positions]
            equal.append(lowering.checked)
        sides.append((steps, views))
    written = {array for steps, _ in sides for step in steps for array in arrays_written(step)}
    (_, then), (_, otherwise) = sides
    pairs = [(one.sizes, other.sizes) for one, other in zip(then, otherwise, strict=True)]
    for sizes in [sizes for pair in pairs for sizes in pair]:
        if any(varies(size, written) for size in sizes):
            msg = "the sizes of what it returns are not known before"
            raise NotLowered(msg)
    condition = _truth(node, lowering)
    chosen = lowering.element(View.of(condition, lowering.sizes), ())
    targets: list[View] = []
    for variable, (one, other) in zip(outputs, pairs, strict=True):
        lengths = [_chosen(chosen, *pair, equal, lowering) for pair in zip(one, other, strict=True)]
        dtype = getattr(variable.type, "numpy_dtype")  # noqa: B009 - a TensorType's
        array = lowering.array(dtype, lengths, variable=variable)
        targets.append(View.of(array, lowering.sizes))
    kept = {target.array for target in targets}
    bodies: list[list[Step]] = []
    for steps, views in sides:
        with lowering.body() as storing:
            for view, target in zip(views, targets, strict=True):
                loops = lowering.loops(view.sizes)
                lowering.store(target, lowering.load(view, loops), loops, nodes=(node,))
        bodies.append(fuse(prune([*steps, *storing], kept), lowering.sizes, kept))
    branch = Branch(condition, *bodies, node=node)
    require_lengths_before(branch, "is computed on one side")
    lowering.steps.append(branch)
    for variable, target in zip(outputs, targets, strict=True):
        lowering.bind(variable, target)


def _truth(node: Apply, lowering: Lowering) -> Array:
    """Return whether the condition is not zero, as a single bool."""
    view = lowering.view(node.inputs[0])
    value: Expression = lowering.load(view, ())
    if value.dtype != _BOOL:
        value = Operation(ps.ne, (value, Literal(value.dtype.type(0), value.dtype)), _BOOL)
    array = lowering.array(_BOOL, ())
    lowering.store(View.of(array, lowering.sizes), value, (), nodes=(node,))
    return array


def _chosen(
    condition: Size, then: Size, otherwise: Size, equal: Sequence[Equal], lowering: Lowering
) -> Size:
    """Return a length of the chosen side.

    Parameters
    ----------
    condition
        1 for ``then``, 0 for ``otherwise``.
    then, otherwise
        The lengths.
    equal
        For both sides, the pairs of sizes that are equal if it is chosen.
    lowering
        The state of lowering.
    """
    sizes = lowering.sizes
    then, otherwise = sizes.canonical(then), sizes.canonical(otherwise)
    pairs = {(then, otherwise), (otherwise, then)}
    if not pairs.isdisjoint(equal[0]):
        return otherwise
    if then is otherwise or not pairs.isdisjoint(equal[1]):
        return then
    difference = sizes.arithmetic("sub", then, otherwise)
    return sizes.add(otherwise, sizes.arithmetic("mul", condition, difference))


# ---- sides that are programs of their own --------------------------------------------------------


class SidePrograms(Op):
    """A choice between two programs, each of which computes one side from all inputs.

    Parameters
    ----------
    name
        The name of the choice.
    sides
        What is computed for each side.
    is_tangled
        Whether the programs are those of the reference backend, which nests choices to any depth.
    """

    __props__ = ("name", "sides", "is_tangled")

    def __init__(
        self, name: str, sides: tuple[OpFromGraph, OpFromGraph], *, is_tangled: bool = False
    ) -> None:
        self.name = name
        self.sides = sides
        self.is_tangled = is_tangled

    def __str__(self) -> str:
        return self.name

    def make_node(self, condition: Variable, *inputs: Variable) -> Apply:
        """Apply to a condition and the inputs of the sides."""
        outputs = [variable.type() for variable in self.sides[0].inner_outputs]
        return Apply(self, [condition, *inputs], outputs)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Run the program of the chosen side."""
        side, program = (0, self._then) if inputs[0] else (1, self._otherwise)
        self.sides[side].perform_with(program, node, inputs[1:], output_storage)

    @kept_property
    def _then(self) -> Any:
        return self._linked(0)

    @kept_property
    def _otherwise(self) -> Any:
        return self._linked(1)

    def _linked(self, side: int) -> Any:
        fgraph = self.sides[side].fgraph
        return link_graph(fgraph) if self.is_tangled else linking.link(fgraph)

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "sides": self.sides, "is_tangled": self.is_tangled}


def _call_back(
    op: IfElse,
    node: Apply,
    wanted: Sequence[int],
    lowering: Lowering,
    why: str,
    *,
    is_tangled: bool = False,
) -> None:
    """Let Python choose between two programs for some outputs."""
    outputs = [node.outputs[output] for output in wanted]
    sides = _chosen_positions(op, node, wanted)
    inside: list[Apply] = []
    for number, positions in enumerate(sides):
        with lowering.sides.inside(node, number):
            below = [node.inputs[position] for position in positions]
            inside += lowering.sides.needed(nested=True, below=below)
    made = {output for one in inside for output in one.outputs}
    read = [variable for one in inside for variable in one.inputs]
    read += [node.inputs[at] for positions in sides for at in positions]
    needed = dict.fromkeys(v for v in read if v not in made and not isinstance(v, Constant))
    graphs: list[OpFromGraph] = []
    for positions in sides:
        found = [
            output.type.filter_variable(node.inputs[position])
            for output, position in zip(outputs, positions, strict=True)
        ]
        graphs.append(OpFromGraph(list(needed), found))
    then, otherwise = graphs
    chooser = SidePrograms(str(op), (then, otherwise), is_tangled=is_tangled)
    choice = chooser.make_node(node.inputs[0], *needed)
    choice.origin = node.origin
    lowering.callback(choice, why)
    for variable, output in zip(outputs, choice.outputs, strict=True):
        lowering.bind_same(variable, output)
