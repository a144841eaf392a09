"""``%load_ext phintys``: the commands %%explain and %%profile."""

import sys
from types import SimpleNamespace

import pytest

import phintys

CELL = """
import phintys, phintys.tensor as pt
x = pt.dvector("x")
f = phintys.function([x], pt.exp(x).sum(), name="total")
f([1.0, 2.0])
"""


@pytest.fixture
def shell():
    """What the commands use of IPython's shell."""
    found = SimpleNamespace(user_ns={}, commands={})
    found.run_cell = lambda cell: exec(cell, found.user_ns)

    def register(function, magic_kind, magic_name):
        assert magic_kind == "cell"
        found.commands[magic_name] = function

    found.register_magic_function = register
    phintys.load_ipython_extension(found)
    return found


def test_explain_shows_the_functions_of_the_cell(shell, capsys):
    shell.commands["explain"]("", CELL)
    said = capsys.readouterr().out
    assert said.startswith("f\n")
    assert shell.user_ns["f"].explain() in said
    shell.commands["explain"]("", "f([3.0])")
    assert "assigns no compiled function" in capsys.readouterr().out


def test_profile_shows_what_the_cell_compiles(shell, capsys):
    shell.commands["profile"]("", CELL)
    assert "Function total: 1 calls" in capsys.readouterr().out
    assert not phintys.config.profile
    shell.commands["profile"]("", "f([3.0])")
    assert "compiles no function" in capsys.readouterr().out


def test_a_notebook_shows_the_page(shell, monkeypatch):
    shown = []
    ipython = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel="a kernel"),
        display=SimpleNamespace(display=shown.append),
    )
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    shell.commands["profile"]("", CELL)
    (page,) = shown
    assert repr(page) == "<ProfilePage of total, 1 call>"
