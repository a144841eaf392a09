"""Rewriters in the old style: ``transform(node)``, ``PatternSub``."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from phintys._base.errors import ArgumentError, RewriteError
from phintys.compat.old_classes import StandsFor, core_classes
from phintys.graph import FunctionGraph
from phintys.graph.features import Feature
from phintys.passes import merge
from phintys.rewriting import (
    GraphRewriter,
    NodeRewriter,
    PatternRewriter,
    WalkInOrder,
    WalkOutOrder,
    Wild,
    Worklist,
)
from phintys.rewriting import node_rewriter as core_node_rewriter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from phintys.graph import Apply
    from phintys.rewriting import RewriteTrace

__all__ = [
    "EquilibriumOptimizer",
    "LocalOptGroup",
    "LocalOptimizer",
    "MergeOptimizer",
    "NavigatorOptimizer",
    "OpKeyOptimizer",
    "OpRemove",
    "OpSub",
    "Optimizer",
    "PatternSub",
    "SeqOptimizer",
    "TopoOptimizer",
    "check_stack_trace",
    "clients",
    "copy_stack_trace",
    "dfs_rewriter",
    "in2out",
    "local_optimizer",
    "node_rewriter",
    "optimizer",
    "out2in",
    "walking_rewriter",
]


def _parameters(method: Callable[..., Any]) -> int:
    return len(inspect.signature(method).parameters)


_current: ContextVar[FunctionGraph | None] = ContextVar(
    "phintys.compat.rewriters._current", default=None
)


@contextmanager
def _working_on(fgraph: FunctionGraph) -> Generator[None]:
    """Set the graph being rewritten, for old rules, which used ``variable.clients``."""
    token = _current.set(fgraph)
    try:
        yield
    finally:
        _current.reset(token)


compiled_functions: WeakSet[Any] = WeakSet()
"""The functions that ``function`` has compiled, in whose graphs variables have ``clients``."""


def clients(variable: Any) -> list[Any]:
    """Return the uses of a variable in its graph: ``x.clients``.

    That is the graph that a rule is rewriting, or else that of a compiled function.

    Raises
    ------
    AttributeError
        The variable is not in such a graph.
    """
    fgraph = _current.get()
    if fgraph is not None:
        return fgraph.clients.get(variable, [])
    for function in list(compiled_functions):
        found = function.maker.fgraph.clients.get(variable)
        if found is not None:
            return found
    msg = (
        f"{variable}.clients is known inside of rules and optimizers, and of the variables of "
        "compiled functions: others may be in several graphs. Write fgraph.clients[variable]."
    )
    raise AttributeError(msg)


class _Widened(type):
    """Makes ``isinstance(rule, Old)`` true for all that may take the place of an ``Old``."""

    def __instancecheck__(cls, instance: object) -> bool:
        wide: Any = vars(cls).get("core")
        return super().__instancecheck__(instance) if wide is None else isinstance(instance, wide)


# ---- rules of one node ---------------------------------------------------------------------------


class LocalOptimizer(NodeRewriter, metaclass=_Widened):
    """A rule that defines ``transform(self, node)`` or ``(self, fgraph, node)``, and ``tracks``.

    It is ``NodeRewriter`` in Aesara and PyTensor.
    """

    core = NodeRewriter

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """Initialize the rule here: old subclasses did not call ``__init__`` of their base."""
        rule = super().__new__(cls)
        tracks: Any = cls.tracks
        tracked: Any = tracks(rule) if callable(tracks) else None
        rule.asked_for = tuple(tracked or ())
        NodeRewriter.__init__(rule, tracks=_tracked(tracked))
        return rule

    def __init__(self) -> None:
        """Do nothing: :meth:`__new__` has done it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("transform")
        if own is None:
            return
        older = _parameters(own) == 2

        @wraps(own)
        def transform(self: Any, fgraph: FunctionGraph, node: Apply) -> Any:
            if not _is_tracked(node, self.asked_for):
                return None
            with _working_on(fgraph):
                return own(self, node) if older else own(self, fgraph, node)

        cls.transform = transform

    tracks: Any = None
    asked_for: tuple[Any, ...] = ()

    def optimize(self, fgraph: FunctionGraph) -> None:
        """Apply the rule to each node of a graph."""
        TopoOptimizer(self).rewrite(fgraph)


def local_optimizer(
    tracks: Iterable[Any] | None, inplace: bool = False, requirements: Iterable[Any] = ()
) -> Callable[[Callable[..., Any]], Any]:
    """Turn ``rule(node)``, without the graph, or ``rule(fgraph, node)`` into a rule."""

    def decorate(rule: Callable[..., Any]) -> Any:
        def with_graph(fgraph: Any, node: Any) -> Any:
            with _working_on(fgraph):
                return rule(node) if older else rule(fgraph, node)

        older = _parameters(rule) == 1
        with_graph.__doc__ = rule.__doc__
        with_graph.__name__ = rule.__name__
        return node_rewriter(tracks)(with_graph)

    return decorate


