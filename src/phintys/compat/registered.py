"""``optdb``: the passes of Phintys as a database, and the rewrites that programs add to it.

Rewrites that are registered are part of the modes that are used while an old package is installed,
where their tags say: ``"fast_run"`` is a tag of native and other complete modes, ``"fast_compile"``
of ``FAST_COMPILE``, and ``mode.including("a_tag")`` adds others. Phintys itself adds rules to one
mode: ``mode.adding(rule)``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate, chain, count
from typing import TYPE_CHECKING, Any

from phintys.compat.databases import (
    Entry,
    EquilibriumDB,
    LocalGroupDB,
    RewriteDatabaseQuery,
    SequenceDB,
    TopoDB,
)
from phintys.compat.rewriters import EquilibriumOptimizer, Optimizer, in2out
from phintys.compat.rule_names import rules_of
from phintys.graph import FunctionGraph
from phintys.passes import PIPELINES
from phintys.passes import rewrite_graph as core_rewrite_graph
from phintys.rewriting import NodeRewriter, Pass, Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from phintys.rewriting import RewriteTrace

__all__ = [
    "forget_all",
    "known_names",
    "optdb",
    "passes_of",
    "pipeline_of",
    "register_canonicalize",
    "register_infer_shape",
    "register_specialize",
    "register_specialize_device",
    "register_stabilize",
    "register_uncanonicalize",
    "register_useless",
    "rewrite_graph",
    "tags_of",
    "with_registered",
]

_POSITIONS = {
    "inline_graphs": -0.01,
    "merge": 0.0,
    "constant_folding": 0.05,
    "canonicalize": 1.0,
    "shape_inference": 1.0,
    "combine_loops": 1.2,
    "loops": 1.3,
    "stabilize": 1.5,
    "specialize": 2.0,
    "blas": 2.1,
    "combine_choices": 2.2,
    "inner_graphs": 2.3,
    "constant_folding_again": 48.0,
    "merge_again": 49.0,
    "inplace": 75.0,
    "inplace_everywhere": 75.0,
}
"""The passes, and their positions among those of the old packages."""

_OLD_PASSES = {
    "BlasOpt": "blas",
    "ShapeOpt": "shape_inference",
    "inplace_elemwise": "inplace",
    "inplace_elemwise_opt": "inplace",
    "inplace_elemwise_optimizer": "inplace",
    "merge1": "merge",
    "merge2": "merge_again",
    "merge3": "merge_again",
    "scan_eqopt1": "combine_loops",
    "scan_eqopt2": "loops",
}
"""Names of passes of the old packages, and those of the passes that do the same here."""

_PHASES = {"canonicalize": 1.0, "stabilize": 1.5, "specialize": 2.0}
"""Databases whose rules become part of the pass of the same name."""

_LATER_PHASES = {"uncanonicalize": 3.0, "specialize_device": 48.6}
"""Databases that are passes of their own, at these positions."""

_LAST = 100.0
"""The position of the last pass of the old packages, after which ``"last"`` is."""


class _Renamed(NodeRewriter):
    """A rule under the name and with the tags by which it is registered."""

    def __init__(self, rule: NodeRewriter, name: str, tags: Iterable[str]) -> None:
        self.__dict__.update(vars(rule))
        self.rule = rule
        self.name = name
        self.tags = rule.tags.union(tags)

    def cases(self) -> Any:
        return self.rule.cases()

    def transform(self, fgraph: FunctionGraph, node: Any) -> Any:
        return self.rule.transform(fgraph, node)


class PassesOf(Optimizer):
    """A pipeline as a rewriter: the answer of ``optdb.query``."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def apply(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        self.pipeline.apply(fgraph, trace)


