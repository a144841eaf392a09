"""Matrices of a pattern, tensors as matrices, products of stacks of vectors."""

import numpy as np
import pytest
import scipy.linalg

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, ShapeError

RNG = np.random.default_rng(0)


def value(x):
    return x.eval(mode="reference")


def test_blocks_of_stacks_broadcast():
    a, b = RNG.normal(size=(2, 1, 2, 3)), RNG.normal(size=(4, 1, 2))
    found = value(pt.linalg.block_diag(a, b))
    assert found.shape == (2, 4, 3, 5)
    np.testing.assert_array_equal(found[1, 2], scipy.linalg.block_diag(a[1, 0], b[2]))


def test_patterns_of_known_sizes_have_a_known_shape():
    c, r = pt.tensor("c", shape=(4,)), pt.tensor("r", shape=(3,))
    assert pt.linalg.toeplitz(c, r).type.shape == (4, 3)
    assert pt.linalg.circulant(c).type.shape == (4, 4)
    assert pt.linalg.block_diag(c, r).type.shape == (2, 7)


def test_patterns_of_unknown_sizes():
    c, r = pt.dvectors("c", "r")
    names = ["toeplitz", "hankel"]
    outputs = [getattr(pt.linalg, name)(*args) for name in names for args in [(c,), (c, r)]]
    f = phintys.function([c, r], [*outputs, pt.linalg.circulant(c)], mode="native")
    assert "callback" not in f.explain().splitlines()[0]
    for m, n in [(4, 3), (1, 1), (2, 5)]:
        x, y = RNG.normal(size=m), RNG.normal(size=n)
        expected = [getattr(scipy.linalg, name)(*a) for name in names for a in [(x,), (x, y)]]
        for one, other in zip(f(x, y), [*expected, scipy.linalg.circulant(x)], strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_first_row_is_the_conjugate_of_the_column():
    c = np.array([1.0, 2.0 + 1j])
    np.testing.assert_array_equal(value(pt.linalg.toeplitz(c)), scipy.linalg.toeplitz(c))


def test_axes_of_a_tensor_are_moved_before_it_is_solved():
    a, b = RNG.normal(size=(2, 6, 3, 4, 4)), RNG.normal(size=(6, 4))
    found = value(pt.linalg.tensorsolve(a, b, axes=(0, 2, 3)))
    np.testing.assert_allclose(found, np.linalg.tensorsolve(a, b, axes=(0, 2, 3)))


def test_sizes_of_vectors_do_not_broadcast():
    x, y = pt.tensor("x", shape=(1,)), pt.dvector("y")
    f = phintys.function([x, y], pt.vecdot(x, y))
    assert f([2.0], [3.0]) == 6.0
    with pytest.raises(ShapeError):
        f([2.0], [3.0, 4.0])


def test_products_of_bools_and_small_integers_keep_their_dtype():
    for dtype in ("bool", "int8"):
        x = np.ones((2, 3), dtype)
        assert pt.vecdot(x, x).dtype == dtype
        np.testing.assert_array_equal(value(pt.vecdot(x, x)), np.vecdot(x, x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda v, m: pt.cross(v, v), ShapeError, "3 elements, got 2 along axis -1 of v"),
        (lambda v, m: pt.cross(1.0, v), ShapeError, "a vector or a stack"),
        (lambda v, m: pt.vecdot(m, v, axis=1), ShapeError, "out of range"),
        (
            lambda v, m: pt.vecdot(m.T, m),
            ShapeError,
            "different sizes along axis -1: 4 in .*, and 3",
        ),
        (lambda v, m: pt.matvec(v, v), ShapeError, "matvec takes a matrix"),
        (lambda v, m: pt.linalg.toeplitz(m), ShapeError, "toeplitz takes vectors, got m.*flatten"),
        (pt.linalg.hankel, ShapeError, "hankel takes vectors, got m"),
        (lambda v, m: pt.linalg.block_diag(), ArgumentError, "one or more matrices, got none"),
        (lambda v, m: pt.linalg.block_diag([m, m]), ArgumentError, r"block_diag\(\*matrices\)"),
        (lambda v, m: pt.linalg.tensorinv(m, ind=1), ShapeError, r"rows \(4\).*columns \(3\)"),
        (lambda v, m: pt.linalg.tensorinv(m, ind=0), ArgumentError, "from 1 to 2.*got 0"),
        (pt.linalg.tensorsolve, ShapeError, "fewer axes than m"),
        (lambda v, m: pt.linalg.tensorsolve(m, v), ShapeError, "not a square matrix"),
        (lambda v, m: pt.linalg.tensorsolve(m, v, (0, 0)), ShapeError, "named twice"),
    ],
)
def test_what_is_wrong_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call(pt.tensor("v", shape=(2,)), pt.tensor("m", shape=(4, 3)))
