"""Methods of variables with an old signature, or that only the old packages had.

While an old package is installed, tensor variables have the methods of the table below. Variables
are the same objects everywhere, so their methods cannot differ between modules; the methods here
therefore accept all arguments that those of Phintys accept.
"""

from __future__ import annotations

import sys
from types import FrameType, ModuleType
from typing import Any

import numpy as np

import phintys.tensor as pt
from phintys.compat import (
    adapters,
    elementwise,
    exceptions,
    from_graph,
    registered,
    scalars,
    test_values,
    walks,
)
from phintys.compat.rewriters import clients
from phintys.compat.sparse import evaluated
from phintys.compat.texts import as_string
from phintys.compile import Function
from phintys.graph import FunctionGraph, Op, Variable
from phintys.graph.shared_variable import Container
from phintys.scalar import ScalarVariable
from phintys.tensor.variable import TensorMethods, defers_to

__all__ = ["METHODS", "add_methods", "borrow_methods", "return_methods"]

_core_array = TensorMethods.__array__
_core_eq = TensorMethods.__eq__
_core_ne = TensorMethods.__ne__
_core_bool = TensorMethods.__bool__
_core_round = TensorMethods.round
_core_toposort = FunctionGraph.toposort


def _bool(self: Any) -> bool:
    """Return ``True``, so that ``if x:`` tests whether ``x`` is a variable rather than ``None``.

    Comparisons behave as in Phintys: an error for ``a < b``.
    """
    if self.type.dtype == "bool" and self.owner is not None:
        return _core_bool(self)
    return True


def _eq(self: Any, other: Any) -> Any:
    """Compare: by identity in programs for the old packages, elsewhere element by element."""
    if _package_of(sys._getframe(1)) is not None:
        return True if self is other else NotImplemented
    return _core_eq(self, other)


def _ne(self: Any, other: Any) -> Any:
    """Compare, as :func:`_eq` does."""
    if _package_of(sys._getframe(1)) is not None:
        return False if self is other else NotImplemented
    return _core_ne(self, other)


def _package_of(frame: FrameType) -> str | None:
    """Return the old package of which a module, or a package that it is in, imports a module."""
    namespace: Any = frame.f_globals
    name = str(namespace.get("__name__"))
    if name.startswith("phintys."):
        return None
    while True:
        for value in list(namespace.values()):
            if isinstance(value, ModuleType):
                package = value.__name__.partition(".")[0]
                if package in _users:
                    return package
        name = name.rpartition(".")[0]
        namespace = vars(sys.modules[name]) if name in sys.modules else {}
        if not name:
            return None


def _toposort(self: Any) -> list[Any]:
    """Return the nodes of a graph in topological order: in old programs that of their package.

    An order that features ask for, so that nothing is overwritten too early, is that of Phintys.
    """
    nodes = _core_toposort(self)
    package = _package_of(sys._getframe(1))
    if package is None or self.orderings():
        return nodes
    order = walks.io_toposort_from_last if package == "pytensor" else walks.io_toposort
    found = order(self.inputs, self.outputs)
    return found if len(found) == len(nodes) else nodes  # of nodes that nothing reads yet


def _array(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return an array that holds a variable, so that ``np.sum([x, y])`` adds."""
    if dtype not in {None, np.dtype(object)}:
        return _core_array(self, dtype, copy)
    box = np.empty((), object)
    box[()] = self
    return box


def _round(self: Any, mode: Any = None, decimals: int = 0) -> Any:
    """Round; the first argument is a mode such as ``"half_to_even"``, or the number of decimals."""
    if isinstance(mode, str):
        options: dict[str, Any] = {"mode": mode}
        return pt.round(self, decimals, **options)
    return _core_round(self, decimals if mode is None else mode)


def _true_div(self: Any, other: Any) -> Any:
    return NotImplemented if defers_to(other) else elementwise.true_div(self, other)


def _true_div_reversed(self: Any, other: Any) -> Any:
    return elementwise.true_div(other, self)


def _method(name: str) -> Any:
    function = getattr(elementwise, name)

    def method(self: Any) -> Any:
        return function(self)

    method.__name__ = name
    method.__doc__ = f"Return ``{name}`` of each element."
    return method


_ELEMENTWISE = [
    *map(_method, ("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "ceil", "cos")),
    *map(_method, ("cosh", "deg2rad", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p")),
    *map(_method, ("log2", "rad2deg", "sin", "sinh", "sqrt", "tan", "tanh", "trunc")),
]


def _formulas(self: Any) -> str:
    """Return the formulas of a graph, rather than its number of nodes."""
    return f"FunctionGraph({', '.join(as_string(self.inputs, self.outputs))})"


def _outputs(self: Any) -> list[Any]:
    """Return the outputs of a function as it was asked for; each has a ``variable``."""
    return self.maker.outputs


def _data(self: Any) -> Any:
    """Return the value."""
    return self.value


def _set_data(self: Any, value: Any) -> None:
    self.value = value


METHODS: dict[str, Any] = {
    "__array__": _array,
    "__bool__": _bool,
    "__eq__": _eq,
    "__ne__": _ne,
    "__rtruediv__": _true_div_reversed,
    "__truediv__": _true_div,
    "flatten": adapters.flatten,
    "inc": adapters.inc_subtensor,
    "nonzero": pt.nonzero,
    "round": _round,
    "set": adapters.set_subtensor,
    "std": adapters.std,
    "var": adapters.var,
    **{function.__name__: function for function in _ELEMENTWISE},
}
"""Name of a method of tensor variables -> its replacement while an old package is installed."""

_PLACES: list[tuple[type, dict[str, Any]]] = [
    (TensorMethods, METHODS),
    (ScalarVariable, {"shape": property(scalars.shape)}),
    (
        Variable,
        {
            "clients": property(clients),
            "eval": test_values.as_one_step(evaluated),
            "get_test_value": test_values.get_test_value,
        },
    ),
    (Op, {"__call__": test_values.call, **from_graph.METHODS}),
    (FunctionGraph, {"__str__": _formulas, "toposort": _toposort}),
    (Function, {"outputs": property(_outputs)}),
    (Container, {"data": property(_data, _set_data)}),
]

_users: set[str] = set()
_before: list[tuple[type, str, Any]] = []
_ABSENT = object()


def borrow_methods(package: str) -> None:
    """Install the methods above on behalf of an old package."""
    if not _users:
        for cls, methods in _PLACES:
            _set(cls, methods)
        exceptions.widen()
    _users.add(package)


def add_methods(cls: type, methods: dict[str, Any]) -> None:
    """Add to the methods above, for a class whose module is imported when it is needed."""
    _PLACES.append((cls, methods))
    if _users:
        _set(cls, methods)


def _set(cls: type, methods: dict[str, Any]) -> None:
    for name, method in methods.items():
        _before.append((cls, name, vars(cls).get(name, _ABSENT)))
        setattr(cls, name, method)


def return_methods(package: str) -> None:
    """Restore the original methods and rewrites, once no old package is installed."""
    if package not in _users:
        return
    _users.discard(package)
    if _users:
        return
    for cls, name, method in _before:
        if method is _ABSENT:
            delattr(cls, name)
        else:
            setattr(cls, name, method)
    _before.clear()
    exceptions.narrow()
    registered.forget_all()
