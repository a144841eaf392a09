"""Records of Ops, exported: the same bits as in Python, or a refusal that names the Op.

`make export-tests` runs this file; loading all records takes too long for the other tests.
"""

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


def _check(record, example, folder):
    variables = [type_() for type_ in example.types]
    made = record.build(*variables, **example.params)
    outputs = list(made) if isinstance(made, list | tuple) else [made]
    f = phintys.function(variables, outputs, name="f", on_unused_input="ignore")
    try:
        expected = f(*example.values)
    except Exception:  # noqa: BLE001 - errors of Python have codes here, which other tests check
        return
    try:
        *_, path = f.export(folder, kind="python", blas_prefix="scipy_", libraries=[WHEEL()._name])
    except ArgumentError as error:
        assert "export('f')" in str(error)  # noqa: PT017 - most records can be exported
        return
    module = _module(path)
    found = module.f(*example.values, capacities=[100_000] * len(outputs))
    for one, other in zip(found, expected, strict=True):
        assert one.shape == np.shape(other)
        assert one.tobytes() == np.asarray(other).tobytes()


@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_a_record_gives_the_same_bits(record, tmp_path_factory):
    @settings(max_examples=1, suppress_health_check=list(HealthCheck), deadline=None)
    @given(data=st.data())
    def check(data):
        example = data.draw(examples(record))
        _check(record, example, tmp_path_factory.mktemp("record"))

    check()
