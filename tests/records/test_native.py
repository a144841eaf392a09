"""Every record in the native backend, and what of it runs in Python."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phintys import config
from phintys.testing import CHECKS, check_op
from phintys.testing.strategies import examples

# Machine code is made for each example; other tests see more of them.
FRACTION, FRACTION_OF_EXPRESSIONS = 15, 30
OTHERS = [name for name in CHECKS if name not in {"reference", "modes"}]


def _budget(fraction):
    return settings(
        max_examples=max(1, settings().max_examples // fraction),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


@_budget(FRACTION)
@given(data=st.data())
def test_values(record, data):
    example = data.draw(examples(record), "example")
    check_op(record, [example], modes=["native"], skip=OTHERS)


@pytest.mark.sampled(6, 2)
@_budget(FRACTION)
@given(data=st.data())
def test_values_of_code_without_vectors(record, data):
    """The target "one-lane" has a vector of one float64, as small devices have."""
    example = data.draw(examples(record), "example")
    with config.change_flags(native_target="one-lane"):
        check_op(record, [example], modes=["native"], skip=OTHERS)


@pytest.mark.sampled(3)
@_budget(FRACTION_OF_EXPRESSIONS)
@given(data=st.data())
def test_values_of_expressions(expression, data):
    example = data.draw(examples(expression), "example")
    check_op(expression, [example], modes=["native"], skip=OTHERS)
