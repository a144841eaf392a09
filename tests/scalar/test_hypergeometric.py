"""The derivatives of Gauss's hypergeometric function in its parameters."""

import numpy as np

import phintys.scalar as ps

# a, b, c, x, and the derivatives by a, b and c, from differences in 50 digits.
POINTS = np.array(
    [
        [3.75, 1.0, 2.75, -0.25, -0.054938142817464376, -0.2237137617021774, 0.0760951676108528],
        [1.0, 1.0, 1.0, 0.625, 2.6155446746979365, 2.6155446746979365, -2.6155446746979365],
        [1.0, 31.0, 41.0, 1.0, 6.825270649241036, 0.49382716049382713, -0.38271604938271603],
        [1.0, -2.125, 41.0, 1.0, -0.04975441653146442, 0.02254136251970168, 0.0011975098838591517],
        [-0.5, -4.5, -3.25, 0.875, 0.9295845378489614, 0.3815686418285671, -2.6127944007423483],
        [-3.0, 2.0, 1.5, 0.5, 0.049687533573002686, -0.24761904761904763, 0.36244897959183675],
        [
            2.0,
            3.0,
            4.0,
            -100.0,
            -0.0010373167186900683,
            -0.00036272962750097057,
            0.00021407665499055488,
        ],
        [0.5, 0.5, 1.5, -1.0, -0.21271729769140246, -0.21271729769140246, 0.06506085876812913],
    ]
)


def test_derivatives_by_the_parameters():
    a, b, c, x, by_a, by_b, by_c = POINTS.T
    np.testing.assert_allclose(ps.hyp2f1_by_a.impl(a, b, c, x), by_a, rtol=1e-13)
    np.testing.assert_allclose(ps.hyp2f1_by_a.impl(b, a, c, x), by_b, rtol=1e-13)
    np.testing.assert_allclose(ps.hyp2f1_by_c.impl(a, b, c, x), by_c, rtol=1e-13)
    one = ps.hyp2f1_by_a.impl(*POINTS[0, :4])
    np.testing.assert_allclose(one, by_a[0], rtol=1e-13)


def test_nothing_is_said_where_too_little_is_known():
    """Outside of the disc of convergence, and where the terms cancel each other."""
    a, b, c, x = np.array([[1, 12, 20, 1.2], [1, 12, 10, 1], [30, 40, 2.5, -0.7]]).T
    assert np.isnan(ps.hyp2f1_by_a.impl(a, b, c, x)).all()
    assert np.isnan(ps.hyp2f1_by_c.impl(a, b, c, x)).all()
