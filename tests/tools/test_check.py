"""Which tests ``make check`` runs for a change."""

import subprocess
from pathlib import Path

import pytest

from tools.check import choose, command, distances, read_durations
from tools.check.durations import BUDGETS, room_of
from tools.check.measuring import summed

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    "src/phintys/__init__.py": "from phintys.tensor import high\n",
    "src/phintys/tensor/__init__.py": "from phintys.tensor import high\n",
    "src/phintys/tensor/low.py": "",
    "src/phintys/tensor/_private.py": "",
    "src/phintys/tensor/middle.py": "from phintys.tensor.low import x\n",
    "src/phintys/tensor/high.py": "middle = LateModule('phintys.tensor.middle')\n",
    "src/phintys/graph/other.py": "",
    "tests/tensor/test_low.py": "import phintys.tensor as pt\n",
    "tests/tensor/test_private.py": "",
    "tests/tensor/test_high.py": "",
    "tests/tensor/test_both.py": "from phintys.tensor.high import y\n",
    "tests/graph/test_other.py": "import phintys\n",
    "tests/records/sums.py": "from phintys.tensor.middle import z\n",
    "tests/records/conftest.py": "",
}


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            "src/phintys/tensor/low.py",
            {"test_low.py": 0, "sums.py": 1, "test_high.py": 2, "test_both.py": 2},
        ),
        ("src/phintys/tensor/_private.py", {"test_private.py": 0}),
        ("src/phintys/tensor/high.py", {"test_high.py": 0, "test_both.py": 0}),
        ("src/phintys/graph/other.py", {"test_other.py": 0}),
        ("tests/graph/test_other.py", {"test_other.py": 0}),
        ("tests/records/conftest.py", {"sums.py": 0}),
    ],
)
def test_tests_are_as_far_as_there_are_imports(project, changed, expected):
    found = distances(project, [project / changed])
    assert {path.name: steps for path, steps in found.items()} == expected


def test_the_nearest_tests_run_as_far_as_there_is_time():
    near = {"changed": 0, "quick": 1, "slow": 1, "far": 2}
    choice = choose(near, {"changed": 70.0, "quick": 5.0, "slow": 40.0, "far": 1.0}, 80.0)
    assert choice.chosen == ["changed", "quick", "far"]
    assert choice.left == ["slow"]
    assert choice.seconds == 76.0


@pytest.mark.stress
def test_the_tests_of_graphs_are_near_them():
    near = {path.relative_to(ROOT).as_posix() for path in distances(ROOT, _modules("graph"))}
    assert "tests/graph/test_fgraph.py" in near


def _modules(room):
    return (ROOT / "src" / "phintys" / room).glob("*.py")


def test_examples_of_changed_files_run():
    changed = [ROOT / "docs" / "compile.md", ROOT / "src" / "phintys" / "tree.py"]
    assert command._examples(changed) == [
        "tests/test_docs.py::test_programs_run[compile.md]",
        "tests/test_doctests.py::test_the_examples_of[phintys.tree]",
    ]


def test_records_run_by_their_families():
    (run, records) = command._runs([], ["tests/test_tree.py", "tests/records/joining.py"])
    assert run[-1] == "tests/test_tree.py"
    assert records[-3:] == ["tests/records/test_records.py", "-k", "joining-"]


def test_what_differs_from_a_commit_is_found(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(command, "ROOT", tmp_path)
    git("init", "-q")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        git("add", ".")
        git(*identity, "commit", "-qm", name)
    assert command._changed(None) == [tmp_path / "two"]
    (tmp_path / "three").write_text("three")
    assert command._changed(None) == [tmp_path / "three"]
    assert command._changed("HEAD~1") == [tmp_path / "two", tmp_path / "three"]


def test_durations_are_summed_over_the_tests_of_a_file(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    report = tmp_path / "report.xml"
    names = ("tests.test_a", "tests.test_a.TestClass", "tests.gone", "")
    cases = "".join(f'<testcase classname="{name}" time="1.5"/>' for name in names)
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    monkeypatch.chdir(tmp_path)
    assert summed(report) == {"tests/test_a.py": 3.0}


def test_the_tests_of_each_room_keep_its_budget():
    """The times are data, which ``make durations`` measures: see the file."""
    spent = dict.fromkeys(BUDGETS, 0.0)
    for path, seconds in read_durations(ROOT).items():
        spent[room_of(path)] = spent.get(room_of(path), 0.0) + seconds
    assert spent.keys() == BUDGETS.keys()
    over = {room: seconds for room, seconds in spent.items() if seconds > BUDGETS[room]}
    assert min(spent.values()) > 0
    assert not over, f"Rooms whose tests take longer than BUDGETS allows: {over}"
