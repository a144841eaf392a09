"""The stub files name what the modules name at run time."""

from importlib import import_module

import pytest

from tools.stubs import STUBBED, stub_of, stub_path


@pytest.mark.parametrize("name", STUBBED)
def test_stub_files_are_up_to_date(name):
    module = import_module(name)
    assert stub_path(module).read_text(encoding="utf-8") == stub_of(module), "run `make stubs`"
