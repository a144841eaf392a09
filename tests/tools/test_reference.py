"""The reference has a page for each family, with every function of the array language."""

import inspect

import pytest

import phintys.tensor as pt
from tools.reference import families, write_pages


@pytest.mark.docstrings
def test_every_function_is_on_one_page(tmp_path):
    written = {path.name: path.read_text(encoding="utf-8") for path in write_pages(tmp_path)}
    text = "\n".join(written.values())
    for name in dir(pt):
        thing = getattr(pt, name)
        if not name.startswith("_") and callable(thing) and not inspect.isclass(thing):
            assert text.count(f"## `pt.{name}(") == 1, name
    assert "`pt.sinc`" in written["index.md"]
    assert "Parameters\n----------" in written["manipulation.md"]


def test_no_name_is_in_two_families():
    names = [name for functions in families().values() for name in functions]
    assert len(names) == len(set(names))
