"""Arguments in the order of the old packages, where NumPy's would mean something else."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compat import install, uninstall


@pytest.fixture
def pytensor():
    install("pytensor")
    yield importlib.import_module("pytensor")
    uninstall("pytensor")


def test_ranges(pytensor):
    T = pytensor.tensor
    np.testing.assert_allclose(T.logspace(0, 3, 4, 2).eval(), [1, 2, 4, 8])
    np.testing.assert_allclose(T.logspace(0, 4, 4, 2, False).eval(), [1, 2, 4, 8])
    np.testing.assert_allclose(T.geomspace(1, 8, 4, 2).eval(), [1, 2, 4, 8])
    np.testing.assert_allclose(T.linspace(0, end=1, steps=3).eval(), [0, 0.5, 1])
    assert T.linspace(0, 1, 3, False).eval()[-1] < 0.7
    assert T.linspace(0.0, 1.0).eval().shape == (50,)
    with pytest.raises(phintys.PhintysError, match="end of the range is missing"):
        T.logspace(0)


def test_numbers_in_place_of_nan(pytensor):
    x = pytensor.tensor.dvector("x")
    found = pytensor.tensor.nan_to_num(x, 5.0, 6.0, 7.0).eval({x: [np.nan, np.inf, -np.inf]})
    assert found.tolist() == [5.0, 6.0, 7.0]


def test_hermitian_pseudo_inverses(pytensor):
    nlinalg = importlib.import_module("pytensor.tensor.nlinalg")
    x = pytensor.tensor.dmatrix("x")
    value = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_allclose(nlinalg.pinv(x, True).eval({x: value}), np.linalg.inv(value))
    np.testing.assert_allclose(nlinalg.pinv(x, rcond=1e-3).eval({x: value}), np.linalg.inv(value))


def test_products_of_a_dtype(pytensor):
    T = pytensor.tensor
    x, y = T.dvector("x"), T.dmatrix("y")
    for product in (
        T.vecdot(x, x, "float32"),
        T.matvec(y, x, "float32"),
        T.vecmat(x, y, "float32"),
    ):
        assert product.dtype == "float32"
    assert T.vecdot(y, y, axis=0).eval({y: [[1.0, 2.0], [3.0, 4.0]]}).tolist() == [10.0, 20.0]


def test_names_of_arguments(pytensor):
    T = pytensor.tensor
    x = T.dvector("x")
    outputs = [
        T.clip(x, min=0, max=1),
        T.clip(x, 0, 1),
        T.concatenate(tensor_list=[x, x], axis=0),
        T.concatenate([x, x]),
        T.reshape(x, newshape=(2, 1)),
        T.reshape(x, (2, 1), 2),
        T.round(x, "half_to_even"),
        T.round(x),
        T.round(x, 1),
    ]
    found = pytensor.function([x], outputs, trust_input=True)(np.array([-1.0, 2.5]))
    assert [one.tolist() for one in found] == [
        [0.0, 1.0],
        [0.0, 1.0],
        [-1.0, 2.5, -1.0, 2.5],
        [-1.0, 2.5, -1.0, 2.5],
        [[-1.0], [2.5]],
        [[-1.0], [2.5]],
        [-1.0, 2.0],
        [-1.0, 2.0],
        [-1.0, 2.5],
    ]


@pytest.mark.parametrize("package", ["aesara", "pytensor"])
def test_gamma_numbers_have_a_rate(package):
    install(package)
    try:
        draws = importlib.import_module(f"{package}.tensor.random")
        stream = draws.RandomStream(1) if package == "pytensor" else None
        stream = stream or importlib.import_module("aesara.tensor.random.utils").RandomStream(1)
        for gamma in (draws.gamma, stream.gamma):
            by_rate = gamma(4.0, 8.0, size=(4000,)).eval()
            by_scale = gamma(4.0, scale=8.0, size=(4000,)).eval()
            assert abs(by_rate.mean() - 0.5) < 0.05
            assert abs(by_scale.mean() - 32) < 3
            assert gamma(4.0, rate=pt.constant([1.0, 2.0])).eval().shape == (2,)
            with pytest.raises(phintys.PhintysError, match="the rate or the scale"):
                gamma(1.0, 2.0, 3.0)
        basic = importlib.import_module(f"{package}.tensor.random.basic")
        assert basic.weibull(2.0, (3,)).eval().shape == (3,)
    finally:
        uninstall(package)


def test_singular_covariances(pytensor):
    draws = importlib.import_module("pytensor.tensor.random")
    stream = importlib.import_module("pytensor.tensor.random.utils").RandomStream(1)
    cov = pt.dmatrix("cov")
    normals = (draws.multivariate_normal, stream.multivariate_normal)
    draw = pytensor.function([cov], [normal([0.0, 1.0], cov, size=(2000,)) for normal in normals])
    for value in (np.ones((2, 2)), np.array([[2.0, 0.5], [0.5, 1.0]]), np.zeros((2, 2))):
        for found in draw(value):
            np.testing.assert_allclose(np.cov(found.T), value, atol=0.25)
            np.testing.assert_allclose(found.mean(axis=0), [0.0, 1.0], atol=0.15)
    with pytest.raises(ValueError, match="must be positive semidefinite"):
        draw(-np.eye(2))
    batch = np.stack([np.ones((2, 2)), np.eye(2)])
    assert np.ptp(draws.multivariate_normal(np.zeros(2), batch, method="svd").eval()[0]) < 1e-12
