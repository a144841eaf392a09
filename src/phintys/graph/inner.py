"""Ops with an inner graph: the protocol by which all layers know them.

A loop over rows, a scan, a branch, or a function used as an Op computes its outputs with a graph of
its own. Passes, backends, printing, copying and gradients know such an Op only as a
:class:`HasInnerGraph`: none of them looks for a particular Op or attribute.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from phintys._base.caches import kept_property
from phintys._base.errors import ArgumentError, MethodNotDefinedError, add_note
from phintys._base.records import record
from phintys.graph.compiler import link_graph
from phintys.graph.equality import equal_inner_graphs
from phintys.graph.op import props_hash
from phintys.graph.variable import Constant

if TYPE_CHECKING:
    from typing import Self

    from phintys._base.origin import Origin
    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import Roles
    from phintys.graph.variable import Variable


@record(frozen=True)
class Placeholder:
    """What a placeholder stands for, and where.

    Attributes
    ----------
    what
        Such as "an input of a step of a loop".
    origin
        Where the loop was made.
    advice
        How to get its value outside.
    """

    what: str
    origin: Origin
    advice: str


def mark_placeholder(variable: Variable, placeholder: Placeholder) -> None:
    """Mark a variable as one that has a value only within an inner graph."""
    variable.tag.placeholder = placeholder


def about_placeholder(variable: Variable) -> str | None:
    """Return a message about a placeholder without a value; ``None`` for other variables.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.graph.inner import about_placeholder
    >>> rows = []
    >>> _ = phintys.scan(lambda x: rows.append(x) or x**2, pt.dvector("x"))
    >>> about_placeholder(rows[0]).partition(" made")[0]
    'x[t] is an input of a step of the loop'
    """
    found = getattr(variable.tag, "placeholder", None)
    if not isinstance(found, Placeholder):
        return None
    return (
        f"{variable} is {found.what} made at\n  {found.origin}\nand has no value outside of it. "
        f"{found.advice}"
    )


MOST_NESTED = 50
"""How deep inner graphs can be nested without a thought for Python's limit of nested calls."""

_CALLS_OF_A_LEVEL = 13
"""How many calls inside of each other a level takes at most. Pickling takes 12, the gradient of a
scan 11, compilation 9; building, comparing, copying and printing do not nest calls."""


class InnerProgram(Protocol):
    """Computes the outputs of an inner graph, in the backend that runs the outer graph."""

    def __call__(self, inputs: Sequence[Any], /) -> list[Any]:
        """Return a value for each output of the inner graph, given one for each of its inputs."""
        ...


class _Nested:
    """The attribute for an inner graph, which notes what depends on the graphs inside of it.

    Without ``__get__``, it is read from the dictionary of the instance, as any other attribute.
    """

    def __set__(self, op: HasInnerGraph, fgraph: FunctionGraph) -> None:
        nesting, held = _nesting_of(fgraph)
        within = _overwrites_within(fgraph)
        vars(op).update(fgraph=fgraph, nesting=nesting, held_nesting=held, overwrites_within=within)


def require_calls(op: object, nesting: int = 0) -> None:
    """Raise if an Op has inner graphs that are nested too deeply to be entered by calls.

    Parameters
    ----------
    op
        The Op.
    nesting
        How deep its Ops are nested, if these are more than those of its graph.

    Raises
    ------
    ArgumentError
        Python's limit of nested calls would be exceeded. The error names a limit that suffices.
    """
    if not isinstance(op, HasInnerGraph):
        return
    nesting = nesting or op.nesting
    if nesting <= MOST_NESTED:
        return
    used = 0
    frame = inspect.currentframe()
    while frame is not None:
        used, frame = used + 1, frame.f_back
    limit, needed = sys.getrecursionlimit(), used + nesting * _CALLS_OF_A_LEVEL
    if needed > limit:
        msg = (
            f"The inner graphs of {type(op).__name__} are nested {nesting} deep, which takes up "
            f"to {needed} calls inside of each other; Python's limit is {limit}. Apply Ops one "
            "after the other instead of inside of each other, or raise the limit with "
            f"sys.setrecursionlimit({-(-needed // 1000) * 1000 + 1000})."
        )
        raise ArgumentError(msg)


