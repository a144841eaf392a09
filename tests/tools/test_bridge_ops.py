"""docs/bridge.md lists the Ops that are converted, and its programs run. PyTensor is needed."""

import doctest

import pytest

pytest.importorskip("pytensor", reason="PyTensor is not installed", exc_type=ImportError)

from tools.bridge_ops import PAGE, families, page


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make bridge-page`"


def test_families_are_those_of_the_registry():
    found = families()
    assert "Elemwise" in found["elementwise"]
    assert "Scan" in found["loops"]
    assert all(found.values())


def test_programs_run():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 10
    assert not found.failed
