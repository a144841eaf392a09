"""Names of single rewrites of the old packages."""

from __future__ import annotations

import phintys
import phintys.tensor as pt
from phintys.compat.modes import get_mode
from phintys.compat.rule_names import OLD_RULES
from phintys.passes import PIPELINES


def test_each_old_rewrite_stands_for_rules_that_there_are():
    known = PIPELINES["full"].all_names()
    rules = {old: frozenset(names.split()) for old, names in OLD_RULES.items()}
    assert {old: names for old, names in rules.items() if not names or names - known} == {}
    assert OLD_RULES.keys().isdisjoint(known)


def test_a_mode_leaves_out_what_an_old_name_stands_for():
    x = pt.dvector("x")
    mode = get_mode("FAST_RUN")

    def nodes(expression, mode):
        return len(phintys.function([x], expression, mode=mode).maker.fgraph.apply_nodes)

    both = pt.neg(pt.neg(x))
    assert nodes(both, mode.excluding("local_neg_neg")) == nodes(both, mode) + 1
    part = x[2:][1:]
    without = mode.excluding("local_subtensor_merge", "local_no_such_rewrite")
    assert nodes(part, without) > nodes(part, mode)
    summed = pt.log(1 + x)
    names = {
        str(node.op)
        for node in phintys.function(
            [x], summed, mode=mode.excluding("local_log1p")
        ).maker.fgraph.apply_nodes
    }
    assert "Log1p" not in names
