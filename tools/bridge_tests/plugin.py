"""A plugin of pytest: sets PyTensor's mode, and notes what each test came to.

The environment says which mode (``BRIDGE_TESTS_MODE``) and where the notes go
(``BRIDGE_TESTS_NOTES``): one JSON object a line, written as soon as a test has ended.
"""
# PyTensor need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytensor
import pytest

import phintys.bridge.pytensor  # noqa: F401 - registers the mode
from tools.bridge_tests.gaps import Gaps, give_old_names
from tools.tests_of_others import limited_time

if TYPE_CHECKING:
    from collections.abc import Generator

_NOTES = Path(os.environ["BRIDGE_TESTS_NOTES"])
pytensor.config.mode = os.environ["BRIDGE_TESTS_MODE"]
_gaps = Gaps("pytensor", "pymc", "arviz")


def pytest_collection() -> None:
    """Fill the gaps while modules are imported."""
    _gaps.open()
    give_old_names()


def pytest_collection_finish() -> None:
    """From here on stand-ins raise."""
    _gaps.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, Any]:
    """Bound the time of each test."""
    with limited_time():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
    """Note the outcome of a test: of its set-up, if that did not pass."""
    report = yield
    if report.when == "call" or (report.when == "setup" and not report.passed):
        facts = {"test": item.nodeid, "outcome": report.outcome}
        if report.failed and call.excinfo is not None:
            error = call.excinfo.value
            facts["error"] = f"{type(error).__name__}: {error}"[:1000]
        with _NOTES.open("a") as notes:
            notes.write(json.dumps(facts) + "\n")
    return report
