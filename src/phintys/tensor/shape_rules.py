"""The shape rule of an Op, which is stated once for sizes of every kind.

A :class:`ShapedOp` has a method ``output_shapes(shapes)``. It is given the sizes of the inputs, and
computes with them by the methods of :class:`Shapes` alone. So one rule serves

- :class:`StaticShapes`, ints or ``None`` for unknown ones: the types in ``make_node``;
- :class:`ExactShapes`, ints: the checks of ``perform``;
- :class:`SymbolicShapes`, ints or symbolic: ``infer_shape``;
- :class:`SizeSources`, pairs of an input and a dimension: which sizes are handed on;
- the sizes of a backend, which implements :class:`Shapes` for them, as native code does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from phintys.graph.op import Op
from phintys.tensor.convert import constant
from phintys.tensor.known import known_int, known_sizes
from phintys.tensor.shapes import is_length, vector_elements
from phintys.tensor.size_check import with_check
from phintys.tensor.sizes import add_sizes, as_size, fold

if TYPE_CHECKING:
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph

S = TypeVar("S")


class Misfit(NamedTuple):
    """What is wrong if sizes are not as an Op needs them; the Op words it.

    Attributes
    ----------
    kind
        The kind of failure, for the tables of native code.
    detail
        What differs, with ``{0}`` and ``{1}`` for the two sizes.
    dim
        The dimension, or the number of the part.
    """

    kind: str
    detail: str
    dim: int = 0

    @staticmethod
    @cache
    def in_dimension(kind: str, dim: int) -> Misfit:
        """Return the misfit of two sizes of a dimension."""
        return Misfit(kind, f"dimension {dim}: {{0}} and {{1}}", dim)


class Shapes(ABC, Generic[S]):
    """The sizes of the inputs of a node, and arithmetic on sizes.

    Attributes
    ----------
    inputs : sequence of Variable
        The inputs. Their types are known in any case: a dimension broadcasts if its static size
        is 1.
    shapes : sequence of sequences
        The sizes of each input.
    """

    inputs: Sequence[Any]
    shapes: Sequence[Sequence[S]]

    @abstractmethod
    def number(self, value: int) -> S:
        """Return a number as a size."""

    @abstractmethod
    def value(self, position: int) -> S:
        """Return the value of an input that is an integer without dimensions."""

    @abstractmethod
    def entries(self, position: int, count: int) -> Sequence[S]:
        """Return the elements of an input that is a vector of so many integers."""

    @abstractmethod
    def equal(self, a: S, b: S, misfit: Misfit) -> S:
        """Return a size that two are equal to, after a check that they are."""

    @abstractmethod
    def length(self, size: S, misfit: Misfit) -> S:
        """Return a size, after a check that it is not negative."""

    @abstractmethod
    def total(self, lengths: Sequence[S]) -> S:
        """Return the sum of lengths."""

    def broadcasts(self, position: int, dim: int) -> bool:
        """Return whether a dimension of an input has the static size 1."""
        return self.inputs[position].type.shape[dim] == 1


class StaticShapes(Shapes["int | None"]):
    """Sizes that are ints, or ``None`` if unknown.

    Parameters
    ----------
    op
        The Op.
    inputs
        The inputs of a node.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.shape_rules import StaticShapes
    >>> x, y = pt.tensor("x", shape=(2, None)), pt.tensor("y", shape=(3, 4))
    >>> op = pt.Join(0)
    >>> op.output_shapes(StaticShapes(op, [x, y]))
    [(5, 4)]
    """

    def __init__(self, op: ShapedOp, inputs: Sequence[Any]) -> None:
        self._op = op
        self.inputs = inputs
        self.shapes = [x.type.shape for x in inputs]

    def number(self, value: int) -> int | None:
        return value

    def value(self, position: int) -> int | None:
        return known_int(self.inputs[position])

    def entries(self, position: int, count: int) -> Sequence[int | None]:
        known = known_sizes(self.inputs[position])
        return (None,) * count if known is None else known

    def equal(self, a: int | None, b: int | None, misfit: Misfit) -> int | None:
        if a is None or b is None or a == b:
            return b if a is None else a
        raise self._op.misfit_error(misfit, self)

    def length(self, size: int | None, misfit: Misfit) -> int | None:
        if size is not None and size < 0:
            raise self._op.misfit_error(misfit, self)
        return size

    def total(self, lengths: Sequence[int | None]) -> int | None:
        return None if None in lengths else sum(cast("Sequence[int]", lengths))


class ExactShapes(Shapes[int]):
    """Sizes of values: ints.

    Parameters
    ----------
    op
        The Op.
    inputs
        The inputs of a node.
    shapes
        The shapes of their values.
    values
        By the position of an input: the int, or the ints of a vector, where a rule needs them.
    """

    def __init__(
        self,
        op: ShapedOp,
        inputs: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        values: Sequence[Any] = (),
    ) -> None:
        self._op = op
        self.inputs = inputs
        self.shapes = shapes
        self._values = values

    def number(self, value: int) -> int:
        return value

    def value(self, position: int) -> int:
        return self._values[position]

    def entries(self, position: int, count: int) -> Sequence[int]:
        return self._values[position]

    def equal(self, a: int, b: int, misfit: Misfit) -> int:
        if a == b:
            return a
        raise self._op.misfit_error(misfit, self)

    def length(self, size: int, misfit: Misfit) -> int:
        if size < 0:
            raise self._op.misfit_error(misfit, self)
        return size

    def total(self, lengths: Sequence[int]) -> int:
        return sum(lengths)


class SymbolicShapes(Shapes[Any]):
    """Sizes that are ints or symbolic.

    Checks become part of the sizes that a rule returns: see :meth:`infer`.

    Parameters
    ----------
    op
        The Op with the rule.
    node
        The node.
    shapes
        The symbolic sizes of its inputs.
    """

    def __init__(self, op: ShapedOp, node: Apply, shapes: Sequence[Any]) -> None:
        self._op = op
        self.node = node
        self.inputs: Sequence[Any] = node.inputs
        self.shapes = shapes
        self._checks: list[tuple[Any, Any, Any, str]] = []

    def number(self, value: int) -> Any:
        return value

    def value(self, position: int) -> Any:
        return self.inputs[position]

    def entries(self, position: int, count: int) -> Sequence[Any]:
        vector = self.inputs[position]
        if vector.type.shape[0] is None:
            return [as_size(vector[at]) for at in range(count)]
        return [as_size(entry) for entry in vector_elements(vector)]

    def equal(self, a: Any, b: Any, misfit: Misfit) -> Any:
        self._checks.append(("equal", a, b, self._op.misfit_subject(misfit, self.inputs)))
        return a

    def length(self, size: Any, misfit: Misfit) -> Any:
        if not is_length(size):
            subject = self._op.misfit_subject(misfit, self.inputs)
            self._checks.append(("at least", size, 0, subject))
        return size

    def total(self, lengths: Sequence[Any]) -> Any:
        total: Any = 0
        for size in lengths:
            total = add_sizes(total, fold(size))
        return total

    def infer(self, found: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Return the shapes that a rule has returned, with the checks; known sizes are constants.

        Parameters
        ----------
        found
            The sizes of each output.
        """
        shapes: list[tuple[Any, ...]] = []
        for sizes, output in zip(found, self.node.outputs, strict=True):
            type_: Any = output.type
            shape = tuple(
                as_size(size) if known is None else constant(known)
                for size, known in zip(sizes, type_.shape, strict=True)
            )
            for relation, a, b, subject in self._checks:
                shape = with_check(shape, relation, a, b, subject)
            shapes.append(shape)
        return shapes


