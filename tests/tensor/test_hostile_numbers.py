"""Integer parameters that no array has: a right result or an error of the library, at once."""

import subprocess
from pathlib import Path

import pytest

WALK = Path(__file__).with_name("hostile_numbers.py")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits memory as Linux does")
def test_hostile_numbers_for_all_functions_and_ops(python_command, repeats):
    done = subprocess.run(
        python_command(WALK, repeats(3, 1)),
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    last = done.stderr[-2000:]
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-4000:]}{last}"
