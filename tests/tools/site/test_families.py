"""Each function of the array language is in one family."""

import inspect

import pytest

import phintys.tensor as pt
from tools.site.families import families


@pytest.fixture(scope="module")
def found():
    return families()


@pytest.mark.docstrings
def test_every_function_is_in_one(found):
    names = [name for functions in found.values() for name in functions]
    assert len(names) == len(set(names))
    expected = {
        f"pt.{name}"
        for name in dir(pt)
        if not name.startswith("_")
        and callable(getattr(pt, name))
        and not inspect.isclass(getattr(pt, name))
    }
    assert expected <= set(names)
