"""Small functions and numbers that only the old packages had."""

from __future__ import annotations

import sys
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

import phintys.tensor as pt
from phintys.graph import Apply, Variable, applys_between, clone_replace, equal_computations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

__all__ = [
    "LOCAL_BITWIDTH",
    "PYTHON_INT_BITWIDTH",
    "apply_depends_on",
    "as_symbolic",
    "is_same_graph",
    "largest",
    "list_of_nodes",
    "may_share_memory",
    "smallest",
]

LOCAL_BITWIDTH = sys.maxsize.bit_length() + 1
"""How many bits an address has."""

PYTHON_INT_BITWIDTH = np.dtype(int).itemsize * 8
"""How many bits the integers have that NumPy makes of Python's."""


def as_symbolic(x: Any, name: str | None = None, **options: Any) -> Any:
    """Return a variable for a value; a variable of any Type is returned as it is."""
    return x if isinstance(x, Variable) else pt.as_tensor_variable(x, name=name, **options)


def is_same_graph(
    var1: Variable, var2: Variable, givens: Mapping[Variable, Variable] | None = None
) -> bool:
    """Return whether two variables are the same expression, with ``givens`` replaced in both.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.compat.helpers import is_same_graph
    >>> x, y = pt.dvector("x"), pt.dvector("y")
    >>> is_same_graph(x * 2, y * 2), is_same_graph(x * 2, y * 2, givens={y: x})
    (False, True)
    """
    one, other = clone_replace([var1, var2], dict(givens or {}))
    return equal_computations([one], [other])


def largest(*operands: Any) -> Any:
    """Return the elementwise maximum of any number of operands."""
    return reduce(pt.maximum, operands)


def smallest(*operands: Any) -> Any:
    """Return the elementwise minimum of any number of operands."""
    return reduce(pt.minimum, operands)


def may_share_memory(a: Any, b: Any, raise_other_type: bool = True) -> bool:
    """Return whether the memory of two arrays may overlap.

    Raises
    ------
    TypeError
        One is not an array, and ``raise_other_type``.
    """
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return pt.TensorType.may_share_memory(a, b)
    if raise_other_type:
        msg = f"may_share_memory takes arrays, got {type(a).__name__} and {type(b).__name__}."
        raise TypeError(msg)
    return False


def list_of_nodes(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Apply]:
    """Return the nodes that compute ``outputs`` from ``inputs``."""
    return list(applys_between(list(inputs), list(outputs)))


def apply_depends_on(apply: Apply, depends_on: Apply | Collection[Apply]) -> bool:
    """Return whether a node is computed from one of others, or is one."""
    wanted = {depends_on} if isinstance(depends_on, Apply) else set(depends_on)
    return not wanted.isdisjoint(applys_between([], apply.outputs))
