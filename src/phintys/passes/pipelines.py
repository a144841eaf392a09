"""The pipelines: lists of passes in execution order.

A mode starts from one of these, and adds, removes or stops after passes by name; importing a module
registers nothing. To inspect a pipeline, print it: ``print(PIPELINES["full"])``. Rules for Ops that
many graphs lack are late: their module is imported with the first graph that has such an Op.
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

__all__ = ["CANONICAL", "PIPELINES", "all_rules", "keeps_extremes", "rewrite_graph"]


def _late(module: str, name: str, *, needs: str) -> LateRules:
    """Return rules of a module of this package that is imported for graphs with certain Ops."""
    return LateRules(f"phintys.passes.{module}", name, needs=needs)


CANONICAL = RuleList(
    _late("batching", "CANONICAL_BATCHING", needs="Blockwise"),
    _late("gradient", "CANONICAL_GRADIENT", needs="GradientMark"),
    _late("choices", "CANONICAL_CHOICES", needs="IfElse"),
    _late("fences", "CANONICAL_FENCES", needs="Fence"),
    _late("observing", "CANONICAL_CHECKS", needs="CheckAndRaise"),
    _late("dim_shuffle", "CANONICAL_DIMSHUFFLE", needs="DimShuffle"),
    _late("shapes", "CANONICAL_SHAPE", needs="Alloc Reshape SpecifyShape"),
    _late("indexing", "CANONICAL_INDEXING", needs="Subtensor"),
    _late("updates", "CANONICAL_UPDATES", needs="IncSubtensor"),
    _late("joining", "CANONICAL_JOIN", needs="Join"),
    _late("products", "CANONICAL_DOT", needs="Dot"),
    _late("reduce", "CANONICAL_REDUCE", needs="Reduce"),
    *CANONICAL_ELEMWISE,
    *CANONICAL_COMPARISON,
    *CANONICAL_ARITHMETIC,
)
"""All rules of the pass ``canonicalize``, in the order in which they are tried on a node."""

_LOOP_RULES = RuleList(
    _late("loop_arguments", "LOOP_ARGUMENTS", needs="Scan"),
    _late("loop_work", "LOOP_WORK", needs="Scan"),
    _late("loop_unrolling", "LOOP_UNROLLING", needs="Scan"),
    _late("loop_sums", "LOOP_SUMS", needs="Scan"),
    _late("loop_states", "LOOP_STATES", needs="Scan"),
)

_MATRICES = "Assume Cholesky Det Inv SlogDet Solve"
_FUNCTIONS = """
    cosh erf erfc exp exp2 expm1 log log1p log2 log_ndtr log_sigmoid ndtr sigmoid softplus
    LogSoftmax LogSumExp Softmax
    """
_STABLE = RuleList(
    _late("reduce", "STABILIZE_REDUCE", needs="Reduce"),
    _late("product_order", "order_of_products", needs="Dot"),
    _late(
        "linear_algebra",
        "STABILIZE_LINEAR_ALGEBRA",
        needs=f"{_MATRICES} ARange AllocDiag ExtractDiag",
    ),
    _late("stabilize", "STABILIZE", needs=_FUNCTIONS),
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
_COMBINE_LOOPS = Pass(
    "combine_loops", LateRewriter("phintys.passes.loop_merging", "combine_loops", needs="Scan")
)
_STABILIZE = Pass("stabilize", Worklist((_STABLE, *_TIDY), name="stabilize"))
# sum_of_scattered: scattered values in the gradient of a softmax, in its stable form.
# index_known_parts: elements of vectors that are made of what was written into zeros.
_SPECIALIZE = Pass(
    "specialize",
    Worklist(
        (
            *SIZES,
            _late("linear_algebra", "EXPAND_LINEAR_ALGEBRA", needs=_MATRICES),
            _late("factors", "EXPAND_FACTORS", needs="CholeskyAdjoint"),
            *SPECIALIZE,
            _late("reduce", "sum_of_scattered", needs="AdvancedIncSubtensor IncSubtensor"),
            _late("updates", "SPECIALIZE_UPDATES", needs="AdvancedIncSubtensor IncSubtensor"),
            _late("indexing", "index_known_parts", needs="Subtensor"),
        ),
        name="specialize",
    ),
)
_BLAS = Pass("blas", Worklist([_late("blas", "BLAS", needs="Dot")], name="blas"))
_CHOICES = Pass(
    "combine_choices", LateRewriter("phintys.passes.combining", "combine_choices", needs="IfElse")
)
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
