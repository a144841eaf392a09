"""Choices of which only the chosen side is computed: ``ifelse``, ``cond``, ``branch``, IfElse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError, DtypeError, ShapeError, TypeContractError, add_note
from phintys._base.nested_containers import forms_of, is_nest, matched, rebuilt, walk
from phintys.gradient.arithmetic import zero_like
from phintys.graph.apply import Apply
from phintys.graph.choosing import Choosing
from phintys.graph.null_type import DisconnectedType, NullType, disconnected_type
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.fgraph import FunctionGraph
    from phintys.graph.op import ComputeMap, StorageMap


def ifelse(condition: Any, then: Any, otherwise: Any, name: str | None = None) -> Any:
    """Return ``then`` if a condition is true and ``otherwise`` if not; only that is computed.

    What is computed for one side alone is not computed if the other side is chosen; what both
    sides, or other expressions, need too is computed in any case. The same holds for gradients.
    :func:`phintys.tensor.switch` chooses element by element, and computes both sides.

    Parameters
    ----------
    condition
        A tensor of rank 0, of any dtype: all numbers but 0 are true.
    then, otherwise
        Variables of any Type, or lists, tuples, dicts and dataclasses of them, of the same form on
        both sides. Numbers and arrays are taken in the type of the other side. Tensors must have
        the same dtype and rank, but can have different shapes.
    name
        A name for the Op, for printing and profiles.

    Returns
    -------
    Variable, or a tree of them as ``then``

    Raises
    ------
    ArgumentError
        The sides have different forms.
    ShapeError
        The condition is not of rank 0, or the sides have different ranks.
    DtypeError
        The sides have different dtypes.

    Examples
    --------
    >>> import phintys, phintys.tensor as pt
    >>> x = pt.dvector("x")
    >>> y = phintys.ifelse(x.sum() > 0, pt.log(x), -x)
    >>> f = phintys.function([x], [y, phintys.grad(y.sum(), x)])
    >>> f([1.0, 2.0])
    [array([0.        , 0.69314718]), array([1. , 0.5])]
    >>> f([-1.0, -2.0])
    [array([1., 2.]), array([-1., -1.])]
    """
    if not is_nest(then) and not is_nest(otherwise):
        return IfElse(1, name)(condition, then, otherwise)
    values = matched(otherwise, then) if is_nest(then) else None
    if values is None:
        here, there = ([*walk(side)] for side in (then, otherwise))
        first, second = forms_of(then, otherwise)
        msg = (
            "The sides of an ifelse must be either both variables or both lists or trees of the "
            f"same form; got {len(here)} value{'s' * (len(here) != 1)} if the condition is true, "
            f"and {len(there)} if not: {first} and {second}."
        )
        raise ArgumentError(msg)
    if not values:
        msg = f"An ifelse needs at least one value on each side; got {then!r}."
        raise ArgumentError(msg)
    leaves = [leaf for _, leaf in walk(then)]
    found = IfElse(len(values), name)(condition, *leaves, *values, return_list=True)
    return rebuilt(then, found)


def cond(
    condition: Any,
    true_fun: Callable[..., Any],
    false_fun: Callable[..., Any],
    *operands: Any,
    name: str | None = None,
) -> Any:
    """Return the result of one of two functions; only that one is computed.

    Parameters
    ----------
    condition
        As for :func:`ifelse`.
    true_fun, false_fun
        Functions that are called once, with the operands, and return variables: a single one, or
        lists or trees of the same form on both sides.
    operands
        Their arguments.
    name
        As for :func:`ifelse`.

    Raises
    ------
    ArgumentError
        One of the sides is not a function, or the results of the two do not match.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import cond
    >>> x = pt.dscalar("x")
    >>> root = cond(x > 0, pt.sqrt, pt.zeros_like, x)
    >>> root.eval({x: 4.0}), root.eval({x: -4.0})
    (array(2.), array(0.))
    """
    for side, function in (("true_fun", true_fun), ("false_fun", false_fun)):
        if not callable(function):
            msg = (
                f"The {side} of cond must be a function of the operands, got {function!r}. For "
                "variables instead of functions, use ifelse(condition, then, otherwise)."
            )
            raise ArgumentError(msg)
    return ifelse(condition, true_fun(*operands), false_fun(*operands), name)


def branch(index: Any, choices: Sequence[Any], name: str | None = None) -> Any:
    """Return the choice with a given number; only that one is computed.

    Parameters
    ----------
    index
        An integer tensor of rank 0. Numbers below 0 choose the first one, numbers beyond the end
        the last one.
    choices
        Variables, or lists or trees of the same form each, as the sides of :func:`ifelse`.
    name
        As for :func:`ifelse`.

    Returns
    -------
    Variable, or a tree of them as the first choice

    Raises
    ------
    ArgumentError
        There are no choices, or they do not have the same structure.
    DtypeError
        ``index`` is not an integer.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import branch
    >>> i, x = pt.lscalar("i"), pt.dscalar("x")
    >>> y = branch(i, [x, x**2, x**3])
    >>> [float(y.eval({i: number, x: 2.0})) for number in (0, 1, 2, 7)]
    [2.0, 4.0, 8.0, 8.0]
    """
    if not isinstance(choices, list | tuple) or not choices:
        msg = f"The choices of a branch must be a list of at least one, got {choices!r}."
        raise ArgumentError(msg)
    number: Any = as_tensor_variable(index)
    if number.type.dtype not in _INTEGERS:
        msg = (
            f"The index of a branch must be an integer, got {index} of type {number.type}. Cast "
            "it, or use ifelse for a condition."
        )
        raise DtypeError(msg)
    return _halved(number, list(choices), 0, name)


_INTEGERS = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


def _halved(index: Variable, choices: list[Any], first: int, name: str | None) -> Any:
    """Return a choice by comparing the index with the middle of the numbers."""
    if len(choices) == 1:
        return choices[0]
    middle = len(choices) // 2
    below: Any = cast("Any", index) < first + middle
    return ifelse(
        below,
        _halved(index, choices[:middle], first, name),
        _halved(index, choices[middle:], first + middle, name),
        name,
    )


class IfElse(Choosing, Op):
    """``(condition, *then, *otherwise)`` to ``then`` if the condition is not zero.

    Use :func:`ifelse` to apply it.

    Parameters
    ----------
    count
        Number of outputs, and of variables on each side.
    name
        A name, for printing and profiles.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.control import IfElse
    >>> c, x, y = pt.bscalar("c"), pt.dscalar("x"), pt.dscalar("y")
    >>> IfElse(1)(c, x, y).eval({c: 0, x: 1.0, y: 2.0})
    array(2.)
    """

    __props__ = ("count", "name")

    def __init__(self, count: int, name: str | None = None) -> None:
        self.count = count
        self.name = name
        self.view_map = {o: [1 + o, 1 + count + o] for o in range(count)}

    def __str__(self) -> str:
        return self.name or "IfElse"

    def sides(self, node: Apply) -> tuple[range, range]:
        """Return the positions of the inputs of each side: 0 is ``then``, 1 is ``otherwise``."""
        first = 1 + self.count
        return range(1, first), range(first, first + self.count)

    def chosen(self, value: Any) -> int:
        """Return 0, for ``then``, if a value is not zero."""
        return 0 if value else 1

    def choose(self, node: Apply, values: Sequence[Variable]) -> Variable:
        """Return one of two other variables, chosen by the same condition."""
        return IfElse(1, self.name)(node.inputs[0], *values)

    def make_node(self, condition: Any, *values: Any) -> Apply:
        """Apply to a condition, and the variables or values of both sides."""
        if len(values) != 2 * self.count:
            msg = f"{self} takes a condition and {2 * self.count} values, got {len(values)} values."
            raise ArgumentError(msg)
        pairs = [
            _alike(then, otherwise, number)
            for number, (then, otherwise) in enumerate(
                zip(values[: self.count], values[self.count :], strict=True)
            )
        ]
        inputs = [_as_condition(condition), *(one for one, _, _ in pairs)]
        inputs += [other for _, other, _ in pairs]
        return Apply(self, inputs, [type_() for _, _, type_ in pairs])

    def perform(
        self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]
    ) -> None:
        """Return the values of the chosen side themselves."""
        first = 1 if inputs[0] else 1 + self.count
        for o, cell in enumerate(output_storage):
            cell[0] = inputs[first + o]

    def make_thunk(
        self,
        node: Apply,
        storage_map: StorageMap,
        compute_map: ComputeMap,
        no_recycling: Sequence[Variable],
        impl: str | None = None,
    ) -> Callable[[], Any]:
        """Return a lazy thunk, which requests first the condition, then the chosen side."""
        count = self.count
        condition, *values = node.inputs
        cells = [(storage_map[variable], compute_map[variable]) for variable in values]
        outputs = [(storage_map[variable], compute_map[variable]) for variable in node.outputs]
        truth, is_known = storage_map[condition], compute_map[condition]

        def thunk() -> list[int] | None:
            if is_known[0] != 1:
                return [0]
            first = 0 if truth[0] else count
            missing = [1 + at for at in range(first, first + count) if cells[at][1][0] != 1]
            if missing:
                return missing
            for (cell, done), (value, _) in zip(outputs, cells[first : first + count], strict=True):
                cell[0] = value[0]
                done[0] = 1
            return None

        setattr(thunk, "lazy", True)  # noqa: B010 - functions have no such attribute for pyright
        return thunk

    def infer_shape(
        self, fgraph: FunctionGraph | None, node: Apply, input_shapes: Sequence[Any]
    ) -> list[Any]:
        """Return the shapes of the chosen side, themselves chosen where they differ."""
        then, otherwise = input_shapes[1 : 1 + self.count], input_shapes[1 + self.count :]
        found: list[Any] = []
        for one, other in zip(then, otherwise, strict=True):
            if one is None or other is None:
                found.append(None)
                continue
            found.append(tuple(self._size(node, a, b) for a, b in zip(one, other, strict=True)))
        return found

    def _size(self, node: Apply, one: Any, other: Any) -> Any:
        """Return a size that is an integer or a variable on each side."""
        if one is other or (isinstance(one, int) and isinstance(other, int) and one == other):
            return one
        sizes = [as_tensor_variable(size).astype("int64") for size in (one, other)]
        return sizes[0] if sizes[0] is sizes[1] else self.choose(node, sizes)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return ``[input][output] -> bool``: the condition has no influence."""
        own = [[o == at for o in range(self.count)] for at in range(self.count)]
        return [[False] * self.count, *own, *own]

    def L_op(
        self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]
    ) -> list[Any]:
        """Return the gradients of the outputs for the chosen side, zeros for the other."""
        found: list[Any] = [disconnected_type() for _ in inputs]
        for o, g in enumerate(output_grads):
            if isinstance(g.type, DisconnectedType):
                continue
            for side, position in enumerate((1 + o, 1 + self.count + o)):
                zero = cast("Any", zero_like(inputs[position])).astype(g.type.dtype)
                pair = (g, zero) if side == 0 else (zero, g)
                found[position] = IfElse(1, self.name)(inputs[0], *pair)
        return found

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """Return the tangents of the chosen side."""
        found: list[Any] = []
        for o in range(self.count):
            places = (1 + o, 1 + self.count + o)
            points = [eval_points[position] for position in places]
            null = next((v for v in points if v is not None and isinstance(v.type, NullType)), None)
            if null is not None or all(point is None for point in points):
                found.append(null)
                continue
            whole = [
                zero_like(inputs[position]) if point is None else point
                for position, point in zip(places, points, strict=True)
            ]
            found.append(IfElse(1, self.name)(inputs[0], *whole))
        return found


