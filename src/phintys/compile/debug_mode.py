"""DebugMode: slow and suspicious."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phintys._base.errors import StochasticOrder
from phintys.compile.debugging.options import DebugOptions, offers
from phintys.compile.debugging.program import DebugBackend
from phintys.compile.debugging.replacements import Replacement, Replacements
from phintys.compile.debugging.rewrite_checks import steps_differ
from phintys.compile.mode import Mode
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.fgraph import FunctionGraph
from phintys.rewriting import Pipeline, RewriteTrace, RuleDriver

if TYPE_CHECKING:
    from phintys.backends.base import Backend
    from phintys.rewriting import NodeRewriter

__all__ = ["DebugMode"]


class DebugMode(Mode):
    """A mode that believes nothing: it computes everything in several ways, and compares.

    Every Op is carried out in Python and in native code, twice, with inputs in several orders of
    memory, and with several kinds of memory in its storage cells. It must not change inputs but
    those in its ``destroy_map``, nor share memory but as its ``view_map`` says; its outputs must
    belong to their Types and have the shapes that ``infer_shape`` tells. Every variable that a
    rewrite replaced is computed as well, and must have the value of its replacement. At last the
    graph as a whole, run in Python and as native code, must give what its nodes gave one by one.
    The graph is verified after each pass. An Op with ``debug_perform`` is carried out by that
    alone, and no more often than is needed.

    What is found is raised, as a :class:`~phintys._base.errors.DebugModeError`: ``BadDestroyMap``,
    ``BadViewMap``, ``BadThunkOutput``, ``UnreproducibleOutput``, ``BadPreallocatedOutput``,
    ``BadStorage``, ``InvalidValueError``, ``BadInferShape``, ``BadRewrite``, ``StochasticOrder``.

    Parameters
    ----------
    pipeline
        The passes; none unless given.
    stability_patience
        How many more times to rewrite each graph, to see that it goes the same way.
    check_py
        Compute twice in Python, and in all forms that an Op has in Python.
    check_native
        Compute in native code too, each node and the whole.
    check_isfinite
        Take NaN and infinity for faults where all inputs of a node are finite.
    check_preallocated_output
        Which kinds of memory to offer in storage cells: names in a list, or with colons between
        them, of ``previous``, ``c_contiguous``, ``f_contiguous``, ``strided``, ``negative``,
        ``wrong_size``; ``"ALL"``, or ``""`` for none.
    check_strides
        Try inputs in Fortran order, strided, and with negative strides.
    check_infer_shape
        Compare shapes with what ``infer_shape`` says.
    check_rewrites
        Compare the values of what was rewritten.
    require_matching_strides
        Require results of Python and of native code to have the same strides.

    Examples
    --------
    An Op that works in place, and does not say so:

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
        """The backend, which knows the rules of the pipeline."""
        chosen = super().backend
        if not isinstance(chosen, DebugBackend):
            return chosen
        return replace(chosen, rules=tuple(_rules_of(self.pipeline)))

    def rewrite(self, fgraph: FunctionGraph, trace: RewriteTrace | None = None) -> None:
        """Run the passes over a graph, and note what they replace.

        Parameters
        ----------
        fgraph
            The graph, changed in place.
        trace
            Where to note what was rewritten.

        Raises
        ------
        StochasticOrder
            Another run over a copy of the graph took other steps.
        """
        twins = [_twin(fgraph) for _ in range(self.options.stability_patience)]
        steps = self._noting(fgraph, RewriteTrace() if trace is None else trace)
        for twin in twins:
            if problem := steps_differ(steps, self._noting(twin, RewriteTrace())):
                msg = (
                    f"Rewriting the same graph twice went two ways. {problem}\n"
                    "A rule may depend on the graph only: not on the order of a set, on id(), or "
                    "on what it did before. To leave this check out, use "
                    "DebugMode(stability_patience=0)."
                )
                raise StochasticOrder(msg)

    def _noting(self, fgraph: FunctionGraph, trace: RewriteTrace) -> list[Replacement]:
        notes = Replacements(trace)
        fgraph.attach_feature(notes)
        self.pipeline.apply(fgraph, trace, verify=self.verify or None)
        return notes.found()


def _rules_of(pipeline: Pipeline) -> Iterable[NodeRewriter]:
    for one in pipeline:
        if isinstance(one.step, RuleDriver):
            yield from one.step


def _twin(fgraph: FunctionGraph) -> FunctionGraph:
    """Return a copy of a graph in which the same may be overwritten."""
    twin, equiv = fgraph.clone_get_equiv(check_integrity=False, attach_features=False)
    for feature in fgraph.features:
        copied: Any = feature.clone()
        if isinstance(feature, DestroyHandler):
            copied = DestroyHandler(equiv.get(v, v) for v in feature.mutable_inputs)
        twin.attach_feature(copied)
    return twin
