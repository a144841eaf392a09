"""Sequences of numbers by formula, windows, and polynomials."""

from itertools import groupby, product

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, broadcastable, same

FLOATS = (Argument(dtypes=("float64",), special=False),)
NUMBERS = (Argument(dtypes=("int64", "float64"), special=False, extremes=False),)
POSITIVE = (Argument(dtypes=("float64",), interval=(0.5, 4.0), special=False, extremes=False),)
COUNT = (Argument(dtypes=("int64",), interval=(0, 6), extremes=False),)
ROUNDED = Tolerance("powers and sums are rounded in other steps", ulps=256, normwise=True)


def _record(name, build, reference, **facts):
    return OpRecord(name=name, build=build, reference=reference, tolerance=ROUNDED, **facts)


def _window(name):
    return _record(
        name,
        getattr(pt, name),
        lambda n: getattr(np, name)(int(n)),
        arguments=COUNT,
        shapes=same(max_dims=0),
        differentiable=(),
    )


def _spaced(draw, sizes):
    ndim = max(map(len, sizes))
    return {
        "num": draw(st.integers(0, 4)),
        "endpoint": draw(st.booleans()),
        "axis": draw(st.integers(0, ndim)),
    }


def _vector(shortest=0):
    return lambda draw: [(draw(st.integers(shortest, 4)),)]


def _columns(draw, sizes):
    return {"N": draw(st.none() | st.integers(0, 4)), "increasing": draw(st.booleans())}


def _of_known_length(draw, smooth):
    """Draw coefficients whose number is known, so that Horner's scheme is written out."""
    p, x = arrays_for(draw, FLOATS * 2, [(draw(st.integers(1, 4)),), (2,)], smooth)
    return Example((p, x), {}, (pt.TensorType("float64", p.shape), pt.dvector))


def _points(draw, smooth):
    (y,) = arrays_for(draw, FLOATS, [(6,)], smooth)
    return Example((np.linspace(-1, 1, 6), y), {"deg": draw(st.integers(0, 3))})


def _to_be_spelled(draw, smooth):
    time = draw(st.integers(2, 4))
    (x,) = arrays_for(draw, FLOATS, [(time, 2, 3)], smooth)
    return Example((x, np.array([[1, -1], [2, 1]]), np.array([draw(st.integers(1, time)), time])))


def _by_all_ways(x, labels, lengths):
    """Return minus the logarithms of the sums over all ways in which steps spell the labels."""
    scores = x - np.logaddexp.reduce(x, -1, keepdims=True)
    found = []
    for row, wanted, n in zip(np.swapaxes(scores, 0, 1), labels, lengths, strict=True):
        ways = [
            row[np.arange(n), way].sum()
            for way in product(range(3), repeat=n)
            if [one for one, _ in groupby(way) if one] == [one for one in wanted if one >= 0]
        ]
        found.append(-np.logaddexp.reduce(ways))
    return np.array(found)


def _cubic(p):
    """Return the sums of powers of the roots, which do not depend on their order."""
    found = np.roots(p)
    return [np.asarray(np.sum(found).real), np.asarray(np.sum(found**2).real)]


def _sums_of_roots(p):
    found = pt.roots(pt.specify_shape(p, (4,)))
    return [pt.real(pt.sum(found)), pt.real(pt.sum(found**2))]


RECORDS = [
    *map(_window, ("bartlett", "blackman", "hamming", "hanning")),
    _record(
        "kaiser",
        pt.kaiser,
        lambda n, beta: np.kaiser(int(n), float(beta)),
        arguments=COUNT + POSITIVE,
        shapes=same(2, max_dims=0),
        differentiable=(1,),
    ),
    _record(
        "logspace",
        pt.logspace,
        np.logspace,
        arguments=FLOATS * 2,
        shapes=broadcastable(2, max_dims=1),
        params=_spaced,
        broadcasts=True,
    ),
    _record(
        "geomspace",
        pt.geomspace,
        np.geomspace,
        arguments=POSITIVE * 2,
        shapes=broadcastable(2, max_dims=1),
        params=_spaced,
        broadcasts=True,
    ),
    _record("vander", pt.vander, np.vander, arguments=NUMBERS, shapes=_vector(), params=_columns),
    _record("diagflat", pt.diagflat, np.diagflat, arguments=NUMBERS, shapes=same(max_dims=2)),
    _record(
        "fromfunction",
        lambda n: pt.fromfunction(lambda i, j: i - 2 * j, (n, 2)),
        lambda n: np.fromfunction(lambda i, j: i - 2 * j, (int(n), 2)),
        arguments=COUNT,
        shapes=same(max_dims=0),
        differentiable=(),
    ),
    _record("polyval", pt.polyval, np.polyval, draw=_of_known_length),
    _record(
        "polyval of unknown degree",
        pt.polyval,
        np.polyval,
        arguments=NUMBERS + FLOATS,
        shapes=lambda draw: [(draw(st.integers(1, 4)),), (2,)],
    ),
    *(
        _record(
            name,
            getattr(pt, name),
            getattr(np, name),
            arguments=NUMBERS * 2,
            shapes=lambda draw: [(draw(st.integers(1, 4)),), (draw(st.integers(1, 4)),)],
        )
        for name in ("polyadd", "polysub")
    ),
    _record("polyder", pt.polyder, np.polyder, arguments=NUMBERS, shapes=_vector(1)),
    _record(
        "polyint",
        lambda p: pt.polyint(p, 2, [1, 2]),
        lambda p: np.polyint(p, 2, [1, 2]),
        arguments=NUMBERS,
        shapes=_vector(1),
    ),
    _record("polyfit", pt.polyfit, np.polyfit, draw=_points, differentiable=(1,), rop=False),
    _record(
        "roots",
        _sums_of_roots,
        _cubic,
        arguments=POSITIVE,
        shapes=lambda draw: [(4,)],
    ),
    _record("ctc_loss", pt.ctc_loss, _by_all_ways, draw=_to_be_spelled, differentiable=(0,)),
]
