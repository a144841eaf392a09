"""Fourier transforms by own code, beside NumPy's in wider numbers, and the choice of SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.fft

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.backends.native.limits import OWN_FOURIER_NUMBERS
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.branch import Branch
from phintys.backends.native.steps.callback import Callback
from phintys.graph.fgraph import FunctionGraph

LENGTHS = [*range(1, 24), 49, 64, 74, 101, 120, 256, 514, 1009, 1920, 2310]
"""Products of small primes, primes, and twice primes."""

SPECTRA = {"float32": "complex64", "float64": "complex128"}


def transforms(x, z, half, n, axis, norm="backward"):
    """Return a complex transform and its inverse, and those of real numbers."""
    return [
        pt.fft.fft(z, axis=axis, norm=norm),
        pt.fft.ifft(z, axis=axis, norm=norm),
        pt.fft.rfft(x, axis=axis, norm=norm),
        pt.fft.irfft(half, n, axis=axis, norm=norm),
    ]


def expected(x, z, half, n, axis, norm: Any = "backward"):
    """Return the same, in numbers of more bits."""
    z, half = z.astype("clongdouble"), half.astype("clongdouble")
    return [
        scipy.fft.fft(z, axis=axis, norm=norm),
        scipy.fft.ifft(z, axis=axis, norm=norm),
        scipy.fft.rfft(x.astype("longdouble"), axis=axis, norm=norm),
        scipy.fft.irfft(half, n, axis=axis, norm=norm),
    ]


def values(rng, dtype, shape):
    spectrum = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return rng.standard_normal(shape).astype(dtype), spectrum.astype(SPECTRA[dtype])


def assert_close(found, wanted, dtype, ulps=4):
    """The error is a few roundings of the norm."""
    assert found.shape == wanted.shape
    assert found.dtype == np.dtype(SPECTRA[dtype] if wanted.dtype.kind == "c" else dtype)
    error = np.linalg.norm((found - wanted).ravel())
    assert error <= ulps * np.finfo(dtype).eps * np.linalg.norm(wanted.ravel())


@pytest.fixture(scope="module", params=["float32", "float64"])
def of_any_length(request):
    """A dtype, and transforms along the last axis, and along the first one."""
    dtype = request.param
    x, z = pt.matrix(dtype=dtype), pt.matrix(dtype=SPECTRA[dtype])
    h, n = pt.matrix(dtype=SPECTRA[dtype]), pt.lscalar()
    outputs = [*transforms(x, z, h, n, 1), *transforms(x.T, z.T, h.T, n, 0, "ortho")]
    return dtype, phintys.function([x, z, h, n], outputs, mode="native")


def test_errors_are_a_few_roundings(of_any_length):
    """Sequences are transformed alone, or several at once, more than there is room for.

    Of half a transform the first number is real, and the last one of an even number of points.
    """
    dtype, f = of_any_length
    rng = np.random.default_rng(1)
    for n in LENGTHS:
        for rows in (1, 5, 18) if n < 24 else (1,):
            value, spectrum = values(rng, dtype, (rows, n))
            half = spectrum[:, : n // 2 + 1]
            found = f(value, spectrum, half, n)
            wanted = expected(value, spectrum, half, n, 1)
            wanted += expected(value.T, spectrum.T, half.T, n, 0, "ortho")
            for one, other in zip(found, wanted, strict=True):
                assert_close(one, other, dtype)


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
def test_several_axes_are_transformed_in_turn(norm):
    x, z = pt.dtensor3(), pt.ztensor3()
    outputs = [
        pt.fft.fftn(z, axes=(0, 2), norm=norm),
        pt.fft.ifftn(x[:, ::-1], norm=norm),
        pt.fft.rfftn(x.transpose(2, 0, 1), axes=(2, 0), norm=norm),
        pt.fft.irfftn(z, s=(4, 3), axes=(0, 1), norm=norm),
    ]
    f = phintys.function([x, z], outputs, mode="native")
    value, spectrum = values(np.random.default_rng(3), "float64", (4, 2, 5))
    wanted = [
        np.fft.fftn(spectrum, axes=(0, 2), norm=norm),
        np.fft.ifftn(value[:, ::-1], norm=norm),
        np.fft.rfftn(value.transpose(2, 0, 1), axes=(2, 0), norm=norm),
        np.fft.irfftn(spectrum, s=(4, 3), axes=(0, 1), norm=norm),
    ]
    for one, other in zip(f(value, spectrum), wanted, strict=True):
        assert_close(one, other, "float64", ulps=8)


def callbacks(program):
    return [step for step in walk_steps(program.steps) if isinstance(step, Callback)]


@pytest.mark.parametrize("rows", [1, OWN_FOURIER_NUMBERS // 8 - 1, OWN_FOURIER_NUMBERS // 8])
def test_many_numbers_are_left_to_scipy(rows):
    value = np.random.default_rng(4).standard_normal((rows, 8))
    for shape in [(None, None), (rows, 8)]:
        x = pt.tensor(dtype="float64", shape=shape)
        found = phintys.function([x], pt.fft.rfft(x))(value)
        np.testing.assert_allclose(found, np.fft.rfft(value), rtol=0, atol=1e-13)
        program = lower_program(FunctionGraph([x], [pt.fft.rfft(x)]))
        is_open = any(isinstance(step, Branch) for step in program.steps)
        assert is_open == (shape == (None, None))
        assert bool(callbacks(program)) == (is_open or rows * 8 >= OWN_FOURIER_NUMBERS)


def test_exported_programs_leave_nothing_to_python():
    z, n = pt.zmatrix("z"), pt.lscalar("n")
    outputs = [pt.fft.fft2(z), pt.fft.irfft(z, n), pt.fft.rfft(z.real, axis=0), pt.fft.ifft(z.imag)]
    assert not callbacks(lower_program(FunctionGraph([z, n], outputs), is_exported=True))


def test_stacks_may_be_empty_but_not_sequences():
    x = pt.dmatrix("x")
    f = phintys.function([x], [pt.fft.fft(x), pt.fft.rfft(x)], mode="native")
    assert [one.shape for one in f(np.ones((0, 4)))] == [(0, 4), (0, 3)]
    with pytest.raises(ShapeError, match="no points to transform"):
        f(np.ones((4, 0)))
