"""Rules: what a node may be replaced by, and whole-graph steps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from phintys._base.errors import RewriteError
from phintys.graph.op import Op

if TYPE_CHECKING:
    from typing import Self

    from phintys.graph.apply import Apply
    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.variable import Variable
    from phintys.rewriting.trace import RewriteTrace

__all__ = [
    "GraphRewriter",
    "NodeRewriter",
    "Operand",
    "Result",
    "Tracked",
    "graph_rewriter",
    "node_rewriter",
]

Result: TypeAlias = (
    "Literal[False] | Sequence[Variable | None] | Mapping[Variable, Variable] | None"
)
"""What a rule returns: nothing to do, or the replacements of the node's outputs."""

Tracked: TypeAlias = "Op | type[Op]"


class Operand(Enum):
    """What a rule may need among the operands of a node, other than what an Op has computed."""

    CONSTANT = "a constant"
    REPEATED = "one variable twice"
    ALIKE = "the result of the Op, or of the class of Ops, that the node is tracked for"


Case: TypeAlias = "tuple[Tracked | None, tuple[Tracked | Operand, ...] | None]"
"""What a node must be computed by, and one of its operands; ``None`` for anything."""


class NodeRewriter:
    """A rule that may replace the outputs of one node.

    Make one with :func:`node_rewriter` or :func:`~phintys.rewriting.pattern`, or by a subclass
    that defines :meth:`transform`.

    Parameters
    ----------
    tracks
        Ops and classes of Ops whose nodes the rule looks at; ``None`` for all nodes.
    operands
        What the rule needs to find anything to do: Ops and classes of Ops, one of which computes
        an operand of the node, or an :class:`Operand`. Where no operand is of the kind, a driver
        does not try the rule, which saves most of the time that rewriting takes. ``None`` if the
        operands may be anything.
    within
        Ops and classes of Ops one of which the rule must find within its depth below the node.
        While a graph has none of them, a driver does not try the rule. ``None`` for no condition.
    name
        Name in traces and errors, and for ``excluding``.
    equation
        What the rule does, as in ``neg(neg(x)) -> x``.
    depth
        How many levels of nodes the rule looks at, the node itself being the first. A node is
        looked at again when something within that depth below it has changed.
    tags
        Further names that ``excluding`` and ``including`` understand.
    requires
        Makers of graph features (classes mostly) that must be attached for the rule to work.
    examples
        Expressions that the rule rewrites, as text: ``"log(1 + x)"``. Tests of soundness build
        them in many dtypes and compare values before and after.
    """

    def __init__(
        self,
        *,
        tracks: Iterable[Tracked] | None = None,
        operands: Iterable[Tracked | Operand] | None = None,
        within: Iterable[Tracked] | None = None,
        name: str | None = None,
        equation: str = "",
        depth: int = 2,
        tags: Iterable[str] = (),
        requires: Iterable[Callable[[], Any]] = (),
        examples: Iterable[str] = (),
    ) -> None:
        self.name = name or type(self).__name__
        self.equation = equation
        self.depth = depth
        self.tags = frozenset(tags)
        self.requires = tuple(requires)
        self.examples = tuple(examples)
        self.tracks = None if tracks is None else tuple(tracks)
        self.operands = None if operands is None else tuple(operands)
        self.within = None if within is None else tuple(within)
        for tracked in self.tracks or ():
            self._check(tracked, "tracks")
        for operand in self.operands or ():
            if not isinstance(operand, Operand):
                self._check(operand, "needs operands by")
        for awaited in self.within or ():
            self._check(awaited, "waits for")
        if self.tracks is None and Operand.ALIKE in (self.operands or ()):
            msg = f"The rule {self.name} tracks all nodes, so that no operand is alike: name Ops."
            raise RewriteError(msg)

    def _check(self, thing: object, does: str) -> None:
        if isinstance(thing, Op) or (isinstance(thing, type) and issubclass(thing, Op)):
            return
        msg = (
            f"The rule {self.name} {does} {thing!r}: expected Ops and classes of Ops, as in "
            "@node_rewriter([add, Elemwise])."
        )
        raise RewriteError(msg)

    def cases(self) -> Iterable[Case]:
        """Return what the rule looks at, and what it needs there."""
        tracks = (None,) if self.tracks is None else self.tracks
        return [(tracked, self.operands) for tracked in tracks]

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Result:
        """Return what replaces the outputs of ``node``.

        Parameters
        ----------
        fgraph
            The graph that ``node`` belongs to. It must not be changed here.
        node
            A node whose Op the rule tracks.

        Returns
        -------
        Result
            ``False`` or ``None``: nothing to do. A list with a variable for each output, ``None``
            for one that stays as it is. Or a mapping from variables of the graph, which may
            belong to other nodes, to their replacements.
        """
        raise NotImplementedError

    def matches_name(self, names: frozenset[str]) -> bool:
        """Return whether the rule's name or one of its tags is among ``names``."""
        return self.name in names or not self.tags.isdisjoint(names)

    def __repr__(self) -> str:
        equation = f": {self.equation}" if self.equation else ""
        return f"<rule {self.name}{equation}>"


class _FunctionRule(NodeRewriter):
    """A rule made from a function by :func:`node_rewriter`."""

    def __init__(self, function: Callable[[FunctionGraph, Apply], Result], **options: Any) -> None:
        super().__init__(**options)
        self.function = function
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__
        self.__wrapped__ = function

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Result:
        return self.function(fgraph, node)

    def __call__(self, fgraph: FunctionGraph, node: Apply) -> Result:
        """Call the function as it was written."""
        return self.function(fgraph, node)

    # The decorator puts the rule where the function's name points, so that name is its pickle.
    def __reduce__(self) -> str:
        return self.__qualname__


