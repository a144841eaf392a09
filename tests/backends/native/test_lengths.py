"""No length, of any Op, makes native code read or write memory that does not exist."""

import subprocess
from pathlib import Path

import pytest

WALK = Path(__file__).with_name("lengths.py")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits memory as Linux does")
def test_hostile_lengths_of_all_ops(python_command, repeats):
    done = subprocess.run(
        python_command(WALK, repeats(3, 1)),
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout[-4000:]}{done.stderr}"
