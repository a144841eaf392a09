"""Random graphs that read pairs of views of one value; and that they find what they are for."""

import re

import numpy as np
import pytest

from phintys.backends.native.stepwise.order import KernelOrder
from phintys.testing._trial import evaluate
from tools.fuzz import check_seed, draw, views
from tools.fuzz.kinds import VIEWS


@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_views_of_one_value_are_read_before_it_is_overwritten(start):
    for seed in range(start, start + 10):
        found = check_seed(seed, VIEWS)
        assert found is None, str(found)


def test_a_seed_names_one_case():
    for seed in range(5):
        assert draw(seed, VIEWS).program("None") == draw(seed, VIEWS).program("None")
    assert draw(0, VIEWS).program("None") != draw(2, VIEWS).program("None")


def test_all_views_and_readers_are_drawn():
    cases = [draw(seed, VIEWS) for seed in range(80)]
    lines = [step.text for case in cases for step in case.steps]
    text = "\n".join(lines)
    for pattern in (*views._WHOLE, *views._OTHER, *views._READERS):
        wanted = ".*".join(map(re.escape, re.split(r"{.*?}", pattern)))
        assert re.search(f"^{wanted}$", text, re.MULTILINE), pattern
    assert "gradient.grad(" in text
    givens = [given for case in cases for given in case.givens]
    assert {True, False} == {given.update is None for given in givens}
    assert {True, False} == {None in given.shape for given in givens}


def test_kernels_that_read_memory_again_for_each_view_are_found(monkeypatch):
    """A value that two views of a nest show is read once: then it may be overwritten."""
    monkeypatch.setattr(KernelOrder, "register", lambda self, load, grid: None)
    for seed in range(24):
        found = check_seed(seed, VIEWS)
        if found is not None:
            assert found.variant.name == "step by step"
            if "is not there" in found.text:
                return
    pytest.fail("never found")


def test_lines_that_are_large_in_a_later_call_are_not_drawn():
    """At a later call, with other sizes, this case used to have loops of millions of steps."""
    built = draw(9165196, VIEWS).build()
    for call in range(built.case.calls):
        values = dict(built.known(call))
        evaluate(built.results, values)
        assert max(np.size(value) for value in values.values()) <= 100_000
