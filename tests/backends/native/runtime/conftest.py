import subprocess

import numpy as np
import pytest

from phintys import Apply, Op, config
from phintys.backends.native.runtime.support import Support, support


@pytest.fixture(autouse=True, scope="session")
def objects_of_this_session(tmp_path_factory):
    """Tests neither read nor write the user's cache of compiled code."""
    with config.change_flags(cache_dir=str(tmp_path_factory.mktemp("cache"))):
        yield


@pytest.fixture(scope="session")
def native():
    """The support; without it these tests have nothing to test."""
    found = support()
    if not isinstance(found, Support):
        pytest.skip(f"no native code here: {found}")
    return found


@pytest.fixture(scope="session")
def run_python(python_command):
    """Run a program in another process, and return what it printed; it must end well."""

    def run(program, *arguments, timeout=120):
        done = subprocess.run(
            python_command(program, *arguments),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


class PythonOp(Op):
    """An Op with nothing but Python code: a callback for the native backend."""

    def __init__(self, function, view_map=None, destroy_map=None):
        self.function = function
        self.view_map = view_map or {}
        self.destroy_map = destroy_map or {}

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [inputs[0].type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.function(*inputs)


@pytest.fixture(scope="session")
def python_op():
    return PythonOp


@pytest.fixture
def rng():
    return np.random.default_rng(20)
