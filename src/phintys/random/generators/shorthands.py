"""NumPy's and PyTensor's short names of distributions, some with fixed parameters."""

from __future__ import annotations

from typing import Any

from phintys.random.distributions import (
    Cauchy,
    Exponential,
    Gamma,
    Integers,
    NegativeBinomial,
    Normal,
    StudentT,
    Uniform,
)


class Shorthand:
    """A distribution under another name, of which only some parameters are given.

    Parameters
    ----------
    distribution
        The class of the distribution.
    parameters
        Those that are given, in their order, and their defaults. The others keep theirs.
    meaning
        Its docstring, if it is not that of the class: what it is, and its parameters.

    Examples
    --------
    >>> from phintys.random.distributions import StudentT
    >>> from phintys.random.generators.shorthands import Shorthand
    >>> Shorthand(StudentT, {"df": 1.0})(3.0).parameters["df"].data
    array(3.)
    """

    def __init__(
        self, distribution: Any, parameters: dict[str, Any], meaning: str | None = None
    ) -> None:
        self.defaults = parameters
        self._distribution = distribution
        self.__name__: str = distribution.__name__
        self.__doc__ = meaning or distribution.__doc__

    def __call__(self, *values: Any, **named: Any) -> Any:
        """Return the distribution with its parameters."""
        given = {**self.defaults, **dict(zip(self.defaults, values, strict=False)), **named}
        return self._distribution(*values[len(self.defaults) :], **given)


SHORTHANDS: dict[str, Shorthand] = {
    "nbinom": Shorthand(NegativeBinomial, NegativeBinomial.defaults),
    "randint": Shorthand(
        Integers,
        {"low": 0, "high": None},
        """Integers from ``low`` to ``high - 1``; from 0 to ``low - 1`` without ``high``.

        Parameters
        ----------
        low, high
            The bounds, of any integer dtype; they are computed with in int64.
        """,
    ),
    "random": Shorthand(Uniform, {}, "The uniform distribution on ``[0, 1)``."),
    "standard_cauchy": Shorthand(Cauchy, {}, "The Cauchy distribution around 0, of scale 1."),
    "standard_exponential": Shorthand(Exponential, {}, "The exponential distribution of mean 1."),
    "standard_gamma": Shorthand(
        Gamma,
        {"shape": 1.0},
        """The gamma distribution of scale 1.

        Parameters
        ----------
        shape
            The shape.
        """,
    ),
    "standard_normal": Shorthand(Normal, {}, "The normal distribution of mean 0 and scale 1."),
    "standard_t": Shorthand(
        StudentT,
        {"df": 1.0},
        """Student's distribution around 0, of scale 1.

        Parameters
        ----------
        df
            The degrees of freedom.
        """,
    ),
}
"""Name of a method or function -> what it draws from."""
