import os
import subprocess
from pathlib import Path

import pytest

from phintys.backends.native.runtime.support import Support, support

HERE = Path(__file__).parent
PROJECT = HERE.parents[3]  # programs import tools


@pytest.fixture(autouse=True, scope="session")
def native():
    """Without the support these tests have nothing to test."""
    found = support()
    if not isinstance(found, Support):
        pytest.skip(f"no native code here: {found}")
    return found


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory):
    """A cache for the processes of this session; nobody's own is touched."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def run(cache_folder, python_command):
    """Run Python in a process of its own, which must end well; return what it printed.

    The program is a file of this folder, or text; ``flags`` are options of the configuration.
    """

    def start(program, *arguments, flags="", timeout=280):
        source = HERE / program if program.endswith(".py") else program
        flags = f"cache_dir={cache_folder},{flags}"
        path = os.pathsep.join([str(PROJECT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PHINTYS_FLAGS": flags, "PYTHONPATH": path}
        done = subprocess.run(
            python_command(source, *arguments),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return start
