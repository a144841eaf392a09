"""Printers with ``process(variable, state)``, and descriptions of graphs, as in the old packages.

An old printer asks the state for the texts of the inputs. Here it gets a mark for each of them, and
what it returns is a template with places at the marks: so nothing is written twice, and the depth
of an expression is not that of calls.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.compat.utilities import Scratchpad
from phintys.graph import Variable
from phintys.graph.pretty import Printer as CorePrinter
from phintys.graph.pretty import Slot, Template
from phintys.graph.variable import require_owner

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

__all__ = [
    "VALID_ASSOC",
    "ConstantPrinter",
    "DefaultPrinter",
    "FunctionPrinter",
    "IgnorePrinter",
    "LeafPrinter",
    "OperatorPrinter",
    "PatternPrinter",
    "Printer",
    "PrinterState",
    "as_core_printer",
    "char_from_number",
    "constant_printer",
    "default_printer",
    "greek",
    "hex_digest",
    "leaf_printer",
    "min_informative_str",
    "position_independent_str",
    "set_precedence",
    "special",
    "use_ascii",
    "var_descriptor",
]

VALID_ASSOC = {"left", "right", "either"}

use_ascii = True

special = {"middle_dot": "\\dot", "big_sigma": "\\Sigma"}

greek: dict[str, str] = {}
"""Texts in place of the names of variables."""

_MARK = re.compile("\0(\\d+)\0")


class _Marks:
    """Stands for the printer of inputs: gives a mark for each."""

    def __init__(self) -> None:
        self.shown: list[Variable] = []

    def process(self, r: Variable, pstate: Any = None) -> str:
        """Return a mark, in place of which the text is written later."""
        self.shown.append(r)
        return f"\0{len(self.shown) - 1}\0"


class PrinterState(Scratchpad):
    """What printers hand on: ``pprinter``, which processes inputs, and ``precedence``."""

    def __init__(self, props: Any = None, **more_props: Any) -> None:
        super().__init__()
        given = {} if props is None else props
        self.__dict__.update(given.__dict__ if isinstance(given, Scratchpad) else given)
        self.__dict__.update(more_props)
        self.memo: dict[Any, str] = {}


@contextlib.contextmanager
def set_precedence(pstate: Any, precedence: float = -1000) -> Generator[None]:
    """Set how tightly what is around an input binds, until the end of a ``with`` block."""
    before = getattr(pstate, "precedence", None)
    pstate.precedence = precedence
    try:
        yield
    finally:
        pstate.precedence = before


class Printer(CorePrinter):
    """Base of printers: a class that is derived from it defines ``process``."""

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text of a variable; ``pstate.pprinter.process(x, pstate)`` is that of x."""
        msg = f"{type(self).__name__} must define process(output, pstate)."
        raise NotImplementedError(msg)

    def template(self, variable: Variable) -> Template:
        """Return the text that ``process`` writes, with places for inputs."""
        return _template(self, variable)


def _template(printer: Any, variable: Variable) -> Template:
    marks = _Marks()
    text = printer.process(variable, PrinterState(pprinter=marks))
    parts: list[str | Slot] = []
    for place, piece in enumerate(_MARK.split(text)):
        if place % 2:
            parts.append(Slot(marks.shown[int(piece)]))
        elif piece:
            parts.append(piece)
    return Template(parts)


class _Adapted(CorePrinter):
    """A printer that has ``process`` only."""

    def __init__(self, printer: Any) -> None:
        self.printer = printer

    def template(self, variable: Variable) -> Template:
        """Return the text that ``process`` writes, with places for inputs."""
        return _template(self.printer, variable)


def as_core_printer(printer: Any) -> Any:
    """Return a printer with ``template`` for any object with ``process``."""
    return printer if hasattr(printer, "template") else _Adapted(printer)


def _inputs_of(output: Any, what: str) -> list[Any]:
    if output.owner is None:
        msg = f"{what} cannot represent a variable that is not the result of an operation"
        raise TypeError(msg)
    return output.owner.inputs


class OperatorPrinter(Printer):
    """Inputs with a symbol between them, in parentheses.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.printed import pprint
    >>> from phintys.compat.printers import OperatorPrinter
    >>> x, y, pretty = pt.dscalar("x"), pt.dscalar("y"), pprint.clone()
    >>> pretty.assign(pt.add, OperatorPrinter("plus", -2, "either"))
    >>> pretty(x + y), pprint(x + y)
    ('(x plus y)', 'x + y')
    """

    def __init__(self, operator: str, precedence: float, assoc: str = "left") -> None:
        if assoc not in VALID_ASSOC:
            msg = f"assoc must be one of {', '.join(sorted(VALID_ASSOC))}; got {assoc!r}."
            raise ArgumentError(msg)
        self.operator, self.precedence, self.assoc = operator, precedence, assoc

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        inputs = _inputs_of(output, f"operator {self.operator}")
        texts = [pstate.pprinter.process(x, pstate) for x in inputs]
        if len(texts) == 1:
            return f"({self.operator}{texts[0]})"
        return f"({f' {self.operator} '.join(texts)})"


class PatternPrinter(Printer):
    """A text with ``%(i)s`` in place of input i: one pattern an output.

    A pattern may be a tuple of a text and precedences, which have no effect: inputs that need
    parentheses have them.
    """

    def __init__(self, *patterns: Any) -> None:
        self.patterns = [one if isinstance(one, str) else one[0] for one in patterns]

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        inputs = _inputs_of(output, f"Patterns {self.patterns}")
        texts = {str(i): pstate.pprinter.process(x, pstate) for i, x in enumerate(inputs)}
        return self.patterns[output.owner.outputs.index(output)] % texts


