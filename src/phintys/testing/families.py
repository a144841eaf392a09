"""Families of programs whose graphs are small and whose unfolded trees are not.

Each is a function of a length: the number of nodes grows with it linearly. Whatever walks a shared
part once a path, or asks every node about every other one, shows as growth beyond that. Tests count
work over these, and benchmarks time it.

Examples
--------
>>> from phintys.testing.families import FAMILIES
>>> inputs, outputs = FAMILIES["diamond"](3)
>>> len(inputs), len(outputs)
(1, 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import phintys.tensor as pt
from phintys.gradient import grad

if TYPE_CHECKING:
    from collections.abc import Callable

Family = "Callable[[int], tuple[list[Any], list[Any]]]"


def diamond(length: int) -> tuple[list[Any], list[Any]]:
    """``y + y[::-1]``, again and again: a view and its whole meet."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = y + y[::-1]
    return [x], [y]


def squares(length: int) -> tuple[list[Any], list[Any]]:
    """``y * y + y``: each value is read three times."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.tanh(y * y + y)
    return [x], [y]


def ladder(length: int) -> tuple[list[Any], list[Any]]:
    """``a, b = a * b, a + b``: as many paths as there are Fibonacci numbers."""
    x = pt.dvector("x")
    a, b = x, pt.sin(x)
    for _ in range(length):
        a, b = a * b, a + b
    return [x], [a, b]


def padding(length: int) -> tuple[list[Any], list[Any]]:
    """``concatenate([y[:1], y, y[-1:]])``: each length is made of the one before, three times."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.concatenate([y[:1], y, y[-1:]])
    return [x], [y]


def frames(length: int) -> tuple[list[Any], list[Any]]:
    """The same around a matrix: lengths that are products of growing sums."""
    x = y = pt.dmatrix("x")
    for step in range(length):
        axis = step % 2
        first = y[:1] if axis == 0 else y[:, :1]
        y = pt.concatenate([first, y, pt.exp(first)], axis=axis)
    return [x], [y]


def doubling(length: int) -> tuple[list[Any], list[Any]]:
    """``concatenate([y, y])[:n]``: lengths double, and are cut again."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.concatenate([y, y])[: x.shape[0]]
    return [x], [y]


def shifts(length: int) -> tuple[list[Any], list[Any]]:
    """``y[1:] - y[:-1]``: each slice is of a slice."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = y[1:] - y[:-1]
    return [x], [y]


def strides(length: int) -> tuple[list[Any], list[Any]]:
    """``concatenate([y[::2], y[1::2]])``: lengths with quotients in them."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.concatenate([y[::2], y[1::2]])
    return [x], [y]


def reshapes(length: int) -> tuple[list[Any], list[Any]]:
    """A matrix turned, flattened and shaped again."""
    x = y = pt.dmatrix("x")
    for _ in range(length):
        y = pt.sin(y.T.reshape((y.shape[0], y.shape[1])))
    return [x], [y]


def flattened(length: int) -> tuple[list[Any], list[Any]]:
    """``reshape((-1, 2))`` of a sum with what it was before."""
    x = y = pt.dmatrix("x")
    for _ in range(length):
        y = y + y.flatten().reshape((-1, y.shape[1]))
    return [x], [y]


def turns(length: int) -> tuple[list[Any], list[Any]]:
    """Transposed and reversed matrices added to themselves."""
    x = y = pt.dmatrix("x")
    for _ in range(length):
        y = y + y.T[::-1]
    return [x], [y]


def tiles(length: int) -> tuple[list[Any], list[Any]]:
    """``tile(y, 2)[:n]`` added to itself."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.tile(y, 2)[: x.shape[0]] + y
    return [x], [y]


