"""Program: the native backend's own form of a computation, between a graph and LLVM.

A Program is a list of steps over values. A value is an :class:`Array` (numbers, C-contiguous) or a
:class:`Handle` (any Python object). Steps are

- :class:`Check`: two sizes must be equal, or the call fails with the user's line;
- :class:`Kernel`: loops that compute arrays element by element;
- :class:`Call`: a routine of a library (BLAS, LAPACK);
- :class:`Callback`: an Op carried out by its own Python code;
- :class:`Claim`: the memory of an argument becomes that of a result, which kernels then change;
- :class:`Branch` and :class:`Loop`: steps that run on a condition, or many times.

What a kernel computes is said as in mathematics: ``out[i, j] = exp(a[i] + b[j])`` is a
:class:`Statement` with loops i and j; ``s[i] = sum(j) a[i, j]`` is one with a loop i and a
reduction loop j. How it is computed (order, vectors, blocks, threads) is decided when code is
emitted.
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
        Of the elements in memory (a bool takes one byte).
    sizes
        Lengths of the axes.
    label
        For people: ``a0``, ``t3`` ...
    variable
        The graph's variable that it is the value of, if any.
    data
        The value of a constant.
    alias
        The array whose memory this shows with other sizes (a reshape), if any.
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
        """The array whose memory this is: itself, or the one that it aliases."""
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
    RESULT = "result"  # a new NumPy array, which leaves the function
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
    """A loop: counts 0, 1 ... ``extent - 1``."""

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
        Pairs of a loop and the step that it is multiplied with.
    offset
        What is added, ``None`` for 0.
    dynamic
        An int64 expression that is added: the position is read from memory. It has been checked
        and wrapped to the range of the axis by an :class:`IndexCheck` in it.
    """

    terms: tuple[tuple[LoopVariable, Size], ...] = ()
    offset: Size | None = None
    dynamic: Expression | None = None


class Expression:
    """The value of one element; nodes are shared, so an expression is a DAG.

    Nobody changes one. That dataclasses could forbid it (``frozen``) would double the time it takes
    to make them, and there are many.
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
        """Of the array."""
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
    """The position that an index stands for, as an int64."""

    index: Index
    dtype: np.dtype[Any] = field(default=np.dtype("int64"))


@record(eq=False)
class Operation(Expression):
    """A scalar op applied to expressions.

    The arguments have the dtypes that the op's function computes in, or ones that it takes; the
    emitter casts as NumPy would.
    """

    op: ScalarOp
    arguments: tuple[Expression, ...]
    dtype: np.dtype[Any]


@record(eq=False)
class Cast(Expression):
    """An expression in another dtype, as ``astype`` casts."""

    argument: Expression
    dtype: np.dtype[Any]


@record(eq=False)
class IndexCheck(Expression):
    """An index from memory, wrapped if negative; outside of ``-size ... size-1`` the call fails."""

    argument: Expression
    size: Size
    failure: Failure
    dtype: np.dtype[Any] = field(default=np.dtype("int64"))


# ---- steps -------------------------------------------------------------------------------------


@record(eq=False)
class Failure:
    """What is reported when something goes wrong at a place in the program.

    Attributes
    ----------
    node
        The node of the graph; it knows the user's line.
    kind
        ``"shape"``, ``"index"``, ``"empty"`` ...: which error is raised.
    detail
        A sentence for the message; ``{0}`` and ``{1}`` stand for the two numbers that failed.
    """

    node: Apply
    kind: str
    detail: str = ""


@record(eq=False)
class Check:
    """``left == right``, or the call fails."""

    left: Size
    right: Size
    failure: Failure


@record(eq=False)
class Statement:
    """``target[indices] = value`` for all ``loops``, combined over those in ``reduction``.

    Attributes
    ----------
    target, indices
        What is written. With an ``accumulate`` the former element is combined with the value.
    value
        The expression.
    loops
        All loops, in the order of the memory that is read.
    reduction
        Those of the loops over which ``reducer`` combines the values. Each iteration of the others
        writes an element of its own (unless an index is dynamic).
    reducer
        ``add mul maximum minimum and_ or_ xor``, or ``None`` without a reduction; ``argmax`` and
        ``argmin`` give the position in the reduction loops.
    accumulate
        ``"add"`` for scatter-add; ``None`` to overwrite.
    is_grouped
        Whether iterations that accumulate into one element follow each other.
    sequential
        Those of the loops whose iterations read elements of the target that earlier ones wrote:
        ``t[i + 1] = t[i] + x[i]``. All elements that the first one reads have been written before.
    nodes
        The graph's nodes that this computes; for people, profiles, and errors.
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
    """What ``needs_of`` has found; a statement is not changed once it has been asked."""


