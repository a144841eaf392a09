"""Dot products in all ranks."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.tensor.blas import BLAS_LETTERS, Gemm
from phintys.testing import Argument, Example, OpRecord, Tolerance
from phintys.testing.strategies import arrays_for, broadcastable, matmul

# Infinities times zero depend on which products are formed at all, that is on the order.
FINITE = (Argument(special=False),) * 2
MULTIPLIED = Tolerance("sums of products may be taken in another order", ulps=64, normwise=True)
SIZES = st.integers(0, 3)
# Where a factor is 0 or huge it matters what it is multiplied by first.
SCALED = (Argument(dtypes=tuple(BLAS_LETTERS), special=False, extremes=False),) * 4


def _record(name, build, reference, draw=None, **facts):
    facts = {"ops": (), "tolerance": MULTIPLIED, "broadcasts": True} | facts
    if draw is None:
        facts = {"arguments": FINITE} | facts
    return OpRecord(name=name, build=build, reference=_in_float32(reference), draw=draw, **facts)


def _in_float32(function):
    """Add products of float16 in float32: NumPy adds them one after the other in float16."""

    def reference(x, y, **params):
        dtype = np.result_type(x, y)
        if dtype != np.float16:
            return np.asarray(function(x, y, **params))
        return np.asarray(function(x.astype("float32"), y.astype("float32"), **params), dtype)

    return reference


def _pair(sizes_of):
    """Return a draw of two arrays, and parameters, from a function that draws their shapes."""

    def draw_example(draw, smooth):
        first, second, params = sizes_of(draw)
        values = arrays_for(draw, FINITE, [first, second], smooth)
        return Example(tuple(values), params)

    return draw_example


def _dot_shapes(draw):
    """Shapes of which the last of the first meets the last but one of the second."""
    first = tuple(draw(st.lists(SIZES, max_size=3)))
    second = draw(st.lists(SIZES, max_size=3))
    if first and second:
        second[max(len(second) - 2, 0)] = first[-1]
    return first, tuple(second), {}


def _two_by_two(draw):
    """Vectors and matrices."""
    first = tuple(draw(st.lists(SIZES, min_size=1, max_size=2)))
    second = draw(st.lists(SIZES, min_size=1, max_size=2))
    second[0] = first[-1]
    return first, tuple(second), {}


def _gemm_shapes(draw):
    """Matrices, or a matrix and a vector; a factor; and what broadcasts to the product."""
    first, second, _ = _two_by_two(draw)
    if len(first) == len(second) == 1:
        second = (*second, draw(SIZES))
    added = tuple(draw(st.sampled_from([size, 1])) for size in (*first[:-1], *second[1:]))
    return first, second, (), added


def _matmul_shapes(draw):
    first, second = matmul()(draw)
    if draw(st.integers(0, 3)) == 0:
        first = (first[-1],)
    elif draw(st.integers(0, 3)) == 0:
        second = (second[-2],)
    return first, second, {}


def _tensordot_shapes(draw):
    """Shapes with some axes in common, in any places."""
    common = draw(st.lists(SIZES, max_size=2))
    free = [draw(st.lists(SIZES, max_size=2)) for _ in range(2)]
    if draw(st.booleans()):
        return (*free[0], *common), (*common, *free[1]), {"axes": len(common)}
    shapes, axes = [], []
    for own in free:
        order = draw(st.permutations(range(len(own) + len(common))))
        sizes = [*own, *common]
        shapes.append(tuple(sizes[place] for place in order))
        axes.append([order.index(len(own) + place) for place in range(len(common))])
    return shapes[0], shapes[1], {"axes": axes}


def _batched_shapes(draw):
    batch = draw(st.integers(1, 3))
    inner, rows, columns = draw(SIZES), draw(st.none() | SIZES), draw(st.none() | SIZES)
    first = (batch, inner) if rows is None else (batch, rows, inner)
    second = (batch, inner) if columns is None else (batch, inner, columns)
    return first, second, {}


def _batched_dot(x, y):
    left = x[:, None] if x.ndim == 2 else x
    right = y[..., None] if y.ndim == 2 else y
    result = np.matmul(left, right)
    if y.ndim == 2:
        result = result[..., 0]
    return result[:, 0] if x.ndim == 2 else result


def _batched_tensordot_shapes(draw):
    batch = draw(st.integers(1, 2))
    shapes = _tensordot_shapes(draw)
    axes = shapes[2]["axes"]
    if not isinstance(axes, int):
        axes = [[axis + 1 for axis in own] for own in axes]
    return (batch, *shapes[0]), (batch, *shapes[1]), {"axes": axes}


def _batched_tensordot(x, y, axes):
    if not isinstance(axes, int):
        axes = [[axis - 1 for axis in own] for own in axes]
    return np.array([np.tensordot(a, b, axes) for a, b in zip(x, y, strict=True)])


def _same_count(draw):
    shape = draw(st.sampled_from([(4,), (2, 2), (1, 4), (0,), ()]))
    other = (int(np.prod(shape)),) if draw(st.booleans()) else shape
    return shape, other, {}


def _inner_shapes(draw):
    last = draw(SIZES)
    first, second = (tuple(draw(st.lists(SIZES, max_size=2))) for _ in range(2))
    return (*first, last), (*second, last), {}


def _batched(draw):
    """Stacks of matrices with batch dimensions of one rank."""
    batch = broadcastable(2, min_dims=2, max_dims=2, max_side=2)(draw)
    rank = max(map(len, batch))
    batch = [(1,) * (rank - len(own)) + own for own in batch]
    rows, inner, columns = draw(st.tuples(SIZES, SIZES, SIZES))
    return (*batch[0], rows, inner), (*batch[1], inner, columns), {}


def _batch_of_products(x, y):
    one, other = (pt.tensor(dtype=a.dtype, shape=(None, None)) for a in (x, y))
    return pt.vectorize_graph(one @ other, {one: x, other: y})


RECORDS = [
    _record("Dot", pt.Dot(), np.dot, _pair(_two_by_two), ops=(pt.Dot,)),
    _record("dot", pt.dot, np.dot, _pair(_dot_shapes)),
    *(
        OpRecord(
            name=f"Gemm{nin}",
            build=Gemm(),
            reference=lambda x, y, alpha, c=0: np.asarray(alpha * np.dot(x, y) + c, x.dtype),
            arguments=SCALED[:nin],
            shapes=lambda draw, nin=nin: _gemm_shapes(draw)[:nin],
            ops=(Gemm,),
            mixed=False,
            broadcasts=True,
            tolerance=MULTIPLIED,
        )
        for nin in (3, 4)
    ),
    _record("BatchedDot", pt.BatchedDot(), np.matmul, _pair(_batched), ops=(pt.BatchedDot,)),
    _record(
        "Blockwise",
        pt.Blockwise(pt.Dot(), "(m,n),(n,k)->(m,k)"),
        np.matmul,
        _pair(_batched),
        ops=(pt.Blockwise,),
    ),
    _record("vectorize", pt.vectorize(pt.dot, "(m,n),(n,k)->(m,k)"), np.matmul, _pair(_batched)),
    _record("vectorize_graph", _batch_of_products, np.matmul, _pair(_batched)),
    _record("matmul", pt.matmul, np.matmul, _pair(_matmul_shapes)),
    _record("batched_dot", pt.batched_dot, _batched_dot, _pair(_batched_shapes)),
    _record("tensordot", pt.tensordot, np.tensordot, _pair(_tensordot_shapes)),
    _record(
        "batched_tensordot",
        pt.batched_tensordot,
        _batched_tensordot,
        _pair(_batched_tensordot_shapes),
    ),
    _record("inner", pt.inner, np.inner, _pair(_inner_shapes)),
    _record("vdot", pt.vdot, np.vdot, _pair(_same_count), ops=(pt.Dot,)),
    _record("outer", pt.outer, np.outer, shapes=broadcastable(2, max_dims=2, max_side=3)),
    _record("kron", pt.kron, np.kron, shapes=broadcastable(2, max_dims=2, max_side=2)),
    _record(
        "linalg.matrix_transpose of a product",
        lambda x, y: pt.linalg.matrix_transpose(x @ y),
        lambda x, y: np.swapaxes(x @ y, -1, -2),
        shapes=matmul(0),
        ops=(pt.Dot, pt.DimShuffle),
    ),
]
