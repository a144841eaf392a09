"""The rewriting engine: rules, patterns, drivers, passes, pipelines, and the trace."""

from phintys.rewriting.applying import apply_rule as apply_rule
from phintys.rewriting.drivers import RuleDriver as RuleDriver
from phintys.rewriting.drivers import WalkInOrder as WalkInOrder
from phintys.rewriting.drivers import WalkOutOrder as WalkOutOrder
from phintys.rewriting.drivers import Worklist as Worklist
from phintys.rewriting.pattern import NOT_CONSTANT as NOT_CONSTANT
from phintys.rewriting.pattern import PatternRewriter as PatternRewriter
from phintys.rewriting.pattern import Wild as Wild
from phintys.rewriting.pattern import any_order as any_order
from phintys.rewriting.pattern import constant_value as constant_value
from phintys.rewriting.pattern import pattern as pattern
from phintys.rewriting.pattern import set_constant_reader as set_constant_reader
from phintys.rewriting.pipeline import Pass as Pass
from phintys.rewriting.pipeline import Pipeline as Pipeline
from phintys.rewriting.rewriter import GraphRewriter as GraphRewriter
from phintys.rewriting.rewriter import NodeRewriter as NodeRewriter
from phintys.rewriting.rewriter import Operand as Operand
from phintys.rewriting.rewriter import graph_rewriter as graph_rewriter
from phintys.rewriting.rewriter import node_rewriter as node_rewriter
from phintys.rewriting.trace import RewriteEvent as RewriteEvent
from phintys.rewriting.trace import RewriteTrace as RewriteTrace
