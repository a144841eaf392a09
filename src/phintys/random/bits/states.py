"""States of generators: their Type, seeds, and the Ops from states to states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from phintys._base.errors import ArgumentError, TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.null_type import disconnected_type
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.graph.variable import Constant, Variable
from phintys.random.bits.philox import philox
from phintys.tensor.shape_rules import S, ShapedOp, Shapes
from phintys.tensor.sizes import as_size
from phintys.tensor.type import TensorType

WORDS = 3
"""A state is three uint64: the key, and the low and the high half of the counter."""

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

# Keys of children are drawn under keys of their own, so that they are never numbers of a draw.
TO_SPLIT = np.uint64(0x5A17_1CE5_0F2B_9D43)
TO_FOLD = np.uint64(0xC3A5_C85C_97CB_3127)
TO_TRY = np.uint64(0x9AE1_6A3B_2F90_404F)  # likewise, of further bits that few elements need


class GeneratorVariable(Variable):
    """A symbolic generator. It has a method for each distribution, which returns the next state and
    the draw: ``next, draw = rng.normal(loc, scale, size)``.
    """

    if TYPE_CHECKING:
        # The distributions register themselves, so their methods are made when they are imported.
        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def split(self, count: int = 2) -> tuple[Variable, list[Variable]]:
        """Return the next state and ``count`` independent generators."""
        after, *children = SplitState(count)(self)
        return after, children

    def fold_in(self, number: Any) -> Variable:
        """Return the generator that belongs to an integer, which may be symbolic."""
        return FoldIn()(self, number)

    def jump(self) -> Variable:
        """Return a generator so far ahead that draws from this one never reach it."""
        return Jump()(self)


class GeneratorConstant(Constant, GeneratorVariable):
    """A generator whose state is known: its draws are the same at each call of a function."""


class RandomType(Type):
    """Type of the states of our generator: an array of three uint64, which is never changed.

    It is not a tensor type, so arithmetic on states is refused.

    Examples
    --------
    >>> from phintys.random import random_type, state
    >>> random_type.is_valid_value(state(42))
    True
    """

    __props__ = ()

    variable_type = GeneratorVariable
    constant_type = GeneratorConstant
    holds_arrays = True
    numpy_dtype = np.dtype("uint64")
    shape = (WORDS,)
    ndim = 1

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value`` if it is a state."""
        if (
            isinstance(value, np.ndarray)
            and cast("Any", value).dtype == np.uint64
            and cast("Any", value).shape == (WORDS,)
        ):
            return cast("Any", value)
        msg = (
            f"Expected the state of a generator, three uint64, got {value!r}. Make one from a seed "
            "with phintys.random.state(seed)."
        )
        raise TypeContractError(msg)

    @staticmethod
    def to_tensor(given: Any) -> Any:
        """Return a state as a tensor, of which a loop can keep the values of many steps."""
        return StateWords()(given)

    @staticmethod
    def from_tensor(words: Any) -> Any:
        """Return the state of which a tensor has the words."""
        return StateOfWords()(words)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two states are equal."""
        return bool(np.array_equal(a, b))

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two states share memory."""
        return bool(np.shares_memory(a, b))

    def get_shape_info(self, obj: Any) -> Any:
        """Return nothing: all states have the same size."""
        return None

    def get_size(self, shape_info: Any) -> int:
        """Return the size in bytes."""
        return 8 * WORDS


random_type = RandomType()


def state(seed: Any) -> np.ndarray[Any, Any]:
    """Return the state of a new generator.

    Parameters
    ----------
    seed
        As for :func:`seed_sequence`.

    Examples
    --------
    >>> from phintys.random import state
    >>> bool((state(1) == state([1])).all()), bool((state(1) == state(2)).all())
    (True, False)
    """
    key, high = seed_sequence(seed).generate_state(2, np.uint64)
    return np.array([key, 0, high], "uint64")


def seed_sequence(seed: Any) -> np.random.SeedSequence:
    """Return a seed as NumPy's sequence of words.

    Parameters
    ----------
    seed
        A non-negative int of any length, or a string of its digits; a sequence of such ints; a
        ``numpy.random.SeedSequence``; or ``None`` for fresh entropy of the operating system.

    Examples
    --------
    >>> from phintys.random.bits.states import seed_sequence
    >>> seed_sequence("17").entropy, seed_sequence([17, 4]).entropy
    (17, [17, 4])
    """
    if isinstance(seed, np.random.SeedSequence):
        return seed
    if seed is None:
        return np.random.SeedSequence()
    if isinstance(seed, str):
        digits = seed.strip()
        return np.random.SeedSequence(int(digits) if digits.isdecimal() else _checked_seed(seed))
    if isinstance(seed, Sequence) or (isinstance(seed, np.ndarray) and seed.ndim == 1):
        return np.random.SeedSequence([_checked_seed(one, seed) for one in seed])
    return np.random.SeedSequence(_checked_seed(seed))


def _checked_seed(one: Any, seed: Any = None) -> int:
    if isinstance(one, int | np.integer) and not isinstance(one, bool) and one >= 0:
        return int(one)
    msg = (
        "A seed is a non-negative int, a string of digits, a sequence of non-negative ints, a "
        f"numpy.random.SeedSequence, or None, got {(one if seed is None else seed)!r}."
    )
    raise ArgumentError(msg)


