"""Shapes: rearranging dimensions, reshaping, stating and asking for sizes, broadcasting."""

import math

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.compile.ownership import DeepCopy, deep_copy
from phintys.tensor.size_check import SizeCheck
from phintys.tensor.type import TensorType
from phintys.testing import Argument, Example, OpRecord
from phintys.testing.strategies import arrays_for, axes, broadcastable, same, shapes, types_of

ANYTHING = (Argument(),)


def _record(name, build, reference, params=None, *, ops=(pt.DimShuffle,), **facts):
    facts = {"arguments": ANYTHING, "params": params} | facts
    return OpRecord(name=name, build=build, reference=reference, ops=ops, **facts)


# ---- the order of dimensions ---------------------------------------------------------------------


def _pattern(draw, sizes):
    """Draw a new order, in which some dimensions of size 1 are dropped and new ones put in."""
    dropped = [d for d, size in enumerate(sizes[0]) if size == 1 and draw(st.booleans())]
    kept = [dim for dim in range(len(sizes[0])) if dim not in dropped]
    pattern = list(draw(st.permutations(kept)))
    for _ in range(draw(st.integers(0, 2))):
        pattern.insert(draw(st.integers(0, len(pattern))), "x")
    return {"pattern": tuple(pattern)}


def _shuffled(x, pattern):
    kept = [dim for dim in pattern if dim != "x"]
    dropped = tuple(dim for dim in range(x.ndim) if dim not in kept)
    moved = x.transpose(*kept, *dropped)[(..., *(0 for _ in dropped))]
    return np.expand_dims(moved, tuple(i for i, dim in enumerate(pattern) if dim == "x"))


def _permutation(draw, sizes):
    return {"axes": draw(st.none() | st.permutations(range(len(sizes[0]))).map(tuple))}


def _two_axes(draw, sizes):
    axis = axes(len(sizes[0]), several=False, none=False)
    return {"axis1": draw(axis), "axis2": draw(axis)}


def _moves(draw, sizes):
    ndim = len(sizes[0])
    count = draw(st.integers(0, ndim))
    source, destination = (draw(st.permutations(range(ndim)))[:count] for _ in range(2))
    if count == 1 and draw(st.booleans()):
        return {"source": source[0], "destination": destination[0] - ndim}
    return {"source": tuple(source), "destination": tuple(destination)}


def _relation(draw, sizes):
    return {"relation": draw(st.sampled_from(["equal", "at least", "index"]))}


def _checked_size(x, relation):
    n = pt.size(x)
    return SizeCheck(relation, "sizes of x")(n, n + 0, n + (relation == "index"))


def _ones(draw, sizes):
    ones = [dim for dim, size in enumerate(sizes[0]) if size == 1]
    return {"axis": tuple(dim for dim in ones if draw(st.booleans()))}


def _new_axes(draw, sizes):
    count = draw(st.integers(1, 2))
    places = st.integers(0, len(sizes[0]) + count - 1)
    new = draw(st.lists(places, min_size=count, max_size=count, unique=True))
    return {"axis": new[0] if count == 1 else tuple(new)}


def _count(draw, sizes):
    return {"n_ones": draw(st.integers(1, 2))}


# ---- reshaping -----------------------------------------------------------------------------------


def _factors(draw, total):
    """Draw sizes whose product is ``total``."""
    if total == 0:
        shape = [0, *draw(st.lists(st.integers(0, 3), max_size=2))]
        return tuple(draw(st.permutations(shape)))
    shape = []
    for _ in range(draw(st.integers(0, 3))):
        divisors = [n for n in range(1, total + 1) if total % n == 0]
        shape.append(draw(st.sampled_from(divisors)))
        total //= shape[-1]
    if total != 1 or draw(st.booleans()):
        shape.insert(draw(st.integers(0, len(shape))), total)
    return tuple(shape)


def _new_shape(draw, sizes):
    shape = list(_factors(draw, math.prod(sizes[0])))
    if shape and 0 not in shape and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return {"shape": tuple(shape)}


