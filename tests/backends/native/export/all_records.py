"""Records of Ops, exported: the same bits as in Python, or a refusal that names the Op.

`make export-tests` runs this file; loading all records takes too long for the other tests.
"""

import copy
import re
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


def _outcomes(record, example, folder):
    """Yield what became of a record, after a comparison with Python."""
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
        yield "Python raises an error"
        return
    try:
        *_, path = f.export(folder, kind="python", blas_prefix="scipy_", libraries=[WHEEL()._name])
    except ArgumentError as error:
        _, colon, problem = str(error).partition("export('f'): ")
        problem, end, remedy = problem.partition(". ")
        assert all((colon, end, remedy))
        yield f"refused: {problem}"
        return
    module = _module(path)
    found = module.f(*given, capacities=[100_000] * len(outputs))
    for one, other in zip([*found, *given], [*expected, *overwritten], strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    yield "exported, with the same bits"
    if not any(name.startswith("scipy_") for name in module.DESCRIPTION["needs"]):
        return
    try:
        *_, path = f.export(folder / "bundled", kind="python", blas="bundled")
    except ArgumentError as error:
        routine = re.search("the routine '.(\\w+)'", str(error))[1]
        yield f"not bundled: {routine}"
        return
    found = _module(path).f(*given, capacities=[100_000] * len(outputs))
    for one, other in zip(found, expected, strict=True):
        tolerance = 1e-3 if np.asarray(other).dtype.name in {"float32", "complex64"} else 1e-9
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    yield "bundled, with the same values"


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_a_record_gives_the_same_bits(record, tmp_path_factory, record_property):
    outcomes = []

    @settings(max_examples=3, suppress_health_check=list(HealthCheck), deadline=None)
    @given(data=st.data())
    def check(data):
        example = data.draw(examples(record))
        outcomes[:] = _outcomes(record, example, tmp_path_factory.mktemp("record"))

    check()
    for outcome in outcomes:
        record_property("exported", outcome)
