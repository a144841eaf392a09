"""Special functions say whose their algorithm is."""

import importlib
import re

import pytest

import phintys.tensor as pt
from phintys._base import index
from phintys.scalar import SCALAR_OPS
from phintys.scalar.row_kinds import FloatRow

A_SOURCE = re.compile(r"[A-Z]\w+.*\b(1[78]|19|20)\d\d\b", re.DOTALL)
ROWS = [
    name
    for name, row in SCALAR_OPS.items()
    if row.special or (isinstance(row, FloatRow) and name != "round_half_away")
]


@pytest.mark.parametrize("name", ROWS)
def test_rows_name_author_and_year(name):
    source = SCALAR_OPS[name].source
    assert A_SOURCE.search(source)
    assert f"References\n----------\n{source}\n" in pt.Elemwise(SCALAR_OPS[name]).__doc__


@pytest.mark.parametrize("module", index.FLOAT_FUNCTIONS)
def test_native_code_of_special_functions_names_author_and_year(module):
    special = [name for name in index.FLOAT_FUNCTIONS[module].split() if name in ROWS]
    if special:
        assert A_SOURCE.search(importlib.import_module(module).__doc__), special
