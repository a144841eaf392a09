"""A test that passes once passes until something changes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent

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
