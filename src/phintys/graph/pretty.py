"""Expressions as text, in the notation of mathematics: ``pprint``."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from phintys._base.errors import TypeContractError
from phintys._base.uninterrupted import import_whole
from phintys.graph.op import Op
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Literal

    from phintys._base.late import LateModule

PRECEDENCE = {
    "switch": 1.0,
    "or": 2.0,
    "and": 3.0,
    "comparison": 4.0,
    "|": 5.0,
    "^": 6.0,
    "&": 7.0,
    "shift": 8.0,
    "+": 9.0,
    "*": 10.0,
    "unary": 11.0,
    "**": 12.0,
    "call": inf,
}
"""How tightly operators bind, as in Python; the larger the tighter. Any numbers between will do."""

_TIGHTER = 0.25  # an operand that must bind more tightly than its operator, by less than a level

# From this many leaves and operators on, shared parts of an expression get names.
_LARGE = 120


class Slot(NamedTuple):
    """A place for a variable in a :class:`Template`.

    Parameters
    ----------
    variable
        What to print there.
    precedence
        How tightly it must bind to go without parentheses.
    """

    variable: Variable
    precedence: float = 0.0


class Template(NamedTuple):
    """The text of one variable, with places for what it is computed from.

    Parameters
    ----------
    parts
        Strings and places, from left to right.
    precedence
        How tightly the text binds.
    """

    parts: Sequence[str | Slot]
    precedence: float = inf


class Printer:
    """Base of printers: what turns a computed variable into a :class:`Template`."""

    def template(self, variable: Variable) -> Template:
        """Return the template for a variable.

        Parameters
        ----------
        variable
            A computed variable; ``variable.owner`` is the node.
        """
        msg = f"{type(self).__name__} must define template(variable)."
        raise TypeContractError(msg)


def _inputs(variable: Variable) -> list[Variable]:
    return [] if variable.owner is None else variable.owner.inputs


def _call(name: str, variable: Variable) -> Template:
    parts: list[str | Slot] = [f"{name}("]
    for position, given in enumerate(_inputs(variable)):
        if position:
            parts.append(", ")
        parts.append(Slot(given))
    parts.append(")")
    return Template(parts)


def _leaf(variable: Variable) -> Template:
    if not isinstance(variable, Constant) or variable.name is not None:
        return Template([str(variable)])
    text = " ".join(str(variable.data).split())
    limit = 40
    if len(text) > limit:
        text = f"{text[: limit // 2]} ... {text[-limit // 4 :]}"
    return Template([text], PRECEDENCE["unary"] if text.startswith("-") else inf)


class DefaultPrinter(Printer):
    """``Op(inputs)``, with ``.i`` if there are several outputs; leaves by name, or by value."""

    def template(self, variable: Variable) -> Template:
        node = variable.owner
        if node is None:
            return _leaf(variable)
        call = _call(str(node.op), variable)
        if len(node.outputs) == 1:
            return call
        return Template([*call.parts, f".{variable.index}"])


class FunctionPrinter(Printer):
    """``name(inputs)``.

    Parameters
    ----------
    names
        A name for each output of the Op, or for its only one.
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    def template(self, variable: Variable) -> Template:
        return _call(self.names[variable.index or 0], variable)


def _same_op(one: Variable, other: Variable) -> bool:
    return one.owner is not None and other.owner is not None and one.owner.op == other.owner.op


class OperatorPrinter(Printer):
    """Inputs with a symbol between them; before it if there is only one.

    Parameters
    ----------
    symbol
        Such as ``"+"``.
    precedence
        How tightly it binds; see :data:`PRECEDENCE`.
    associativity
        Which operand goes without parentheses if it is made by an operator that binds as tightly:
        the first (``"left"``), the last (``"right"``), or ``"none"``; the first and those made by
        the same Op (``"either"``).
    """

    def __init__(
        self,
        symbol: str,
        precedence: float,
        associativity: Literal["left", "right", "either", "none"] = "left",
    ) -> None:
        if associativity not in {"left", "right", "either", "none"}:
            msg = (
                "The associativity of an OperatorPrinter is 'left', 'right', 'either' or 'none', "
                f"got {associativity!r}."
            )
            raise TypeContractError(msg)
        self.symbol = symbol
        self.precedence = precedence
        self.associativity = associativity

    def template(self, variable: Variable) -> Template:
        inputs = _inputs(variable)
        last = len(inputs) - 1
        parts: list[str | Slot] = [self.symbol] if last <= 0 else []
        for position, given in enumerate(inputs):
            if position:
                parts.append(f" {self.symbol} ")
            may_equal = (
                (self.associativity in {"left", "either"} and position == 0)
                or (self.associativity == "right" and position == last)
                # a * (b * c) is a * b * c, but a * (b // c) is not a * b // c
                or (self.associativity == "either" and _same_op(given, variable))
            )
            needed = self.precedence if may_equal else self.precedence + _TIGHTER
            parts.append(Slot(given, needed))
        return Template(parts, self.precedence)


