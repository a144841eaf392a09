"""A test that passes once passes until something changes."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "phintys"

# What throws dice without being told how.
DICE = re.compile(
    r"default_rng\(\)|SystemRandom|urandom|uuid4|[^.\w]Random\(\)"
    r"|np\.random\.(?!default_rng|Generator)[a-z]"
)
# So do functions of Python's module, whose name ours has too.
PYTHONS_RANDOM = re.compile(r"^import random$", re.MULTILINE)
PYTHONS_DICE = re.compile(
    r"[^.\w]random\.(?:random|randrange|randint|choice|choices|shuffle|sample|uniform)\("
)
# Contents that nothing depends on, and a module whose seed the line before sets.
FINE = {
    "backends/native/stress/test_cache.py": "os.urandom(5000)",
    "backends/native/runtime/test_cache.py": "random.randrange(40)",
}


def test_random_cases_are_the_same_on_every_run():
    chosen = os.environ.get("PHINTYS_HYPOTHESIS", "default")
    assert settings.get_current_profile_name() == chosen
    if chosen != "search":
        assert settings().derandomize
        assert settings().database is None
    assert settings().deadline is None


def test_dice_have_seeds():
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        text = path.read_text(encoding="utf-8")
        dice = [DICE, PYTHONS_DICE] if PYTHONS_RANDOM.search(text) else [DICE]
        for number, line in enumerate(text.splitlines(), start=1):
            thrown = any(one.search(line) for one in dice)
            if thrown and FINE.get(name, "\n") not in line and path != Path(__file__):
                found.append(f"{name}:{number}: {line.strip()}")
    assert found == []


# Sets of nodes and variables have the order of their addresses. These are of numbers, or of names.
ORDERED = {
    "passes/inplace.py": "readers",
    "gradient/spectral.py": "own",
    "control/loop_forms/scan_arguments.py": "unknown",
}


def _is_set(expression, names):
    match expression:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(value, "union" | "intersection" | "difference")):
            return _is_set(value, names)
        case ast.BinOp(left, ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor(), right):
            return _is_set(left, names) or _is_set(right, names)
        case ast.Name(name):
            return name in names
    return False


def _names_of_sets(function):
    names = {
        argument.arg
        for argument in function.args.args
        if argument.annotation and ast.unparse(argument.annotation).startswith(("set[", "frozen"))
    }
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)], value) if _is_set(value, names):
                names.add(name)
            case ast.AnnAssign(ast.Name(name), _, value) if value and _is_set(value, names):
                names.add(name)
    return names


def _walks(function):
    """Return what a function goes through in an order that its result can depend on."""
    for node in ast.walk(function):
        match node:
            case ast.For():
                yield node.iter
            case ast.ListComp(_, parts) | ast.DictComp(_, _, parts):
                yield from (part.iter for part in parts)
            case ast.Call(ast.Name("list" | "tuple" | "enumerate" | "zip"), arguments):
                yield from arguments
            case ast.Starred(value):
                yield value


SAMPLE = """
def rule(new: set[int], other: list[int]):
    steady: set[int] = set()
    both = steady | new
    return [one for one in both], list(steady), [*other], sorted(new), any(x for x in new)
"""


def test_the_walk_over_sets_is_found():
    (function,) = ast.parse(SAMPLE).body
    names = _names_of_sets(function)
    found = [ast.unparse(one) for one in _walks(function) if _is_set(one, names)]
    assert sorted(found) == ["both", "steady"]


@pytest.mark.parametrize("room", ["graph", "rewriting", "passes", "gradient", "control"])
def test_no_graph_depends_on_the_order_of_a_set(room):
    found = []
    for path in sorted((SOURCE / room).rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                names = _names_of_sets(function)
                walked = {ast.unparse(one) for one in _walks(function) if _is_set(one, names)}
                found += [f"{name}: {function.name}: {one}" for one in walked - {ORDERED.get(name)}]
    assert found == []


FAILING = """
import pytest
from hypothesis import given, strategies as st

@pytest.fixture(scope="module")
def most():
    return 1000

@given(st.integers(), st.text())
def test_numbers(most, x, y):
    assert x < most

@given(data=st.data())
def test_draws(data):
    assert data.draw(st.integers()) < 1000

def test_long(repeats):
    assert repeats("short", "long") == "short"
"""


@pytest.fixture
def outcome(tmp_path):
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "test_failing.py").write_text(FAILING, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = stress\n", encoding="utf-8")

    def run(profile, *options):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path)],
            env={**os.environ, "PHINTYS_HYPOTHESIS": profile},
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=400,
        )
        return done.stdout

    return run


def test_a_search_prints_what_to_add(outcome):
    text = outcome("search", "-k", "numbers or draws")
    assert re.search(
        r"Add this case to test_numbers -+\n@example\(\n    x=1000,\n    y=''.*\n\)", text
    )
    assert re.search(r"Add this case to test_draws -+\n@reproduce_failure\(", text)
    assert "Add this case" not in outcome("default", "-k", "numbers or draws")


def test_long_forms_are_marked(outcome):
    assert "1 passed" in outcome("default", "-k", "long", "-m", "not stress")
    assert "1 failed" in outcome("default", "-k", "long", "-m", "stress")
