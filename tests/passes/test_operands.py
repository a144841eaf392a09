"""What rules say they need among the operands of a node: without it they have nothing to do."""

import pytest

import phintys.tensor as pt
from phintys._base.errors import PhintysError
from phintys.graph import FunctionGraph
from phintys.passes.pipelines import PIPELINES, all_rules
from phintys.rewriting import Worklist, drivers, node_rewriter
from phintys.rewriting.lookup import Lookup

from .test_soundness import DTYPES, build

RULES = {rule.name: rule for rule in all_rules()}


class CheckedLookup(Lookup):
    """Tries the rules that are left out, too."""

    def __init__(self, rules, nodes=()):
        super().__init__(rules, nodes)
        self.index = rules.indexed()
        self.fgraph = None

    def rules_for(self, node):
        found = super().rules_for(node)
        if node in self.fgraph.apply_nodes:
            for rule in self.index.plan(node.op).rules:
                assert rule in found or not self.finds(rule, node), (rule.name, node)
        return found

    def finds(self, rule, node):
        try:
            return rule.transform(self.fgraph, node)
        except PhintysError:
            return None  # it may rely on what it says it needs


@pytest.fixture
def checked(monkeypatch):
    """Return a function that runs the full pipeline with such a look-up, and counts what it saw."""

    def run(expression, pipeline=PIPELINES["full"]):
        fgraph = FunctionGraph(None, [expression])

        def lookup(rules, nodes):
            made = CheckedLookup(rules, nodes)
            made.fgraph = fgraph
            return made

        monkeypatch.setattr(drivers, "Lookup", lookup)
        pipeline.apply(fgraph)

    return run


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", RULES)
def test_what_is_left_out_would_find_nothing(checked, name):
    for dtype in DTYPES:
        for _, expression in build(RULES[name], dtype):
            checked(expression)


def test_a_rule_that_asks_for_too_much_is_found(checked):
    @node_rewriter([pt.sin], operands=[pt.exp])
    def drop_sine(fgraph, node):
        """sin(x) -> x"""
        return node.inputs

    with pytest.raises(AssertionError, match="drop_sine"):
        checked(pt.sin(pt.dvector("x")), Worklist([drop_sine], name="test"))
