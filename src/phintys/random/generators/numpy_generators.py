"""NumPy's generators as states: their Type, copies, and what they share with our own.

A draw leaves the generator that it is given as it was, so it draws from a copy: then a call that
fails changes no shared generator. To construct a bit generator and to set its ``state``, a
dictionary, takes 5 us (SFC64) to 150 us (MT19937). Here a copy without other references is
used again, and its state is a few words that are copied as they are in memory.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import lru_cache
from typing import Any, cast

import numpy as np

from phintys._base.errors import TypeContractError
from phintys.graph.apply import Apply
from phintys.graph.sharing import shared_constructor
from phintys.graph.type import Type
from phintys.graph.variable import Constant, Variable
from phintys.random.bits.philox import philox
from phintys.random.bits.states import RandomType, StateOp, random_type
from phintys.tensor.type import TensorType

_KINDS = tuple(
    getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "Philox", "MT19937", "SFC64")
)
"""The bit generators whose objects have their whole state within themselves."""

_MOST_SEEDS = 1024
_MOST_TWINS = 16


def copied(generator: np.random.Generator) -> np.random.Generator:
    """Return a generator in the same state, with the same seed sequence.

    Parameters
    ----------
    generator
        The generator. Other threads may draw from it if its kind is one of NumPy's own, which are
        copied under their lock.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.random.generators.numpy_generators import copied
    >>> generator = np.random.default_rng(1)
    >>> twin = copied(generator)
    >>> twin.normal() == generator.normal()
    True
    """
    return copied_with_address(generator)[0]


def copied_with_address(generator: np.random.Generator) -> tuple[np.random.Generator, Any]:
    """Return a copy as :func:`copied` makes it, and the address of its C interface for bits.

    Parameters
    ----------
    generator
        The generator.

    Returns
    -------
    tuple of Generator and ndarray
        The copy, and a new array of one int64.
    """
    bits: Any = generator.bit_generator
    kind = type(bits)
    place = _place_of_state(kind) if type(generator) is np.random.Generator else None
    if place is None:
        copy = _copied_by_state(bits)
        return copy, np.array(interface_address(copy), "int64")
    copy, twin = _unused_twin(kind, bits.seed_seq)
    start, length = place
    with bits.lock:
        ctypes.memmove(twin.place + start, id(bits) + start, length)
    return copy, twin.address.copy()


def _copied_by_state(bits: Any) -> np.random.Generator:
    """Return a new generator for any bit generator, by its attribute ``state``."""
    twin = type(bits)(bits.seed_seq)
    twin.state = bits.state
    return np.random.Generator(twin)


def equal_states(a: Any, b: Any) -> bool:
    """Return whether two values of the attribute ``state`` are equal.

    Parameters
    ----------
    a, b
        The values: dictionaries of integers, arrays and dictionaries.
    """
    if isinstance(a, dict):
        keys = cast("dict[str, Any]", a)
        return keys.keys() == b.keys() and all(equal_states(keys[key], b[key]) for key in keys)
    return bool(np.array_equal(a, b))


def interface_address(generator: np.random.Generator) -> int:
    """Return the address of the C interface of a generator's bits, a ``bitgen_t``.

    Parameters
    ----------
    generator
        The generator, which must live as long as the address is used.
    """
    bits: Any = generator.bit_generator
    return _pointer_in(bits.capsule, b"BitGenerator")


_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class _Twin:
    """A generator that is a copy of others, one after the other.

    Parameters
    ----------
    kind
        The class of its bit generator.
    seed_seq
        Its seed sequence.
    """

    __slots__ = ("address", "bits", "generator", "place", "unused")

    def __init__(self, kind: Any, seed_seq: Any) -> None:
        self.bits = kind(seed_seq)
        self.generator = np.random.Generator(self.bits)
        self.place = id(self.bits)
        self.address = np.array(interface_address(self.generator), "int64")
        self.unused = self._references()

    def _references(self) -> int:
        return sys.getrefcount(self.generator) + sys.getrefcount(self.bits)

    def is_unused(self) -> bool:
        """Return whether there are no other references to the generator.

        A reference to either of the two objects adds to the sum, and nothing lowers it.
        """
        return self._references() == self.unused


_twins: dict[tuple[Any, int], list[_Twin]] = {}
"""(kind, id of the seed sequence) -> twins, which keep the seed sequence alive."""


def _unused_twin(kind: Any, seed_seq: Any) -> tuple[np.random.Generator, _Twin]:
    """Return a generator without other references, in any state, and its twin.

    The generator is a reference that is taken before other threads can see the twin.
    """
    key = (kind, id(seed_seq))
    # Taken out meanwhile, in one step: two threads never choose the same twin.
    known = _twins.pop(key, [])
    for number, twin in enumerate(known):
        if twin.is_unused():
            del known[number]
            break
    else:
        twin = _Twin(kind, seed_seq)
        del known[: len(known) + 1 - _MOST_TWINS]
    known.append(twin)  # the chosen one is tried last
    generator = twin.generator
    if len(_twins) >= _MOST_SEEDS:
        for oldest in list(_twins)[:1]:
            _twins.pop(oldest, None)
    _twins[key] = known
    return generator, twin


@lru_cache
def _place_of_state(kind: Any) -> tuple[int, int] | None:
    """Return where objects of a class have the words of their state: the start, and the length.

    It is ``None`` if that is not known, or if the references to an object do not tell whether it is
    used.
    """
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    if kind not in _KINDS or sys.implementation.name != "cpython" or not has_gil:
        return None
    one, other = kind(1), kind(2)
    start = _after_pointers(one)
    if start is None:
        return None
    np.random.Generator(one).integers(9, size=3, dtype="uint32")  # leaves half a word for the next
    place = start, kind.__basicsize__ - start
    ctypes.memmove(id(other) + start, id(one) + start, place[1])
    before = one.state
    is_alike = equal_states(other.state, before)
    drawn = other.random_raw(9)
    is_apart = equal_states(one.state, before) and not equal_states(other.state, before)
    return place if is_alike and is_apart and (one.random_raw(9) == drawn).all() else None


def _after_pointers(bits: Any) -> int | None:
    """Return where the state of a bit generator begins, after pointers into the object itself.

    It is ``None`` if there is anything else among the words that belongs to the object alone.
    """
    own = range(id(bits), id(bits) + type(bits).__basicsize__)
    start = bits.ctypes.state_address
    if start not in own or (start - own.start) % 8 or len(own) % 8:
        return None
    words = list((ctypes.c_uint64 * ((own.stop - start) // 8)).from_address(start))
    while words and words[0] in own:
        start += 8
        del words[0]
    kept = {id(one) for one in gc.get_referents(bits)}
    return None if any(word in own or word in kept for word in words) else start - own.start


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

    def make_node(self, given: Any) -> Apply:
        rng = random_generator_type.filter_variable(given)
        return Apply(self, [rng], [random_generator_type(), TensorType("int64", ())()])

    def made_anew(self, node: Any) -> Any:
        return copied_with_address

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