class Phase(EquilibriumDB):
    """``optdb["canonicalize"]`` and its kin: the rules that are registered for a pass."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = self.phase = name

    def _placed(self, tags: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        return options | {"rules": {}}

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        """Return the pass of this name, with the rules that are registered for it."""
        whole = _without(PIPELINES["full"], query.exclude)
        here = Pipeline(one for one in whole if one.name == self.phase)
        own = here if query.selects({self.phase, "fast_run"}) else Pipeline()
        if own.passes:
            return PassesOf(_with_rules(own, self, query))
        return EquilibriumOptimizer([one.rewriter for one in self._selected(query)])

    def rules(self, query: RewriteDatabaseQuery) -> list[NodeRewriter]:
        """Return the rules of nodes that a query selects, under their names here."""
        return [self._renamed(one) for one in self._selected(query) if _is_rule(one)]

    def steps(self, query: RewriteDatabaseQuery) -> list[Entry]:
        """Return the rewriters of whole graphs that a query selects."""
        return [one for one in self._selected(query) if not _is_rule(one)]

    def _renamed(self, entry: Entry) -> NodeRewriter:
        """Return one and the same rule each time, so that pipelines are equal."""
        known: dict[frozenset[str], NodeRewriter] = entry.options["rules"]
        tags = frozenset(entry.tags)
        if tags not in known:
            known[tags] = _Renamed(entry.rewriter, entry.name, tags - {self.phase})
        return known[tags]


def _is_rule(entry: Entry) -> bool:
    return isinstance(entry.rewriter, NodeRewriter)


class PassDatabase(SequenceDB):
    """The database of all passes, ``optdb``.

    Examples
    --------
    >>> import phintys
    >>> import phintys.tensor as pt
    >>> from phintys.compat.registered import forget_all, optdb
    >>> from phintys.compat.rewriters import PatternSub
    >>> rule = PatternSub((pt.sin, (pt.arcsin, "x")), "x")
    >>> optdb["canonicalize"].register("sin_of_arcsin", rule, "fast_run")
    >>> x = pt.dvector("x")
    >>> fgraph = phintys.graph.FunctionGraph([x], [pt.sin(pt.arcsin(x))], copy_inputs=False)
    >>> optdb.query("+fast_run").rewrite(fgraph)
    >>> fgraph.outputs
    [x]
    >>> forget_all()
    """

    def __init__(self) -> None:
        super().__init__()
        for name, position in (_PHASES | _LATER_PHASES).items():
            self.register(name, Phase(name), "fast_run", "fast_compile", position=position)
        self.register("useless", TopoDB(LocalGroupDB()), "fast_run", "fast_compile", position=0.6)

    def _at_the_end(self, which: str) -> float:
        ends = [*self.__position__.values(), *_POSITIONS.values(), _LAST]
        return max(ends) + 1 if which == "last" else min(ends) - 1

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or name in _OLD_PASSES or name in _POSITIONS

    def __getitem__(self, name: str) -> Any:
        """Return a phase, what is registered, or the rewriter of a pass."""
        if super().__contains__(name):
            return super().__getitem__(name)
        found = _OLD_PASSES.get(name, name)
        steps = {one.name: one.step for one in PIPELINES["full"]}
        return steps[found] if found in steps else super().__getitem__(name)

    def _made(self, query: RewriteDatabaseQuery) -> Any:
        return PassesOf(pipeline_of(query))

    def own(self) -> list[Entry]:
        """Return the registered rewrites, in order."""
        return self._in_order()

    def forget(self) -> None:
        """Remove all that was registered."""
        self._entries.clear()
        PassDatabase.__init__(self)


optdb = PassDatabase()


def forget_all() -> None:
    """Remove all rewrites that were registered."""
    optdb.forget()


def _registering(phase: str, *default: str) -> Callable[..., Any]:
    def register(rewriter: Any, *tags: str, name: str | None = None, **options: Any) -> Any:
        """Register a rule; used as a decorator, with or without tags."""
        if isinstance(rewriter, str):
            return lambda rule: register(rule, rewriter, *tags, name=name, **options)
        found = name or getattr(rewriter, "name", None) or getattr(rewriter, "__name__", phase)
        database = optdb[phase]
        if isinstance(database, TopoDB):
            database = database.db
        database.register(found, rewriter, *default, *tags, **options)
        return rewriter

    register.__name__ = f"register_{phase}"
    return register


register_canonicalize = _registering("canonicalize", "fast_run")
register_stabilize = _registering("stabilize", "fast_run")
register_specialize = _registering("specialize", "fast_run")
register_uncanonicalize = _registering("uncanonicalize", "fast_run")
register_specialize_device = _registering("specialize_device", "fast_run", "fast_compile")
register_useless = _registering("useless", "fast_run")
register_infer_shape = _registering("canonicalize", "fast_run", "ShapeOpt")


def pipeline_of(query: RewriteDatabaseQuery) -> Pipeline:
    """Return the pipeline that has what a query asks for, and what is registered with its tags."""
    return with_registered(passes_of(query), query)


def passes_of(query: RewriteDatabaseQuery) -> Pipeline:
    """Return the pipeline of the passes that a query asks for.

    Names and tags that Phintys does not have are ignored. ``"fast_run"`` and ``"fast_compile"``
    stand for whole pipelines.

    Examples
    --------
    >>> from phintys.compat.databases import RewriteDatabaseQuery
    >>> from phintys.compat.registered import passes_of
    >>> passes_of(RewriteDatabaseQuery(["canonicalize"])).names
    ('constant_folding', 'canonicalize', 'shape_inference', 'constant_folding_again')
    """
    asked = query.include or query.require
    whole = PIPELINES["none"]
    if "fast_run" in asked:
        whole = PIPELINES["full"]
    elif "fast_compile" in asked:
        whole = PIPELINES["light"]
    elif known := known_names(PIPELINES["full"], asked):
        if "canonicalize" in known:  # these were among its rules
            known |= {"constant_folding", "shape_inference"}
        whole = PIPELINES["full"].requiring(*known)
    if query.include and query.require:
        wanted = known_names(whole, query.require - {"fast_run", "fast_compile"})
        whole = whole.requiring(*wanted)
    passes = _without(whole, query.exclude)
    if query.position_cutoff == float("inf"):
        return passes
    kept = (one for one in passes if _POSITIONS[one.name] < query.position_cutoff)
    return Pipeline(kept, also_known=passes.also_known)


def known_names(pipeline: Pipeline, names: frozenset[str]) -> frozenset[str]:
    """Return those names that a pipeline has, for passes and rules by their old names too."""
    wanted = frozenset(_OLD_PASSES.get(one, one) for one in names)
    wanted = wanted.union(*map(rules_of, names))
    return wanted & pipeline.all_names() if wanted else wanted


def _without(pipeline: Pipeline, names: frozenset[str]) -> Pipeline:
    return pipeline.excluding(*known_names(pipeline, names)) if names else pipeline


def tags_of(pipeline: Pipeline) -> frozenset[str]:
    """Return the tags of the old packages that stand for the whole of a pipeline."""
    if "canonicalize" not in pipeline.names:
        return frozenset()
    return frozenset({"fast_run" if "specialize" in pipeline.names else "fast_compile"})


def with_registered(pipeline: Pipeline, query: RewriteDatabaseQuery) -> Pipeline:
    """Return a pipeline with what is registered with the tags of a query."""
    for entry in optdb.own():
        name, rewriter = entry.name, entry.rewriter
        if entry.options["position"] >= query.position_cutoff:
            continue
        if isinstance(rewriter, Phase):
            pipeline = _with_rules(pipeline, rewriter, query)
            continue
        if isinstance(rewriter, TopoDB) and not _has_entries(rewriter, query):
            continue
        made = entry.selected(query)
        if made is not None:
            tags = frozenset(entry.tags - {name})
            pipeline = _at(pipeline, Pass(name, _as_step(made), tags), entry.options["position"])
    for number, (rewriter, position) in enumerate(query.extra_rewrites):
        pipeline = _at(pipeline, Pass(f"extra_{number}", _as_step(rewriter)), position)
    return pipeline


def _has_entries(database: TopoDB, query: RewriteDatabaseQuery) -> bool:
    return any(one.selected(query) is not None for one in database.db._in_order())


def _as_step(rewriter: Any) -> Any:
    return in2out(rewriter) if isinstance(rewriter, NodeRewriter) else rewriter


def _with_rules(pipeline: Pipeline, phase: Phase, query: RewriteDatabaseQuery) -> Pipeline:
    """Return a pipeline with the rules of a phase in its pass, or in a pass of their own."""
    name = phase.phase
    there = name if name in pipeline.names else "canonicalize" if name in _PHASES else ""
    place = next((one for one in pipeline if one.name == there and one.on), None)
    rules = phase.rules(query)
    if rules and place is not None:
        pipeline = pipeline.adding(*rules, to=there)
    elif rules:
        position = (_PHASES | _LATER_PHASES)[name]
        step = EquilibriumOptimizer(rules)
        pipeline = _at(pipeline, Pass(f"{name}_registered", step), position)
    for step in phase.steps(query):
        tags = frozenset(step.tags - {step.name})
        position = (_PHASES | _LATER_PHASES)[name]
        pipeline = _at(pipeline, Pass(step.name, step.rewriter, tags), position)
    return pipeline


def _at(pipeline: Pipeline, new: Pass, position: float) -> Pipeline:
    """Return a pipeline with a pass at a position among those of the old packages."""
    new = replace(new, name=_free(new.name, pipeline))
    registered = optdb.__position__
    found = [_POSITIONS.get(one.name, registered.get(one.name)) for one in pipeline]
    # A pass without a position stands where the one before it does.
    at = accumulate((float("-inf") if one is None else one for one in found), max)
    place = bisect_right(list(at), position)
    passes = (*pipeline.passes[:place], new, *pipeline.passes[place:])
    return Pipeline(passes, also_known=pipeline.also_known, name=pipeline.name)


def _free(name: str, pipeline: Pipeline) -> str:
    """Return a name that no pass has: databases may have the same names."""
    taken = {one.name for one in pipeline}
    numbered = (f"{name}_{number}" for number in count(2))
    return next(one for one in chain([name], numbered) if one not in taken)


def rewrite_graph(
    graph: Any,
    include: Iterable[str] = ("canonicalize",),
    custom_rewrite: Any = None,
    clone: bool = False,
    **options: Any,
) -> Any:
    """Rewrite expressions without compiling them.

    Parameters
    ----------
    graph
        A variable, several, or a FunctionGraph, which is rewritten itself.
    include
        Names or tags of passes, or of whole pipelines (``"fast_run"``, ``"fast_compile"``).
    custom_rewrite
        A rewriter to apply afterwards.
    clone
        Has no effect on variables: those that are given stay as they are.
    options
        ``exclude``, names or tags of passes and rules to leave out. Others have no effect.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.registered import rewrite_graph
    >>> x = pt.dvector("x")
    >>> rewrite_graph(pt.log(1 + x), include=("canonicalize", "stabilize")).owner
    Log1p(x)
    """
    steps = pipeline_of(RewriteDatabaseQuery(include, exclude=options.get("exclude")))
    if custom_rewrite is not None:
        steps = steps.inserting(Pass("custom_rewrite", _as_step(custom_rewrite)))
    if isinstance(graph, FunctionGraph):
        steps.apply(graph)
        return graph
    return core_rewrite_graph(graph, pipeline=steps)
