"""Every record against its reference, its contract, every mode, and finite differences."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phintys.compile import Mode
from phintys.passes import PIPELINES
from phintys.testing import CHECKS, check_op
from phintys.testing.strategies import examples

REWRITTEN = Mode("reference", PIPELINES["full"], name="rewritten")

# There are many records, and each example of one goes through all checks. DebugMode alone computes
# each dozens of times; the profile "thorough" has it look at more than one. Copies and pickles, a
# sixth of the time of values, are compared on fewer examples: on those of the other two tests.
FRACTION = {"values": 5, "derivatives": 12, "debug": 50}

# A function that is an expression in Ops rests on the checks of these. Its own show that it is the
# right expression: fewer examples tell, and no Op of it needs DebugMode.
FRACTION_OF_EXPRESSIONS = {"values": 16, "derivatives": 50}


def _budget(fraction):
    return settings(
        max_examples=max(1, settings().max_examples // fraction),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


@_budget(FRACTION["values"])
@given(data=st.data())
def test_values(record, data):
    example = data.draw(examples(record), "example")
    check_op(record, [example], modes=[REWRITTEN], skip=["derivatives", "batching", "pickling"])


@_budget(FRACTION["derivatives"])
@given(data=st.data())
def test_derivatives(record, data):
    example = data.draw(examples(record, smooth=True), "example")
    check_op(record, [example], modes=["reference"], skip=["batching"])


@pytest.mark.sampled(5)
@_budget(FRACTION["debug"])
@given(data=st.data())
def test_debug_mode_finds_nothing_and_batches_are_right(record, data):
    example = data.draw(examples(record), "example")
    skip = set(CHECKS) - {"modes", "batching", "pickling"}
    check_op(record, [example], modes=["debug"], skip=skip)


@_budget(FRACTION_OF_EXPRESSIONS["values"])
@given(data=st.data())
def test_values_of_expressions(expression, data):
    example = data.draw(examples(expression), "example")
    skip = ["derivatives", "batching", "pickling"]
    check_op(expression, [example], modes=[REWRITTEN], skip=skip)


@pytest.mark.sampled(5, 1)
@_budget(FRACTION_OF_EXPRESSIONS["derivatives"])
@given(data=st.data())
def test_derivatives_of_expressions(expression, data):
    example = data.draw(examples(expression, smooth=True), "example")
    check_op(expression, [example], modes=["reference"], skip=["batching"])
