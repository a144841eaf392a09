"""How ``pprint`` and LaTeX write tensor expressions.

Examples
--------
>>> import phintys, phintys.tensor as pt
>>> x, y = pt.matrices("x", "y")
>>> phintys.pprint((x + y * 2).sum(axis=1) ** 2)
'sum(x + y * 2.0, axis=1) ** 2.0'
>>> phintys.pprint(pt.exp(-x[0, 1:]) @ y.T)
'exp(-x[0, 1:]) @ y.T'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from phintys.graph.pretty import (
    PRECEDENCE,
    FunctionPrinter,
    OperatorPrinter,
    Printer,
    Slot,
    Template,
    pprint,
)
from phintys.graph.variable import Constant, require_owner
from phintys.scalar import arithmetic, selection
from phintys.scalar.casting import Cast
from phintys.scalar.op import operator_printer
from phintys.scalar.printing import NOTATION, POWER
from phintys.tensor.creation import Alloc
from phintys.tensor.cumulative import CumOp
from phintys.tensor.diagonals import ExtractDiag
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.extremes import Argmax, Argmin
from phintys.tensor.indexing.advanced import AdvancedSubtensor
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import NEWAXIS, SEPARATOR, Slice, fill
from phintys.tensor.indexing.update import AdvancedIncSubtensor, IncSubtensor
from phintys.tensor.joining import Join, Split
from phintys.tensor.nonzeros import Nonzero
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import Reduce
from phintys.tensor.reshaping import Reshape
from phintys.tensor.scalar_bridge import MakeVector, ScalarFromTensor, TensorFromScalar
from phintys.tensor.shapes import Shape, ShapeI, SpecifyShape
from phintys.tensor.softmaxes import LogSoftmax, LogSumExp, Softmax
from phintys.tensor.sorting import ArgSortOp, SortOp
from phintys.tensor.type import TensorType
from phintys.tensor.variable import TensorConstant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from phintys.graph.pretty import PrettyPrinter
    from phintys.graph.variable import Variable

    Part = str | Slot


_CALL = PRECEDENCE["call"]  # how tightly x binds in x.T and x[0]


def _separated(parts: Iterable[Sequence[Part]]) -> list[Part]:
    """Return lists of parts joined into one, separated by commas."""
    joined: list[Part] = []
    for part in parts:
        if joined:
            joined.append(", ")
        joined.extend(part)
    return joined


def _call(name: str, variables: Iterable[Variable], *options: str) -> list[Part]:
    arguments = [[_operand(variable)] for variable in variables]
    return [f"{name}(", *_separated([*arguments, *([option] for option in options)]), ")"]


def _operand(variable: Variable, precedence: float = 0.0) -> Part:
    """Return a part for a variable; short constant vectors are written as in Python."""
    if _is_plain_constant(variable) and variable.data.ndim == 1 and variable.data.size:
        return f"[{', '.join(map(str, variable.data.tolist()))}]"
    return Slot(variable, precedence)


def _is_plain_constant(variable: Any) -> TypeGuard[TensorConstant]:
    return (
        isinstance(variable, Constant)
        and variable.name is None
        and isinstance(variable.type, TensorType)
        and variable.data.size < 10
    )


def _axis_option(axis: Sequence[int] | int | None) -> list[str]:
    if axis is None:
        return []
    if not isinstance(axis, int) and len(axis) == 1:
        (axis,) = axis
    return [f"axis={axis}"]


# ---- elementwise ---------------------------------------------------------------------------------


def _number(variable: Any) -> Variable | None:
    """Return the number to which all elements of a constant are equal, whatever its rank."""
    if not _is_plain_constant(variable) or variable.data.size != 1:
        return None
    return TensorConstant(TensorType(variable.type.dtype, ()), variable.data.reshape(()))


def _unpadded(variable: Any) -> Variable:
    """Return a variable without leading new dimensions, which broadcasting adds by itself."""
    node = variable.owner
    if node is None or not isinstance(node.op, DimShuffle):
        return variable
    op = node.op
    new = len(op.new_order) - op.input_ndim
    if new > 0 and op.new_order == ("x",) * new + tuple(range(op.input_ndim)):
        return node.inputs[0]
    return variable


def as_written(variable: Variable) -> dict[Variable, Variable]:
    """Return, for each operand of an elementwise op, the expression that a user would write."""
    operands: list[Any] = require_owner(variable).inputs
    numbers: dict[Any, Any] = {x: _number(x) for x in operands if len(operands) > 1}
    arrays = [x for x in operands if numbers.get(x) is None]
    shown: dict[Any, Any] = {x: _unpadded(x) for x in arrays}
    rank = max((x.type.ndim for x in arrays), default=0)
    if all(x.type.ndim < rank for x in shown.values()):  # one of them must supply the rank
        shown = {x: x for x in arrays}
    return {**numbers, **shown}


class _ElemwisePrinter(Printer):
    """Print operators as their symbols and other functions by name.

    Expressions say what is computed: not where, which ``debugprint`` shows.
    """

    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        op: Any = node.op
        shown = as_written(variable)
        operator = operator_printer(op.scalar_op)
        if operator is not None:
            parts, precedence = operator.template(variable)
            return Template(
                [
                    Slot(shown[part.variable], part.precedence) if isinstance(part, Slot) else part
                    for part in parts
                ],
                precedence,
            )
        operands = [shown[x] for x in node.inputs]
        if isinstance(op.scalar_op, Cast):
            return Template(_call("cast", operands, repr(op.scalar_op.dtype)))
        parts = _call(str(op.scalar_op), operands)
        return Template(parts if len(node.outputs) == 1 else [*parts, f"[{variable.index}]"])


# ---- functions -----------------------------------------------------------------------------------


class _CallPrinter(Printer):
    """``name(inputs, axis=...)``, with the Op's axis; several outputs are numbered."""

    def __init__(self, name: str) -> None:
        self.name = name

    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        options = _axis_option(getattr(node.op, "axis", None))
        parts = _call(self._name_of(node.op), node.inputs, *options)
        return Template(parts if len(node.outputs) == 1 else [*parts, f"[{variable.index}]"])

    def _name_of(self, op: Any) -> str:
        return self.name


