"""Outlined products and systems of small matrices that a loop repeats, against NumPy."""

import ctypes
from functools import cache

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import type_of
from phintys.backends.native.limits import SMALL_SYSTEM_ROWS
from phintys.backends.native.routines.library import library
from phintys.backends.native.routines.small_factors import lu_symbol, triangle_symbol
from phintys.backends.native.routines.times_vectors import columns_symbol, rows_symbol
from phintys.backends.native.runtime.engine import load
from tests.budget import budget

WORD, POINTER = ctypes.c_int64, ctypes.c_void_p
NUMBER = {"float32": ctypes.c_float, "float64": ctypes.c_double}
TOLERANCE = {"float32": 1e-3, "float64": 1e-10}
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])


@cache
def compiled(name, dtype):
    target, type_ = Target.host(), type_of(dtype)
    number = NUMBER[dtype]
    matrix, vector = [POINTER, WORD], [POINTER, WORD]
    symbol, result, types = {
        "columns": (
            columns_symbol(target, type_),
            None,
            [WORD, WORD, *matrix, *vector, POINTER, number, number],
        ),
        "rows": (
            rows_symbol(type_),
            None,
            [WORD, WORD, *matrix, *vector, *vector, number, number],
        ),
        "lu": (lu_symbol(type_), None, [WORD, POINTER, POINTER, POINTER]),
        "triangle": (
            triangle_symbol(type_),
            WORD,
            [WORD, WORD, POINTER, WORD, WORD, POINTER, WORD, WORD],
        ),
    }[name]
    code = load(library(target, [symbol]))
    function = ctypes.CFUNCTYPE(result, *types)(code.address(symbol))
    function.code = code
    return function


def drawn(rng, *shape, dtype):
    return rng.normal(size=shape).astype(dtype)


@DTYPES
@budget(60)
@given(
    m=st.integers(0, 20),
    n=st.integers(0, 12),
    gaps=st.tuples(*[st.integers(0, 2)] * 3),
    beta=st.sampled_from([0.0, 1.0]),
    by=st.sampled_from(["columns", "rows"]),
)
def test_a_matrix_times_a_vector(dtype, m, n, gaps, beta, by):
    rng = np.random.default_rng(m * 20 + n)
    a, x, before = (
        drawn(rng, m, n, dtype=dtype),
        drawn(rng, n, dtype=dtype),
        drawn(rng, m, dtype=dtype),
    )
    shown = a.T if by == "columns" else a
    room = np.full((shown.shape[0], shown.shape[1] + gaps[0]), np.nan, dtype)
    room[:, : shown.shape[1]] = shown
    strided = np.full((n, 1 + gaps[1]), np.nan, dtype)
    strided[:, 0] = x
    y_step = 1 if by == "columns" else 1 + gaps[2]
    y = np.full((m + 1, y_step), np.nan, dtype)
    if beta:
        y[:m, 0] = before
    arguments = [m, n, room.ctypes.data, room.shape[1], strided.ctypes.data, strided.shape[1]]
    arguments += [y.ctypes.data] if by == "columns" else [y.ctypes.data, y_step]
    compiled(by, dtype)(*arguments, -0.5, beta)
    wanted = -0.5 * (a @ x) + beta * before
    np.testing.assert_allclose(y[:m, 0], wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    assert np.isnan(y[m]).all()
    assert np.isnan(y[:, 1:]).all()


@DTYPES
@pytest.mark.parametrize("n", range(SMALL_SYSTEM_ROWS + 1))
def test_lu_factors_are_those_of_lapack(dtype, n):
    for seed in range(20):
        a = drawn(np.random.default_rng(seed), n, n, dtype=dtype)
        if seed == 0:
            a[:, : n // 2] = 0
        columns = np.array(a.T, order="C")
        exchanges, rows = np.full(n, -1, "int32"), np.full(n, -1, "int64")
        places = [array.ctypes.data for array in (columns, exchanges, rows)]
        compiled("lu", dtype)(n, *places)
        lower, upper = np.tril(columns.T, -1) + np.eye(n), np.triu(columns.T)
        np.testing.assert_allclose(lower @ upper, a[rows], rtol=1e-3, atol=TOLERANCE[dtype])
        if n and seed:
            getrf = scipy.linalg.get_lapack_funcs("getrf", (a,))
            factors, order, _ = getrf(a)
            np.testing.assert_array_equal(exchanges, order)
            np.testing.assert_allclose(columns.T, factors, rtol=1e-3, atol=TOLERANCE[dtype] * 10)


@pytest.mark.sampled(3)
@DTYPES
@pytest.mark.parametrize("is_unit", [0, 1])
@pytest.mark.parametrize("is_lower", [0, 1])
@pytest.mark.parametrize("turned", [False, True])
def test_triangular_systems(dtype, is_unit, is_lower, turned):
    solve = compiled("triangle", dtype)
    for n in range(SMALL_SYSTEM_ROWS + 1):
        for k in (0, 1, 2, 5):
            rng = np.random.default_rng(n * 9 + k)
            a = drawn(rng, n, n, dtype=dtype) + 3 * np.eye(n, dtype=dtype)
            x = drawn(rng, n, k, dtype=dtype)
            room = np.full((n, n + 2), np.nan, dtype)
            room[:, :n] = a.T if turned else a
            steps = (1, n + 2) if turned else (n + 2, 1)
            wanted = (
                scipy.linalg.solve_triangular(
                    a, x, lower=bool(is_lower), unit_diagonal=bool(is_unit)
                )
                if n and k
                else x.copy()
            )
            status = solve(n, k, room.ctypes.data, *steps, x.ctypes.data, is_lower, is_unit)
            assert status == 0
            tolerance = 1e-2 if dtype == "float32" else 1e-8
            np.testing.assert_allclose(x, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("is_lower", [0, 1])
def test_the_first_zero_on_the_diagonal_is_reported(is_lower):
    a, x = np.eye(4), np.ones((4, 1))
    a[1, 1] = a[3, 3] = 0
    arguments = [4, 1, a.ctypes.data, 4, 1, x.ctypes.data, is_lower]
    assert compiled("triangle", "float64")(*arguments, 0) == 2
    assert compiled("triangle", "float64")(*arguments, 1) == 0
