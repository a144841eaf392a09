"""Static values of small integer expressions, such as sizes.

``x.reshape((x.shape[0], 6))`` should have a static shape where ``x`` has one. The expressions that
sizes are made of are followed for a few steps, by rules registered for the Ops; only integers and
short integer vectors are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from phintys.graph.variable import Constant
from phintys.scalar.type import ScalarType
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.scalar_bridge import ScalarFromTensor, TensorFromScalar
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable

    Known = int | tuple[int | None, ...] | None
    Rule = Callable[[Apply, Sequence[Known]], Known]

__all__ = ["known_int", "known_sizes", "register_knowledge"]

_MOST_STEPS = 64
_LONGEST = 64


class _Rule(NamedTuple):
    function: Rule
    reads_inputs: bool


_RULES: dict[type[Op], _Rule] = {}


def register_knowledge(op_class: type[Op], rule: Rule, reads_inputs: bool = True) -> None:
    """Register how the static value of an Op's output is found.

    Parameters
    ----------
    op_class
        Class of the Op; the rule does not apply to subclasses.
    rule
        ``rule(node, known_inputs)`` returns an int for a 0-d output, a tuple of ints and Nones for
        a vector, ``None`` if nothing is known. ``known_inputs`` has the same for each input.
    reads_inputs
        Whether the rule needs ``known_inputs``; otherwise they are not computed, and it gets an
        empty tuple.
    """
    _RULES[op_class] = _Rule(rule, reads_inputs)


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
    elif type(node.op) not in _RULES:
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
    rule = _RULES.get(type(node.op))
    if rule is not None and not rule.reads_inputs:
        return rule.function(node, ())
    found: dict[Variable, Known] = {}
    stack = [variable]
    steps = 0
    while stack:
        current = stack[-1]
        if current in found:
            stack.pop()
            continue
        node = current.owner
        rule = None if node is None else _RULES.get(type(node.op))
        if rule is None or steps > _MOST_STEPS:
            found[current] = _known_of_leaf(current)
            continue
        assert node is not None
        if not rule.reads_inputs:
            found[current] = rule.function(node, ())
            continue
        missing = [x for x in node.inputs if x not in found]
        if missing:
            stack.extend(missing)
            steps += len(missing)
            continue
        known = rule.function(node, [found[x] for x in node.inputs])
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


def _know_same(node: Any, inputs: Sequence[Known]) -> Known:
    return inputs[0]


def _know_dimshuffle(node: Any, inputs: Sequence[Known]) -> Known:
    (known,) = inputs
    order: Any = node.op.new_order
    if order == ("x",):
        return (known,) if isinstance(known, int) else None
    if order == () and isinstance(known, tuple) and len(known) == 1:
        return known[0]
    return known if order in {(), (0,)} else None


def _know_elemwise(node: Any, inputs: Sequence[Known]) -> Known:
    """Compute with the op itself, in the dtypes of the graph."""
    output = node.outputs[0].type
    if len(node.outputs) != 1 or output.ndim > 1 or output.numpy_dtype.kind not in "iu":
        return None
    values: list[Any] = []
    for x, known in zip(node.inputs, inputs, strict=True):
        if known is None or (isinstance(known, tuple) and None in known):
            return None
        values.append(np.array(known, dtype=x.type.numpy_dtype))
    with np.errstate(all="ignore"):
        result = np.asarray(node.op.scalar_op.impl(*values))
    if result.dtype.kind not in "iu" or result.ndim != output.ndim or result.size > _LONGEST:
        return None
    return int(result) if result.ndim == 0 else tuple(result.tolist())


register_knowledge(TensorFromScalar, _know_same)
register_knowledge(ScalarFromTensor, _know_same)
register_knowledge(DimShuffle, _know_dimshuffle)
register_knowledge(Elemwise, _know_elemwise)
