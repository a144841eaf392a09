"""How ``pprint`` and LaTeX write sparse expressions.

Examples
--------
>>> import phintys, phintys.tensor as pt
>>> from phintys import sparse
>>> A, v = sparse.csr_matrix("A"), pt.dvector("v")
>>> phintys.pprint(A.T @ v)
'A.T @ v'
>>> phintys.pprint(A * 2.0)
'CSR(A.data * 2.0, A.indices, A.indptr, A.shape)'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import phintys.tensor as pt
from phintys.graph.pretty import PRECEDENCE, FunctionPrinter, Printer, Slot, Template, pprint
from phintys.graph.variable import require_owner
from phintys.scalar.printing import POWER
from phintys.sparse.parts import FromParts, Parts
from phintys.sparse.products import ProductByColumns, ProductByRows
from phintys.tensor.shapes import SpecifyShape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.pretty import PrettyPrinter
    from phintys.graph.variable import Variable

_CALL = PRECEDENCE["call"]
_PRODUCT = PRECEDENCE["*"]
_NAMES = ("data", "indices", "indptr", "shape")
_REVERSED = require_owner(pt.lvector()[::-1]).op


class _Matrix(NamedTuple):
    """A matrix, or its transpose."""

    variable: Any
    is_transposed: bool


def _parts_node(arrays: Sequence[Variable]) -> Any:
    """Return the node whose first outputs are these arrays, if there is one."""
    node = arrays[0].owner
    if node is None or not isinstance(node.op, Parts):
        return None
    return node if list(arrays) == node.outputs[: len(arrays)] else None


def _factor(variable: Variable) -> _Matrix | None:
    """Return the matrix that a product multiplies by, if its arrays are those of one matrix."""
    node = require_owner(variable)
    data, _, *pattern = node.inputs[:4]
    of = _parts_node([data, *pattern])
    if of is None:
        return None
    (matrix,) = of.inputs
    goes_along = matrix.type.format == ("csr" if isinstance(node.op, ProductByRows) else "csc")
    return _Matrix(matrix, not goes_along)


def _transposed(variable: Variable) -> Variable | None:
    """Return the matrix whose arrays, in the other format, a matrix is made of."""
    node: Any = require_owner(variable)
    *arrays, shape = node.inputs
    of = _parts_node(arrays)
    if of is None or shape.owner is None or shape.owner.op != _REVERSED:
        return None
    (matrix,) = of.inputs
    is_other = matrix.type.format != node.op.format
    return matrix if is_other and shape.owner.inputs == [of.outputs[3]] else None


def _plain(matrix: _Matrix) -> list[str | Slot]:
    if matrix.is_transposed:
        return [Slot(matrix.variable, _CALL), ".T"]
    return [Slot(matrix.variable, _PRODUCT)]


def _with_superscript(matrix: _Matrix) -> list[str | Slot]:
    if matrix.is_transposed:
        return ["{", Slot(matrix.variable, POWER + 0.25), r"}^{\mathsf{T}}"]
    return [Slot(matrix.variable, _PRODUCT)]


class _PartsPrinter(Printer):
    """Print the arrays of a matrix as its attributes."""

    def template(self, variable: Variable) -> Template:
        node: Any = require_owner(variable)
        at = variable.index or 0
        made_of = node.op.undone(node)
        if made_of is not None:
            return pprint.printer_of(made_of[at]).template(made_of[at])
        return Template([Slot(node.inputs[0], _CALL), f".{_NAMES[at]}"])


class _MatrixPrinter(Printer):
    """Print a matrix as the transpose of another one, or as the call that makes it.

    Parameters
    ----------
    written
        Writes a matrix that may be a transpose.
    otherwise
        Prints other matrices.
    """

    def __init__(self, written: Callable[[_Matrix], list[str | Slot]], otherwise: Printer) -> None:
        self.written = written
        self.otherwise = otherwise

    def template(self, variable: Variable) -> Template:
        matrix = _transposed(variable)
        if matrix is None:
            return self.otherwise.template(variable)
        return Template(self.written(_Matrix(matrix, is_transposed=True)), _CALL)


class _ProductPrinter(_MatrixPrinter):
    """Print the product of a matrix with a dense operand, whose length has been checked."""

    def template(self, variable: Variable) -> Template:
        factor = _factor(variable)
        if factor is None:
            return self.otherwise.template(variable)
        dense = require_owner(variable).inputs[1]
        if dense.owner is not None and isinstance(dense.owner.op, SpecifyShape):
            dense = dense.owner.inputs[0]
        return Template([*self.written(factor), " @ ", Slot(dense, _PRODUCT + 0.25)], _PRODUCT)


class _CallPrinter(Printer):
    """Print the call that makes a matrix of its arrays."""

    def template(self, variable: Variable) -> Template:
        op: Any = require_owner(variable).op
        return FunctionPrinter(op.format.upper()).template(variable)


def assign_notations(printer: PrettyPrinter) -> None:
    """Assign the printers of this module.

    Parameters
    ----------
    printer
        The one for LaTeX.
    """
    _assign(printer, _with_superscript, printer.default)


def _assign(
    printer: PrettyPrinter,
    written: Callable[[_Matrix], list[str | Slot]],
    otherwise: Printer | None = None,
) -> None:
    printer.assign(FromParts, _MatrixPrinter(written, otherwise or _CallPrinter()))
    for product in (ProductByRows, ProductByColumns):
        printer.assign(product, _ProductPrinter(written, otherwise or printer.default))


pprint.assign(Parts, _PartsPrinter())
_assign(pprint, _plain)
