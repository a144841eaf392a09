"""Old Fourier transforms: pairs of real and imaginary parts, along all axes but the first."""

import numpy as np
import pytest

import phintys
from phintys._base.errors import ArgumentError, ShapeError
from phintys.compat.linear_algebra import irfft, rfft

X = np.random.default_rng(0).normal(size=(2, 3, 5))


@pytest.fixture(params=["theano", "pytensor"])
def package(request):
    phintys.compat.install(request.param)
    yield __import__(f"{request.param}.tensor", fromlist=["tensor"])
    phintys.compat.uninstall(request.param)


def test_names_are_where_they_were(package):
    assert package.fft.rfft is rfft
    assert package.fft.irfft is irfft


def test_einsum_is_a_module_and_a_function():
    phintys.compat.install("pytensor")
    try:
        import pytensor.tensor as pt
        from pytensor.tensor.einsum import einsum

        x = pt.constant([[1.0, 2.0], [3.0, 4.0]])
        assert pt.einsum("ii", x).eval() == einsum("ii", x).eval() == 5.0
    finally:
        phintys.compat.uninstall("pytensor")


@pytest.mark.parametrize(("norm", "scale"), [(None, 1), ("ortho", 15**-0.5), ("no_norm", 1)])
def test_rfft_is_that_of_numpy_as_pairs(norm, scale):
    found = rfft(X, norm).eval(mode="reference")
    expected = np.fft.rfftn(X, axes=(1, 2)) * scale
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, atol=1e-13)


@pytest.mark.parametrize(("norm", "scale"), [(None, 1), ("ortho", 1), ("no_norm", 15)])
def test_irfft_is_its_inverse(norm, scale):
    found = irfft(rfft(X, norm), norm, is_odd=True).eval(mode="reference")
    np.testing.assert_allclose(found, X * scale, atol=1e-13)
    even = irfft(rfft(X[..., :4])).eval(mode="reference")
    np.testing.assert_allclose(even, X[..., :4], atol=1e-13)


def test_wrong_arguments_are_named():
    with pytest.raises(ArgumentError, match="'no_norm'; got 'half'"):
        rfft(X, "half")
    with pytest.raises(ShapeError, match="rank 2 or more"):
        rfft(X[0, 0])
    with pytest.raises(ArgumentError, match="is_odd"):
        irfft(rfft(X), is_odd=3)
    with pytest.raises(ShapeError, match="pairs"):
        irfft(X)
