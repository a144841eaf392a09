"""Checks of parameters: the domain of each, and when a check is worth its cost.

A constant is checked at once. Any other value gets a check in the graph, which raises an error that
names the distribution, the parameter, its value and the line of the program, unless it is in its
domain by how it is computed, as ``exp(x)`` is positive. NaN passes, and gives NaN, unless the draws
are integers, which have no NaN.

Numbers are checked, and arrays that are stored in any case: inputs and shared values. An array that
is computed is not, because it would have to be stored instead of fused with what reads it;
``config.parameter_checks = "all"`` checks these too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from phintys._base.config import config
from phintys._base.errors import DomainError
from phintys._base.records import record
from phintys.graph.variable import Constant, Variable
from phintys.scalar.casting import Cast
from phintys.tensor import math
from phintys.tensor.dim_shuffle import DimShuffle
from phintys.tensor.elemwise import Elemwise
from phintys.tensor.observing import CheckAndRaise


@record(frozen=True)
class Domain:
    """The values that a parameter may have.

    Attributes
    ----------
    text
        What they are, as the end of a sentence about the parameter.
    is_outside
        A function of the value, and of all parameters by name, which is true for elements, or for
        last axes, that are outside. It takes arrays as well as variables.
    inside
        The names of scalar functions whose results are inside.
    """

    text: str
    is_outside: Callable[[Any, Mapping[str, Any]], Any]
    inside: frozenset[str] = frozenset()


_POSITIVE = frozenset({"exp", "exp2", "softplus", "sigmoid", "cosh"})
_NONNEGATIVE = _POSITIVE | {"sqr", "abs", "sqrt"}

positive = Domain("must be positive", lambda x, _: x <= 0, _POSITIVE)
nonnegative = Domain("must not be negative", lambda x, _: x < 0, _NONNEGATIVE)
probability = Domain(
    "must be between 0 and 1", lambda x, _: (x < 0) | (x > 1), frozenset({"sigmoid"})
)


def _is_no_distribution(x: Any, _: Any) -> Any:
    tolerance = np.sqrt(np.finfo(x.dtype).eps)
    return (x < 0).any(axis=-1) | (abs(x.sum(axis=-1) - 1) > tolerance)


probabilities = Domain("must not be negative and have the sum 1", _is_no_distribution)


def _is_no_direction(x: Any, _: Any) -> Any:
    return abs((x * x).sum(axis=-1) - 1) > np.sqrt(np.finfo(x.dtype).eps)


unit_length = Domain("must be of length 1", _is_no_direction)


def above(other: str) -> Domain:
    """Return the domain of values that are above another parameter."""
    return Domain(f"must be above {other}", lambda x, given: x <= given[other])


def at_least(other: str) -> Domain:
    """Return the domain of values that are not below another parameter."""
    return Domain(f"must not be below {other}", lambda x, given: x < given[other])


def up_to(end: Any, text: str) -> Domain:
    """Return the domain of values that are not above the end of a support, named by a text."""
    return Domain(f"must not be above {text}", lambda x, _: x > _comparable(end, x))


def down_to(end: Any, text: str) -> Domain:
    """Return the domain of values that are not below the end of a support, named by a text."""
    return Domain(f"must not be below {text}", lambda x, _: x < _comparable(end, x))


def both(one: Domain, other: Domain) -> Domain:
    """Return the domain of values in two domains whose texts begin alike."""
    *_, end = other.text.split(" below ", 1)
    return Domain(
        f"{one.text} or {end}", lambda x, given: one.is_outside(x, given) | other.is_outside(x, {})
    )


def _comparable(end: Any, x: Any) -> Any:
    """Return an end that may be a variable, as a number for another number.

    Raises
    ------
    KeyError
        It is known at run time only, so that a constant cannot be compared with it at once.
    """
    if isinstance(x, Variable) or not isinstance(end, Variable):
        return end
    known = _known(end)
    if known is None:
        raise KeyError(end)
    return known


_BY_NAME = {
    "df": positive,
    "lam": nonnegative,
    "scale": nonnegative,
    "sigma": nonnegative,
}
"""The domains of parameters of these names, if a distribution states no others."""


def checked(distribution: Any, *, is_drawn: bool = False) -> Any:
    """Return a distribution whose parameters are checked; itself if they are already.

    Parameters
    ----------
    distribution
        The distribution.
    is_drawn
        Whether it is drawn from. Then NaN is refused for draws that are integers, as no integer
        stands for it.
    """
    refuses_nan = is_drawn and distribution.is_discrete
    made = "drawn" if refuses_nan else "asked"
    if config.parameter_checks == "off" or distribution.checks_made in (made, "drawn"):
        return distribution
    given: dict[str, Any] = distribution.parameters
    found = dict(given)
    for name, domain in {**_BY_NAME, **distribution.domains}.items():
        if name in given:
            subject = f"{type(distribution).__name__}: {name} {domain.text}"
            domain = _without_nan(domain) if refuses_nan else domain
            found[name] = _checked(name, domain, given, subject)
    twin = copy.copy(distribution)
    twin.parameters = found
    twin.checks_made = made
    return twin


def up_to_integer(dtype: str, beyond: int = 0) -> Domain:
    """Return the domain of integers of a dtype, and of some beyond its largest."""
    info = np.iinfo(dtype)
    least, most = max(info.min, -(2**63)), min(info.max + beyond, 2**63 - 1)
    return Domain(
        f"must be from {least} to {most} for draws of {dtype}",
        lambda x, _: (x < least) | (x > most),
    )


def with_domains(distribution: Any, domains: Mapping[str, Domain]) -> Any:
    """Return a distribution whose parameters are checked for further domains."""
    given: dict[str, Any] = distribution.parameters
    twin = copy.copy(distribution)
    twin.parameters = dict(given)
    for name, domain in domains.items():
        subject = f"{type(distribution).__name__}: {name} {domain.text}"
        twin.parameters[name] = _checked(name, domain, given, subject)
    return twin


def _without_nan(domain: Domain) -> Domain:
    """Return a domain without NaN. Functions with results inside are assumed to give no NaN."""

    def is_outside(x: Any, given: Mapping[str, Any]) -> Any:
        outside = domain.is_outside(x, given)
        is_nan: Any = math.isnan(x) if isinstance(x, Variable) else np.isnan(x)
        return outside | (is_nan.any(axis=-1) if np.ndim(outside) < is_nan.ndim else is_nan)

    return Domain(domain.text, is_outside, domain.inside)


def _checked(name: str, domain: Domain, given: dict[str, Any], subject: str) -> Any:
    """Return a parameter, with a check if one is needed."""
    value = given[name]
    known = {one: number for one, x in given.items() if (number := _known(x)) is not None}
    if name in known:
        try:
            is_wrong = np.any(domain.is_outside(known[name], known))
        except (KeyError, ValueError):
            pass  # another parameter is not constant, or does not broadcast
        else:
            if is_wrong:
                msg = f"{subject}, got {known[name]}."
                raise DomainError(msg)
            return value
    if _function_of(value) in domain.inside:
        return value
    outside = domain.is_outside(value, given)
    if config.parameter_checks != "all" and not (outside.ndim == 0 or _is_stored(value)):
        return value
    return CheckAndRaise(DomainError, f"{subject}.")(value, math.logical_not(outside))


def _known(value: Any) -> Any:
    """Return the value of a constant, ``None`` for another variable."""
    below = _below_views(value)
    is_known = isinstance(below, Constant) and np.ndim(below.data) == value.ndim
    return below.data if is_known else None


def _function_of(value: Any) -> str | None:
    """Return the name of the scalar function that computes a value, below changes of rank."""
    node = _below_views(value).owner
    return node.op.scalar_op.name if node is not None and isinstance(node.op, Elemwise) else None


def _is_stored(value: Any) -> bool:
    return _below_views(value).owner is None


def _below_views(value: Any) -> Any:
    """Return the operand below casts and changes of rank."""
    while value.owner is not None and (
        isinstance(value.owner.op, DimShuffle)
        or (isinstance(value.owner.op, Elemwise) and isinstance(value.owner.op.scalar_op, Cast))
    ):
        value = value.owner.inputs[0]
    return value
