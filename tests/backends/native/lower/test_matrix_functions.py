"""Exponentials, logarithms and square roots of matrices are native."""

import subprocess

import numpy as np
import pytest
import scipy.linalg

import phintys
import phintys.tensor as pt

TOLERANCE = {"float32": 1e-4, "float64": 1e-12, "complex64": 1e-4, "complex128": 1e-12}


def drawn(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    a = rng.normal(size=shape).astype(dtype)
    return a + (1j * rng.normal(size=shape)).astype(dtype) if a.dtype.kind == "c" else a


def stack(dtype):
    return pt.tensor("a", shape=(None, None, None), dtype=dtype)


def compiled(a, *outputs, mode="native"):
    f = phintys.function([a], list(outputs), mode=mode)
    assert mode != "native" or "callback" not in f.explain()
    return f


def near(found, expected, tolerance):
    """Whether matrices agree in the norm."""
    return np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_exponentials_of_small_and_large_matrices(dtype):
    a = stack(dtype)
    f = compiled(a, pt.linalg.expm(a))
    wide = "complex128" if np.dtype(dtype).kind == "c" else "float64"
    for n in (0, 1, 2, 5, 30):
        for size in (0, 1e-9, 0.1, 1, 4, 30):
            value = (drawn((2, n, n), dtype) * size / max(n, 1)).astype(dtype)
            (found,) = f(value)
            assert (found.dtype, found.shape) == (value.dtype, value.shape)
            for one, other in zip(found, value, strict=True):
                if n:
                    expected = scipy.linalg.expm(other.astype(wide))
                    assert near(one, expected, TOLERANCE[dtype] * max(size, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        # halved by their norms, they would lose most digits
        ([[1.0, 1e6], [0.0, -1.0]], [[np.e, 1e6 * np.sinh(1.0)], [0.0, 1 / np.e]]),
        ([[0.0, 1e8], [0.0, 0.0]], [[1.0, 1e8], [0.0, 1.0]]),
        ([[-40.0, 0.0], [0.0, 3.0]], [[np.exp(-40.0), 0.0], [0.0, np.exp(3.0)]]),
    ],
)
def test_exponentials_of_matrices_whose_norm_says_little(matrix, expected, dtype):
    a = stack(dtype)
    (found,) = compiled(a, pt.linalg.expm(a))(np.array([matrix], dtype))
    assert near(found[0], np.array(expected), 1e-5 if dtype == "float32" else 1e-13)


@pytest.fixture(scope="module", params=["native", "reference"])
def exponentials(request):
    """Return a function of a matrix and a direction: the exponential and its derivative."""
    a, direction = pt.dmatrix("a"), pt.dmatrix("direction")
    derivative = phintys.Rop(pt.linalg.expm(a), a, direction)
    return phintys.function([a, direction], [pt.linalg.expm(a), derivative], mode=request.param)


def graded(rng, n):
    """Return powers of two, from 1 on, whose ratios are up to 2**300, in one order or the other."""
    exponents = np.cumsum(rng.integers(0, 300 // n, n))
    return 2.0 ** (exponents if rng.random() < 0.5 else exponents[::-1])


def test_exponentials_of_graded_matrices_have_the_digits_of_others(exponentials):
    rng = np.random.default_rng(11)
    for _ in range(40):
        n = int(rng.integers(2, 6))
        d = graded(rng, n)
        like = d / d[:, None]
        a, direction = rng.normal(size=(2, n, n)) * rng.choice([0.1, 1, 4])
        if rng.random() < 0.5:
            a = np.triu(a)
        found = exponentials(a * like, direction * like)
        expected = scipy.linalg.expm_frechet(a, direction)
        for one, other in zip(found, expected, strict=True):
            assert near(one / like, other, 1e-12)
            assert near(one, other * like, 1e-12)


def test_exponentials_of_matrices_whose_squares_vanish(exponentials):
    rng = np.random.default_rng(12)
    for _ in range(40):
        n, size = int(rng.integers(2, 6)), 2.0 ** rng.integers(0, 18)
        rows = np.triu(rng.integers(-1, 2, (n, n)), 1) + np.eye(n)
        step = np.zeros((n, n))
        step[: n // 2, n // 2 :] = rng.integers(-2, 3, (n // 2, n - n // 2))
        a = size * np.round(np.linalg.inv(rows.T)) @ step @ rows.T
        assert not (a @ a).any()
        direction = rng.normal(size=(n, n))
        found = exponentials(a, direction)
        turned = (a @ direction + direction @ a) / 2 + a @ direction @ a / 6
        condition = max(np.linalg.norm(a) ** 2, 1)
        assert near(found[0], np.eye(n) + a, 1e-15 * condition)
        assert near(found[1], direction + turned, 1e-15 * condition)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[0.0, 1e30], [0.0, 0.0]], [[1.0, 1e30], [0.0, 1.0]]),
        ([[0.0, 0.0], [1e200, 0.0]], [[1.0, 0.0], [1e200, 1.0]]),
        ([[0.0, 1e30], [1e-30, 0.0]], np.cosh(1) * np.eye(2) + np.sinh(1) * np.diag([1e30], 1)),
        ([[1.0, 1e300], [0.0, 1.0]], [[np.e, np.e * 1e300], [0.0, np.e]]),
        ([[1e6, 1e6], [-1e6, -1e6]], [[1e6 + 1, 1e6], [-1e6, 1 - 1e6]]),
    ],
)
def test_exponentials_of_single_matrices_of_huge_norm(exponentials, matrix, expected):
    found, _ = exponentials(np.array(matrix), np.zeros((2, 2)))
    assert near(found, np.array(expected), 2e-4 if matrix[0][0] == 1e6 else 1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_exponentials_of_what_is_not_finite(bad):
    a = stack("float64")
    (found,) = compiled(a, pt.linalg.expm(a))(np.stack([np.eye(2), np.full((2, 2), bad)]))
    np.testing.assert_allclose(found[0], np.e * np.eye(2))
    assert np.isnan(found[1]).all()


ENDLESS = """
    import itertools, sys
    import numpy as np
    import phintys, phintys.tensor as pt

    name, dtype = sys.argv[1:]
    a = pt.tensor("a", shape=(None, None), dtype=dtype)
    function = getattr(pt.linalg, name)
    y = function(a) if name == "expm" else function(a, on_error="nan")
    slope = phintys.grad(abs(y).sum(), a)
    large = np.finfo(dtype).max
    for mode, elements in (("native", [1, -1e6, large, -large]), ("reference", [1, large])):
        f = phintys.function([a], [y, slope], mode=mode)
        for x, above, below in itertools.product(elements, repeat=3):
            with np.errstate(all="ignore"):
                f(np.array([[x, above], [below, x]], dtype))
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["expm", "sqrtm", "logm"])
def test_functions_of_huge_matrices_come_to_an_end(name, dtype, python_command):
    done = subprocess.run(
        python_command(ENDLESS, name, dtype),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponentials_of_matrices_whose_norm_overflows(dtype):
    a = stack(dtype)
    large = np.finfo(dtype).max
    value = np.stack([np.full((2, 2), large), np.full((2, 2), -large)]).astype(dtype)
    (found,) = compiled(a, pt.linalg.expm(a))(value)
    assert np.isposinf(found[0]).all()


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_gradients_of_exponentials_are_derivatives_in_a_direction(dtype):
    a, g = stack(dtype), stack(dtype)
    cost = pt.real((pt.linalg.expm(a) * g).sum())
    f = phintys.function([a, g], phintys.grad(cost, a), mode="native")
    assert "call expm_derivative" in f.explain()
    assert "callback" not in f.explain()
    wide = "complex128" if np.dtype(dtype).kind == "c" else "float64"
    for n in (0, 1, 3, 20):
        for size in (0, 0.1, 3, 12):
            value = (drawn((2, n, n), dtype) * size / max(n, 1)).astype(dtype)
            weights = drawn((3, n, n), dtype)[:2]
            found = f(value, weights)
            for one, matrix, weight in zip(found, value.astype(wide), weights, strict=True):
                if n:
                    turned, zero = matrix.T.conj(), np.zeros((n, n))
                    block = np.block([[turned, weight.conj()], [zero, turned]])
                    expected = scipy.linalg.expm(block)[:n, n:]
                    assert near(one, expected, 20 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_roots_and_logarithms(dtype):
    a = stack(dtype)
    outputs = pt.linalg.sqrtm(a), pt.linalg.logm(a)
    f, g = compiled(a, *outputs), compiled(a, *outputs, mode="reference")
    for n in (0, 1, 2, 3, 6, 25):
        value = (drawn((3, n, n), dtype) / max(n, 1) ** 0.5 + 2 * np.eye(n)).astype(dtype)
        value[1:] *= 1e3
        for found, expected in zip(f(value), g(value), strict=True):
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert not n or near(found, expected, 10 * TOLERANCE[dtype])


def test_blocks_of_complex_eigenvalues_among_real_ones():
    a = stack("float64")
    value = np.zeros((1, 5, 5))
    value[0, :2, :2] = [[0, -1], [1, 0]]
    value[0, 2, 2] = 3.0
    value[0, 3:, 3:] = [[-1, 2], [-2, -1]]
    root, logarithm = compiled(a, pt.linalg.sqrtm(a), pt.linalg.logm(a))(value)
    np.testing.assert_allclose(root @ root, value, atol=1e-14)
    np.testing.assert_allclose(scipy.linalg.expm(logarithm[0]), value[0], atol=1e-13)


@pytest.mark.parametrize("function", [pt.linalg.sqrtm, pt.linalg.logm])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(
    "matrix", [np.diag([1.0, -1.0]), np.array([[0.0, 1.0], [0.0, 0.0]]), np.diag([np.inf, 1.0])]
)
def test_what_has_no_result_has_none_in_native_code(function, dtype, matrix):
    a = stack(dtype)
    value = np.stack([np.diag([4.0, 9.0]), matrix]).astype(dtype)
    f, g = (compiled(a, function(a, on_error="nan"), mode=m) for m in ("native", "reference"))
    for found, expected in zip(f(value), g(value), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert words(function(a), a, value, "native") == words(function(a), a, value, "reference")


def words(output, a, value, mode):
    """Return the first line of the error, if there is one."""
    try:
        phintys.function([a], output, mode=mode)(value)
    except np.linalg.LinAlgError as error:
        return str(error).splitlines()[0]
    return ""
