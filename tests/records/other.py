"""Composites, scalar Ops of users, marks of gradients, and functions said in terms of other Ops."""

import numpy as np
from hypothesis import strategies as st

import phintys.scalar as ps
import phintys.tensor as pt
from phintys.control import RowLoop
from phintys.gradient import (
    ConsiderConstant,
    DisconnectedGrad,
    GradClip,
    GradScale,
    UndefinedGrad,
    ZeroGrad,
    consider_constant,
    disconnected_grad,
    grad_clip,
    grad_scale,
    jacobian,
    undefined_grad,
    zero_grad,
)
from phintys.tensor.type import DTYPES
from phintys.testing import EXACT, ROUNDED, SUMMED, Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import broadcastable, same

REAL = tuple(d for d in DTYPES if not d.startswith("complex"))
INTEGERS = tuple(d for d in DTYPES if "int" in d)
FLOATS = ("float16", "float32", "float64")


# ---- scalar Ops with a graph, or code, of their own ----------------------------------------------


def _composite():
    x, y = ps.float64("x"), ps.float64("y")
    return ps.Composite([x, y], [ps.tanh(x * y) + 2.0, x - y])


COMPOSITE = _composite()


class Softsign(ps.UnaryScalarOp):
    """x / (1 + |x|), with an impl for single numbers."""

    def __init__(self):
        super().__init__(ps.upgrade_to_float, name="softsign")

    def __reduce__(self):
        return (type(self), ())

    def impl(self, x):
        return x / (1 + abs(x))

    def grad(self, inputs, output_grads):
        return [output_grads[0] / ps.sqr(1 + ps.abs(inputs[0]))]


def _softsign(x):
    wide = x.astype("float64") if x.dtype.kind in "biu" else x
    return np.asarray(wide / (1 + np.abs(wide)))


# ---- marks ---------------------------------------------------------------------------------------


def _mark(name, build, op):
    """A view of its input; the gradient is not meant to be that of the function."""
    return OpRecord(
        name=name,
        build=build,
        reference=lambda x: x,
        arguments=(Argument(dtypes=("float32", "float64")),),
        ops=(op,),
        differentiable=(),
    )


# ---- functions -----------------------------------------------------------------------------------


def _decimals(draw, sizes):
    return {"decimals": draw(st.integers(-2, 3))}


def _tolerances(draw, sizes):
    return {"equal_nan": draw(st.booleans()), "rtol": 0.3, "atol": 0.25}


def _isclose(a, b, **params):
    return np.isclose(a, b, **params)


def _vector_of_unknown_size(draw, smooth):
    """Rows of a Jacobian are computed one by one where their number is not known."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = rng.uniform(-2, 2, draw(st.integers(0, 3)))
    return Example((x,), {}, (pt.dvector,))


def _jacobian(x):
    """The Jacobian of x * sum(x**2)."""
    return np.sum(x**2) * np.eye(x.size) + 2 * np.outer(x, x)


TWO_REAL = (Argument(dtypes=("int8", "float32", "float64"), extremes=False),) * 2

RECORDS = [
    OpRecord(
        name="Composite",
        build=pt.Elemwise(COMPOSITE),
        reference=lambda x, y: [
            np.asarray(np.tanh(np.float64(x) * y) + 2.0),
            np.asarray(np.float64(x) - y),
        ],
        arguments=(Argument(dtypes=("int8", "float32", "float64")),) * 2,
        shapes=broadcastable(2),
        ops=(COMPOSITE,),
        broadcasts=True,
        tolerance=ROUNDED,
    ),
    OpRecord(
        name="scalar Op of a user",
        build=pt.Elemwise(Softsign()),
        reference=_softsign,
        arguments=(Argument(dtypes=("int8", "float32", "float64"), extremes=False),),
        ops=(pt.Elemwise,),
        tolerance=ROUNDED,
        smooth=lambda x: not x.size or np.min(np.abs(x)) > 1e-3,
        rop=False,
        skip=("pickling",),  # this file is no module that could be imported
    ),
    _mark("consider_constant", consider_constant, ConsiderConstant),
    _mark("zero_grad", zero_grad, ZeroGrad),
    _mark("disconnected_grad", disconnected_grad, DisconnectedGrad),
    _mark("undefined_grad", undefined_grad, UndefinedGrad),
    _mark("grad_clip", lambda x: grad_clip(x, -1.0, 1.0), GradClip),
    _mark("grad_scale", lambda x: grad_scale(x, 0.5), GradScale),
    OpRecord(
        name="jacobian",
        build=lambda x: jacobian(x * pt.sum(x**2), x, vectorize=False),
        reference=_jacobian,
        draw=_vector_of_unknown_size,
        ops=(RowLoop,),
        tolerance=SUMMED,
    ),
    OpRecord(
        name="cast",
        build=pt.cast,
        reference=lambda x, dtype: x.astype(dtype),
        arguments=(Argument(dtypes=("bool", "int64", "float16", "float64"), special=False),),
        params=lambda draw, sizes: {
            "dtype": draw(st.sampled_from(("int16", "float32", "float64", "complex64")))
        },
        smooth=lambda x, dtype: not dtype.startswith("int"),
    ),
    OpRecord(
        name="round",
        build=pt.round,
        reference=np.round,
        arguments=(Argument(dtypes=(*INTEGERS, *FLOATS), extremes=False),),
        params=_decimals,
        tolerance=Tolerance("NumPy scales in other steps", ulps=4),
        smooth=lambda x, decimals: _far_from_halves(x * 10.0**decimals),
    ),
    OpRecord(
        name="divmod",
        build=pt.divmod,
        reference=np.divmod,
        arguments=(Argument(dtypes=REAL[1:]), Argument(dtypes=REAL[1:], interval=(2, 4))),
        shapes=broadcastable(2),
        broadcasts=True,
        mixed=False,
        smooth=lambda x, y: _far_from_halves(np.true_divide(x, y) + 0.5),
    ),
    OpRecord(
        name="ceil_intdiv",
        build=pt.ceil_intdiv,
        reference=lambda x, y: -(-x // y),
        arguments=(
            Argument(dtypes=("int64",), extremes=False),
            Argument(dtypes=("int64",), interval=(1, 4), extremes=False),
        ),
        shapes=same(2),
    ),
    OpRecord(
        name="isclose",
        build=pt.isclose,
        reference=_isclose,
        arguments=TWO_REAL,
        shapes=broadcastable(2),
        broadcasts=True,
        params=_tolerances,
    ),
    OpRecord(
        name="allclose",
        build=pt.allclose,
        reference=lambda a, b, **params: np.asarray(np.allclose(a, b, **params)),
        arguments=TWO_REAL,
        shapes=broadcastable(2),
        broadcasts=True,
        params=_tolerances,
    ),
    OpRecord(
        name="where",
        build=pt.where,
        reference=np.where,
        arguments=(Argument(),) * 3,
        shapes=broadcastable(3),
        broadcasts=True,
        ops=(ps.switch,),
    ),
    OpRecord(
        name="where alone",
        build=pt.where,
        reference=np.where,
        arguments=(Argument(),),
        shapes=same(min_dims=1),
        ops=(pt.Nonzero,),
    ),
    OpRecord(
        name="tensor_copy",
        build=pt.tensor_copy,
        reference=lambda x: x,
        arguments=(Argument(),),
        ops=(ps.identity,),
        tolerance=EXACT,
    ),
]


def _far_from_halves(x):
    return not x.size or np.min(np.abs(x + 0.5 - np.rint(x + 0.5))) > 1e-2
