"""Every example in a docstring of Phintys runs and prints what it says."""

import ast
import doctest
import importlib
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import phintys
from phintys.graph import transfer

PACKAGE = Path(phintys.__file__).parent
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PROGRAMS = {"phintys.compat.__main__"}  # to import it would run it


def modules():
    """Yield the dotted name and the file of each module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not name.startswith(("phintys.backends.native", "phintys.bridge.")):  # by their rooms
            yield name, path


def examples(name, path):
    """Yield all examples in strings of a module.

    Strings of the source, rather than docstrings of objects: what describes an attribute or a row
    of a table belongs to no object that doctest knows.
    """
    parser = doctest.DocTestParser()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ">>> " in node.value:
            where = f"{name}, line {node.lineno}"
            yield parser.get_doctest(node.value, {}, where, str(path), node.lineno - 1)


MODULES = dict(modules())


@pytest.fixture(autouse=True)
def _registered_for_one_test_only(monkeypatch):
    monkeypatch.setattr(transfer, "_TRANSFERS", [])


@pytest.fixture(autouse=True)
def _default_mode():
    """Examples describe the default mode, whichever one the other tests run in."""
    with phintys.config.change_flags(mode="native"):
        yield


@pytest.fixture(autouse=True)
def _forget_transfers():
    """Examples may teach Variable.transfer a target; other tests must not meet it."""
    known = sys.modules["phintys.graph.transfer"]._TRANSFERS
    before = list(known)
    yield
    known[:] = before


# Print equations of rules, which are their docstrings.
WITH_DOCSTRINGS = {"phintys.rewriting.patterns", "phintys.rewriting.rewriter"}


def marks(name):
    if name in WITH_DOCSTRINGS:
        yield pytest.mark.docstrings
    if name.startswith("phintys.backends.jax"):
        yield pytest.mark.skipif(find_spec("jax") is None, reason="needs the extra 'jax'")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[*marks(name)])
        for name, path in MODULES.items()
        if ">>> " in path.read_text()
    ],
)
def test_the_examples_of(name):
    importlib.import_module(name)
    module = sys.modules[name]  # phintys.tensor.shape, the attribute, is a function
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    output = []
    for test in examples(name, MODULES[name]):
        test.globs = dict(vars(module))
        runner.run(test, out=output.append)
    assert runner.tries
    assert not runner.failures, "".join(output)


def test_a_module_says_what_it_is():
    for name, path in MODULES.items():
        text = path.read_text(encoding="utf-8")
        assert re.match('r?"""\\s*[^\\s"]', text), name


def test_what_a_module_names_in_all_is_there():
    for name in MODULES.keys() - PROGRAMS:
        importlib.import_module(name)
        module = sys.modules[name]
        names = getattr(module, "__all__", [])
        assert len(names) == len(set(names)), name
        assert [each for each in names if not hasattr(module, each)] == [], name
