"""Sparse arguments, results and shared values in mode jax."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError

pytest.importorskip("jax", reason="needs jax")

from phintys.backends.jax.tracing import HostRefusedError

REFUSE = phintys.jax.mode(host="refuse")


def matrix(format, seed, shape=(5, 4)):
    full = np.round(4 * np.random.default_rng(seed).standard_normal(shape)) / 2
    return sp.csr_array(full * (np.abs(full) > 1)).asformat(format)


def dense(value):
    return value.toarray() if sp.issparse(value) else np.asarray(value)


RESULTS = {
    "identity": lambda a, b, v: a,
    "transpose": lambda a, b, v: a.T,
    "vector": lambda a, b, v: a @ v,
    "from the left": lambda a, b, v: v[:1].repeat(5) @ a,
    "sum": lambda a, b, v: a + b,
    "elementwise": lambda a, b, v: (a * b + a.sin()).sum(0),
    "product": lambda a, b, v: a @ b.T,
    "extremes": lambda a, b, v: a.max(1) - a.min(1),
    "rows": lambda a, b, v: a[1:4] @ v,
    "dense": lambda a, b, v: pt.tanh(a.toarray()) * v,
    "of a matrix": lambda a, b, v: phintys.grad(pt.sqr(a @ v).sum(), a),
    "of a vector": lambda a, b, v: phintys.grad(pt.sqr(a @ v + b @ v).sum(), v),
    "comparison": lambda a, b, v: a > b,
}


@pytest.mark.parametrize("formats", [("csr", "csc"), ("csc", "csc")])
def test_results_are_those_of_native_code(formats):
    a, b, v = sparse.matrix(formats[0], "a"), sparse.matrix(formats[1], "b"), pt.dvector("v")
    results = {name: build(a, b, v) for name, build in RESULTS.items()}
    native, jax = (phintys.function([a, b, v], results, mode=mode) for mode in (None, REFUSE))
    for seed in (0, 1):
        given = matrix(formats[0], seed), matrix(formats[1], seed + 2), np.linspace(-1, 1, 4)
        found, wanted = jax(*given), native(*given)
        for name in RESULTS:
            assert type(found[name]) is type(wanted[name]), name
            np.testing.assert_allclose(dense(found[name]), dense(wanted[name]), err_msg=name)
    assert "sparse matrices pass as four arrays" in jax.explain()


def test_other_elements_and_patterns_of_one_length_need_no_new_program():
    a, v = sparse.csr_matrix("a"), pt.dvector("v")
    f = phintys.function([a, v], [a @ v, phintys.grad((a @ v).sum(), a)], mode=REFUSE)
    for columns in ([0, 2], [1, 3]):
        given = sp.csr_array(([2.0, 3.0], columns, [0, 1, 2]), shape=(2, 4))
        product, slope = f(given, np.arange(4.0))
        np.testing.assert_array_equal(product, given @ np.arange(4.0))
        np.testing.assert_array_equal(slope.indices, columns)
    assert "by 1 traces" in f.explain()


def test_shared_matrices_are_updated_and_pickled():
    m = matrix("csr", 3)
    shared, weights = sparse.shared(m, "m"), phintys.shared(np.zeros(4), "w")
    updates = {shared: shared * 2, weights: weights + shared.sum(0)}
    f = phintys.function([], shared.sum(), updates=updates, mode=REFUSE)
    f = pickle.loads(pickle.dumps(f))
    assert f() == pytest.approx(m.sum())
    assert f() == pytest.approx(2 * m.sum())


def test_shared_dense_values_stay_on_the_device_beside_sparse_ones():
    m = matrix("csr", 3)
    a, w = sparse.csr_matrix("a"), phintys.shared(np.ones(4), "w")
    step = phintys.grad(pt.sqr(a @ w).sum(), w)
    mode = phintys.jax.mode(results="device", host="refuse")
    f = phintys.function([a], [a * 2, a @ w], updates={w: w - 0.01 * step}, mode=mode)
    twice, product = f(m)
    np.testing.assert_array_equal(twice.toarray(), 2 * m.toarray())
    np.testing.assert_allclose(product, m @ np.ones(4))
    np.testing.assert_allclose(w.get_value(), 1 - 0.02 * (m.T @ (m @ np.ones(4))))


def test_errors_name_the_values():
    a, v = sparse.csr_matrix("a"), pt.dvector("v")
    f = phintys.function([a, v], a @ v, mode=REFUSE)
    with pytest.raises(ShapeError, match="a @ v: the last axis of a and the first one of v"):
        f(matrix("csr", 0), np.ones(5))
    with pytest.raises(TypeContractError, match=r"csr_array\(value\)"):
        f(np.eye(4), np.ones(4))
    wrong = matrix("csr", 0)
    wrong.indices[0] = 9
    with pytest.raises((ShapeError, IndexError)):
        f(wrong, np.ones(4))
    sums = phintys.scan(
        lambda x, a: phintys.ifelse(x > 0, a, 2 * a).sum(),
        sequences=[v],
        non_sequences=[a],
        return_updates=False,
    )
    with pytest.raises(HostRefusedError, match="SparseType"):
        phintys.function([a, v], sums, mode=REFUSE)(matrix("csr", 0), np.ones(4))
    with pytest.raises(ArgumentError):
        phintys.jax.to_jax(f)


CHOICES = {
    "one pattern": lambda c, a, b, v: phintys.ifelse(c, a, 2 * a),
    "two patterns": lambda c, a, b, v: phintys.ifelse(c, a, b),
    "product": lambda c, a, b, v: phintys.ifelse(c, a, b) @ v,
    "of a matrix": lambda c, a, b, v: phintys.grad(pt.sqr(phintys.ifelse(c, a, b) @ v).sum(), a),
    "of a vector": lambda c, a, b, v: phintys.grad(pt.sqr(phintys.ifelse(c, a, b) @ v).sum(), v),
    "with a dense one": lambda c, a, b, v: phintys.ifelse(c, [v, a], [2 * v, b])[1].T @ v[:2],
    "in another": lambda c, a, b, v: phintys.ifelse(c, phintys.ifelse(v[0] > 9, a, b), a) @ v,
}


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_choices_between_matrices_are_those_of_native_code(format):
    c, v = pt.bscalar("c"), pt.dvector("v")
    a, b = sparse.matrix(format, "a"), sparse.matrix(format, "b")
    results = {name: build(c, a, b, v) for name, build in CHOICES.items()}
    native, jax = (phintys.function([c, a, b, v], results, mode=m) for m in (None, REFUSE))
    given = matrix(format, 0, (2, 4)), matrix(format, 1, (2, 4)), np.linspace(-1, 1, 4)
    for chosen in (1, 0, 1):
        found, wanted = jax(chosen, *given), native(chosen, *given)
        for name in CHOICES:
            assert type(found[name]) is type(wanted[name]), name
            np.testing.assert_allclose(dense(found[name]), dense(wanted[name]), err_msg=name)


def test_choices_between_matrices_made_of_dense_ones():
    c, m, v = pt.bscalar("c"), pt.dmatrix("m"), pt.dvector("v")
    a = sparse.csr_from_dense(m)
    f = phintys.function([c, m, v], phintys.ifelse(c, a, 2 * a) @ v, mode=REFUSE)
    full = np.arange(12.0).reshape(3, 4)
    for chosen, factor in ((1, 1), (0, 2)):
        np.testing.assert_allclose(f(chosen, full, np.ones(4)), factor * full.sum(1))