class SizeSources(Shapes[Any]):
    """Where sizes come from: an int, a variable that is a size, or a tensor and one of its dims.

    ``None`` stands for a size that is computed. Nothing is added to the graph.

    Parameters
    ----------
    inputs
        The inputs of a node.

    Attributes
    ----------
    is_checked : bool
        Whether the rule compares sizes that could differ. Then a node with such inputs raises.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.shape_rules import SizeSources
    >>> x, y = pt.dmatrix("x"), pt.dmatrix("y")
    >>> op = pt.Join(0)
    >>> op.output_shapes(SizeSources([x, x]))
    [(None, (x, 1))]
    >>> sources = SizeSources([x, y])
    >>> op.output_shapes(sources), sources.is_checked
    ([(None, (x, 1))], True)
    """

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.inputs = inputs
        self.shapes = [
            tuple((x, dim) if known is None else known for dim, known in enumerate(x.type.shape))
            for x in inputs
        ]
        self.is_checked = False

    def number(self, value: int) -> Any:
        return value

    def value(self, position: int) -> Any:
        return self.inputs[position]

    def entries(self, position: int, count: int) -> Sequence[Any]:
        return (None,) * count

    def equal(self, a: Any, b: Any, misfit: Misfit) -> Any:
        self.is_checked = self.is_checked or not _is_same_source(a, b)
        return a

    def length(self, size: Any, misfit: Misfit) -> Any:
        return size

    def total(self, lengths: Sequence[Any]) -> Any:
        return lengths[0] if len(lengths) == 1 else None


def _is_same_source(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[0] is b[0] and a[1] == b[1]
    return isinstance(a, int) and isinstance(b, int) and a == b


class ShapedOp(Op):
    """An Op with a shape rule, from which ``infer_shape`` follows."""

    @abstractmethod
    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sizes of each output.

        Parameters
        ----------
        shapes
            The sizes of the inputs, and the arithmetic on them.
        """

    @abstractmethod
    def misfit_subject(self, misfit: Misfit, inputs: Sequence[Any]) -> str:
        """Name the sizes compared, as the subject of "must be equal" or "must be at least"."""

    @abstractmethod
    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Return the error for sizes that are known: those of types, or those of values."""

    def shapes_of_results(
        self,
        inputs: Sequence[Any],
        shapes: Sequence[tuple[int, ...]],
        values: Sequence[Any] = (),
    ) -> list[tuple[int, ...]]:
        """Return the shapes of the results for values of known shapes; raise if these do not fit.

        Parameters
        ----------
        inputs
            The inputs of the node.
        shapes
            The shapes of their values.
        values
            As for :class:`ExactShapes`.
        """
        return self.output_shapes(ExactShapes(self, inputs, shapes, values))

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the shapes that the rule gives."""
        shapes = SymbolicShapes(self, node, input_shapes)
        return shapes.infer(self.output_shapes(shapes))


class KeepsShape(ShapedOp):
    """An Op with one output, whose shape is that of the first input, whatever the values are.

    Neither shapes nor values are errors.
    """

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sizes of the first input."""
        return [tuple(shapes.shapes[0])]
