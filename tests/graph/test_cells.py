"""Messages name the cell of a notebook whose line made a node."""

import linecache
import sys
from types import SimpleNamespace

import pytest

import phintys
import phintys.tensor as pt

CELL = "import phintys.tensor as pt\nx = pt.dvector('x')\ny = x + pt.dvector('z')\n"


@pytest.fixture(params=["/tmp/ipykernel_1234/3939.py", "<ipython-input-3-0123456789ab>"])
def cell(request, monkeypatch):
    """Run a cell as IPython does: its source is in linecache, its name is known to the shell."""
    name = request.param
    shown = SimpleNamespace(format_code_name={name: ("Cell", "In[3]")}.get)
    shell = SimpleNamespace(compile=shown)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(
        linecache.cache, name, (len(CELL), None, CELL.splitlines(keepends=True), name)
    )
    names = {}
    exec(compile(CELL, name, "exec"), names)
    return names


def test_a_node_says_which_cell_made_it(cell):
    assert str(cell["y"].owner.origin) == (
        "Cell In[3], line 3, in <module>\n    y = x + pt.dvector('z')"
    )


def test_an_error_of_a_call_names_the_cell(cell):
    z = cell["y"].owner.inputs[1]
    f = phintys.function([cell["x"], z], cell["y"])
    with pytest.raises(phintys.PhintysError) as raised:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    text = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert "Cell In[3], line 3" in text
    assert "y = x + pt.dvector('z')" in text


def test_other_files_are_named_as_ever(cell):
    here = str(pt.exp(cell["x"]).owner.origin)
    assert here.startswith(f'File "{__file__}", line ')


@pytest.mark.parametrize("shell", [None, SimpleNamespace(compile=object())])
def test_shells_that_know_no_cells(shell, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert str(pt.exp(pt.dvector()).owner.origin).startswith(f'File "{__file__}"')
