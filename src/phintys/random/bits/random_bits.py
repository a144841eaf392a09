"""RandomBits: the random words of a state."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from phintys._base.errors import ArgumentError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.random.bits.philox import blocks
from phintys.random.bits.states import WORDS
from phintys.tensor.convert import as_tensor_variable
from phintys.tensor.creation import given_lengths
from phintys.tensor.shape_rules import S, ShapedOp, Shapes, lengths_at
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType


class RandomBits(ShapedOp):
    """Return an array of random bits.

    Takes the words of a state and the lengths of the array. Its elements, in the order of memory,
    are the words of the generator's blocks one after the other; an element of uint64 is two of
    them, the less significant one first, and one of uint16 half a word. So an element follows from
    the state and its position alone, and blocks are computed as a whole, on any width of vectors.

    Parameters
    ----------
    dtype
        ``"uint16"``, ``"uint32"`` or ``"uint64"``.
    """

    __props__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        if dtype not in ("uint16", "uint32", "uint64"):
            msg = f"RandomBits are of uint16, uint32 or uint64, got {dtype!r}."
            raise ArgumentError(msg)
        self.dtype = dtype

    @property
    def in_block(self) -> int:
        """How many elements a block of four words of 32 bits gives."""
        return 16 // np.dtype(self.dtype).itemsize

    def make_node(self, words: Any, *lengths: Any) -> Apply:
        words = TensorType("uint64", (WORDS,)).filter_variable(as_tensor_variable(words))
        inputs = [words, *map(as_size, lengths)]
        return Apply(self, inputs, [TensorType(self.dtype, *self.static_shapes(inputs))()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        words, *lengths = inputs
        shape = given_lengths(self, lengths, self.dtype)
        size = math.prod(shape)
        made = blocks(words, -(-size // self.in_block)).astype("<u4")
        bits = made.reshape(-1).view(np.dtype(self.dtype).newbyteorder("<"))
        output_storage[0][0] = bits[:size].astype(self.dtype).reshape(shape)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [tuple(lengths_at(shapes, 1))]

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
        """Keep random numbers out of compilation: they may be many."""
        return False

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        return [None]


class Positions(ShapedOp):
    """Return the positions of the elements of an array in the order of memory, as uint64.

    Takes the lengths of the array. Positions are what further random bits of an element follow
    from, where most elements need none.
    """

    __props__ = ()

    def make_node(self, *lengths: Any) -> Apply:
        sizes = list(map(as_size, lengths))
        return Apply(self, sizes, [TensorType("uint64", *self.static_shapes(sizes))()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        shape = given_lengths(self, inputs, "uint64")
        output_storage[0][0] = np.arange(math.prod(shape), dtype="uint64").reshape(shape)

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [tuple(lengths_at(shapes, 0))]

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
        """Keep the array out of compilation: it may be large."""
        return False

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False] for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        return [None]
