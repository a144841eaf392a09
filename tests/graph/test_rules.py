"""Rules are found by the class of an Op, wherever that is."""

import pytest

import phintys.tensor as pt
from phintys._base.errors import IntegrityError
from phintys._base.late import LateModule
from phintys.graph import Op
from phintys.graph.rules import OpRules
from phintys.tensor.joining import Join, Split


class Mine(Join):
    pass


class Yours(Mine):
    pass


def test_a_class_has_the_rule_of_its_nearest_base():
    rules = OpRules("test")
    first = rules.register(Join)(lambda op: "join")
    assert rules.find(Yours) is rules.find(Mine) is rules.find(Join) is first
    second = rules.register(Mine)(lambda op: "mine")  # although looked up before
    assert rules.find(Yours) is rules.find(Mine) is second
    assert rules.find(Join) is first
    assert rules.find(Split) is rules.find(Op) is None


def test_a_rule_for_several_classes():
    rules = OpRules("test")
    rule = rules.register(Join, Split)(lambda op: "both")
    assert rules.load() == {Join: rule, Split: rule}


def test_a_module_without_the_rule_that_it_should_define():
    rules = OpRules("test", late={LateModule("phintys.graph.rules"): "Split Join"})
    assert rules.find(Join) is None
    with pytest.raises(IntegrityError, match=r"graph\.rules registers no rule .* class 'Split'"):
        rules.load()


def test_a_module_that_cannot_be_imported():
    rules = OpRules("test", late={LateModule("phintys.graph.no_such_module"): "Join"})
    assert rules.find(pt.Elemwise) is None
    with pytest.raises(ImportError, match="no_such_module"):
        rules.find(Join)
