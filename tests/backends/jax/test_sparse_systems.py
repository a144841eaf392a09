"""Sparse systems and determinants in mode jax, which makes their matrices dense."""

import numpy as np
import pytest
import scipy.sparse as sp

import phintys
import phintys.tensor as pt
from phintys import sparse
from phintys.sparse import linalg

pytest.importorskip("jax", reason="needs jax")

from phintys.backends.jax.rules import sparse_systems
from phintys.backends.jax.tracing import HostRefusedError

ROWS = 12


def _matrix(seed, *, is_positive=False, is_complex=False):
    rng = np.random.default_rng(seed)
    full = np.where(rng.random((ROWS, ROWS)) < 0.2, rng.uniform(-1, 1, (ROWS, ROWS)), 0)
    full += 2 * np.eye(ROWS)
    if is_positive:
        return sp.csr_array(full @ full.T)
    rows = full[rng.permutation(ROWS)]
    return sp.csr_array(rows * (1 + 2j) if is_complex else rows)


def _both(build, matrix, *arrays, mode=None, constant_pattern=True):
    """Return results in mode jax, without the host, and those of native code."""
    data = pt.TensorType(str(matrix.dtype), (None,))("data")
    inputs = [pt.TensorType(str(a.dtype), (None,) * a.ndim)() for a in arrays]
    pattern = [matrix.indices.astype("int32"), matrix.indptr.astype("int32")]
    given = [data, *inputs]
    if not constant_pattern:
        pattern = [pt.ivector("indices"), pt.ivector("indptr")]
        given += pattern
        arrays = [*arrays, matrix.indices.astype("int32"), matrix.indptr.astype("int32")]
    a = sparse.from_parts(data, *pattern, matrix.shape)
    outputs = build(a, data, *inputs)
    refuse = phintys.jax.mode(host="refuse")
    return [phintys.function(given, outputs, mode=m)(matrix.data, *arrays) for m in (refuse, None)]


def _slope(value, data):
    return [value, phintys.grad(pt.real(value).sum(), data)]


VECTOR = np.linspace(-1, 2, ROWS)
COLUMNS = np.stack([VECTOR, VECTOR**2, np.cos(VECTOR)], 1)
CASES = {
    "solve": (lambda a, d, b: _slope(linalg.solve(a, b), d), {}, (VECTOR,)),
    "solve columns": (lambda a, d, b: _slope(linalg.solve(a, b), d), {}, (COLUMNS,)),
    "solve transposed": (lambda a, d, b: _slope(linalg.solve(a.T, b), d), {}, (VECTOR,)),
    "solve complex": (
        lambda a, d, b: _slope(linalg.solve(a, b), d),
        {"is_complex": True},
        (VECTOR + 0j,),
    ),
    "solve positive": (
        lambda a, d, b: _slope(linalg.solve(a, b, assume_a="pos"), d),
        {"is_positive": True},
        (COLUMNS,),
    ),
    "solve_triangular": (
        lambda a, d, b: _slope(linalg.solve_triangular(a, b, lower=False), d),
        {"is_positive": True},
        (COLUMNS,),
    ),
    "slogdet": (lambda a, d: [linalg.slogdet(a)[0], *_slope(linalg.slogdet(a)[1], d)], {}, ()),
    "slogdet complex": (lambda a, d: [*linalg.slogdet(a)], {"is_complex": True}, ()),
    "logdet": (
        lambda a, d: _slope(linalg.logdet(a), d),
        {"is_positive": True},
        (),
    ),
    "solve_root": (
        lambda a, d, b: _slope(linalg.solve_root(a, b), d),
        {"is_positive": True},
        (VECTOR,),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_values_and_gradients_are_those_of_native_code(name):
    build, kind, arrays = CASES[name]
    found, expected = _both(build, _matrix(3, **kind), *arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_a_pattern_that_is_an_argument_is_computed_first():
    build, kind, arrays = CASES["solve_root"]
    found, expected = _both(build, _matrix(5, **kind), *arrays, constant_pattern=False)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_the_factors_of_a_constant_matrix_are_used():
    b = pt.dvector("b")
    f = phintys.function([b], linalg.solve(_matrix(7), b), mode=phintys.jax.mode(host="refuse"))
    np.testing.assert_allclose(_matrix(7) @ f(VECTOR), VECTOR)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a: linalg.solve(a, pt.ones(2)), "singular"),
        (lambda a: linalg.solve(a, pt.ones(2), assume_a="pos"), "not positive definite"),
        (lambda a: linalg.solve_triangular(a, pt.ones(2)), None),
    ],
)
def test_errors_are_those_of_other_modes(build, message):
    data = pt.dvector("data")
    a = sparse.from_parts(data, [0, 1, 0, 1], [0, 2, 4], (2, 2))
    f = phintys.function([data], build(a), mode="jax")
    singular = [1.0, 2.0, 2.0, 4.0] if message else [0.0, 1.0, 1.0, 1.0]
    with pytest.raises(np.linalg.LinAlgError, match=message or "diagonal has a zero"):
        f(singular)
    assert np.isfinite(f([3.0, 1.0, 1.0, 4.0])).all()


def test_a_singular_matrix_has_a_determinant():
    data = pt.dvector("data")
    a = sparse.from_parts(data, [0, 1, 0, 1], [0, 2, 4], (2, 2))
    f = phintys.function([data], linalg.slogdet(a), mode="jax")
    assert [*map(float, f([1.0, 2.0, 2.0, 4.0]))] == [0.0, -np.inf]


def test_a_matrix_of_many_rows_is_refused_with_the_number(monkeypatch):
    monkeypatch.setattr(sparse_systems, "_MOST_ROWS", 1)
    data = pt.dvector("data")
    a = sparse.from_parts(data, [0, 1], [0, 1, 2], (2, 2))
    f = phintys.function([data], linalg.solve(a, pt.ones(2)), mode="jax")
    with pytest.raises(HostRefusedError, match="at most 1 rows"):
        f([1.0, 2.0])
