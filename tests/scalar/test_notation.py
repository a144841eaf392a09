"""Scalar functions in LaTeX."""

import re

import pytest

from phintys.graph.latex import latex
from phintys.scalar import float64
from phintys.scalar.notation import NOTATION


@pytest.mark.parametrize("op", NOTATION, ids=str)
def test_each_argument_is_shown(op):
    letters = ["p", "q", "r"][: op.nin]
    text = latex(op(*map(float64, letters)))
    assert sorted(re.findall(r"(?<![a-zA-Z\\])[pqr](?![a-zA-Z])", text)) == letters
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")
