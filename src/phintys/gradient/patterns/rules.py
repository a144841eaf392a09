"""The rules by which sets of inputs pass through nodes, and what the rules can ask for."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base import index
from phintys._base.errors import MethodNotDefinedError, ShapeError
from phintys.gradient.arithmetic import is_discrete
from phintys.gradient.patterns.index_sets import everything, taken, union
from phintys.graph import contract
from phintys.graph.op import Op
from phintys.graph.rules import OpRules
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.shapes import Shape, ShapeI

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from phintys.gradient.patterns.index_sets import Sets
    from phintys.graph.apply import Apply

    Rule = Callable[["PatternStep"], Sequence[Sets]]


class Facts:
    """The shapes and values that follow from those of the leaves.

    Parameters
    ----------
    shapes
        The shapes of leaves, by variable, beside those that their types say.
    values
        The values of leaves, by variable, beside those of constants.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.gradient.patterns.rules import Facts
    >>> x = pt.dvector("x")
    >>> y = x[: x.shape[0] // 2]
    >>> facts = Facts({x: (7,)})
    >>> facts.learn([y])
    >>> facts.shape(y)
    (3,)
    """

    def __init__(
        self,
        shapes: Mapping[Any, tuple[int, ...]] | None = None,
        values: Mapping[Any, Any] | None = None,
    ) -> None:
        self._shapes: dict[Variable, tuple[int, ...] | None] = dict(shapes or {})
        self._values: dict[Variable, Any] = dict(values or {})

    def learn(self, outputs: Iterable[Variable]) -> None:
        """Find out what is known of the variables that some outputs are computed from."""
        for node in toposort(outputs):
            if node.outputs[0] not in self._shapes:
                self.learn_node(node)

    def learn_node(self, node: Apply) -> None:
        """Find out what is known of the outputs of a node, given its inputs."""
        self._shapes.update(dict.fromkeys(node.outputs))  # sizes may refer to the node itself
        same = node.op.undone(node) if node.op.undone else None
        if same is not None:
            for output, source in zip(node.outputs, same, strict=True):
                self._shapes[output] = self.shape(source)
                self._values[output] = self.value(source)
            return
        found = self._results(node)
        if found is not None:
            self._values.update(zip(node.outputs, found, strict=True))
        shapes = self._inferred(node) if self._is_unknown(node) else [None] * len(node.outputs)
        for output, shape in zip(node.outputs, shapes, strict=True):
            self._shapes[output] = self._stated(output) or shape

    def shape(self, variable: Any) -> tuple[int, ...] | None:
        """Return the shape of a variable, ``None`` if it is not known."""
        known = self._shapes.get(variable)
        return self._stated(variable) if known is None else known

    def value(self, variable: Any) -> Any:
        """Return the value of a variable, ``None`` if it is not known."""
        if isinstance(variable, Constant):
            return variable.data
        return self._values.get(variable)

    def size(self, size: Any) -> int | None:
        """Return the value of an int or of a symbolic size, ``None`` if it is not known."""
        if not isinstance(size, Variable):
            return int(size)
        self.learn([size])
        value = self.value(size)
        return None if value is None else int(value)

    def _stated(self, variable: Any) -> tuple[int, ...] | None:
        """Return the shape that the type of a variable, or its value, has."""
        stated = getattr(variable.type, "shape", None)
        if stated is not None and None not in stated:
            return tuple(stated)
        value = self.value(variable)
        return None if value is None else getattr(value, "shape", None)

    def _is_unknown(self, node: Apply) -> bool:
        return any(self._stated(output) is None for output in node.outputs)

    def _results(self, node: Apply) -> list[Any] | None:
        """Return the values of the outputs, if they follow from constants and shapes."""
        op = node.op
        if isinstance(op, Shape | ShapeI):
            shape = self.shape(node.inputs[0])
            if shape is None:
                return None
            return [np.array(shape if isinstance(op, Shape) else shape[op.i], dtype=np.int64)]
        given = [self.value(variable) for variable in node.inputs]
        if not given or any(value is None for value in given):
            return None
        if op.destroy_map or not contract.defines(op, "perform"):
            return None
        if not contract.do_constant_folding(None, node):
            return None
        cells: list[list[Any]] = [[None] for _ in node.outputs]
        try:
            with np.errstate(all="ignore"):
                op.perform(node, given, cells)
        except Exception:  # noqa: BLE001 - the program raises it, with the user's line, when it runs
            return None
        return [cell[0] for cell in cells]

    def _inferred(self, node: Apply) -> Sequence[tuple[int, ...] | None]:
        """Return the shapes that the Op infers, ``None`` for those that are not known."""
        unknown: list[None] = [None] * len(node.outputs)
        given = [self.shape(variable) for variable in node.inputs]
        is_tensor = [getattr(variable.type, "ndim", None) is not None for variable in node.inputs]
        if any(shape is None for shape, has in zip(given, is_tensor, strict=True) if has):
            return unknown
        try:
            found = contract.infer_shape(None, node, given)
        except MethodNotDefinedError:
            return unknown
        shapes: list[tuple[int, ...] | None] = []
        for shape in found:
            sizes = [None] if shape is None else [self.size(size) for size in shape]
            shapes.append(None if None in sizes else tuple(sizes))  # pyright: ignore[reportArgumentType]
        return shapes


PATTERNS: OpRules[Rule] = OpRules("sparsity patterns", index.PATTERNS)
"""A rule ``(step)`` returns for each output of a node the sets of its elements.

They contain all inputs on which an element can depend, whatever the values of variables are.
"""

pattern_of = PATTERNS.register
"""Decorator of rules: ``@pattern_of(Dot)``."""


class PatternStep:
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
        step = PatternStep(node, given, self)
        if rule is None:
            self.without_rule.add(node.op)
            return step.dense()
        return rule(step)
