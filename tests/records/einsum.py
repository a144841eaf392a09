"""Sums of products in Einstein's notation, and products of stacks of vectors and matrices."""

import numpy as np
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys.testing import Example, OpRecord, Tolerance

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


RECORDS = [
    OpRecord(
        name="einsum",
        build=_einsum,
        reference=_reference,
        draw=_draw,
        broadcasts=True,
        tolerance=MULTIPLIED,
    ),
]
