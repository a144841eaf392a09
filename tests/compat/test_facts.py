"""What is known of matrices, under PyTensor's names."""

from __future__ import annotations

from itertools import permutations

import pytest

import phintys.tensor as pt
from phintys.compat import facts
from phintys.compat.facts import FactState, assume, check_assumption
from phintys.graph import FunctionGraph
from phintys.tensor.linear_algebra.assumptions import ASSUMPTIONS


@pytest.fixture
def registries(monkeypatch):
    """Rules of a test are forgotten after it."""
    monkeypatch.setattr(facts, "ASSUMPTION_INFER_REGISTRY", {})
    monkeypatch.setattr(facts, "CONSTANT_INFER_REGISTRY", {})
    monkeypatch.setattr(facts, "IMPLIES", dict(facts.IMPLIES))


def _graph(*outputs):
    return FunctionGraph(None, list(outputs), clone=False)


@pytest.mark.parametrize("key", [key for key in facts.ALL_KEYS if key.name in ASSUMPTIONS])
def test_what_is_assumed_is_known_with_all_that_follows(key):
    y = assume(pt.dmatrix("x"), **{key.name: True})
    fgraph = _graph(y)
    assert check_assumption(fgraph, y, key)
    assert all(check_assumption(fgraph, y, other) for other in facts.IMPLIES.get(key, ()))
    assert not check_assumption(fgraph, y.owner.inputs[0], key)


def test_phintys_finds_facts_and_a_rule_of_the_program_finds_others(registries):
    even = facts.AssumptionKey("even")
    x = pt.dmatrix("x")
    gram, double = x @ x.T, x * 2
    fgraph = _graph(gram + double)
    assert check_assumption(fgraph, gram, facts.SYMMETRIC)
    assert not check_assumption(fgraph, double, even)

    @facts.register_assumption(even, pt.Elemwise)
    def is_even(key, op, feature, fgraph, node, input_states):
        return facts.true_if(any(one.owner is None and str(one) == "x" for one in node.inputs))

    fgraph = _graph(gram + double)
    assert check_assumption(fgraph, double, even)
    facts.register_implies(even, facts.UNIT_MAGNITUDE)
    assert check_assumption(_graph(double), double, facts.UNIT_MAGNITUDE)
    assert not check_assumption(None, double, even)


def test_a_fact_is_kept_for_a_replacement():
    x = pt.dmatrix("x")
    y = assume(x, symmetric=True)
    fgraph = FunctionGraph([x], [pt.exp(y)], clone=False)
    assert check_assumption(fgraph, y, facts.SYMMETRIC)
    fgraph.replace(y, x, reason="test")
    assert check_assumption(fgraph, x, facts.SYMMETRIC)


def test_what_was_not_known_is_looked_for_again_after_a_replacement():
    v, x = pt.dvector("v"), pt.dmatrix("x")
    y = x.T * 2
    fgraph = FunctionGraph([x, v], [y], clone=False)
    assert not check_assumption(fgraph, y, facts.DIAGONAL)
    fgraph.replace(x, pt.diag(v), reason="test")
    assert check_assumption(fgraph, y, facts.DIAGONAL)


def test_contradictions_and_wrong_rules_raise(registries):
    x = pt.dmatrix("x")
    y = pt.exp(assume(x, symmetric=True))
    facts.register_assumption(facts.SYMMETRIC, pt.Elemwise)(lambda *given: [FactState.FALSE])
    with pytest.raises(ValueError, match="Conflicting evidence for symmetric"):
        check_assumption(_graph(y), y, facts.SYMMETRIC)
    facts.register_assumption(facts.DIAGONAL, pt.Elemwise)(lambda *given: [])
    with pytest.raises(ValueError, match="a state for each of the 1 outputs"):
        check_assumption(_graph(y), y, facts.DIAGONAL)
    with pytest.raises(TypeError, match="no boolean value"):
        bool(FactState.TRUE)


A, B, C = (facts.AssumptionKey(name) for name in "ABC")
IMPLICATIONS = {
    "a chain": [(A, B), (B, C)],
    "both ways": [(A, B), (B, A), (B, C)],
    "around": [(A, B), (B, C), (C, A)],
    "from two": [(A, C), (B, C)],
    "to two": [(A, B), (A, C)],
}


@pytest.mark.parametrize("told", [FactState.TRUE, FactState.FALSE])
@pytest.mark.parametrize("about", [A, B, C])
@pytest.mark.parametrize("implications", IMPLICATIONS)
def test_answers_do_not_depend_on_the_order_of_questions(implications, about, told, registries):
    for stronger, weaker in IMPLICATIONS[implications]:
        facts.register_implies(stronger, weaker)
    facts.register_assumption(about, pt.Elemwise)(lambda *given: [told])
    z = pt.exp(pt.dmatrix("x"))
    follows = {about}  # by what is implied, or what implies
    for _ in facts.IMPLIES:
        for stronger, weaker in IMPLICATIONS[implications]:
            one, other = (stronger, weaker) if told is FactState.TRUE else (weaker, stronger)
            follows |= {other} if one in follows else set()
    expected = {key: told if key in follows else FactState.UNKNOWN for key in (A, B, C)}
    for order in permutations(expected):
        feature = facts.AssumptionFeature()
        assert {key: feature.get(z, key) for key in order} == expected, order


def test_rules_that_ask_each_other_are_asked_in_any_order(registries):
    """What a rule was told while the question it came from was open is not the whole answer."""

    def asks(other, *more):
        def rule(key, op, feature, fgraph, node, input_states):
            states = [feature.get(node.outputs[0], one) for one in (other, *more)]
            return facts.true_if(any(state is FactState.TRUE for state in states))

        return rule

    for key, others in {A: (B,), B: (A, C), C: ()}.items():
        rule = asks(*others) if others else lambda *given: [FactState.TRUE]
        facts.register_assumption(key, pt.Elemwise)(rule)
    z = pt.exp(pt.dmatrix("x"))
    for order in permutations((A, B, C)):
        feature = facts.AssumptionFeature()
        assert [feature.get(z, key) for key in order] == [FactState.TRUE] * 3, order


def test_a_conflict_of_an_ancestor_is_raised_as_often_as_a_descendant_is_asked_about(registries):
    y = pt.exp(assume(pt.dmatrix("x"), symmetric=True))
    facts.register_assumption(facts.SYMMETRIC, pt.Elemwise)(lambda *given: [FactState.FALSE])
    feature, descendant = facts.AssumptionFeature(), pt.sum(y, axis=0, keepdims=True) * 2
    for _ in range(2):
        with pytest.raises(facts.ConflictingAssumptionsError, match="Conflicting evidence"):
            feature.get(descendant, facts.SYMMETRIC)


def test_summaries_leave_out_what_follows():
    x = pt.dmatrix("x")
    y = assume(x, permutation=True)
    assert facts.assumption_tags([y]) == {y: "{perm}"}
    both = assume(x, positive_definite=True, selection=True)
    assert facts.assumption_tags([both]) == {both: "{pd}"}
    assert isinstance(y.owner.op, facts.SpecifyAssumptions)
    assert facts.SpecifyAssumptions({"diagonal": FactState.TRUE})(x).owner.op.names == ("diagonal",)
    assert assume(x, selection=True) is x
