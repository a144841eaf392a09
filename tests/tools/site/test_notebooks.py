"""The notebooks that the site offers for download run from the first cell to the last.

The packages that make and run notebooks are those of the extra 'docs': `make notebook-tests` runs
all of them in the environment that builds the site.
"""

import shutil

import pytest

from tools.site.gallery import missing, programs

nbformat = pytest.importorskip("nbformat", reason="needs the extra 'docs'")
nbclient = pytest.importorskip("nbclient", reason="needs the extra 'docs'")
gallery = pytest.importorskip("sphinx_gallery.notebook", reason="needs the extra 'docs'")
pytest.importorskip("ipykernel", reason="needs the extra 'docs'")

SHORT = {"plot_own_type"}  # the others run in the long form


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in SHORT else pytest.mark.stress)
        for path in programs()
    ],
)
def test_a_notebook_runs(program, tmp_path, capsys):
    if lacking := missing(program):
        pytest.skip(f"needs {lacking}")
    copy = shutil.copy(program, tmp_path)
    gallery.python_to_jupyter_cli([str(copy)])
    (path,) = tmp_path.glob("*.ipynb")
    notebook = nbformat.read(path, as_version=4)
    assert [cell.cell_type for cell in notebook.cells][:2] == ["markdown", "code"]
    client = nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": tmp_path}}
    )
    client.execute()  # raises what a cell raises
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
