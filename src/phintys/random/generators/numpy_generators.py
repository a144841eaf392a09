"""NumPy's generators as states: their Type, and what they share with our own."""

from __future__ import annotations

from typing import Any

import numpy as np

from phintys._base.errors import TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.sharing import shared_constructor
from phintys.graph.type import Type
from phintys.graph.variable import Constant, Variable
from phintys.random.bits.philox import philox
from phintys.random.bits.states import RandomType, StateOp, random_type
from phintys.random.generators.copies import copied, copied_with_address, equal_states
from phintys.tensor.type import TensorType


class NumpyGeneratorVariable(Variable):
    """A symbolic generator of NumPy. It has NumPy's methods, which return the next generator and
    the draw, and those for the other distributions.
    """


class NumpyGeneratorConstant(Constant, NumpyGeneratorVariable):
    """A generator of NumPy whose state is known: its draws are the same at each call."""


class RandomGeneratorType(Type):
    """Type of ``numpy.random.Generator``, whose draws equal NumPy's bit by bit.

    Nodes never change a generator that they are given: they copy it, in Python. Native code draws
    from the copy by NumPy's C functions; methods that are more than one such function are
    callbacks.

    Examples
    --------
    >>> import numpy as np, phintys
    >>> r = phintys.shared(np.random.default_rng(1))
    >>> after, draw = r.normal(0.0, 1.0, size=2)
    >>> f = phintys.function([], draw, updates={r: after})
    >>> bool((f() == np.random.default_rng(1).normal(0.0, 1.0, size=2)).all())
    True
    """

    __props__ = ()

    variable_type = NumpyGeneratorVariable
    constant_type = NumpyGeneratorConstant

    def filter(self, value: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Return ``value`` if it is a generator of NumPy."""
        if isinstance(value, np.random.Generator):
            return value
        msg = f"Expected a numpy.random.Generator, got {value!r} of type {type(value).__name__}."
        raise TypeContractError(msg)

    def values_eq(self, a: Any, b: Any) -> bool:
        """Return whether two generators are of the same kind and in the same state."""
        return equal_states(a.bit_generator.state, b.bit_generator.state)

    @staticmethod
    def may_share_memory(a: Any, b: Any) -> bool:
        """Return whether two values are generators with the same state in memory."""
        bits = getattr(a, "bit_generator", None)
        return bits is not None and bits is getattr(b, "bit_generator", None)

    def __repr__(self) -> str:
        return "RandomGeneratorType"


random_generator_type = RandomGeneratorType()


@shared_constructor.register(np.random.Generator)
def _shared_generator(
    value: Any,
    name: str | None = None,
    strict: bool = False,
    allow_downcast: bool | None = None,
    borrow: bool = False,
) -> Any:
    return random_generator_type.make_shared(
        value if borrow else copied(value), strict=strict, name=name, borrow=True
    )


def numpy_generator(type_: Type, value: Any, *, inplace: bool = False) -> np.random.Generator:
    """Return a generator of NumPy that draws for a state.

    Parameters
    ----------
    type_
        The Type of the state, ours or NumPy's.
    value
        The state. Ours is the key of a Philox generator.
    inplace
        Whether a generator of NumPy may be changed.
    """
    if not isinstance(type_, RandomType):
        return value if inplace else copied(value)
    counter = [value[1] & _LOW, value[1] >> _HALF, value[2] & _LOW, value[2] >> _HALF]
    words = philox(counter, [value[0] & _LOW, value[0] >> _HALF]).view("<u8")
    return np.random.Generator(np.random.Philox(key=words.astype("uint64")))


_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def next_value(type_: Type, value: Any, generator: np.random.Generator) -> Any:
    """Return the state after a generator has drawn for it."""
    if not isinstance(type_, RandomType):
        return generator
    after = value.copy()
    after[1:2] += np.uint64(1)  # the block that was the key
    return after


class CopyGenerator(StateOp):
    """Return a copy of a generator of NumPy, and the address of its C interface.

    Native code draws from the copy by NumPy's C functions.
    """

    __props__ = ()
    made_anew = staticmethod(copied_with_address)

    def make_node(self, given: Any) -> Apply:
        rng = random_generator_type.filter_variable(given)
        return Apply(self, [rng], [random_generator_type(), TensorType("int64", ())()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0], output_storage[1][0] = copied_with_address(inputs[0])


class SeedState(StateOp):
    """Return the next generator of NumPy, and a state of Phintys that it seeds."""

    __props__ = ()

    def make_node(self, given: Any) -> Apply:
        rng = random_generator_type.filter_variable(given)
        return Apply(self, [rng], [random_generator_type(), random_type()])

    def perform(self, node: Any, inputs: Any, output_storage: Any) -> None:
        generator = copied(inputs[0])
        key, high = generator.integers(0, 2**64, 2, dtype="uint64")
        output_storage[0][0] = generator
        output_storage[1][0] = np.array([key, 0, high], "uint64")
