"""Pooling with windows that are variables, beside pooling with windows that are numbers."""

from __future__ import annotations

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DtypeError, ShapeError
from phintys.compat import images, op_classes, windows

X = np.random.default_rng(4).normal(size=(2, 5, 6))
MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")
CASES = {
    False: [((2, 2), (2, 2), (0, 0)), ((3, 2), (1, 3), (1, 0)), ((5, 4), (2, 3), (2, 3))],
    True: [((2, 4), (2, 4), (0, 0)), ((3, 5), (2, 2), (0, 0)), ((4, 4), (5, 7), (0, 0))],
}
"""Whether windows may be partial -> windows, strides and paddings."""


@pytest.mark.parametrize("partial", CASES)
@pytest.mark.parametrize("mode", MODES)
def test_windows_that_are_variables_are_as_numbers(mode, partial):
    x = pt.dtensor3("x")
    window, stride, pad = pt.lvectors("window", "stride", "pad")
    pooled = images.pool_2d(x, window, not partial, stride, pad, mode)
    f = phintys.function(
        [x, window, stride, pad], [pooled, phintys.grad((pooled**2).sum(), x)], mode="reference"
    )
    for numbers in CASES[partial]:
        fixed = images.pool_2d(x, numbers[0], not partial, numbers[1], numbers[2], mode)
        expected = phintys.function(
            [x], [fixed, phintys.grad((fixed**2).sum(), x)], mode="reference"
        )(X)
        for ours, theirs in zip(f(X, *numbers), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_the_first_of_equal_elements_has_the_gradient():
    x, size = pt.dmatrix("x"), pt.lscalar("size")
    pooled = images.pool_2d(x, (size, 2), True)
    gradient = phintys.grad(pooled.sum(), x).eval({x: np.ones((2, 4)), size: 2})
    np.testing.assert_array_equal(gradient, [[1, 0, 1, 0], [0, 0, 0, 0]])


def test_integers_and_volumes():
    x = pt.lvector("x")
    assert windows.pool(1, x, [pt.constant(3)], None, [0], True, "max").eval(
        {x: [-5, -7, -6, -9]}
    ).tolist() == [-5, -9]
    volumes, size = pt.dtensor3("volumes"), pt.lvector("size")
    pooled = images.pool_3d(volumes, size, True, mode="sum")
    assert pooled.eval({volumes: np.ones((2, 4, 6)), size: [2, 2, 3]}).tolist() == [
        [[12.0] * 2] * 2
    ]


@pytest.mark.parametrize(
    ("window", "pad", "partial"), [((6, 2), (0, 0), False), ((2, 2), (2, 0), False)]
)
def test_windows_without_elements_are_refused(window, pad, partial):
    x, size, pads = pt.dtensor3("x"), pt.lvector("size"), pt.lvector("pads")
    pooled = images.pool_2d(x, size, not partial, pad=pads)
    with pytest.raises(ShapeError, match="Pooling: the"):
        pooled.eval({x: X, size: window, pads: pad})


def test_partial_windows_are_not_padded():
    x, pads = pt.dtensor3("x"), pt.lvector("pads")
    with pytest.raises(ShapeError, match="0 for partial windows"):
        images.pool_2d(x, (2, 2), False, pad=pads).eval({x: X, pads: [1, 1]})


def test_what_is_no_vector_of_integers_is_refused():
    with pytest.raises(DtypeError, match="window of pool_2d is a vector of integers"):
        images.pool_2d(pt.dtensor3(), pt.dvector("size"))
    with pytest.raises(ShapeError, match="rank 2 or more"):
        images.pool_2d(pt.dvector("x"), pt.lvector("size"))


@pytest.mark.parametrize(
    "options",
    [
        {"ws": (1, 1), "ds": (1, 1)},
        {"ws": (1, 1), "st": (1, 1), "stride": (1, 1)},
        {"ws": (1, 1), "pad": (1, 1), "padding": (1, 1)},
        {},
    ],
)
def test_an_option_is_given_once(options):
    with pytest.raises(ArgumentError):
        images.pool_2d(pt.dmatrix(), **options)
    with pytest.raises(ArgumentError):
        op_classes.Pool.out_shape((10, 10), **options)


def test_a_shape_has_the_axes_that_are_pooled():
    with pytest.raises(ArgumentError, match="3 sizes or more"):
        op_classes.Pool.out_shape((10, 10), (2, 2, 2), ndim=3)