@record(eq=False)
class Nest:
    """Statements with the same loops, computed together for each element, in order.

    What a statement has written, a later one in the nest reads at the same indices only, from a
    register. For one statement a loop may be a reduction and for the next one not.
    """

    loops: tuple[LoopVariable, ...]
    statements: list[Statement]


@record(eq=False)
class Kernel:
    """Nests that run one after the other for each iteration of the ``outer`` loops.

    The loops of each nest are those inside the outer ones, in the order of memory where there is a
    choice. What a nest has written at this iteration of the outer loops the next one reads from
    cache (or, without loops of its own, from a register).

    Attributes
    ----------
    outer
        Loops around all nests, never a reduction.
    local
        Arrays that nobody outside the kernel reads: they need no more memory than one iteration of
        the outer loops touches.
    """

    outer: tuple[LoopVariable, ...]
    nests: list[Nest]
    local: set[Array] = field(default_factory=set)


@record(eq=False)
class Call:
    """A routine of a library.

    Attributes
    ----------
    routine
        ``"gemm"``, ``"gemv"``, ``"dot"``, ``"ger"`` ...
    inputs, output
        Arrays read, and the array written.
    options
        What the routine needs to know: transposes, sizes, scale factors, offsets of slices.
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
    """An Op carried out by its Python code.

    Attributes
    ----------
    why
        What stood against native code.
    destroyed
        Those of the inputs that the Op may overwrite, and what else may lie in their memory.
    """

    node: Apply
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    why: str
    destroyed: tuple[Value, ...] = ()


@record(eq=False)
class Claim:
    """An argument's value in memory that may be overwritten: its own, or that of a copy.

    The first claim of a shared value begins the end of a program, in which nothing can fail: other
    claims, and kernels and calls that write results.

    Attributes
    ----------
    source
        The argument.
    target
        A result.
    is_shared
        Whether the argument is a shared value: it is not overwritten if anybody else holds it.
        Another argument may be overwritten because the caller said so.
    is_kept
        Whether the result begins as the argument, copied if need be; otherwise a kernel that reads
        each element of the argument writes that of the result.
    is_long
        Whether what overwrites it may take long: then it is not overwritten while others wait.
    """

    source: Array
    target: Array
    is_shared: bool
    is_kept: bool = True
    is_long: bool = False


@record(eq=False)
class Branch:
    """Steps that run only if ``condition`` is true, and others that run if not.

    Attributes
    ----------
    condition
        A single bool.
    then, otherwise
        The steps. Memory for what they write is taken before: no size of it is computed in them.
    node
        The graph's node that this computes, if any.
    """

    condition: Array
    then: list[Step]
    otherwise: list[Step]
    node: Apply | None = None


@record(eq=False)
class Loop:
    """Steps that run many times, one pass after the other.

    Attributes
    ----------
    count
        How many times.
    counter
        Counts the passes: in indices, and in sizes as :class:`~.sizes.Counter`.
    body
        The steps. Memory for what they write is taken before: no size of it is computed in them.
    until
        A single bool, written in the body: the pass in which it is true is the last one.
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
        is handed on (an argument, a constant: copied by the runtime).
    steps
        What is done.
    sizes
        The sizes that occur.
    shapes
        The sizes of all tensors of the graph, if they were asked for.
    """

    arguments: list[Value]
    results: list[Value]
    steps: list[Step]
    sizes: Sizes
    shapes: dict[Variable, tuple[Size, ...]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The number of the step from which on shared values are overwritten, and nothing fails."""
        for number, step in enumerate(self.steps):
            if isinstance(step, Claim) and step.is_shared:
                return number
        return len(self.steps)


def walk_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Return all steps, those inside of branches and loops after the one they are in."""
    for step in steps:
        yield step
        if isinstance(step, Branch):
            yield from walk_steps([*step.then, *step.otherwise])
        elif isinstance(step, Loop):
            yield from walk_steps(step.body)