class PatternPrinter(Printer):
    """A text with ``%(i)s`` in place of input ``i``.

    Parameters
    ----------
    patterns
        A pattern for each output of the Op, or for its only one.
    precedence
        How tightly the text binds; by default it never needs parentheses.
    inner
        How tightly an input must bind to go without parentheses; or this for each input.

    Examples
    --------
    >>> absolute = PatternPrinter("|%(0)s|")
    >>> transpose = PatternPrinter("%(0)s.T", inner=PRECEDENCE["call"])
    >>> negative = PatternPrinter(
    ...     "-%(0)s", precedence=PRECEDENCE["unary"], inner=PRECEDENCE["unary"]
    ... )
    """

    def __init__(
        self, *patterns: str, precedence: float = inf, inner: float | Sequence[float] = 0.0
    ) -> None:
        self.patterns = patterns
        self.precedence = precedence
        self.inner = inner

    def template(self, variable: Variable) -> Template:
        inputs = _inputs(variable)
        parts: list[str | Slot] = []
        pieces = re.split(r"%\((\d+)\)s", self.patterns[variable.index or 0])
        for place, piece in enumerate(pieces):
            if place % 2:
                inner = self.inner
                needed = inner if isinstance(inner, float | int) else inner[int(piece)]
                parts.append(Slot(inputs[int(piece)], needed))
            elif piece:
                parts.append(piece)
        return Template(parts, self.precedence)