def equation_of(function: Callable[..., Any]) -> str:
    """Return the first line of a function's docstring, which states a rule's equation."""
    doc = inspect.getdoc(function)
    return doc.partition("\n")[0].strip() if doc else ""


def node_rewriter(
    tracks: Iterable[Tracked] | None,
    *,
    operands: Iterable[Tracked | Operand] | None = None,
    within: Iterable[Tracked] | None = None,
    name: str | None = None,
    depth: int = 2,
    tags: Iterable[str] = (),
    requires: Iterable[Callable[[], Any]] = (),
    examples: Iterable[str] = (),
) -> Callable[[Callable[[FunctionGraph, Apply], Result]], _FunctionRule]:
    """Make a rule from a function ``(fgraph, node) -> False | None | list | dict``.

    The first line of the docstring states the rule's equation.

    Parameters
    ----------
    tracks, operands, within, name, depth, tags, requires, examples
        As for :class:`NodeRewriter`; the name is the function's by default.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> from phintys.rewriting import node_rewriter
    >>> class Negate(Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         return Apply(self, [x], [x.type()])
    >>> neg = Negate()
    >>> @node_rewriter([neg])
    ... def double_negation(fgraph, node):
    ...     '''neg(neg(x)) -> x'''
    ...     inner = node.inputs[0].owner
    ...     if inner is None or inner.op != neg:
    ...         return None
    ...     return [inner.inputs[0]]
    >>> double_negation
    <rule double_negation: neg(neg(x)) -> x>
    """
    if tracks is not None and not isinstance(cast(object, tracks), Iterable):
        msg = (
            "@node_rewriter needs the Ops that the rule looks at, as in @node_rewriter([add]); "
            "@node_rewriter(None) looks at every node."
        )
        raise RewriteError(msg)

    def decorate(function: Callable[[FunctionGraph, Apply], Result]) -> _FunctionRule:
        return _FunctionRule(
            function,
            tracks=tracks,
            operands=operands,
            within=within,
            name=name or function.__name__,
            equation=equation_of(function),
            depth=depth,
            tags=tags,
            requires=requires,
            examples=examples,
        )

    return decorate


class GraphRewriter:
    """A step over a whole graph: a driver of rules, or a function of one's own.

    Parameters
    ----------
    name
        Name in traces and errors.
    tags
        Further names that ``excluding`` and ``including`` understand.
    requires
        Makers of graph features (classes mostly) that must be attached for the step to work.
    """

    def __init__(
        self,
        *,
        name: str | None = None,
        tags: Iterable[str] = (),
        requires: Iterable[Callable[[], Any]] = (),
    ) -> None:
        self.name = name or type(self).__name__
        self.tags = frozenset(tags)
        self.requires = tuple(requires)

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Change ``fgraph``, and tell ``trace`` what was changed."""
        raise NotImplementedError

    def names(self) -> frozenset[str]:
        """Return all names that ``excluding`` understands here."""
        return self.tags | {self.name}

    def excluding(self, names: frozenset[str]) -> Self:
        """Return the step without the rules that are named or tagged so."""
        return self

    def rewrite(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Attach the features that are required, and :meth:`apply`."""
        attach_required(fgraph, self.requires)
        self.apply(fgraph, trace)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class _FunctionStep(GraphRewriter):
    """A step made from a function by :func:`graph_rewriter`."""

    def __init__(self, function: Callable[..., None], **options: Any) -> None:
        super().__init__(**options)
        self.function = function
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__qualname__ = function.__qualname__
        self.__wrapped__ = function
        self._takes_trace = len(inspect.signature(function).parameters) > 1

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        if self._takes_trace:
            self.function(fgraph, trace)
        else:
            self.function(fgraph)

    def __call__(self, fgraph: FunctionGraph) -> None:
        """Rewrite a graph."""
        self.rewrite(fgraph)

    def __reduce__(self) -> str:
        return self.__qualname__


def graph_rewriter(
    function: Callable[..., None] | None = None,
    *,
    name: str | None = None,
    tags: Iterable[str] = (),
    requires: Iterable[Callable[[], Any]] = (),
) -> Any:
    """Make a step over a whole graph from a function ``(fgraph)`` or ``(fgraph, trace)``.

    The trace may be ``None``. Use as ``@graph_rewriter`` or ``@graph_rewriter(tags=...)``.

    Examples
    --------
    >>> from phintys.rewriting import graph_rewriter
    >>> @graph_rewriter
    ... def count(fgraph):
    ...     '''Count the nodes.'''
    ...     print(len(fgraph.apply_nodes))
    >>> count
    <_FunctionStep count>
    """

    def decorate(function: Callable[..., None]) -> _FunctionStep:
        return _FunctionStep(function, name=name or function.__name__, tags=tags, requires=requires)

    return decorate if function is None else decorate(function)


def attach_required(fgraph: FunctionGraph, requires: Iterable[Callable[[], Any]]) -> None:
    """Attach each required feature that the graph does not have yet."""
    for maker in requires:
        if isinstance(maker, type) and any(isinstance(f, maker) for f in fgraph.features):
            continue
        fgraph.attach_feature(maker())
