"""Loops that run until all lanes have converged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.types import INT64
from phintys.backends.native.assembler.values import Value

Step = Callable[..., tuple[Sequence[Value], Value]]


def frozen(b: Builder, x: Value) -> Value:
    """Return x as some fixed value: lanes beyond the end of an array hold anything."""
    return b.write(x.type, f"freeze {x.typed}")


def iterate(b: Builder, most: int, initial: Sequence[Value], step: Step) -> list[Value]:
    """Write a loop of all lanes, which ends when none of them needs another pass.

    Parameters
    ----------
    b
        The builder; after the call it continues after the loop.
    most
        The largest number of passes.
    initial
        The values of the first pass. A branch depends on them: they must be :func:`frozen`.
    step
        ``step(*values)`` returns the values of the next pass, and the mask of lanes that need it.
        Lanes that do not need it have it too.

    Returns
    -------
    list of Value
        The values after the last pass.
    """
    start, body, after = b.block, b.new_block("pass"), b.new_block("converged")
    b.jump(body)
    b.begin(body)
    number, phis = b.phi(INT64), [b.phi(value.type) for value in initial]
    following, unfinished = step(*(phi.value for phi in phis))
    next_number = number.value + 1
    b.branch(b.any(unfinished) & (next_number < most), body, after)
    number.add(b.constant(INT64, 0), start)
    number.add(next_number, b.block)
    for phi, first, value in zip(phis, initial, following, strict=True):
        phi.add(first, start)
        phi.add(value, b.block)
    b.begin(after)
    return list(following)