class PrettyPrinter:
    """Prints expressions, by printers that can be assigned to Ops.

    Nothing is cut, whatever the depth. In a large expression, parts that occur several times get
    names and lines of their own, since written out their number may be astronomic.

    Attributes
    ----------
    late
        Modules that assign printers when they are imported. That is when an expression is first
        written, or a printer is assigned by another module. When one is first written in LaTeX,
        their functions ``assign_notations(printer)`` are called.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, add, square = Type(), Op(), Op()
    >>> pretty = PrettyPrinter()
    >>> pretty.assign(add, OperatorPrinter("+", PRECEDENCE["+"], "either"))
    >>> pretty.assign(square, PatternPrinter("%(0)s²", inner=PRECEDENCE["**"]))
    >>> x, y = anything("x"), anything("y")
    >>> total = Apply(add, [x, y], [anything()]).out
    >>> pretty(Apply(square, [total], [anything()]).out)
    '(x + y)²'
    """

    parentheses = ("(", ")")
    """What stands around operands that bind less tightly than their operator."""

    def __init__(self) -> None:
        self._by_op: dict[Op, Printer] = {}
        self._by_class: dict[type[Op], Printer] = {}
        self._by_predicate: list[tuple[Callable[[Variable], bool], Printer]] = []
        self.late: list[LateModule] = []
        self.default = DefaultPrinter()

    def _assign_all(self) -> None:
        for module in self.late:
            import_whole(module.__name__)

    def assign(self, which: Op | type[Op] | Callable[[Variable], bool], printer: Printer) -> None:
        """Choose a printer for some variables.

        An Op goes before a predicate, a predicate before a class, a class before its bases, and
        what is assigned later before what is assigned earlier.

        Parameters
        ----------
        which
            An Op (for all that are equal to it), a class of Ops, or a function that tells of a
            computed variable whether it is meant.
        printer
            How to print.
        """
        self._assign_all()
        if isinstance(which, Op):
            self._by_op[which] = printer
        elif isinstance(which, type):
            self._by_class[which] = printer
        else:
            self._by_predicate.insert(0, (which, printer))

    def printer_of(self, variable: Variable) -> Printer:
        """Return the printer for a variable."""
        self._assign_all()
        node = variable.owner
        if node is None:
            return self.default
        found = self._by_op.get(node.op)
        if found is not None:
            return found
        for matches, printer in self._by_predicate:
            if matches(variable):
                return printer
        for cls in type(node.op).__mro__:
            if cls in self._by_class:
                return self._by_class[cls]
        return self.default

    def __call__(self, graph: Variable | Iterable[Variable]) -> str:
        """Return the text of an expression, or of several, one a line.

        Parameters
        ----------
        graph
            A variable, or several.
        """
        variables = [graph] if isinstance(graph, Variable) else list(graph)
        for variable in variables:
            if not isinstance(variable, Variable):  # pyright: ignore[reportUnnecessaryIsInstance]
                msg = f"pprint takes variables, got {variable!r} of type {type(variable)}."
                raise TypeContractError(msg)
        return "\n".join(line for variable in variables for line in self._lines(variable))

    def brief(self, variable: Variable, most: int = 40) -> str:
        """Return the text of a short expression, and of another one its Op: ``str(variable)``.

        Messages name operands in this way. No more of a graph is looked at than is written.

        Parameters
        ----------
        variable
            What to write.
        most
            The number of characters that a text may have.

        Examples
        --------
        >>> import phintys, phintys.tensor as pt
        >>> x = pt.dmatrix("x")
        >>> phintys.pprint.brief(x.T @ x), phintys.pprint.brief(x.T @ x, most=5)
        ('x.T @ x', 'Dot.0')
        """
        length = 0
        templates: dict[Variable, Template] = {}
        stack = [variable]
        while stack and length <= most:
            part = stack.pop()
            if part not in templates:
                templates[part] = self._named_template(part)
            for inner in templates[part].parts:
                if isinstance(inner, Slot):
                    stack.append(inner.variable)
                else:
                    length += len(inner)
        return str(variable) if length > most else self._text(variable, templates, {})

    def _named_template(self, variable: Variable) -> Template:
        if variable.name is not None:
            return Template([variable.name])
        return self.printer_of(variable).template(variable)

    def _lines(self, root: Variable) -> Iterator[str]:
        templates = self._templates(root)
        names = self._names(root, templates)
        for variable, name in names.items():
            yield self._definition(name, self._text(variable, templates, names))
        yield self._text(root, templates, names)

    def _definition(self, name: str, text: str) -> str:
        return f"{name} = {text}"

    def _templates(self, root: Variable) -> dict[Variable, Template]:
        """Return the templates of all variables that occur, each after those that it shows."""
        templates: dict[Variable, Template] = {}
        begun: dict[Variable, Template] = {}
        stack = [root]
        while stack:
            variable = stack[-1]
            if variable in templates:
                stack.pop()
            elif variable in begun:
                templates[variable] = begun[variable]
                stack.pop()
            else:
                template = begun[variable] = self.printer_of(variable).template(variable)
                shown = [part.variable for part in template.parts if isinstance(part, Slot)]
                stack.extend(other for other in reversed(shown) if other not in begun)
        return templates

    def _names(self, root: Variable, templates: dict[Variable, Template]) -> dict[Variable, str]:
        """Return names for the parts that occur several times, if the whole is large."""
        size: dict[Variable, int] = {}
        occurrences: dict[Variable, int] = {}
        for variable, template in templates.items():
            size[variable] = 1
            for part in template.parts:
                if isinstance(part, Slot):
                    size[variable] += size[part.variable]
                    occurrences[part.variable] = occurrences.get(part.variable, 0) + 1
            size[variable] = min(size[variable], _LARGE)  # of interest only up to here
        if size[root] < _LARGE:
            return {}
        shared = [
            variable
            for variable in templates
            if occurrences.get(variable, 0) > 1 and variable.owner is not None
        ]
        taken = {variable.name for variable in templates}
        free = (name for count in _count() if (name := f"t{count}") not in taken)
        return dict(zip(shared, free, strict=False))

    def _text(
        self, root: Variable, templates: dict[Variable, Template], names: dict[Variable, str]
    ) -> str:
        before, behind = self.parentheses
        written: list[str] = []
        stack: list[str | Slot] = list(templates[root].parts)[::-1]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                written.append(part)
                continue
            name = names.get(part.variable)
            if name is not None:
                written.append(name)
                continue
            template = templates[part.variable]
            if template.precedence < part.precedence:
                stack.append(behind)
                stack.extend(reversed(template.parts))
                stack.append(before)
            else:
                stack.extend(reversed(template.parts))
        return "".join(written)


def _count() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


pprint = PrettyPrinter()
"""The printer that all use; rooms above assign printers for their Ops to it."""
