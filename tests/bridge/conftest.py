"""Tests of the bridges need PyTensor: ``make bridge-tests`` installs it, and runs them."""

import os
from importlib.util import find_spec

import pytest

# Ours is compared with PyTensor's Python code: to compile its C code takes minutes.
os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")

REASON = "PyTensor is not installed: make bridge-tests runs these tests"


class WithoutPyTensor(pytest.Module):
    """A module of tests that is skipped, and not imported."""

    def collect(self):
        pytest.skip(REASON, allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    """Skip the modules of this folder where PyTensor is not installed."""
    if find_spec("pytensor") is None:
        return WithoutPyTensor.from_parent(parent, path=module_path)
    return None
