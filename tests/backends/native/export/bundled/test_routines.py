"""Bundled functions of BLAS and LAPACK compute what those of SciPy's library compute."""

import ctypes
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.export.bundled.routines import bundled
from phintys.backends.native.runtime.blas import WHEEL, routine_address
from phintys.backends.native.runtime.engine import load

pytestmark = pytest.mark.skipif(WHEEL() is None, reason="SciPy has no OpenBLAS of its own here")

DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
NAMES = {
    "blas": ("gemm", "gemv", "syrk", "trsm", "trmm", "trsv"),
    "lapack": ("potrf", "potri", "trtri", "lauum", "getrf", "getrs"),
}
LENGTHS = st.sampled_from([0, 1, 2, 3, 5, 8, 9, 16, 31, 33, 70, 140])


@cache
def compiled(target):
    """All functions, for a target."""
    symbols = [
        f"phintys_{library}_{letter}{name}"
        for library, names in NAMES.items()
        for name in names
        for letter in DTYPES
        if name != "syrk" or letter in "sd"
    ]
    return load(bundled(Target.named(target), symbols), {})


def call(address, *arguments):
    """Call a function of Fortran: letters, integers and arrays are passed by address."""
    kept = []
    for one in arguments:
        if isinstance(one, str):
            kept.append(np.frombuffer(one.encode(), np.uint8))
        elif isinstance(one, int):
            kept.append(np.array(one, np.int32))
        else:
            kept.append(np.asarray(one))
    pointers = [ctypes.c_void_p(one.ctypes.data) for one in kept]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(address)(*pointers)


class Case:
    """Numbers of a dtype, and calls of both functions on copies of the same arrays."""

    def __init__(self, data, target):
        self.letter = data.draw(st.sampled_from("sdcz"))
        self.dtype = np.dtype(DTYPES[self.letter])
        self.rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        self.target = target

    def numbers(self, *shape):
        found = self.rng.standard_normal(shape)
        if self.dtype.kind == "c":
            found = found + 1j * self.rng.standard_normal(shape)
        return found.astype(self.dtype)

    def matrix(self, rows, columns, padding=3):
        """A column-major matrix with some padding between columns, and its stride."""
        return self.numbers(columns, max(rows + padding, 1)), max(rows + padding, 1)

    def triangle(self, n):
        """Numbers that are well conditioned as a triangle of either kind."""
        a, stride = self.matrix(n, n)
        a *= self.dtype.type(0.5 / max(n, 1))
        diagonal = np.arange(n)
        a[diagonal, diagonal] += 1
        return a, stride

    def compare(self, library, name, *arguments):
        symbol = f"phintys_{library}_{self.letter}{name}"
        results = []
        for address in (routine_address(symbol), compiled(self.target).address(symbol)):
            copied = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
            call(address, *copied)
            results.append([one for one in copied if isinstance(one, np.ndarray)])
        tolerance = 2e-4 if self.dtype.name in {"float32", "complex64"} else 1e-11
        for expected, found in zip(*results, strict=True):
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        return results[0]


def letters(data, *choices):
    return [data.draw(st.sampled_from(choice)) for choice in choices]


on_targets = pytest.mark.parametrize(
    "target",
    ["host", *(pytest.param(one, marks=pytest.mark.stress) for one in ("x86-64", "one-lane"))],
)
some = settings(max_examples=12)


@on_targets
@some
@given(data=st.data())
def test_products(target, data):
    case = Case(data, target)
    m, n, k = (data.draw(LENGTHS) for _ in range(3))
    first, second = letters(data, "NTC", "NTC")
    a = case.matrix(*((m, k) if first == "N" else (k, m)))
    b = case.matrix(*((k, n) if second == "N" else (n, k)))
    beta = case.dtype.type(data.draw(st.sampled_from([0, 1, 0.5])))
    c = case.matrix(m, n)
    if beta == 0:
        c[0][:, :m] = np.nan
    case.compare("blas", "gemm", first, second, m, n, k, case.numbers(), *a, *b, beta, *c)


