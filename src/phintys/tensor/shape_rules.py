"""The shape rule of an Op, which is stated once for sizes of every kind.

A :class:`ShapedOp` has a method ``output_shapes(shapes)``. It is given the sizes of the inputs, and
computes with them by the methods of :class:`Shapes` alone. So one rule serves

- :class:`StaticShapes`, ints or ``None`` for unknown ones: the types in ``make_node``;
- :class:`ExactShapes`, ints: the checks of ``perform``;
- :class:`~phintys.tensor.symbolic_shapes.SymbolicShapes`, ints or symbolic: ``infer_shape``;
- :class:`SizeSources`, pairs of an input and a dimension: which sizes are handed on;
- the sizes of a backend, which implements :class:`Shapes` for them, as native code does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

import numpy as np

from phintys._base.errors import ShapeError
from phintys.graph.op import Op
from phintys.graph.variable import Constant
from phintys.tensor._operators import operators
from phintys.tensor.known import known_int, known_sizes

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
    position
        The position of the input, if it is the value of one.
    """

    kind: str
    detail: str
    dim: int = 0
    position: int = 0

    @staticmethod
    @cache
    def in_dimension(kind: str, dim: int) -> Misfit:
        """Return the misfit of two sizes of a dimension."""
        return Misfit(kind, f"dimension {dim}: {{0}} and {{1}}", dim)


class SizeArithmetic(ABC, Generic[S]):
    """Arithmetic on sizes of a kind, and on ints."""

    @abstractmethod
    def add(self, a: S | int, b: S | int) -> S:
        """a + b"""

    @abstractmethod
    def multiply(self, a: S | int, b: S | int) -> S:
        """a b"""

    @abstractmethod
    def floor_div(self, a: S | int, b: int) -> S:
        """a // b, for b > 0"""

    @abstractmethod
    def least(self, a: S | int, b: S | int) -> S:
        """min(a, b)"""

    @abstractmethod
    def greatest(self, a: S | int, b: S | int) -> S:
        """max(a, b)"""

    def subtract(self, a: S | int, b: S | int) -> S:
        """a - b"""
        return self.add(a, self.multiply(b, -1))


