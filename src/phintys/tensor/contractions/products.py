"""The products of arrays whose axes have labels, and the order in which they are taken.

The cost of a product is its number of multiplications, and of writing the result. Sizes that are
not known count as :data:`UNKNOWN`: more than small ones that are known, less than large ones.

There is no Op for it: it is a graph of matrix products, whose operands are transposed for free, of
elementwise products, and of sums.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from phintys.tensor import math
from phintys.tensor.dim_shuffle import dimshuffle
from phintys.tensor.products import BatchedDot, Dot
from phintys.tensor.reduce import any, sum
from phintys.tensor.reshaping import reshape
from phintys.tensor.shapes import sizes_of, specify_shape
from phintys.tensor.sizes import multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

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


_dot, _batched_dot = Dot(), BatchedDot()


class Labelled(NamedTuple):
    """An array, and the labels of its axes, which are distinct."""

    array: Any
    labels: tuple[str, ...]

    def sizes(self) -> dict[str, Any]:
        """Return the size of each axis."""
        return dict(zip(self.labels, sizes_of(self.array), strict=True))


def arranged(x: Labelled, order: Sequence[str]) -> Any:
    """Return the array with its axes in some order, and axes of size 1 for labels it lacks."""
    pattern = [x.labels.index(label) if label in x.labels else "x" for label in order]
    return x.array if pattern == list(range(x.array.ndim)) else dimshuffle(x.array, *pattern)


def summed(x: Labelled, labels: Collection[str]) -> Labelled:
    """Return the sum over the axes with some labels; for bools it is true where any is."""
    axes = tuple(at for at, label in enumerate(x.labels) if label in labels)
    if not axes:
        return x
    kept = tuple(label for label in x.labels if label not in labels)
    if x.array.dtype == "bool":
        return Labelled(any(x.array, axes), kept)
    return Labelled(sum(x.array, axes, dtype=x.array.dtype), kept)


def product(x: Labelled, y: Labelled, kept: Sequence[str], wanted: Sequence[str]) -> Labelled:
    """Return the product of two arrays, summed over the labels of both that are not kept.

    Parameters
    ----------
    x, y
        Each label that is not kept is in both.
    kept
        Labels that the result has.
    wanted
        The order of labels in which the result is read, if it is known.
    """
    common = [label for label in x.labels if label in y.labels]
    inner = [label for label in common if label not in kept]
    rows = [label for label in x.labels if label not in common]
    columns = [label for label in y.labels if label not in common]
    if not inner or not (rows or columns):
        order = tuple(dict.fromkeys((*wanted, *x.labels, *y.labels)))
        order = tuple(label for label in order if label in x.labels or label in y.labels)
        whole = Labelled(math.mul(arranged(x, order), arranged(y, order)), order)
        return summed(whole, inner)
    if _comes_first(columns, rows, wanted):
        x, y, rows, columns = y, x, columns, rows
    batch = [label for label in common if label in kept]
    batch.sort(key=lambda label: wanted.index(label) if label in wanted else 0)
    return _matrix_product(x, y, (batch, rows, inner, columns))


def _comes_first(one: Sequence[str], other: Sequence[str], wanted: Sequence[str]) -> bool:
    """Return whether the last of some labels is wanted before the last of others."""
    places = [[wanted.index(label) for label in own if label in wanted] for own in (one, other)]
    return bool(places[0] and places[1]) and max(places[0]) < max(places[1])


def _matrix_product(x: Labelled, y: Labelled, groups: Sequence[list[str]]) -> Labelled:
    """Multiply as matrices: each group of labels is one axis, but those of the batch stay apart."""
    batch, rows, inner, columns = groups
    larger = max((x, y), key=_elements)
    inner = [label for label in larger.labels if label in inner]
    if len(inner) > 1:
        y = _with_sizes_of(x, y, inner)
    sizes = y.sizes() | x.sizes()
    left = _as_matrices(x, batch, (rows, inner))
    right = _as_matrices(y, batch, (inner, columns))
    labels = (*batch, *rows, *columns)
    if batch:
        left = left if rows else _inserted(left, -1)
        right = right if columns else _inserted(right, 0)
        found = _batched_dot(left, right)
        if not (rows and columns):
            last = found.ndim - (1 if rows else 2)
            found = dimshuffle(found, *(at for at in range(found.ndim) if at != last))
    else:
        found = _dot(left, right)
    if len(rows) > 1 or len(columns) > 1:
        found = reshape(found, tuple(sizes[label] for label in labels))
    return Labelled(found, labels)


def _elements(x: Labelled) -> int:
    return prod(size or 1 for size in x.array.type.shape)


def _with_sizes_of(x: Labelled, y: Labelled, labels: Sequence[str]) -> Labelled:
    """Check that some sizes are equal: the products of several of them could agree by chance."""
    sizes = x.sizes()
    known = dict(zip(x.labels, x.array.type.shape, strict=True))
    stated = [
        sizes[label] if label in labels and None in {known[label], size} else None
        for label, size in zip(y.labels, y.array.type.shape, strict=True)
    ]
    return Labelled(specify_shape(y.array, stated), y.labels)


def _as_matrices(x: Labelled, batch: Sequence[str], groups: Sequence[list[str]]) -> Any:
    """Return an array with the axes of the batch, and one for each group of one or more labels."""
    array = arranged(x, [*batch, *groups[0], *groups[1]])
    if all(len(group) <= 1 for group in groups):
        return array
    sizes = x.sizes()
    lengths = [multiply_sizes(sizes[label] for label in group) for group in groups if group]
    return reshape(array, (*(sizes[label] for label in batch), *lengths))


def _inserted(x: Any, place: int) -> Any:
    """Return stacks of vectors as matrices of one row (``place`` -1) or one column (0)."""
    axes: list[Any] = list(range(x.ndim))
    axes.insert(x.ndim - 1 if place else x.ndim, "x")
    return dimshuffle(x, *axes)