def node_rewriter(tracks: Iterable[Any] | None, inplace: bool = False, **options: Any) -> Any:
    """Turn ``rule(fgraph, node)`` into a rule; see :func:`phintys.rewriting.node_rewriter`.

    ``inplace`` and ``requirements`` have no effect.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.adapters import DimShuffle
    >>> from phintys.compat.rewriters import node_rewriter
    >>> @node_rewriter([DimShuffle])
    ... def without_axes(fgraph, node):
    ...     return None
    >>> without_axes.tracks == (pt.DimShuffle,)
    True
    """
    options.pop("requirements", None)
    given = None if tracks is None else tuple(tracks)

    def decorate(rule: Callable[..., Any]) -> Any:
        @wraps(rule)
        def of_tracked(fgraph: Any, node: Any) -> Any:
            return rule(fgraph, node) if _is_tracked(node, given) else None

        return core_node_rewriter(_tracked(given), **options)(of_tracked)

    return decorate


def _is_tracked(node: Apply, tracks: Iterable[Any] | None) -> bool:
    """Return whether the Op of a node is meant: a class may stand for some Ops of a class only."""
    narrow = [one for one in tracks or () if isinstance(one, StandsFor)]
    if not narrow or isinstance(node.op, tuple(narrow)):
        return True
    return any(
        isinstance(node.op, one) if isinstance(one, type) else node.op == one
        for one in tracks or ()
        if not isinstance(one, StandsFor)
    )


def _tracked(tracks: Iterable[Any] | None) -> list[Any] | None:
    """Return Ops and classes of Phintys; an empty list of old packages meant all nodes."""
    given = list(tracks or ())
    return core_classes(given) if given else None


def _as_pattern(old: Any) -> Any:
    """Convert a pattern: dicts with a constraint become placeholders with a guard."""
    if isinstance(old, dict):
        inner, constraint = old["pattern"], old.get("constraint")
        return Wild(inner, constraint) if isinstance(inner, str) else _as_pattern(inner)
    if isinstance(old, tuple | list):
        return tuple(_as_pattern(part) for part in old)
    return old


def PatternSub(
    in_pattern: Any,
    out_pattern: Any,
    allow_multiple_clients: bool = False,
    skip_identities_fn: Any = None,
    name: str | None = None,
    **options: Any,
) -> PatternRewriter:
    """``PatternSub((op, "x", {"pattern": "y", "constraint": guard}), "x")``."""
    return PatternRewriter(
        _as_pattern(in_pattern),
        _as_pattern(out_pattern),
        allow_shared=allow_multiple_clients,
        name=name,
    )


def OpSub(op1: Any, op2: Any, transfer_tags: bool = True) -> Any:
    """Return a rule that replaces one Op by another."""

    def op_sub(fgraph: FunctionGraph, node: Apply) -> Any:
        """op1(...) -> op2(...)"""
        return op2.make_node(*node.inputs).outputs if node.op == op1 else None

    return core_node_rewriter([op1], name=f"{op1} -> {op2}")(op_sub)


def OpRemove(op: Any) -> Any:
    """Return a rule that replaces the outputs of an Op by its inputs."""

    def op_remove(fgraph: FunctionGraph, node: Apply) -> Any:
        """op(x) -> x"""
        return list(node.inputs) if node.op == op else None

    return core_node_rewriter([op], name=f"{op}(x) -> x")(op_remove)


# ---- steps over a whole graph --------------------------------------------------------------------


class Optimizer(GraphRewriter, metaclass=_Widened):
    """A rewriter that defines ``apply(self, fgraph)`` and optionally ``add_requirements``.

    It is ``GraphRewriter`` in Aesara and PyTensor.
    """

    core = GraphRewriter

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        """Initialize the rewriter here: old subclasses did not call ``__init__`` of their base."""
        step = super().__new__(cls)
        GraphRewriter.__init__(step)
        return step

    def __init__(self) -> None:
        """Do nothing: :meth:`__new__` has done it."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).get("apply")
        if own is not None and _parameters(own) == 2:

            def apply(self: Any, fgraph: FunctionGraph, trace: Any = None) -> None:
                with _working_on(fgraph):
                    own(self, fgraph)

            cls.apply = apply

    def add_requirements(self, fgraph: FunctionGraph) -> None:
        """Attach the required features; none by default."""

    def rewrite(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Attach the required features, then apply the rewriter."""
        self.add_requirements(fgraph)
        super().rewrite(fgraph, trace)

    def optimize(self, fgraph: FunctionGraph) -> None:
        """Rewrite a graph."""
        self.rewrite(fgraph)

    __call__ = optimize