def _as_condition(condition: Any) -> Variable:
    """Return a condition as a 0-d tensor."""
    try:
        found = as_tensor_variable(condition)
    except TypeError as error:
        add_note(
            error, "It is the condition of an ifelse, which must be a 0-d tensor, or a number."
        )
        raise
    if found.type.ndim:
        msg = (
            f"The condition of an ifelse must be a single truth value, a tensor of rank 0; got "
            f"{found} of type {found.type}. Reduce it with .any() or .all(), or choose element by "
            "element with pt.switch(condition, x, y), which computes both sides."
        )
        raise ShapeError(msg)
    return found


def _alike(then: Any, otherwise: Any, number: int) -> tuple[Variable, Variable, Any]:
    """Return both values of an output as variables, and the type of the output."""
    if not isinstance(then, Variable) and not isinstance(otherwise, Variable):
        then, otherwise = as_tensor_variable(then), as_tensor_variable(otherwise)
    elif not isinstance(then, Variable):
        then = _converted(then, otherwise, number)
    elif not isinstance(otherwise, Variable):
        otherwise = _converted(otherwise, then, number)
    one, other = then.type, otherwise.type
    if one == other:
        return then, otherwise, one
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        if one.ndim != other.ndim:
            msg = (
                f"{_both(then, otherwise, number)}\nThey must have the same rank: add axes with "
                "x[None], or reduce one of them."
            )
            raise ShapeError(msg)
        if one.dtype != other.dtype:
            msg = (
                f"{_both(then, otherwise, number)}\nThey must have the same dtype: cast one of "
                f"them, as in then.astype({other.dtype!r})."
            )
            raise DtypeError(msg)
        shape = [a if a == b else None for a, b in zip(one.shape, other.shape, strict=True)]
        return then, otherwise, TensorType(one.dtype, shape)
    for type_, variable in ((one, otherwise), (other, then)):
        if type_.is_super(variable.type):
            return then, otherwise, type_
    msg = f"{_both(then, otherwise, number)}\nThey must have the same Type."
    raise TypeContractError(msg)


def _converted(value: Any, like: Variable, number: int) -> Variable:
    """Return a value as a constant that fits the variable of the other side."""
    type_ = like.type
    try:
        if isinstance(type_, TensorType):
            return type_.clone(shape=(None,) * type_.ndim).filter_variable(value)
        return type_.filter_variable(value)
    except TypeError as error:
        add_note(
            error,
            f"It is value {number} on one side of an ifelse; on the other side is {like} of type "
            f"{type_}.",
        )
        raise


def _both(then: Variable, otherwise: Variable, number: int) -> str:
    made = "".join(
        f"\n{name} was made at\n  {one.origin}"
        for name, one in (("then", then), ("otherwise", otherwise))
        if one.origin
    )
    return (
        f"Value {number} of an ifelse is {then} of type {then.type} if the condition is true, and "
        f"{otherwise} of type {otherwise.type} if not.{made}"
    )
