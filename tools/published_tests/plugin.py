"""A plugin of pytest: installs an old name, fills the gaps, notes what each test came to.

The environment says which name (``PUBLISHED_TESTS_PACKAGE``) and where the notes go
(``PUBLISHED_TESTS_NOTES``), and whether what is printed is in the notation of the package
(``PUBLISHED_TESTS_NOTATION``): one JSON object a line, written as soon as a test has ended.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import phintys
from phintys.compat import install
from phintys.compat.printed import print_as
from tools.published_tests import stand_ins, unittest_tools
from tools.published_tests.selection import LEFT_OUT
from tools.tests_of_others import limited_time

if TYPE_CHECKING:
    from collections.abc import Generator

_NOTES = Path(os.environ["PUBLISHED_TESTS_NOTES"])
_SOURCE = str(Path(phintys.__file__).parent)


class _Casts:
    """``np.cast[dtype](value)``."""

    def __getitem__(self, dtype: Any) -> Any:
        return lambda value: np.asarray(value, dtype)


install(os.environ["PUBLISHED_TESTS_PACKAGE"])
if "PUBLISHED_TESTS_NOTATION" in os.environ:
    print_as(os.environ["PUBLISHED_TESTS_PACKAGE"])
stand_ins.fill_gaps(os.environ["PUBLISHED_TESTS_PACKAGE"])
sys.modules["tests.unittest_tools"] = unittest_tools
# NumPy 2 lacks these; the tests ask for the dtype of some arrays and some scalars, and for casts.
_GONE = {
    "cast": _Casts(),
    "find_common_type": lambda arrays, scalars: np.result_type(*arrays, *scalars),
}
for _name, _function in _GONE.items():
    setattr(np, _name, _function)


def _note(**facts: Any) -> None:
    with _NOTES.open("a") as notes:
        notes.write(json.dumps(facts) + "\n")


def pytest_configure(config: Any) -> None:
    """Know the marker of slow tests."""
    config.addinivalue_line("markers", "slow: not run")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Leave slow tests out, and those that the selection names."""
    items[:] = [item for item in items if not any(part in item.nodeid for part in LEFT_OUT)]
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow"))


def pytest_collection_finish(session: Any) -> None:
    """From here on stand-ins raise."""
    stand_ins.start_running()
    _note(collected=[item.nodeid for item in session.items])


def pytest_collectreport(report: Any) -> None:
    """Note a module that cannot be imported."""
    if report.failed:
        last = [line for line in str(report.longrepr).splitlines() if line.startswith("E ")]
        error = " ".join(line[1:].strip() for line in last) or str(report.longrepr)[-500:]
        _note(test=report.nodeid, outcome="failed", error=error, where="import")


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
        facts: dict[str, Any] = {"test": item.nodeid, "outcome": report.outcome}
        if report.failed:
            facts |= _described(call.excinfo)
        _note(**facts)
    return report


def _described(excinfo: Any) -> dict[str, str]:
    """Return the message of an exception, and its last lines in the tests and in Phintys."""
    if excinfo is None:
        return {"error": "passed although it was expected to fail", "where": ""}
    error = excinfo.value
    text = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_SOURCE)]
    theirs = [frame for frame in frames if f"{os.sep}tests{os.sep}" in frame.filename]
    places = [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.line}"
        for frame in (*theirs[-1:], *ours[-1:])
    ]
    return {"error": text[:1000], "where": " | ".join(places)}