def repeats(length: int) -> tuple[list[Any], list[Any]]:
    """``repeat(y, 2)[::2]`` added to itself."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.repeat(y, 2)[::2] + y
    return [x], [y]


def switches(length: int) -> tuple[list[Any], list[Any]]:
    """``switch(y > k, y, y * y)``: a condition and two branches on one value."""
    x = y = pt.dvector("x")
    for step in range(length):
        y = pt.switch(y > step, y, y * y)
    return [x], [y]


def sets(length: int) -> tuple[list[Any], list[Any]]:
    """``set_subtensor(y[i], y[j] + 1)``: elements written one after the other."""
    x = y = pt.dvector("x")
    for step in range(length):
        y = pt.set_subtensor(y[step % 7], y[(step + 3) % 7] + 1)
    return [x], [y]


def increments(length: int) -> tuple[list[Any], list[Any]]:
    """``inc_subtensor(y[i : i + 2], y[j : j + 2])``: slices added to."""
    x = y = pt.dvector("x")
    for step in range(length):
        i, j = step % 7, (step + 3) % 7
        y = pt.inc_subtensor(y[i : i + 2], y[j : j + 2])
    return [x], [y]


def elements(length: int) -> tuple[list[Any], list[Any]]:
    """``u[0], u[1], ...`` in an unrolled recurrence."""
    x = pt.dvector("x")
    h = pt.constant(0.0)
    for step in range(length):
        h = pt.tanh(h * 0.5 + x[step])
    return [x], [h]


def rows(length: int) -> tuple[list[Any], list[Any]]:
    """The rows of a matrix in an unrolled recurrence."""
    x = pt.dmatrix("x")
    h = x[0]
    for step in range(length):
        h = pt.tanh(h * 0.5 + x[step])
    return [x], [h]


def windows(length: int) -> tuple[list[Any], list[Any]]:
    """``x[k : k + 3]`` added up: slices of one vector that overlap."""
    x = pt.dvector("x")
    h = x[:3]
    for step in range(length):
        h = pt.sin(h) + x[step : step + 3]
    return [x], [h]


def lookups(length: int) -> tuple[list[Any], list[Any]]:
    """A table read again and again by one array of indices."""
    x, at = pt.dvector("x"), pt.lvector("at")
    y = x
    for _ in range(length):
        y = y + pt.sin(y)[at]
    return [x, at], [y]


def products(length: int) -> tuple[list[Any], list[Any]]:
    """``dot(y, y) + y``: each matrix read three times."""
    x = y = pt.dmatrix("x")
    for _ in range(length):
        y = pt.tanh(pt.dot(y, y)) + y
    return [x], [y]


def softmaxes(length: int) -> tuple[list[Any], list[Any]]:
    """``softmax(y) * y``: reductions of what is read beside them."""
    x = y = pt.dmatrix("x")
    for _ in range(length):
        y = pt.special.softmax(y, axis=1) * y
    return [x], [y]


def centres(length: int) -> tuple[list[Any], list[Any]]:
    """``y - y.mean()``: a number that depends on all elements, then all elements on it."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.sin(y - y.mean())
    return [x], [y]


def stacks(length: int) -> tuple[list[Any], list[Any]]:
    """``stack([y.sum(), y.max()])``: vectors made of numbers."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = pt.stack([y.sum(), y.max(), pt.sin(y[0])])
    return [x], [y]


def lengths(length: int) -> tuple[list[Any], list[Any]]:
    """``y[: y.shape[0] // 2 + 1] * y.shape[0]``: sizes used as bounds and as values."""
    x = y = pt.dvector("x")
    for _ in range(length):
        y = y[: y.shape[0] // 2 + 1] * y.shape[0]
    return [x], [y]


def outputs(length: int) -> tuple[list[Any], list[Any]]:
    """Every value of a chain is an output."""
    x = y = pt.dvector("x")
    made: list[Any] = []
    for _ in range(length):
        y = pt.sin(y)
        made.append(y)
    return [x], made


def inputs(length: int) -> tuple[list[Any], list[Any]]:
    """The sum of many arguments."""
    xs = [pt.dvector(f"x{step}") for step in range(length)]
    total = xs[0]
    for x in xs[1:]:
        total = pt.tanh(total) + x
    return xs, [total]


FAMILIES: dict[str, Callable[[int], tuple[list[Any], list[Any]]]] = {
    family.__name__: family
    for family in (
        *(diamond, squares, ladder, padding, frames, doubling, shifts, strides, reshapes),
        *(flattened, turns, tiles, repeats, switches, sets, increments, elements, rows),
        *(windows, lookups, products, softmaxes, centres, stacks, lengths, outputs, inputs),
    )
}
"""By name: functions of a length that return the inputs and the outputs of a program."""


def with_gradient(family: Callable[[int], Any], length: int) -> tuple[list[Any], list[Any]]:
    """Return a family's program of some length, with the gradient of the sum of its last output."""
    given, made = family(length)
    return given, [*made, grad(made[-1].sum(), given[0])]
