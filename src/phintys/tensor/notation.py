"""LaTeX notation of tensor Ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.pretty import PRECEDENCE, Printer, Slot, Template
from phintys.graph.variable import require_owner
from phintys.scalar import arithmetic, selection
from phintys.scalar.notation import NOTATION, POWER
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.printing import as_written
from phintys.tensor.reduce import Reduce

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.pretty import PrettyPrinter
    from phintys.graph.variable import Variable

__all__ = ["assign_notations"]


class _Notation(Printer):
    """A notation for some variables of an Op's class; the others as ``pprint`` writes them.

    Parameters
    ----------
    rule
        Returns the template of a variable and its Op, ``None`` where there is no notation.
    otherwise
        Prints the others.
    """

    def __init__(
        self, rule: Callable[[Variable, Any], Template | None], otherwise: Printer
    ) -> None:
        self.rule = rule
        self.otherwise = otherwise

    def template(self, variable: Variable) -> Template:
        found = self.rule(variable, require_owner(variable).op)
        return self.otherwise.template(variable) if found is None else found


def _elemwise(variable: Variable, op: Any) -> Template | None:
    printer = None if op.inplace_pattern else NOTATION.get(op.scalar_op)
    if printer is None:
        return None
    shown = as_written(variable)
    parts, precedence = printer.template(variable)
    return Template(
        [
            Slot(shown[part.variable], part.precedence) if isinstance(part, Slot) else part
            for part in parts
        ],
        precedence,
    )


def _transpose(variable: Variable, op: Any) -> Template | None:
    if op.new_order != (1, 0):
        return None
    (x,) = require_owner(variable).inputs
    return Template(["{", Slot(x, POWER + 0.25), r"}^{\mathsf{T}}"], POWER)


_BIG = {arithmetic.add: r"\sum", arithmetic.mul: r"\prod"}
_EXTREME = {selection.maximum: r"\max", selection.minimum: r"\min"}


def _reduce(variable: Variable, op: Any) -> Template | None:
    (x,) = require_owner(variable).inputs
    axes = op.axis
    below = ""
    if axes is not None:
        text = ", ".join(map(str, axes))
        below = rf"_{{\mathrm{{axis}}={text if len(axes) == 1 else f'({text})'}}}"
    if op.scalar_op in _BIG:
        # As a term of a sum it needs no parentheses, as a factor it does.
        binds = PRECEDENCE["*"]
        return Template([f"{_BIG[op.scalar_op]}{below} ", Slot(x, binds)], binds - 0.5)
    if op.scalar_op in _EXTREME:
        return Template([rf"{_EXTREME[op.scalar_op]}{below}\left(", Slot(x), r"\right)"])
    return None


def assign_notations(printer: PrettyPrinter) -> None:
    """Assign the printers of this module.

    Parameters
    ----------
    printer
        The one for LaTeX.
    """
    printer.assign(DimShuffle, _Notation(_transpose, printer.default))
    printer.assign(Elemwise, _Notation(_elemwise, printer.default))
    printer.assign(Reduce, _Notation(_reduce, printer.default))
