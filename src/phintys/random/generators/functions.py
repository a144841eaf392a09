"""Functions that draw, one for each distribution of the table."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from phintys.random.distributions.base import DISTRIBUTIONS, Distribution
from phintys.random.generators.drawing import (
    about,
    asked_for,
    documented,
    draw_from,
    named_draw,
)
from phintys.random.generators.shorthands import SHORTHANDS, Shorthand
from phintys.random.generators.streams import shared_rng

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def function_of(name: str, distribution: type[Distribution] | Shorthand) -> Callable[..., Any]:
    """Return the function that draws from a distribution.

    With ``rng``, a generator, it draws from that state, and returns the next one too if
    ``return_next_rng`` is true. Without, it draws from a new shared generator, whose first state is
    fresh entropy and whose default update is the next state.

    Examples
    --------
    >>> from phintys.random import normal, rng, state
    >>> r = rng("r")
    >>> after, noise = normal(0.0, 1.0, size=3, rng=r, return_next_rng=True)
    >>> noise.eval({r: state(1)}).shape
    (3,)
    """

    def function(
        *parameters: Any,
        size: Any = None,
        rng: Any = None,
        return_next_rng: bool = False,
        dtype: Any = None,
        name: str | None = None,
        **named: Any,
    ) -> Any:
        asked, lengths = asked_for(distribution, parameters, size, dtype, named)
        generator = shared_rng() if rng is None else rng
        after, numbers = draw_from(asked, generator, lengths)
        if rng is None:
            generator.default_update = after
        named_draw(numbers, name)
        return (after, numbers) if return_next_rng else numbers

    options = {"size": None, "rng": None, "return_next_rng": False, "dtype": None, "name": None}
    text = about(
        distribution,
        tuple(options),
        "variable\n    The draws; with ``return_next_rng`` the next state and the draws.",
    )
    return documented(function, "phintys.random", name, text, {**distribution.defaults, **options})


def function_named(name: str) -> Callable[..., Any] | None:
    """Return the function with a name, or ``None`` if no distribution has it."""
    distribution = DISTRIBUTIONS.get(name) or SHORTHANDS.get(name)
    return None if distribution is None else function_of(name, distribution)