@on_targets
@some
@given(data=st.data())
def test_products_with_vectors(target, data):
    case = Case(data, target)
    m, n = (data.draw(LENGTHS) + 1 for _ in range(2))
    (turn,) = letters(data, "NTC")
    steps = [data.draw(st.integers(1, 3)) for _ in range(2)]
    x, y = (
        case.numbers(length * step)
        for length, step in zip((n, m) if turn == "N" else (m, n), steps, strict=True)
    )
    beta = case.dtype.type(data.draw(st.sampled_from([0, 1, 0.5])))
    a = case.matrix(m, n)
    arguments = (turn, m, n, case.numbers(), *a, x, steps[0], beta, y, steps[1])
    case.compare("blas", "gemv", *arguments)


@on_targets
@some
@given(data=st.data())
def test_triangles(target, data):
    case = Case(data, target)
    m, n = (data.draw(LENGTHS) for _ in range(2))
    side, uplo, turn, unit = chosen = letters(data, "LR", "UL", "NTC", "UN")
    a, b = case.triangle(m if side == "L" else n), case.matrix(m, n)
    for name in ("trsm", "trmm"):
        case.compare("blas", name, *chosen, m, n, case.numbers(), *a, *b)
    step = data.draw(st.integers(1, 3))
    a = case.triangle(n)
    case.compare("blas", "trsv", uplo, turn, unit, n, *a, case.numbers(n * step), step)


@on_targets
@some
@given(data=st.data())
def test_cholesky_factors_and_inverses(target, data):
    case = Case(data, target)
    n, k = (data.draw(LENGTHS) for _ in range(2))
    uplo, turn, unit = letters(data, "UL", "NT", "UN")
    info = np.array(0, np.int32)
    if case.letter in "sd":
        a = case.matrix(*((n, k) if turn == "N" else (k, n)))
        case.compare(
            "blas", "syrk", uplo, turn, n, k, case.numbers(), *a, case.numbers(), *case.matrix(n, n)
        )
    b = case.numbers(n, n)
    positive, stride = case.matrix(n, n)
    positive[:, :n] = b @ b.conj().T / max(n, 1) + 2 * np.eye(n)
    factor = case.compare("lapack", "potrf", uplo, n, positive, stride, info)[0]
    case.compare("lapack", "potri", uplo, n, factor, stride, info)
    case.compare("lapack", "lauum", uplo, n, factor, stride, info)
    case.compare("lapack", "trtri", uplo, unit, n, *case.triangle(n), info)
    if n:
        at = data.draw(st.integers(0, n - 1))
        positive[at, at] = -1
        address = compiled(target).address(f"phintys_lapack_{case.letter}potrf")
        call(address, uplo, n, positive, stride, info)
        assert info == at + 1


@on_targets
@some
@given(data=st.data())
def test_lu_factors_and_systems(target, data):
    case = Case(data, target)
    m, n, k = (data.draw(LENGTHS) for _ in range(3))
    (turn,) = letters(data, "NTC")
    info, pivots = np.array(0, np.int32), np.zeros(min(m, n), np.int32)
    case.compare("lapack", "getrf", m, n, *case.matrix(m, n), pivots, info)
    a, stride = case.matrix(n, n)
    a[:, :n] += 4 * np.sqrt(n) * np.eye(n)[::-1]
    pivots = np.zeros(n, np.int32)
    factor, pivots, _ = case.compare("lapack", "getrf", n, n, a, stride, pivots, info)
    b = case.matrix(n, k)
    case.compare("lapack", "getrs", turn, n, k, factor, stride, pivots, *b, info)


@pytest.mark.parametrize("letter", DTYPES)
def test_a_singular_matrix_has_the_status_of_lapack(letter):
    a = np.array([[4, 2, 1], [2, 1, 0.5], [1, 0.5, 8]], DTYPES[letter])
    found = []
    for address in (
        routine_address(f"phintys_lapack_{letter}getrf"),
        compiled("host").address(f"phintys_lapack_{letter}getrf"),
    ):
        info, pivots, copied = np.array(0, np.int32), np.zeros(3, np.int32), a.copy()
        call(address, 3, 3, copied, 3, pivots, info)
        found.append((int(info), copied.tolist(), pivots.tolist()))
    assert found[0] == found[1]
    assert found[0][0] == 2
