"""What kernels compute: expressions for one element, and statements that write elements.

Kernels are written as in mathematics: ``out[i, j] = exp(a[i] + b[j])`` is a :class:`Statement` with
loops i and j; ``s[i] = sum(j) a[i, j]`` is one with a loop i and a reduction loop j. How a kernel
is computed (order, vectors, blocks, threads) is decided when code is emitted.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from phintys.backends.native.failures import Failure
    from phintys.backends.native.values import Array, LoopVariable, Size
    from phintys.graph.apply import Apply
    from phintys.scalar.op import ScalarOp


@record(eq=False)
class Index:
    """A position along one axis: ``offset + sum(step * loop) [+ dynamic]``.

    Attributes
    ----------
    terms
        Pairs of a loop and the step that it is multiplied by.
    offset
        A size that is added, ``None`` for 0.
    dynamic
        An int64 expression that is added: the position is read from memory. It contains an
        :class:`IndexCheck`, which checks it and wraps it to the range of the axis.
    """

    terms: tuple[tuple[LoopVariable, Size], ...] = ()
    offset: Size | None = None
    dynamic: Expression | None = None


class Expression:
    """The value of one element; nodes are shared, so an expression is a DAG.

    Expressions are not modified, by convention: enforcing that with ``frozen`` dataclasses would
    double the time to create them, and there are many.
    """

    __slots__ = ()
    dtype: np.dtype[Any]


@record(eq=False)
class Load(Expression):
    """An element of an array, one index for each axis."""

    array: Array
    indices: tuple[Index, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return self.array.dtype


@record(eq=False)
class Literal(Expression):
    """A number."""

    value: np.generic
    dtype: np.dtype[Any]


@record(eq=False)
class SizeValue(Expression):
    """A size, as an int64."""

    size: Size
    dtype: np.dtype[Any] = field(default=np.dtype("int64"))


@record(eq=False)
class Position(Expression):
    """The position that an index gives, as an int64."""

    index: Index
    dtype: np.dtype[Any] = field(default=np.dtype("int64"))


@record(eq=False)
class Operation(Expression):
    """A scalar op applied to expressions.

    The arguments have the dtypes that the op's function computes in, or dtypes that it accepts; the
    emitter casts as NumPy would.
    """

    op: ScalarOp
    arguments: tuple[Expression, ...]
    dtype: np.dtype[Any]


@record(eq=False)
class Conversion(Expression):
    """An expression cast to another dtype, as by ``astype``."""

    argument: Expression
    dtype: np.dtype[Any]


@record(eq=False)
class IndexCheck(Expression):
    """An index from memory, wrapped if negative; the call fails outside ``-size ... size-1``."""

    argument: Expression
    size: Size
    failure: Failure
    dtype: np.dtype[Any] = field(default=np.dtype("int64"))


@record(eq=False)
class Statement:
    """``target[indices] = value`` for all ``loops``, reduced over those in ``reduction``.

    Attributes
    ----------
    target, indices
        The element written. With ``accumulate`` its former value is combined with the new one.
    value
        The expression.
    loops
        All loops, in the order of the memory that is read.
    reduction
        The loops over which ``reducer`` combines the values. Each iteration of the other loops
        writes a different element (unless an index is dynamic).
    reducer
        ``add mul maximum minimum and_ or_ xor``, or ``None`` without a reduction; ``argmax`` and
        ``argmin`` give the position in the reduction loops.
    accumulate
        ``add``, ``mul``, ``maximum`` or ``minimum`` to combine with it; ``None`` to overwrite.
    is_grouped
        Whether iterations that accumulate into the same element are consecutive.
    sequential
        The loops whose iterations read elements of the target written by earlier ones: ``t[i + 1] =
        t[i] + x[i]``. All elements that the first iteration reads were written before.
    nodes
        The graph's nodes that this computes; for people, profiles and errors.
    """

    target: Array
    indices: tuple[Index, ...]
    value: Expression
    loops: tuple[LoopVariable, ...]
    reduction: tuple[LoopVariable, ...] = ()
    reducer: str | None = None
    accumulate: str | None = None
    nodes: tuple[Apply, ...] = ()
    sequential: tuple[LoopVariable, ...] = ()
    is_grouped: bool = False
    needs: Any = field(default=None, init=False, repr=False)
    """The cached result of ``needs_of``; a statement is not modified afterwards."""


def parts_of(expression: Expression) -> Iterable[Expression]:
    """Return the expressions that an expression is made of, itself included, each once."""
    seen: set[int] = set()
    stack = [expression]
    while stack:
        current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, Operation):
            stack.extend(current.arguments)
        elif isinstance(current, Conversion | IndexCheck):
            stack.append(current.argument)
        elif isinstance(current, Load):
            stack.extend(i.dynamic for i in current.indices if i.dynamic is not None)
        elif isinstance(current, Position) and current.index.dynamic is not None:
            stack.append(current.index.dynamic)
