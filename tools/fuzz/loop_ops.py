"""Loops and choices, for random graphs."""

from __future__ import annotations

from typing import Any

import phintys.tensor as pt
from phintys.control import fori_loop, ifelse, loop, reduce, scan, until, while_loop

__all__ = [
    "chosen",
    "decayed",
    "folded",
    "grown",
    "halved",
    "nested",
    "prefixes",
    "solved",
    "stopped",
    "windowed",
]


def decayed(x: Any, backwards: bool) -> Any:
    """Return the rows of a state that forgets, which starts at 0."""
    rows, _ = scan(
        lambda row, h: (h * 0.5 + row).astype(x.dtype),
        x,
        pt.zeros_like(x[:1].sum(axis=0)).astype(x.dtype),
        go_backwards=backwards,
    )
    return rows


def folded(x: Any, first: Any) -> Any:
    """Return the last value of a state."""
    found, _ = reduce(lambda row, h: pt.maximum(h, row), x, first)
    return found


def windowed(x: Any, backwards: bool) -> Any:
    """Return results of steps that read neighbouring rows."""
    rows, _ = scan(
        pt.minimum,
        {"input": x, "taps": [-1, 1]},
        go_backwards=backwards,
    )
    return rows


def stopped(x: Any, y: Any) -> Any:
    """Return the rows of two states of a loop that a condition ends."""

    def step(row: Any, h: Any, before: Any, last: Any) -> Any:
        return [row, pt.switch(last > 0, before, last + 1)], until(row.sum() > h.sum())

    (rows, _), _ = scan(step, x, [y, {"initial": pt.constant([0, 1]), "taps": [-2, -1]}])
    return rows


def nested(x: Any) -> Any:
    """Return the last carry of a loop in a loop, and its rows."""

    def body(carry: Any, row: Any) -> Any:
        new = fori_loop(0, 2, lambda i, h: pt.maximum(h, row), carry)
        return new, pt.minimum(new, row)

    last, rows = loop(body, x[0], x, reverse=True)
    return [last, rows]


def halved(x: Any) -> Any:
    """Return a value halved until its number of halvings is 3, or the value small."""
    _, found = while_loop(
        lambda carry: pt.and_(carry[0] < 3, (pt.abs(carry[1]) > 1).any()),
        lambda carry: (carry[0] + 1, (carry[1] * 0.5).astype(x.dtype)),
        (0, x),
    )
    return found


def chosen(condition: Any, x: Any) -> Any:
    """Return x or -x, of which only one is computed."""
    return ifelse(condition.sum() > 0, x, -x)


def prefixes(x: Any) -> Any:
    """Return a sum for each prefix of x: values of a step have a length of their own."""
    rows, _ = scan(lambda n: (pt.tanh(x[:n]) ** 2).sum(), pt.arange(1, x.shape[0] + 1))
    return rows


def grown(x: Any) -> Any:
    """Return rows of a loop whose n-th step has an inner loop of n steps."""

    def step(n: Any, h: Any) -> Any:
        rows, _ = scan(lambda k: pt.sin(h + k * x), pt.arange(n))
        return (rows**2).sum(axis=0) / 4

    rows, _ = scan(step, pt.arange(1, 4), x)
    return rows.sum(axis=0)


def solved(x: Any) -> Any:
    """Return a state that each step moves by a loop of as many steps as it needs."""

    def step(row: Any, h: Any) -> Any:
        _, found = while_loop(
            lambda carry: pt.and_(carry[0] < 5, (pt.abs(carry[1]) > 0.4).any()),
            lambda carry: (carry[0] + 1, pt.sin(carry[1]) * 0.7),
            (0, h + row),
        )
        return found

    rows, _ = scan(step, x, x)
    return rows[-1]
