"""Ops that arrange: random orders, distinct random integers, the places of the smallest keys."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.random.bits.philox import philox
from phintys.random.exact.wide import wide_product
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import given_lengths, zeros_like
from phintys.tensor.shape_rules import KeepsShape, S, ShapedOp, Shapes, lengths_at
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def _further_words(bits: Any, place: Any, attempt: int) -> Any:
    """Return 64 more random bits for elements, by their bits as keys and their places."""
    place = place.astype("uint64")
    counter = [place & _LOW, place >> _HALF, np.full_like(place, attempt), np.zeros_like(place)]
    key = np.stack([bits & _LOW, bits >> _HALF], axis=-1)
    return philox(np.stack(counter, axis=-1), key)[..., :2].copy().view("<u8")[..., 0]


class _Arranging(Op):
    """An Op of random keys whose results are places, so nothing is differentiated."""

    __props__: ClassVar[tuple[str, ...]] = ()

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        return [None]


class RandomOrder(_Arranging, KeepsShape):
    """Return random orders, uniform among all, from 64 random bits for each place.

    Places are sorted by their bits, along the last axis. They stand in the last digits of the keys
    that are sorted, which sorts integers, and not indices beside them; places whose leading digits
    agree are then sorted by all 64 bits and 64 further ones. Of a million places two agree in all
    128 bits with a probability of 1e-27.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random.samplers.orders import RandomOrder
    >>> RandomOrder()(np.array([7, 1, 4], "uint64") << np.uint64(60)).eval()
    array([1, 2, 0])
    """

    def make_node(self, bits: Any) -> Apply:
        bits = as_tensor_variable(bits)
        return Apply(self, [bits], [TensorType("int64", bits.type.shape)()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = random_order(inputs[0])

    def flops(self, input_shapes: Any, output_shapes: Any) -> int:
        """Return n log n comparisons for each row."""
        return int(np.prod(input_shapes[0], dtype=int)) * int(input_shapes[0][-1]).bit_length()


def random_order(bits: Any) -> Any:
    """Return a random order; see :class:`RandomOrder`."""
    length = bits.shape[-1]
    if bits.size == 0:
        return np.zeros(bits.shape, "int64")
    mask = np.uint64((1 << (length - 1).bit_length()) - 1)
    keys = bits & ~mask
    keys |= np.arange(length, dtype="uint64")
    keys.sort(axis=-1)
    apart = np.bitwise_xor(keys[..., 1:], keys[..., :-1])
    order = np.bitwise_and(keys, mask, out=keys).view("int64")
    if length > 1 and apart.min() <= mask:
        _settle(order, bits, apart <= mask)
    return order


def _settle(order: Any, bits: Any, agree: Any) -> None:
    """Sort places that follow each other with the same leading bits, in all rows at once."""
    involved = np.zeros(order.shape, bool)
    involved[..., 1:] |= agree
    involved[..., :-1] |= agree
    places = order[involved]
    rows = np.nonzero(involved)[:-1]
    words = bits[(*rows, places)]
    row = np.ravel_multi_index(rows, order.shape[:-1]) if rows else np.zeros(len(places), "int64")
    sorted_places = np.lexsort((_further_words(words, places, 0), words, row))
    order[involved] = places[sorted_places]


class DistinctIntegers(_Arranging, ShapedOp):
    """Return the first distinct ones among random integers below ``n``.

    Each ordered choice has the same probability. Takes 64 random bits for each integer that is
    wanted, or, if many of all are, for each of the ``n``; the latter is a random order. Integers
    that occur before are replaced by ones of further bits, keyed by the bits of those.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random.samplers.orders import DistinctIntegers
    >>> DistinctIntegers()(np.arange(3, dtype="uint64") << np.uint64(62), 100, 3).eval()
    array([93, 69, 15])
    """

    MANY = 8
    """If more than one of so many integers is wanted, the bits are those of all."""

    @classmethod
    def words(cls, count: Any, n: Any) -> Any:
        """Return how many words ``count`` of ``n`` integers need."""
        if isinstance(count, int) and isinstance(n, int):
            return count if count * cls.MANY <= n else n
        return math.switch(math.mul(count, cls.MANY) <= n, count, n)

    def make_node(self, bits: Any, n: Any, count: Any) -> Apply:
        inputs = [as_tensor_variable(bits), as_size(n), as_size(count)]
        return Apply(self, inputs, [TensorType("int64", *self.static_shapes(inputs))()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        bits, n = inputs[0], int(inputs[1])
        (count,) = given_lengths(self, inputs[2:], "int64")
        if count > n:
            msg = f"choice: {count} of {n} cannot be taken without replacement."
            raise ArgumentError(msg)
        few = count * self.MANY <= n
        output_storage[0][0] = distinct(bits, n) if few else random_order(bits)[:count]

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [tuple(lengths_at(shapes, 2))]


def distinct(bits: Any, n: int) -> Any:
    """Return as many distinct integers below ``n`` as there are words.

    They are the first distinct ones of a sequence of independent integers: of each round all are
    kept that did not occur before, in their order, and the next round replaces the others.
    """
    limit = np.uint64((1 << 64) % n)  # the products that fill no whole multiple of n
    attempt = 0
    while True:
        high, low = wide_product(bits, np.uint64(n))
        accepted = low >= limit
        values = np.where(accepted, high, np.uint64(n) + np.arange(len(bits), dtype="uint64"))
        _, first = np.unique(values, return_index=True)
        kept = np.zeros(len(bits), bool)
        kept[first] = True
        kept &= accepted
        if kept.all():
            return values.view("int64")
        attempt += 1
        (again,) = np.nonzero(~kept)
        bits = np.concatenate([bits[kept], _further_words(bits[again], again, attempt)])


class FirstPlaces(_Arranging, ShapedOp):
    """Return the places of the smallest of a vector of keys, the smallest one first."""

    def make_node(self, keys: Any, count: Any) -> Apply:
        inputs = [as_tensor_variable(keys), as_size(count)]
        return Apply(self, inputs, [TensorType("int64", *self.static_shapes(inputs))()])

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[True], [False]]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [zeros_like(inputs[0]), disconnected_type()]

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        keys = inputs[0]
        (count,) = given_lengths(self, inputs[1:], "int64")
        available = int(np.count_nonzero(keys < np.inf))
        if count > available:
            msg = (
                f"choice: {count} elements are wanted without replacement, but only {available} "
                f"of {len(keys)} have a positive probability."
            )
            raise ArgumentError(msg)
        if 0 < count < len(keys):
            places = np.argpartition(keys, count - 1)[:count]
        else:
            places = np.arange(count)
        output_storage[0][0] = places[np.argsort(keys[places])].astype("int64", copy=False)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [tuple(lengths_at(shapes, 1))]
