"""Rules for Ops are found where they are said to be."""

import pytest

import phintys.tensor as pt
from phintys.backends.native.lower.families import FAMILIES, family_of
from phintys.backends.native.lower.lowering import lower
from phintys.graph import Op


def test_every_rule_is_in_the_family_of_its_ops():
    families = {family.lower and family.__name__ for family in FAMILIES.values()}  # imports all
    rules = {cls: rule.__module__ for cls, rule in lower.registry.items() if cls is not object}
    ours = {cls: home for cls, home in rules.items() if cls.__module__.startswith("phintys.")}
    assert set(ours.values()) == families
    assert {cls: FAMILIES[cls.__module__].__name__ for cls in ours} == ours


@pytest.mark.parametrize("home", FAMILIES)
def test_every_family_has_a_rule_for_ops_of_the_module(home):
    rules = [rule for cls, rule in FAMILIES[home].lower.registry.items() if cls.__module__ == home]
    assert rules


def test_a_class_has_the_family_of_its_base():
    class Mine(type(pt.cumsum(pt.vector()).owner.op)):
        pass

    assert family_of(Mine) is FAMILIES["phintys.tensor.cumulative"]
    assert family_of(Op).lower is lower