class HasInnerGraph:
    """A mixin for Ops that compute their outputs with an inner graph.

    It is the first base class, as in ``class Loop(HasInnerGraph, Op)``. Such an Op sets
    :attr:`fgraph` and defines :meth:`with_inner`, and :meth:`perform_with` instead of ``perform``.

    The inner graph is closed: its leaves are its inputs and constants. Like the Op, it must not
    change once it is in use; another graph needs another Op, from :meth:`with_inner`. A pass of
    the pipeline, ``inner_graphs``, rewrites it with that same pipeline, so it runs in the form that
    the mode gives it.

    With ``__props__``, two Ops are equal if their classes and props are, and their inner graphs
    have the same structure. Without, an Op equals only itself.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.graph import Apply, FunctionGraph, HasInnerGraph, Op
    >>> class Repeat(HasInnerGraph, Op):
    ...     '''Apply a graph n times.'''
    ...
    ...     __props__ = ("n",)
    ...
    ...     def __init__(self, fgraph, n):
    ...         self.fgraph = fgraph
    ...         self.n = n
    ...
    ...     def with_inner(self, fgraph):
    ...         return Repeat(fgraph, self.n)
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    ...
    ...     def perform_with(self, program, node, inputs, output_storage):
    ...         (value,) = inputs
    ...         for _ in range(self.n):
    ...             (value,) = program([value])
    ...         output_storage[0][0] = value
    >>> u, x = pt.dvectors("u", "x")
    >>> phintys.function([x], Repeat(FunctionGraph([u], [u * 2]), 3)(x))([1.0])
    array([8.])
    """

    if TYPE_CHECKING:
        fgraph: FunctionGraph
        """The inner graph."""
    else:
        fgraph = _Nested()

    rewrites_inner: ClassVar[bool] = True
    """Whether passes may replace the inner graph, by :meth:`with_inner`."""

    mutable_inner: Collection[int] = ()
    """Positions of the inner inputs that the inner graph may overwrite. The values of all others
    belong to the outer graph, or are needed again; inner outputs may share memory with them."""

    compares_inner: ClassVar[bool] = False
    """Whether Ops are equal if their inner graphs have the same structure; set by ``__props__``."""

    _props_key: ClassVar[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        own = cls.__dict__
        if "__props__" in own or "__eq__" in own:
            cls.compares_inner = "__eq__" not in own
        if cls.compares_inner and "__props__" in own:
            setattr(cls, "__eq__", _inner_eq)  # noqa: B010 - pyright takes it for a redefinition
            setattr(cls, "__hash__", _inner_hash)  # noqa: B010 - likewise
        super().__init_subclass__(**kwargs)

    @property
    def inner_inputs(self) -> list[Variable]:
        """The inputs of the inner graph."""
        return self.fgraph.inputs

    @property
    def inner_outputs(self) -> list[Variable]:
        """The outputs of the inner graph."""
        return self.fgraph.outputs

    @property
    def captured(self) -> Mapping[int, int]:
        """Input of a node -> the inner input that always has the same value.

        All inputs, in order, by default. A loop leaves out those whose values the iterations
        change, or see in part.
        """
        return {position: position for position in range(len(self.fgraph.inputs))}

    @property
    def inner_roles(self) -> Roles:
        """What the inputs and the outputs of the inner graph are for, like ``Op.roles``."""
        return (), ()

    def with_inner(self, fgraph: FunctionGraph) -> Self:
        """Return the Op with another inner graph, whose inputs and outputs have the same meanings.

        Parameters
        ----------
        fgraph
            The graph, which the new Op may keep: nothing else owns it.
        """
        msg = (
            f"The Op {self} has an inner graph but no with_inner, so the graph can be neither "
            "copied nor rewritten. Define with_inner(self, fgraph), which returns an Op like self "
            "around another graph."
        )
        raise MethodNotDefinedError(msg)

    def clone(self) -> Self:
        """Return an equal Op with a copy of the inner graph."""
        return self.with_inner(self.fgraph.clone())

    def perform_with(
        self,
        program: InnerProgram,
        node: Apply,
        inputs: Sequence[Any],
        output_storage: Sequence[list[Any]],
    ) -> None:
        """Compute the output values, like ``Op.perform``, with a program for the inner graph.

        Parameters
        ----------
        program
            Takes a list with a value for each inner input, and returns a list with one for each
            inner output. The backend that runs the node makes it from :attr:`fgraph`.
        node, inputs, output_storage
            As for ``Op.perform``.
        """
        msg = (
            f"The Op {self} has no perform_with. Define perform_with(program, node, inputs, "
            "output_storage) in its class: program(values) computes the inner graph."
        )
        raise MethodNotDefinedError(msg)

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Compute the output values, with the inner graph run by the reference backend.

        Backends call :meth:`perform_with` with a program of their own instead.
        """
        self.perform_with(self._own_program, node, inputs, output_storage)

    @kept_property
    def _own_program(self) -> InnerProgram:
        mutable = [self.inner_inputs[position] for position in self.mutable_inner]
        return link_graph(self.fgraph, mutable)

    @kept_property
    def nesting(self) -> int:
        """How deep inner graphs are nested, this one included."""
        return _nesting_of(self.fgraph)[0]

    @kept_property
    def held_nesting(self) -> int:
        """How deep Ops are nested by all that they hold, such as derivatives of their own."""
        return _nesting_of(self.fgraph)[1]

    def _holds(self, ops: Iterable[object]) -> None:
        """Note Ops that this one holds beside those of its graph."""
        held = [op.held_nesting for op in ops if isinstance(op, HasInnerGraph)]
        vars(self)["held_nesting"] = max([self.held_nesting, *(1 + depth for depth in held)])

    @kept_property
    def overwrites_within(self) -> bool:
        """Whether a node of the inner graph, or of one inside of it, overwrites an input."""
        return _overwrites_within(self.fgraph)

    @kept_property
    def _kept_hash(self) -> int:
        types = tuple(variable.type for variable in (*self.inner_inputs, *self.inner_outputs))
        return hash((props_hash(self), types, self.nesting, _contents_of(self.fgraph)))

    def __getstate__(self) -> dict[str, Any]:
        require_calls(self, self.held_nesting)
        return {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}


_NOT_PICKLED = frozenset({"_own_program", "_kept_hash"})


@record(frozen=True)
class Within:
    """An inner graph in a graph, or in the inner graph of another node.

    Attributes
    ----------
    node
        The node whose Op has it.
    outer
        The inner graph that the node is in; ``None`` for a node of the outermost graph.
    """

    node: Apply
    outer: Within | None = None

    def add_notes(self, error: BaseException) -> None:
        """Say in an error which nodes, from the innermost to the outermost, it is inside of."""
        place: Within | None = self
        while place is not None:
            add_note(
                error, f"In the inner graph of {place.node.op}, made at\n  {place.node.origin}"
            )
            place = place.outer


def inner_graphs_below(
    nodes: Iterable[Apply], follows: Callable[[Apply], bool] = lambda _node: True
) -> Iterator[Within]:
    """Yield the inner graphs of nodes and all those inside of them, each Op once.

    They are found without calls inside of each other, at any depth.

    Parameters
    ----------
    nodes
        The nodes.
    follows
        Whether the inner graph of a node, and those inside of it, are wanted.
    """
    seen: set[int] = set()
    waiting = [Within(node) for node in nodes]
    while waiting:
        place = waiting.pop()
        op = place.node.op
        if not isinstance(op, HasInnerGraph) or id(op) in seen or not follows(place.node):
            continue
        seen.add(id(op))
        yield place
        waiting.extend(Within(node, place) for node in op.fgraph.apply_nodes)


def _nesting_of(fgraph: FunctionGraph) -> tuple[int, int]:
    """How deep inner graphs are nested around a graph inside, and all that their Ops hold."""
    inner = [node.op for node in fgraph.apply_nodes if isinstance(node.op, HasInnerGraph)]
    nesting = 1 + max((one.nesting for one in inner), default=0)
    return nesting, 1 + max((one.held_nesting for one in inner), default=0)


def _contents_of(fgraph: FunctionGraph) -> frozenset[Hashable]:
    """What the nodes of a graph are and read: equal graphs have the same, and few others do."""
    nodes = fgraph.apply_nodes
    ops = {type(node.op) if isinstance(node.op, HasInnerGraph) else node.op for node in nodes}
    read = (x for node in nodes for x in node.inputs if isinstance(x, Constant))
    return frozenset(ops).union(x.signature() for x in read)


def _overwrites_within(fgraph: FunctionGraph) -> bool:
    return any(
        node.op.destroy_map or (isinstance(node.op, HasInnerGraph) and node.op.overwrites_within)
        for node in fgraph.apply_nodes
    )


def _inner_eq(self: Any, other: Any) -> bool:
    return self is other or (
        type(self) is type(other)
        and hash(self) == hash(other)
        and self._props_key(self) == other._props_key(other)
        and equal_inner_graphs(self, other)
    )


def _inner_hash(self: Any) -> int:
    return self._kept_hash
