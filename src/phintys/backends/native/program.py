"""Program: the native backend's intermediate representation, between a graph and LLVM.

A Program is a list of steps over values. A value is an :class:`Array` (numbers, C-contiguous) or a
:class:`Handle` (any Python object). Steps are

- :class:`Check`: two sizes must be equal, or the call fails with the user's line;
- :class:`Kernel`: loops that compute arrays element by element;
- :class:`Call`: a routine of a library (BLAS, LAPACK);
- :class:`Callback`: an Op executed by its own Python code;
- :class:`Claim`: the memory of an argument becomes that of a result, which kernels then modify;
- :class:`Branch` and :class:`Loop`: steps that run conditionally, or repeatedly.

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
    from collections.abc import Iterator, Sequence

    from phintys.backends.native.sizes import Size, Sizes
    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable
    from phintys.scalar.op import ScalarOp

__all__ = [
    "Array",
    "Branch",
    "Call",
    "Callback",
    "Cast",
    "Check",
    "Claim",
    "Expression",
    "Failure",
    "Handle",
    "Index",
    "IndexCheck",
    "Kernel",
    "Literal",
    "Load",
    "Loop",
    "LoopVariable",
    "Nest",
    "Operation",
    "Place",
    "Position",
    "Program",
    "SizeValue",
    "Statement",
    "Step",
    "Value",
    "walk_steps",
]


# ---- values ----------------------------------------------------------------------------------


@record(eq=False)
class Array:
    """Numbers of one dtype, C-contiguous and aligned to their size.

    Attributes
    ----------
    place
        Where the memory comes from; see :class:`Place`.
    dtype
        Dtype of the elements in memory (a bool takes one byte).
    sizes
        Lengths of the axes.
    label
        A readable name: ``a0``, ``t3`` ...
    variable
        The graph's variable whose value it is, if any.
    data
        The value of a constant.
    alias
        The array that this is a view of with other sizes (a reshape), if any.
    """

    place: str
    dtype: np.dtype[Any]
    sizes: tuple[Size, ...]
    label: str
    variable: Variable | None = None
    data: np.ndarray[Any, Any] | None = None
    alias: Array | None = None

    @property
    def memory(self) -> Array:
        """The array that owns the memory: this one, or the one that it aliases."""
        return self if self.alias is None else self.alias

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"{self.label}: {self.dtype}[{', '.join(map(str, self.sizes))}] {self.place}"


class Place:
    """Where the memory of an array comes from."""

    ARGUMENT = "argument"  # an argument of the function, made contiguous at entry if it is not
    CONSTANT = "constant"  # data of the program
    BUFFER = "buffer"  # planned into the arena, or kept in registers by the kernel that uses it
    RESULT = "result"  # a new NumPy array, which the function returns
    CALLBACK = "callback"  # made by an Op's Python code


@record(eq=False)
class Handle:
    """A Python object: a value whose Type is not a tensor's, passed to and from callbacks."""

    label: str
    variable: Variable | None = None
    data: Any = None
    place: str = Place.CALLBACK

    def __repr__(self) -> str:
        return f"{self.label}: object {self.place}"


Value = Array | Handle


# ---- expressions: what a kernel computes for one element --------------------------------------