def optimizer(function: Callable[[FunctionGraph], None]) -> Optimizer:
    """Turn a function ``(fgraph)`` into an :class:`Optimizer`; a decorator."""

    class FunctionStep(Optimizer):
        def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
            with _working_on(fgraph):
                function(fgraph)

    step = FunctionStep()
    step.name = function.__name__
    return step


class SeqOptimizer(Optimizer):
    """``SeqOptimizer(step, step, ...)``: rewriters applied in sequence."""

    def __init__(self, *steps: Any, name: str | None = None) -> None:
        flat = steps[0] if len(steps) == 1 and isinstance(steps[0], list | tuple) else steps
        self.steps: tuple[GraphRewriter, ...] = tuple(flat)
        self.name = name or self.name

    @property
    def data(self) -> list[GraphRewriter]:
        """The rewriters in a list."""
        return list(self.steps)

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        for step in self.steps:
            step.rewrite(fgraph, trace)


class NavigatorOptimizer(Optimizer):
    """A rewriter that applies rules to nodes."""

    driver: GraphRewriter

    @staticmethod
    def warn(*arguments: Any) -> None:
        """Have no effect, as ``failure_callback``: the error of a rule is raised."""

    warn_ignore = warn_inplace = warn

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        self.driver.rewrite(fgraph, trace)


class TopoOptimizer(NavigatorOptimizer):
    """``TopoOptimizer(rule, order, ignore_newtrees)``: a single walk.

    By default it goes from the inputs to the outputs, and visits what the rules have built, too.
    """

    def __init__(
        self,
        local_opt: Any,
        order: str = "in_to_out",
        ignore_newtrees: bool = False,
        failure_callback: Any = None,
    ) -> None:
        if order not in {"in_to_out", "out_to_in"}:
            msg = f"order is 'in_to_out' or 'out_to_in', got {order!r}."
            raise ArgumentError(msg)
        walk = WalkInOrder if order == "in_to_out" else WalkOutOrder
        self.driver = walk(_rules(local_opt), new_nodes=not ignore_newtrees)


class _Counter(Feature):
    """Counts the changes of a graph."""

    changes = 0

    def on_change_input(self, *arguments: Any) -> None:
        self.changes += 1


class EquilibriumOptimizer(NavigatorOptimizer):
    """``EquilibriumOptimizer(rewriters)``: rewriters applied until nothing changes.

    Parameters
    ----------
    optimizers
        Rules, and rewriters of whole graphs, which run before the rules in each round.
    max_use_ratio
        How many rounds there may be, as a multiple of the number of nodes.
    options
        ``final_rewriters`` run once the others have ended, and what they change is rewritten again;
        ``cleanup_rewriters`` run after each round. Others have no effect.

    Raises
    ------
    RewriteError
        The graph still changes after as many rounds as there may be.
    """

    def __init__(
        self, optimizers: Iterable[Any], max_use_ratio: float | None = None, **options: Any
    ) -> None:
        flat = _rules(list(optimizers))
        self.driver = Worklist([one for one in flat if isinstance(one, NodeRewriter)])
        self.whole = [one for one in flat if not isinstance(one, NodeRewriter)]
        self.final = _named(options, "final_rewriters", "final_optimizers")
        self.cleanup = _named(options, "cleanup_rewriters", "cleanup_optimizers")
        self.max_use_ratio = max_use_ratio or 10

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        if not (self.whole or self.final or self.cleanup):
            self.driver.rewrite(fgraph, trace)
            return
        counter = _Counter()
        fgraph.attach_feature(counter)
        try:
            self._settle(fgraph, counter, trace)
        finally:
            fgraph.remove_feature(counter)

    def _settle(self, fgraph: FunctionGraph, counter: _Counter, trace: RewriteTrace | None) -> None:
        rounds = int(self.max_use_ratio * (len(fgraph.apply_nodes) + 10))
        for _ in range(rounds):
            before = counter.changes
            for step in (*self.whole, self.driver, *self.cleanup):
                step.rewrite(fgraph, trace)
            if counter.changes > before:
                continue
            for step in self.final:
                step.rewrite(fgraph, trace)
            if counter.changes == before:
                return
        msg = (
            f"{self.name} must end after {rounds} rounds, and the graph still changes: one of its "
            "rewriters undoes what another does."
        )
        raise RewriteError(msg)


def _named(options: dict[str, Any], *names: str) -> list[Any]:
    """Return the rewriters that are given under one of several names."""
    return [one for name in names for one in options.get(name) or ()]


class OpKeyOptimizer(NavigatorOptimizer):
    """``OpKeyOptimizer(rule)``: a rule for one Op, at each node, also at those that it builds."""

    def __init__(
        self, local_opt: Any, ignore_newtrees: bool = False, failure_callback: Any = None
    ) -> None:
        self.driver = WalkInOrder(_rules(local_opt), new_nodes=not ignore_newtrees)


