"""Static values of small integer expressions, such as sizes.

``x.reshape((x.shape[0], 6))`` should have a static shape where ``x`` has one. The expressions that
sizes are made of are followed for a few steps; only integers and
short integer vectors are computed, by the ``static_value`` of Ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.type import ScalarType
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.variable import Variable

    Known = int | tuple[int | None, ...] | None
    Rule = Callable[[Apply, Sequence[Known]], Known]

__all__ = ["known_int", "known_sizes"]

_MOST_STEPS = 64
_LONGEST = 64


def known_int(x: Variable) -> int | None:
    """Return the value of an integer scalar or 0-d tensor, or ``None`` if it is not known.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.tensor.known import known_int
    >>> x = pt.tensor("x", shape=(None, 3))
    >>> known_int(x.shape[1] * 2), known_int(x.shape[0])
    (6, None)
    """
    node = x.owner
    if node is None:
        if not isinstance(x, Constant):
            return None
    elif node.op.static_value is None:
        return None
    if not _is_integer(x):
        return None
    known = _known(x)
    return known if isinstance(known, int) else None


def known_sizes(vector: Variable) -> tuple[int | None, ...] | None:
    """Return the known elements of an integer vector.

    Returns
    -------
    tuple of int or None
        One entry for each element; ``None`` alone if even the length is unknown.
    """
    if not _is_integer(vector):
        return None
    if isinstance(vector, Constant):
        return tuple(vector.data.tolist()) if np.ndim(vector.data) == 1 else None
    known = _known(vector)
    if isinstance(known, tuple):
        return known
    type_: Any = vector.type
    unknown = getattr(type_, "shape", None)
    return (
        (None,) * unknown[0] if unknown and len(unknown) == 1 and unknown[0] is not None else None
    )


def _is_integer(x: Variable) -> bool:
    return isinstance(x.type, TensorType | ScalarType) and x.type.numpy_dtype.kind in "iu"


def _known(variable: Variable) -> Known:
    node = variable.owner
    if node is None:
        return _known_of_leaf(variable)
    rule = node.op.static_value
    if rule is not None and node.op.static_value_by_types:
        return rule(node, ())
    found: dict[Variable, Known] = {}
    stack = [variable]
    steps = 0
    while stack:
        current = stack[-1]
        if current in found:
            stack.pop()
            continue
        node = current.owner
        rule = None if node is None else node.op.static_value
        if rule is None or steps > _MOST_STEPS:
            found[current] = _known_of_leaf(current)
            continue
        assert node is not None
        if node.op.static_value_by_types:
            found[current] = rule(node, ())
            continue
        missing = [x for x in node.inputs if x not in found]
        if missing:
            stack.extend(missing)
            steps += len(missing)
            continue
        known = rule(node, [found[x] for x in node.inputs])
        found[current] = _unknown(current) if known is None else known
    return found[variable]


def _known_of_leaf(variable: Variable) -> Known:
    if not isinstance(variable, Constant) or not _is_integer(variable):
        return _unknown(variable)
    data = variable.data
    if np.ndim(data) == 0:
        return int(data)
    if data.ndim == 1 and data.size <= _LONGEST:
        return tuple(data.tolist())
    return None


def _unknown(variable: Variable) -> Known:
    """Return what follows from the type alone: the length of a vector, if static."""
    type_: Any = variable.type
    if not isinstance(type_, TensorType) or type_.ndim != 1 or type_.shape[0] is None:
        return None
    return (None,) * type_.shape[0] if type_.shape[0] <= _LONGEST else None
