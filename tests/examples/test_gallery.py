"""The programs of the gallery run and are as short as they are said to be."""

import ast
import os
import runpy
import subprocess
import sys

import pytest

from tools.site.gallery import missing, programs

PROGRAMS = programs()
SHORT = {"plot_implicit_layer", "plot_own_type"}  # the others run in the long form


@pytest.fixture(autouse=True)
def _no_window():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'examples'")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in SHORT else pytest.mark.stress)
        for path in PROGRAMS
    ],
)
def test_a_program_draws(program):
    if lacking := missing(program):
        pytest.skip(f"needs {lacking}")
    if "os.environ" in program.read_text(encoding="utf-8"):  # what it sets must come first
        run_alone(program)
        return
    names = runpy.run_path(str(program))
    assert names["plt"].get_fignums()


def run_alone(program):
    text = (
        "import runpy, sys\n"
        "names = runpy.run_path(sys.argv[1])\n"
        "sys.exit(not names['plt'].get_fignums())\n"
    )
    command = [sys.executable, "-c", text, str(program)]
    done = subprocess.run(  # noqa: PLW1510 - what it says is shown
        command, env=os.environ | {"MPLBACKEND": "Agg"}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_short_has_a_title_and_checks_itself(program):
    text = program.read_text(encoding="utf-8")
    assert text.count("\n") < 60
    tree = ast.parse(text)
    title, line, *_ = ast.get_docstring(tree).splitlines()
    assert line == "=" * len(title)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_all_files_are_programs_of_the_gallery():
    assert sorted(PROGRAMS[0].parent.glob("*.py")) == PROGRAMS
    assert len(PROGRAMS) >= 25


def test_what_a_program_lacks_is_named(tmp_path):
    program = tmp_path / "plot_it.py"
    program.write_text("import numpy\nfrom no_such_package.part import it\n", encoding="utf-8")
    assert missing(program) == "no_such_package"
    program.write_text("from numpy import pi\n", encoding="utf-8")
    assert missing(program) == ""