class _ReducePrinter(_CallPrinter):
    def _name_of(self, op: Any) -> str:
        return str(op).partition("{axis=")[0].partition("{dtype=")[0].lower()


class _CumPrinter(_CallPrinter):
    def _name_of(self, op: Any) -> str:
        return "cumsum" if op.mode == "add" else "cumprod"


class _JoinPrinter(Printer):
    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        op: Any = node.op
        arrays = _separated([_operand(x)] for x in node.inputs)
        return Template(["concatenate([", *arrays, f"], axis={op.axis})"])


class _ListPrinter(Printer):
    def template(self, variable: Variable) -> Template:
        numbers = _separated([_operand(x)] for x in require_owner(variable).inputs)
        return Template(["[", *numbers, "]"])


class _DiagonalPrinter(Printer):
    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        op: Any = node.op
        return Template(
            _call("diagonal", node.inputs, *([f"offset={op.offset}"] if op.offset else []))
        )


class _SpecifyShapePrinter(Printer):
    def template(self, variable: Variable) -> Template:
        x, *sizes = require_owner(variable).inputs
        op: Any = require_owner(variable).op
        following = iter(sizes)
        shape = _separated(
            [_operand(next(following)) if checked else "None"] for checked in op.checked
        )
        end = ",)" if len(op.checked) == 1 else ")"
        return Template(["specify_shape(", _operand(x), ", (", *shape, f"{end})"])


# ---- methods and indexing ------------------------------------------------------------------------


