"""``typed_list``: lists of values of one type, as values of variables.

Lists are never changed: each Op returns a new list, whose elements are those of the old one.
"""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DomainError, TypeContractError
from phintys.graph import Apply, Op, Type, Variable
from phintys.graph.null_type import disconnected_type
from phintys.graph.type import Generic

__all__ = [
    "Append",
    "Count",
    "Extend",
    "GetItem",
    "Index",
    "Insert",
    "Length",
    "MakeList",
    "Remove",
    "Reverse",
    "TypedListType",
    "TypedListVariable",
    "append",
    "count",
    "extend",
    "getitem",
    "index_",
    "insert",
    "length",
    "make_list",
    "remove",
    "reverse",
]


class TypedListVariable(Variable):
    """A variable whose values are lists."""

    def __getitem__(self, index: Any) -> Any:
        """Return an element, or a part of the list."""
        return getitem(self, index)

    def __len__(self) -> int:
        msg = "The length of a list is known when a function is called: write length(x)."
        raise TypeError(msg)

    def append(self, toAppend: Any) -> Any:
        """Return the list with an element behind it."""
        return append(self, toAppend)

    def extend(self, toAppend: Any) -> Any:
        """Return the list with another one behind it."""
        return extend(self, toAppend)

    def insert(self, index: Any, toInsert: Any) -> Any:
        """Return the list with an element in front of the one at ``index``."""
        return insert(self, index, toInsert)

    def remove(self, toRemove: Any) -> Any:
        """Return the list without the first element of this value."""
        return remove(self, toRemove)

    def reverse(self) -> Any:
        """Return the list from behind."""
        return reverse(self)

    def count(self, elem: Any) -> Any:
        """Return how many elements have this value."""
        return count(self, elem)

    def ind(self, elem: Any) -> Any:
        """Return the index of the first element of this value."""
        return index_(self, elem)

    ttype = property(lambda self: self.type.ttype)
    dtype = property(lambda self: self.type.ttype.dtype)
    ndim = property(lambda self: self.type.ttype.ndim + 1)


class TypedListType(Type):
    """The type of lists of values of one type.

    Parameters
    ----------
    ttype
        The type of the elements.
    depth
        How many lists are inside of each other, besides this one.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> from phintys.compat.typed_list import TypedListType, append, length
    >>> rows, row = TypedListType(pt.dvector)("rows"), pt.dvector("row")
    >>> f = phintys.function([rows, row], length(append(rows, row)))
    >>> f([[1.0], [2.0, 3.0]], [4.0])
    array(3)
    """

    __props__ = ("ttype",)
    variable_type = TypedListVariable

    def __init__(self, ttype: Any, depth: int = 0) -> None:
        if depth < 0:
            msg = f"The depth of a TypedListType is 0 or more, got {depth}."
            raise ArgumentError(msg)
        if not isinstance(ttype, Type):
            msg = f"The elements of a list have a Type, got {ttype!r}."
            raise TypeContractError(msg)
        self.ttype: Any = ttype if depth == 0 else TypedListType(ttype, depth - 1)

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return a list whose elements are of the type."""
        if not isinstance(value, list):
            msg = f"{self} takes a list, got {type(value).__name__}."
            raise TypeContractError(msg)
        return [self.ttype.filter(one, strict, allow_downcast) for one in value]

    def get_depth(self) -> int:
        """Return how many lists are inside of this one."""
        return 1 + self.ttype.get_depth() if isinstance(self.ttype, TypedListType) else 0

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two lists have equal elements."""
        return len(a) == len(b) and all(map(self.ttype.values_eq, a, b))

    def values_eq_approx(self, a: Any, b: Any) -> bool:
        """Return whether two lists have nearly equal elements."""
        return len(a) == len(b) and all(map(self.ttype.values_eq_approx, a, b))

    def __str__(self) -> str:
        return f"TypedList <{self.ttype}>"

    __repr__ = __str__


def _list_type(x: Any, op: Op) -> TypedListType:
    if not isinstance(getattr(x, "type", None), TypedListType):
        msg = f"{op} takes a variable of a TypedListType, got {x}."
        raise TypeContractError(msg)
    return x.type


class _ListOp(Op):
    """An Op of lists, without a gradient."""

    __props__ = ()

    def __init__(self, inplace: bool = False) -> None:
        # Lists are not changed: sharing their elements is all that an Op in place would save.
        del inplace

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """No output has a gradient."""
        return [[False] for _ in node.inputs]

    def grad(self, inputs: Any, output_grads: Any) -> list[Any]:
        """Return disconnected gradients."""
        return [disconnected_type() for _ in inputs]

    def __str__(self) -> str:
        return type(self).__name__


