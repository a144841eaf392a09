"""The records of Ops in mode jax: some by default, all of them by `make jax-tests`."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import phintys
from phintys.testing import CHECKS, check_op
from phintys.testing.strategies import examples
from tests.records.conftest import FAMILIES

pytest.importorskip("jax", reason="needs jax")

RECORDS = {
    f"{family}-{record.name}": record
    for family, module in FAMILIES.items()
    for record in module.RECORDS
}
OTHERS = [name for name in CHECKS if name != "modes"]
EVERY = 20  # record by default


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.stress] * bool(number % EVERY))
        for number, name in enumerate(RECORDS)
    ],
)
def test_values_are_those_of_the_reference(name):
    mode = phintys.jax.mode()

    @settings(
        max_examples=1,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def check(data):
        record = RECORDS[name]
        check_op(record, [data.draw(examples(record))], modes=[mode], skip=OTHERS)

    check()
