"""Sizes: what a Program knows of the lengths of arrays before it runs.

A size is a number, the length of an axis of an argument, an element of an array of integers, or
arithmetic on these, modulo 2**64. Equal sizes are one object, so they are compared by identity.
Sizes that a check has shown to be equal are merged with :meth:`Sizes.equate`.

Lengths that come from integers can have any value. To prevent results from wrapping around, the
program checks products and sums with two operations that saturate at the largest int64, ``volume``
and ``total``: see :meth:`Sizes.overflow`.
"""

from __future__ import annotations

import math
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from phintys.backends.native.limits import MOST_TERMS, MOST_WRITTEN
from phintys.backends.native.values import Array, LoopVariable, Size

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence


_HALF = 2**63
MOST = _HALF - 1
"""The largest size."""

_ADDRESS_BITS = 48
"""A process has at most 2**48 bytes, so no vector in memory is longer."""


class Fixed(Size):
    """A number."""

    __slots__ = ("_value",)

    def __init__(self, value: int) -> None:
        self._value = value

    @property
    def known(self) -> int:
        """The number."""
        return self._value

    @property
    def leaves(self) -> tuple[Size, ...]:
        """The sizes that it is computed from: none."""
        return ()

    @property
    def is_length(self) -> bool:
        """Whether it is non-negative."""
        return self._value >= 0

    @property
    def is_flag(self) -> bool:
        """Whether it is 1 or 0."""
        return self._value in {0, 1}

    @property
    def bits(self) -> int:
        """The bit length of the number; 0 if it is negative."""
        return max(self._value, 0).bit_length()

    def __repr__(self) -> str:
        return str(self._value)


class Extent(Size):
    """The length of an axis of an external array (an argument, or an output of a callback)."""

    __slots__ = ("array", "axis")

    is_length = True

    def __init__(self, array: Array, axis: int) -> None:
        self.array = array
        self.axis = axis

    @property
    def bits(self) -> int:
        """Those of an address for a vector; with several axes, one has no limit if another is 0."""
        return _ADDRESS_BITS if self.array.ndim == 1 else 63

    def __repr__(self) -> str:
        return f"{self.array.label}.{self.axis}"


