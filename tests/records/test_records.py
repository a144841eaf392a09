"""Every record against its reference, its contract, every mode, and finite differences."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phintys.compile import Mode
from phintys.passes import PIPELINES
from phintys.testing import CHECKS, check_op
from phintys.testing.strategies import examples

REWRITTEN = Mode("reference", PIPELINES["full"], name="rewritten")

# There are many records, and each example of one goes through all checks. DebugMode alone computes
# each dozens of times; the profile "thorough" has it look at more than one.
FRACTION = {"values": 2, "derivatives": 5, "debug": 50}


def _budget(what):
    return settings(
        max_examples=max(1, settings().max_examples // FRACTION[what]),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


@_budget("values")
@given(data=st.data())
def test_values(record, data):
    example = data.draw(examples(record), "example")
    check_op(record, [example], modes=[REWRITTEN], skip=["derivatives", "batching"])


@_budget("derivatives")
@given(data=st.data())
def test_derivatives(record, data):
    example = data.draw(examples(record, smooth=True), "example")
    check_op(record, [example], modes=["reference"], skip=["batching"])


@_budget("debug")
@given(data=st.data())
def test_debug_mode_finds_nothing_and_batches_are_right(record, data):
    example = data.draw(examples(record), "example")
    check_op(record, [example], modes=["debug"], skip=set(CHECKS) - {"modes", "batching"})
