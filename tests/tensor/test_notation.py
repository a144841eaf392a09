"""Ops of tensors in LaTeX; tests/graph/test_latex.py has their formulas."""

import pytest

import phintys.tensor as pt
from phintys.graph.latex import latex

X = pt.matrix("x")
T = pt.tensor3("t")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (T.transpose(2, 0, 1), r"t.\operatorname{transpose}(2, 0, 1)"),
        (X[:, None], r"x[:, \mathrm{None}, :]"),
        (pt.any(X > 0), r"\operatorname{any}(x \gt 0)"),
        (pt.inplace.add_inplace(X, X), "x + x"),
        (X.sum(axis=0)[0], r"\left(\sum_{\mathrm{axis}=0} x\right)[0]"),
        (2 - X.sum(), r"2 - \sum x"),
        ((X**2).sum(), r"\sum {x}^{2}"),
    ],
)
def test_a_formula(expression, expected):
    assert latex(expression) == expected
