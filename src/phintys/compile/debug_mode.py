"""DebugMode: a slow mode that checks every Op and every rewrite."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phintys._base.errors import StochasticOrder
from phintys.compile.debugging.options import DebugOptions, offers
from phintys.compile.debugging.program import DebugBackend
from phintys.compile.debugging.replacements import Replacement, Replacements
from phintys.compile.debugging.rewrite_checks import steps_differ
from phintys.compile.mode import Mode, register_mode
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.fgraph import FunctionGraph
from phintys.passes import PIPELINES
from phintys.rewriting import Pipeline, RewriteTrace, RuleDriver

if TYPE_CHECKING:
    from phintys.backends.base import Backend
    from phintys.rewriting import NodeRewriter, Pass


class DebugMode(Mode):
    """A mode that computes everything in several ways, and compares the results.

    Every Op is run in Python and in native code, twice, with inputs in several memory layouts, and
    with several kinds of preallocated memory in its storage cells. It must not modify any inputs
    except those in its ``destroy_map``, nor share memory except as declared in its ``view_map``;
    its outputs must belong to their Types and have the shapes given by ``infer_shape``. Every
    variable that a rewrite replaced is computed as well, and must have the value of its
    replacement. Finally, the whole graph, run in Python and as native code, must give the same
    results as its nodes run one by one. Native code is also carried out step by step, in the memory
    planned for it, to check that nothing is overwritten before it has been read: once for all
    arguments of the same shapes, and only if that takes a moment. The graph is verified after each
    pass. An Op with ``debug_perform`` is run only by that method, and no more often than necessary.

    Faults are raised as a :class:`~phintys._base.errors.DebugModeError`: ``BadDestroyMap``,
    ``BadViewMap``, ``BadThunkOutput``, ``UnreproducibleOutput``, ``BadPreallocatedOutput``,
    ``BadStorage``, ``InvalidValueError``, ``BadInferShape``, ``BadRewrite``, ``StochasticOrder``.

    Parameters
    ----------
    pipeline
        The passes; none by default.
    stability_patience
        How many more times to rewrite each graph, to check that the rewrites are the same.
    check_py
        Compute twice in Python, and with every Python implementation of an Op.
    check_native
        Also compute in native code, both each node and the whole graph.
    check_isfinite
        Treat NaN and infinity as faults if all inputs of a node are finite.
    check_preallocated_output
        The kinds of memory to offer in storage cells, as a list or separated by colons:
        ``previous``, ``c_contiguous``, ``f_contiguous``, ``strided``, ``negative``,
        ``wrong_size``; ``"ALL"``, or ``""`` for none.
    check_strides
        Run with inputs in Fortran order, strided, and with negative strides.
    check_infer_shape
        Compare shapes with the results of ``infer_shape``.
    check_rewrites
        Compare the values of rewritten variables with those of their replacements.
    require_matching_strides
        Require results computed in Python and in native code to have the same strides.

    Examples
    --------
    An Op that works in place without declaring it:

    >>> import phintys, phintys.tensor as pt
    >>> class Halve(phintys.Op):
    ...     __props__ = ()
    ...
    ...     def make_node(self, x):
    ...         return phintys.Apply(self, [x], [x.type()])
    ...
    ...     def perform(self, node, inputs, output_storage):
    ...         inputs[0][...] /= 2
    ...         output_storage[0][0] = inputs[0].copy()
    >>> x = pt.dvector("x")
    >>> f = phintys.function([x], Halve()(x), mode="debug")
    >>> f([1.0, 2.0])
    Traceback (most recent call last):
    ...
    phintys._base.errors.BadDestroyMap: Halve: it changed its input 0 (x), which its destroy_map ...
    """

    def __init__(
        self,
        pipeline: Pipeline | None = None,
        *,
        stability_patience: int = 1,
        check_py: bool = True,
        check_native: bool = True,
        check_isfinite: bool = False,
        check_preallocated_output: str | Iterable[str] | bool = "ALL",
        check_strides: bool = True,
        check_infer_shape: bool = True,
        check_rewrites: bool = True,
        require_matching_strides: bool = False,
        name: str | None = None,
    ) -> None:
        self.options = DebugOptions(
            stability_patience=stability_patience,
            check_py=check_py,
            check_native=check_native,
            check_isfinite=check_isfinite,
            check_preallocated_output=offers(check_preallocated_output),
            check_strides=check_strides,
            check_infer_shape=check_infer_shape,
            check_rewrites=check_rewrites,
            require_matching_strides=require_matching_strides,
        )
        super().__init__(DebugBackend(self.options), pipeline, name=name, verify=True)

    @property
    def backend(self) -> Backend:
        """The debug backend, set up with the rules of the pipeline."""
        chosen = super().backend
        if not isinstance(chosen, DebugBackend):
            return chosen
        return replace(chosen, rules=tuple(_rules_of(self.pipeline)))

    def rewrite(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace | None = None,
        after_pass: Callable[[Pass, FunctionGraph], None] | None = None,
    ) -> None:
        """Run the passes over a graph, and record the replacements.

        Parameters
        ----------
        fgraph
            The graph, modified in place.
        trace
            The trace in which to record the rewrites.
        after_pass
            Called after each pass, with the pass and the graph.

        Raises
        ------
        StochasticOrder
            Another run over a copy of the graph made different rewrites.
        """
        twins = [_twin(fgraph) for _ in range(self.options.stability_patience)]
        steps = self._noting(fgraph, RewriteTrace() if trace is None else trace, after_pass)
        for twin in twins:
            if problem := steps_differ(steps, self._noting(twin, RewriteTrace())):
                msg = (
                    f"Rewriting the same graph twice went two ways. {problem}\n"
                    "A rule may depend on the graph only: not on the order of a set, on id(), or "
                    "on what it did before. To leave this check out, use "
                    "DebugMode(stability_patience=0)."
                )
                raise StochasticOrder(msg)

    def _noting(
        self,
        fgraph: FunctionGraph,
        trace: RewriteTrace,
        after_pass: Callable[[Pass, FunctionGraph], None] | None = None,
    ) -> list[Replacement]:
        notes = Replacements(trace)
        fgraph.attach_feature(notes)
        self.pipeline.apply(fgraph, trace, verify=self.verify or None, after_pass=after_pass)
        return notes.found()


def _rules_of(pipeline: Pipeline) -> Iterable[NodeRewriter]:
    for one in pipeline:
        if isinstance(one.step, RuleDriver):
            yield from one.step


def _twin(fgraph: FunctionGraph) -> FunctionGraph:
    """Return a copy of a graph in which the corresponding variables may be overwritten."""
    twin, equiv = fgraph.clone_get_equiv(check_integrity=False, attach_features=False)
    for feature in fgraph.features:
        copied: Any = feature.clone()
        if isinstance(feature, DestroyHandler):
            copied = DestroyHandler(equiv.get(v, v) for v in feature.mutable_inputs)
        twin.attach_feature(copied)
    return twin


register_mode("debug", DebugMode(PIPELINES["full"]), "DebugMode", "DEBUG_MODE")