class LocalOptGroup(NodeRewriter):
    """Rules that are tried in order on a node: the first that replaces it ends the turn.

    Parameters
    ----------
    rules
        The rules, or one list of them.
    options
        ``apply_all_opts`` or ``apply_all_rewrites``: the others are tried on the node that a rule
        has put in the place of the first.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.rewriters import LocalOptGroup, OpSub, in2out
    >>> from phintys.graph import FunctionGraph
    >>> x = pt.dscalar("x")
    >>> fgraph = FunctionGraph([x], [pt.exp(x)], copy_inputs=False)
    >>> group = LocalOptGroup(OpSub(pt.exp, pt.sin), OpSub(pt.sin, pt.cos), apply_all_opts=True)
    >>> in2out(group, ignore_newtrees=True).rewrite(fgraph)
    >>> fgraph.outputs[0].owner
    Cos(x)
    """

    def __init__(self, *rules: Any, **options: Any) -> None:
        self.opts = self.rewrites = _rules(rules)
        self.apply_all = any(_flags(options, "apply_all_opts", "apply_all_rewrites"))
        cases = [case for rule in self.rewrites for case, _ in rule.cases()]
        super().__init__(
            tracks=None if None in cases else dict.fromkeys(case for case in cases if case),
            name=options.get("name") or "_".join(rule.name for rule in self.rewrites),
            depth=max((rule.depth for rule in self.rewrites), default=2),
            requires=dict.fromkeys(one for rule in self.rewrites for one in rule.requires),
        )

    def transform(self, fgraph: FunctionGraph, node: Apply) -> Any:
        made: Any = None
        for rule in self.rewrites:
            found = rule.transform(fgraph, node) if _looks_at(rule, node) else None
            if not found:
                continue
            made = found
            first = None if isinstance(found, Mapping) else found[0]
            if not self.apply_all or first is None or first.owner is None:
                return made
            node = first.owner
        return made


def _flags(options: dict[str, Any], *names: str) -> list[bool]:
    return [bool(options.get(name)) for name in names]


def _looks_at(rule: NodeRewriter, node: Apply) -> bool:
    """Return whether a rule is for the Op of a node."""
    return any(
        case is None or case == node.op or (isinstance(case, type) and isinstance(node.op, case))
        for case, _ in rule.cases()
    )


def _rules(given: Any) -> tuple[Any, ...]:
    """Return the rules of a rule or a nested group of rules, flattened."""
    if isinstance(given, LocalOptGroup) and not given.apply_all:
        return given.rewrites
    if isinstance(given, tuple | list):
        return tuple(rule for part in given for rule in _rules(part))
    return (given,)


def in2out(*local_opts: Any, **options: Any) -> TopoOptimizer:
    """Return a rewriter that makes a single walk from the inputs to the outputs."""
    return TopoOptimizer(local_opts, "in_to_out", **_walking(options))


def out2in(*local_opts: Any, **options: Any) -> TopoOptimizer:
    """Return a rewriter that makes a single walk from the outputs to the inputs."""
    return TopoOptimizer(local_opts, "out_to_in", **_walking(options))


def walking_rewriter(order: str, *node_rewriters: Any, **options: Any) -> TopoOptimizer:
    """Return a rewriter that makes a single walk, ``"in_to_out"`` or ``"out_to_in"``.

    ``"dfs"``, depth first, is a walk from the inputs here.
    """
    return TopoOptimizer(
        node_rewriters, "in_to_out" if order == "dfs" else order, **_walking(options)
    )


def dfs_rewriter(*node_rewriters: Any, **options: Any) -> TopoOptimizer:
    """Return a rewriter that makes a single walk from the inputs to the outputs."""
    return walking_rewriter("dfs", *node_rewriters, **options)


def _walking(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that tell how a graph is walked; those of groups are left out."""
    return {name: options[name] for name in ("ignore_newtrees",) if name in options}


class MergeOptimizer(NavigatorOptimizer):
    """``MergeOptimizer()``: merges equal computations."""

    def __init__(self) -> None:
        self.driver = merge


# ---- functions -----------------------------------------------------------------------------------


def copy_stack_trace(from_var: Any, to_var: Any) -> Any:
    """Return ``to_var``: what a rule builds has the origin of the node that it replaces."""
    return to_var


def check_stack_trace(
    f_or_fgraph: Any, ops_to_check: Any = "last", bug_print: str = "raise"
) -> bool:
    """Return whether nodes know their line in the user's program, as all of them do."""
    fgraph = getattr(getattr(f_or_fgraph, "maker", None), "fgraph", f_or_fgraph)
    return all(node.origin is not None for node in fgraph.apply_nodes)
