"""The methods that draw from distributions, made from the table of distributions."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from phintys._base.errors import ArgumentError, DtypeError
from phintys.random.distributions.base import DISTRIBUTIONS, LISTENERS, Distribution
from phintys.random.distributions.checks import checked
from phintys.random.generators.numpy_generators import NumpyGeneratorVariable
from phintys.random.generators.shorthands import SHORTHANDS, Shorthand
from phintys.tensor import math
from phintys.tensor.creation import as_sizes, check_sizes
from phintys.tensor.known import known_int
from phintys.tensor.shapes import is_length
from phintys.tensor.size_check import with_check
from phintys.tensor.type import normalize_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph.variable import Variable

_Holder = TypeVar("_Holder", bound=type)

NEXT_AND_NUMBERS = "tuple of variables\n    The next state of the generator, and the draws."


def draw_from(distribution: Any, rng: Any, size: Any = None) -> tuple[Variable, Any]:
    """Return the next state of a generator, ours or NumPy's, and numbers of a distribution.

    Its parameters are checked.
    """
    if isinstance(distribution, type):
        name = distribution.__name__
        msg = f"Expected a distribution with its parameters, such as {name}(…), got the class."
        raise ArgumentError(msg)
    if isinstance(distribution, Distribution):
        distribution = checked(distribution, is_drawn=True)
    if size is not None:
        size = _checked_size(size, type(distribution).__name__)
    if isinstance(rng, NumpyGeneratorVariable):
        numpys: Any = rng
        return numpys.draw(distribution, size)
    return distribution.draw(rng, size)


def _checked_size(size: Any, name: str) -> tuple[Any, ...]:
    """Return a size as lengths, with a check that none of them is negative."""
    lengths = tuple(as_sizes(size, "The size of a draw"))
    check_sizes([known_int(length) for length in lengths], f"{name}: the size of a draw")
    for length in lengths:
        if not is_length(length):
            lengths = with_check(lengths, "at least", length, 0, f"{name}: the size of a draw")
    return lengths


class InDtype:
    """A distribution whose draws have a given dtype.

    Parameters
    ----------
    distribution
        The distribution. Floating parameters take the dtype, so that a float32 draw is computed in
        float32. Integers beyond a narrower dtype become its nearest end; where all of them are
        known to be between two ends, as those of ``integers`` are, such ends are refused.
    dtype
        The dtype.
    """

    def __init__(self, distribution: Any, dtype: Any) -> None:
        self.dtype = normalize_dtype(dtype)
        self._distribution = distribution
        if self.dtype in _FLOATS and isinstance(distribution, Distribution):
            self._distribution = distribution.mapped(
                lambda value: (
                    math.cast(value, self.dtype)
                    if getattr(value, "dtype", None) in _FLOATS
                    else value
                )
            )

    def draw(self, rng: Any, size: Any = None) -> tuple[Variable, Any]:
        """Return the next state and draws."""
        drawn: Any = self._distribution
        is_integer = np.dtype(self.dtype).kind in "iu"
        if is_integer and isinstance(drawn, Distribution):
            drawn = drawn.within(self.dtype)
        after, numbers = draw_from(drawn, rng, size)
        if numbers.dtype in _FLOATS and self.dtype not in _FLOATS:
            is_rounded = np.dtype(self.dtype).kind in "biu"
            converted = f"draw{'.round()' if is_rounded else ''}.astype({self.dtype!r})"
            msg = (
                f"Draws from {type(self._distribution).__name__} are floats of 32 or 64 bits, so "
                f"their dtype cannot be {self.dtype}. Convert them: {converted}."
            )
            raise DtypeError(msg)
        if is_integer and isinstance(drawn, Distribution) and _is_integer(numbers):
            numbers = _saturated(numbers, self.dtype, drawn)
        return after, numbers if numbers.dtype == self.dtype else math.cast(numbers, self.dtype)


_FLOATS = {"float32", "float64"}


def _is_integer(numbers: Any) -> bool:
    return np.dtype(numbers.dtype).kind in "iu"


def _saturated(numbers: Any, dtype: str, distribution: Distribution) -> Any:
    """Return integers of which those beyond a dtype are replaced by its ends.

    An end is left out if the numbers are known not to be beyond it.
    """
    given, wanted = np.iinfo(numbers.dtype), np.iinfo(dtype)
    ends = (0.0, np.inf) if distribution.event_ndim else distribution.support()
    low, high = map(_known_end, ends, (given.min, given.max))
    if low < wanted.min:
        numbers = math.maximum(numbers, np.array(wanted.min, numbers.dtype))
    if high > wanted.max:
        numbers = math.minimum(numbers, np.array(wanted.max, numbers.dtype))
    return numbers


def _known_end(end: Any, unknown: int) -> int:
    """Return an end of a support, another number if it is not known or infinite."""
    is_known = isinstance(end, float) and abs(end) < np.inf
    return int(end) if is_known else unknown


def asked_for(
    distribution: Callable[..., Any],
    parameters: Sequence[Any],
    size: Any,
    dtype: Any,
    named: Mapping[str, Any],
) -> tuple[Any, Any]:
    """Return the distribution and the size, which may follow the parameters by position."""
    most = len(getattr(distribution, "defaults", ()))
    if len(parameters) == most + 1 and size is None:
        *parameters, size = parameters
    made = distribution(*parameters, **named)
    return (made if dtype is None else InDtype(made, dtype)), size


def named_draw(drawn: Any, name: str | None) -> Any:
    """Name the numbers, and return them, or the next state and them."""
    if name is not None:
        numbers = drawn[1] if isinstance(drawn, tuple) else drawn
        numbers.name = name
    return drawn


def has_draws(cls: _Holder, *, returns: str = NEXT_AND_NUMBERS) -> _Holder:
    """Add to a class with a method ``draw`` one method for each distribution that it lacks.

    Parameters
    ----------
    cls
        The class.
    returns
        What ``draw`` returns, as an entry of a docstring.
    """
    own = set(vars(cls))

    def add(name: str, distribution: type[Distribution] | Shorthand) -> None:
        if name not in own:
            setattr(cls, name, _method(cls, name, distribution, returns))

    for each in [*DISTRIBUTIONS.items(), *SHORTHANDS.items()]:
        add(*each)
    LISTENERS.append(add)
    return cls


def _method(
    cls: type, name: str, distribution: type[Distribution] | Shorthand, returns: str
) -> Callable[..., Any]:
    def method(
        self: Any,
        *parameters: Any,
        size: Any = None,
        dtype: Any = None,
        name: str | None = None,
        **named: Any,
    ) -> Any:
        drawn = self.draw(*asked_for(distribution, parameters, size, dtype, named))
        return named_draw(drawn, name)

    parameters = {"self": inspect.Parameter.empty, **distribution.defaults}
    options = {"size": None, "dtype": None, "name": None}
    text = about(distribution, tuple(options), returns)
    return documented(method, cls, name, text, {**parameters, **options})


@cache
def _parts_of(distribution: type[Distribution] | Shorthand) -> tuple[str, str]:
    """Return the first line of a docstring, and its entries for parameters other than ``size``."""
    text = inspect.getdoc(distribution) or ""
    _, _, after = text.partition("\nParameters\n----------\n")
    entries = _SIZE.sub("", after.partition("\n\n")[0]).rstrip("\n")
    return text.partition("\n")[0], entries and f"{entries}\n"


_SIZE = re.compile(r"^size\n(?: .*\n?)*", re.MULTILINE)


def about(
    distribution: type[Distribution] | Shorthand, options: Sequence[str], returns: str
) -> str:
    """Return the docstring of what draws from a distribution.

    Parameters
    ----------
    distribution
        The distribution.
    options
        The names of the parameters that follow its own.
    returns
        The entry for what is returned.
    """
    meaning, entries = _parts_of(distribution)
    further = "\n".join(f"{name}\n    {_OPTIONS[name]}" for name in options)
    return (
        f"Draw from :class:`~phintys.random.{distribution.__name__}`: {meaning}\n\n"
        f"Parameters\n----------\n{entries}{further}\n\nReturns\n-------\n{returns}\n"
    )


_OPTIONS = {
    "size": "The shape of the draws; by default that of the parameters.",
    "rng": "The generator; a new shared one by default, which moves on by itself.",
    "return_next_rng": "Whether the next state of the generator is returned, too.",
    "dtype": "The dtype of the draws; by default that of the parameters, or int64 for integers.",
    "name": "The name of the variable of the draws.",
}


def documented(
    function: Callable[..., Any],
    home: type | str,
    name: str,
    text: str,
    parameters: Mapping[str, Any],
) -> Callable[..., Any]:
    """Return a function with a name, a description, and a signature.

    Parameters
    ----------
    function
        The function.
    home
        The class or the name of the module that has it, where pickles look for it.
    name, text
        Its name and its description.
    parameters
        Its parameters and their defaults, ``inspect.Parameter.empty`` for none.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = name
    if isinstance(home, str):
        function.__module__, function.__qualname__ = home, name
    else:
        function.__module__, function.__qualname__ = home.__module__, f"{home.__qualname__}.{name}"
    function.__doc__ = text
    function.__signature__ = inspect.Signature(
        [inspect.Parameter(one, kind, default=default) for one, default in parameters.items()]
    )
    return function
