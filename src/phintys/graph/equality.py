"""Structural equality of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys._base.errors import TypeContractError
from phintys.graph.order import nodes_below
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.type import Type


def equal_computations(
    xs: Sequence[Any],
    ys: Sequence[Any],
    in_xs: Sequence[Variable] | None = None,
    in_ys: Sequence[Variable] | None = None,
    strict_dtype: bool = True,
) -> bool:
    """Return whether two lists of outputs are computed by structurally equal graphs.

    Two variables are equal if equal Ops compute them from equal inputs, down to equal constants,
    corresponding inputs, and leaves that are the same variable. It makes no difference whether
    equal subgraphs are shared or duplicated.

    Parameters
    ----------
    xs, ys
        Outputs of the two graphs, compared pairwise. Entries may also be values (arrays, numbers),
        which are compared with values and constants.
    in_xs, in_ys
        Corresponding inputs of the two graphs, in order.
    strict_dtype
        Require equal types; otherwise types of the same class (``type.in_same_class``) suffice, and
        constants are compared by value alone.

    Returns
    -------
    bool

    Raises
    ------
    TypeContractError
        The lists of inputs differ in length, or only one of them is given.

    Examples
    --------
    >>> from phintys.graph import Apply, Op, Type
    >>> anything, f = Type(), Op()
    >>> def double(x):
    ...     return Apply(f, [x, x], [anything()]).out
    >>> x, y = anything("x"), anything("y")
    >>> equal_computations([double(x)], [double(x)])
    True
    >>> equal_computations([double(x)], [double(y)])
    False
    >>> equal_computations([double(x)], [double(y)], [x], [y])
    True
    """
    in_xs, in_ys = list(in_xs or ()), list(in_ys or ())
    if len(in_xs) != len(in_ys):
        msg = (
            f"in_xs and in_ys must correspond one to one, got {len(in_xs)} and {len(in_ys)} "
            "variables. Give both or neither."
        )
        raise TypeContractError(msg)
    if len(xs) != len(ys):
        return False
    numbers = _Numbers(strict_dtype)
    of_xs: dict[Variable, int] = {}
    of_ys: dict[Variable, int] = {}
    for x, y in zip(in_xs, in_ys, strict=True):
        if not numbers.types_agree(x.type, y.type):
            return False
        of_xs[x] = of_ys[y] = numbers.new()
    numbers.enter(xs, of_xs)
    numbers.enter(ys, of_ys)
    for x, y in zip(xs, ys, strict=True):
        if isinstance(x, Variable) and isinstance(y, Variable):
            if numbers.of(x, of_xs) != numbers.of(y, of_ys):
                return False
            if not numbers.types_agree(x.type, y.type):
                return False
        elif not _values_agree(x, y):
            return False
    return True


def equal_inner_graphs(one: Any, other: Any) -> bool:
    """Return whether two Ops with inner graphs are equal: in their classes, props and graphs."""
    numbers = _Numbers(strict_dtype=True)
    return numbers.of_op(one) == numbers.of_op(other)


class _Numbers:
    """Value numbering: equal expressions have the same number.

    An expression is identified by its Op and the numbers of its inputs, so each node is visited
    once, regardless of how often it is used and how many nodes it could be paired with. An Op that
    is compared by its inner graph (``compares_inner``) is identified by the numbers of the outputs
    of that graph; of Ops inside of each other, the innermost is numbered first.
    """

    def __init__(self, strict_dtype: bool) -> None:
        self.strict_dtype = strict_dtype
        self.by_key: dict[Hashable, int] = {}
        self.count = 0
        self._ops: dict[int, int] = {}  # by identity
        self._inner = self if strict_dtype else _Numbers(strict_dtype=True)

    def new(self) -> int:
        self.count += 1
        return self.count

    def enter(self, outputs: Sequence[Any], known: dict[Variable, int]) -> None:
        """Number everything that ``outputs`` depend on; extends ``known``, which has the inputs."""
        roots = [
            output.owner
            for output in outputs
            if isinstance(output, Variable) and output.owner is not None and output not in known
        ]
        for node in nodes_below(roots, blockers=known):
            op = self.of_op(node.op)
            inputs = tuple(self.of(variable, known) for variable in node.inputs)
            for index, variable in enumerate(node.outputs):
                if variable not in known:
                    known_type = variable.type if self.strict_dtype else None
                    known[variable] = self._number((op, inputs, index, known_type))

    def of_op(self, op: Any) -> Hashable:
        """Return a key that equal Ops share: the Op, or a number for one with an inner graph."""
        if not getattr(op, "compares_inner", False):
            return op
        if self._inner is not self:
            return self._inner.of_op(op)
        stack: list[Any] = [op]
        while stack:
            one = stack[-1]
            within: Iterable[Apply] = [] if id(one) in self._ops else one.fgraph.apply_nodes
            waiting = [
                node.op
                for node in within
                if getattr(node.op, "compares_inner", False) and id(node.op) not in self._ops
            ]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if id(one) not in self._ops:
                self._ops[id(one)] = self._number(self._key_of_op(one))
        return self._ops[id(op)]

    def _key_of_op(self, op: Any) -> Hashable:
        """Return a key for an Op with an inner graph; the Ops within have their numbers."""
        known = {
            variable: self._number(("input", position, variable.type))
            for position, variable in enumerate(op.inner_inputs)
        }
        self.enter(op.inner_outputs, known)
        outputs = tuple((self.of(output, known), output.type) for output in op.inner_outputs)
        return ("inner", op.__class__, op._props_key(op), len(known), outputs)

    def of(self, variable: Variable, known: dict[Variable, int]) -> int:
        """Return the number of a leaf or of a variable that has been numbered."""
        number = known.get(variable)
        if number is None:
            number = known[variable] = self._number(self._leaf_key(variable))
        return number

    def types_agree(self, x: Type, y: Type) -> bool:
        return x == y if self.strict_dtype else x == y or x.in_same_class(y)

    def _leaf_key(self, leaf: Variable) -> Hashable:
        if not isinstance(leaf, Constant):
            return leaf
        return leaf.signature() if self.strict_dtype else _value_key(leaf.data)

    def _number(self, key: Hashable) -> int:
        number = self.by_key.setdefault(key, self.count + 1)
        self.count = max(self.count, number)
        return number


def _values_agree(x: object, y: object) -> bool:
    """Compare two outputs, at least one of which is a value."""
    values = [thing.data if isinstance(thing, Constant) else thing for thing in (x, y)]
    if any(isinstance(value, Variable) for value in values):
        return False
    return _value_key(values[0]) == _value_key(values[1])


def _value_key(value: Any) -> Hashable:
    """Return a key that is equal for equal values, regardless of dtype."""
    array = np.asarray(value)
    if array.dtype.kind in "biufc":
        return ("value", array.shape, tuple(_canonical(item) for item in array.ravel().tolist()))
    try:
        hash(value)
    except TypeError:
        return ("value", id(value))
    return ("value", value)


def _canonical(item: complex) -> Hashable:
    # NaN differs from itself, and -0.0 equals 0.0; a program can tell neither pair so.
    if item != item:  # noqa: PLR0124 - NaN
        return "nan"
    return (item, str(item)) if item == 0 and str(item).startswith("-") else item
