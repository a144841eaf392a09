"""The programs in README, CONTRIBUTING and docs/ run and print what they say."""

import doctest
import linecache
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import phintys.compat
from phintys.graph import transfer

PROJECT = Path(__file__).parents[1]
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    PROJECT / "CHANGELOG.md",
    *sorted((PROJECT / "docs").glob("*.md")),
]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _registered_for_one_test_only(monkeypatch):
    monkeypatch.setattr(transfer, "_TRANSFERS", [])
    yield
    phintys.compat.uninstall("theano")


@pytest.fixture(autouse=True)
def _default_mode():
    """Pages describe the default mode, whichever one the other tests run in."""
    with phintys.config.change_flags(mode="native"):
        yield


# Prints equations of rules, which are their docstrings.
WITH_DOCSTRINGS = {"debugging.md"}


WITH_JAX = {"accelerators.md", "from_jax.md"}


def marks(page):
    if page.name in WITH_DOCSTRINGS:
        yield pytest.mark.docstrings
    if page.name in WITH_JAX:
        yield pytest.mark.skipif(find_spec("jax") is None, reason="needs the extra 'jax'")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[*marks(page)]) for page in PAGES],
    ids=lambda page: page.name,
)
def test_programs_run(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("\n```") % 2 == 0
    names = {"__name__": "page"}
    output = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    for number, (language, program) in enumerate(BLOCK.findall(text)):
        where = f"<{page.name}, block {number}>"
        if language == "python":
            lines = program.splitlines(keepends=True)
            linecache.cache[where] = (len(program), None, lines, where)
            exec(compile(program, where, "exec"), names)
        elif language == "pycon":
            test = doctest.DocTestParser().get_doctest(program, names, where, page.name, 0)
            runner.run(test, out=output.append, clear_globs=False)
            names = test.globs
        else:
            assert language in {"sh", "console"}
    assert not runner.failures, "".join(output)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def anchors(page):
    """Return the names of a page's headings, as code hosts and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    shown = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in shown}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_headings(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        named = page.parent / target if target else page
        assert anchor in anchors(named), f"{target}#{anchor}"


def test_pages_are_in_the_source_distribution():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    # README.md, LICENSE and pyproject.toml are always there.
    parts = {f"/{page.relative_to(PROJECT).parts[0]}" for page in PAGES} - {"/README.md"}
    assert parts <= set(included)
    assert {"/src", "/tests", "/tools", "/examples", "/Makefile"} <= set(included)
