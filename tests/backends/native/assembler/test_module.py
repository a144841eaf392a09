"""Modules of LLVM IR, whole and in parts."""

import re

import pytest

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import FLOAT64, PTR
from phintys.backends.native.assembler.values import Value


def defined(text):
    return re.findall(r"^define [^@]*@([\w.]+)", text, re.MULTILINE)


@pytest.fixture
def module():
    """Two functions that stand alone, one with memory of its own, and one that calls all three."""
    module = Module(Target.named("x86-64-v3"))
    table = module.table("double 1.0, double 2.0", 2, "double")
    memory = module.memory("count", 8)
    for name, place in (("first", table), ("second", None), ("counting", memory)):
        b = Builder(module.function(name, FLOAT64, [FLOAT64], linkage="internal"))
        x = b.arguments[0]
        for _ in range(20):
            x = x * 0.5
        if place is not None:
            x = x + b.load(FLOAT64, Value(b, PTR, place))
        b.ret(b.call("cos", FLOAT64, [x]))
    b = Builder(module.function("run", FLOAT64, [FLOAT64, (PTR, "noalias")], attributes="noinline"))
    x = b.arguments[0]
    b.ret(sum((b.call(name, FLOAT64, [x]) for name in ("first", "second", "counting")), x))
    return module


def test_one_part_is_the_module(module):
    assert module.parts(1) == [str(module)]


def test_only_functions_that_stand_alone_are_moved_out_of_the_first_part(module):
    first, *others = module.parts(3)
    assert defined(first) == ["counting", "run"]
    assert [defined(text) for text in others] == [["first"], ["second"]]


def test_moved_functions_are_visible_and_declared_where_they_are_called(module):
    first, *others = module.parts(2)
    (moved,) = map(defined, others)
    for name in moved:
        assert f"declare double @{name}(double)" in first
        assert f"define double @{name}(" in others[0]
    assert "define internal double @counting(" in first


def test_a_part_has_the_tables_and_declarations_that_it_uses(module):
    first, *others = module.parts(3)
    assert "@count = global" in first
    assert ["@table." in text for text in others] == [True, False]
    assert not any("@count" in text for text in others)
    assert all("declare double @cos(double)" in text for text in others)


def test_more_parts_than_functions(module):
    assert len(module.parts(50)) == 3
