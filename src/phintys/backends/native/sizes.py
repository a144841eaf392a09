"""Sizes: what a Program knows of the lengths of arrays before it runs.

A size is a number, the length of an axis of an argument, an element of an array of integers, or
arithmetic on these. Equal sizes are one object, so that comparing two of them asks for identity.
Sizes that a check has shown to be equal are made one with :meth:`Sizes.equate`.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.backends.native.program import Array

__all__ = ["Arithmetic", "Element", "Extent", "Fixed", "Size", "Sizes"]


class Size:
    """A length, a start, a step or a stride; an int64 when the program runs."""

    __slots__ = ()

    @property
    def known(self) -> int | None:
        """The value, where it is known when the program is built."""
        return None


class Fixed(Size):
    """A number."""

    __slots__ = ("_value",)

    def __init__(self, value: int) -> None:
        self._value = value

    @property
    def known(self) -> int:
        """The number."""
        return self._value

    def __repr__(self) -> str:
        return str(self._value)


class Extent(Size):
    """The length of an axis of an array that comes from outside (an argument, a callback)."""

    __slots__ = ("array", "axis")

    def __init__(self, array: Array, axis: int) -> None:
        self.array = array
        self.axis = axis

    def __repr__(self) -> str:
        return f"{self.array.label}.{self.axis}"


class Element(Size):
    """An element of an array of integers: the value that a size was computed to.

    ``index`` counts elements of the contiguous array.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: int) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"{self.array.label}[{self.index}]"


class Arithmetic(Size):
    """An operation on sizes as on Python ints: ``add sub mul floordiv mod max min lt`` (1 or 0)."""

    __slots__ = ("arguments", "operation")

    def __init__(self, operation: str, arguments: tuple[Size, ...]) -> None:
        self.operation = operation
        self.arguments = arguments

    def __repr__(self) -> str:
        left, right = self.arguments
        symbol = _SYMBOLS.get(self.operation)
        if symbol is None:
            return f"{self.operation}({left}, {right})"
        return f"({left} {symbol} {right})"


_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "lt": "<"}
_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
    "lt": lambda a, b: int(a < b),
}


class Sizes:
    """The sizes of one program: makes them, simplifies them, and knows which are equal.

    Examples
    --------
    >>> sizes = Sizes()
    >>> sizes.add(sizes.fixed(2), sizes.fixed(3))
    5
    >>> sizes.fixed(5) is sizes.add(sizes.fixed(2), sizes.fixed(3))
    True
    """

    def __init__(self) -> None:
        self._made: dict[Any, Size] = {}
        self._equal: dict[Size, Size] = {}
        self._age: dict[Size, int] = {}

    def fixed(self, value: int) -> Size:
        """Return a number."""
        return self._intern((Fixed, value), Fixed, value)

    def extent(self, array: Array, axis: int) -> Size:
        """Return the length of an axis of an array that comes from outside."""
        return self.canonical(self._intern((Extent, array, axis), Extent, array, axis))

    def element(self, array: Array, index: int = 0) -> Size:
        """Return an element of an array of integers."""
        return self.canonical(self._intern((Element, array, index), Element, array, index))

    def add(self, left: Size, right: Size) -> Size:
        """Return the sum."""
        if left.known == 0:
            return self.canonical(right)
        if right.known == 0:
            return self.canonical(left)
        return self.arithmetic("add", left, right)

    def sub(self, left: Size, right: Size) -> Size:
        """Return the difference."""
        if right.known == 0:
            return self.canonical(left)
        if self.same(left, right):
            return self.fixed(0)
        return self.arithmetic("sub", left, right)

    def mul(self, left: Size, right: Size) -> Size:
        """Return the product."""
        if left.known == 1:
            return self.canonical(right)
        if right.known == 1:
            return self.canonical(left)
        if 0 in {left.known, right.known}:
            return self.fixed(0)
        return self.arithmetic("mul", left, right)

    def product(self, factors: tuple[Size, ...] | list[Size]) -> Size:
        """Return the product of any number of sizes."""
        result = self.fixed(1)
        for factor in factors:
            result = self.mul(result, factor)
        return result

    def arithmetic(self, operation: str, left: Size, right: Size) -> Size:
        """Return any of the operations of :class:`Arithmetic`; folded where both are known."""
        left, right = self.canonical(left), self.canonical(right)
        divides = operation in {"floordiv", "mod"}
        if left.known is not None and right.known is not None and not (divides and not right.known):
            return self.fixed(_FOLD[operation](left.known, right.known))
        key = (operation, left, right)
        return self.canonical(self._intern(key, Arithmetic, operation, (left, right)))

    def equate(self, left: Size, right: Size) -> None:
        """Note that a check has shown two sizes to be equal.

        A number stands for both, or else the one made first: it is known first when the program
        runs.
        """
        left, right = self.canonical(left), self.canonical(right)
        if left is right:
            return
        if right.known is not None or (left.known is None and self._age[right] < self._age[left]):
            left, right = right, left
        self._equal[right] = left

    def canonical(self, size: Size) -> Size:
        """Return the one size that stands for all that are known to be equal to this one."""
        path = []
        while (better := self._equal.get(size)) is not None:
            path.append(size)
            size = better
        for passed in path[:-1]:
            self._equal[passed] = size
        return size

    def same(self, left: Size, right: Size) -> bool:
        """Tell whether two sizes are known to be equal."""
        return self.canonical(left) is self.canonical(right)

    def _intern(self, key: Any, make: type[Size], *parameters: Any) -> Size:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make(*parameters)
            self._age[found] = len(self._age)
        return found
