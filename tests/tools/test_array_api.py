"""The command that runs the published tests of the array API."""

from importlib import import_module
from pathlib import Path

from tools.array_api.__main__ import NOT_FETCHED, SKIPS, command, environment, main


def test_the_published_tests_are_told_the_namespace_and_the_skips():
    given = command(Path("suite"), 7, only="sum")
    assert given[given.index("--max-examples") + 1] == "7"
    assert given[given.index("--skips-file") + 1] == str(SKIPS)
    assert given[given.index("-k") + 1] == "sum"
    namespace = import_module(environment("native")["ARRAY_API_TESTS_MODULE"])
    assert namespace.__array_api_version__ == environment("native")["ARRAY_API_TESTS_VERSION"]


def test_every_skip_has_its_reason():
    lines = SKIPS.read_text().splitlines()
    for number, line in enumerate(lines):
        if line and not line.startswith("#"):
            above = lines[:number]
            last = next(one for one in reversed(above) if not one.startswith("array_api_tests/"))
            assert last.startswith("# ")


def test_a_suite_that_cannot_be_fetched_is_asked_for(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "git").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "git").chmod(0o755)
    assert main(["--suite", str(tmp_path / "suite")]) == NOT_FETCHED
    assert "--suite FOLDER" in capfd.readouterr().err
