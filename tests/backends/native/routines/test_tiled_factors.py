"""Cholesky factors of medium matrices, and inverses by them, are computed in tiles."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.limits import TILED_FACTOR_ROWS
from phintys.backends.native.lower import lower_program
from phintys.backends.native.routines.blocked_factors import most_unblocked
from phintys.backends.native.routines.library import library
from phintys.backends.native.routines.tiled_factors import factor_symbol, inverse_symbol
from phintys.backends.native.writer.programs import emit_program
from phintys.tensor.linear_algebra.cholesky import CholeskyInverse

SIZES = (1, 3, 7, 8, 9, 16, 17, 40, 63, 100)
ACCURACY = {"float64": 1e-14, "float32": 1e-5}


def positive(n, dtype):
    a = np.random.default_rng(n).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n)).astype(dtype)


@pytest.fixture(scope="module", params=ACCURACY)
def factors(request):
    """A dtype, and a function of a matrix: its factor, and its inverse by that."""
    a = pt.tensor("a", shape=(None, None), dtype=request.param)
    factor = pt.linalg.cholesky(a)
    f = phintys.function([a], [factor, CholeskyInverse()(factor)], mode="native")
    assert f.explain().count(f"in tiles up to {most_unblocked(Target.host())} rows") == 2
    return request.param, f


@pytest.mark.parametrize("n", SIZES)
def test_factors_and_inverses(factors, n):
    dtype, f = factors
    a = positive(n, dtype)
    factor, inverse = f(a)
    exact = np.linalg.cholesky(a.astype("float64"))
    wanted = np.tril(np.linalg.inv(a.astype("float64")))
    np.testing.assert_allclose(factor, exact, rtol=0, atol=ACCURACY[dtype] * np.abs(exact).max())
    np.testing.assert_allclose(inverse, wanted, rtol=0, atol=ACCURACY[dtype] * np.abs(wanted).max())
    assert not np.triu(factor, 1).any()
    assert not np.triu(inverse, 1).any()


@pytest.mark.parametrize("dtype", ACCURACY)
def test_the_largest_of_a_stack(dtype):
    a = pt.tensor("a", shape=(None, None, None), dtype=dtype)
    factor = pt.linalg.cholesky(a)
    f = phintys.function([a], [factor, CholeskyInverse()(factor)], mode="native")
    assert f.explain().count(f"in tiles up to {TILED_FACTOR_ROWS} rows") == 2
    value = np.tri(TILED_FACTOR_ROWS, dtype=dtype)
    wanted = 2 * np.eye(TILED_FACTOR_ROWS) - np.eye(TILED_FACTOR_ROWS, k=-1)
    wanted[-1, -1] = 1
    for factor, inverse in zip(*f(np.stack([value @ value.T] * 2)), strict=True):
        np.testing.assert_array_equal(factor, value)
        np.testing.assert_array_equal(inverse, wanted)


@pytest.mark.parametrize("order", [1, 8, 9, 19, 20])
def test_the_first_minor_that_is_not_positive(factors, order):
    dtype, f = factors
    a = np.eye(20, dtype=dtype)
    a[order - 1 :, order - 1 :] *= -1
    with pytest.raises(np.linalg.LinAlgError, match=f"minor of order {order} is not positive"):
        f(a)


def test_stacks():
    a = pt.dtensor3("a")
    factor = pt.linalg.cholesky(a, on_error="nan")
    f = phintys.function([a], [factor, CholeskyInverse()(factor)], mode="native")
    value = np.stack([positive(20, "float64"), -np.eye(20), np.eye(20)])
    found, inverse = f(value)
    np.testing.assert_allclose(found[[0, 2]], np.linalg.cholesky(value[[0, 2]]), atol=1e-12)
    np.testing.assert_allclose(inverse[[0, 2]], np.tril(np.linalg.inv(value[[0, 2]])), atol=1e-12)
    assert np.isnan(found[1]).all()
    assert np.isnan(inverse[1][np.tril_indices(20)]).all()


def test_a_factor_with_a_zero_on_its_diagonal():
    value = np.eye(20)
    value[13, 13] = 0.0
    a = pt.dmatrix("a")
    assert np.isnan(phintys.function([a], CholeskyInverse()(a), mode="native")(value)).all()


def emitted(f):
    return emit_program(lower_program(f.maker.fgraph), Target.host()).module


def test_programs_call_factors_that_are_outlined(factors):
    dtype, f = factors
    symbols = {factor_symbol(type_of(dtype)), inverse_symbol(type_of(dtype))}
    module = emitted(f)
    assert symbols <= module.math_functions
    assert symbols.isdisjoint(one.name for one in module.functions)
    assert {one.name for one in library(Target.host(), symbols).functions} == symbols


@pytest.mark.parametrize(("count", "n"), [(1, 20), (1, TILED_FACTOR_ROWS + 1), (2, 20)])
def test_only_stacks_of_several_matrices_have_functions_of_ranges(count, n):
    a = pt.tensor("a", shape=(count, n, n) if count > 1 else (n, n), dtype="float64")
    f = phintys.function([a], pt.linalg.cholesky(a), mode="native")
    module = emitted(f)
    names = {one.name for one in module.functions}
    assert any(name.startswith("range.") for name in names) == (count > 1)
    assert ("phintys_lapack_dpotrf" in module.declared) == (n > TILED_FACTOR_ROWS)
    assert ("in tiles up to " in f.explain()) == (n <= TILED_FACTOR_ROWS)
    value = positive(n, "float64")
    value = value if count == 1 else np.stack([value] * count)
    np.testing.assert_allclose(f(value), np.linalg.cholesky(value), rtol=0, atol=1e-12 * n)
