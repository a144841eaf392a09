"""Orders of long vectors, in fewer passes over memory than NumPy's.

Indices are found by sorting integers that hold both a value, in their leading bits, and its index
in the others: sorting values moves memory in order, where sorting indices by the values that they
stand for does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = 1 << 17
"""Length from which on sorting values and indices together pays off."""

_Vector = np.ndarray[tuple[int], np.dtype[Any]]

_SAMPLE = 256
_PIECE = 1 << 14  # elements: the temporary arrays of a piece stay in the cache
_SIGN = np.uint64(1 << 63)
_SPARE = np.uint64(52 - 23)  # bits of a float64's mantissa that a float32 does not have


def is_long(x: np.ndarray[Any, Any]) -> bool:
    """Return whether ``x`` is a long vector of integers or floats of 32 or 64 bits."""
    return x.ndim == 1 and x.dtype.kind in "iuf" and x.itemsize in (4, 8) and x.size >= LONG


def order_of(x: _Vector, stable: bool) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the indices that sort a long vector, NaN last.

    Parameters
    ----------
    x
        The vector.
    stable
        Equal elements must keep their order.

    Examples
    --------
    >>> import numpy as np
    >>> from phintys.tensor._long_orders import order_of
    >>> order_of(np.arange(200_000)[::-1], stable=True)[:3]
    array([199999, 199998, 199997])
    """
    if not stable and _has_few_values(x):
        return np.argsort(x).astype(np.int64, copy=False)
    count = len(x)
    bits = np.uint64((count - 1).bit_length())
    keys = _ranks(x)
    least, span = keys.min(), int(keys.max()) - int(keys.min())
    dropped = np.uint64(max(0, span.bit_length() + int(bits) - 64))
    for piece in _pieces(count):
        part = keys[piece]
        part -= least
        part >>= dropped
        part <<= bits
        part |= np.arange(piece.start, piece.stop, dtype=np.uint64)
    keys.sort()
    order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)
    if dropped:
        keys >>= bits
        _sort_ties(x, keys, order)
    return order


def _has_few_values(x: _Vector) -> bool:
    """Return whether many elements are equal, judging by some that are spread evenly."""
    sample = np.sort(x[:: len(x) // _SAMPLE])
    return int(np.count_nonzero(sample[1:] != sample[:-1])) < _SAMPLE // 2


def _pieces(count: int) -> Iterator[slice]:
    for start in range(0, count, _PIECE):
        yield slice(start, min(start + _PIECE, count))


def _ranks(x: _Vector) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return integers in the order of the elements: equal ones for zeros, and for NaN the last."""
    ranks = np.empty(len(x), np.uint64)
    if x.dtype.kind == "u":
        ranks[...] = x
        return ranks
    signed = ranks.view(np.int64)
    if x.dtype.kind == "i":
        signed[...] = x
        ranks ^= _SIGN
        return ranks
    # Bits of floats are in their order, but for the negative ones, whose order is reversed.
    for piece in _pieces(len(x)):
        values = x[piece].astype(np.float64)
        values += 0.0  # -0.0 becomes 0.0
        part = ranks[piece]
        part[...] = values.view(np.uint64)
        negative = (signed[piece] >> 63).view(np.uint64)
        part ^= negative | _SIGN
        part[np.isnan(values)] = np.uint64(2**64 - 1)
        if x.itemsize == 4:
            part >>= _SPARE  # so that no bits are left out for the index, and no ties arise
    return ranks


def _sort_ties(x: _Vector, leading: Any, order: np.ndarray[Any, Any]) -> None:
    """Sort by all bits where neighbours agree in the leading ones."""
    tied = leading[1:] == leading[:-1]
    if not tied.any():
        return
    member = np.zeros(len(x), bool)
    member[1:] = tied
    member[:-1] |= tied
    places = np.flatnonzero(member)
    chosen = order[places]
    values = x[chosen]
    if (values[1:] < values[:-1]).any():
        order[places] = chosen[np.argsort(values, kind="stable")]
