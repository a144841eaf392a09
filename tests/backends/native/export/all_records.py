"""Records of Ops, exported: the same bits as in Python, or a refusal that names the Op.

`make export-tests` runs this file; loading all records takes too long for the other tests.
"""

import copy
import re
import shutil
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import phintys
from phintys._base.errors import ArgumentError
from phintys.backends.native.export.toolchain import has_zig
from phintys.backends.native.runtime.blas import WHEEL
from phintys.testing.strategies import examples
from tools.wasm_calls import WasmFunction

TOLERANCES = {"float16": 1e-2} | dict.fromkeys(("float32", "complex64"), 1e-3)
TOLERANCES |= dict.fromkeys(("float64", "complex128"), 1e-9)

ALLOWED = {
    *("malloc", "free", "memset", "memcpy", "memmove"),
    *("sin", "cos", "tan", "fmod", "sinf", "cosf", "tanf", "fmodf"),
}
"""What objects may call beside BLAS and LAPACK."""

UNDECIDED = {"PartitionOp", "ArgPartitionOp"}
"""Records whose results are in an order that is decided at some places only."""

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
    if str(record) in UNDECIDED:
        found, expected = ([np.sort(one) for one in many] for many in (found, expected))
    for one, other in zip([*found, *given], [*expected, *overwritten], strict=True):
        assert np.shape(one) == np.shape(other)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    yield "exported, with the same bits"
    needs = module.DESCRIPTION["needs"]
    assert {name for name in needs if not name.startswith("scipy_")} <= ALLOWED
    if set(needs) <= ALLOWED:
        return
    try:
        *_, path = f.export(folder / "bundled", kind="python", blas="bundled")
    except ArgumentError as error:
        routine = re.search("the routine '.(\\w+)'", str(error))[1]
        yield f"not bundled: {routine}"
        return
    found = _module(path).f(*given, capacities=[100_000] * len(outputs))
    for one, other in zip(found, expected, strict=True):
        tolerance = TOLERANCES.get(np.asarray(other).dtype.name, 0)
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


def _same_in_wasm(record, example, folder):
    """Return what became of a record as a module of WebAssembly."""
    variables = [type_() for type_ in example.types]
    made = record.build(*variables, **example.params)
    outputs = list(made) if isinstance(made, list | tuple) else [made]
    f = phintys.function(
        variables, outputs, name="f", on_unused_input="ignore", accept_inplace=True
    )
    given = copy.deepcopy(example.values)
    try:
        expected = f(*example.values)
    except Exception:  # noqa: BLE001 - as above
        return "Python raises an error"
    try:
        f.export(folder, target="wasm32", kind="wasm", blas="bundled")
    except ArgumentError:
        return "refused for WebAssembly"
    module = WasmFunction(folder, "f")
    assert module.imports == []
    for one, other in zip(module(*given), expected, strict=True):
        assert one.shape == np.shape(other)
        tolerance = TOLERANCES.get(np.asarray(other).dtype.name, 0)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    return "in WebAssembly, with the same values"


@pytest.mark.skipif(not has_zig(), reason="there is no linker for WebAssembly (ziglang)")
@pytest.mark.skipif(find_spec("wasmtime") is None, reason="needs wasmtime")
@pytest.mark.parametrize("record", RECORDS, ids=str)
def test_a_record_has_the_same_values_in_webassembly(record, tmp_path, record_property):
    outcomes = []

    @settings(max_examples=1, suppress_health_check=list(HealthCheck), deadline=None)
    @given(data=st.data())
    def check(data):
        outcomes.append(_same_in_wasm(record, data.draw(examples(record)), tmp_path))

    check()
    record_property("exported", outcomes[-1])