@record(eq=False)
class LoopVariable:
    """A loop over 0, 1 ... ``extent - 1``."""

    extent: Size
    label: str

    def __repr__(self) -> str:
        return self.label


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
        ``"shape"``, ``"index"``, ``"empty"`` ...: determines the error that is raised.
    detail
        A sentence for the message; ``{0}`` and ``{1}`` are replaced by the two numbers that failed.
    """

    node: Apply
    kind: str
    detail: str = ""


@record(eq=False)
class Check:
    """Checks that ``left == right``; otherwise the call fails."""

    left: Size
    right: Size
    failure: Failure


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
        ``"add"`` for scatter-add; ``None`` to overwrite.
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


@record(eq=False)
class Nest:
    """Statements with the same loops, computed together for each element, in order.

    A later statement in the nest reads the values written by an earlier one at the same indices
    only, from a register. A loop can be a reduction for one statement and not for another.
    """

    loops: tuple[LoopVariable, ...]
    statements: list[Statement]


@record(eq=False)
class Kernel:
    """Nests that run one after the other in each iteration of the ``outer`` loops.

    The loops of each nest are those inside the outer ones, in memory order where there is a choice.
    Values that a nest has written in this iteration of the outer loops are read by the next one
    from cache (or, without loops of its own, from a register).

    Attributes
    ----------
    outer
        Loops around all nests, never reductions.
    local
        Arrays that are not read outside the kernel: they need only the memory that one iteration of
        the outer loops accesses.
    """

    outer: tuple[LoopVariable, ...]
    nests: list[Nest]
    local: set[Array] = field(default_factory=set)


@record(eq=False)
class Call:
    """A call of a library routine.

    Attributes
    ----------
    routine
        ``"gemm"``, ``"gemv"``, ``"dot"``, ``"ger"`` ...
    inputs, output
        The arrays read, and the array written.
    options
        The parameters of the routine: transposes, sizes, scale factors, offsets of slices.
    node
        The graph's node that this computes.
    """

    routine: str
    inputs: tuple[Array, ...]
    output: Array
    options: dict[str, Any]
    node: Apply


@record(eq=False)
class Callback:
    """An Op executed by its Python code.

    Attributes
    ----------
    why
        Why there is no native code.
    destroyed
        The inputs that the Op may overwrite, and other values that may share their memory.
    """

    node: Apply
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    why: str
    destroyed: tuple[Value, ...] = ()


@record(eq=False)
class Claim:
    """An argument's value in memory that may be overwritten: its own, or a copy.

    The first claim of a shared value begins the end of a program, in which nothing can fail. The
    end consists of claims, and of kernels and calls that write results.

    Attributes
    ----------
    source
        The argument.
    target
        A result.
    is_shared
        Whether the argument is a shared value: it is not overwritten if it is referenced elsewhere.
        Other arguments are overwritten with the caller's permission.
    is_kept
        Whether the result starts out as the argument, copied if needed; otherwise a kernel that
        reads each element of the argument writes that of the result.
    is_long
        Whether overwriting it may take long: then it is not overwritten while other threads wait.
    """

    source: Array
    target: Array
    is_shared: bool
    is_kept: bool = True
    is_long: bool = False


@record(eq=False)
class Branch:
    """Steps that run only if ``condition`` is true, and others that run otherwise.

    Attributes
    ----------
    condition
        A single bool.
    then, otherwise
        The steps. Memory for their outputs is allocated before: none of its sizes is computed in
        them.
    node
        The graph's node that this computes, if any.
    """

    condition: Array
    then: list[Step]
    otherwise: list[Step]
    node: Apply | None = None


@record(eq=False)
class Loop:
    """Steps that run repeatedly, one pass after the other.

    Attributes
    ----------
    count
        Number of passes.
    counter
        The number of the pass: used in indices, and in sizes as :class:`~.sizes.Counter`.
    body
        The steps. Memory for their outputs is allocated before: none of its sizes is computed in
        them.
    until
        A single bool, written in the body: the pass in which it becomes true is the last one.
    node
        The graph's node that this computes, if any.
    """

    count: Size
    counter: LoopVariable
    body: list[Step]
    until: Array | None = None
    node: Apply | None = None


Step = Check | Kernel | Call | Callback | Claim | Branch | Loop


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
            if isinstance(step, Claim) and step.is_shared:
                return number
        return len(self.steps)


def walk_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Return all steps; those inside a branch or loop follow the step that contains them."""
    for step in steps:
        yield step
        if isinstance(step, Branch):
            yield from walk_steps([*step.then, *step.otherwise])
        elif isinstance(step, Loop):
            yield from walk_steps(step.body)
