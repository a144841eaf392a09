"""What late rules are said to need: without it they have nothing to do."""

import pytest

from phintys.passes.pipelines import PIPELINES
from phintys.rewriting import LateRewriter, LateRules, Operand, RuleDriver

PARTS = {
    (one.name, part.module.__name__, part.name): part
    for one in PIPELINES["full"]
    if isinstance(one.step, RuleDriver)
    for part in one.step.rules.parts
    if isinstance(part, LateRules)
}

# They find what they need below their operands.
DEEPER = {
    "density_times_reciprocal",
    "minus_logsumexp",
    "one_minus_function",
    "quotient_to_sigmoid",
}


def is_among(op, needs):
    """Return whether an Op, or a class of Ops, is one of those that are named."""
    if isinstance(op, type):
        return any(base.__name__ in needs for base in op.__mro__)
    return op.function_name in needs or is_among(type(op), needs)


def needs_one_of(case, needs):
    tracked, operands = case
    if tracked is not None and is_among(tracked, needs):
        return True
    return operands is not None and all(
        not isinstance(operand, Operand) and is_among(operand, needs) for operand in operands
    )


@pytest.mark.parametrize("key", PARTS, ids="-".join)
def test_late_rules_need_what_they_are_said_to(key):
    part = PARTS[key]
    for rule in part.load():
        is_awaited = rule.within is not None and all(is_among(op, part.needs) for op in rule.within)
        is_needed = is_awaited or all(needs_one_of(case, part.needs) for case in rule.cases())
        assert is_needed or rule.name in DEEPER, rule


@pytest.mark.parametrize("key", PARTS, ids="-".join)
def test_what_late_rules_need_is_the_name_of_something(key):
    part = PARTS[key]
    names = set()
    for rule in part.load():
        operands = [op for _, found in rule.cases() for op in found or ()]
        for op in (*(rule.tracks or ()), *operands, *(rule.within or ())):
            if not isinstance(op, Operand):
                cls = op if isinstance(op, type) else type(op)
                names |= {base.__name__ for base in cls.__mro__}
                names.add(getattr(op, "function_name", ""))
    assert part.needs <= names


def test_late_rewriters_have_their_names():
    late = [one for one in PIPELINES["full"] if isinstance(one.step, LateRewriter)]
    assert [one.name for one in late] == ["combine_loops", "combine_choices"]
    assert all(one.step.load().name == one.name for one in late)
