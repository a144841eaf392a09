"""Random graphs, exported: the same bits, states and failures as in Python.

`make export-tests` runs this file; each graph takes a second.
"""

import copy
import shutil
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

import phintys
from phintys._base.errors import ArgumentError
from phintys.backends.native.runtime.blas import WHEEL
from tools.fuzz import draw

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(WHEEL() is None, reason="SciPy has no OpenBLAS of its own here"),
]


def _loaded(path):
    spec = spec_from_file_location("exported_graph", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _same(found, expected):
    expected = np.asarray(expected)
    return found.shape == expected.shape and found.tobytes() == expected.tobytes()


def _outcome(seed, folder):
    """Return what became of a graph, after a comparison of all calls."""
    case = draw(seed)
    built = case.build()
    variables = built.variables
    updated = [given for given in case.givens if given.update]
    f = phintys.function(
        built.inputs,
        [variables[name] for name in case.outputs],
        updates=[(variables[one.name], variables[one.update]) for one in updated],
        on_unused_input="ignore",
        accept_inplace=True,
        name="f",
    )
    try:
        *_, path = f.export(folder, kind="python", blas_prefix="scipy_", libraries=[WHEEL()._name])
    except ArgumentError as error:
        assert "export('f')" in str(error)  # noqa: PT017 - most graphs can be exported
        return "refused"
    module = _loaded(path)
    names = [one["name"] for one in module.DESCRIPTION["state"]]
    for call in range(case.calls):
        given, overwritten = (
            copy.deepcopy([one.values[call] for one in case.inputs]) for _ in range(2)
        )
        shapes = [variables[one.name].get_value().shape for one in updated]
        try:
            expected = f(*overwritten)
        except Exception:  # noqa: BLE001 - whatever Python refuses has a code
            with pytest.raises(module.ExportedError):
                module.f(*given, capacities=[100_000] * len(case.outputs))
            return "the same failure"
        if [variables[one.name].get_value().shape for one in updated] != shapes:
            with pytest.raises(module.ExportedError, match="another shape"):
                module.f(*given, capacities=[100_000] * len(case.outputs))
            return "an update of another shape"
        found = module.f(*given, capacities=[100_000] * len(case.outputs))
        expected = expected if isinstance(expected, list | tuple) else [expected]
        assert all(map(_same, found, expected))
        values = {variables[one.name].name: variables[one.name].get_value() for one in updated}
        assert all(_same(module.STATE[name], values[name]) for name in names)
    return "the same bits"


@pytest.mark.parametrize("seed", range(100))
def test_a_random_graph_gives_the_same_bits(seed, tmp_path, record_property):
    record_property("exported", f"random graphs: {_outcome(seed, tmp_path)}")
