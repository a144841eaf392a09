"""Hypothesis strategies for arrays, shapes, Types, and examples of op records.

This module needs Hypothesis; nothing else in Phintys imports it.

Values come from a random generator whose seed is drawn, since to draw every element would be slow:
Hypothesis simplifies dtypes, shapes, strides and parameters, and elements as far as seeds allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from phintys._base.names import public_dir
from phintys.graph.type import Type, generic
from phintys.scalar.type import all_types
from phintys.tensor.type import DTYPES, TensorType
from phintys.testing.graphs import DrawnGraph, graphs
from phintys.testing.layouts import LAYOUTS, lay_out
from phintys.testing.records import Argument, Draw, Example, OpRecord, Shape

__all__ = [
    "LAYOUTS",
    "DrawnGraph",
    "arrays",
    "arrays_for",
    "axes",
    "broadcastable",
    "examples",
    "graphs",
    "lay_out",
    "matmul",
    "same",
    "shapes",
    "square",
    "tensor_types",
    "types",
    "types_of",
]

Array = np.ndarray[Any, Any]
ShapeRule = Callable[[Draw], Sequence[Shape]]

_DISCRETE = frozenset(name for name in DTYPES if np.dtype(name).kind in "biu")
_LARGEST = 48  # elements of one array
_SEEDS = st.integers(0, 2**32 - 1)

# ---- shapes --------------------------------------------------------------------------------------


def shapes(
    min_dims: int = 0, max_dims: int = 4, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[Shape]:
    """Return a strategy of shapes, with no more than a few dozen elements.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(shapes(min_dims=2), lambda shape: True)
    (0, 0)
    """
    return _shapes(min_dims, max_dims, min_side, max_side)


@cache  # Hypothesis checks the arguments of each new strategy
def _shapes(min_dims: int, max_dims: int, min_side: int, max_side: int) -> st.SearchStrategy[Shape]:
    drawn = hnp.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )
    return drawn.filter(lambda shape: math.prod(shape) <= _LARGEST)


def same(count: int = 1, **limits: int) -> ShapeRule:
    """Return a rule for inputs of one shape; ``limits`` are those of :func:`shapes`."""
    return lambda draw: [draw(shapes(**limits))] * count


def broadcastable(count: int, **limits: int) -> ShapeRule:
    """Return a rule for inputs of different ranks that broadcast against each other."""
    sides: dict[str, Any] = {"max_dims": 4, "min_side": 0, "max_side": 4} | limits
    drawn = hnp.mutually_broadcastable_shapes(num_shapes=count, **sides).filter(
        lambda drawn: math.prod(drawn.result_shape) <= _LARGEST
    )
    return lambda draw: draw(drawn).input_shapes


def square(batch_dims: int = 0, min_side: int = 0) -> ShapeRule:
    """Return a rule for one stack of square matrices."""

    def rule(draw: Draw) -> Sequence[Shape]:
        n = draw(st.integers(min_side, 4))
        return [(*draw(shapes(0, batch_dims, max_side=3)), n, n)]

    return rule


def matmul(max_batch_dims: int = 2) -> ShapeRule:
    """Return a rule for two operands of a matrix product with batch dimensions that broadcast."""
    batches = broadcastable(2, min_dims=0, max_dims=max_batch_dims, max_side=2)

    def rule(draw: Draw) -> Sequence[Shape]:
        rows, inner, columns = draw(st.tuples(*[st.integers(0, 3)] * 3))
        first, second = batches(draw) if max_batch_dims else ((), ())
        return [(*first, rows, inner), (*second, inner, columns)]

    return rule


def axes(ndim: int, several: bool = True, none: bool = True) -> st.SearchStrategy[Any]:
    """Return a strategy of what ``axis`` may be for an array of a rank: ``None``, one, several.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(axes(2), lambda axis: isinstance(axis, tuple) and len(axis) == 2)
    (0, 1)
    """
    choices: list[st.SearchStrategy[Any]] = [st.none()] if none else []
    if ndim:
        choices.append(st.integers(-ndim, ndim - 1))
    if several:
        distinct = st.lists(st.integers(0, ndim - 1), unique=True, max_size=ndim) if ndim else None
        choices.append(st.just(()) if distinct is None else distinct.map(tuple))
    return st.one_of(choices)


# ---- arrays --------------------------------------------------------------------------------------


@cache
def _palette(argument: Argument, dtype: str) -> tuple[Array, Array]:
    """Return the elements that arrays consist of: common ones, and special ones."""
    kind = np.dtype(dtype).kind
    if kind == "b":
        return np.array([False, True]), np.array([], bool)
    if kind in "iu":
        return _integers(argument, np.dtype(dtype))
    low, high = argument.interval
    common = np.linspace(low, high, 13)
    coarse = np.round(common * 4) / 4  # few bits: ties, exact sums
    inside = (coarse >= low) & (coarse <= high)
    common = np.concatenate([common[1:-1:3], coarse[inside]])
    special = _special(dtype, argument)
    if argument.whole:
        common = np.arange(math.ceil(low), math.floor(high) + 1.0)
    if kind == "c":
        common = (common[:, None] + 1j * common).ravel()
    return common.astype(dtype), special


def _special(dtype: str, argument: Argument) -> Array:
    """Return zeros, infinities, NaN and the like."""
    if not argument.special:
        return np.array([], dtype)
    if np.dtype(dtype).kind == "c":
        # In C, complex products of infinities and of single NaNs are unspecified.
        parts = (0.0, -0.0, 0.5, -30.5)
        numbers = [complex(re, im) for re in parts for im in parts]
        return np.array([*numbers, complex(np.nan, np.nan)], dtype)
    info = np.finfo(dtype)
    sizes = [0.0, 0.5, 1.0, 1.5, 30.5, np.inf]
    if argument.extremes:
        sizes += [float(info.max), float(info.tiny), float(info.smallest_subnormal)]
    return np.array([np.nan, *sizes, *(-size for size in sizes)], dtype)


def _integers(argument: Argument, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    low, high = argument.int_interval or argument.interval
    info = np.iinfo(dtype)
    low, high = max(math.ceil(low), info.min), min(math.floor(high), info.max)
    common = np.unique(np.linspace(low, max(low, high), 13).astype(dtype))
    special = [info.min, info.max, 0, 1] if argument.special and argument.extremes else []
    return common, np.array(special, dtype)


def _elements(argument: Argument, dtype: str, shape: Shape, seed: int, special: bool) -> Array:
    rng = np.random.default_rng(seed)
    common, odd = _palette(argument, dtype)
    chosen = common[rng.integers(len(common), size=shape)]
    if special and len(odd):
        replaced = odd[rng.integers(len(odd), size=shape)]
        chosen = np.where(rng.random(shape) < 0.3, replaced, chosen)
    return np.asarray(chosen, dtype)


def _wild_array(draw: Draw, argument: Argument, dtype: str, shape: Shape) -> Array:
    special = draw(st.booleans()) if argument.special else False
    layout = draw(st.sampled_from(LAYOUTS))
    return lay_out(_elements(argument, dtype, shape, draw(_SEEDS), special), layout)


@st.composite
def arrays(
    draw: Draw,
    dtypes: Sequence[str] = DTYPES,
    shape: Shape | st.SearchStrategy[Shape] | None = None,
    **options: Any,
) -> Array:
    """Return a strategy of arrays with all kinds of strides.

    Parameters
    ----------
    dtypes
        Names of dtypes.
    shape
        A shape or a strategy of shapes; by default :func:`shapes`.
    options
        Further parameters of :class:`Argument`: ``interval``, ``int_interval``, ``special`` (by
        default NaN, infinities and the like are among the elements), ``whole``.

    Examples
    --------
    >>> from hypothesis import find
    >>> found = find(arrays(("float32",), (2,)), lambda array: array.strides[0] < 0)
    >>> found.dtype, found.strides
    (dtype('float32'), (-4,))
    """
    given = shapes() if shape is None else shape
    drawn = given if isinstance(given, tuple) else draw(given)
    dtype = draw(st.sampled_from(dtypes))
    return _wild_array(draw, Argument(**options), dtype, drawn)


# ---- types ---------------------------------------------------------------------------------------


@st.composite
def tensor_types(draw: Draw, dtypes: Sequence[str] = DTYPES, max_dims: int = 4) -> TensorType:
    """Return a strategy of tensor types, of which some sizes are known.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(tensor_types(), lambda type_: type_.ndim == 2)
    Matrix(bool, shape=(?, ?))
    """
    sizes = st.lists(st.none() | st.integers(0, 4), max_size=max_dims)
    return TensorType(draw(st.sampled_from(dtypes)), tuple(draw(sizes)))


def types() -> st.SearchStrategy[Type]:
    """Return a strategy of all kinds of Types."""
    return tensor_types() | st.sampled_from(all_types) | st.just(generic)


@st.composite
def types_of(draw: Draw, array: Array, broadcasts: bool = False) -> TensorType:
    """Return a strategy of the types that an array belongs to: some sizes are known.

    Parameters
    ----------
    array
        The array.
    broadcasts
        Sizes of 1 are known, so that they broadcast.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(types_of(np.zeros((1, 2)), broadcasts=True), lambda type_: True)
    Matrix(float64, shape=(1, ?))
    """
    shape = tuple(
        size if (broadcasts and size == 1) or draw(st.booleans()) else None for size in array.shape
    )
    return TensorType(array.dtype, shape)


# ---- examples of records -------------------------------------------------------------------------


@st.composite
def examples(draw: Draw, record: OpRecord, smooth: bool = False) -> Example:
    """Return a strategy of examples of a record.

    Parameters
    ----------
    record
        The record.
    smooth
        Draw points at which derivatives can be checked: distinct finite numbers inside of the
        arguments' intervals, of dtypes of which some have derivatives. Otherwise anything that
        the arguments allow.

    Examples
    --------
    >>> from hypothesis import find
    >>> import phintys.tensor as pt
    >>> record = OpRecord(name="abs", build=pt.abs, reference=np.abs, arguments=(Argument(),))
    >>> find(examples(record), lambda example: example.values[0].shape == (2,))
      Vector(bool, shape=(?,)): array of shape (2,), dtype bool: [ True,  True]
    """
    if record.draw is not None:
        example = record.draw(draw, smooth)
    else:
        rule = same(len(record.arguments)) if record.shapes is None else record.shapes
        sizes = rule(draw)
        params = {} if record.params is None else record.params(draw, sizes)
        values = arrays_for(draw, record.arguments, sizes, smooth, record.mixed)
        example = Example(tuple(values), params)
    if smooth and record.smooth is not None:
        assume(record.smooth(*example.values, **example.params))
    if example.types:
        return example
    drawn = [draw(types_of(value, record.broadcasts)) for value in example.values]
    return Example(example.values, example.params, tuple(drawn))


def arrays_for(
    draw: Draw,
    arguments: Sequence[Argument],
    sizes: Sequence[Shape],
    smooth: bool = False,
    mixed: bool = True,
) -> list[Array]:
    """Draw an array for each argument, for a ``draw`` of a record's own.

    Parameters
    ----------
    draw
        Draws from a strategy.
    arguments
        What the inputs take.
    sizes
        A shape for each of them.
    smooth
        Draw distinct numbers from the arguments' intervals, for derivatives; otherwise anything.
    mixed
        Dtypes may differ.
    """
    dtypes = _dtypes(draw, arguments, smooth, mixed)
    if smooth:
        return _smooth_arrays(draw, arguments, dtypes, sizes)
    return [
        _wild_array(draw, argument, dtype, shape)
        for argument, dtype, shape in zip(arguments, dtypes, sizes, strict=True)
    ]


def _dtypes(draw: Draw, arguments: Sequence[Argument], smooth: bool, mixed: bool) -> list[str]:
    """Draw a dtype for each argument; for derivatives, double precision more often than others."""
    drawn: list[str] = []
    for argument in arguments:
        if drawn and not mixed and drawn[0] in argument.dtypes:
            drawn.append(drawn[0])
            continue
        drawn.append(draw(st.sampled_from(_smooth_dtypes(argument) if smooth else argument.dtypes)))
    return drawn


@cache
def _smooth_dtypes(argument: Argument) -> Sequence[str]:
    """Return the dtypes that have values in the interval, and double precision several times."""
    given = argument.dtypes if argument.smooth_dtypes is None else argument.smooth_dtypes
    dtypes = [name for name in given if name not in _DISCRETE or len(_whole(argument, name))]
    return [name for name in ("float64", "complex128") if name in dtypes] * 2 + dtypes


def _whole(argument: Argument, dtype: str) -> Array:
    """Return the whole numbers at which derivatives can be checked."""
    low, high = argument.interval
    if argument.int_interval is not None:
        low, high = max(low, argument.int_interval[0]), min(high, argument.int_interval[1])
    numbers = np.arange(math.ceil(low), math.floor(high) + 1.0)
    if dtype == "bool":
        numbers = numbers[(numbers == 0) | (numbers == 1)]
    elif dtype.startswith("uint"):
        numbers = numbers[numbers >= 0]
    return numbers.astype(dtype)


def _smooth_arrays(
    draw: Draw, arguments: Sequence[Argument], dtypes: Sequence[str], sizes: Sequence[Shape]
) -> list[Array]:
    """Return arrays of numbers of which no two are close to each other."""
    rng = np.random.default_rng(draw(_SEEDS))
    counts = [math.prod(shape) for shape in sizes]
    total = max(sum(counts), 1)
    # One number from the middle of each cell of a grid.
    places = (rng.permutation(total) + rng.uniform(0.25, 0.75, total)) / total
    others = (rng.permutation(total) + rng.uniform(0.25, 0.75, total)) / total
    values: list[Array] = []
    start = 0
    for argument, dtype, shape, count in zip(arguments, dtypes, sizes, counts, strict=True):
        part = slice(start, start + count)
        values.append(_on_interval(argument, dtype, shape, places[part], others[part], rng))
        start += count
    return values


def _on_interval(
    argument: Argument, dtype: str, shape: Shape, places: Array, others: Array, rng: Any
) -> Array:
    kind = np.dtype(dtype).kind
    if kind in "biu" or argument.whole:
        numbers = _whole(argument, dtype)
        return np.asarray(numbers[rng.integers(len(numbers), size=shape)])
    low, high = argument.interval
    values = low + (high - low) * places
    if kind == "c":
        values = values + 1j * (low + (high - low) * others)
    return values.reshape(shape).astype(dtype)


__dir__ = public_dir(__name__)