def _symbolic_shape(draw, smooth):
    """Draw an array and a vector that is its new shape."""
    (x,) = arrays_for(draw, ANYTHING, [draw(shapes())], smooth)
    wanted = np.array(_factors(draw, x.size), draw(st.sampled_from(["int64", "int8", "uint16"])))
    return Example((x, wanted), {}, (draw(types_of(x)), TensorType(wanted.dtype, wanted.shape)))


def _rank(draw, sizes):
    return {"ndim": draw(st.integers(1, max(1, len(sizes[0]))))}


def _flattened(x, ndim):
    return x.reshape(*x.shape[: ndim - 1], math.prod(x.shape[ndim - 1 :]))


def _stated(draw, sizes):
    return {"shape": tuple(size if draw(st.booleans()) else None for size in sizes[0])}


def _stated_by_vector(draw, smooth):
    (x,) = arrays_for(draw, ANYTHING, [draw(shapes())], smooth)
    stated = np.array(x.shape, "int64")
    return Example((x, stated), {}, (draw(types_of(x)), TensorType("int64", stated.shape)))


# ---- broadcasting --------------------------------------------------------------------------------


def _larger(draw, sizes):
    """Draw a shape to which the array broadcasts."""
    size = st.integers(0, 3)
    shape = tuple(draw(size) if own == 1 else own for own in sizes[0])
    return {"shape": (*draw(st.lists(size, max_size=2)), *shape)}


# ---- asking for sizes ----------------------------------------------------------------------------


def _one_axis(draw, sizes):
    return {"i": draw(axes(len(sizes[0]), several=False, none=False))}


def _int64(value):
    return np.asarray(value, np.int64)


def _stacklists(*scalars):
    half = len(scalars) // 2
    return pt.stacklists([list(scalars[:half]), list(scalars[half:])])


