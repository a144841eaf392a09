import subprocess
import sys

import pytest

MODULE = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"

PROGRAM = f"""
import {MODULE} as interpreters

TEXT = '''
try:
    import phintys
except ImportError as error:
    print(error, flush=True)
'''
interpreters.run_string(interpreters.create(), TEXT)
"""


def test_a_subinterpreter_gets_an_error_that_says_so():
    pytest.importorskip(MODULE, reason="this Python has no subinterpreters")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.startswith("Phintys runs in the main interpreter of a process only")
