"""Program: the native backend's intermediate representation, between a graph and LLVM.

A Program is a list of steps over values. A value is an :class:`Array` (numbers, C-contiguous) or a
:class:`Handle` (any Python object). The kinds of steps are the files of
:mod:`~phintys.backends.native.steps`: kernels, which compute arrays element by element, calls of
library routines, and so on.

Kernels are written as in mathematics: ``out[i, j] = exp(a[i] + b[j])`` is a :class:`Statement` with
loops i and j; ``s[i] = sum(j) a[i, j]`` is one with a loop i and a reduction loop j. How a kernel
is computed (order, vectors, blocks, threads) is decided when code is emitted.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.errors import ShapeError
from phintys._base.records import record
from phintys.backends.native.values import Array, Handle, LoopVariable, Place, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from phintys.backends.native.emit.frame import Layout
    from phintys.backends.native.emit.main import MainFunction
    from phintys.backends.native.emit.step_writer import StepWriter
    from phintys.backends.native.explain import Explainer
    from phintys.backends.native.polynomials import Polynomial
    from phintys.backends.native.sizes import Sizes
    from phintys.backends.native.values import Size
    from phintys.backends.native.verify import Verifier
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable
    from phintys.scalar.op import ScalarOp

__all__ = [
    "Array",
    "Cast",
    "Expression",
    "Failure",
    "Handle",
    "Index",
    "IndexCheck",
    "LimitFailure",
    "Literal",
    "Load",
    "LoopVariable",
    "Operation",
    "OwnFailure",
    "Place",
    "Position",
    "Program",
    "RoundedFailure",
    "SizeValue",
    "Statement",
    "Step",
    "StepsFailure",
    "Value",
    "parts_of",
    "walk_steps",
]


# ---- expressions: what a kernel computes for one element --------------------------------------


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
class Cast(Expression):
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


# ---- steps -------------------------------------------------------------------------------------


@record(eq=False)
class Failure:
    """What is reported when the program fails at this place.

    Attributes
    ----------
    node
        The node of the graph, which knows the user's line.
    kind
        ``"broadcast"``, ``"index"``, ``"empty"`` ...: what was not as it must be.
    detail
        Words for the message; ``{0}`` and ``{1}`` are replaced by the two numbers that failed.
    error
        The class of the error.
    text
        The message, of the Op, the kind and the detail.
    """

    is_limit: ClassVar[bool] = False
    """Whether only native code fails, so that other backends compute the node."""

    is_own: ClassVar[bool] = False
    """Whether native code has all words for it: the reference backend is not asked for its own."""

    is_rounded: ClassVar[bool] = False
    """Whether it depends on rounding, so that the reference backend may compute the node."""

    node: Apply
    kind: str
    detail: str = ""
    error: type[Exception] = ShapeError
    text: str = "{op}: {kind}: {detail}."

    def exception(self, first: int, second: int) -> Exception:
        """Return the error for the two numbers that failed, in the words of native code."""
        detail = self.detail.format(first, second)
        return self.error(self.text.format(op=self.node.op, kind=self.kind, detail=detail))


@record(eq=False)
class OwnFailure(Failure):
    """A failure for which the Op has an error of its own: ``op.error(first, second)``."""

    def exception(self, first: int, second: int) -> Exception:
        """Return the error of the Op."""
        op: Any = self.node.op
        return op.error(first, second)


@record(eq=False)
class LimitFailure(Failure):
    """A number that is too large for a library, although the node could be computed."""

    is_limit: ClassVar[bool] = True


@record(eq=False)
class RoundedFailure(Failure):
    """A matrix that has no factor or no solution, as far as rounding allows to tell."""

    is_rounded: ClassVar[bool] = True


@record(eq=False)
class StepsFailure(Failure):
    """What is wrong with a loop before its first step; the detail is the whole message.

    The reference backend is not asked for its words: it may run the steps for ages.
    """

    is_own: ClassVar[bool] = True

    def exception(self, first: int, second: int) -> Exception:
        """Return the error."""
        return self.error(self.detail.format(first, second))


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


class Step:
    """A step of a Program: it states what the rest of the backend has to know about it.

    A kind of step is a subclass in a file of its own in :mod:`~phintys.backends.native.steps`.
    Other modules use these methods, and have no lists of kinds; code about a single kind, such as
    the fusion of kernels, may name it.

    Arrays are given as they are accessed; an array that aliases another is in the memory of that
    one. The same array may be given several times. The order must be the same in every process.
    """

    __slots__ = ()

    noun: ClassVar[str] = "step"
    nouns: ClassVar[str] = "steps"
    """Names of the kind, for people: of one, and of several."""

    is_timed: ClassVar[bool] = True
    """Whether profiles show it."""

    repeats: ClassVar[bool] = False
    """Whether its bodies run repeatedly."""

    only_checks: ClassVar[bool] = False
    """Whether it does nothing but compare sizes."""

    # ---- what it accesses

    def reads(self) -> Iterable[Array]:
        """Return the arrays that it reads, without those in bodies, and those that sizes need."""
        return ()

    def writes(self) -> Iterable[Array]:
        """Return the arrays whose values it makes, and its temporary memory; without bodies."""
        return ()

    def overwrites(self) -> Iterable[Array]:
        """Return the arrays whose values are lost, except those that it makes; without bodies."""
        return ()

    def sizes(self) -> Iterable[Size]:
        """Return the sizes that must be known before it runs; without bodies."""
        return ()

    def bodies(self) -> Sequence[Sequence[Step]]:
        """Return the lists of steps inside it."""
        return ()

    # ---- what it does

    @property
    def may_fail(self) -> bool:
        """Whether a call can fail here because of the values of its arguments."""
        return any(step.may_fail for body in self.bodies() for step in body)

    @property
    def begins_end(self) -> bool:
        """Whether it is the first that overwrites shared values: from here on nothing may fail."""
        return False

    @property
    def is_floor(self) -> bool:
        """Whether no statement after it may be computed with those before it."""
        return bool(self.bodies())

    def nodes(self) -> Sequence[Apply]:
        """Return the nodes of the graph that it computes."""
        return ()

    def shares(self, weight: Callable[[Statement], float]) -> Mapping[Apply, float]:
        """Return the nodes with their shares of its time, given the work of a statement."""
        return {node: 1 / len(self.nodes()) for node in self.nodes()}

    def work(self, main: MainFunction) -> Polynomial | None:
        """Return a rough estimate of its time, in units of the main function, if there is one."""
        return None

    # ---- what it looks like

    @property
    def title(self) -> str:
        """A noun phrase that tells it from others, for errors."""
        return f"a {self.noun}"

    def lines(self, explainer: Explainer) -> list[str]:
        """Return it as text."""
        raise NotImplementedError

    # ---- code

    def verify(self, verifier: Verifier) -> None:
        """Check that what it needs is there, and record what it writes."""
        for size in self.sizes():
            verifier.size(size)
        for array in self.reads():
            verifier.expect_written(array, "is read")
        verifier.written.update(array.memory for array in self.writes())

    def announce(self, layout: Layout) -> Sequence[Value]:
        """Add what the runtime has to know of it; return the values that need records."""
        return ()

    def check_limits(self, writer: StepWriter) -> None:
        """Write the checks that must precede it, and anything that overwrites shared values."""

    def emit(self, writer: StepWriter) -> None:
        """Write its code."""
        raise NotImplementedError


@record(eq=False)
class Program:
    """A whole function.

    Attributes
    ----------
    arguments
        Values that the caller passes, in order.
    results
        Values that are returned, in order; each is an array of place ``RESULT``, or any value that
        is passed through (an argument, a constant), which the runtime copies.
    steps
        The steps.
    sizes
        The sizes of the program.
    shapes
        The sizes of all tensors of the graph, if requested.
    """

    arguments: list[Value]
    results: list[Value]
    steps: list[Step]
    sizes: Sizes
    shapes: dict[Variable, tuple[Size, ...]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The number of the step from which shared values are overwritten, and nothing can fail."""
        for number, step in enumerate(self.steps):
            if step.begins_end:
                return number
        return len(self.steps)


def walk_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Return all steps; those inside a branch or loop follow the step that contains them."""
    for step in steps:
        yield step
        for body in step.bodies():
            yield from walk_steps(body)


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
        elif isinstance(current, Cast | IndexCheck):
            stack.append(current.argument)
        elif isinstance(current, Load):
            stack.extend(i.dynamic for i in current.indices if i.dynamic is not None)
        elif isinstance(current, Position) and current.index.dynamic is not None:
            stack.append(current.index.dynamic)
