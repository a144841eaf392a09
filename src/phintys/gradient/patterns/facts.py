"""What is known of the variables of a graph before it runs: shapes, and values of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import MethodNotDefinedError
from phintys.graph import contract
from phintys.graph.traversal import toposort
from phintys.graph.variable import Constant, Variable
from phintys.tensor.shapes import Shape, ShapeI

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.graph.apply import Apply


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
    >>> from phintys.gradient.patterns.facts import Facts
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
