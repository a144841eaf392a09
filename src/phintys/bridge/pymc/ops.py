"""PyMC's own Ops: Bessel functions, splines and stacks of diagonal matrices."""
# PyMC need not be installed.
# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np
from pymc.distributions.dist_math import I0e, I1e, SplineWrapper
from pymc.math import BatchedDiag

import phintys.tensor as pt
from phintys._base.uninterrupted import import_whole
from phintys.bridge.pytensor import PyTensorOp, convert_op
from phintys.bridge.pytensor.families.elementwise import SCALARS

_ZERO, _RAISE, _BOUNDARY = 1, 2, 3
"""What SciPy's splines return outside of their interval; by default they are continued."""


def register() -> None:
    """Register the conversions."""
    SCALARS[I0e] = pt.i0e
    SCALARS[I1e] = pt.i1e
    convert_op.register(SplineWrapper)(_spline)
    convert_op.register(BatchedDiag)(_diagonal_matrices)


def _diagonal_matrices(op: Any, node: Any, diagonals: Any) -> Any:
    return diagonals[:, :, None] * pt.eye(diagonals.shape[1], dtype=diagonals.dtype)


def _spline(op: Any, node: Any, x: Any) -> Any:
    """Return a spline of SciPy's at x: the polynomial of the piece that x is in.

    The density of ``pm.Interpolated`` is one.
    """
    spline = op.spline
    if spline.ext == _RAISE:
        return PyTensorOp(node)(x)
    pieces = _pieces(spline)
    begin, end = pieces.x[0], pieces.x[-1]
    at = pt.clip(x, begin, end) if spline.ext == _BOUNDARY else x
    given = np.diff(pieces.x) > 0
    starts = pieces.x[:-1][given]
    piece = pt.clip(pt.searchsorted(starts, at, side="right") - 1, 0, len(starts) - 1)
    distance = at - pt.constant(starts)[piece]
    first, *others = (pt.constant(row[given])[piece] for row in pieces.c)
    value = first
    for coefficient in others:
        value = value * distance + coefficient
    if spline.ext == _ZERO:
        return pt.switch(pt.and_(x >= begin, x <= end), value, 0.0)
    return value


def _pieces(spline: Any) -> Any:
    """Return a spline as SciPy's piecewise polynomial."""
    knots, coefficients = spline.get_knots(), spline.get_coeffs()
    degree = len(coefficients) - len(knots) + 1
    ends = [np.repeat(knots[at], degree) for at in (0, -1)]
    whole = np.concatenate([ends[0], knots, ends[1]])
    return import_whole("scipy.interpolate").PPoly.from_spline((whole, coefficients, degree))
