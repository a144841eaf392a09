"""Common mistakes with convolutions and pooling, and what the errors say."""

import pytest

from phintys._base.errors import ArgumentError, ShapeError
from tests.test_wrong_inputs import Case, check

CASES = {
    "another number of channels": Case(
        'pt.signal.conv(pt.tensor("x", shape=(8, 3, 9, 9)), pt.tensor("w", shape=(5, 1, 2, 2)))',
        ShapeError,
        ["3 channels", "(5, 1, 2, 2)", "for 1", "(filters, channels of a group, ...)"],
    ),
    "channels behind, as elsewhere": Case(
        """
        x, w = pt.dtensor4s("x", "w")
        f = phintys.function(
            [x, w],
            pt.signal.conv(x, w),
        )
        f(np.ones((8, 28, 28, 3)), np.ones((5, 3, 4, 4)))
        """,
        ShapeError,
        ["(8, 28, 28, 3) have 28 channels", "(images, channels, ...)", "line 4"],
    ),
    "filters larger than images": Case(
        """
        x, w = pt.dtensor4s("x", "w")
        f = phintys.function([x, w], pt.signal.conv(x, w, padding=(0, 1)))
        f(np.ones((1, 1, 2, 2)), np.ones((1, 1, 3, 4)))
        """,
        ShapeError,
        ["(1, 1, 3, 4)", "(1, 1, 2, 2)", "axis 0", "1 elements are missing", "padding", "line 2"],
    ),
    "a matrix instead of a batch": Case(
        'pt.signal.conv(pt.matrix("x"), pt.matrix("w"))',
        ShapeError,
        ["(images, channels, ...)", "rank from 3", "x of type", "w of type"],
    ),
    "negative padding": Case(
        'pt.signal.conv(pt.tensor4("x"), pt.tensor4("w"), padding=(0, -1))',
        ArgumentError,
        ["Padding is at least 0", "(0, -1)"],
    ),
    "padding by another name": Case(
        'pt.signal.conv(pt.tensor4("x"), pt.tensor4("w"), padding="same")',
        ArgumentError,
        ['"half"', '"full"', "'same'"],
    ),
    "a stride that is not an integer": Case(
        'pt.signal.conv(pt.tensor4("x"), pt.tensor4("w"), stride=1.5)',
        ArgumentError,
        ["The stride", "ints", "1.5"],
    ),
    "a stride for another number of axes": Case(
        'pt.signal.conv(pt.tensor4("x"), pt.tensor4("w"), stride=(1, 1, 2))',
        ArgumentError,
        ["The stride", "all 2 spatial axes", "(1, 1, 2)"],
    ),
    "no dilation": Case(
        'pt.signal.conv(pt.tensor4("x"), pt.tensor4("w"), dilation=0)',
        ArgumentError,
        ["The dilation", "at least 1", "0"],
    ),
    "filters that are not in equal groups": Case(
        'pt.signal.conv(pt.tensor3("x"), pt.tensor("w", shape=(3, 2, 2)), groups=2)',
        ShapeError,
        ["3 filters", "2 equal groups"],
    ),
    "images for which there is no such result": Case(
        """
        y, w = pt.dtensor4s("y", "w")
        f = phintys.function([y, w], pt.signal.conv_transpose(y, w, (9, 9), stride=2))
        f(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)))
        """,
        ShapeError,
        ["(1, 1, 3, 3)", "(1, 1, 4, 4) follows", "(1, 1, 9, 9)", "line 2"],
    ),
    "a window larger than images": Case(
        """
        x = pt.dmatrix("x")
        f = phintys.function([x], pt.signal.max_pool(x, (3, 2)))
        f([[1.0, 2.0], [3.0, 4.0]])
        """,
        ShapeError,
        ["(3, 2)", "(2, 2)", "partial windows", "line 2"],
    ),
    "as much padding as windows": Case(
        'pt.signal.max_pool(pt.matrix("x"), (2, 2), padding=2)',
        ArgumentError,
        ["(2, 2) is not less than the window (2, 2)", "without elements"],
    ),
    "windows of a symbolic size": Case(
        'pt.signal.max_pool(pt.matrix("x"), (pt.lscalar("n"), 2))',
        ArgumentError,
        ["The window", "known when the graph is built", "n"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_explained(name):
    check(CASES[name])
