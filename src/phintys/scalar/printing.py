"""How ``pprint`` and LaTeX write expressions of scalar ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phintys.graph.pretty import (
    PRECEDENCE,
    OperatorPrinter,
    PatternPrinter,
    Printer,
    pprint,
)
from phintys.scalar import (
    arithmetic,
    complex_parts,
    exponential,
    rounding,
    selection,
    special,
    trigonometric,
)
from phintys.scalar.op import ScalarOp, operator_printer
from phintys.scalar.table import SCALAR_OPS

if TYPE_CHECKING:
    from phintys.graph.pretty import PrettyPrinter


FRACTION = PRECEDENCE["unary"] + 0.5
"""How tightly a fraction binds: -a/b needs no parentheses, the base of a power does."""
POWER = PRECEDENCE["**"]
_BASE = POWER + 0.25
_SUM = PRECEDENCE["+"]


def _function(name: str) -> Printer:
    return PatternPrinter(rf"{name}\left(%(0)s\right)")


def _of_two(name: str) -> Printer:
    return PatternPrinter(rf"{name}\left(%(0)s, %(1)s\right)")


NOTATION: dict[ScalarOp, Printer] = {
    arithmetic.abs: PatternPrinter(r"\left|%(0)s\right|"),
    arithmetic.int_div: PatternPrinter(r"\left\lfloor\frac{%(0)s}{%(1)s}\right\rfloor"),
    arithmetic.mod: OperatorPrinter(r"\bmod", PRECEDENCE["*"]),
    arithmetic.pow: PatternPrinter("{%(0)s}^{%(1)s}", precedence=POWER, inner=(_BASE, 0.0)),
    arithmetic.reciprocal: PatternPrinter(r"\frac{1}{%(0)s}", precedence=FRACTION),
    arithmetic.sqr: PatternPrinter("{%(0)s}^{2}", precedence=POWER, inner=_BASE),
    arithmetic.true_div: PatternPrinter(r"\frac{%(0)s}{%(1)s}", precedence=FRACTION),
    complex_parts.conj: PatternPrinter(r"\overline{%(0)s}"),
    complex_parts.imag: _function(r"\operatorname{Im}"),
    complex_parts.real: _function(r"\operatorname{Re}"),
    exponential.cbrt: PatternPrinter(r"\sqrt[3]{%(0)s}"),
    exponential.exp: PatternPrinter("e^{%(0)s}", precedence=POWER),
    exponential.exp2: PatternPrinter("2^{%(0)s}", precedence=POWER),
    exponential.expm1: PatternPrinter("e^{%(0)s} - 1", precedence=_SUM),
    exponential.log: _function(r"\log"),
    exponential.log10: _function(r"\log_{10}"),
    exponential.log1p: PatternPrinter(r"\log\left(1 + %(0)s\right)", inner=_SUM),
    exponential.log2: _function(r"\log_{2}"),
    exponential.sigmoid: _function(r"\sigma"),
    exponential.sqrt: PatternPrinter(r"\sqrt{%(0)s}"),
    rounding.ceil: PatternPrinter(r"\left\lceil %(0)s\right\rceil"),
    rounding.floor: PatternPrinter(r"\left\lfloor %(0)s\right\rfloor"),
    selection.maximum: _of_two(r"\max"),
    selection.minimum: _of_two(r"\min"),
    selection.switch: PatternPrinter(
        r"\begin{cases} %(1)s & \text{if } %(0)s \\ {}%(2)s & \text{otherwise} \end{cases}",
        precedence=PRECEDENCE["switch"],
    ),
    special.gamma: _function(r"\Gamma"),
    trigonometric.arccos: _function(r"\arccos"),
    trigonometric.arcsin: _function(r"\arcsin"),
    trigonometric.arctan: _function(r"\arctan"),
    trigonometric.cos: _function(r"\cos"),
    trigonometric.cosh: _function(r"\cosh"),
    trigonometric.sin: _function(r"\sin"),
    trigonometric.sinh: _function(r"\sinh"),
    trigonometric.tan: _function(r"\tan"),
    trigonometric.tanh: _function(r"\tanh"),
}
"""Printers in LaTeX; operators that are not here are written with their symbol."""


def assign_notations(printer: PrettyPrinter) -> None:
    """Assign the printers of :data:`NOTATION`.

    Parameters
    ----------
    printer
        The one for LaTeX.
    """
    for op, notation in NOTATION.items():
        printer.assign(op, notation)


for _row in SCALAR_OPS.values():
    _printer = operator_printer(_row)
    if _printer is not None:
        pprint.assign(_row, _printer)
