"""The order in which the products of a sum over several operands are taken.

The cost of a product is its number of multiplications, and of writing the result. Sizes that are
not known count as :data:`UNKNOWN`: more than small ones that are known, less than large ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Step = tuple[int, ...]

UNKNOWN = 64

MOST_SEARCHED = 7
"""Operands up to which all orders are compared, which takes milliseconds."""


class _Costs:
    """Costs of products of sets of operands, which are bits of a number, as are sets of labels."""

    def __init__(
        self, terms: Sequence[Iterable[str]], output: Iterable[str], sizes: Mapping[str, int | None]
    ) -> None:
        bits = {label: 1 << at for at, label in enumerate(sizes)}
        self._lengths = [UNKNOWN if size is None else max(size, 1) for size in sizes.values()]
        self._terms = [_union(bits[label] for label in term) for term in terms]
        self._output = _union(bits[label] for label in output)
        self._sizes: dict[int, int] = {}
        self._labels: dict[int, int] = {}

    def labels(self, operands: int) -> int:
        """Return the labels of the product of some operands: those that occur outside of it."""
        found = self._labels.get(operands)
        if found is None:
            found = self._labels[operands] = self._find_labels(operands)
        return found

    def _find_labels(self, operands: int) -> int:
        inside, outside = 0, self._output
        for at, term in enumerate(self._terms):
            if operands >> at & 1:
                inside |= term
            else:
                outside |= term
        return inside & outside

    def size(self, labels: int) -> int:
        """Return the number of elements of an array with some labels."""
        found = self._sizes.get(labels)
        if found is None:
            found = 1
            for at, length in enumerate(self._lengths):
                if labels >> at & 1:
                    found *= length
            self._sizes[labels] = found
        return found

    def of(self, a: int, b: int) -> int:
        """Return the cost of the product of two products."""
        return self.size(self.labels(a) | self.labels(b)) + self.size(self.labels(a | b))


def _union(bits: Iterable[int]) -> int:
    found = 0
    for bit in bits:
        found |= bit
    return found


def best_order(
    terms: Sequence[Iterable[str]], output: Iterable[str], sizes: Mapping[str, int | None]
) -> list[Step]:
    """Return the pairs of operands to multiply, in order.

    A pair is of positions in the list of the operands that are left, from which it is removed, and
    its product appended, as in ``numpy.einsum_path``.

    Examples
    --------
    >>> best_order(["ij", "jk", "k"], "i", {"i": 10, "j": 10, "k": 10})
    [(1, 2), (0, 1)]
    """
    if len(terms) > MOST_SEARCHED:
        return greedy_order(terms, output, sizes)
    costs = _Costs(terms, output, sizes)
    least: dict[int, int] = {1 << at: 0 for at in range(len(terms))}
    split: dict[int, int] = {}
    for operands in range(1, 1 << len(terms)):
        if operands in least:
            continue
        part = (operands - 1) & operands
        while part:
            rest = operands ^ part
            if part < rest:
                cost = least[part] + least[rest] + costs.of(part, rest)
                if operands not in least or cost < least[operands]:
                    least[operands], split[operands] = cost, part
            part = (part - 1) & operands
    pairs: list[tuple[int, int]] = []
    stack = [(1 << len(terms)) - 1]
    while stack:
        operands = stack.pop()
        if operands in split:
            part = split[operands]
            pairs.append((part, operands ^ part))
            stack += [part, operands ^ part]
    return _positions(len(terms), pairs[::-1])


def greedy_order(
    terms: Sequence[Iterable[str]], output: Iterable[str], sizes: Mapping[str, int | None]
) -> list[Step]:
    """Return the pairs of operands to multiply: each the one whose result adds least memory.

    Examples
    --------
    >>> greedy_order(["ij", "jk", "k"], "i", {"i": 10, "j": 10, "k": 10})
    [(1, 2), (0, 1)]
    """
    costs = _Costs(terms, output, sizes)
    left = [1 << at for at in range(len(terms))]
    pairs: list[tuple[int, int]] = []

    def key(pair: tuple[int, int]) -> tuple[int, int]:
        a, b = pair
        freed = costs.size(costs.labels(a)) + costs.size(costs.labels(b))
        return costs.size(costs.labels(a | b)) - freed, costs.of(a, b)

    while len(left) > 1:
        options = [(a, b) for at, a in enumerate(left) for b in left[at + 1 :]]
        a, b = min(options, key=key)
        pairs.append((a, b))
        left = [one for one in left if one not in {a, b}] + [a | b]
    return _positions(len(terms), pairs)


def _positions(count: int, pairs: Sequence[tuple[int, int]]) -> list[Step]:
    left = [1 << at for at in range(count)]
    found: list[Step] = []
    for pair in pairs:
        first, second = sorted(left.index(one) for one in pair)
        found.append((first, second))
        del left[second], left[first]
        left.append(pair[0] | pair[1])
    return found
