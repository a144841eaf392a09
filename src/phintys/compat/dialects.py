"""How the old packages write types, constants, Ops and trees.

One :class:`Dialect` a package has the texts as functions, which stand in place of ``__str__`` and
``__repr__`` while the package's notation is chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.records import record
from phintys.compat.texts import as_string
from phintys.graph import FunctionGraph
from phintys.graph.pretty import FunctionPrinter, OperatorPrinter, PatternPrinter, Printer, Template
from phintys.graph.printing import DebugPrinter
from phintys.graph.shared_variable import SharedVariable
from phintys.scalar.casting import Cast
from phintys.tensor import TensorConstant, TensorType
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.indexing.template import SCALAR, Slice
from phintys.tensor.indexing.update import IncSubtensor
from phintys.tensor.joining import Join
from phintys.tensor.products import Dot
from phintys.tensor.ranges import ARange
from phintys.tensor.reduce import Reduce
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import SpecifyShape

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph import Apply, Variable

    Texts = dict[type, dict[str, Callable[[Any], str]]]

__all__ = ["DIALECTS", "LEAVES", "Dialect"]

_SCALARS = {
    "abs": "abs_",
    "and_": "and_",
    "digamma": "psi",
    "ne": "neq",
    "rint": "round_half_to_even",
    "round_half_away": "round_half_away_from_zero",
    "reciprocal": "inv",
    "trigamma": "tri_gamma",
}
"""Names of scalar functions here, and in Theano and Aesara."""

_NEWER_SCALARS = {"and_": "and", "or_": "or", "ne": "neq", "rint": "roundhalftoeven"}
_NEWER_SCALARS |= {"digamma": "psi", "trigamma": "trigamma"}
"""Names of scalar functions here, and in PyTensor."""

_LONGEST = 20


def _value_text(data: Any, joint: str, strip: bool = False) -> str:
    """Return the value of a constant; one that is the same everywhere with its shape."""
    data = np.asarray(data)
    text = str(data)
    if data.ndim and data.size and (data == data.flat[0]).all():
        text = f"{data.shape} of {data.flat[0]}"
    return _shortened(text, joint, strip)


def _shortened(text: str, joint: str, strip: bool) -> str:
    if len(text) <= _LONGEST:
        return text
    head, tail = text[:10], text[-10:]
    return joint.join((head.strip(), tail.strip()) if strip else (head, tail))


def _size(size: int | None) -> str:
    return "?" if size is None else str(size)


def _sizes(shape: tuple[int | None, ...]) -> str:
    inside = ", ".join(map(_size, shape))
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


_BY_BROADCASTING = {
    (): "scalar",
    (False,): "vector",
    (False, True): "col",
    (True, False): "row",
    (False, False): "matrix",
}


def _theano_type(self: Any) -> str:
    flags = tuple(size == 1 for size in self.shape)
    named = _BY_BROADCASTING.get(flags)
    text = named or (str(flags) if any(flags) else f"{len(flags)}D")
    return f"TensorType({self.dtype}, {text})"


def _aesara_type(self: Any) -> str:
    return f"TensorType({self.dtype}, {_sizes(self.shape)})"


_pytensor_type_of_arrays = TensorType.__repr__


def _pytensor_type(self: Any) -> str:
    return _pytensor_type_of_arrays(self) if self.ndim else f"Scalar({self.dtype}, shape=())"


def _theano_constant(self: Any) -> str:
    return self.name or f"TensorConstant{{{_value_text(self.data, '..')}}}"


def _aesara_constant(self: Any) -> str:
    name = self.name or "TensorConstant"
    return f"{name}{{{_value_text(self.data, ' ... ', strip=True)}}}"


def _pytensor_constant(self: Any) -> str:
    text = _shortened(str(self.data), " ... ", strip=True)
    return text if self.name is None else f"{self.name}{{{text}}}"


# ---- Ops -----------------------------------------------------------------------------------------


def _scalar_name(op: Any) -> str:
    if isinstance(op, Cast):
        return f"Cast{{{op.dtype}}}"
    return _SCALARS.get(str(op), str(op))


def _theano_elemwise(self: Any) -> str:
    if self.name is not None:
        return self.name
    name = _scalar_name(self.scalar_op)
    if self.inplace_pattern:
        pairs = ", ".join(f"({out}, {arg})" for out, arg in self.inplace_pattern.items())
        return f"Elemwise{{{name.capitalize()}}}[{pairs}]"
    if name in {"sigmoid", "softplus"}:
        return name
    return f"Elemwise{{{name}}}" if name[0].isupper() else f"Elemwise{{{name},no_inplace}}"


def _pytensor_elemwise(self: Any) -> str:
    if self.name is not None:
        return self.name
    if isinstance(self.scalar_op, Cast):
        return f"Cast{{{self.scalar_op.dtype}}}"
    return _NEWER_SCALARS.get(str(self.scalar_op), str(self.scalar_op)).capitalize()


def _order(self: Any) -> str:
    return ",".join(str(one) for one in self.new_order)


def _theano_dim_shuffle(self: Any) -> str:
    return f"InplaceDimShuffle{{{_order(self)}}}"


def _pytensor_dim_shuffle(self: Any) -> str:
    """Name it by what it does to the dimensions."""
    order = [one for one in self.new_order if one != "x"]
    added = [place for place, one in enumerate(self.new_order) if one == "x"]
    dropped = [axis for axis in range(self.input_ndim) if axis not in order]
    if order == sorted(order) and not (added and dropped):
        if added:
            return f"ExpandDims{{{_axes(added)}}}"
        return f"Squeeze{{{_axes(dropped)}}}"
    if added or dropped:
        return f"DimShuffle{{order=[{_order(self)}]}}"
    if order == [1, 0]:
        return "MatrixTranspose"
    return f"Transpose{{axes={tuple(order)}}}"


def _axes(axes: Any) -> str:
    return f"axis={axes[0]}" if len(axes) == 1 else f"axes={list(axes)}"


_REDUCTIONS = {"add": "Sum", "mul": "Prod", "maximum": "Max", "minimum": "Min"}
_REDUCTIONS |= {"and_": "All", "or_": "Any"}


def _reduction(self: Any) -> str:
    return _REDUCTIONS.get(str(self.scalar_op), f"Reduce{{{self.scalar_op}}}")


def _theano_reduce(self: Any) -> str:
    facts = [] if self.axis is None else [f"axis={list(self.axis)}"]
    if _reduction(self) in {"Sum", "Prod"}:
        facts.append(f"acc_dtype={self.acc_dtype or self.dtype or 'float64'}")
    return f"{_reduction(self)}{{{', '.join(facts)}}}" if facts else _reduction(self)


def _pytensor_reduce(self: Any) -> str:
    axes = "axes=None" if self.axis is None else _axes(self.axis)
    return f"{_reduction(self)}{{{axes}}}"


def _index(entry: Any, number: str, bounds: tuple[str, str, str]) -> str:
    if not isinstance(entry, Slice):
        return number if isinstance(entry, int) or entry is SCALAR else str(entry)
    texts = ["" if one is None else name for one, name in zip(entry, bounds, strict=True)]
    return ":".join(texts[:2]) + (f":{texts[2]}" if texts[2] else "")


def _theano_subtensor(self: Any) -> str:
    entries = (_index(one, "int64", ("int64", "int64", "int64")) for one in self.idx_list)
    # A slice has all its colons there.
    texts = [one + ":" if one.count(":") == 1 else one for one in entries]
    return f"Subtensor{{{', '.join(texts)}}}"


def _pytensor_subtensor(self: Any) -> str:
    entries = [_index(one, "i", ("start", "stop", "step")) for one in self.idx_list]
    return f"Subtensor{{{', '.join(entries)}}}"


def _theano_update(self: Any) -> str:
    kind = "Set" if self.set_instead_of_inc else "Inc"
    inside = _theano_subtensor(self).partition("{")[2]
    return f"IncSubtensor{{{'Inplace' * bool(self.inplace)}{kind};{inside}"


def _pytensor_update(self: Any) -> str:
    kind = "Set" if self.set_instead_of_inc else "Inc"
    return f"{kind}{_pytensor_subtensor(self)}"


def _theano_graph(self: Any) -> str:
    return f"[{', '.join(as_string(self.inputs, self.outputs))}]"


def _graph(self: Any) -> str:
    return f"FunctionGraph({', '.join(as_string(self.inputs, self.outputs))})"


def _shared(self: Any) -> str:
    return self.name or f"<{self.type}>"


def _with_dtype(self: Any) -> str:
    return f"{type(self).__name__}{{dtype={self.dtype!r}}}"


def _named(text: str) -> Callable[[Any], str]:
    return lambda self: text


# ---- trees ---------------------------------------------------------------------------------------


class TheanoTrees(DebugPrinter):
    """Trees of Theano: bars, and the name of each result, ``''`` if it has none."""

    more: ClassVar[str] = ""
    fold: ClassVar[int] = 10**9

    def branches(self, level: int, is_last: bool) -> tuple[str, str]:
        return " |", "  " if is_last else " |"

    def node_label(self, variable: Variable, node: Apply) -> str:
        label = repr(node.op)
        if len(node.outputs) > 1:
            label += f".{variable.index}"
        label += (self.id_of(node) or " ") + f"{self.facts(variable)} {variable.name or ''!r}"
        if self.print_destroy_map and node.op.destroy_map:
            label += f" d={dict(node.op.destroy_map)}"
        if self.print_view_map and node.op.view_map:
            label += f" v={dict(node.op.view_map)}"
        place = self.order.get(node)
        return label + "   " + ("" if place is None else str(place))


class AesaraTrees(DebugPrinter):
    """Trees of Aesara: bars."""

    fold: ClassVar[int] = 10**9

    def branches(self, level: int, is_last: bool) -> tuple[str, str]:
        return " |", "  " if is_last else " |"


class PyTensorTrees(DebugPrinter):
    """Trees of PyTensor: branches that are three characters wide."""

    fold: ClassVar[int] = 10**9

    def branches(self, level: int, is_last: bool) -> tuple[str, str]:
        margin = "" if level else " "
        return (margin + "└─ ", margin + "   ") if is_last else (margin + "├─ ", margin + "│  ")


# ---- formulas ------------------------------------------------------------------------------------

_AS_OPERATORS = {"add", "mul", "sub", "true_div", "int_div", "neg", "pow"}


class _AsScalar(Printer):
    """Prints a constant array of one element, which was a number before it got dimensions."""

    def template(self, variable: Variable) -> Template:
        if not isinstance(variable, TensorConstant) or variable.data.size != 1:
            return Template([str(variable)])
        number = TensorConstant(TensorType(variable.type.dtype, ()), variable.data.reshape(()))
        return Template([str(number)])


LEAVES = _AsScalar()


class _AsInput(PatternPrinter):
    """Prints the input in place of the result."""

    def __init__(self) -> None:
        super().__init__("%(0)s")


def _theano_printer(variable: Any) -> Any:
    op = variable.owner.op
    if isinstance(op, Elemwise):
        name = _scalar_name(op.scalar_op)
        return _elementwise_printer(op, name, str(op))
    return _other_printer(op)


def _pytensor_printer(variable: Any) -> Any:
    op = variable.owner.op
    if isinstance(op, Elemwise) and isinstance(op.scalar_op, Cast):
        return FunctionPrinter(op.scalar_op.dtype)
    if isinstance(op, Elemwise):
        return _elementwise_printer(op, str(op), str(op))
    if isinstance(op, Reduce) and op.axis is None:
        return PatternPrinter(f"{_reduction(op).lower()}(%(0)s, axis=None)")
    if isinstance(op, Reduce):
        return PatternPrinter(f"{_reduction(op).lower()}(%(0)s, axis={op.axis})")
    return _other_printer(op)


def _elementwise_printer(op: Any, name: str, whole: str) -> Any:
    core = str(op.scalar_op)
    if core in _AS_OPERATORS:
        return None
    if core == "abs":
        return PatternPrinter("|%(0)s|")
    if core == "second":
        return FunctionPrinter("fill")
    return FunctionPrinter(whole if isinstance(op.scalar_op, Cast) else name)


def _other_printer(op: Any) -> Any:
    if isinstance(op, Dot):
        return OperatorPrinter("\\dot", 10.0, "left")
    if isinstance(op, DimShuffle):
        kept = [one for one in op.new_order if one != "x"]
        if kept == list(range(op.input_ndim)):
            return _AsInput()
        return (
            None
            if op.new_order == (1, 0)
            else PatternPrinter(f"DimShuffle{{{', '.join(map(str, op.new_order))}}}(%(0)s)")
        )
    return None


@record(frozen=True)
class Dialect:
    """The notation of a package.

    Attributes
    ----------
    types, constants
        The texts of types of arrays and of constant arrays.
    ops
        The texts of Ops by class.
    trees
        The class that writes trees.
    printer_of
        The printer of a variable in formulas; ``None`` for that of Phintys.
    graphs
        The text of a graph.
    numbers
        The version of NumPy whose arrays print like those of the documents.
    """

    types: Callable[[Any], str]
    constants: Callable[[Any], str]
    ops: dict[type, Callable[[Any], str]]
    trees: type[DebugPrinter]
    printer_of: Callable[[Any], Any]
    graphs: Callable[[Any], str]
    numbers: Any

    def texts(self) -> Texts:
        """Return the methods of each class that write as the package does."""
        return {
            TensorType: {"__repr__": self.types},
            TensorConstant: {"__str__": self.constants},
            SharedVariable: {"__str__": _shared},
            FunctionGraph: {"__str__": self.graphs, "__repr__": self.graphs},
            **{cls: {"__str__": text} for cls, text in self.ops.items()},
        }


_THEANO_OPS = {
    Elemwise: _theano_elemwise,
    DimShuffle: _theano_dim_shuffle,
    Reduce: _theano_reduce,
    Subtensor: _theano_subtensor,
    MakeVector: _with_dtype,
    ARange: _with_dtype,
    IncSubtensor: _theano_update,
    Join: _named("Join"),
    SpecifyShape: _named("SpecifyShape"),
    Dot: _named("dot"),
}
_PYTENSOR_OPS = {
    **_THEANO_OPS,
    Elemwise: _pytensor_elemwise,
    DimShuffle: _pytensor_dim_shuffle,
    Reduce: _pytensor_reduce,
    Subtensor: _pytensor_subtensor,
    IncSubtensor: _pytensor_update,
    Dot: _named("Dot"),
}

DIALECTS = {
    "theano": Dialect(
        _theano_type,
        _theano_constant,
        _THEANO_OPS,
        TheanoTrees,
        _theano_printer,
        _theano_graph,
        "1.13",
    ),
    "aesara": Dialect(
        _aesara_type, _aesara_constant, _THEANO_OPS, AesaraTrees, _theano_printer, _graph, "1.25"
    ),
    "pytensor": Dialect(
        _pytensor_type,
        _pytensor_constant,
        _PYTENSOR_OPS,
        PyTensorTrees,
        _pytensor_printer,
        _graph,
        "1.25",
    ),
}
"""The notations by package."""
