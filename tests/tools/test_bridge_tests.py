"""The command that runs PyMC's published tests: what it compares, and its table."""

import json

from tools.bridge_tests.report import compare, read_notes, table
from tools.bridge_tests.selection import SOURCES


def test_only_tests_that_pass_with_pytensors_mode_count(tmp_path):
    outcomes = {
        "theirs": {"both": "passed", "ours fails": "passed", "old": "failed", "gained": "failed"},
        "ours": {"both": "passed", "ours fails": "failed", "old": "failed", "gained": "passed"},
    }
    found = []
    for mode, notes in outcomes.items():
        lines = [{"test": name, "outcome": one, "error": "E: x"} for name, one in notes.items()]
        lines.append({"test": "not run", "outcome": "skipped"})
        path = tmp_path / mode
        path.write_text("".join(json.dumps(one) + "\n" for one in lines))
        found.append(read_notes(path))
    outcome = compare("module", *found)
    assert outcome.failures == {"ours fails": "E: x"}
    assert table([outcome]).splitlines()[2:] == [
        "| module | 1 | 1 | 1 | 1 |",
        "| **all** | 1 | 1 | 1 | 1 |",
    ]


def test_what_did_not_run_with_phintys_has_failed(tmp_path):
    outcome = compare("module", {"a": {"outcome": "passed"}}, read_notes(tmp_path / "none"))
    assert outcome.failures == {"a": "not run"}


def test_each_module_is_named_once():
    names = [(source.label, module) for source in SOURCES for module in source.modules]
    assert len(names) == len(set(names))
