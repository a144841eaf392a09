"""The table of all distributions in docs/distributions.md, from the registry of distributions.

``make distributions`` writes the page; a test compares it with the registry.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phintys import random
from phintys._base.errors import MethodNotDefinedError
from phintys.random.distributions import DISTRIBUTIONS

__all__ = ["PAGE", "SCIPY_NAMES", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "distributions.md"

SCIPY_NAMES = {
    "asymmetriclaplace": "laplace_asymmetric",
    "bernoulli": "bernoulli",
    "beta": "beta",
    "betabinom": "betabinom",
    "binomial": "binom",
    "burr12": "burr12",
    "cauchy": "cauchy",
    "chisquare": "chi2",
    "dirichlet": "dirichlet",
    "dirichlet_multinomial": "dirichlet_multinomial",
    "discrete_uniform": "randint",
    "exgaussian": "exponnorm",
    "exponential": "expon",
    "f": "f",
    "gamma": "gamma",
    "gengamma": "gengamma",
    "geometric": "geom",
    "gumbel": "gumbel_r",
    "halfcauchy": "halfcauchy",
    "halfnormal": "halfnorm",
    "hypergeometric": "hypergeom",
    "integers": "randint",
    "invgamma": "invgamma",
    "invwishart": "invwishart",
    "laplace": "laplace",
    "levy": "levy",
    "logistic": "logistic",
    "loglogistic": "fisk",
    "lognormal": "lognorm",
    "logseries": "logser",
    "loguniform": "loguniform",
    "lomax": "lomax",
    "matrix_normal": "matrix_normal",
    "maxwell": "maxwell",
    "moyal": "moyal",
    "multinomial": "multinomial",
    "multivariate_normal": "multivariate_normal",
    "multivariate_t": "multivariate_t",
    "nakagami": "nakagami",
    "negative_binomial": "nbinom",
    "normal": "norm",
    "pareto": "pareto",
    "poisson": "poisson",
    "power": "powerlaw",
    "rayleigh": "rayleigh",
    "skewnormal": "skewnorm",
    "t": "t",
    "triangular": "triang",
    "truncexpon": "truncexpon",
    "truncated_normal": "truncnorm",
    "uniform": "uniform",
    "uniform_direction": "uniform_direction",
    "von_mises_fisher": "vonmises_fisher",
    "vonmises": "vonmises",
    "wald": "invgauss",
    "weibull": "weibull_min",
    "wishart": "wishart",
    "zipf": "zipf",
}
"""The method of generators -> the distribution of ``scipy.stats``, where there is one."""

_FUNCTIONS = ("logp", "cdf", "icdf", "mean", "variance", "mode", "entropy")
_OF_PROBABILITIES = "icdf"
_OF_VALUES = ("logp", "cdf")

_ARGUMENTS: dict[str, Sequence[Any]] = {
    "categorical": ([0.4, 0.6],),
    "choice": (3,),
    "integers": (0, 3),
    "matrix_normal": ([[0.0]], [[1.0]], [[1.0]]),
    "multivariate_normal": ([0.0], [[1.0]]),
    "permutation": ([1.0, 2.0],),
    "permuted": ([1.0, 2.0],),
    "shuffle": ([1.0, 2.0],),
}
"""Parameters of distributions that have no defaults for all of them."""

_HEADER = """# Distributions

{about}

`make distributions` writes this page.

| method | class | parameters | SciPy | in closed form |
|---|---|---|---|---|
"""
_ACCURACY = (
    "\n## Accuracy\n\n"
    "`cdf`, `sf`, their logarithms, `icdf` and `isf` each have a formula of their own: none is 1 "
    "minus another one where that would lose digits, and logarithms do not underflow. "
    "`tests/random/test_tails.py` compares all of them with mpmath, for parameters and values of "
    "very different sizes. Relative errors in float64 are at most 1e-12, plus eight roundings of "
    "the argument, where a result is a float. These are less accurate:\n\n"
    "| functions | largest relative error |\n|---|---|\n"
    "| those of `poisson`, `chisquare`, `nakagami` and other functions of gamma numbers, for "
    "shapes of hundreds: SciPy's incomplete gamma functions | 2e-11 |\n"
    "| all of `betabinom`: differences of `betaln` | 1e-11; more for shapes above 1e5 |\n"
    "| quantiles: SciPy's inverses of incomplete gamma and beta functions | 1e-11, plus 32 "
    "roundings of the probability |\n"
    "| all of `truncated_normal` if the ends are z > 100 deviations away: differences of squares "
    "| 1e-16 z**2 |\n"
    "| `Mixture` and other composed distributions | that of their parts |\n\n"
    "Sums of the tails of `betabinom` and `logseries` take as many steps as there are numbers "
    "that matter: for means of 1e9, seconds.\n"
)

_ABOUT = (
    "What generators, streams and functions draw from: the method; the class; the parameters with "
    "their defaults, for both; the name in `scipy.stats`, where the parameters may be others; and "
    "the functions that are available in closed form. Where there is `cdf`, there are `sf`, "
    "`logcdf` and `logsf`; where there is `icdf`, there is `isf`. [Random numbers](random.md) "
    "describes how to draw."
)


def page() -> str:
    """Return the text of the page."""
    return _HEADER.format(about=_ABOUT) + "".join(map(_row, sorted(DISTRIBUTIONS))) + _ACCURACY


def _row(method: str) -> str:
    distribution = DISTRIBUTIONS[method]
    parameters = ", ".join(_parameter(*each) for each in distribution.defaults.items())
    scipys = f"`{SCIPY_NAMES[method]}`" if method in SCIPY_NAMES else ""
    defined = ", ".join(name for name in _FUNCTIONS if _is_defined(method, name))
    cells = (f"`{method}`", f"`{distribution.__name__}`", f"`{parameters}`", scipys, defined)
    return "| " + " | ".join(cells) + " |\n"


def _parameter(name: str, default: object) -> str:
    return f"{name}={default:.6g}" if isinstance(default, float) else f"{name}={default}"


def _is_defined(method: str, function: str) -> bool:
    """Return whether a distribution defines a function, by calling it."""
    distribution = DISTRIBUTIONS[method](*_ARGUMENTS.get(method, ()))
    given: list[Any] = []
    if function in _OF_VALUES:
        given.append(distribution.draw(random.rng("r"))[1])
    elif function == _OF_PROBABILITIES:
        given.append(0.5)
    try:
        getattr(distribution, function)(*given)
    except MethodNotDefinedError:
        return False
    return True


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