def _block(words: Any, key: Any) -> np.ndarray[Any, Any]:
    """Return the two uint64 at a 128-bit counter, two uint64."""
    counter = [words[0] & _LOW, words[0] >> _HALF, words[1] & _LOW, words[1] >> _HALF]
    return philox(np.stack(counter, axis=-1), np.stack([key & _LOW, key >> _HALF], axis=-1)).view(
        "<u8"
    )


def folded(words: Any, number: Any) -> np.ndarray[Any, Any]:
    """Return the state of the generator that belongs to a state and an integer.

    The key of a Philox block, drawn under a key of its own, numbers the children.

    Parameters
    ----------
    words
        A state.
    number
        An int64.

    Examples
    --------
    >>> from phintys.random import rng, state
    >>> from phintys.random.bits.states import folded
    >>> r = rng("r")
    >>> bool((folded(state(1), 5) == r.fold_in(5).eval({r: state(1)})).all())
    True
    """
    key = _block((words[1], words[2]), words[0] ^ TO_FOLD)
    child = _block((np.asarray(number, "int64").astype("uint64"), key[1]), key[0])
    return np.array([child[0], 0, child[1]], "uint64")


class StateOp(Op):
    """An Op of a state, through which nothing is differentiated."""

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        return [[False] * len(node.outputs) for _ in node.inputs]

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> list[Any]:
        return [disconnected_type() for _ in inputs]

    def R_op(self, inputs: Any, eval_points: Any) -> list[Any]:
        return [None]

    def do_constant_folding(self, fgraph: Any, node: Any) -> bool:
        """Keep the draws of constant states out of compilation: they may be large."""
        return False


def as_state(x: Any) -> Variable:
    """Return a variable of :class:`RandomType`."""
    if isinstance(x, Variable | np.ndarray):
        return random_type.filter_variable(x)
    msg = (
        "A draw takes a generator, such as phintys.random.rng(), shared_rng(seed), or the next "
        f"state that another draw has returned; got {x!r} of type {type(x).__name__}."
    )
    raise TypeContractError(msg)


class StateWords(StateOp, ShapedOp):
    """Return the three words of a state as a vector, for native code."""

    __props__ = ()
    view_map = {0: (0,)}

    def make_node(self, given: Any) -> Apply:
        return Apply(self, [as_state(given)], [TensorType("uint64", (WORDS,))()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0]

    def output_shapes(self, shapes: Shapes[S]) -> list[tuple[S, ...]]:
        return [(shapes.number(WORDS),)]


class StateOfWords(StateOp):
    """Return the state of which a vector has the words."""

    __props__ = ()

    def make_node(self, words: Any) -> Apply:
        given = TensorType("uint64", (WORDS,)).filter_variable(words)
        return Apply(self, [given], [random_type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = np.ascontiguousarray(inputs[0]).copy()


class Advance(StateOp):
    """Return the state after a number of blocks."""

    __props__ = ()

    def make_node(self, given: Any, count: Any) -> Apply:
        return Apply(self, [as_state(given), as_size(count)], [random_type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        words = inputs[0].copy()
        words[1:2] += np.uint64(inputs[1])
        output_storage[0][0] = words


class Jump(StateOp):
    """Return a state 2**64 blocks further."""

    __props__ = ()

    def make_node(self, given: Any) -> Apply:
        return Apply(self, [as_state(given)], [random_type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        words = inputs[0].copy()
        words[2:] += np.uint64(1)
        output_storage[0][0] = words


_MOST_STATES = 2**20
"""Each is an output of a node."""


class SplitState(StateOp):
    """Return the next state and ``count`` states of independent generators.

    Parameters
    ----------
    count
        How many.
    """

    __props__ = ("count",)

    def __init__(self, count: int) -> None:
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            msg = f"split: the number of generators is a positive int, got {count!r}."
            raise ArgumentError(msg)
        if count > _MOST_STATES:
            msg = (
                f"split: the number of generators must be at most {_MOST_STATES:,}, got {count:,}; "
                "state.fold_in(number) makes one at a time."
            )
            raise ArgumentError(msg)
        self.count = count

    def make_node(self, given: Any) -> Apply:
        return Apply(self, [as_state(given)], [random_type() for _ in range(self.count + 1)])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        words = inputs[0]
        low = words[1] + np.arange(self.count, dtype="uint64")
        children = _block((low, np.broadcast_to(words[2], low.shape)), words[0] ^ TO_SPLIT)
        after = words.copy()
        after[1:2] += np.uint64(self.count)
        output_storage[0][0] = after
        for storage, child in zip(output_storage[1:], children, strict=True):
            storage[0] = np.array([child[0], 0, child[1]], "uint64")


class FoldIn(StateOp):
    """Return the state of a generator that is chosen by a state and an integer."""

    __props__ = ()

    def make_node(self, given: Any, number: Any) -> Apply:
        return Apply(self, [as_state(given), as_size(number)], [random_type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = folded(*inputs)
