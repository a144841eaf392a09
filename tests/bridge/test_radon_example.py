"""The example of a model of PyMC runs, and both ways to compile it lead to one posterior."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("default")  # other packages warn
pytest.importorskip("nutpie", reason="nutpie is not installed", exc_type=ImportError)

EXAMPLE = Path(__file__).parents[2] / "examples" / "pymc_radon.py"


def test_both_ways_lead_to_one_posterior(capsys):
    spec = importlib.util.spec_from_file_location("pymc_radon", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pymc_radon"] = module  # its dataclass looks itself up there
    try:
        spec.loader.exec_module(module)
        runs = module.main(["--draws", "200", "--no-picture"])
    finally:
        del sys.modules["pymc_radon"]
    (ours, deviations), (theirs, _) = (run.levels() for run in runs.values())
    assert np.max(np.abs(ours - theirs) / deviations) < 0.3  # few draws
    printed = capsys.readouterr().out
    assert "Phintys: compiled in" in printed
    assert "PyTensor: compiled in" in printed
