"""Passes and pipelines: explicit lists of the steps that run over a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from phintys._base.config import config
from phintys._base.errors import ConfigError, add_note
from phintys._base.garbage_collection import collector_paused
from phintys._base.names import near_misses
from phintys._base.records import record
from phintys.graph.verify import verify_graph
from phintys.rewriting.drivers import RuleDriver
from phintys.rewriting.rewriter import GraphRewriter
from phintys.rewriting.trace import RewriteTrace

if TYPE_CHECKING:
    from phintys.graph.fgraph import FunctionGraph
    from phintys.rewriting.rewriter import NodeRewriter


@record(frozen=True)
class Pass:
    """A named step of a pipeline.

    Parameters
    ----------
    name
        Name for traces, errors and methods such as ``stop_after``.
    step
        The rewriter to run.
    tags
        Additional names for ``excluding`` and ``including``.
    on
        Whether it is enabled by default; otherwise ``including`` enables it.
    """

    name: str
    step: GraphRewriter
    tags: frozenset[str] = frozenset()
    on: bool = True

    def names(self) -> frozenset[str]:
        """Return all names that ``excluding`` accepts here, including those of single rules."""
        return self.own_names() | self.step.names()

    def own_names(self) -> frozenset[str]:
        """Return the names and tags of the pass itself."""
        return self.tags | self.step.tags | {self.name}

    def called(self, names: frozenset[str]) -> bool:
        """Return whether the pass itself has one of the names or tags."""
        return not self.own_names().isdisjoint(names)

    def apply(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None = None,
        pipeline: Callable[[FunctionGraph], None] | None = None,
    ) -> None:
        """Run the pass over ``fgraph``.

        Parameters
        ----------
        fgraph
            The graph, modified in place.
        trace
            The trace in which to record the rewrites.
        pipeline
            Runs the whole pipeline that the pass is part of, over another graph.
        """
        if trace is None:
            self._run(fgraph, None, pipeline)
            return
        outer, trace.current_pass = trace.current_pass, self.name
        start = perf_counter()
        try:
            self._run(fgraph, trace, pipeline)
        finally:
            trace.passes.append((self.name, perf_counter() - start))
            trace.current_pass = outer

    def _run(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None,
        pipeline: Callable[[FunctionGraph], None] | None,
    ) -> None:
        try:
            if pipeline is None:
                self.step.rewrite(fgraph, trace)
            else:
                self.step.rewrite_within(fgraph, trace, pipeline)
        except Exception as error:
            add_note(error, f"In the pass {self.name!r}.")
            raise

    def __str__(self) -> str:
        tags = f"  [{', '.join(sorted(self.tags))}]" if self.tags else ""
        return f"{self.name}{tags}{'' if self.on else '  (off)'}"


class Pipeline:
    """A list of passes that run in order.

    Pipelines are immutable: the methods that add or remove passes or rules return new ones.

    Parameters
    ----------
    passes
        The passes, with distinct names.
    also_known
        Additional names that ``excluding`` accepts without effect, and passes, such as those of
        other pipelines, whose names it accepts.
    name
        Name of the pipeline, for display.

    Examples
    --------
    >>> from phintys.rewriting import Pass, Pipeline, graph_rewriter
    >>> @graph_rewriter
    ... def nothing(fgraph):
    ...     '''Change nothing.'''
    >>> pipeline = Pipeline([Pass("first", nothing), Pass("second", nothing)])
    >>> pipeline.names
    ('first', 'second')
    >>> pipeline.stop_after("first").names
    ('first',)
    """

    def __init__(
        self, passes: Iterable[Pass] = (), *, also_known: Iterable[str | Pass] = (), name: str = ""
    ) -> None:
        self.passes = tuple(passes)
        self.also_known = frozenset(also_known)
        self.name = name
        seen: set[str] = set()
        for one in self.passes:
            if one.name in seen:
                msg = f"Two passes of a pipeline are named {one.name!r}: names must differ."
                raise ConfigError(msg)
            seen.add(one.name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the enabled passes, in order."""
        return tuple(one.name for one in self.passes if one.on)

    def apply(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None = None,
        *,
        verify: bool | None = None,
        after_pass: Callable[[Pass, FunctionGraph], None] | None = None,
    ) -> None:
        """Run the passes over ``fgraph``.

        Parameters
        ----------
        fgraph
            The graph, modified in place.
        trace
            The trace in which to record the rewrites.
        verify
            Check the graph's invariants after each pass; ``config.verify_graphs`` by default.
        after_pass
            Called after each pass, with the pass and the graph.

        Raises
        ------
        IntegrityError
            ``verify`` and a pass left an invalid graph.
        """
        verify = config.verify_graphs if verify is None else verify
        if trace is None and config.optimizer_verbose:
            trace = RewriteTrace()
        printed = 0 if trace is None else len(trace)
        for one in self._run(fgraph, trace, verify):
            if trace is not None and config.optimizer_verbose:
                print(*trace.events[printed:], sep="\n")  # noqa: T201 - what the option asks for
                printed = len(trace)
            if after_pass is not None:
                after_pass(one, fgraph)

    def _run(
        self, fgraph: FunctionGraph, trace: RewriteTrace | None, verify: bool
    ) -> Iterator[Pass]:
        """Run the passes, and yield each after it has run."""

        def whole(other: FunctionGraph) -> None:
            for _ in self._run(other, trace, verify):
                pass

        for one in self.passes:
            if one.on:
                with collector_paused():
                    one.apply(fgraph, trace, whole)
                if verify:
                    _verify_after(one, fgraph)
                yield one

    def excluding(self, *names: str) -> Pipeline:
        """Return a pipeline without the passes and rules with these names or tags.

        Raises
        ------
        ConfigError
            Nothing has one of the names.
        """
        wanted = self._known(names, "excluding")
        return self._with(
            replace(one, step=one.step.excluding(wanted))
            for one in self.passes
            if not one.called(wanted)
        )

    def including(self, *names: str) -> Pipeline:
        """Return a pipeline with the passes with these names or tags enabled.

        Raises
        ------
        ConfigError
            Nothing has one of the names.
        """
        wanted = self._known(names, "including")
        return self._with(
            replace(one, on=True) if one.called(wanted) else one for one in self.passes
        )

    def requiring(self, *names: str) -> Pipeline:
        """Return a pipeline of only the passes with these names or tags.

        Raises
        ------
        ConfigError
            Nothing has one of the names.
        """
        wanted = self._known(names, "requiring")
        return self._with(one for one in self.passes if one.called(wanted))

    def stop_after(self, name: str) -> Pipeline:
        """Return a pipeline that ends with the named pass."""
        return self._with(self.passes[: self.position(name) + 1])

    def inserting(
        self, new: Pass, *, before: str | None = None, after: str | None = None
    ) -> Pipeline:
        """Return a pipeline with an additional pass; at the end by default."""
        if before is not None and after is not None:
            msg = f"Insert the pass {new.name!r} either before or after a pass, not both."
            raise ConfigError(msg)
        place = len(self.passes)
        if before is not None:
            place = self.position(before)
        elif after is not None:
            place = self.position(after) + 1
        return self._with((*self.passes[:place], new, *self.passes[place:]))

    def adding(self, *rules: NodeRewriter, to: str = "canonicalize") -> Pipeline:
        """Return a pipeline with rules appended to one of its passes.

        Parameters
        ----------
        rules
            Rules, as created by :func:`node_rewriter` or :func:`pattern`.
        to
            The name of the pass, which must apply rules.

        Raises
        ------
        ConfigError
            There is no such pass, or it does not apply rules.
        """
        one = self.passes[self.position(to)]
        if not isinstance(one.step, RuleDriver):
            msg = f"adding(to={to!r}): that pass has no rules. Insert a pass of your own instead."
            raise ConfigError(msg)
        return self.replacing(to, replace(one, step=one.step.with_rules((*one.step, *rules))))

    def replacing(self, name: str, new: Pass) -> Pipeline:
        """Return a pipeline with the named pass replaced by another one."""
        place = self.position(name)
        return self._with((*self.passes[:place], new, *self.passes[place + 1 :]))

    def position(self, name: str) -> int:
        """Return the position of the named pass."""
        for place, one in enumerate(self.passes):
            if one.name == name:
                return place
        msg = f"The pipeline has no pass {name!r}. {self._hint(name)}"
        raise ConfigError(msg)

    def _with(self, passes: Iterable[Pass]) -> Pipeline:
        return Pipeline(passes, also_known=self.also_known, name=self.name)

    def _known(self, names: tuple[str, ...], method: str) -> frozenset[str]:
        passes = frozenset[str]().union(*(one.own_names() for one in self.passes))
        for name in names:
            # Names of rules are looked at last: that imports all rules.
            if name not in passes and name not in self.all_names():
                msg = f"{method}({name!r}): no pass, rule or tag has that name. {self._hint(name)}"
                raise ConfigError(msg)
        return frozenset(names)

    def all_names(self) -> frozenset[str]:
        """Return all names that ``excluding`` accepts."""
        passes = (*self.passes, *(one for one in self.also_known if isinstance(one, Pass)))
        names = frozenset(one for one in self.also_known if isinstance(one, str))
        return names.union(*(one.names() for one in passes))

    def _hint(self, name: str) -> str:
        close = near_misses(str(name), sorted(self.all_names()), 3)
        if close:
            return f"Did you mean {' or '.join(map(repr, close))}?"
        return f"The passes are {', '.join(self.names) or '(none)'}."

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.passes)

    def __len__(self) -> int:
        return len(self.passes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self.passes == other.passes

    def __hash__(self) -> int:
        return hash(self.passes)

    def __str__(self) -> str:
        lines = (f"{number}. {one}" for number, one in enumerate(self.passes, 1))
        return "\n".join(lines) or "(no passes)"

    def __repr__(self) -> str:
        return f"<Pipeline {self.name or 'unnamed'}: {', '.join(self.names) or 'no passes'}>"


def _verify_after(one: Pass, fgraph: FunctionGraph) -> None:
    try:
        verify_graph(fgraph)
    except Exception as error:
        add_note(error, f"Found after the pass {one.name!r}.")
        raise