class GetItem(_ListOp):
    """``GetItem()(x, index)``: an element, or a part by a slice."""

    __props__ = ("part",)

    def __init__(self, part: tuple[Any, ...] | None = None) -> None:
        self.part = part

    def make_node(self, x: Any, index: Any = None) -> Apply:
        """Apply to a list and an index: an integer, a slice of numbers, or a variable of either."""
        kind = _list_type(x, self)
        if self.part is not None:
            return Apply(self, [x], [kind()])
        if isinstance(index, slice):
            return GetItem((index.start, index.stop, index.step)).make_node(x)
        if isinstance(index, Variable) and isinstance(index.type, Generic):
            return Apply(self, [x, index], [kind()])
        return Apply(self, [x, _index(index)], [kind.ttype()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Take an element, or a part."""
        values, at = inputs if self.part is None else (*inputs, slice(*self.part))
        if isinstance(at, slice):
            output_storage[0][0] = values[at]
            return
        if not -len(values) <= at < len(values):
            msg = f"A list of {len(values)} elements has none at index {int(at)}."
            raise IndexError(msg)
        output_storage[0][0] = values[int(at)]


def _index(index: Any) -> Any:
    found = pt.as_tensor_variable(index)
    if found.ndim or found.type.numpy_dtype.kind not in "iu":
        msg = f"The index of a list is an integer, got {found} of type {found.type}."
        raise TypeContractError(msg)
    return found


class _WithElement(_ListOp):
    """An Op of a list and a value of the type of its elements."""

    def make_node(self, x: Any, element: Any) -> Apply:
        """Apply to a list and an element."""
        kind = _list_type(x, self)
        return Apply(self, [x, kind.ttype.filter_variable(element)], [self._result(kind)])

    def _result(self, kind: TypedListType) -> Variable:
        return kind()

    def _place(self, node: Apply, values: list[Any], element: Any) -> int:
        kind: Any = node.inputs[0].type
        for place, one in enumerate(values):
            if kind.ttype.values_eq(one, element):
                return place
        msg = f"{self}: no element of the list is equal to {element}."
        raise DomainError(msg)


class Append(_WithElement):
    """``Append()(x, element)``: a list with one more element."""

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Add the element."""
        values, element = inputs
        output_storage[0][0] = [*values, element]


class Remove(_WithElement):
    """``Remove()(x, element)``: a list without the first element of this value."""

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Leave the element out."""
        place = self._place(node, *inputs)
        output_storage[0][0] = inputs[0][:place] + inputs[0][place + 1 :]


class Index(_WithElement):
    """``Index()(x, element)``: where the first element of this value is."""

    def _result(self, kind: TypedListType) -> Variable:
        return pt.lscalar()

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Find the element."""
        output_storage[0][0] = pt.lscalar.filter(self._place(node, *inputs))


class Count(_WithElement):
    """``Count()(x, element)``: how many elements have this value."""

    def _result(self, kind: TypedListType) -> Variable:
        return pt.lscalar()

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Count the elements."""
        values, element = inputs
        kind: Any = node.inputs[0].type
        number = sum(bool(kind.ttype.values_eq(one, element)) for one in values)
        output_storage[0][0] = pt.lscalar.filter(number)


class Extend(_ListOp):
    """``Extend()(x, other)``: two lists as one."""

    def make_node(self, x: Any, other: Any) -> Apply:
        """Apply to two lists of the same type."""
        kind = _list_type(x, self)
        return Apply(self, [x, kind.filter_variable(other)], [kind()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Join the lists."""
        output_storage[0][0] = inputs[0] + inputs[1]


class Insert(_ListOp):
    """``Insert()(x, index, element)``: a list with an element in front of another one."""

    def make_node(self, x: Any, index: Any, element: Any) -> Apply:
        """Apply to a list, an index and an element."""
        kind = _list_type(x, self)
        return Apply(self, [x, _index(index), kind.ttype.filter_variable(element)], [kind()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Insert the element."""
        values, at, element = inputs
        output_storage[0][0] = [*values[: int(at)], element, *values[int(at) :]]


class Reverse(_ListOp):
    """``Reverse()(x)``: a list from behind."""

    def make_node(self, x: Any) -> Apply:
        """Apply to a list."""
        return Apply(self, [x], [_list_type(x, self)()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Reverse the list."""
        output_storage[0][0] = inputs[0][::-1]


class Length(_ListOp):
    """``Length()(x)``: the number of elements."""

    def make_node(self, x: Any) -> Apply:
        """Apply to a list."""
        _list_type(x, self)
        return Apply(self, [x], [pt.lscalar()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Return the length."""
        output_storage[0][0] = pt.lscalar.filter(len(inputs[0]))


class MakeList(_ListOp):
    """``MakeList()([a, b])``: a list of variables of one type."""

    def make_node(self, a: Any) -> Apply:
        """Apply to variables of one type."""
        elements = [one if isinstance(one, Variable) else pt.as_tensor_variable(one) for one in a]
        kinds = {one.type for one in elements}
        if len(kinds) != 1:
            msg = f"A list is of variables of one type, got {[str(one) for one in kinds]}."
            raise TypeContractError(msg)
        return Apply(self, elements, [TypedListType(kinds.pop())()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        """Make the list."""
        output_storage[0][0] = list(inputs)


append, extend, insert, remove = Append(), Extend(), Insert(), Remove()
count, getitem, index_, length = Count(), GetItem(), Index(), Length()
make_list, reverse = MakeList(), Reverse()
