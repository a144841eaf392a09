"""The pipelines: lists of passes in execution order.

A mode starts from one of these, and adds, removes or stops after passes by name; importing a module
registers nothing. To inspect a pipeline, print it: ``print(PIPELINES["full"])``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from phintys._base.errors import ConfigError
from phintys.graph.alias_map import overwritten_variables
from phintys.graph.aliasing import DestroyHandler
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.shared_variable import SharedVariable
from phintys.graph.traversal import graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.passes.arithmetic import (
    CANONICAL_ARITHMETIC,
    merge_constants,
    merge_scales,
    sign_out_of_product,
)
from phintys.passes.batching import CANONICAL_BATCHING
from phintys.passes.blas import BLAS
from phintys.passes.choices import CANONICAL_CHOICES
from phintys.passes.combining import combine_choices
from phintys.passes.comparison import CANONICAL_COMPARISON, SIZES
from phintys.passes.dim_shuffle import CANONICAL_DIMSHUFFLE
from phintys.passes.elemwise import (
    CANONICAL_ELEMWISE,
    divide_by_one,
    drop_identity,
    undo_involution,
)
from phintys.passes.factors import EXPAND_FACTORS
from phintys.passes.fences import CANONICAL_FENCES
from phintys.passes.folding import ConstantFolding, constant_folding
from phintys.passes.gradient import CANONICAL_GRADIENT
from phintys.passes.indexing import CANONICAL_INDEXING, index_known_parts
from phintys.passes.inference import shape_inference
from phintys.passes.inline import inline_graphs
from phintys.passes.inner_graphs import inner_graphs
from phintys.passes.inplace import inplace, inplace_everywhere
from phintys.passes.joining import CANONICAL_JOIN
from phintys.passes.linear_algebra import EXPAND_LINEAR_ALGEBRA, STABILIZE_LINEAR_ALGEBRA
from phintys.passes.loop_arguments import LOOP_ARGUMENTS
from phintys.passes.loop_merging import combine_loops
from phintys.passes.loop_states import LOOP_STATES
from phintys.passes.loop_sums import LOOP_SUMS
from phintys.passes.loop_unrolling import LOOP_UNROLLING
from phintys.passes.loop_work import LOOP_WORK
from phintys.passes.loops import Loops
from phintys.passes.merging import merge
from phintys.passes.observing import CANONICAL_CHECKS
from phintys.passes.products import CANONICAL_DOT
from phintys.passes.reduce import CANONICAL_REDUCE, STABILIZE_REDUCE, sum_of_scattered
from phintys.passes.shapes import CANONICAL_SHAPE
from phintys.passes.specialize import SPECIALIZE
from phintys.passes.stabilize import STABILIZE
from phintys.passes.updates import CANONICAL_UPDATES, SPECIALIZE_UPDATES
from phintys.rewriting import Pass, Pipeline, RuleDriver, Worklist

if TYPE_CHECKING:
    from phintys.rewriting import NodeRewriter, RewriteTrace

__all__ = ["CANONICAL", "PIPELINES", "all_rules", "keeps_extremes", "rewrite_graph"]

CANONICAL = (
    *CANONICAL_BATCHING,
    *CANONICAL_GRADIENT,
    *CANONICAL_CHOICES,
    *CANONICAL_FENCES,
    *CANONICAL_CHECKS,
    *CANONICAL_DIMSHUFFLE,
    *CANONICAL_SHAPE,
    *CANONICAL_INDEXING,
    *CANONICAL_UPDATES,
    *CANONICAL_JOIN,
    *CANONICAL_DOT,
    *CANONICAL_REDUCE,
    *CANONICAL_ELEMWISE,
    *CANONICAL_COMPARISON,
    *CANONICAL_ARITHMETIC,
)
"""All rules of the pass ``canonicalize``, in the order in which they are tried on a node."""

_STABLE = (*STABILIZE_REDUCE, *STABILIZE_LINEAR_ALGEBRA, *STABILIZE)
# Cleanup after stable forms: factors of 1, signs, constants.
_TIDY = (
    drop_identity,
    divide_by_one,
    undo_involution,
    merge_constants,
    sign_out_of_product,
    merge_scales,
)

_INLINE = Pass("inline_graphs", inline_graphs)
_MERGE = Pass("merge", merge)
# Inner graphs are evaluated only after they have been rewritten, in their stable form.
_FOLD = Pass("constant_folding", ConstantFolding(inner=False))
_CANONICALIZE = Pass("canonicalize", Worklist(CANONICAL, name="canonicalize"))
_SHAPES = Pass("shape_inference", shape_inference)
_LOOPS = Pass(
    "loops",
    Loops(
        (*LOOP_ARGUMENTS, *LOOP_WORK, *LOOP_UNROLLING, *LOOP_SUMS, *LOOP_STATES),
        tidy=Worklist(CANONICAL, name="canonicalize"),
        fold=ConstantFolding(inner=False),
        name="loops",
    ),
)
_COMBINE_LOOPS = Pass("combine_loops", combine_loops)
_STABILIZE = Pass("stabilize", Worklist((*_STABLE, *_TIDY), name="stabilize"))
# sum_of_scattered: scattered values in the gradient of a softmax, in its stable form.
# index_known_parts: elements of vectors that are made of what was written into zeros.
_SPECIALIZE = Pass(
    "specialize",
    Worklist(
        (
            *SIZES,
            *EXPAND_LINEAR_ALGEBRA,
            *EXPAND_FACTORS,
            *SPECIALIZE,
            sum_of_scattered,
            *SPECIALIZE_UPDATES,
            index_known_parts,
        ),
        name="specialize",
    ),
)
_BLAS = Pass("blas", Worklist(BLAS, name="blas"))
_CHOICES = Pass("combine_choices", combine_choices)
_INNER = Pass("inner_graphs", inner_graphs)

# Cleanup after the other passes: constants made of sizes, expressions that became equal.
_FOLD_REST = Pass("constant_folding_again", constant_folding, frozenset({"constant_folding"}))
_MERGE_REST = Pass("merge_again", merge, frozenset({"merge"}))

# The native backend plans its own memory, so only Ops with Python code benefit from twins. In the
# reference backend all Ops do: the mode "reference" enables the second of these passes.
_INPLACE = Pass("inplace", inplace)
_INPLACE_EVERYWHERE = Pass("inplace_everywhere", inplace_everywhere, on=False)

_FULL = (
    _INLINE,
    _MERGE,
    _FOLD,
    _CANONICALIZE,
    _SHAPES,
    _COMBINE_LOOPS,
    _LOOPS,
    _STABILIZE,
    _SPECIALIZE,
    _BLAS,
    _CHOICES,
    _INNER,
    _FOLD_REST,
    _MERGE_REST,
    _INPLACE,
    _INPLACE_EVERYWHERE,
)
_LIGHT = (
    _INLINE,
    _MERGE,
    _FOLD,
    _CANONICALIZE,
    _SHAPES,
    _COMBINE_LOOPS,
    _LOOPS,
    _INNER,
    _FOLD_REST,
    _INPLACE_EVERYWHERE,
)
_NAMES = frozenset().union(*(one.names() for one in _FULL))

PIPELINES: dict[str, Pipeline] = {
    "none": Pipeline((), also_known=_NAMES, name="none"),
    "light": Pipeline(_LIGHT, also_known=_NAMES, name="light"),
    "full": Pipeline(_FULL, also_known=_NAMES, name="full"),
}
"""The pipelines by name: ``"none"``, ``"light"`` (cheap and effective passes), ``"full"``."""


def all_rules() -> Iterator[NodeRewriter]:
    """Yield the rules of all passes, in the order of the passes and of the rules in them.

    A rule of several passes is yielded once.
    """
    drivers = (one.step for one in _FULL if isinstance(one.step, RuleDriver))
    yield from dict.fromkeys(rule for driver in drivers for rule in driver)


def keeps_extremes(rule: NodeRewriter) -> bool:
    """Return whether a rule preserves infinities and NaN; stable forms and tagged rules do not."""
    return rule not in _STABLE and "extremes" not in rule.tags


@overload
def rewrite_graph(
    outputs: Variable,
    *,
    pipeline: str | Pipeline = ...,
    clone: bool = ...,
    trace: RewriteTrace | None = ...,
) -> Any: ...
@overload
def rewrite_graph(
    outputs: Iterable[Variable],
    *,
    pipeline: str | Pipeline = ...,
    clone: bool = ...,
    trace: RewriteTrace | None = ...,
) -> list[Any]: ...
def rewrite_graph(
    outputs: Variable | Iterable[Variable],
    *,
    pipeline: str | Pipeline = "full",
    clone: bool = True,
    trace: RewriteTrace | None = None,
) -> Any:
    """Rewrite expressions without compiling them.

    Parameters
    ----------
    outputs
        A variable, or several.
    pipeline
        A pipeline, or the name of one of :data:`PIPELINES`.
    clone
        Rewrite a copy of the given expressions. With ``clone=False`` the nodes themselves are
        modified, which is only valid for expressions that are not used elsewhere.
    trace
        The trace in which to record the rewrites.

    Returns
    -------
    Variable or list of Variable
        The rewritten outputs, with the same leaves.

    Raises
    ------
    ConfigError
        There is no such pipeline.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.passes import rewrite_graph
    >>> x = pt.dvector("x")
    >>> rewrite_graph(pt.log(1 + x)).owner
    Log1p(x)
    """
    if isinstance(pipeline, str):
        if pipeline not in PIPELINES:
            msg = f"There is no pipeline {pipeline!r}; there are {', '.join(PIPELINES)}."
            raise ConfigError(msg)
        pipeline = PIPELINES[pipeline]
    wanted: Sequence[Variable] = [outputs] if isinstance(outputs, Variable) else list(outputs)
    leaves = [
        leaf for leaf in graph_inputs(wanted) if not isinstance(leaf, Constant | SharedVariable)
    ]
    options: dict[str, Any] = {"copy_inputs": False} if clone else {}
    fgraph = FunctionGraph(leaves, wanted, clone=clone, **options)
    # Leaves that are already overwritten may be; this does not allow rules to overwrite others.
    overwritten = overwritten_variables(fgraph)
    fgraph.attach_feature(DestroyHandler(leaf for leaf in leaves if leaf in overwritten))
    pipeline.apply(fgraph, trace)
    return fgraph.outputs[0] if isinstance(outputs, Variable) else list(fgraph.outputs)
