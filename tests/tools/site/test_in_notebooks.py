"""What a notebook shows: errors that name the cell, commands, help, and lines of progress.

`make notebook-tests` runs this in the environment that builds the site, which has Jupyter.
"""

import re

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs the extra 'docs'")
nbclient = pytest.importorskip("nbclient", reason="needs the extra 'docs'")
pytest.importorskip("ipykernel", reason="needs the extra 'docs'")

CELLS = {
    "define": """
import numpy as np
import phintys
import phintys.tensor as pt
x, y = pt.dvectors("x", "y")
total = phintys.shared(0.0, name="total")
f = phintys.function([x, y], (x / y).sum(), updates={total: total + x.sum()}, name="ratio")
""",
    "at run time": """
f([1.0, 2.0], [1.0])
f([1.0, 2.0], [1.0, 2.0, 3.0])
""",
    "while building": """
a = pt.dmatrix("a", shape=(2, 3))
b = pt.dmatrix("b", shape=(2, 3))
a @ b
""",
    "in a function": """
def layer(h):
    return h @ pt.dvector("w", shape=(4,))

layer(pt.dvector("h", shape=(3,)))
""",
    "missing input": "phintys.function([x], x + y)",
    "load": "%load_ext phintys",
    "explain": "%%explain\ng = phintys.function([x], pt.exp(x).sum())\n",
    "profile": "%%profile\ng = phintys.function([x], pt.exp(x).sum(), name='sums')\ng([1.0])\n",
    "help": 'print(get_ipython().object_inspect_text("f"))',  # what f? shows
    "page": "f",
    "progress": """
with phintys.config.change_flags(progress="always"):
    found = phintys.optimize.minimize((total - 3.0) ** 2, total)
""",
    "silent": """
with phintys.config.change_flags(progress="never"):
    phintys.optimize.minimize((total - 3.0) ** 2, total)
""",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """The outputs of each cell, run in one kernel."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(text.strip()) for text in CELLS.values()]
    )
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        allow_errors=True,
        resources={"metadata": {"path": tmp_path_factory.mktemp("notebook")}},
    )
    client.execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


def number_of(name):
    return list(CELLS).index(name) + 1


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def error_of(outputs, name):
    (error,) = (one for one in outputs[name] if one.output_type == "error")
    return plain("\n".join(error.traceback)) + error.evalue


def shown_by(outputs, name):
    texts = [str(one.get("text", "")) + str(dict(one.get("data", {}))) for one in outputs[name]]
    return plain("".join(texts))


def test_an_error_at_run_time_names_the_cell_that_made_the_node(outputs):
    said = error_of(outputs, "at run time")
    assert f"Cell In[{number_of('define')}], line 6" in said
    assert "(x / y).sum()" in said


@pytest.mark.parametrize(
    ("name", "line", "source"),
    [("while building", 3, "a @ b"), ("in a function", 2, "return h @ pt.dvector")],
)
def test_an_error_while_building_points_at_the_line_of_the_cell(outputs, name, line, source):
    said = error_of(outputs, name)
    assert f"Cell In[{number_of(name)}], line {line}" in said
    assert source in said
    assert "/ipykernel_" not in said.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["at run time", "while building", "in a function", "missing input"]
)
def test_an_error_shows_one_frame_of_the_library(outputs, name):
    said = error_of(outputs, name)
    assert len(re.findall(r"^File .*/phintys/", said, re.MULTILINE)) == 1
    assert said.count("\n") < 30


def test_a_missing_input_names_the_cell_of_the_variable(outputs):
    said = error_of(outputs, "missing input")
    assert "y" in said
    assert f"Cell In[{number_of('missing input')}], line 1" in said


def test_commands(outputs):
    assert "g\n" in shown_by(outputs, "explain")
    assert "kernel" in shown_by(outputs, "explain")
    assert "Profile of sums" in shown_by(outputs, "profile")


def test_help_shows_inputs_results_updates_and_the_line(outputs):
    said = shown_by(outputs, "help")
    for part in (
        "ratio(x: Vector(float64, shape=(?,)), y: Vector(float64, shape=(?,)))",
        "Scalar(float64)",
        "total : Scalar(float64), updated",
        f"Compiled at Cell In[{number_of('define')}], line 6",
    ):
        assert part in said


def test_a_line_of_progress_is_one_output_that_changes(outputs):
    said = [one for one in outputs["progress"] if one.output_type == "display_data"]
    assert len(said) == 1
    assert said[0].data["text/plain"].startswith("Minimizing: step ")
    assert outputs["silent"] == [] or "Minimizing" not in shown_by(outputs, "silent")
