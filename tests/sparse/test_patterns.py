"""Matrices that a graph makes of one pattern may be given values of different patterns."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys.sparse.parts import ElementsAt, FromParts, Parts, PlacesIn
from phintys.sparse.patterns import CommonPattern, MergedPattern

# What a graph makes of a matrix on the same pattern.
MADE = {
    "multiple": lambda a: 2 * a,
    "exponentials": sparse.structured_exp,
    "product": lambda a: a * a,
    "sum": lambda a: a + 3 * a,
    "gradient": lambda a: phintys.grad((a * a * a).sum(), a),
}
USES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neq": sparse.neq,
    "lt": lambda a, b: a < b,
    "product of transposes": lambda a, b: a.T * b.T,
    "of another format": lambda a, b: a.tocsc() + b.T.tocsr().T,
    "a multiple": lambda a, b: (3 * a) * b + b,
    "gradient": lambda a, b: phintys.grad((a * b + b * b).sum(), b),
    "direction": lambda a, b: phintys.Rop((a * a).sum(), a, b),
}


@cache
def functions_of(made):
    """Return a function of two matrices, one made of the other, and that of two others."""
    first = 2 * sparse.csr_matrix("base")
    a, b = sparse.csr_matrix("a"), sparse.csr_matrix("b")
    pairs = (first, MADE[made](first)), (a, b)
    return [
        phintys.function([*pair], [use(*pair) for use in USES.values()], mode="reference")
        for pair in pairs
    ]


@pytest.mark.parametrize("made", MADE)
@pytest.mark.sampled(3)
@settings(max_examples=10)
@given(seed=st.integers(0, 2**16), same=st.booleans())
def test_values_of_other_patterns_are_those_of_two_matrices(made, seed, same):
    rng = np.random.default_rng(seed)
    first, second = (
        sp.csr_array(np.where(rng.random((4, 3)) < 0.5, rng.integers(1, 9, (4, 3)), 0.0))
        for _ in range(2)
    )
    if same:
        second = 2.5 * first
    results = (f(first, second) for f in functions_of(made))
    for use, one, other in zip(USES, *results, strict=True):
        one, other = (v.toarray() if sp.issparse(v) else v for v in (one, other))
        np.testing.assert_array_equal(one, other, err_msg=use)


def test_one_pattern_is_neither_united_nor_searched():
    first = 2 * sparse.csr_matrix("base")
    uses = [USES[name] for name in USES if name != "of another format"]
    results = [
        use(first, make(first)) for make, use in zip(2 * [*MADE.values()], uses, strict=False)
    ]
    f = phintys.function([first.owner.inputs[1].owner.inputs[0]], results, mode="reference")
    nodes = f.maker.fgraph.toposort()
    ops = {type(node.op) for node in nodes}
    assert not ops & {ElementsAt, MergedPattern, CommonPattern, PlacesIn}
    assert not any(
        isinstance(node.op, Parts) and isinstance(node.inputs[0].owner, FromParts)
        for node in nodes
        if node.inputs[0].owner
    )


def test_gradients_of_other_patterns_are_taken_at_the_entries():
    x = pt.dvector("x")
    made = sparse.from_parts(x, [0, 2, 1], [0, 2, 3], (2, 3))
    inner = phintys.grad((made * made).sum(), made)
    f = phintys.function([x, inner], phintys.grad(None, x, known_grads={made: inner}))
    other = sp.csr_array([[5.0, 6.0, 0.0], [0.0, 0.0, 7.0]])
    np.testing.assert_array_equal(f([1.0, 2.0, 3.0], other), [5, 0, 0])


@pytest.mark.parametrize("union", [True, False])
def test_sums_and_products_of_constant_patterns_gather(union):
    """Elements are at places that are known when a function is compiled."""
    a, b = sp.csr_array([[1.0, 2.0, 0.0]]), sp.csr_array([[0.0, 1.0, 3.0]])
    d, e = pt.dvector("d"), pt.dvector("e")
    x, y = (sparse.from_parts(v, c.indices, c.indptr, c.shape) for v, c in ((d, a), (e, b)))
    result = x + y if union else x * y
    f = phintys.function([d, e], [result.elements, phintys.grad((result * result).sum(), d)])
    assert "callback" not in f.explain()
    wanted = (a + b if union else a * b).tocsr()
    elements, slope = f(a.data, b.data)
    np.testing.assert_array_equal(elements, wanted.data)
    of_result = 2 * wanted * (a != 0) if union else 2 * wanted * b
    np.testing.assert_array_equal(slope, of_result.toarray()[0, a.indices])
