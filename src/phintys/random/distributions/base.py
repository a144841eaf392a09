"""A distribution: one block of sampler, log-density, distribution function, quantiles and moments.

A distribution states what holds inside of its support, by methods that begin with an underscore:
``_logp``, ``_cdf``, ``_icdf`` and so on. The public methods add what holds for all: the ends of the
support, probabilities outside of 0 to 1, NaN, and derivatives that are finite where a branch is not
taken. What is not stated follows from what is (``sf`` from ``cdf``), or raises an error that names
what there is.

The sampler is the quantile function of a uniform number, unless a distribution has one of its own,
so derivatives of draws in the parameters are pathwise.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from phintys._base.config import config
from phintys._base.errors import ArgumentError, MethodNotDefinedError, ShapeError
from phintys._base.late import LateModule
from phintys.graph.variable import Constant
from phintys.random.bits.random_bits import RandomBits
from phintys.random.bits.states import Advance, StateWords, as_state
from phintys.random.distributions.checks import checked
from phintys.random.exact.expressions import in_exact_steps
from phintys.random.exact.uniform import open_uniform
from phintys.tensor import math
from phintys.tensor.broadcasting import broadcast_shape, broadcast_to
from phintys.tensor.convert import as_tensor_variable, constant
from phintys.tensor.creation import as_sizes
from phintys.tensor.sizes import ceil_div_sizes, fold, multiply_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from phintys.graph import notebooks
    from phintys.graph.variable import Variable
    from phintys.random.distributions import plots
else:
    notebooks = LateModule("phintys.graph.notebooks")
    plots = LateModule("phintys.random.distributions.plots")

DISTRIBUTIONS: dict[str, type[Distribution]] = {}
"""The method of generators -> the distribution that it draws from."""

LISTENERS: list[Callable[[str, type[Distribution]], None]] = []
"""What is called with each further method and its distribution."""

QUESTIONS = (
    *("logp", "cdf", "sf", "logcdf", "logsf", "icdf", "isf"),
    *("mean", "variance", "stddev", "mode", "median", "entropy"),
)
"""The methods that answer questions, with parameters that are checked."""

FLOATS = ("float32", "float64")


def _of_checked(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that is called on the distribution with checks of its parameters."""

    @functools.wraps(method)
    def answer(self: Any, *args: Any, **named: Any) -> Any:
        return method(checked(self), *args, **named)

    return answer


def _check_questions(cls: type[Distribution]) -> None:
    """Let the answers that a class defines be those for checked parameters."""
    for name in QUESTIONS:
        if name in vars(cls):
            setattr(cls, name, _of_checked(vars(cls)[name]))


def same(value: Any) -> Any:
    """Return a parameter that only has another name."""
    return value


def reciprocal(value: Any) -> Any:
    """Return a scale for a rate, or a rate for a scale."""
    return 1 / as_parameter(value)


def as_parameter(value: Any) -> Any:
    """Return a parameter as a floating-point tensor."""
    if isinstance(value, Distribution):
        msg = (
            f"A parameter is a number or a variable, got the distribution {value}. Draw from it "
            "first: stream.draw(distribution)."
        )
        raise ArgumentError(msg)
    value = as_tensor_variable(value)
    if value.dtype in FLOATS:
        return value
    if isinstance(value, Constant):
        return constant(value.data.astype(config.floatX))
    return math.cast(value, config.floatX)


def _shown(parameter: Any) -> str:
    """Return the text of a parameter: a number, or a variable."""
    is_number = isinstance(parameter, Constant) and not np.ndim(parameter.data)
    return str(parameter.data) if is_number else str(parameter)


