"""Sums of products in Einstein's notation, products of stacks of vectors, matrices of a pattern."""

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Argument, Example, OpRecord, Tolerance

MULTIPLIED = Tolerance("sums of products may be taken in another order", ulps=64, normwise=True)
DTYPES = ("float64", "float32", "complex128", "complex64", "int64", "int8", "bool")

# Products of one, two and more operands: diagonals, sums, matrices, stacks of them, in all orders.
NOTATIONS = (
    *("ii", "ii->i", "iij->ji", "ijk->kj", "ba", "...i->i...", "i...->..."),
    *("ij,jk", "ij,jk->ki", "ij,ij->", "ij,ij->i", "i,j->ji", "i,ij->j", ",ij->ji", "ij,kj,->ik"),
    *("bij,bjk->bik", "bij,bkj->kbi", "bhqd,bhkd->bhqk", "bhqk,bkhd->bqhd", "bij,bj->bi"),
    *("ijk,jil->kl", "ijk,ijl->kl", "iaj,akb->ijkb", "...ij,...jk->...ik", "...,...i->...i"),
    *("ij,jk,kl->li", "i,i,i->", "ab,bc,ca->", "bi,bij,bj->b", "aib,bjc,ckd->aijkd"),
)


def numbers(draw, dtype, shape):
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    x = rng.uniform(-2, 2, shape)
    if dtype.startswith("complex"):
        return (x + 1j * rng.uniform(-2, 2, shape)).astype(dtype)
    return (x > 0 if dtype == "bool" else x).astype(dtype)


def typed(draw, values):
    """Types that know all sizes, or those of 1 alone."""
    known = draw(st.booleans())
    return tuple(
        pt.TensorType(x.dtype, [n if known or n == 1 else None for n in x.shape]) for x in values
    )


def _draw(draw, smooth):
    subscripts = draw(st.sampled_from(NOTATIONS))
    sizes = {}
    values = []
    hidden = [draw(st.integers(1, 2)) for _ in range(2)]
    kinds = DTYPES[:4:2] if smooth else DTYPES
    dtype = draw(st.sampled_from(kinds))
    for term in subscripts.partition("->")[0].split(","):
        before, dots, after = term.partition("...")
        shape = [sizes.setdefault(c, draw(st.sampled_from([2, 3, 1, 0]))) for c in before + after]
        if term.count("i") == 1 and draw(st.integers(0, 5)) == 0:
            shape[(before + after).index("i")] = 1
        if dots:
            shape[len(before) : len(before)] = hidden[draw(st.integers(0, 2)) :]
        own = dtype if draw(st.booleans()) else draw(st.sampled_from(kinds))
        values.append(numbers(draw, own, tuple(shape)))
    optimize = draw(st.sampled_from([None, "greedy", False]))
    params = {"subscripts": subscripts, "optimize": optimize}
    return Example(tuple(values), params, typed(draw, values))


def _einsum(*operands, subscripts, optimize):
    return pt.einsum(subscripts, *operands, optimize=optimize)


def _reference(*operands, subscripts, optimize):
    return np.asarray(np.einsum(subscripts, *operands))


def _vectors(draw, smooth, *cores):
    """Stacks whose core axes are named by letters, and whose other axes broadcast."""
    sizes = {"n": draw(st.integers(0, 3)), "m": draw(st.integers(0, 3)), "3": 3}
    batch = [draw(st.integers(1, 2)) for _ in range(2)]
    dtype = draw(st.sampled_from(DTYPES[:4:2] if smooth else DTYPES))
    values = []
    for core in cores:
        own = [draw(st.sampled_from([n, 1])) for n in batch[draw(st.integers(0, 2)) :]]
        values.append(numbers(draw, dtype, (*own, *(sizes[c] for c in core))))
    return Example(tuple(values), {}, typed(draw, values))


def _crossed(draw, smooth):
    example = _vectors(draw, smooth, "3", "3")
    values = [x.astype("int8") if x.dtype == bool else x for x in example.values]
    return Example(tuple(values), {}, typed(draw, values))


def _blocks(draw, smooth):
    dtype = draw(st.sampled_from(DTYPES[:4:2] if smooth else DTYPES))
    ranks = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    shapes = [
        (2, *[draw(st.integers(0, 3)) for _ in "ij"])[3 - rank :] if rank else () for rank in ranks
    ]
    values = [numbers(draw, dtype, shape) for shape in shapes]
    return Example(tuple(values), {}, typed(draw, values))


def _block_diag(*blocks):
    blocks = [np.atleast_2d(block) for block in blocks]
    batch = np.broadcast_shapes(*(block.shape[:-2] for block in blocks))
    rows, columns = (sum(block.shape[axis] for block in blocks) for axis in (-2, -1))
    out = np.zeros((*batch, rows, columns), np.result_type(*blocks))
    row = column = 0
    for block in blocks:
        m, n = block.shape[-2:]
        out[..., row : row + m, column : column + n] = block
        row, column = row + m, column + n
    return out