class Shapes(SizeArithmetic[S]):
    """The sizes of the inputs of a node, and arithmetic on sizes.

    Attributes
    ----------
    inputs : sequence of Variable
        The inputs. Their types are known in any case: a dimension broadcasts if its static size
        is 1.
    shapes : sequence of sequences
        The sizes of each input; of one whose Type has no shape, ``None``.
    node : Apply or None
        The node; ``None`` while it is being made.
    """

    inputs: Sequence[Any]
    shapes: Sequence[Any]
    node: Any = None

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
    def agreed(self, sizes: Sequence[S], misfit: Misfit) -> S:
        """Return the size to which all are equal, which is checked where values are computed.

        Where only shapes are computed, there is no check.
        """

    @abstractmethod
    def at_least(self, size: S, least: int, misfit: Misfit) -> S:
        """Return a size, after a check that it is not less than a number."""

    @abstractmethod
    def index(self, position: int) -> Any:
        """Return the value of an integer input that is an index, or a bound of a slice.

        It is never ``None``, which stands for a bound that is left out.
        """

    @abstractmethod
    def check_index(self, index: Any, size: S, misfit: Misfit) -> None:
        """Check that an index, which may be negative, is in range for a dimension."""

    @abstractmethod
    def sliced(self, size: S, start: Any, stop: Any, step: Any) -> S:
        """Return the length of a slice of a dimension; bounds are ints, or as of :meth:`index`."""

    @abstractmethod
    def count(self, position: int) -> S:
        """Return the number of elements of an input that are not zero."""

    def known_count(self, position: int) -> int | None:
        """Return the number of elements that are not zero, if the input is a constant."""
        x = self.inputs[position]
        return int(np.count_nonzero(x.data)) if isinstance(x, Constant) else None

    @abstractmethod
    def reshaped(self, wanted: Sequence[S], before: Sequence[S], misfit: Misfit) -> Sequence[S]:
        """Return sizes of as many elements as others, at most one of which is given as -1."""

    def length(self, size: S, misfit: Misfit) -> S:
        """Return a size, after a check that it is not negative."""
        return self.at_least(size, 0, misfit)

    @abstractmethod
    def total(self, lengths: Sequence[S]) -> S:
        """Return the sum of lengths, after a check that it is in range."""

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
        self.shapes = [getattr(x.type, "shape", None) for x in inputs]

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

    def agreed(self, sizes: Sequence[int | None], misfit: Misfit) -> int | None:
        known = {size for size in sizes if size is not None}
        if len(known) > 1:
            raise self._op.misfit_error(misfit, self)
        return next(iter(known), None)

    def at_least(self, size: int | None, least: int, misfit: Misfit) -> int | None:
        if size is not None and size < least:
            raise self._op.misfit_error(misfit, self)
        return size

    def index(self, position: int) -> Any:
        known = self.value(position)
        return self.inputs[position] if known is None else known

    def check_index(self, index: Any, size: int | None, misfit: Misfit) -> None:
        if isinstance(index, int) and size is not None and not -size <= index < size:
            raise self._op.misfit_error(misfit, self)

    def sliced(self, size: int | None, start: Any, stop: Any, step: Any) -> int | None:
        if start is None and stop is None and step in {None, 1, -1}:
            return size
        if size is not None and all(isinstance(bound, int | None) for bound in (start, stop, step)):
            return len(range(*slice(start, stop, step).indices(size)))
        if step not in {None, 1} or not isinstance(stop, int):
            return None
        # x[:0] and x[3:3] are empty for any x.
        is_empty = isinstance(start, int) and (start < 0) == (stop < 0) and start >= stop
        return 0 if stop == 0 or is_empty else None

    def count(self, position: int) -> int | None:
        return self.known_count(position)

    def reshaped(
        self, wanted: Sequence[int | None], before: Sequence[int | None], misfit: Misfit
    ) -> Sequence[int | None]:
        _check_wanted(wanted, misfit, self._op, self)
        sizes = [None if size == -1 else size for size in wanted]
        unknown = [dim for dim, size in enumerate(sizes) if size is None]
        if None in before or len(unknown) > 1:
            return sizes
        total = prod(cast("Sequence[int]", before))
        rest = prod(size for size in sizes if size is not None)
        if not unknown:
            fits = total == rest
        elif rest == 0:
            fits = total == 0 and wanted[unknown[0]] != -1
        else:
            fits = total % rest == 0
            sizes[unknown[0]] = total // rest
        if not fits:
            raise self._op.misfit_error(misfit, self)
        return sizes

    def total(self, lengths: Sequence[int | None]) -> int | None:
        return None if None in lengths else sum(cast("Sequence[int]", lengths))

    def add(self, a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else a + b

    def multiply(self, a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else a * b

    def floor_div(self, a: int | None, b: int) -> int | None:
        return None if a is None else a // b

    def least(self, a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else min(a, b)

    def greatest(self, a: int | None, b: int | None) -> int | None:
        return None if a is None or b is None else max(a, b)


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
    node
        The node, where errors name it.
    """

    def __init__(
        self,
        op: ShapedOp,
        inputs: Sequence[Any],
        shapes: Sequence[Sequence[int]],
        values: Sequence[Any] | Mapping[int, Any] = (),
        node: Apply | None = None,
    ) -> None:
        self._op = op
        self.inputs = inputs
        self.shapes = shapes
        self.node = node
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

    def agreed(self, sizes: Sequence[int], misfit: Misfit) -> int:
        if len(set(sizes)) > 1:
            raise self._op.misfit_error(misfit, self)
        return sizes[0]

    def at_least(self, size: int, least: int, misfit: Misfit) -> int:
        if size < least:
            raise self._op.misfit_error(misfit, self)
        return size

    def index(self, position: int) -> int:
        return int(self._values[position])

    def check_index(self, index: int, size: int, misfit: Misfit) -> None:
        if not -size <= index < size:
            raise self._op.misfit_error(misfit, self)

    def sliced(self, size: int, start: Any, stop: Any, step: Any) -> int:
        return len(range(*slice(start, stop, step).indices(size)))

    def count(self, position: int) -> int:
        return int(np.count_nonzero(self._values[position]))

    def reshaped(
        self, wanted: Sequence[int], before: Sequence[int], misfit: Misfit
    ) -> Sequence[int]:
        _check_wanted(wanted, misfit, self._op, self)
        total, rest = prod(before), prod(size for size in wanted if size != -1)
        inferred = total // rest if rest else 0
        if total != rest * (inferred if -1 in wanted else 1) or (-1 in wanted and not rest):
            raise self._op.misfit_error(misfit, self)
        return [inferred if size == -1 else size for size in wanted]

    def total(self, lengths: Sequence[int]) -> int:
        return sum(lengths)

    def add(self, a: int, b: int) -> int:
        return a + b

    def multiply(self, a: int, b: int) -> int:
        return a * b

    def floor_div(self, a: int, b: int) -> int:
        return a // b

    def least(self, a: int, b: int) -> int:
        return min(a, b)

    def greatest(self, a: int, b: int) -> int:
        return max(a, b)


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
            shape and tuple((x, dim) if known is None else known for dim, known in enumerate(shape))
            for x in inputs
            for shape in (getattr(x.type, "shape", None),)
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

    def agreed(self, sizes: Sequence[Any], misfit: Misfit) -> Any:
        return sizes[0]

    def at_least(self, size: Any, least: int, misfit: Misfit) -> Any:
        is_known = isinstance(size, int) and size >= least
        self.is_checked = self.is_checked or not (least <= 0 or is_known)
        return size

    def index(self, position: int) -> Any:
        return self.inputs[position]

    def check_index(self, index: Any, size: Any, misfit: Misfit) -> None:
        self.is_checked = True

    def sliced(self, size: Any, start: Any, stop: Any, step: Any) -> Any:
        self.is_checked = self.is_checked or not isinstance(step, int | None)  # it could be 0
        return size if start is stop is None and step in {None, 1, -1} else None

    def count(self, position: int) -> Any:
        return None

    def reshaped(self, wanted: Sequence[Any], before: Sequence[Any], misfit: Misfit) -> Any:
        self.is_checked = True
        return wanted

    def total(self, lengths: Sequence[Any]) -> Any:
        return lengths[0] if len(lengths) == 1 else None

    def add(self, a: Any, b: Any) -> Any:
        return a + b if isinstance(a, int) and isinstance(b, int) else None

    def multiply(self, a: Any, b: Any) -> Any:
        return a * b if isinstance(a, int) and isinstance(b, int) else None

    def floor_div(self, a: Any, b: int) -> Any:
        return a // b if isinstance(a, int) else None

    def least(self, a: Any, b: Any) -> Any:
        return min(a, b) if isinstance(a, int) and isinstance(b, int) else None

    def greatest(self, a: Any, b: Any) -> Any:
        return max(a, b) if isinstance(a, int) and isinstance(b, int) else None


def _check_wanted(
    wanted: Sequence[int | None], misfit: Misfit, op: ShapedOp, shapes: Shapes[Any]
) -> None:
    """Raise for sizes below -1, and for several of -1."""
    negative = [size for size in wanted if size is not None and size < 0]
    if len(negative) > 1 or any(size < -1 for size in negative):
        raise op.misfit_error(misfit, shapes)


def _is_same_source(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[0] is b[0] and a[1] == b[1]
    return isinstance(a, int) and isinstance(b, int) and a == b


NEGATIVE = "negative"
"""The kind of the misfit of a length that is negative."""


def lengths_at(shapes: Shapes[S], first: int, last: int | None = None) -> list[S]:
    """Return the values of the inputs from a position on, which are lengths, after checks.

    Parameters
    ----------
    shapes
        The sizes of the inputs.
    first, last
        The positions: from the first one to the last one, exclusive; by default to the end.
    """
    positions = range(len(shapes.inputs))[first:last]
    return [
        shapes.length(shapes.value(position), _negative(dim, position))
        for dim, position in enumerate(positions)
    ]


@cache
def _negative(dim: int, position: int) -> Misfit:
    return Misfit(NEGATIVE, f"the size of dimension {dim}", dim, position)


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

    def misfit_subject(self, misfit: Misfit, shapes: Shapes[Any]) -> str:
        """Name the sizes compared, as the subject of "must be equal" or "must be at least"."""
        return f"{self}: each size"

    def misfit_error(self, misfit: Misfit, shapes: Shapes[Any]) -> Exception:
        """Return the error for sizes that are known: those of types, or those of values."""
        size = shapes.value(misfit.position)
        return ShapeError(
            f"{self}: the sizes must not be negative, got {size} for dimension {misfit.dim}."
        )

    def static_shapes(self, inputs: Sequence[Any]) -> list[tuple[int | None, ...]]:
        """Return the static shapes of the outputs for given inputs; raise if sizes do not fit."""
        return self.output_shapes(StaticShapes(self, inputs))

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
        shapes = operators.symbolic_shapes(self, node, input_shapes)
        return shapes.infer(self.output_shapes(shapes))


class TakesShape(ShapedOp):
    """An Op with one output, whose shape is that of the first input where there is no error."""

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        """Return the sizes of the first input."""
        return [shapes.shapes[0]]


class KeepsShape(TakesShape):
    """An Op with one output, whose shape is that of the first input, whatever the values are.

    Neither shapes nor values are errors.
    """
