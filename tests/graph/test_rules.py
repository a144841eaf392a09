"""Rules are found by the class of an Op, wherever that is."""

import subprocess

import pytest

import phintys.tensor as pt
from phintys._base.errors import IntegrityError
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
    rules = OpRules("test", {"phintys.graph.rules": "Split Join"})
    assert rules.find(Join) is None
    with pytest.raises(IntegrityError, match=r"graph\.rules registers no rule .* class 'Split'"):
        rules.load()


def test_a_module_that_cannot_be_imported():
    rules = OpRules("test", {"phintys.graph.no_such_module": "Join"})
    assert rules.find(pt.Elemwise) is None
    with pytest.raises(ImportError, match="no_such_module"):
        rules.find(Join)


MINE = """
import sys
import numpy as np, phintys, phintys.tensor as pt
from phintys.backends.base import get_backend, register_backend
from phintys.backends.native.lower.lowering import LOWERINGS, lowers
from phintys.tensor.joining import Join, Split

@lowers(Join)
def mine(op, node, lowering):
    pass

theirs = LOWERINGS.find(Split)  # of the module that has a rule for Join, too
assert theirs is not None and theirs.__module__ == "phintys.backends.native.lower.shapes"
assert LOWERINGS.find(Join) is mine

class Mine:
    name = "mine"

    def link(self, fgraph, *, profiler=None):
        raise NotImplementedError

register_backend("reference", Mine())
from phintys.backends.reference.backend import ReferenceBackend
assert get_backend("reference").name == "mine"

class Generator:  # as NumPy's, whose shared variables phintys.random makes
    pass

assert type(phintys.shared(Generator())) is phintys.SharedVariable
w = phintys.shared(np.random.default_rng(1))
assert type(w) is not phintys.SharedVariable, w
assert phintys.shared([object()]).get_value()
"""


def test_what_users_register_replaces_ours_whatever_is_imported_first(python_command):
    done = subprocess.run(
        python_command(MINE), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