def _patterned(c, r):
    """Return three matrices; SciPy's functions are for numbers of at least 32 bits."""
    dtypes = [np.result_type(c, r)] * 2 + [c.dtype]
    c, r = (x if x.dtype.itemsize >= 4 else x.astype("float32") for x in (c, r))
    made = [scipy.linalg.toeplitz(c, r), scipy.linalg.hankel(c, r), scipy.linalg.circulant(c)]
    return [x.astype(dtype) for x, dtype in zip(made, dtypes, strict=True)]


def _column_and_row(draw, smooth):
    dtype = draw(st.sampled_from(DTYPES[:4:2] if smooth else DTYPES))
    sizes = [draw(st.integers(1, 4)) for _ in range(2)]
    values = [numbers(draw, dtype, (n,)) for n in sizes]
    return Example(tuple(values), {}, typed(draw, values))


def _tensor(draw, smooth):
    """Tensors whose first two axes are as large as the other ones, far from singular."""
    dtype = draw(st.sampled_from(DTYPES[:4:2] if smooth else DTYPES[:4]))
    rows, columns = draw(st.sampled_from([((2, 3), (6,)), ((4,), (2, 2)), ((2, 1), (1, 2))]))
    n = int(np.prod(rows))
    a = numbers(draw, dtype, (n, n)) + 5 * np.eye(n, dtype=dtype)
    values = [a.astype(dtype).reshape(rows + columns), numbers(draw, dtype, rows)]
    return Example(tuple(values), {}, typed(draw, values))


def _matvec(a, x):
    """NumPy has a function for this from 2.2 on."""
    return np.matmul(a, x[..., None])[..., 0]


def _vecmat(x, a):
    return np.matmul(x.conj()[..., None, :], a)[..., 0, :]


def _of_stacks(name, build, reference, *cores):
    return OpRecord(
        name=name,
        build=build,
        reference=lambda *arrays: np.asarray(reference(*arrays)),
        draw=lambda draw, smooth: _vectors(draw, smooth, *cores),
        broadcasts=True,
        tolerance=MULTIPLIED,
        differentiable=(),
    )


SOLVED = Tolerance("factors are computed in another order", ulps=4096, normwise=True)

# All but einsum are graphs of Ops whose derivatives are checked by records of their own.
RECORDS = [
    _of_stacks("vecdot", pt.vecdot, np.vecdot, "n", "n"),
    _of_stacks("matvec", pt.matvec, _matvec, "mn", "n"),
    _of_stacks("vecmat", pt.vecmat, _vecmat, "n", "nm"),
    OpRecord(
        name="cross",
        build=pt.cross,
        reference=np.cross,
        draw=_crossed,
        broadcasts=True,
        tolerance=MULTIPLIED,
        differentiable=(),
    ),
    OpRecord(
        name="linalg.cross",
        build=pt.linalg.cross,
        reference=np.cross,
        draw=_crossed,
        broadcasts=True,
        tolerance=MULTIPLIED,
        differentiable=(),
    ),
    OpRecord(
        name="linalg.block_diag",
        build=pt.linalg.block_diag,
        reference=_block_diag,
        draw=_blocks,
        broadcasts=True,
        differentiable=(),
    ),
    OpRecord(
        name="linalg.toeplitz, linalg.hankel, linalg.circulant",
        build=lambda c, r: [
            pt.linalg.toeplitz(c, r),
            pt.linalg.hankel(c, r),
            pt.linalg.circulant(c),
        ],
        reference=_patterned,
        draw=_column_and_row,
        differentiable=(),
    ),
    OpRecord(
        name="linalg.matrix_dot",
        build=lambda x: pt.linalg.matrix_dot(x, x.mT, x),
        reference=lambda x: np.linalg.multi_dot([x, x.T, x]),
        arguments=(Argument(special=False, dtypes=DTYPES[:2]),),
        shapes=lambda draw: [(draw(st.integers(1, 3)), draw(st.integers(1, 3)))],
        tolerance=MULTIPLIED,
        differentiable=(),
    ),
    OpRecord(
        name="linalg.tensorinv, linalg.tensorsolve",
        build=lambda a, b: [
            pt.linalg.tensorinv(a, b.ndim),
            pt.linalg.tensorsolve(a, b),
        ],
        reference=lambda a, b: [
            np.linalg.tensorinv(a, b.ndim),
            np.linalg.tensorsolve(a, b),
        ],
        draw=_tensor,
        broadcasts=True,
        tolerance=SOLVED,
        differentiable=(),
    ),
    OpRecord(
        name="einsum",
        build=_einsum,
        reference=_reference,
        draw=_draw,
        broadcasts=True,
        tolerance=MULTIPLIED,
    ),
]
