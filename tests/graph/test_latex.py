"""Expressions in LaTeX."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.graph import Constant
from phintys.graph.latex import escaped, identifier, latex
from phintys.scalar import float64

X, Y = pt.matrices("x", "y")
V = pt.vector("v")
T = pt.tensor3("t")

FORMULAS = {
    "x + y * 2": (X + Y * 2, r"x + y \cdot 2"),
    "fraction": (-X / (Y + 1.5), r"\frac{-x}{y + 1.5}"),
    "minus a fraction": (-(X / Y), r"-\frac{x}{y}"),
    "power of a sum": ((X + Y) ** 2, r"{\left(x + y\right)}^{2}"),
    "power of a power": ((X**2) ** Y, r"{\left({x}^{2}\right)}^{y}"),
    "power of a fraction": ((X / Y) ** 2, r"{\left(\frac{x}{y}\right)}^{2}"),
    "power with a sum": (X ** (Y - 1), r"{x}^{y - 1}"),
    "square of a function": (pt.sqr(pt.sin(X)), r"{\sin\left(x\right)}^{2}"),
    "sqrt, exp": (pt.sqrt(X + 1) * pt.exp(-Y), r"\sqrt{x + 1} \cdot e^{-y}"),
    "abs, log": (pt.log(abs(X - Y)), r"\log\left(\left|x - y\right|\right)"),
    "sums": (
        pt.sum(X + Y, axis=1) * 2 + pt.sum(V),
        r"\left(\sum_{\mathrm{axis}=1} \left(x + y\right)\right) \cdot 2 + \sum v",
    ),
    "sum over two axes": (pt.prod(T, axis=(0, 2)), r"\prod_{\mathrm{axis}=(0, 2)} t"),
    "max": (
        pt.max(X, axis=0) - pt.maximum(V, 0),
        r"\max_{\mathrm{axis}=0}\left(x\right) - \max\left(v, 0\right)",
    ),
    "products": ((X + Y).T @ Y, r"{\left(x + y\right)}^{\mathsf{T}} \, y"),
    "transposed twice": (X.T**2, r"{\left({x}^{\mathsf{T}}\right)}^{2}"),
    "comparisons": (
        pt.switch(X <= Y, X > 0, pt.neq(X, 1)),
        r"\begin{cases} x \gt 0 & \text{if } x \leq y \\ {}x \neq 1 & \text{otherwise} \end{cases}",
    ),
    "quotient": (X // Y % 3, r"\left\lfloor\frac{x}{y}\right\rfloor \bmod 3"),
    "as pprint": (
        pt.cast(pt.softmax(X[0, 1:]), "float32"),
        r"\operatorname{cast}(\operatorname{softmax}(x[0, 1:]), \mathtt{float32})",
    ),
    "methods": (
        X.dimshuffle(1, "x", 0).reshape((-1,)),
        r"x.\operatorname{dimshuffle}(1, \mathtt{x}, 0).\operatorname{reshape}([-1])",
    ),
    "small numbers": (pt.constant(1e-5) ** 2, r"{\left(1 \cdot 10^{-5}\right)}^{2}"),
    "complex numbers": (pt.constant(2.5 + 3j) * V, r"(2.5+3j) \cdot v"),
    "NaN": (pt.constant(np.nan) * -pt.constant(np.inf), r"\mathrm{NaN} \cdot -{\infty}"),
    "arrays": (pt.constant(np.array([1.0, np.nan])) + V, r"[1\ \mathrm{NaN}] + v"),
    "scalars": (float64("a") / (float64("b") + 1), r"\frac{a}{b + 1}"),
    "in-place": (pt.inplace.exp_inplace(X), r"e^{x}"),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula(name):
    expression, expected = FORMULAS[name]
    assert latex(expression) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("x", "x"),
        ("ж", "ж"),
        ("rho", r"{\rho}"),
        ("a_b", r"\mathrm{a\_b}"),
        ("x1", r"\mathrm{x1}"),
        ("<b>", r"\mathrm{\lt{}b\gt{}}"),
        ("a$b", r"\mathrm{a\$b}"),
        ("{}", r"\mathrm{\{\}}"),
        ("\\input x\n^~#%&", r"\mathrm{\backslash{}input\ x\ \wedge{}\sim{}\#\%\&}"),
        ("x'", r"\mathrm{x{\prime}}"),
        ("", r"\mathrm{}"),
    ],
)
def test_names_are_escaped(name, expected):
    assert identifier(name) == expected
    assert latex(pt.exp(pt.dvector(name))) == f"e^{{{expected}}}"


def test_leaves_without_a_name_show_their_type():
    text = latex(pt.dvector())
    assert text == r"\mathrm{\lt{}Vector(float64,\ shape=(?,))\gt{}}"


def test_names_of_constants_are_shown_for_their_value():
    named = pt.constant(2.0, name="mu")
    assert latex(named * V) == r"{\mu} \cdot v"


def test_a_command_ends_before_the_next_letter():
    assert escaped("a*b") == r"a\cdot b"
    assert escaped("a * b") == r"a \cdot b"


def test_values_of_users_types_are_escaped(toys):
    constant = Constant(toys.number, "<i>_$")
    assert latex(toys.Named("my_op")(constant)) == r"\operatorname{my\_op}(\lt i\gt \mathrm{\_}\$)"


def test_shared_parts_of_large_formulas_get_lines_of_their_own():
    y = pt.dscalar("t0")
    for _ in range(8):
        y = y * y
    first, *lines, last, end = latex(y).split("\n")
    assert (first, end) == (r"\begin{aligned}", r"\end{aligned}")
    assert lines[0] == r"\mathrm{t1} &= \mathrm{t0} \cdot \mathrm{t0} \\"
    assert lines[1] == r"\mathrm{t2} &= \mathrm{t1} \cdot \mathrm{t1} \\"
    assert last == r"& \mathrm{t7} \cdot \mathrm{t7}"


def test_braces_and_delimiters_match():
    for expression, _ in FORMULAS.values():
        text = latex(expression)
        assert text.count(r"\left") == text.count(r"\right")
        assert text.count("{") == text.count("}")