class _MethodPrinter(Printer):
    """``x.name(arguments)``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def template(self, variable: Variable) -> Template:
        x, *arguments = require_owner(variable).inputs
        return Template([Slot(x, _CALL), ".", *_call(self.name, arguments)])


class _ShapePrinter(Printer):
    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        op: Any = node.op
        size = f"[{op.i}]" if isinstance(op, ShapeI) else ""
        return Template([Slot(node.inputs[0], _CALL), f".shape{size}"])


class _DimShufflePrinter(Printer):
    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        return Template([Slot(node.inputs[0], _CALL), self._change(node.op)])

    @staticmethod
    def _change(op: Any) -> str:
        kept = [entry for entry in op.new_order if entry != "x"]
        if op.new_order == (1, 0):
            return ".T"
        if kept == sorted(kept) and not op.drop:
            places = ", ".join("None" if entry == "x" else ":" for entry in op.new_order)
            return f"[{places}]" if places else ""
        if len(kept) == len(op.new_order) and kept == sorted(kept):
            return (
                f".squeeze({', '.join(map(str, op.drop)) if len(op.drop) == 1 else tuple(op.drop)})"
            )
        order = ", ".join(map(repr, op.new_order))
        return f".{'dimshuffle' if op.augment or op.drop else 'transpose'}({order})"


def _index(op: Any, inputs: Iterable[Variable]) -> list[Part]:
    """Return the expression between the brackets."""
    entries = [_entry(entry) for entry in fill(op.idx_list, inputs)]
    return _separated(entries) or ["..."]


def _entry(entry: Any) -> list[Part]:
    if entry is NEWAXIS:
        return ["None"]
    if entry is SEPARATOR:
        return ["..."]
    if not isinstance(entry, Slice):
        return [_bound(entry)]
    start, stop, step = (None if bound is None else _bound(bound) for bound in entry)
    parts: list[Part | None] = [start, ":", stop]
    if step is not None:
        parts += [":", step]
    return [part for part in parts if part is not None]


def _bound(bound: Any) -> Part:
    return str(bound) if isinstance(bound, int) else _operand(bound)


class _SubtensorPrinter(Printer):
    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        x, *indices = node.inputs
        return Template([Slot(x, _CALL), "[", *_index(node.op, indices), "]"])


class _UpdatePrinter(Printer):
    def template(self, variable: Variable) -> Template:
        node = require_owner(variable)
        op: Any = node.op
        x, y, *indices = node.inputs
        name = "set_subtensor" if op.set_instead_of_inc else "inc_subtensor"
        index = _index(op, indices)
        return Template([f"{name}(", Slot(x, _CALL), "[", *index, "], ", _operand(y), ")"])


_PRINTERS: dict[Any, Printer] = {
    AdvancedIncSubtensor: _UpdatePrinter(),
    AdvancedSubtensor: _SubtensorPrinter(),
    Alloc: FunctionPrinter("alloc"),
    ARange: FunctionPrinter("arange"),
    Argmax: _CallPrinter("argmax"),
    Argmin: _CallPrinter("argmin"),
    ArgSortOp: _CallPrinter("argsort"),
    BatchedDot: OperatorPrinter("@", PRECEDENCE["*"]),
    CumOp: _CumPrinter(""),
    DimShuffle: _DimShufflePrinter(),
    Dot: OperatorPrinter("@", PRECEDENCE["*"]),
    Elemwise: _ElemwisePrinter(),
    ExtractDiag: _DiagonalPrinter(),
    IncSubtensor: _UpdatePrinter(),
    Join: _JoinPrinter(),
    LogSoftmax: _CallPrinter("log_softmax"),
    LogSumExp: _CallPrinter("logsumexp"),
    MakeVector: _ListPrinter(),
    Nonzero: _CallPrinter("nonzero"),
    Reduce: _ReducePrinter(""),
    Reshape: _MethodPrinter("reshape"),
    ScalarFromTensor: FunctionPrinter("scalar_from_tensor"),
    Shape: _ShapePrinter(),
    ShapeI: _ShapePrinter(),
    Softmax: _CallPrinter("softmax"),
    SortOp: _CallPrinter("sort"),
    SpecifyShape: _SpecifyShapePrinter(),
    Split: _CallPrinter("split"),
    Subtensor: _SubtensorPrinter(),
    TensorFromScalar: FunctionPrinter("tensor_from_scalar"),
}

for _op, _printer in _PRINTERS.items():
    pprint.assign(_op, _printer)


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
    printer = NOTATION.get(op.scalar_op)
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
