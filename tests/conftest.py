"""Random cases: the same on every run, or searched for; and tests with a short and a long form.

PHINTYS_HYPOTHESIS names the profile of Hypothesis. "default", "whole" (``make stress``) and
"thorough" derive every example from the test's source, so a test that passes once passes until
something changes. "search" draws anew on each run (``make fuzz``) and prints what to add as a case.
"""

import gc
import os
import platform
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    max_examples=12,
    # How quickly examples are drawn says how busy the machine is.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("whole", settings.get_profile("default"), max_examples=25)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.register_profile(
    "search",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=200,
    print_blob=True,
)
PROFILE = os.environ.get("PHINTYS_HYPOTHESIS") or "default"
settings.load_profile(PROFILE)


def pytest_configure(config):
    """Let NumPy report on ARM what OpenBLAS's kernels do in lanes of SVE that hold no numbers."""
    if platform.machine() in {"aarch64", "arm64"}:
        line = "ignore:.*encountered in matmul:RuntimeWarning"
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(params=["short", pytest.param("long", marks=pytest.mark.stress)])
def repeats(request):
    """Choose between two numbers of repetitions, ``repeats(20, 2_000)``.

    The test runs twice: with the first number in ``make test``, with the second in ``make stress``.
    """
    if request.param == "short":
        return lambda short, long: short
    return lambda short, long: long


@pytest.fixture(scope="session")
def python_command():
    """Return the command that runs a program in another process, where its asserts count.

    The program is text, or the path of a file. Under ``python -OO`` Phintys itself runs without
    asserts there too.
    """
    runner = str(Path(__file__).with_name("with_asserts.py"))

    def command(program, *arguments):
        text = textwrap.dedent(str(program))
        return [sys.executable, "-X", "faulthandler", runner, text, *map(str, arguments)]

    return command


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while modules are imported and tests collected: nearly all stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """Leave what was imported and collected out of garbage collections, and run fewer of them.

    They took a tenth of the time of tests. Cycles are still collected; a test that waits for one
    calls ``gc.collect()``.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 30, 10)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leave all but some cases of a test with the marker ``sampled`` to ``make stress``.

    ``sampled(n, first)`` keeps each n-th case from number ``first`` on, 0 if not given: tests of
    the same cases keep other ones each. Cases that the command line names all run.
    """
    if any("[" in argument for argument in config.args):
        return
    counts = Counter()
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None:
            every, first = (*sampled.args, 0)[:2]
            test = item.nodeid.partition("[")[0]
            if counts[test] % every != first:
                item.add_marker("stress")
            counts[test] += 1


def pytest_runtest_setup(item):
    if sys.flags.optimize > 1 and item.get_closest_marker("docstrings") is not None:
        pytest.skip("python -OO leaves docstrings out")


EXAMPLE = re.compile(
    r"(?:Falsifying example|Failing test case): \w+\(\n(.*?)^E? *\)", re.DOTALL | re.MULTILINE
)
BLOB = re.compile(r"@reproduce_failure\(.*\)")


def case_of(text, fixtures=()):
    """Return the decorator that makes a case of what Hypothesis found, or None."""
    found = EXAMPLE.search(text)
    if found is not None and "data=data(" not in found[1]:
        lines = [re.sub(r"^E? *", "", line) for line in found[1].splitlines()]
        given = [line for line in lines if line and line.partition("=")[0] not in fixtures]
        return "\n".join(["@example(", *(f"    {line}" for line in given), ")"])
    found = BLOB.search(text)
    return found and found[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and PROFILE == "search":
        case = case_of(report.longreprtext, fixtures=item.fixturenames)
        if case is not None:
            report.sections.append((f"Add this case to {item.name}", case))
    return report
