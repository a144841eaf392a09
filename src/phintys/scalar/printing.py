"""How ``pprint`` writes expressions of scalar ops."""

from __future__ import annotations

from phintys._base.late import LateModule
from phintys.graph.pretty import NOTATIONS, OperatorPrinter, Printer, pprint
from phintys.scalar.op import ScalarOp
from phintys.scalar.table import SCALAR_OPS


def operator_printer(op: ScalarOp) -> Printer | None:
    """Return a printer that writes a scalar op as its symbol, ``None`` if it has no symbol.

    Parameters
    ----------
    op
        A scalar op; the printer also serves the tensor op that applies it elementwise.

    Examples
    --------
    >>> from phintys.graph.pretty import pprint
    >>> from phintys.scalar import float64
    >>> x, y = float64("x"), float64("y")
    >>> pprint(-(x + y) * 2)
    '-(x + y) * 2.0'
    """
    if op.symbol is None:
        return None
    return OperatorPrinter(op.symbol, op.precedence, op.associativity)


for _row in SCALAR_OPS.values():
    _printer = operator_printer(_row)
    if _printer is not None:
        pprint.assign(_row, _printer)

NOTATIONS.append(LateModule("phintys.scalar.notation"))
