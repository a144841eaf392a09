"""Fourier transforms: arguments, dtypes and sizes; values are checked by their records."""

import inspect

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError

# The standard's functions, with their arguments in its order.
STANDARD = {
    **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), "x n axis norm"),
    **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), "x s axes norm"),
    **dict.fromkeys(("fftfreq", "rfftfreq"), "n d dtype device"),
    **dict.fromkeys(("fftshift", "ifftshift"), "x axes"),
}


@pytest.mark.parametrize("name", STANDARD)
def test_signatures_are_those_of_the_array_api(name):
    parameters = inspect.signature(getattr(pt.fft, name)).parameters
    assert list(parameters) == STANDARD[name].split()
    defaults = {"n": None, "s": None, "axis": -1, "axes": None, "norm": "backward", "d": 1.0}
    for parameter in list(parameters.values())[1:]:
        assert parameter.default == defaults.get(parameter.name)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_transforms_of_two_axes_are_those_of_numpy(name):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    for options in ({}, {"s": (4, 5), "axes": (0, -1), "norm": "ortho"}):
        found = getattr(pt.fft, name)(x, **options).eval(mode="reference")
        np.testing.assert_allclose(found, getattr(np.fft, name)(x, **options), atol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "to"),
    [("float32", "complex64"), ("float16", "complex64"), ("int8", "complex128")],
)
def test_precision_is_kept(dtype, to):
    x = pt.ones(4, dtype=dtype)
    assert pt.fft.fft(x).dtype == pt.fft.rfft(x).dtype == to
    assert pt.fft.irfft(pt.fft.rfft(x)).dtype == np.empty(0, to).real.dtype
    assert pt.fft.irfft(pt.fft.rfft(x)).eval(mode="reference").dtype == np.empty(0, to).real.dtype


def test_gradients_have_the_precision_of_their_inputs():
    x = pt.fvector("x")
    assert phintys.grad(abs(pt.fft.rfft(x)).sum(), x).dtype == "float32"
    assert phintys.grad(abs(pt.fft.fft(x)).sum(), x).dtype == "float32"


def test_static_shapes_are_known():
    x = pt.tensor("x", shape=(None, 6, 5))
    assert pt.fft.rfft(x).type.shape == (None, 6, 3)
    assert pt.fft.irfft(x).type.shape == (None, 6, 8)
    assert pt.fft.fftn(x, s=(3, -1, 9)).type.shape == (3, 6, 9)
    assert pt.fft.irfftn(x, s=(7,)).type.shape == (None, 6, 7)


def test_numbers_of_points_may_be_symbolic():
    x, n = pt.dvector("x"), pt.lscalar("n")
    outputs = [pt.fft.fft(x, n), pt.fft.irfft(x, n), pt.fft.fftfreq(n), pt.fft.rfftfreq(n, x[0])]
    f = phintys.function([x, n], outputs)
    value = np.array([2.0, 1.0, 3.0])
    for points in (1, 2, 5, 6):
        expected = [np.fft.fft(value, points), np.fft.irfft(value, points)]
        expected += [np.fft.fftfreq(points), np.fft.rfftfreq(points, 2.0)]
        for found, one in zip(f(value, points), expected, strict=True):
            np.testing.assert_allclose(found, one, atol=1e-13)
    with pytest.raises(ShapeError):
        f(value, 0)
    with pytest.raises(ShapeError):
        f(value, -1)


def test_stacks_may_be_empty_but_not_transforms():
    x = pt.dmatrix("x")
    f = phintys.function([x], [pt.fft.fft(x), pt.fft.rfft(x), pt.fft.irfft(x)])
    assert [one.shape for one in f(np.zeros((0, 4)))] == [(0, 4), (0, 3), (0, 6)]
    with pytest.raises(ShapeError, match="no points to transform along axis 1"):
        f(np.zeros((4, 0)))
    with pytest.raises(ShapeError, match="at least 1"):
        f(np.zeros((4, 1)))  # 2 * (1 - 1) points


def test_no_axes_change_nothing_but_the_dtype():
    assert pt.fft.fftn(pt.fmatrix("x"), axes=()).dtype == "complex64"
    assert pt.fft.fftn(pt.dscalar("x")).dtype == "complex128"


def test_a_transform_is_a_counted_callback():
    x = pt.dvector("x")
    f = phintys.function([x], abs(pt.fft.fft(2 * x)), mode="native")
    assert "1 callback" in f.explain().splitlines()[0]
    np.testing.assert_allclose(f([1.0, 2.0]), [6.0, 2.0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: pt.fft.fft(x, norm="half"), ArgumentError, "'forward'; got 'half'"),
        (lambda x: pt.fft.fft(x, axis=2), ShapeError, "Axis 2 is out of range"),
        (lambda x: pt.fft.fft(x, n=0), ShapeError, "at least 1, got 0"),
        (lambda x: pt.fft.fft(x, n=2.5), DtypeError, "an integer, got 2.5"),
        (lambda x: pt.fft.fftn(x, axes=(0, 0)), ShapeError, "named twice"),
        (lambda x: pt.fft.fftn(x, axes=1), ArgumentError, "axes is a tuple"),
        (lambda x: pt.fft.fftn(x, s=(2, 2), axes=(0,)), ArgumentError, "for 1 axes"),
        (lambda x: pt.fft.fftn(x, s=(2, 2, 2)), ShapeError, "3 numbers of points"),
        (lambda x: pt.fft.rfftn(x, axes=()), ShapeError, "halves the last of the axes"),
        (lambda x: pt.fft.rfft(x * 1j), DtypeError, "real numbers.*pt.fft.fft"),
        (lambda x: pt.fft.irfft(x[:, :1]), ShapeError, "2 \\* \\(1 - 1\\).*State n="),
        (lambda x: pt.fft.fftfreq(0), ArgumentError, "at least 1; got 0"),
        (lambda x: pt.fft.fftfreq(3, dtype="int64"), DtypeError, "a real floating one, got int64"),
    ],
)
def test_what_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call(pt.tensor("x", shape=(3, 4)))