class Element(Size):
    """An element of an array of integers: a size computed at run time.

    ``index`` counts elements of the contiguous array.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Array, index: int) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"{self.array.label}[{self.index}]"


class Counter(Size):
    """The number of completed passes of a loop of steps, known inside the loop."""

    __slots__ = ("loop",)

    is_length = True

    def __init__(self, loop: LoopVariable) -> None:
        self.loop = loop

    def __repr__(self) -> str:
        return self.loop.label


class Arithmetic(Size):
    """An operation on sizes as on Python ints: ``add sub mul floordiv mod max min lt`` (1 or 0).

    ``volume`` is the product of two lengths and ``total`` their sum, saturating at the largest
    int64. ``volume`` treats a length of 0 as 1, as NumPy does, which creates no array whose other
    lengths have a product that is out of range.
    """

    __slots__ = (
        "_leaves",
        "arguments",
        "bits",
        "height",
        "is_flag",
        "is_length",
        "operation",
        "terms",
    )

    def __init__(self, operation: str, arguments: tuple[Size, ...]) -> None:
        left, right = arguments
        self.operation = operation
        self.arguments = arguments
        self.height = 1 + max(left.height, right.height)
        self._leaves = _together(left.leaves, right.leaves)
        if operation in {"add", "sub"}:
            terms = left.terms + right.terms
        else:
            terms = left.terms * right.terms if operation == "mul" else max(left.terms, right.terms)
        self.terms = min(terms, MOST_TERMS + 1)
        self.is_length = _never_negative(operation, left, right)
        self.bits = _bits(operation, left, right)
        self.is_flag = (
            operation == "lt"
            or (operation == "mul" and left.is_flag and right.is_flag)
            or (operation == "sub" and left.known == 1 and right.is_flag)
        )

    @property
    def leaves(self) -> tuple[Size, ...]:
        """Those of the arguments."""
        return self._leaves

    def __repr__(self) -> str:
        return written(self, repr)


def _bits(operation: str, left: Size, right: Size) -> int:
    """Return how many bits hold the result of an operation, if it is not negative."""
    if operation == "lt":
        return 1
    if operation == "min":
        return min(left.bits, right.bits)
    if operation == "max":
        return max(left.bits, right.bits)
    if operation in {"floordiv", "mod"} and (right.known or 0) > 0:
        return left.bits if operation == "floordiv" else right.bits
    if operation == "sub" and right.is_length:
        return left.bits
    if not (left.is_length and right.is_length):
        return 63
    if operation in {"add", "total"}:
        return min(63, max(left.bits, right.bits) + 1)
    return min(63, left.bits + right.bits) if operation in {"mul", "volume"} else 63


def _together(left: tuple[Size, ...], right: tuple[Size, ...]) -> tuple[Size, ...]:
    """Return the sizes of both without duplicates; one of the two itself if it has them all."""
    if left is right or not right:
        return left
    if not left:
        return right
    both = tuple(dict.fromkeys((*left, *right)))
    return left if len(both) == len(left) else both


def _never_negative(operation: str, left: Size, right: Size) -> bool:
    if operation in {"lt", "volume", "total"}:
        return True
    known = right.known if left.known is None else left.known
    if operation == "max" and known is not None and known >= 0:
        return True
    if operation == "add" and known is not None and known < 0:
        return known + _bound_of(right if left.known is not None else left) >= 0
    if operation in _KEEP_SIGN:
        return left.is_length and right.is_length
    if (right.known or 0) <= 0:
        return False
    return operation == "mod" or (operation == "floordiv" and left.is_length)


def _bound_of(size: Size) -> int:
    """Return the number that a size, as the maximum of both, is at least; 0 for others."""
    if not isinstance(size, Arithmetic) or size.operation != "max":
        return 0
    return max([one.known for one in size.arguments if one.known is not None], default=0)


def written(
    size: Size, leaf: Callable[[Size], str], canonical: Callable[[Size], Size] = lambda size: size
) -> str:
    """Return a size as text, without its innermost parts if there are many.

    Parameters
    ----------
    size
        The size.
    leaf
        Formats a size that is not an operation.
    canonical
        Returns the canonical form of a part.

    Examples
    --------
    >>> sizes = Sizes()
    >>> n = size = sizes.counter(loop=None)
    >>> for _ in range(100):
    ...     size = sizes.mul(sizes.add(size, n), sizes.add(size, sizes.fixed(-1)))
    >>> text = written(size, lambda leaf: "n")
    >>> text[:15], len(text) < 1000
    ('((n + ((n + ((n', True)
    """
    left = MOST_WRITTEN

    def of(size: Size, depth: int) -> str:
        nonlocal left
        size = canonical(size)
        if not isinstance(size, Arithmetic):
            left -= 1
            return leaf(size)
        if depth == MOST_WRITTEN or left <= 0:
            left -= 1
            return "…"
        first, second = size.arguments
        text = of(first, depth + 1)
        known = canonical(second).known
        if size.operation == "add" and known is not None and known < 0:
            return f"({text} - {-known})"
        other = of(second, depth + 1)
        symbol = _SYMBOLS.get(size.operation)
        return f"({text} {symbol} {other})" if symbol else f"{size.operation}({text}, {other})"

    return of(size, 0)


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
    "volume": lambda a, b: min(max(a, 1) * max(b, 1), MOST),
    "total": lambda a, b: min(a + b, MOST),
}


def evaluated(size: Size, leaves: Mapping[Size, int]) -> int:
    """Return the value of a size, without what checks know of it.

    Parameters
    ----------
    size
        The size.
    leaves
        The values of those that it depends on.

    Examples
    --------
    >>> sizes = Sizes()
    >>> n = sizes.counter(loop=None)
    >>> evaluated(sizes.mul(n, sizes.add(n, sizes.fixed(2))), {n: 3})
    15
    """
    values = dict(leaves)
    stack = [size]
    while stack:
        one = stack[-1]
        if one.known is not None:
            values[one] = one.known
        elif isinstance(one, Arithmetic) and one not in values:
            missing = [part for part in one.arguments if part not in values]
            if missing:
                stack += missing
                continue
            values[one] = _folded(one.operation, *map(values.__getitem__, one.arguments))
        stack.pop()
    return values[size]


def _folded(operation: str, left: int, right: int) -> int:
    """Return the result of an operation modulo 2**64, as programs compute it."""
    if operation in {"floordiv", "mod"} and not right:
        right = 1  # such quotients are not used
    return (_FOLD[operation](left, right) + _HALF) % (2 * _HALF) - _HALF


_COMMUTES = {"add", "mul", "max", "min", "volume", "total"}
_KEEP_SIGN = {"add", "mul", "max", "min"}


def is_length(size: Size) -> bool:
    """Return whether a size is known to be non-negative.

    Examples
    --------
    >>> is_length(Fixed(3)), is_length(Fixed(-1))
    (True, False)
    """
    return size.is_length


class Sizes:
    """The sizes of one program: creates them, simplifies them, and knows which are equal.

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
        """Return the length of an axis of an external array."""
        return self.canonical(self._intern((Extent, array, axis), Extent, array, axis))

    def arrays(self) -> set[Array]:
        """Return the memory of arrays with an element that is used as a size."""
        return {size.array.memory for size in self._made.values() if isinstance(size, Element)}

    def element(self, array: Array, index: int = 0) -> Size:
        """Return an element of an array of integers."""
        return self.canonical(self._intern((Element, array, index), Element, array, index))

    def counter(self, loop: LoopVariable) -> Size:
        """Return the counter of a loop of steps."""
        return self._intern((Counter, loop), Counter, loop)

    def add(self, left: Size, right: Size) -> Size:
        """Return the sum."""
        return self.arithmetic("add", left, right)

    def sub(self, left: Size, right: Size) -> Size:
        """Return the difference."""
        return self.arithmetic("sub", left, right)

    def mul(self, left: Size, right: Size) -> Size:
        """Return the product."""
        return self.arithmetic("mul", left, right)

    def at_least_zero(self, size: Size) -> Size:
        """Return ``max(size, 0)``."""
        return self.arithmetic("max", size, self.fixed(0))

    def product(self, factors: tuple[Size, ...] | list[Size]) -> Size:
        """Return the product of any number of sizes."""
        result = self.fixed(1)
        for factor in factors:
            result = self.mul(result, factor)
        return result

    def overflow(self, operation: str, sizes: Sequence[Size], factor: int = 1) -> Size | None:
        """Return a condition, 1 or 0, that a sum or product of lengths is in range.

        Parameters
        ----------
        operation
            ``"volume"`` or ``"total"``.
        sizes
            Lengths; none of them is negative.
        factor
            For a product, another factor, such as the bytes of an element.

        Returns
        -------
        Size or None
            ``None`` if the result is known to be in range.
        """
        sizes = [self.canonical(size) for size in sizes]
        if operation == "volume":
            known = math.prod(size.known for size in sizes if size.known) * factor
            unknown = [size for size in sizes if size.known is None]
            if known < MOST and sum(size.bits for size in unknown) + known.bit_length() <= 63:
                return None
            result = self.fixed(min(known, MOST))
        else:
            known = sum(size.known for size in sizes if size.known is not None)
            unknown = [size for size in sizes if size.known is None]
            bits = [known.bit_length(), *(size.bits for size in unknown)]
            if known < MOST and max(bits) + len(bits).bit_length() <= 63:
                return None
            result = self.fixed(min(known, MOST))
        for size in unknown:
            result = self.arithmetic(operation, result, size)
        return self.arithmetic("lt", result, self.fixed(MOST))

    def arithmetic(self, operation: str, left: Size, right: Size) -> Size:
        """Return an operation of :class:`Arithmetic`; folded if both operands are known.

        Computes modulo 2**64, like the compiled program.
        """
        left, right = self.canonical(left), self.canonical(right)
        if left.known is not None and right.known is not None:
            if right.known or operation not in {"floordiv", "mod"}:
                return self.fixed(_folded(operation, left.known, right.known))
        elif operation in _COMMUTES and (left.known is not None or self._is_older(right, left)):
            left, right = right, left  # numbers are on the right
        simple = self._simplified(operation, left, right)
        if simple is not None:
            return simple
        key = (operation, left, right)
        return self.canonical(self._intern(key, Arithmetic, operation, (left, right)))

    def _is_older(self, one: Size, other: Size) -> bool:
        return one.known is None and self._age.get(one, -1) < self._age.get(other, -1)

    def _simplified(self, operation: str, left: Size, right: Size) -> Size | None:
        """Return a simpler form of an operation on sizes, if there is one."""
        number = right.known
        if operation == "sub":
            if left is right:
                return self.fixed(0)
            if number is not None and number > -_HALF:
                return self.add(left, self.fixed(-number))
            return self._taken_away(left, right)
        if operation == "add":
            return left if number == 0 else self._added(left, right)
        if operation == "mul":
            return {0: right, 1: left}.get(number) if number is not None else None
        if operation == "floordiv":
            return left if number == 1 else None
        if operation == "mod":
            return self.fixed(0) if number == 1 else None
        if operation in {"volume", "total"}:
            return None
        return self._compared(operation, left, right)

    def _added(self, left: Size, right: Size) -> Size | None:
        """Simplify ``(a + 1) + 2`` and ``(a - b) + b``."""
        for one, other in ((left, right), (right, left)):
            if not isinstance(one, Arithmetic):
                continue
            first, second = map(self.canonical, one.arguments)
            if one.operation == "sub" and second is other:
                return first
            if one.operation == "add" and second.known is not None:
                return (
                    self.add(self.add(first, other), second)
                    if other.known is None
                    else (self.add(first, self.add(second, other)))
                )
        return None

    def _taken_away(self, left: Size, right: Size) -> Size | None:
        """Simplify ``(a + b) - b``."""
        for one, other, swapped in ((left, right, False), (right, left, True)):
            if not isinstance(one, Arithmetic) or one.operation != "add":
                continue
            first, second = map(self.canonical, one.arguments)
            if first is other or second is other:
                rest = second if first is other else first
                return self.sub(self.fixed(0), rest) if swapped else rest
        return None

    def _compared(self, operation: str, left: Size, right: Size) -> Size | None:
        """Simplify a comparison of a size with itself, or of a length with a number up to 0."""
        if left is right:
            return self.fixed(0) if operation == "lt" else left
        number = right.known
        if operation == "lt":
            if left.known is not None and left.known < 0 and is_length(right):
                return self.fixed(1)
            return self.fixed(0) if number is not None and number <= 0 and is_length(left) else None
        if number is not None and number <= 0 and is_length(left):
            return left if operation == "max" else right
        return None

    def equate(self, left: Size, right: Size) -> None:
        """Record that a check has shown two sizes to be equal.

        The canonical one is a number, or else the one created first: it is known first when the
        program runs.
        """
        left, right = self.canonical(left), self.canonical(right)
        if left is right:
            return
        if left.known is not None and right.known is not None:
            return  # the check fails at each call; 0 is not 1 for that
        if right.known is not None or (left.known is None and self._age[right] < self._age[left]):
            left, right = right, left
        self._equal[right] = left

    @contextmanager
    def assuming(self) -> Generator[None]:
        """Forget afterwards which sizes have been recorded as equal in the meantime."""
        before = dict(self._equal)
        try:
            yield
        finally:
            self._equal = before

    def canonical(self, size: Size) -> Size:
        """Return the canonical one of all sizes that are known to be equal to this one."""
        path = []
        while (better := self._equal.get(size)) is not None:
            path.append(size)
            size = better
        for passed in path[:-1]:
            self._equal[passed] = size
        return size

    def same(self, left: Size, right: Size) -> bool:
        """Return whether two sizes are known to be equal."""
        return self.canonical(left) is self.canonical(right)

    def _intern(self, key: Any, make: type[Size], *parameters: Any) -> Size:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = make(*parameters)
            self._age[found] = len(self._age)
        return found
