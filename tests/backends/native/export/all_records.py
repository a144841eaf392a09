"""Records of Ops, exported: the same bits as in Python, or a refusal that names the Op.

`make export-tests` runs this file; loading all records takes too long for the other tests.
"""

import copy
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phintys
from phintys._base.errors import ArgumentError
from phintys.backends.native.runtime.blas import WHEEL
from phintys.testing.strategies import examples

FOLDER = Path(__file__).parents[3] / "records"

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(WHEEL() is None, reason="SciPy has no OpenBLAS of its own here"),
]


def _module(path):
    spec = spec_from_file_location(f"exported_{path.stem}", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RECORDS = [
    record
    for path in sorted(FOLDER.glob("*.py"))
    if not path.stem.startswith(("test_", "conftest"))
    for record in _module(path).RECORDS
    if record.ops
]


def _outcome(record, example, folder):
    """Return what became of a record, after a comparison with Python."""
    variables = [type_() for type_ in example.types]
    made = record.build(*variables, **example.params)
    outputs = list(made) if isinstance(made, list | tuple) else [made]
    f = phintys.function(
        variables, outputs, name="f", on_unused_input="ignore", accept_inplace=True
    )
    given, overwritten = (copy.deepcopy(example.values) for _ in range(2))
    try:
        expected = f(*overwritten)
    except Exception:  # noqa: BLE001 - errors of Python have codes here, which other tests check
        return "Python raises an error"
    try:
        *_, path = f.export(folder, kind="python", blas_prefix="scipy_", libraries=[WHEEL()._name])
    except ArgumentError as error:
        _, colon, problem = str(error).partition("export('f'): ")
        problem, end, remedy = problem.partition(". ")
        assert colon and end and remedy  # noqa: PT017 - most records can be exported
        return f"refused: {problem}"
    module = _module(path)
    found = module.f(*given, capacities=[100_000] * len(outputs))
    for one, other in zip([*found, *given], [*expected, *overwritten], strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return "exported, with the same bits"


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_a_record_gives_the_same_bits(record, tmp_path_factory, record_property):
    outcomes = []

    @settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
    @given(data=st.data())
    def check(data):
        example = data.draw(examples(record))
        outcomes.append(_outcome(record, example, tmp_path_factory.mktemp("record")))

    check()
    record_property("exported", outcomes[-1])
