"""Rules, which replace single nodes, and rewriters of whole graphs."""

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

Result: TypeAlias = (
    "Literal[False] | Sequence[Variable | None] | Mapping[Variable, Variable] | None"
)
"""The result of a rule: nothing to do, or the replacements of the node's outputs."""

Tracked: TypeAlias = "Op | type[Op]"


class Operand(Enum):
    """Kinds of operand that a rule can require, other than the result of an Op."""

    CONSTANT = "a constant"
    REPEATED = "one variable twice"
    ALIKE = "the result of the Op, or of the class of Ops, that the node is tracked for"


Case: TypeAlias = "tuple[Tracked | None, tuple[Tracked | Operand, ...] | None]"
"""The required Op of a node, and of one of its operands; ``None`` for any."""


class NodeRewriter:
    """A rule that can replace the outputs of a node.

    Create one with :func:`node_rewriter` or :func:`~phintys.rewriting.pattern`, or by a subclass
    that defines :meth:`transform`.

    Parameters
    ----------
    tracks
        Ops and classes of Ops to whose nodes the rule is applied; ``None`` for all nodes.
    operands
        A necessary condition on the operands: Ops and classes of Ops, one of which must compute an
        operand of the node, or an :class:`Operand`. Drivers skip the rule if no operand meets the
        condition, which saves most of the rewriting time. ``None`` for no condition.
    within
        Ops and classes of Ops, one of which must occur within the depth of the rule below the node.
        Drivers skip the rule while the graph has none of them. ``None`` for no condition.
    name
        Name in traces and errors, and for ``excluding``.
    equation
        Description of the rule, as in ``neg(neg(x)) -> x``.
    depth
        How many levels of nodes the rule inspects, the node itself being the first. The rule is
        tried on a node again when something within that depth below it has changed.
    tags
        Further names that ``excluding`` and ``including`` understand.
    requires
        Callables (mostly classes) that create the graph features that the rule requires.
    examples
        Expressions that the rule rewrites, as text: ``"log(1 + x)"``. The tests of soundness build
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
        """Return the Ops that the rule tracks, each with the condition on its operands."""
        tracks = (None,) if self.tracks is None else self.tracks
        return [(tracked, self.operands) for tracked in tracks]

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Result:
        """Return the replacements of the outputs of ``node``.

        Parameters
        ----------
        fgraph
            The graph that ``node`` belongs to. It must not be modified.
        node
            A node whose Op the rule tracks.

        Returns
        -------
        Result
            ``False`` or ``None`` for no change; a list with a variable for each output, or ``None``
            for an output that is kept; or a mapping from variables of the graph, which can belong
            to other nodes, to their replacements.
        """
        raise NotImplementedError

    def matches_name(self, names: frozenset[str]) -> bool:
        """Return whether the rule's name or one of its tags is among ``names``."""
        return self.name in names or not self.tags.isdisjoint(names)

    def __repr__(self) -> str:
        equation = f": {self.equation}" if self.equation else ""
        return f"<rule {self.name}{equation}>"


class _FunctionRule(NodeRewriter):
    """A rule created from a function by :func:`node_rewriter`."""

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
        """Call the decorated function."""
        return self.function(fgraph, node)

    # The decorator binds the rule to the function's name, so it is pickled by that name.
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
    """Turn a function ``(fgraph, node) -> False | None | list | dict`` into a rule; a decorator.

    The first line of the docstring states the rule's equation.

    Parameters
    ----------
    tracks, operands, within, name, depth, tags, requires, examples
        As for :class:`NodeRewriter`; the name is that of the function by default.

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
    """A rewriter of whole graphs: a driver of rules, or a user-defined function.

    Parameters
    ----------
    name
        Name in traces and errors.
    tags
        Further names that ``excluding`` and ``including`` understand.
    requires
        Callables (mostly classes) that create the graph features that the rewriter requires.
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
        """Rewrite ``fgraph``, and record the changes in ``trace``."""
        raise NotImplementedError

    def names(self) -> frozenset[str]:
        """Return all names that ``excluding`` accepts here."""
        return self.tags | {self.name}

    def excluding(self, names: frozenset[str]) -> Self:
        """Return the rewriter without the rules with these names or tags."""
        return self

    def rewrite(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Attach the required features, then call :meth:`apply`."""
        attach_required(fgraph, self.requires)
        self.apply(fgraph, trace)

    def rewrite_within(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None,
        pipeline: Callable[[FunctionGraph], None],
    ) -> None:
        """Call :meth:`rewrite`; a pipeline calls this, and lets the rewriter run it elsewhere.

        Parameters
        ----------
        fgraph
            The graph, modified in place.
        trace
            The trace in which to record the rewrites.
        pipeline
            Runs the whole pipeline that the rewriter is part of, over another graph.
        """
        self.rewrite(fgraph, trace)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class _FunctionStep(GraphRewriter):
    """A rewriter created from a function by :func:`graph_rewriter`."""

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
    """Turn a function ``(fgraph)`` or ``(fgraph, trace)`` into a rewriter of whole graphs.

    The trace can be ``None``. Use as ``@graph_rewriter`` or ``@graph_rewriter(tags=...)``.

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