class Distribution:
    """A distribution with its parameters, which broadcast against each other.

    Parameters
    ----------
    values
        The parameters, in the order of ``defaults``.
    named
        Parameters by their names, or by those of ``alternatives``.
    """

    defaults: ClassVar[dict[str, Any]]
    """The parameters and their defaults."""

    domains: ClassVar[dict[str, Any]] = {}
    """The values that parameters may have: see :mod:`~phintys.random.distributions.checks`."""

    method: ClassVar[str | None] = None
    """The method of generators that draws from it."""

    alternatives: ClassVar[dict[str, tuple[str, Callable[[Any], Any]]]] = {}
    """Other names of parameters -> the parameter, and the function that converts to it."""

    event_ndim: ClassVar[int] = 0
    """How many last dimensions of the draws belong to one draw."""

    words: int = 1
    """How many independent random words an element of the draws needs."""

    is_discrete: bool = False
    """Whether the draws are integers, so that ``logp`` is the logarithm of a probability."""

    checks_made: str | None = None
    """What the parameters are checked for: ``"asked"``, ``"drawn"``, or nothing yet."""

    def __init_subclass__(cls, method: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _check_questions(cls)
        if method is not None:
            cls.method = method
            DISTRIBUTIONS[method] = cls
            for listener in LISTENERS:
                listener(method, cls)

    def __init__(self, *values: Any, **named: Any) -> None:
        given = self._named(values, named)
        self.parameters: dict[str, Any] = {
            parameter: as_parameter(given.get(parameter, default))
            for parameter, default in self.defaults.items()
        }

    def _named(self, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return the given parameters by the names that ``defaults`` has for them."""
        name = type(self).__name__
        names = ", ".join([*self.defaults, *self.alternatives])
        if len(values) > len(self.defaults):
            msg = f"{name} has the parameters {', '.join(self.defaults)}, got {len(values)}."
            raise ArgumentError(msg)
        given = dict(zip(self.defaults, values, strict=False))
        for other, value in named.items():
            parameter, convert = self.alternatives.get(other, (other, same))
            if parameter not in self.defaults or parameter in given:
                what = "is given twice" if parameter in given else "is not one of its parameters"
                msg = f"{name}: {other} {what} ({names})."
                raise ArgumentError(msg)
            given[parameter] = convert(value)
        return given

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg) from None

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={_shown(x)}" for name, x in self.parameters.items())
        return f"{type(self).__name__}({parameters})"

    def _repr_html_(self) -> str | None:
        """Return HTML for notebooks: the parameters, with their formulas."""
        return notebooks.html_of_parameters(type(self).__name__, self.parameters)

    def plot(self, axes: Any = None, givens: Mapping[Any, Any] | None = None) -> Any:
        """Plot the density, or the probabilities of integers, by matplotlib.

        Parameters
        ----------
        axes
            Axes of matplotlib; new ones by default.
        givens
            The values of variables that the parameters depend on.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, with a curve for each distribution of a batch.
        """
        return plots.plot_density(self, axes, givens)

    def all_parameters(self) -> Iterator[Any]:
        """Yield the parameters, also those of distributions that this one is made of."""
        yield from self.parameters.values()

    def mapped(self, convert: Callable[[Any], Any]) -> Any:
        """Return a distribution whose parameters are converted by a function."""
        result = copy.copy(self)
        result.parameters = {name: convert(value) for name, value in self.parameters.items()}
        return result

    @property
    def dtype(self) -> str:
        """Dtype of the draws."""
        return np.result_type(*(one.dtype for one in self.all_parameters())).name

    @property
    def batch_ndim(self) -> int:
        """How many dimensions the parameters have after broadcasting: those of a default draw."""
        return max(one.ndim for one in self.all_parameters())

    # What a distribution states: all values lie inside of the support, probabilities in 0 to 1.

    def support(self) -> tuple[Any, Any]:
        """Return the ends of the interval outside of which the density is zero."""
        return -np.inf, np.inf

    def _logp(self, value: Any) -> Any:
        raise self._lacks("log-density")

    def _cdf(self, value: Any) -> Any:
        raise self._lacks("distribution function")

    def _sf(self, value: Any) -> Any:
        return 1 - self._cdf(value)

    def _logcdf(self, value: Any) -> Any:
        return log_of_smaller(self._cdf(value), self._sf(value))

    def _logsf(self, value: Any) -> Any:
        return log_of_smaller(self._sf(value), self._cdf(value))

    def _icdf(self, q: Any) -> Any:
        raise self._lacks("quantile function")

    def _isf(self, q: Any) -> Any:
        return self._icdf(1 - q)

    def _between_ends(self, share: Any, rest: Any, lower: Any, upper: Any) -> Any:
        """Return a quantile of the numbers between two ends, ``None`` without a way of its own.

        ``rest`` is ``1 - share``.
        """
        return None

    def _log_between_close(self, low: Any, high: Any) -> tuple[Any, Any] | None:
        """Return whether two numbers are close, and then the log-probability of those between.

        The difference of two probabilities has few digits there. ``None`` without a way of its own.
        """
        return None

    def _lacks(self, what: str) -> MethodNotDefinedError:
        name = type(self).__name__
        msg = f"{name} has no closed {what}. Draws are numbers of any distribution: estimate it."
        if what == "quantile function":
            msg = f"{name} has no closed quantile function: solve cdf(distribution, x) = q for x."
        return MethodNotDefinedError(msg)

    # What follows for all.

    def _inner(self) -> Any:
        """Return a number inside of the support, for branches that are not taken."""
        low, high = self.support()
        if not is_infinite(low) and not is_infinite(high):
            return 0.5 * (low + high)
        return low + 1 if not is_infinite(low) else high - 1 if not is_infinite(high) else 0.0

    def _between(self, value: Any, inside: Callable[[Any], Any], below: Any, above: Any) -> Any:
        """Return ``below`` before the support, ``above`` from its end, and ``inside`` between.

        A support that is one point ends there: all of the probability is up to it.
        """
        value = as_parameter(value)
        low, high = self.support()
        is_below = math.lt(value, low) if self.is_discrete else math.le(value, low)
        is_above = math.ge(value, high)
        safe = math.switch(math.or_(is_below, is_above), self._inner(), value)
        return math.switch(is_above, above, math.switch(is_below, below, inside(safe)))

    def logp(self, value: Any) -> Any:
        """Return the logarithm of the density, or of the probability of a discrete value."""
        value = as_parameter(value)
        low, high = self.support()
        outside = math.isinf(value)
        for is_open, beyond in (
            (is_infinite(low), lambda: math.lt(value, low)),
            (is_infinite(high), lambda: math.gt(value, high)),
        ):
            outside = outside if is_open else math.or_(outside, beyond())
        safe = math.switch(outside, self._inner(), value)
        return math.switch(outside, -np.inf, self._logp(safe))

    def cdf(self, value: Any) -> Any:
        """Return the probability of numbers up to a value."""
        return self._between(value, self._cdf, 0.0, 1.0)

    def sf(self, value: Any) -> Any:
        """Return the probability of numbers above a value, accurate if it is small."""
        return self._between(value, self._sf, 1.0, 0.0)

    def logcdf(self, value: Any) -> Any:
        """Return the logarithm of ``cdf``, accurate if that is small."""
        return self._between(value, self._logcdf, -np.inf, 0.0)

    def logsf(self, value: Any) -> Any:
        """Return the logarithm of ``sf``, accurate if that is small."""
        return self._between(value, self._logsf, 0.0, -np.inf)

    def icdf(self, q: Any) -> Any:
        """Return the value up to which numbers have the probability ``q``."""
        return self._at_probability(q, self._icdf, *self.support())

    def isf(self, q: Any) -> Any:
        """Return the value above which numbers have the probability ``q``."""
        return self._at_probability(q, self._isf, *reversed(self.support()))

    def _at_probability(self, q: Any, inside: Any, at_zero: Any, at_one: Any) -> Any:
        q = as_parameter(q)
        is_inside = math.and_(q > 0, q < 1)
        edge = math.switch(math.eq(q, 0), at_zero, math.switch(math.eq(q, 1), at_one, np.nan))
        return math.switch(is_inside, inside(math.switch(is_inside, q, 0.5)), edge)

    def mean(self) -> Any:
        """Return the mean."""
        raise self._lacks("mean")

    def variance(self) -> Any:
        """Return the variance."""
        raise self._lacks("variance")

    def stddev(self) -> Any:
        """Return the standard deviation."""
        return math.sqrt(self.variance())

    def mode(self) -> Any:
        """Return the number, or one of the numbers, where the density is largest."""
        raise self._lacks("mode")

    def median(self) -> Any:
        """Return the number below which half of the draws lie."""
        return self.icdf(0.5)

    def entropy(self) -> Any:
        """Return the entropy, in nats: the mean of ``-logp``."""
        raise self._lacks("entropy")

    # Draws

    @property
    def bits_dtype(self) -> str:
        """Dtype of the random words of the sampler."""
        return "uint32" if self.dtype == "float32" else "uint64"

    def sample(self, *bits: Any) -> Any:
        """Return draws, an expression of as many arrays of random bits as ``words`` says."""
        return self._icdf(open_uniform(bits[0], self.dtype))

    def within(self, dtype: str) -> Any:
        """Return this distribution, which refuses ends of its integers that a dtype lacks.

        Parameters
        ----------
        dtype
            The dtype of integers.
        """
        return self

    def draw(self, rng: Any, size: Any = None) -> tuple[Variable, Any]:
        """Return the next state and draws.

        Parameters
        ----------
        rng
            A generator.
        size
            The shape of the draws; that of the parameters by default.
        """
        state = as_state(rng)
        distribution, lengths = self.of_shape(size)
        count = multiply_sizes([fold(length) for length in lengths])
        op = RandomBits(self.bits_dtype)
        used = ceil_div_sizes(count, op.in_block)
        words: list[Any] = []
        for _ in range(self.words):
            words.append(op(StateWords()(state), *lengths))
            state = Advance()(state, used)
        draws = distribution.sample(*words)
        return state, in_exact_steps(draws, [*words, *distribution.all_parameters()])

    def of_shape(self, size: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return this distribution with parameters of the shape of draws, and that shape.

        Parameters
        ----------
        size
            As for :meth:`draw`.
        """
        if size is None:
            return self, broadcast_shape(*self.all_parameters())
        lengths = tuple(as_sizes(size, "The size of a draw"))
        return self._of_size(lengths), lengths

    def _of_size(self, lengths: tuple[Any, ...]) -> Any:
        """Return this distribution, refused if its parameters would repeat draws."""
        if self.batch_ndim > len(lengths):
            msg = (
                f"{type(self).__name__}: the parameters have {self.batch_ndim} dimensions, more "
                f"than size, which has {len(lengths)}. The shape of the draws is size."
            )
            raise ShapeError(msg)
        return self.mapped(lambda one: one if one.ndim == 0 else broadcast_to(one, lengths))


_check_questions(Distribution)


def log_of_smaller(p: Any, rest: Any) -> Any:
    """Return ``log(p)``, where ``p + rest = 1``, from the smaller one, which has more digits."""
    return math.switch(p < 0.5, math.log(p), math.log1p(-math.switch(p < 0.5, 0, rest)))


def by_rest(p: Any, rest: Any) -> Any:
    """Return a probability, by what is missing to 1 if that is smaller: its slopes have digits."""
    return math.switch(rest < 0.5, 1 - math.minimum(rest, 0.5), p)


def log_by_rest(logarithm: Any, rest: Any) -> Any:
    """Return the logarithm of a probability, by what is missing to 1 if that is smaller."""
    return math.switch(rest < 0.5, math.log1p(-math.minimum(rest, 0.5)), logarithm)


def is_infinite(end: Any) -> bool:
    """Return whether an end of a support is infinite for all parameters."""
    return isinstance(end, float) and np.isinf(end)
