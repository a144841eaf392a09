"""Which tests fit into the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.check.durations import UNKNOWN

__all__ = ["Choice", "choose"]


@dataclass
class Choice:
    """Files of tests to run, and those that there is no time for.

    Attributes
    ----------
    chosen, left
        The files, nearest first.
    seconds
        How long the chosen ones take.
    """

    chosen: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    seconds: float = 0.0


def choose(near: Mapping[str, int], durations: Mapping[str, float], budget: float) -> Choice:
    """Return the nearest tests that fit into a budget; those at distance 0 are all taken.

    Parameters
    ----------
    near
        File of tests -> its distance to what has changed.
    durations
        File of tests -> its seconds.
    budget
        The seconds that there are.

    Examples
    --------
    >>> choose({"a": 0, "b": 2, "c": 1}, {"a": 50.0, "b": 5.0, "c": 8.0}, 60.0)
    Choice(chosen=['a', 'c'], left=['b'], seconds=58.0)
    """
    choice = Choice()
    for path in sorted(near, key=lambda path: (near[path], durations.get(path, UNKNOWN), path)):
        seconds = durations.get(path, UNKNOWN)
        if near[path] and choice.seconds + seconds > budget:
            choice.left.append(path)
            continue
        choice.chosen.append(path)
        choice.seconds += seconds
    return choice
