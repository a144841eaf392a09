"""The rewriting engine: rules, patterns, drivers, passes, pipelines, and the trace."""

from phintys._base.names import public_dir
from phintys.rewriting.applying import apply_rule
from phintys.rewriting.drivers import RuleDriver, WalkInOrder, WalkOutOrder, Worklist
from phintys.rewriting.late import (
    LateParts,
    LateRewriter,
    LateRules,
    RuleList,
    late_rewriter,
    late_rules,
)
from phintys.rewriting.patterns import (
    NOT_CONSTANT,
    PatternRewriter,
    Wild,
    any_order,
    constant_value,
    pattern,
    set_constant_reader,
)
from phintys.rewriting.pipeline import Pass, Pipeline
from phintys.rewriting.rewriter import (
    GraphRewriter,
    NodeRewriter,
    Operand,
    graph_rewriter,
    node_rewriter,
)
from phintys.rewriting.trace import RewriteEvent, RewriteTrace

__all__ = [
    "NOT_CONSTANT",
    "GraphRewriter",
    "LateParts",
    "LateRewriter",
    "LateRules",
    "NodeRewriter",
    "Operand",
    "Pass",
    "PatternRewriter",
    "Pipeline",
    "RewriteEvent",
    "RewriteTrace",
    "RuleDriver",
    "RuleList",
    "WalkInOrder",
    "WalkOutOrder",
    "Wild",
    "Worklist",
    "any_order",
    "apply_rule",
    "constant_value",
    "graph_rewriter",
    "late_rewriter",
    "late_rules",
    "node_rewriter",
    "pattern",
    "set_constant_reader",
]

__dir__ = public_dir(__name__)
