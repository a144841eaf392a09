"""Changes of a graph with overwriting Ops: each is accepted if and only if some order is right."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys._base.errors import InconsistencyError, PhintysError, TypeContractError
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.inner import HasInnerGraph
from phintys.graph.traversal import ancestors, toposort
from phintys.graph.variable import Variable
from phintys.tensor import inplace
from tools.fuzz import inner_ops, memory_ops, user_ops
from tools.fuzz.oracle import order_is_right, some_order_is_right
from tools.fuzz.scenario import Scenario

__all__ = ["wrongly_judged"]

_MOST_CHANGES = 10
_KINDS = ("leaf", "leaf", "variable", "apply", "apply", "add output", "remove output", "remove")
_NEW = (
    lambda x, y: -x,
    lambda x, y: x + y,
    lambda x, y: x[::-1],
    memory_ops.larger,
    inplace.add_inplace,
    lambda x, y: inplace.neg_inplace(x),
    lambda x, y: user_ops.zeroed(x),
    lambda x, y: memory_ops.dipped(x),
    memory_ops.scratch_one,
    memory_ops.merged,
    lambda x, y: memory_ops.late(x)[0],
    inner_ops.lent,
    inner_ops.overwriting,
    inner_ops.pure,
)


class _Undo(Exception):  # noqa: N818 - a signal, not an error
    """Raised to take back a change."""


class _Changing:
    """A sound graph, and its changes so far."""

    def __init__(self, scenario: Scenario) -> None:
        self.random = Random(scenario.seed)  # noqa: S311 - a test must be repeatable
        variables = scenario.build()
        made = scenario.functions[0]
        self.leaves = [variables[one.name] for one in (*scenario.givens, *scenario.shared)]
        self.mutable = self.leaves
        outputs: list[Any] = []
        for name in dict.fromkeys(made.results):
            if self._is_right([*outputs, variables[name]]):
                outputs.append(variables[name])
        for leaf in self.leaves:
            fewer = [one for one in self.mutable if one is not leaf]
            if self.random.random() < 0.5 and self._is_right(outputs, fewer):
                self.mutable = fewer
        inputs = [variables[given.name] for given in scenario.givens]
        self.fgraph = FunctionGraph(inputs, outputs, clone=False)
        self.fgraph.attach_feature(DestroyHandler(self.mutable))

    def _is_right(self, outputs: Sequence[Any], mutable: Sequence[Any] | None = None) -> bool:
        allowed = set(self.mutable if mutable is None else mutable)
        kept = [leaf for leaf in ancestors(outputs) if not leaf.owner and leaf not in allowed]
        return some_order_is_right(outputs, [*outputs, *kept]) and all(
            self._is_right(node.op.inner_outputs, _lent(node.op))
            for node in toposort(outputs)
            if isinstance(node.op, HasInnerGraph)
        )

    def _is_accepted(self) -> bool:
        try:
            self.fgraph.validate()
        except InconsistencyError:
            return False
        return True

    def wrong(self) -> str:
        """Return in what the verdict, or the order, for the present graph is wrong."""
        outputs = self.fgraph.outputs
        expected = self._is_right(outputs)
        if expected != self._is_accepted():
            return "was refused, but an order is right" if expected else "was accepted: none is"
        if expected:
            kept = [*outputs, *(leaf for leaf in self.leaves if leaf not in self.mutable)]
            if not order_is_right(self.fgraph.toposort(), kept):
                return "was accepted, but sorted wrongly"
        return ""

    def change(self) -> str:
        """Make one random change; return what is wrong about it, if anything is."""
        fgraph, random = self.fgraph, self.random
        kind = random.choice(_KINDS)
        variables = sorted(fgraph.variables, key=lambda one: (one.owner is not None, str(one)))
        if not variables:
            return ""
        if kind == "add output":
            fgraph.add_output(random.choice(variables))
            text = self.wrong()
            if not text and not self._is_accepted():
                fgraph.remove_output(len(fgraph.outputs) - 1)
                text = self.wrong()
            return text and f"an added output {text}"
        if kind == "remove output":
            if len(fgraph.outputs) > 1:
                fgraph.remove_output(random.randrange(len(fgraph.outputs)))
            text = self.wrong()
            return text and f"a removed output {text}"
        computed = [one for one in variables if one.owner is not None]
        if not computed:
            return ""
        old: Any = random.choice(computed)
        if kind == "remove":
            if random.random() < 0.3:
                fgraph.remove_node(old.owner)
            text = self.wrong()
            return text and f"a removed node {text}"
        new = self._new(kind, old, variables)
        if new is None or old in ancestors([new]):
            return ""
        text = self._replace(old, new)
        return text and f"the replacement of {old} by {new} {text}"

    def _new(self, kind: str, old: Any, variables: Sequence[Variable]) -> Any:
        """Return a replacement for a variable, or ``None``."""
        random = self.random
        like: list[Any] = [one for one in variables if old.type.is_super(one.type)]
        if kind == "leaf":
            shape = [2 if size is None else size for size in old.type.shape]
            constant = pt.constant(np.ones(shape, old.type.dtype))
            return random.choice([constant, *(one for one in like if one.owner is None)])
        if kind == "variable":
            return random.choice(like)
        x, y = random.choice(like), random.choice(like)
        if not x.ndim:
            return None
        try:
            new = random.choice(_NEW)(x, y)
        except PhintysError:  # such as an operand that is smaller than the result
            return None
        return new if old.type.is_super(new.type) else None

    def _replace(self, old: Variable, new: Variable) -> str:
        fgraph = self.fgraph
        try:
            fgraph.replace_validate(old, new)
        except TypeContractError:
            return ""
        except InconsistencyError:
            text = ""
            try:
                with fgraph.transaction():
                    fgraph.replace(old, new)
                    text = self.wrong() or ("is refused only once" if self._is_accepted() else "")
                    raise _Undo
            except _Undo:
                return text or self.wrong()
        return self.wrong()


def _lent(op: HasInnerGraph) -> list[Variable]:
    return [op.inner_inputs[position] for position in op.mutable_inner]


def wrongly_judged(scenario: Scenario) -> str:
    """Change the graph of a scenario's first function; return which verdict is wrong, if any.

    Variables are replaced by leaves, by other variables and by results of new nodes; outputs are
    added; outputs and nodes are removed. A graph must be accepted if and only if there is an order
    in which every node reads the right values, and what must not be overwritten is not.

    Parameters
    ----------
    scenario
        The scenario; its seed determines the changes.
    """
    changing = _Changing(scenario)
    text = changing.wrong()
    if text:
        return f"the graph {text}"
    for number in range(_MOST_CHANGES):
        text = changing.change()
        if text:
            return f"change {number}: {text}"
    return ""
