"""The line for a person who waits: at a terminal, on a page, and nowhere else."""

import io
import sys
from types import SimpleNamespace

import pytest

import phintys
import phintys.tensor as pt
from phintys._base import progress
from phintys._base.progress import Progress
from phintys.compile.build import _LARGE
from phintys.optimize import minimize


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self):
        return True


def with_stderr(monkeypatch, stream):
    # pytest puts its own in place of sys.stderr between a fixture and the test.
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream, modules=sys.modules))


@pytest.fixture
def terminal(monkeypatch):
    """A terminal that shows lines at once."""
    found = Terminal()
    with_stderr(monkeypatch, found)
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    return found


@pytest.fixture
def page(monkeypatch):
    """A notebook, and what its page shows in each place."""
    places = []

    def display(shown, raw, display_id):
        assert raw
        assert display_id
        places.append([shown["text/plain"]])
        return SimpleNamespace(update=lambda new, raw: places[0].append(new["text/plain"]))

    shell = SimpleNamespace(kernel="a kernel")
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    return places


def counted(shown, total=3):
    with Progress("Counting", total, "sheep", shown=shown) as line:
        for _ in range(3):
            line.advance()


def large():
    x = pt.dvector("x")
    y = x
    for number in range(_LARGE):
        y = y + float(number + 1)
    return [x], y


def test_a_terminal_has_a_line_that_changes(terminal):
    counted(None)
    first, *others = terminal.getvalue().split("\r")
    assert first == ""
    assert others[-1].startswith("Counting: 3 of 3 sheep, ")
    assert others[-1].rstrip(" \n").endswith("gone")
    assert terminal.getvalue().count("\n") == 1


def test_what_takes_a_moment_only_says_nothing(monkeypatch):
    stream = Terminal()
    with_stderr(monkeypatch, stream)
    monkeypatch.setattr(progress, "_FIRST", 1e9)
    counted(None)
    assert stream.getvalue() == ""


def test_a_step_that_takes_long_is_shown_meanwhile(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    with Progress("Counting", shown=None) as line:
        for _ in range(3000):
            if "step 0" in terminal.getvalue():
                break
            line._ended.wait(0.01)
    assert "Counting: step 0, 0 s gone" in terminal.getvalue()


def test_pipes_are_silent_unless_asked(capsys):
    counted(None)
    assert capsys.readouterr().err == ""
    counted(True)
    said = capsys.readouterr().err
    assert "\r" not in said
    assert said.splitlines()[-1].startswith("Counting: 3 of 3 sheep")


@pytest.mark.parametrize("gone", [None, "closed"])
def test_without_standard_error_nothing_is_written(monkeypatch, gone):
    stream = None
    if gone == "closed":
        stream = io.StringIO()
        stream.close()
    with_stderr(monkeypatch, stream)
    counted(None)
    counted(True)


def test_the_option_decides_where_the_call_does_not(terminal, capsys):
    with phintys.config.change_flags(progress="never"):
        counted(None)
        assert terminal.getvalue() == ""
        counted(True)
        assert terminal.getvalue() != ""


def test_the_option_may_ask_for_lines_in_pipes(capsys):
    with phintys.config.change_flags(progress="always"):
        counted(None)
        assert "sheep" in capsys.readouterr().err
        counted(False)
        assert capsys.readouterr().err == ""


def test_only_the_outer_one_of_two_is_shown(terminal):
    with Progress("Outside", 1, "parts", shown=None) as line:
        counted(None)
        line.advance()
    assert "Counting" not in terminal.getvalue()
    assert "Outside: 1 of 1 parts" in terminal.getvalue()
    counted(None)
    assert "Counting" in terminal.getvalue()


def test_a_notebook_has_one_place_that_changes(page, capsys):
    counted(None)
    assert len(page) == 1
    assert page[0][-1].startswith("Counting: 3 of 3 sheep")
    assert capsys.readouterr().err == ""


def test_an_error_ends_the_line(terminal):
    def fail():
        with Progress("Counting", 2, "sheep", shown=None) as line:
            line.advance()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert terminal.getvalue().endswith("\n")
    assert Progress._current is None


def test_the_time_that_is_left_is_estimated():
    line = Progress("", 2, "tasks", shown=False)
    line.done = 1
    assert line.text(100.0) == "1 of 2 tasks, 1:40 gone, about 1:40 left"
    line.done = 2
    assert line.text(4000.0) == "2 of 2 tasks, 1:06:40 gone"


def test_the_compilation_of_a_large_graph_is_shown(terminal):
    phintys.function(*large(), name="chain", mode="reference")
    said = terminal.getvalue()
    assert f"Compiling chain of {_LARGE:,} nodes: " in said
    assert said.endswith("\n")
    x = pt.dscalar("x")
    phintys.function([x], x + 1)
    assert terminal.getvalue() == said


def test_a_minimization_is_shown(terminal):
    w = phintys.shared(3.0, name="w")
    minimize(w**2, w)
    assert "Minimizing: step " in terminal.getvalue()
    assert ", cost " in terminal.getvalue()