RECORDS = [
    _record(
        "dimshuffle", lambda x, pattern: pt.dimshuffle(x, *pattern), _shuffled, _pattern, ops=()
    ),
    _record(
        "DimShuffle",
        lambda x, pattern: pt.DimShuffle(x.ndim, pattern)(x),
        _shuffled,
        _pattern,
    ),
    _record("transpose", pt.transpose, np.transpose, _permutation, ops=(), shapes=same(max_dims=4)),
    _record("swapaxes", pt.swapaxes, np.swapaxes, _two_axes, ops=(), shapes=same(min_dims=1)),
    _record("moveaxis", pt.moveaxis, np.moveaxis, _moves, ops=()),
    _record(
        "matrix_transpose",
        pt.matrix_transpose,
        lambda x: np.swapaxes(x, -1, -2),
        shapes=same(min_dims=2),
    ),
    _record("squeeze", pt.squeeze, np.squeeze, _ones, ops=()),
    _record("expand_dims", pt.expand_dims, np.expand_dims, _new_axes),
    _record(
        "shape_padleft",
        pt.shape_padleft,
        lambda x, n_ones: x.reshape((1,) * n_ones + x.shape),
        _count,
    ),
    _record(
        "shape_padright",
        pt.shape_padright,
        lambda x, n_ones: x.reshape(x.shape + (1,) * n_ones),
        _count,
    ),
    _record(
        "shape_padaxis",
        pt.shape_padaxis,
        np.expand_dims,
        lambda draw, sizes: {"axis": draw(st.integers(-len(sizes[0]) - 1, len(sizes[0])))},
    ),
    _record(
        "reshape",
        pt.reshape,
        lambda x, shape: x.reshape(shape),
        _new_shape,
        ops=(pt.Reshape,),
    ),
    _record(
        "reshape to a vector",
        pt.reshape,
        lambda x, shape: x.reshape(tuple(shape)),
        draw=_symbolic_shape,
        ops=(pt.Reshape,),
        differentiable=(0,),
    ),
    _record("flatten", pt.flatten, _flattened, _rank, ops=()),
    _record("specify_shape", pt.specify_shape, lambda x, shape: x, _stated, ops=()),
    _record(
        "SpecifyShape",
        lambda x, sizes: pt.SpecifyShape((True,) * x.ndim)(x, *pt.shape_tuple(x)),
        lambda x, sizes: x,
        draw=_stated_by_vector,
        ops=(pt.SpecifyShape,),
        differentiable=(0,),
    ),
    _record(
        "specify_shape by a vector",
        pt.specify_shape,
        lambda x, sizes: x,
        draw=_stated_by_vector,
        ops=(),
        differentiable=(0,),
    ),
    _record(
        "specify_broadcastable",
        lambda x, axis: pt.specify_broadcastable(x, *axis),
        lambda x, axis: x,
        _ones,
        ops=(),
    ),
    _record("broadcast_to", pt.broadcast_to, np.broadcast_to, _larger, ops=(), broadcasts=True),
    _record(
        "broadcast_arrays",
        pt.broadcast_arrays,
        np.broadcast_arrays,
        arguments=ANYTHING * 2,
        shapes=broadcastable(2, max_dims=3),
        ops=(),
        broadcasts=True,
    ),
    _record(
        "broadcast_shape",
        pt.broadcast_shape,
        lambda *xs: [_int64(size) for size in np.broadcast_shapes(*(x.shape for x in xs))],
        arguments=ANYTHING * 2,
        shapes=broadcastable(2, min_dims=1),
        ops=(),
        broadcasts=True,
    ),
    _record(
        "broadcast_shapes",
        lambda *xs: [
            pt.as_tensor_variable(size, dtype="int64")
            for size in pt.broadcast_shapes(*(x.shape for x in xs))
        ],
        lambda *xs: [_int64(size) for size in np.broadcast_shapes(*(x.shape for x in xs))],
        arguments=ANYTHING * 2,
        shapes=broadcastable(2, min_dims=1),
        ops=(),
        broadcasts=True,
    ),
    _record("shape", pt.shape, lambda x: _int64(x.shape), ops=(pt.Shape,)),
    _record(
        "shape_i",
        pt.shape_i,
        lambda x, i: _int64(x.shape[i]),
        _one_axis,
        shapes=same(min_dims=1),
        ops=(),
    ),
    _record(
        "ShapeI",
        lambda x, i: pt.ShapeI(i % x.ndim)(x),
        lambda x, i: _int64(x.shape[i]),
        _one_axis,
        shapes=same(min_dims=1),
        ops=(pt.ShapeI,),
    ),
    _record(
        "shape_tuple",
        pt.shape_tuple,
        lambda x: [_int64(size) for size in x.shape],
        shapes=same(min_dims=1),
        ops=(),
    ),
    _record(
        "SizeCheck",
        _checked_size,
        lambda x, relation: _int64(x.size),
        _relation,
        ops=(SizeCheck,),
    ),
    _record("size", pt.size, lambda x: _int64(x.size), ops=()),
    _record(
        "make_vector",
        pt.make_vector,
        lambda *xs: np.array(xs, np.result_type(*xs)),
        arguments=ANYTHING * 3,
        shapes=same(3, max_dims=0),
        ops=(pt.MakeVector,),
    ),
    _record(
        "stacklists",
        _stacklists,
        lambda *xs: np.array(xs, np.result_type(*xs)).reshape(2, -1),
        arguments=ANYTHING * 4,
        shapes=same(4, max_dims=0),
        mixed=False,
        ops=(pt.MakeVector,),
    ),
    _record(
        "scalar bridge",
        lambda x: pt.tensor_from_scalar(pt.scalar_from_tensor(x)),
        lambda x: x,
        shapes=same(max_dims=0),
        ops=(pt.ScalarFromTensor, pt.TensorFromScalar),
    ),
    _record("deep_copy", deep_copy, lambda x: x, ops=(DeepCopy,), differentiable=()),
]
