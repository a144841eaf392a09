"""Learning rates that change from step to step: expressions of the number of the step.

They are factors, which are multiplied with each other and with the first learning rate. The number
of the step is a shared variable that the program advances::

    t = phintys.shared(0, name="t")
    rate = 0.1 * warmup(t, 100) * cosine_decay(t, 10_000)
    updates = adam(cost, params, rate) | {t: t + 1}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys._base.names import public_dir

__all__ = ["cosine_decay", "exponential_decay", "piecewise", "warmup"]

__dir__ = public_dir(__name__)


def warmup(t: Any, steps: int) -> Any:
    """Return a factor that rises linearly, from ``1 / steps`` at step 0 to 1.

    Parameters
    ----------
    t
        The number of the step, from 0: a scalar variable.
    steps
        How many steps it takes to rise.

    Raises
    ------
    ArgumentError
        ``steps`` is not positive.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.contrib import warmup
    >>> t = pt.lscalar("t")
    >>> [float(warmup(t, 4).eval({t: n})) for n in (0, 1, 3, 9)]
    [0.25, 0.5, 1.0, 1.0]
    """
    _check_steps("warmup", steps)
    return pt.minimum((t + 1) / steps, 1.0)


def cosine_decay(t: Any, steps: int, last: Any = 0.0) -> Any:
    """Return a factor that falls from 1 at step 0 to ``last`` at step ``steps``, as a cosine does.

    Parameters
    ----------
    t
        The number of the step, from 0: a scalar variable.
    steps
        How many steps it takes to fall.
    last
        The factor from then on.

    Raises
    ------
    ArgumentError
        ``steps`` is not positive.

    Notes
    -----
    I. Loshchilov and F. Hutter, "SGDR: stochastic gradient descent with warm restarts", 2017,
    equation 5, without restarts.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.contrib import cosine_decay
    >>> t = pt.lscalar("t")
    >>> [round(float(cosine_decay(t, 4).eval({t: n})), 3) for n in (0, 1, 2, 4, 9)]
    [1.0, 0.854, 0.5, 0.0, 0.0]
    """
    _check_steps("cosine_decay", steps)
    part = pt.minimum(t / steps, 1.0)
    return last + (1 - last) * (1 + pt.cos(math.pi * part)) / 2


def exponential_decay(t: Any, steps: int, factor: Any = 0.5) -> Any:
    """Return ``factor**(t / steps)``, which falls by ``factor`` in so many steps.

    Parameters
    ----------
    t
        The number of the step, from 0: a scalar variable.
    steps
        How many steps it takes to fall by the factor.
    factor
        A positive number or a scalar variable.

    Raises
    ------
    ArgumentError
        ``steps`` is not positive.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.contrib import exponential_decay
    >>> t = pt.lscalar("t")
    >>> [float(exponential_decay(t, 10).eval({t: n})) for n in (0, 10, 20)]
    [1.0, 0.5, 0.25]
    """
    _check_steps("exponential_decay", steps)
    return pt.as_tensor_variable(factor) ** (t / steps)


def piecewise(t: Any, bounds: Sequence[int], factors: Sequence[float]) -> Any:
    """Return a factor that is constant between given steps.

    Parameters
    ----------
    t
        The number of the step, from 0: a scalar variable.
    bounds
        The steps at which the factor changes, in ascending order.
    factors
        The factors: one more than there are bounds.

    Raises
    ------
    ArgumentError
        The bounds are not in ascending order, or the number of factors is another one.

    Examples
    --------
    >>> import phintys.tensor as pt
    >>> from phintys.contrib import piecewise
    >>> t = pt.lscalar("t")
    >>> [float(piecewise(t, [10, 20], [1.0, 0.1, 0.01]).eval({t: n})) for n in (9, 10, 20)]
    [1.0, 0.1, 0.01]
    """
    bounds, factors = list(bounds), list(factors)
    if bounds != sorted(bounds):
        msg = f"piecewise: bounds must be in ascending order, got {bounds}."
        raise ArgumentError(msg)
    if len(factors) != len(bounds) + 1:
        msg = (
            f"piecewise: factors must have one entry more than the {len(bounds)} bounds, got "
            f"{len(factors)}."
        )
        raise ArgumentError(msg)
    found: Any = pt.as_tensor_variable(factors[0])
    for bound, factor in zip(bounds, factors[1:], strict=True):
        found = pt.switch(t >= bound, factor, found)
    return found


def _check_steps(function: str, steps: Any) -> None:
    if not isinstance(steps, int) or steps < 1:
        msg = f"{function}: steps must be a positive int, got {steps!r}."
        raise ArgumentError(msg)
