"""The command that runs published tests: its classes, its counts, its stand-ins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from phintys.compat import PACKAGES
from tools.published_tests.report import classify, read_notes, table
from tools.published_tests.selection import DECIDED, LEFT_OUT, RELEASES

PROJECT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("InternalAskedFor: aesara.link.c.CLinker(): there is no such module", "internal"),
        ("AttributeError: aesara.graph has no 'as_string' in Phintys.", "internal"),
        ("InternalAskedFor: scan: pytensor.scan: Phintys does not offer loops.", "later"),
        ("AssertionError: 1 != 2", "fault"),
    ],
)
def test_classes_of_failures(error, kind):
    assert classify("tests/some/test_module.py::test_some", error) == kind


def test_questions_about_the_nodes_of_a_graph_are_about_internals():
    where = "test_x.py:1 assert isinstance(f.maker.fgraph.toposort()[0].op, Gemm) | in.py:2 y"
    assert classify("test_y", "AssertionError: ", where) == "internal"
    assert classify("test_y", "AssertionError: ", "test_x.py:1 assert f(2) == 4") == "fault"


def test_decisions_are_looked_up(monkeypatch):
    for decision in DECIDED:
        assert decision.why
    assert classify("tests/test_x.py::test_y", "OddError: z") == "fault"


def test_counts_and_the_table(tmp_path):
    notes = tmp_path / "notes.jsonl"
    lines = [
        {"collected": ["a", "b", "c", "d", "e", f"{next(iter(LEFT_OUT))}::f"]},
        {"test": f"{next(iter(LEFT_OUT))}::f", "outcome": "passed"},
        {"test": "a", "outcome": "passed"},
        {"test": "b", "outcome": "skipped"},
        {"test": "c", "outcome": "failed", "error": "InternalAskedFor: x", "where": ""},
        {"test": "d", "outcome": "failed", "error": "ValueError: y", "where": ""},
    ]
    notes.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = read_notes("module", notes)
    assert (outcome.passed, outcome.skipped, outcome.not_run) == (1, 1, 1)
    assert outcome.kinds == {"internal": 1, "fault": 1}
    assert table([outcome, outcome]).splitlines()[2:] == [
        "| module | 1 | 2 | 1 | 0 | 0 | 1 | 1 | 1 |",
        "| module | 1 | 2 | 1 | 0 | 0 | 1 | 1 | 1 |",
        "| **all** | 2 | 4 | 2 | 0 | 0 | 2 | 2 | 2 |",
    ]


def test_the_selection_names_each_module_once_and_says_why_others_are_left_out():
    for release in RELEASES:
        assert release.package in PACKAGES
        assert len(set(release.modules)) == len(release.modules)
        assert all(release.excluded.values())
        for module in release.modules:
            assert not any(module.startswith(f"{folder}/") for folder in release.excluded)


def test_stand_ins_pass_while_tests_are_collected_and_fail_when_they_run(tmp_path):
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_sample.py").write_text(
        "import pytest\n"
        "import aesara.tensor as at\n"
        "from aesara.link.c.basic import CLinker\n"
        "from aesara.nowhere import helper\n"
        "mode = helper(1).other\n"
        "class Mine(CLinker): ...\n"
        "def test_tensors(): assert at.dscalar().ndim == 0\n"
        "def test_internals(): helper()\n"
        "def test_later(): at.ifelse(1)\n"
    )
    notes = tmp_path / "notes.jsonl"
    code = (
        "import os, sys, pytest; "
        "os.environ['PUBLISHED_TESTS_PACKAGE'] = 'aesara'; "
        f"os.environ['PUBLISHED_TESTS_NOTES'] = {str(notes)!r}; "
        f"sys.path[:0] = [{str(PROJECT)!r}, {str(tmp_path)!r}]; "
        "pytest.main(['-q', '-p', 'tools.published_tests.plugin', '-p', 'no:cacheprovider', "
        f"'-c', os.devnull, '--rootdir', {str(tmp_path)!r}, {str(tests)!r}])"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True)
    outcome = read_notes("sample", notes)
    assert (outcome.passed, outcome.not_run) == (1, 0)
    assert [failure.kind for failure in outcome.failures] == ["internal", "internal"]
    assert "aesara.nowhere.helper()" in outcome.failures[0].error
