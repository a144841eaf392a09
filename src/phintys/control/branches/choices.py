"""``ifelse``, ``cond`` and ``branch``: choices of which only the chosen side is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from phintys._base.errors import ArgumentError, DtypeError
from phintys._base.nested_containers import forms_of, is_nest, matched, rebuilt, walk
from phintys.control.branches.if_else import IfElse
from phintys.graph.variable import Variable
from phintys.tensor.convert import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


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
