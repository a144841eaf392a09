"""Gradients of scalar variables, which are no tensors."""

import numpy as np
import pytest

import phintys.scalar as ps
from phintys.gradient import GradientError, Lop, Rop, grad, hessian_vector_product, zero_grad


def test_grad():
    x, y = ps.float64("x"), ps.float64("y")
    to_x, to_y = grad(ps.exp(x) * y + x * x, [x, y])
    assert to_x.type is ps.float64
    assert float(to_x.eval({x: 0.0, y: 3.0})) == 3.0
    np.testing.assert_allclose(float(to_y.eval({x: 0.5, y: 3.0})), np.exp(0.5))


def test_integers():
    n, x = ps.int64("n"), ps.float64("x")
    assert float(grad(n * x, n).eval({n: 2, x: 3.0})) == 3.0
    assert float(grad((n * n) * 0.5, n).eval({n: 2})) == 0.0


def test_lop_and_rop():
    x, v = ps.float64("x"), ps.float64("v")
    assert float(Lop(x * x, x, v).eval({x: 3.0, v: 2.0})) == 12.0
    assert float(Rop(x * x, x, v).eval({x: 3.0, v: 2.0})) == 12.0
    assert float(Rop(x * x, x, 2).eval({x: 3.0})) == 12.0
    assert float(Rop(x * x, x, v, use_op_rop_implementation=False).eval({x: 3.0, v: 2.0})) == 12.0


def test_second_derivatives():
    x = ps.float64("x")
    assert float(hessian_vector_product(x * x * x, x, 1.0).eval({x: 2.0})) == 12.0


def test_marks():
    x = ps.float64("x")
    assert float(grad(zero_grad(x) * x, x).eval({x: 3.0})) == 3.0


def test_zeros_are_scalars():
    x, y = ps.float32("x"), ps.float32("y")
    zero = grad(x * x, y, disconnected_inputs="ignore")
    assert zero.type is ps.float32
    assert zero.data == 0


def test_complex():
    z = ps.complex128("z")
    with pytest.raises(GradientError, match="must be real"):
        grad(z * z, z)
    at = 1.0 + 2.0j
    found = complex(grad(ps.real(z * z), z).eval({z: at}))
    assert found == np.conj(2 * at)
