"""Integers of a range, each with the same probability."""

from __future__ import annotations

from typing import Any, ClassVar

from phintys._base.errors import DtypeError
from phintys.random.distributions.checks import (
    above,
    at_least,
    nonnegative,
    positive,
    up_to_integer,
    with_domains,
)
from phintys.random.distributions.discrete import DiscreteDistribution, without_derivatives
from phintys.random.distributions.multivariate import Multivariate, Source
from phintys.random.samplers.counts import integer_below
from phintys.tensor import math
from phintys.tensor.convert import as_tensor_variable


class _Range(DiscreteDistribution, Multivariate):
    """Integers from the first to the last one."""

    def _parameter(self, parameter: str, value: Any) -> Any:
        value = as_tensor_variable(value)
        if value.type.numpy_dtype.kind not in "iu":
            msg = (
                f"{type(self).__name__}: {parameter} is an integer, got {value} of dtype "
                f"{value.dtype}."
            )
            raise DtypeError(msg)
        return math.cast(value, "int64")

    def _ends(self) -> tuple[Any, Any]:
        """Return the first and the last integer."""
        raise NotImplementedError

    def within(self, dtype: str) -> Any:
        first, *last = self.parameters
        beyond = self._beyond()
        domains = {one: up_to_integer(dtype, beyond) for one in last or [first]}
        return with_domains(self, {first: up_to_integer(dtype), **domains})

    def _beyond(self) -> int:
        """Return how far the second end is beyond the last integer."""
        return 0

    def support(self) -> tuple[Any, Any]:
        first, last = self._ends()
        return math.cast(first, "float64"), math.cast(last, "float64")

    def _count(self) -> Any:
        first, last = self.support()
        return last - first + 1

    def numbers(self, source: Source, lengths: tuple[Any, ...]) -> Any:
        first, last = without_derivatives(self)._ends()
        count = math.cast(last - first + 1, "uint64")
        return first + math.cast(integer_below(source.bits(*lengths), count), "int64")

    def _logp(self, value: Any) -> Any:
        return -math.log(self._count()) + 0 * value

    def _cdf(self, value: Any) -> Any:
        return (value - self.support()[0] + 1) / self._count()

    def _sf(self, value: Any) -> Any:
        return (self.support()[1] - value) / self._count()

    def _about(self, q: Any) -> Any:
        return self.support()[0] + math.ceil(q * self._count()) - 1

    def _about_above(self, q: Any) -> Any:
        return self.support()[1] - math.floor(q * self._count())

    def mean(self) -> Any:
        first, last = self.support()
        return 0.5 * (first + last)

    def variance(self) -> Any:
        return (math.sqr(self._count()) - 1) / 12

    def entropy(self) -> Any:
        return math.log(self._count())


class Integers(_Range, method="integers"):
    """Integers from ``low`` to ``high - 1``; from 0 to ``low - 1`` without ``high``.

    Parameters
    ----------
    low, high
        The bounds, of any integer dtype; they are computed with in int64.
    size
        The shape of the draws.
    endpoint
        Whether ``high`` is drawn too.

    Examples
    --------
    >>> import phintys
    >>> from phintys.random import RandomStream
    >>> dice = RandomStream(1).integers(1, 6, size=1000, endpoint=True)
    >>> rolled = dice.eval()
    >>> int(rolled.min()), int(rolled.max())
    (1, 6)
    """

    defaults: ClassVar[dict[str, Any]] = {"low": 0, "high": None, "size": None, "endpoint": False}
    option_names: ClassVar[tuple[str, ...]] = ("endpoint",)

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__(*values, **named)
        least = nonnegative if self.options["endpoint"] else positive
        bound = at_least("low") if self.options["endpoint"] else above("low")
        self.domains = {"high": bound} if "high" in self.parameters else {"low": least}  # pyright: ignore[reportAttributeAccessIssue]

    def _beyond(self) -> int:
        return 0 if self.options["endpoint"] else 1

    def _ends(self) -> tuple[Any, Any]:
        if "high" in self.parameters:
            first, last = self.low, self.high
        else:
            first, last = 0 * self.low, self.low
        return (first, last) if self.options["endpoint"] else (first, last - 1)


class DiscreteUniform(_Range, method="discrete_uniform"):
    """Integers from ``lower`` to ``upper``, both included.

    The probability of k is ``1 / (upper - lower + 1)``.

    Parameters
    ----------
    lower, upper
        The least and the greatest integer.

    Examples
    --------
    >>> from phintys.random import DiscreteUniform, logp
    >>> round(float(logp(DiscreteUniform(1, 6), 3.0).eval()), 6)
    -1.791759
    """

    defaults: ClassVar[dict[str, Any]] = {"lower": 0, "upper": 1}
    domains: ClassVar[dict[str, Any]] = {"upper": at_least("lower")}

    def _ends(self) -> tuple[Any, Any]:
        return self.lower, self.upper
