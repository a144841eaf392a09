"""The pipelines: lists of passes in execution order.

A mode starts from one of these, and adds, removes or stops after passes by name; importing a module
registers nothing. To inspect a pipeline, print it: ``print(PIPELINES["full"])``. Rules for Ops that
many graphs lack are late: their module is imported with the first graph that has such an Op.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from phintys._base.errors import ConfigError
from phintys._base.late import LateModule
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
from phintys.passes.inline import inline_graphs
from phintys.passes.inner_graphs import inner_graphs
from phintys.passes.inplace import inplace, inplace_everywhere
from phintys.passes.loops import Loops
from phintys.passes.merging import merge
from phintys.passes.specialize import SPECIALIZE
from phintys.rewriting import (
    LateRewriter,
    LateRules,
    Pass,
    Pipeline,
    RuleDriver,
    RuleList,
    Worklist,
)

if TYPE_CHECKING:
    from phintys.rewriting import NodeRewriter, RewriteTrace

__all__ = ["CANONICAL", "PIPELINES", "all_rules", "keeps_extremes", "keeps_zeros", "rewrite_graph"]

_batching = LateModule("phintys.passes.batching")
_blas = LateModule("phintys.passes.blas")
_choices = LateModule("phintys.passes.choices")
_combining = LateModule("phintys.passes.combining")
_dim_shuffle = LateModule("phintys.passes.dim_shuffle")
_factors = LateModule("phintys.passes.factors")
_fences = LateModule("phintys.passes.fences")
_gradient = LateModule("phintys.passes.gradient")
_indexing = LateModule("phintys.passes.indexing")
_joining = LateModule("phintys.passes.joining")
_least_squares = LateModule("phintys.passes.least_squares")
_linear_algebra = LateModule("phintys.passes.linear_algebra")
_loop_arguments = LateModule("phintys.passes.loop_arguments")
_loop_merging = LateModule("phintys.passes.loop_merging")
_loop_states = LateModule("phintys.passes.loop_states")
_loop_sums = LateModule("phintys.passes.loop_sums")
_loop_unrolling = LateModule("phintys.passes.loop_unrolling")
_loop_work = LateModule("phintys.passes.loop_work")
_observing = LateModule("phintys.passes.observing")
_product_order = LateModule("phintys.passes.product_order")
_products = LateModule("phintys.passes.products")
_reduce = LateModule("phintys.passes.reduce")
_scattered = LateModule("phintys.passes.scattered")
_shapes = LateModule("phintys.passes.shapes")
_stabilize = LateModule("phintys.passes.stabilize")
_stacks = LateModule("phintys.passes.stacks")
_updates = LateModule("phintys.passes.updates")

CANONICAL = RuleList(
    LateRules(_batching, "CANONICAL_BATCHING", needs="Blockwise"),
    LateRules(_gradient, "CANONICAL_GRADIENT", needs="GradientMark"),
    LateRules(_choices, "CANONICAL_CHOICES", needs="IfElse"),
    LateRules(_fences, "CANONICAL_FENCES", needs="Fence"),
    LateRules(_observing, "CANONICAL_CHECKS", needs="CheckAndRaise"),
    LateRules(_dim_shuffle, "CANONICAL_DIMSHUFFLE", needs="DimShuffle"),
    LateRules(_shapes, "CANONICAL_SHAPE", needs="Alloc Reshape SpecifyShape"),
    LateRules(_indexing, "CANONICAL_INDEXING", needs="Subtensor"),
    LateRules(_updates, "CANONICAL_UPDATES", needs="IncSubtensor"),
    LateRules(_joining, "CANONICAL_JOIN", needs="Join"),
    LateRules(_products, "CANONICAL_DOT", needs="BatchedDot Dot"),
    LateRules(_stacks, "stack_of_one", needs="MatrixOp"),
    LateRules(_reduce, "CANONICAL_REDUCE", needs="Reduce"),
    LateRules(_scattered, "CANONICAL_SCATTERED", needs="AdvancedIncSubtensor IncSubtensor"),
    *CANONICAL_ELEMWISE,
    *CANONICAL_COMPARISON,
    *CANONICAL_ARITHMETIC,
)
"""All rules of the pass ``canonicalize``, in the order in which they are tried on a node."""

_LOOP_RULES = RuleList(
    LateRules(_loop_arguments, "LOOP_ARGUMENTS", needs="Scan"),
    LateRules(_loop_work, "LOOP_WORK", needs="Scan"),
    LateRules(_loop_unrolling, "LOOP_UNROLLING", needs="Scan"),
    LateRules(_loop_sums, "LOOP_SUMS", needs="Scan"),
    LateRules(_loop_states, "LOOP_STATES", needs="Scan"),
)

_MATRICES = "Cholesky Det Inv SlogDet Solve"
_FUNCTIONS = """
    cosh erf erfc exp exp2 expm1 log log10 log1p log2 log_ndtr log_sigmoid ndtr sigmoid softplus
    LogSoftmax LogSumExp Softmax
    """
_STABLE = RuleList(
    LateRules(_reduce, "STABILIZE_REDUCE", needs="Reduce"),
    LateRules(_product_order, "order_of_products", needs="Dot"),
    LateRules(
        _linear_algebra,
        "STABILIZE_LINEAR_ALGEBRA",
        needs=f"{_MATRICES} ARange AllocDiag Assume ExtractDiag",
    ),
    LateRules(_stabilize, "STABILIZE", needs=_FUNCTIONS),
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
_COMBINE_LOOPS = Pass("combine_loops", LateRewriter(_loop_merging, "combine_loops", needs="Scan"))
_STABILIZE = Pass("stabilize", Worklist((_STABLE, *_TIDY), name="stabilize"))
# sum_of_scattered: scattered values in the gradient of a softmax, in its stable form.
# index_known_parts: elements of vectors that are made of what was written into zeros.
_SPECIALIZE = Pass(
    "specialize",
    Worklist(
        (
            *SIZES,
            LateRules(_linear_algebra, "EXPAND_LINEAR_ALGEBRA", needs=f"{_MATRICES} Sylvester"),
            LateRules(_least_squares, "EXPAND_LEAST_SQUARES", needs="Lstsq Pinv"),
            LateRules(_factors, "EXPAND_FACTORS", needs="CholeskyAdjoint"),
            *SPECIALIZE,
            LateRules(_scattered, "sum_of_scattered", needs="AdvancedIncSubtensor IncSubtensor"),
            LateRules(_updates, "SPECIALIZE_UPDATES", needs="AdvancedIncSubtensor IncSubtensor"),
            LateRules(_indexing, "index_known_parts", needs="Subtensor"),
        ),
        name="specialize",
    ),
)
_BLAS = Pass("blas", Worklist([LateRules(_blas, "BLAS", needs="Dot")], name="blas"))
_CHOICES = Pass("combine_choices", LateRewriter(_combining, "combine_choices", needs="IfElse"))
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
