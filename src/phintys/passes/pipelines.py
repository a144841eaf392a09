"""The pipelines: lists of passes in execution order.

A mode starts from one of these, and adds, removes or stops after passes by name; importing a module
registers nothing. To inspect a pipeline, print it: ``print(PIPELINES["full"])``. Rules for Ops that
many graphs lack are late: their module is imported with the first graph that has such an Op. Each
says there what it needs, and is found through the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from phintys._base import index
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
from phintys.passes.comparison import CANONICAL_COMPARISON, SIZES
from phintys.passes.elemwise import (
    CANONICAL_ELEMWISE,
    divide_by_one,
    drop_identity,
    undo_involution,
)
from phintys.passes.folding import ConstantFolding, constant_folding
from phintys.passes.inference import shape_inference
from phintys.passes.inner_graphs import inline_graphs, inner_graphs
from phintys.passes.inplace import inplace, inplace_everywhere
from phintys.passes.loops import Loops
from phintys.passes.merging import merge
from phintys.passes.specialize import SPECIALIZE
from phintys.rewriting import (
    LateParts,
    Pass,
    Pipeline,
    RuleDriver,
    RuleList,
    Worklist,
)

if TYPE_CHECKING:
    from phintys.rewriting import NodeRewriter, RewriteTrace

_late = LateParts(index.RULES, index.REWRITERS)

CANONICAL = RuleList(
    _late.CANONICAL_BATCHING,
    _late.CANONICAL_GRADIENT,
    _late.CANONICAL_CHOICES,
    _late.CANONICAL_LOOPS,
    _late.CANONICAL_FENCES,
    _late.CANONICAL_CHECKS,
    _late.CANONICAL_SHARDING,
    _late.CANONICAL_DIMSHUFFLE,
    _late.CANONICAL_SHAPE,
    _late.CANONICAL_INDEXING,
    _late.CANONICAL_UPDATES,
    _late.CANONICAL_JOIN,
    _late.CANONICAL_DOT,
    _late.CANONICAL_STACKS,
    _late.CANONICAL_REDUCE,
    _late.CANONICAL_SCATTERED,
    _late.CANONICAL_SPARSE,
    *CANONICAL_ELEMWISE,
    *CANONICAL_COMPARISON,
    *CANONICAL_ARITHMETIC,
)
"""All rules of the pass ``canonicalize``, in the order in which they are tried on a node."""

_LOOP_RULES = RuleList(
    _late.LOOP_ARGUMENTS,
    _late.LOOP_WORK,
    _late.LOOP_UNROLLING,
    _late.LOOP_SUMS,
    _late.LOOP_STATES,
)

_STABLE = RuleList(
    _late.STABILIZE_REDUCE,
    _late.STABILIZE_PRODUCTS,
    _late.STABILIZE_LINEAR_ALGEBRA,
    _late.STABILIZE,
)
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
        _LOOP_RULES,
        tidy=Worklist(CANONICAL, name="canonicalize"),
        fold=ConstantFolding(inner=False),
        name="loops",
    ),
)
_COMBINE_LOOPS = Pass("combine_loops", _late.combine_loops)
_STABILIZE = Pass("stabilize", Worklist((_STABLE, *_TIDY), name="stabilize"))
# sum_of_scattered: scattered values in the gradient of a softmax, in its stable form.
# index_known_parts: elements of vectors that are made of what was written into zeros.
_SPECIALIZE = Pass(
    "specialize",
    Worklist(
        (
            *SIZES,
            _late.EXPAND_LINEAR_ALGEBRA,
            _late.EXPAND_LEAST_SQUARES,
            _late.EXPAND_FACTORS,
            _late.EXPAND_SPARSE,
            *SPECIALIZE,
            _late.SPECIALIZE_SCATTERED,
            _late.SPECIALIZE_UPDATES,
            _late.KNOWN_PARTS,
        ),
        name="specialize",
    ),
)
_BLAS = Pass("blas", Worklist([_late.BLAS], name="blas"))
_CHOICES = Pass("combine_choices", _late.combine_choices)
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
PIPELINES: dict[str, Pipeline] = {
    "none": Pipeline((), also_known=_FULL, name="none"),
    "light": Pipeline(_LIGHT, also_known=_FULL, name="light"),
    "full": Pipeline(_FULL, also_known=_FULL, name="full"),
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


def keeps_zeros(rule: NodeRewriter) -> bool:
    """Return whether a rule preserves the signs of zeros too, besides infinities and NaN."""
    return keeps_extremes(rule) and "zeros" not in rule.tags


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
