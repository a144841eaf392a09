"""Every record in the native backend, and what of it runs in Python."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phintys.testing import CHECKS, check_op
from phintys.testing.strategies import examples

# Machine code is made for each example; other tests see more of them.
EXAMPLES = max(1, settings().max_examples // 15)
OTHERS = [name for name in CHECKS if name not in {"reference", "modes"}]


@settings(
    max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(data=st.data())
def test_values(record, data):
    example = data.draw(examples(record), "example")
    check_op(record, [example], modes=["native"], skip=OTHERS)
