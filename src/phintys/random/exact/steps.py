"""Scalar functions in exact steps: the same bits from every backend, on every processor.

Functions such as ``log`` differ in their last digits from library to library, and native code fuses
multiplications with additions where the processor can. A sampler that uses them would give other
numbers on another machine, and a test ``x < p`` could even choose another branch. So what samplers
compute from random bits is written in steps whose results IEEE 754 prescribes: ``+``, ``-``, ``*``,
``/``, ``sqrt``, comparisons, ``switch``, casts, and operations on bits. Each step is rounded by
itself, in the order written. The reference applies the steps to arrays; native code writes the same
steps, as instructions. Equality thus follows from the construction.

- :func:`exact_function` makes such a function of an expression.
- :class:`Rejection` is one that makes attempts until one is accepted.
- :data:`float_bits` and :data:`bits_float` convert floats to their bits and back.
- :data:`random_word` is the generator itself, as a function of a position and a state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phintys.random.bits.philox import philox, word_at
from phintys.scalar.composite import Composite
from phintys.scalar.expansion import expanded
from phintys.scalar.op import Dtypes, unsupported_dtypes
from phintys.scalar.row import Row
from phintys.scalar.type import get_scalar_type

MOST_ATTEMPTS = 1000
"""After so many attempts the last one counts: a bound for parameters that are never accepted."""


class ExactRow(Row):
    """A scalar function that is computed in the same steps everywhere.

    Parameters
    ----------
    name
        The name of the module's attribute that holds the function.
    cost
        Rough cost for one element, of which threads are started for large arrays.
    **facts
        As for :class:`~phintys.scalar.row.Row`.
    """

    def __init__(self, name: str, *, cost: float = 20.0, **facts: Any) -> None:
        super().__init__(name, cost=cost, **facts)
        self.__module__ = str(self._home["__name__"])

    def __reduce__(self) -> Any:
        return self.name  # pickled as the attribute of its module

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        (slot,) = expanded(self, dtypes).formula.results
        return (expanded(self, dtypes).formula.types[slot].numpy_dtype,)

    def impl(self, *values: Any) -> Any:
        with np.errstate(all="ignore"):
            return expanded(self, [np.asarray(value).dtype for value in values]).impl(*values)


def exact_function(
    *, derivative: Callable[..., Any], cost: float = 20.0
) -> Callable[[Callable[..., Any]], ExactRow]:
    """Return a decorator that makes a function of scalars one scalar op, in exact steps.

    Parameters
    ----------
    derivative
        ``derivative(*inputs, out)`` returns the partial derivative of the function that the steps
        approximate, for each input. Unlike the steps it may use any functions.
    cost
        As for :class:`ExactRow`.

    Examples
    --------
    >>> from phintys import scalar as ps
    >>> from phintys.random.exact.steps import exact_function
    >>> @exact_function(derivative=lambda x, out: (2 * x,))
    ... def exact_square(x):
    ...     return ps.mul(x, x)
    >>> exact_square.impl(1.5)
    np.float64(2.25)
    """

    def decorate(function: Callable[..., Any]) -> ExactRow:
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        return ExactRow(
            function.__name__,
            nin=len(parameters),
            parameters=parameters,
            doc=function.__doc__ or "",
            expansion=function,
            derivative=derivative,
            cost=cost,
            home=function.__globals__,
        )

    return decorate


class Rejection(ExactRow):
    """A scalar function of 64 random bits and parameters, computed by rejection.

    Each attempt gets fresh random words: those of the generator whose key is the 64 bits, at the
    number of the attempt. So the function depends on its inputs alone, and draws remain elementwise
    expressions. In native code all lanes of a vector make attempts together, until each of them has
    accepted one.

    Parameters
    ----------
    name
        The name of the module's attribute that holds the function.
    prepare
        ``prepare(*parameters)`` returns what all attempts use, scalars in exact steps; a tuple.
    attempt
        ``attempt(*words, *prepared)`` returns a value and whether it is accepted, in exact steps.
        Written such that NaN is accepted. The words are uint64, as
        :func:`~phintys.random.exact.uniform.open_uniform` takes them.
    nin
        The number of inputs: the bits, of dtype uint64, and the parameters.
    words
        The number of words of an attempt, an even number.
    cost
        As for :class:`ExactRow`; a vector makes two or three attempts.
    **facts
        Further ones of :class:`~phintys.scalar.row.Row`, such as ``derivative(bits, *parameters,
        out)``.

    Examples
    --------
    Numbers of the standard exponential distribution below a limit:

    >>> import numpy as np
    >>> from phintys import scalar as ps
    >>> from phintys.random.exact.steps import Rejection
    >>> from phintys.random.exact.functions import exact_log
    >>> from phintys.random.exact.uniform import open_uniform
    >>> def attempt(first, second, limit):
    ...     value = -exact_log(open_uniform(first, "float64"))
    ...     return value, ps.logical_not(ps.gt(value, limit))
    >>> below = Rejection("below", nin=2, prepare=lambda limit: (limit,), attempt=attempt)
    >>> bool((below.impl(np.arange(100, dtype="uint64"), 0.5) <= 0.5).all())
    True
    """

    def __init__(
        self,
        name: str,
        *,
        prepare: Callable[..., Sequence[Any]],
        attempt: Callable[..., tuple[Any, Any]],
        nin: int,
        words: int = 2,
        cost: float = 150.0,
        **facts: Any,
    ) -> None:
        super().__init__(name, nin=nin, cost=cost, **facts)
        self._prepare = prepare
        self._attempt = attempt
        self.words = words
        self._formulas: dict[Dtypes, tuple[Composite, Composite]] = {}

    def formulas(self, dtypes: Sequence[Any]) -> tuple[Composite, Composite]:
        """Return the steps before all attempts, and those of an attempt.

        Parameters
        ----------
        dtypes
            Those of the inputs.
        """
        key = tuple(map(np.dtype, dtypes))
        if key not in self._formulas:
            if key[0] != np.uint64:
                raise unsupported_dtypes(self, key, "uint64, ...", "Draw bits of uint64.")
            parameters = [get_scalar_type(dtype)() for dtype in key[1:]]
            prepared = list(self._prepare(*parameters))
            before = Composite(parameters, prepared)
            inputs = [get_scalar_type("uint64")() for _ in range(self.words)]
            inputs += [variable.type() for variable in before.inner_outputs]
            self._formulas[key] = before, Composite(inputs, list(self._attempt(*inputs)))
        return self._formulas[key]

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        attempt = self.formulas(dtypes)[1].formula
        return (attempt.types[attempt.results[0]].numpy_dtype,)

    def impl(self, *values: Any) -> Any:
        arrays = [np.asarray(value) for value in values]
        before, attempt = self.formulas([array.dtype for array in arrays])
        (dtype,) = self.resolve_dtypes([array.dtype for array in arrays])
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        bits, *parameters = (np.broadcast_to(array, shape).reshape(-1) for array in arrays)
        result = np.empty(bits.size, dtype)
        left = np.arange(bits.size)
        with np.errstate(all="ignore"):
            prepared = _tuple(before.impl(*parameters))
            prepared = [np.broadcast_to(one, left.shape) for one in prepared]
            for number in range(MOST_ATTEMPTS):
                words = _words_of_attempt(bits[left], number, self.words)
                value, accepted = attempt.impl(*words, *(one[left] for one in prepared))
                result[left] = value
                left = left[~np.broadcast_to(accepted, left.shape)]
                if not left.size:
                    break
        return result.reshape(shape)[()]


class RareCase(ExactRow):
    """A scalar function with a rare case, which is computed in other steps.

    In native code those steps are skipped unless a lane of the vector needs them.

    Parameters
    ----------
    name
        The name of the module's attribute that holds the function.
    usual, rare
        Functions of the inputs, in exact steps, of one dtype.
    is_rare
        A condition on the inputs.
    has_wide_inputs
        Whether inputs that only the rare steps read are wider than what the others compute with.
    nin, **facts
        As for :class:`~phintys.scalar.row.Row`.
    """

    def __init__(
        self,
        name: str,
        *,
        nin: int,
        usual: Callable[..., Any],
        rare: Callable[..., Any],
        is_rare: Callable[..., Any],
        has_wide_inputs: bool = False,
        **facts: Any,
    ) -> None:
        super().__init__(name, nin=nin, **facts)
        self.has_wide_inputs = has_wide_inputs
        self._parts = (usual, rare, is_rare)
        self._formulas: dict[Dtypes, tuple[Composite, ...]] = {}

    def formulas(self, dtypes: Sequence[Any]) -> tuple[Composite, ...]:
        """Return the usual steps, the others, and those of the condition, for dtypes of inputs."""
        key = tuple(map(np.dtype, dtypes))
        if key not in self._formulas:
            inputs = [get_scalar_type(dtype)() for dtype in key]
            self._formulas[key] = tuple(Composite(inputs, [part(*inputs)]) for part in self._parts)
        return self._formulas[key]

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        formula = self.formulas(dtypes)[0].formula
        return (formula.types[formula.results[0]].numpy_dtype,)

    def impl(self, *values: Any) -> Any:
        arrays = np.broadcast_arrays(*values)
        usual, rare, is_rare = self.formulas([array.dtype for array in arrays])
        with np.errstate(all="ignore"):
            result = np.array(usual.impl(*arrays))
            there = is_rare.impl(*arrays)
            result[there] = rare.impl(*(array[there] for array in arrays))
        return result[()]


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _words_of_attempt(bits: Any, number: int, count: int) -> list[Any]:
    """Return the words of one attempt, for each of the bits."""
    key = np.ascontiguousarray(bits, "<u8").view("<u4").reshape(-1, 2)
    words: list[Any] = []
    for block in range(number * count // 2, (number + 1) * count // 2):
        pair = philox([block, 0, 0, 0], key).astype("<u4").view("<u8")
        words += [pair[:, 0].astype("uint64"), pair[:, 1].astype("uint64")]
    return words


class FloatBits(Row):
    """The bits of a float as a signed integer of its width."""

    works_on_arrays = True

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        if dtypes[0].name not in _BITS:
            raise unsupported_dtypes(self, dtypes, "float32, float64", "Cast it first.")
        return (np.dtype(_BITS[dtypes[0].name]),)

    def impl(self, *values: Any) -> Any:
        value = np.asarray(values[0])
        return value.view(_BITS[value.dtype.name])[()]

    def __reduce__(self) -> Any:
        return self.name


class FloatOfBits(Row):
    """The float that has the bits of a signed integer."""

    works_on_arrays = True

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        if dtypes[0].name not in _FLOATS:
            raise unsupported_dtypes(self, dtypes, "int32, int64", "Cast it first.")
        return (np.dtype(_FLOATS[dtypes[0].name]),)

    def impl(self, *values: Any) -> Any:
        value = np.asarray(values[0])
        return value.view(_FLOATS[value.dtype.name])[()]

    def __reduce__(self) -> Any:
        return self.name


_BITS = {"float32": "int32", "float64": "int64"}
_FLOATS = {integer: real for real, integer in _BITS.items()}

float_bits = FloatBits("float_bits", nin=1, doc="The bits of a float, as a signed integer.")
bits_float = FloatOfBits("bits_float", nin=1, doc="The float with the bits of a signed integer.")


class RandomWord(Row):
    """``random_word(position, key, low, high)``: 64 random bits of a state, by their position.

    The state is that of :mod:`phintys.random.bits.states`. The block at the counter
    ``low + position // 2`` has two words; an even position has the first of them.
    """

    works_on_arrays = True
    is_chain = True
    returns = "uint64"
    """The dtype of the bits."""

    def _resolve(self, dtypes: Dtypes) -> Dtypes:
        if any(dtype != np.uint64 for dtype in dtypes):
            raise unsupported_dtypes(self, dtypes, "uint64", "Cast them first.")
        return (np.dtype(self.returns),)

    def impl(self, *values: Any) -> Any:
        position, *state = np.broadcast_arrays(*values)
        width = 8 * np.dtype(self.returns).itemsize
        in_word = 64 // width
        word = word_at(position // np.uint64(in_word), *state)
        shift = position % np.uint64(in_word) * np.uint64(width)
        return (word >> shift).astype(self.returns)[()]

    def __reduce__(self) -> Any:
        return self.name


class RandomHalf(RandomWord):
    """``random_half(position, key, low, high)``: the 32 random bits at a position.

    Those at ``2 * p`` are the lower half of :data:`random_word` at ``p``, those after it the upper
    half.
    """

    has_wide_inputs = True
    returns = "uint32"


class RandomQuarter(RandomWord):
    """``random_quarter(position, key, low, high)``: the 16 random bits at a position.

    Those from ``4 * p`` on are the quarters of :data:`random_word` at ``p``, the lowest one first.
    """

    has_wide_inputs = True
    returns = "uint16"


random_word = RandomWord("random_word", nin=4, doc="64 random bits of a state, by their position.")
random_half = RandomHalf("random_half", nin=4, doc="32 random bits of a state, by their position.")
random_quarter = RandomQuarter(
    "random_quarter", nin=4, doc="16 random bits of a state, by their position."
)