class FunctionPrinter(Printer):
    """``name(inputs, key=attribute of the Op)``: a name for each output."""

    def __init__(self, names: Any, *more: Any, keywords: Sequence[str] | None = None) -> None:
        # Theano had one name an argument, and the newer packages have lists.
        if isinstance(names, str):
            names = [names, *more]
        elif more:
            (keywords,) = more
        self.names, self.keywords = list(names), list(keywords or ())

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        inputs = _inputs_of(output, f"function {self.names}")
        node = output.owner
        given = [pstate.pprinter.process(x, pstate) for x in inputs]
        given += [f"{key}={getattr(node.op, key)}" for key in self.keywords]
        return f"{self.names[node.outputs.index(output)]}({', '.join(given)})"


class IgnorePrinter(Printer):
    """The first input, as if the Op were not there."""

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        return pstate.pprinter.process(_inputs_of(output, "IgnorePrinter")[0], pstate)


class LeafPrinter(Printer):
    """The name of a variable."""

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        return greek.get(output.name, str(output))


class ConstantPrinter(Printer):
    """The value of a constant."""

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        return str(output.data)


class DefaultPrinter(Printer):
    """``Op(inputs)``, or the name of a leaf."""

    def process(self, output: Any, pstate: Any) -> str:
        """Return the text."""
        if output.owner is None:
            return leaf_printer.process(output, pstate)
        texts = [pstate.pprinter.process(x, pstate) for x in output.owner.inputs]
        return f"{output.owner.op}({', '.join(texts)})"


leaf_printer, constant_printer, default_printer = LeafPrinter(), ConstantPrinter(), DefaultPrinter()


# ---- descriptions --------------------------------------------------------------------------------


def char_from_number(number: int) -> str:
    """Return a number in letters, to the base 26.

    Examples
    --------
    >>> from phintys.compat.printers import char_from_number
    >>> [char_from_number(number) for number in (0, 25, 26)]
    ['A', 'Z', 'BA']
    """
    higher, digit = divmod(number, 26)
    return (char_from_number(higher) if higher else "") + chr(ord("A") + digit)


def hex_digest(x: np.ndarray[Any, Any]) -> str:
    """Return a text that differs between arrays of different bytes, strides or shapes."""
    strides, shape = ",".join(map(str, x.strides)), ",".join(map(str, x.shape))
    return f"{hashlib.sha256(x.tobytes()).hexdigest()}|strides=[{strides}]|shape=[{shape}]"


def _tags() -> Iterator[str]:
    number = 0
    while True:
        yield char_from_number(number)
        number += 1


def min_informative_str(obj: Any, indent_level: int = 0) -> str:
    """Return a line for each part of an expression, down to what has a name.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.printers import min_informative_str
    >>> x, y = pt.dscalar("x"), pt.dscalar("y")
    >>> print(min_informative_str(pt.exp(x) * y))
    A. Mul
     B. Exp
      C. x
     D. y
    """
    tags, seen = _tags(), dict[int, str]()
    lines: list[str] = []
    stack = [(obj, indent_level)]
    while stack:
        one, level = stack.pop()
        margin = " " * level
        if id(one) in seen:
            lines.append(f"{margin}<{seen[id(one)]}>")
            continue
        tag = seen[id(one)] = next(tags)
        owner = getattr(one, "owner", None)
        if isinstance(one, np.ndarray):
            text = "<ndarray>"
        elif getattr(one, "name", None) is not None:
            text = one.name
        elif owner is not None:
            text = str(owner.op)
            stack.extend((x, level + 1) for x in reversed(owner.inputs))
        else:
            text = str(one)
        lines.append(f"{margin}{tag}. {text}")
    return "\n".join(lines)


def var_descriptor(obj: Any) -> str:
    """Return a line that says how a variable is computed.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.printers import var_descriptor
    >>> x = pt.dscalar("x")
    >>> var_descriptor(pt.exp(x) * x)
    'A=Mul(B=Exp(C=x),<C>)'
    """
    tags, seen = _tags(), dict[int, str]()
    written: list[str] = []
    stack: list[Any] = [obj]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            written.append(one)
        elif id(one) in seen:
            written.append(f"<{seen[id(one)]}>")
        else:
            tag = seen[id(one)] = next(tags)
            parts = [f"{tag}=", *_described(one)]
            stack.extend(reversed(parts))
    return "".join(written)


def _described(one: Any) -> list[Any]:
    """Return the text of an object, with its inputs in their places."""
    if isinstance(one, np.ndarray):
        strides = ",".join(map(str, one.strides))
        digest = hashlib.sha256(np.ascontiguousarray(one).data).hexdigest()
        return [f"<ndarray:strides=[{strides}],digest={digest}>"]
    if isinstance(one, Variable) and one.owner is not None:
        parts: list[Any] = [f"{require_owner(one).op}("]
        for place, x in enumerate(one.owner.inputs):
            parts += [",", x] if place else [x]
        return [*parts, ")"]
    name = getattr(one, "name", None)
    if name is not None:
        return [name]
    text = str(one)
    return [position_independent_str(one) if " at 0x" in text else text]


def position_independent_str(obj: Any) -> str:
    """Return the text of a variable without its address."""
    if not isinstance(obj, Variable):
        msg = f"obj must be a Variable, got {obj!r} of type {type(obj).__name__}."
        raise NotImplementedError(msg)
    return f"pytensor_var{{type={obj.type}}}"
