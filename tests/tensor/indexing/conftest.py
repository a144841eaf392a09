"""Indices of all kinds, drawn together with their values."""

from dataclasses import dataclass, field
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import strategies as st

import phintys.tensor as pt

INDEX_DTYPES = ("int8", "int64", "uint8")


@dataclass
class Drawn:
    """An index: what NumPy gets, what a symbolic array gets, and values of its inputs."""

    numpy: tuple[Any, ...]
    symbolic: tuple[Any, ...]
    values: dict[Any, Any] = field(default_factory=dict)


class _Parts:
    def __init__(self, data):
        self.data = data
        self.values = {}

    def number(self, number, unsigned=True):
        """Return an int as it is, as NumPy has it, or as a symbolic integer."""
        how = self.data.draw(st.sampled_from(["int", "numpy", "constant", "symbolic"]))
        if how == "int":
            return number
        dtype = self.data.draw(st.sampled_from(INDEX_DTYPES if number >= 0 else ("int8", "int64")))
        value = np.array(number, dtype)
        if how == "numpy":
            return value[()]
        if how == "constant":
            return pt.constant(value)
        variable = pt.scalar("i", dtype=dtype)
        self.values[variable] = value
        return variable

    def slice(self, size):
        """Draw a slice, with bounds inside and outside of the dimension."""
        bound = st.none() | st.integers(-size - 2, size + 2)
        step = st.none() | st.sampled_from([1, 2, 3, -1, -2])
        bounds = [self.data.draw(bound), self.data.draw(bound), self.data.draw(step)]
        if self.data.draw(st.integers(0, 3)) == 0:
            bounds = [None, None, None]
        given = [None if bound is None else self.number(bound) for bound in bounds]
        return slice(*bounds), slice(*given)

    def array(self, value):
        """Return an index array as it is, in a list, or as an input."""
        how = self.data.draw(st.sampled_from(["numpy", "list", "symbolic"]))
        if how == "numpy":
            return value
        if how == "list" and value.ndim:
            return value.tolist() if value.size else value
        static = [
            size if size == 1 or self.data.draw(st.booleans()) else None for size in value.shape
        ]
        variable = pt.tensor("indices", shape=static, dtype=value.dtype)
        self.values[variable] = value
        return variable

    def mask(self, shape):
        value = self.data.draw(hnp.arrays(bool, shape))
        return value, self.array(value)

    def indices(self, size, shape):
        """Draw an array of indices into a dimension."""
        dtype = self.data.draw(st.sampled_from(INDEX_DTYPES))
        low = 0 if dtype.startswith("u") else -size
        elements = st.integers(low, size - 1)
        value = self.data.draw(hnp.arrays(dtype, shape, elements=elements))
        return value, self.array(value)


def _draw_basic(data, shape, newaxes=True):
    """Draw an index of integers and slices into an array of a shape."""
    parts = _Parts(data)
    numpy, symbolic = [], []
    for size in shape[: data.draw(st.integers(0, len(shape)))]:
        if size and data.draw(st.booleans()):
            number = data.draw(st.integers(-size, size - 1))
            numpy.append(number)
            symbolic.append(parts.number(number))
        else:
            bounds, given = parts.slice(size)
            numpy.append(bounds)
            symbolic.append(given)
    whole = len(numpy) == len(shape)
    return _finish(data, parts, numpy, symbolic, newaxes, whole)


def _draw_advanced(data, shape, newaxes=True):
    """Draw an index with at least one array into an array of a shape, which has a dimension."""
    parts = _Parts(data)
    numpy, symbolic = [], []
    common = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    ndim = len(shape)
    first = data.draw(st.integers(0, ndim - 1))
    dim = 0
    while dim < ndim:
        size = shape[dim]
        kinds = ["slice", "array", "number", "mask"]
        kind = "array" if dim == first else data.draw(st.sampled_from(kinds))
        if kind == "mask" and len(common) == 0:
            width = data.draw(st.integers(1, ndim - dim))
            value, given = parts.mask(shape[dim : dim + width])
            if dim + width <= first or np.count_nonzero(value) != 1:
                kind = "slice"  # a mask of several elements broadcasts only against one
            else:
                numpy.append(value)
                symbolic.append(given)
                dim += width
                continue
        if kind == "array" and (size or 0 in common):
            own = common[data.draw(st.integers(0, len(common))) :]
            own = tuple(1 if data.draw(st.integers(0, 3)) == 0 else n for n in own)
            if size == 0:
                own = common
            value, given = parts.indices(max(size, 1), own)
            if value.ndim == 0:
                value, given = int(value), parts.number(int(value))
        elif kind == "number" and size:
            value = data.draw(st.integers(-size, size - 1))
            given = parts.number(value)
        else:
            value, given = parts.slice(size)
        numpy.append(value)
        symbolic.append(given)
        dim += 1
    return _finish(data, parts, numpy, symbolic, newaxes)


def _draw_mask(data, shape):
    """Draw a mask over some dimensions, among slices."""
    parts = _Parts(data)
    start = data.draw(st.integers(0, len(shape) - 1))
    stop = data.draw(st.integers(start + 1, len(shape)))
    pairs = [parts.slice(size) for size in shape[:start]]
    pairs.append(parts.mask(shape[start:stop]))
    pairs += [parts.slice(size) for size in shape[stop:]]
    numpy, symbolic = zip(*pairs, strict=True)
    return _finish(data, parts, list(numpy), list(symbolic), newaxes=True)


def _finish(data, parts, numpy, symbolic, newaxes, whole=True):
    """Put an ellipsis and new dimensions into an index; if ``whole``, it covers all dimensions."""
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0 if whole else len(numpy), len(numpy)))
        numpy.insert(place, ...)
        symbolic.insert(place, ...)
    for _ in range(data.draw(st.integers(0, 2)) if newaxes else 0):
        place = data.draw(st.integers(0, len(numpy)))
        numpy.insert(place, None)
        symbolic.insert(place, None)
    return Drawn(tuple(numpy), tuple(symbolic), parts.values)


@pytest.fixture(scope="session")
def draw_basic():
    return _draw_basic


@pytest.fixture(scope="session")
def draw_advanced():
    return _draw_advanced


@pytest.fixture(scope="session")
def draw_mask():
    return _draw_mask
