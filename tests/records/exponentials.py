"""Softmax, its relatives, and other activations."""

import numpy as np
from hypothesis import strategies as st
from scipy import special

import phintys.tensor as pt
from phintys.tensor.dim_shuffle import normalize_axes
from phintys.tensor.softmaxes import SoftmaxOrZero
from phintys.tensor.type import DTYPES
from phintys.testing import Argument, OpRecord, Tolerance
from phintys.testing.strategies import axes, broadcastable, same

REAL = tuple(d for d in DTYPES if not d.startswith("complex"))
EXPONENTIAL = Tolerance("SciPy takes the exponentials in another order", ulps=64, normwise=True)


def _wide(function):
    """Compute in float64, float16 and float32 as well, and round."""

    def reference(x, **params):
        result = function(x.astype("float64"), **params)
        return np.asarray(result).astype("float64" if x.dtype.kind in "biu" else x.dtype)

    return reference


def _logsumexp(x, axis, keepdims):
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _axis(draw, sizes):
    return {"axis": draw(axes(len(sizes[0])).filter(lambda axis: axis != ()))}


def _axis_and_keepdims(draw, sizes):
    return _axis(draw, sizes) | {"keepdims": draw(st.booleans())}


def _record(name, build, reference, op, params=_axis, **facts):
    return OpRecord(
        name=name,
        build=build,
        reference=_wide(reference),
        arguments=(Argument(dtypes=REAL, special=False),),
        shapes=same(min_side=1),
        params=params,
        ops=(op,),
        tolerance=EXPONENTIAL,
        **facts,
    )


def _logaddexp(*operands):
    return np.logaddexp.reduce(np.broadcast_arrays(*operands))


def _softmax_or_zero(x, axis=None):
    return SoftmaxOrZero(normalize_axes(axis, x.ndim))(x)


def _sum_of_exponentials(name, build, count):
    """Return the record of a function of several arrays."""
    return OpRecord(
        name=name,
        build=build,
        reference=_logaddexp,
        arguments=(Argument(dtypes=("float64",), special=False),) * count,
        shapes=broadcastable(count, min_side=1),
        tolerance=EXPONENTIAL,
        broadcasts=True,
    )


RECORDS = [
    _sum_of_exponentials("special.logaddexp", pt.special.logaddexp, 2),
    _sum_of_exponentials("logaddexp of three", pt.logaddexp, 3),
    OpRecord(
        name="relu",
        build=pt.relu,
        reference=lambda x: np.where(x <= 0, np.zeros_like(x), x),
        arguments=(Argument(dtypes=REAL),),
        smooth=lambda x: (np.abs(x) > 0.1).all(),
    ),
    _record("softmax", pt.softmax, special.softmax, pt.Softmax),
    _record("log_softmax", pt.log_softmax, special.log_softmax, pt.LogSoftmax),
    _record("logsumexp", pt.logsumexp, _logsumexp, pt.LogSumExp, _axis_and_keepdims),
    _record("softmax or zero", _softmax_or_zero, special.softmax, SoftmaxOrZero),
    _record("special.softmax", pt.special.softmax, special.softmax, pt.Softmax),
    _record("special.log_softmax", pt.special.log_softmax, special.log_softmax, pt.LogSoftmax),
]
