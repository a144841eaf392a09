"""Lowering of random bits, of the Ops from states to states, and of draws by NumPy's generators.

A state is an array of three words, whose values are computed like any others. The bits of an
element follow from its position alone, so their loop is vectorized, divided among threads and fused
with what uses the numbers as any elementwise one.

A generator of NumPy is copied in Python, by a callback of :class:`CopyGenerator`; NumPy's own C
functions draw from the copy, which has no other references. So they need neither the GIL nor the
generator's lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from phintys import scalar as ps
from phintys.backends.native.expressions import (
    Conversion,
    Expression,
    Index,
    Literal,
    Operation,
    Position,
    SizeValue,
)
from phintys.backends.native.failures import Failure
from phintys.backends.native.lower.lowering import Loops, Lowering, NotLowered, lowers
from phintys.backends.native.lower.shape_rules import NativeShapes
from phintys.backends.native.lower.view import View
from phintys.backends.native.routines.numpy_draws import BOUNDED, DRAWS, NUMPY_BOUNDED, NUMPY_DRAW
from phintys.backends.native.routines.numpy_functions import has_numpy_function
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.variable import Constant, Variable
from phintys.random.bits.random_bits import Positions, RandomBits
from phintys.random.bits.states import (
    TO_FOLD,
    TO_SPLIT,
    WORDS,
    Advance,
    FoldIn,
    Jump,
    RandomType,
    SplitState,
    StateOfWords,
    StateWords,
)
from phintys.random.exact.steps import random_half, random_quarter, random_word
from phintys.random.generators.numpy_draws import NumpyDraw, NumpyIntegers
from phintys.random.generators.numpy_generators import CopyGenerator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.backends.native.sizes import Size
    from phintys.backends.native.values import Array, LoopVariable
    from phintys.graph.apply import Apply


_UINT64 = np.dtype("uint64")


@lowers(RandomBits)
def lower_random_bits(op: RandomBits, node: Apply, lowering: Lowering) -> None:
    """``bits[i, j] = random_word(i * m + j, key, low, high)``."""
    state = _words(node.inputs[0], lowering)
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    target, loops = lowering.compute(node.outputs[0], lengths)
    at = Conversion(_position(loops, lengths, lowering), _UINT64)
    row = {"uint64": random_word, "uint32": random_half, "uint16": random_quarter}[op.dtype]
    value = Operation(row, (at, *state), np.dtype(op.dtype))
    lowering.store(target, value, loops, nodes=(node,))


@lowers(Positions)
def lower_positions(op: Positions, node: Apply, lowering: Lowering) -> None:
    """``positions[i, j] = i * m + j``."""
    (lengths,) = op.output_shapes(NativeShapes(node, lowering))
    target, loops = lowering.compute(node.outputs[0], lengths)
    lowering.store(
        target, Conversion(_position(loops, lengths, lowering), _UINT64), loops, nodes=(node,)
    )


def _position(loops: Loops, lengths: Sequence[Size], lowering: Lowering) -> Position:
    """Return the position of an element in the order of memory."""
    step = lowering.sizes.fixed(1)
    terms: list[tuple[LoopVariable, Size]] = []
    for loop, length in zip(reversed(loops), reversed(lengths), strict=True):
        if loop is not None:
            terms.append((loop, step))
        step = lowering.sizes.mul(step, length)
    return Position(Index(tuple(reversed(terms))))


@lowers(StateWords)
def lower_state_words(op: StateWords, node: Apply, lowering: Lowering) -> None:
    """``y = x``, in the same memory."""
    lowering.bind(node.outputs[0], lowering.view(node.inputs[0]), is_part=True)


@lowers(StateOfWords)
def lower_state_of_words(op: StateOfWords, node: Apply, lowering: Lowering) -> None:
    """``state = words``."""
    _store(node.outputs[0], _words(node.inputs[0], lowering), node, lowering)


@lowers(Advance)
def lower_advance(op: Advance, node: Apply, lowering: Lowering) -> None:
    """``next = key, low + count, high``."""
    key, low, high = _words(node.inputs[0], lowering)
    count = Conversion(SizeValue(lowering.size_of(node.inputs[1])), _UINT64)
    _store(node.outputs[0], [key, _of(ps.add, low, count), high], node, lowering)


@lowers(Jump)
def lower_jump(op: Jump, node: Apply, lowering: Lowering) -> None:
    """``next = key, low, high + 1``."""
    key, low, high = _words(node.inputs[0], lowering)
    _store(node.outputs[0], [key, low, _of(ps.add, high, _int(1))], node, lowering)


@lowers(SplitState)
def lower_split(op: SplitState, node: Apply, lowering: Lowering) -> None:
    """Children are blocks of another key, at the counter of the state."""
    key, low, high = _words(node.inputs[0], lowering)
    after, *children = node.outputs
    _store(after, [key, _of(ps.add, low, _int(op.count)), high], node, lowering)
    other = _of(ps.xor, key, _int(TO_SPLIT))
    for number, child in enumerate(children):
        first, second = (_word(2 * number + i, other, low, high) for i in range(2))
        _store(child, [first, _int(0), second], node, lowering)


@lowers(FoldIn)
def lower_fold_in(op: FoldIn, node: Apply, lowering: Lowering) -> None:
    """The block of a key that follows from the state, at the number."""
    key, low, high = _words(node.inputs[0], lowering)
    number = Conversion(SizeValue(lowering.size_of(node.inputs[1])), _UINT64)
    other = _of(ps.xor, key, _int(TO_FOLD))
    own, above = (_word(i, other, low, high) for i in range(2))
    first, second = (_word(i, own, number, above) for i in range(2))
    _store(node.outputs[0], [first, _int(0), second], node, lowering)


def _words(state: Variable, lowering: Lowering) -> list[Expression]:
    """Return the words of a state: key, low and high half of the counter."""
    view, sizes = lowering.view(state), lowering.sizes
    return [lowering.load(view.picked(0, sizes.fixed(i), sizes), ()) for i in range(WORDS)]


def _store(state: Variable, words: Sequence[Expression], node: Apply, lowering: Lowering) -> None:
    """Store the words of a new state."""
    sizes = lowering.sizes
    target, _ = lowering.compute(state, [sizes.fixed(WORDS)])
    for number, word in enumerate(words):
        lowering.store(target.picked(0, sizes.fixed(number), sizes), word, (), nodes=(node,))


def _int(value: int | np.uint64) -> Literal:
    return Literal(np.uint64(value), _UINT64)


def _of(op: Any, *arguments: Expression) -> Operation:
    return Operation(op, arguments, _UINT64)


def _word(position: int, key: Expression, low: Expression, high: Expression) -> Operation:
    return _of(random_word, _int(position), key, low, high)


# ---- draws by NumPy's generators -----------------------------------------------------------------


@lowers(NumpyDraw)
def lower_numpy_draw(op: NumpyDraw, node: Apply, lowering: Lowering) -> None:
    """``draw[i] = random_normal(&bits, loc[i], scale[i])``."""
    function = DRAWS.get((op.name, op.dtype))
    if function is None:
        msg = f"{op.name} of {op.dtype} is not one function of NumPy"
        raise NotLowered(msg)
    draw = _Draw(node, function.symbol, lowering)
    parameters = [
        draw.parameter(view, dtype) for view, dtype in zip(draw.views, function.dtypes, strict=True)
    ]
    draw.call(NUMPY_DRAW, parameters, {"function": function})


@lowers(NumpyIntegers)
def lower_numpy_integers(op: NumpyIntegers, node: Apply, lowering: Lowering) -> None:
    """``draw = random_bounded_uint64_fill(&bits, low, high - 1 - low)``."""
    if op.dtype not in BOUNDED:
        msg = f"integers of {op.dtype} are drawn several at once"
        raise NotLowered(msg)
    draw = _Draw(node, BOUNDED[op.dtype], lowering)
    if any(view.array.dtype.kind not in "bi" for view in draw.views):
        msg = "an end of the integers is not of a signed dtype"
        raise NotLowered(msg)
    if not all(map(_is_single, draw.views)):
        msg = "several ends of the integers"
        raise NotLowered(msg)
    draw.call(NUMPY_BOUNDED, [draw.parameter(view, "int64") for view in draw.views], {})


class _Draw:
    """A draw that is being lowered.

    Parameters
    ----------
    node
        The node.
    symbol
        The C function.
    lowering
        Where it is added.
    """

    def __init__(self, node: Apply, symbol: str, lowering: Lowering) -> None:
        rng, size, *parameters = node.inputs
        if isinstance(rng.type, RandomType) or node.op.inplace:  # pyright: ignore[reportAttributeAccessIssue]
            msg = "the generator is not copied"
            raise NotLowered(msg)
        if not has_numpy_function(symbol):
            msg = f"the installed NumPy does not export {symbol}"
            raise NotLowered(msg)
        self._node, self._lowering = node, lowering
        self.views = [lowering.view(one) for one in parameters]
        if any(
            view.array.dtype.kind not in "bif" or view.array.dtype.itemsize > 8
            for view in self.views
        ):
            msg = "a parameter is not of a signed or floating dtype"
            raise NotLowered(msg)
        self._lengths = self._sizes(size)
        for view in self.views:
            for length, whole in zip(view.sizes, self._lengths, strict=True):
                if length.known != 1 and lowering.sizes.canonical(length) is not whole:
                    msg = "parameters may broadcast when the function runs"
                    raise NotLowered(msg)

    def _sizes(self, size: Any) -> list[Size]:
        """Return the lengths of the draw."""
        lowering, sizes = self._lowering, self._lowering.sizes
        if not isinstance(size, Constant) or size.data is not None:
            view = lowering.view(size)
            count = self._node.outputs[1].type.ndim  # pyright: ignore[reportAttributeAccessIssue]
            return [sizes.canonical(lowering.element(view, (at,))) for at in range(count)]
        axes = zip(*(view.sizes for view in self.views), strict=True)
        longest = [next((one for one in axis if one.known != 1), axis[0]) for axis in axes]
        return [sizes.canonical(one) for one in longest]

    def parameter(self, view: View, dtype: str) -> Array:
        """Return a parameter in memory: one element, or one for each number."""
        lowering, sizes = self._lowering, self._lowering.sizes
        lengths = () if _is_single(view) else tuple(self._lengths)
        target = lowering.array(np.dtype(dtype), lengths)
        loops = lowering.loops(lengths)
        own = [
            None if one.known == 1 else loop
            for one, loop in zip(view.sizes, loops or [None] * view.ndim, strict=True)
        ]
        value = lowering.load(view, own)
        if view.array.dtype != target.dtype:
            value = Conversion(value, target.dtype)
        lowering.store(View.of(target, sizes), value, loops, nodes=(self._node,))
        return target

    def call(self, routine: Any, parameters: Sequence[Array], options: dict[str, Any]) -> None:
        """Add the copy of the generator, and the call that draws from it."""
        node, lowering, sizes = self._node, self._lowering, self._lowering.sizes
        after, draw = node.outputs
        copy = CopyGenerator().make_node(node.inputs[0])
        copy.outputs[0].name = after.name
        for length in self._lengths:
            lowering.require_length(length, Failure(node, "size", "a negative length", ValueError))
        target, _ = lowering.compute(draw, self._lengths)
        lowering.callback(copy, "NumPy's generators are objects of Python")
        lowering.bind_same(after, copy.outputs[0])
        address = lowering.view(copy.outputs[1]).array
        options = {"count": sizes.product(list(self._lengths)), **options}
        refused = Failure(node, "parameters", "NumPy does not draw with them", ValueError)
        inputs = (address, *parameters)
        lowering.steps.append(
            LibraryCall(routine, inputs, (target.array,), options, node, failure=refused)
        )


def _is_single(view: View) -> bool:
    return all(length.known == 1 for length in view.sizes)
