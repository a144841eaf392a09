"""How windows lie on images: strides, padding, and the number of their places.

Sizes are of any kind, with the arithmetic on them; by default ints where known, and symbolic
otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys._base.errors import ArgumentError
from phintys.tensor.symbolic_shapes import PlainArithmetic

if TYPE_CHECKING:
    from phintys.tensor.shape_rules import SizeArithmetic

    Padding = str | tuple[int, int]
    """How an axis is padded: a rule, or the elements before and behind it."""

PLAIN = PlainArithmetic()

RULES = ("valid", "half", "full")
"""No padding; half of a filter on both sides; all of it but one element."""

_MOST = 2**31 - 1
"""The largest number that an axis may be given: products of two of them are int64."""


def per_axis(value: Any, ndim: int, what: str, least: int = 1) -> tuple[int, ...]:
    """Return an int for each spatial axis, given one for each or one for all.

    Raises
    ------
    ArgumentError
        There are not as many as axes, or one is not an integer of a sufficient size.
    """
    given = tuple(value) if isinstance(value, tuple | list) else (value,) * ndim
    if len(given) != ndim:
        msg = f"{what} is one int for all {ndim} spatial axes or one for each, got {value!r}."
        raise ArgumentError(msg)
    return tuple(_int(one, what, least, value) for one in given)


def _int(one: Any, what: str, least: int, given: Any) -> int:
    try:
        if isinstance(one, bool):
            raise TypeError
        number = int(one.__index__())
    except (AttributeError, TypeError):
        msg = f"{what} is made of ints that are known when the graph is built, got {given!r}."
        raise ArgumentError(msg) from None
    if number < least:
        msg = f"{what} is at least {least} along each axis, got {given!r}."
        raise ArgumentError(msg)
    if number > _MOST:
        msg = f"{what} is at most {_MOST} along each axis, got {given!r}."
        raise ArgumentError(msg)
    return number


def per_axis_padding(value: Any, ndim: int) -> tuple[Padding, ...]:
    """Return the padding of each spatial axis.

    Parameters
    ----------
    value
        ``"valid"``, ``"half"`` or ``"full"``; an int for all axes; or for each axis one of these,
        or a pair of ints, the elements before and behind it.
    ndim
        The number of axes.

    Raises
    ------
    ArgumentError
        It is none of these, or negative.
    """
    given = tuple(value) if isinstance(value, tuple | list) else (value,) * ndim
    if len(given) != ndim:
        msg = (
            f"Padding is a rule or an int for all {ndim} spatial axes, or one for each, or a pair "
            f"of ints for each; got {value!r}."
        )
        raise ArgumentError(msg)
    return tuple(_padding(one, value) for one in given)


def _padding(one: Any, given: Any) -> Padding:
    if isinstance(one, str):
        if one not in RULES:
            msg = f'Padding is "valid", "half", "full", or in ints, got {given!r}.'
            raise ArgumentError(msg)
        return (0, 0) if one == "valid" else one
    both = tuple(one) if isinstance(one, tuple | list) else (one, one)
    if len(both) != 2:
        msg = f"Padding of an axis is an int or a pair of ints, got {one!r} in {given!r}."
        raise ArgumentError(msg)
    before, behind = (_int(number, "Padding", 0, given) for number in both)
    return before, behind


def extent_of(length: Any, dilation: int, on: SizeArithmetic[Any] = PLAIN) -> Any:
    """Return how far a filter reaches whose elements are some distance apart."""
    return on.add(on.multiply(on.subtract(length, 1), dilation), 1)


def pads_of(padding: Padding, extent: Any, on: SizeArithmetic[Any] = PLAIN) -> tuple[Any, Any]:
    """Return the elements before and behind an axis, for a filter that reaches so far."""
    if not isinstance(padding, str):
        return padding
    both = on.floor_div(extent, 2) if padding == "half" else on.subtract(extent, 1)
    return both, both


def room_of(length: Any, padding: Padding, extent: Any, on: SizeArithmetic[Any] = PLAIN) -> Any:
    """Return the places of a filter on an axis, minus 1: negative if it does not fit."""
    before, behind = pads_of(padding, extent, on)
    return on.subtract(on.add(length, on.add(before, behind)), extent)


def count_of(
    length: Any, padding: Padding, extent: Any, stride: int, on: SizeArithmetic[Any] = PLAIN
) -> Any:
    """Return the number of places of a filter on an axis."""
    return on.add(on.floor_div(room_of(length, padding, extent, on), stride), 1)
