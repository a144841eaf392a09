"""What is printed, as an old package prints it: types, variables, Ops, trees, formulas and errors.

``python -m phintys.compat`` chooses the package that the script imports; :func:`print_as` does so
for other programs. What is printed is that of the graphs of Phintys, in the notation of the
package.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import ConfigError, PhintysError
from phintys._base.records import record
from phintys.compat.dialects import DIALECTS, LEAVES
from phintys.compat.heads import with_old_head
from phintys.compat.old_classes import StandsFor
from phintys.compat.printers import as_core_printer
from phintys.graph import Op, printing
from phintys.graph.pretty import PrettyPrinter, Template
from phintys.graph.pretty import pprint as core_pprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from phintys.compat.dialects import Dialect
    from phintys.graph import Variable

__all__ = ["debug_text", "pprint", "print_as"]


@record()
class _State:
    dialect: Dialect | None
    before: list[tuple[type, str, Any]]
    numbers: dict[str, Any]


_state = _State(None, [], {})
_ABSENT = object()


def print_as(package: str | None) -> None:
    """Print as an old package does from now on.

    Parameters
    ----------
    package
        ``"theano"``, ``"aesara"`` or ``"pytensor"``; ``None`` to print as Phintys does.

    Raises
    ------
    ConfigError
        There is no such package.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.printed import pprint, print_as
    >>> x, y = pt.dmatrix("x"), pt.dmatrix("y")
    >>> print_as("theano")
    >>> x.type, (x + y).owner.op, pprint(x + y)
    (TensorType(float64, matrix), Elemwise{add,no_inplace}, '(x + y)')
    >>> print_as(None)
    >>> x.type, (x + y).owner.op, pprint(x + y)
    (Matrix(float64, shape=(?, ?)), Add, 'x + y')
    """
    if package is not None and package not in DIALECTS:
        msg = f"print_as() must get one of {', '.join(DIALECTS)} or None; got {package!r}."
        raise ConfigError(msg)
    _restore()
    if package is None:
        return
    dialect = _state.dialect = DIALECTS[package]
    errors: Any = {PhintysError: {"__str__": _message_of(package)}}
    for cls, methods in (dialect.texts() | errors).items():
        for name, method in methods.items():
            _state.before.append((cls, name, vars(cls).get(name, _ABSENT)))
            setattr(cls, name, method)
    _state.numbers = dict(np.get_printoptions())
    np.set_printoptions(legacy=dialect.numbers)


def _message_of(package: str) -> Callable[[PhintysError], str]:
    def message(self: PhintysError) -> str:
        notes = getattr(self, "__notes__", ())
        return with_old_head(Exception.__str__(self), notes, package)

    return message


def _restore() -> None:
    for cls, name, method in reversed(_state.before):
        if method is _ABSENT:
            delattr(cls, name)
        else:
            setattr(cls, name, method)
    if _state.dialect is not None:
        np.set_printoptions(**_state.numbers)
    _state.before.clear()
    _state.dialect = None


def debug_text(obj: Any, options: dict[str, Any]) -> str | None:
    """Return the tree of ``debugprint`` in the notation of the package; ``None`` without one."""
    if _state.dialect is None:
        return None
    return printing.tree_text(_state.dialect.trees, obj, **options)


class OldPrettyPrinter(PrettyPrinter):
    """``pprint``: that of Phintys, or, while it prints as an old package, in its notation.

    Printers that are assigned to the one are assigned to the other.
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_op = core_pprint._by_op
        self._by_class = core_pprint._by_class
        self._by_predicate = core_pprint._by_predicate
        self.late = core_pprint.late
        self._assigned: set[Any] = set()

    def assign(self, which: Any, printer: Any) -> None:
        """Choose a printer for an Op, a class of Ops, or by a function ``(state, variable)``."""
        super().assign(_condition(which), as_core_printer(printer))
        self._assigned.add(which)

    def clone(self) -> OldPrettyPrinter:
        """Return a printer of its own with the printers that are assigned by now."""
        other = OldPrettyPrinter()
        other._by_op, other._by_class = dict(self._by_op), dict(self._by_class)
        other._by_predicate = list(self._by_predicate)
        other._assigned = set(self._assigned)
        return other

    def clone_assign(self, condition: Any, printer: Any) -> OldPrettyPrinter:
        """Return a copy with one more printer."""
        other = self.clone()
        other.assign(condition, printer)
        return other

    def process(self, r: Variable, pstate: Any = None) -> str:
        """Return the text of an expression, for a printer that asks for it."""
        if pstate is not None and getattr(pstate, "pprinter", self) is not self:
            return pstate.pprinter.process(r, pstate)
        return self(r)

    def process_graph(
        self, inputs: Any, outputs: Any, updates: Any = None, display_inputs: bool = False
    ) -> str:
        """Return a line for each output and update, after one for the inputs if these are asked."""
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]
        new = {after: before for before, after in (updates or {}).items()}
        lines: list[str] = []
        if display_inputs:
            shown = ", ".join(self(x) for x in [*inputs, *(updates or {})])
            lines.append(f"inputs: {shown}")
        for output in [*outputs, *new]:
            name = self(new[output]) if output in new else output.name
            text = self(output)
            lines.append(text if name is None or name == text else f"{name} <- {text}")
        return "\n".join(lines)

    def printer_of(self, variable: Variable) -> Any:
        """Return the printer for a variable: of the package, unless one was assigned."""
        node = variable.owner
        if _state.dialect is not None and node is None:
            return LEAVES
        if _state.dialect is None or node is None or node.op in self._assigned:
            return super().printer_of(variable)
        return _state.dialect.printer_of(variable) or super().printer_of(variable)

    def _lines(self, root: Variable) -> Iterator[str]:
        if _state.dialect is None:
            yield from super()._lines(root)
            return
        templates = {
            variable: _in_parentheses(template)
            for variable, template in self._templates(root).items()
        }
        yield self._text(root, templates, {})


def _condition(which: Any) -> Any:
    """Return a function of a variable for one of a state and a variable, as it used to be."""
    if isinstance(which, StandsFor):
        return lambda variable: isinstance(variable.owner.op, which)
    if isinstance(which, Op | type) or len(signature(which).parameters) == 1:
        return which
    return lambda variable: which(None, variable)


def _in_parentheses(template: Template) -> Template:
    """Return a template with parentheses around each operator, as the old packages write them."""
    if template.precedence == float("inf") or len(template.parts) == 1:
        return Template(template.parts)
    return Template(["(", *template.parts, ")"])


pprint = OldPrettyPrinter()
"""The printer under its old names, ``pprint`` and ``pp``."""
