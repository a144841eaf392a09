"""Permutations, classes as rows, and bits of bytes."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord
from phintys.testing.strategies import arrays_for, axes, same, shapes

ANYTHING = (Argument(dtypes=("bool", "int64", "float32", "complex128")),)
CLASSES = (Argument(dtypes=("int8", "int64", "uint8"), interval=(-1, 4), extremes=False),)
TRUTHS = (Argument(dtypes=("bool", "int64", "uint8"), interval=(0, 2), extremes=False),)
BYTES = (Argument(dtypes=("uint8",)),)


def _rng(draw):
    return np.random.default_rng(draw(st.integers(0, 2**16)))


def _count(draw, sizes):
    return {"nb_class": draw(st.integers(0, 3)), "dtype": draw(st.sampled_from(("int8", None)))}


def _one_hot(y, nb_class, dtype):
    return (y[..., None] == np.arange(nb_class)).astype(dtype or "float64")


def _orders(draw, shape):
    return _rng(draw).permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)


def _permutations(draw, smooth):
    return Example((_orders(draw, draw(shapes(min_dims=1, max_dims=2))),))


def _inverse(perm):
    return np.argsort(perm, axis=-1)


def _rows(draw, smooth):
    shape = draw(shapes(min_dims=1, max_dims=3, max_side=3))
    (x,) = arrays_for(draw, ANYTHING, [shape], smooth)
    orders = _orders(draw, draw(st.sampled_from((shape, shape[-1:]))))
    return Example((x, orders), {"inverse": draw(st.booleans())})


def _permuted(x, y, inverse):
    order = np.argsort(y, axis=-1) if inverse else y
    return np.take_along_axis(x, np.broadcast_to(order, x.shape), -1)


def _axis_and_order(draw, sizes):
    axis = draw(axes(len(sizes[0]), several=False))
    return {"axis": axis, "bitorder": draw(st.sampled_from(("big", "little")))}


def _length(draw, sizes):
    params = _axis_and_order(draw, sizes)
    axis = params["axis"]
    length = int(np.prod(sizes[0])) if axis is None else sizes[0][axis]
    # NumPy's zeros after no bits are not always zero.
    count = st.integers(-8 * length, 8 * length + 9) if length else st.none()
    return params | {"count": draw(st.none() | count)}


RECORDS = [
    OpRecord(
        name="to_one_hot",
        build=pt.to_one_hot,
        reference=_one_hot,
        arguments=CLASSES,
        params=_count,
        shapes=same(max_dims=2),
        differentiable=(),
    ),
    OpRecord(
        name="inverse_permutation",
        build=pt.inverse_permutation,
        reference=_inverse,
        draw=_permutations,
        differentiable=(),
    ),
    OpRecord(
        name="permute_row_elements",
        build=pt.permute_row_elements,
        reference=_permuted,
        draw=_rows,
        differentiable=(0,),
    ),
    OpRecord(
        name="packbits",
        build=pt.packbits,
        reference=np.packbits,
        arguments=TRUTHS,
        params=_axis_and_order,
        shapes=same(min_dims=1, max_dims=2, max_side=9),
        differentiable=(),
    ),
    OpRecord(
        name="unpackbits",
        build=pt.unpackbits,
        reference=np.unpackbits,
        arguments=BYTES,
        params=_length,
        shapes=same(min_dims=1, max_dims=2),
        differentiable=(),
    ),
]
