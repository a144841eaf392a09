"""The rules by which sets of inputs pass through nodes, and what the rules can ask for."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base import index
from phintys._base.errors import ShapeError
from phintys.gradient.arithmetic import is_discrete
from phintys.gradient.patterns.index_sets import everything, taken, union
from phintys.graph import contract
from phintys.graph.op import Op
from phintys.graph.rules import OpRules
from phintys.graph.traversal import toposort
from phintys.tensor.indexing.basic import Subtensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from phintys.gradient.patterns.facts import Facts
    from phintys.gradient.patterns.index_sets import Sets
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Rule = Callable[["Step"], Sequence[Sets]]

PATTERNS: OpRules[Rule] = OpRules("sparsity patterns", index.PATTERNS)
"""A rule ``(step)`` returns for each output of a node the sets of its elements.

They contain all inputs on which an element can depend, whatever the values of variables are.
"""

pattern_of = PATTERNS.register
"""Decorator of rules: ``@pattern_of(Dot)``."""


class Step:
    """A node, and what is known of its inputs.

    Attributes
    ----------
    node
        The node.
    sets
        The sets of the elements of each input.
    width
        The number of columns of sets.
    """

    def __init__(self, node: Apply, sets: Sequence[Sets], walk: Walk) -> None:
        self.node = node
        self.op: Any = node.op
        self.sets = sets
        self.width = walk.width
        self.walk = walk

    def shape(self, position: int) -> tuple[int, ...]:
        """Return the shape of an input."""
        return self.walk.shape(self.node.inputs[position])

    def output_shape(self, position: int = 0) -> tuple[int, ...]:
        """Return the shape of an output."""
        return self.walk.shape(self.node.outputs[position])

    def value(self, position: int) -> Any:
        """Return the value of an input, ``None`` if it is not known."""
        return self.walk.facts.value(self.node.inputs[position])

    def values(self, first: int = 0) -> list[Any] | None:
        """Return the values of all inputs from a position on, ``None`` if one is not known."""
        found = [self.value(at) for at in range(first, len(self.node.inputs))]
        return None if any(value is None for value in found) else found

    def perform(self, *inputs: Any) -> list[Any]:
        """Return the results of the Op for other values than those of its inputs."""
        cells: list[list[Any]] = [[None] for _ in self.node.outputs]
        self.op.perform(self.node, list(inputs), cells)
        return [cell[0] for cell in cells]

    def dense(self) -> list[Sets]:
        """Return sets in which an output depends on all elements of connected inputs."""
        pattern = contract.connection_pattern(self.node)
        found: list[Sets] = []
        for o in range(len(self.node.outputs)):
            reaching = [
                everything(sets, 1)
                for sets, row in zip(self.sets, pattern, strict=True)
                if row[o] and sets is not None
            ]
            whole = union(reaching)
            found.append(None if whole is None else everything(whole, prod(self.output_shape(o))))
        return found


class Walk:
    """Carries sets of inputs from node to node.

    Parameters
    ----------
    sets
        The sets of the variables to start from.
    width
        The number of inputs.
    facts
        What is known of shapes and values.
    without_rule
        The Ops that have no rule of their own are added to it.

    Attributes
    ----------
    alike
        Tensors of which the number of rows is not known, and all rows have the same sets: those of
        one row stand for them. Only what reads a single row can be followed.
    """

    def __init__(
        self, sets: dict[Variable, Sets], width: int, facts: Facts, without_rule: set[Op]
    ) -> None:
        self.sets = sets
        self.width = width
        self.facts = facts
        self.without_rule = without_rule
        self.alike: set[Variable] = set()

    def inside(self, sets: dict[Variable, Sets], width: int, facts: Facts) -> Walk:
        """Return a walk through an inner graph."""
        return Walk(sets, width, facts, self.without_rule)

    def shape(self, variable: Any) -> tuple[int, ...]:
        """Return the shape of a variable.

        Raises
        ------
        ShapeError
            It is not known.
        """
        found = self.facts.shape(variable)
        if found is None:
            node = variable.owner
            where = "" if node is None else f"\n{variable} was made at\n  {node.origin}"
            msg = (
                f"A sparsity pattern needs to know all sizes, and that of {variable} (type "
                f"{variable.type}) is not known. State shapes in the types of inputs, as in "
                "pt.tensor('x', shape=(100,)), or with sizes={x: (100,)}, and integers that sizes "
                f"depend on with givens={{n: 100}}.{where}"
            )
            raise ShapeError(msg)
        return found

    def run(self, outputs: Iterable[Variable]) -> list[Sets]:
        """Return the sets of the elements of some outputs."""
        outputs = list(outputs)
        for node in toposort(outputs):
            self.facts.learn_node(node)
            given = [self.sets.get(variable) for variable in node.inputs]
            if all(one is None for one in given):
                continue
            for output, found in zip(node.outputs, self._through(node, given), strict=True):
                if found is not None and found.nnz and not is_discrete(output.type):
                    self.sets[output] = union([self.sets.get(output), found])
        for output in outputs:
            self._check_rows(output)
        return [self.sets.get(output) for output in outputs]

    def repeat(self, row: Sets, variable: Any) -> Sets:
        """Return the sets of a tensor of which each row has those of one."""
        if row is None:
            return None
        shape = self.facts.shape(variable)
        if shape is not None:
            return taken(row, np.tile(np.arange(row.shape[0]), shape[0]))
        self.alike.add(variable)
        return row

    def _check_rows(self, variable: Any) -> None:
        if variable in self.alike:
            self.shape(variable)  # raises the error: it is not known

    def _through(self, node: Apply, given: list[Sets]) -> Sequence[Sets]:
        if all(is_discrete(output.type) for output in node.outputs):
            return [None] * len(node.outputs)  # integers have no derivative
        if not isinstance(node.op, Subtensor):
            for variable in node.inputs:
                self._check_rows(variable)
        rule = PATTERNS.find(type(node.op))
        step = Step(node, given, self)
        if rule is None:
            self.without_rule.add(node.op)
            return step.dense()
        return rule(step)
