"""The convention for complex numbers: the gradient of C for z = a + ib is dC/da + i dC/db."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.gradient import Lop, grad, verify_grad

Z = np.array([0.3 + 0.4j, -1.0 + 0.2j, 2.0 - 0.7j])


@pytest.mark.parametrize(
    ("cost", "gradient"),
    [
        (lambda z: pt.real(z).sum(), np.ones_like),
        (lambda z: pt.imag(z).sum(), lambda z: 1j * np.ones_like(z)),
        (lambda z: (abs(z) ** 2).sum(), lambda z: 2 * z),
        (lambda z: pt.real(z * pt.conj(z)).sum(), lambda z: 2 * z),
        # f holomorphic: the conjugate of f'(z)
        (lambda z: pt.real(pt.exp(z)).sum(), lambda z: np.conj(np.exp(z))),
        (lambda z: pt.imag(z**3).sum(), lambda z: 1j * np.conj(3 * z**2)),
        (lambda z: abs(z).sum(), lambda z: z / abs(z)),
    ],
)
def test_gradients(cost, gradient):
    z = pt.zvector("z")
    found = grad(cost(z), z)
    assert found.type.dtype == "complex128"
    np.testing.assert_allclose(found.eval({z: Z}), gradient(Z))


def test_it_is_the_direction_of_steepest_ascent():
    def cost(z):
        return abs(z**2 + 1j * z) ** 2

    z = pt.zscalar("z")
    at = 0.7 - 0.3j
    uphill = complex(grad(cost(z), z).eval({z: at}))
    around = np.exp(2j * np.pi * np.arange(360) / 360)
    rise = cost(at + 1e-6 * around) - cost(at)
    best = around[rise.argmax()]
    assert abs(uphill / abs(uphill) - best) < 2 * np.pi / 360


def test_a_real_variable_gets_the_real_part():
    x, z = pt.dvector("x"), pt.zvector("z")
    cost = pt.real(x * z * 1j).sum()
    to_x, to_z = grad(cost, [x, z])
    assert to_x.type.dtype == "float64"
    np.testing.assert_allclose(to_x.eval({x: [1.0, 2.0, 3.0], z: Z}), (Z * 1j).real)
    np.testing.assert_allclose(to_z.eval({x: [1.0, 2.0, 3.0], z: Z}), np.array([1, 2, 3]) * -1j)


def test_a_complex_variable_seen_as_real():
    x, y = pt.dvectors("x", "y")
    z = pt.complex(x, y)
    cost = (abs(z * (1 + 2j)) ** 2).sum()
    to_x, to_y, to_z = grad(cost, [x, y, z])
    at = {x: Z.real, y: Z.imag}
    np.testing.assert_allclose(to_z.eval(at), 10 * Z)
    np.testing.assert_allclose(to_x.eval(at), 10 * Z.real)
    np.testing.assert_allclose(to_y.eval(at), 10 * Z.imag)


def test_mixed_precision():
    z = pt.cvector("z")
    assert grad(abs(z.astype("complex128")).sum(), z).type.dtype == "complex64"


def test_lop_of_complex_outputs():
    z, w = pt.zvectors("z", "w")
    found = Lop(pt.exp(z), z, w)
    weights = np.array([1 + 1j, 2.0, -1j])
    np.testing.assert_allclose(found.eval({z: Z, w: weights}), weights * np.conj(np.exp(Z)))


def test_with_matrices():
    matrix = np.arange(6).reshape(2, 3) * (1 + 0.5j)
    verify_grad(lambda z: pt.dot(matrix, z), [Z])
    verify_grad(lambda x: pt.dot(matrix, x), [Z.real])
