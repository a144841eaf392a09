"""The programs of the gallery run and are as short as they are said to be."""

import ast
import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
PROGRAMS = sorted(GALLERY.glob("*.py"))
SHORT = {"plot_implicit_layer", "plot_robust_regression"}  # the others run in the long form


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
    names = runpy.run_path(str(program))
    assert names["plt"].get_fignums()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_short_has_a_title_and_checks_itself(program):
    text = program.read_text(encoding="utf-8")
    assert program.stem.startswith("plot_")
    assert text.count("\n") < 60
    tree = ast.parse(text)
    title, line, *_ = ast.get_docstring(tree).splitlines()
    assert line == "=" * len(title)
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_there_are_ten_or_more():
    assert len(PROGRAMS) >= 10
