"""Small functions of the old packages."""

from __future__ import annotations

import pytest

import phintys.tensor as pt
from phintys.compat.utilities import is_same_graph


@pytest.mark.parametrize("turned", [False, True])
def test_graphs_are_the_same_with_replacements_in_both(turned):
    x, y, z = pt.dvectors("x", "y", "z")
    product = x * y
    cases = [
        (x, x, {}, True),
        (x, y, {}, False),
        (x, y, {y: x}, True),
        (x, -x, {}, False),
        (x * 2, x * 2, {}, True),
        (x * 2, y * 2, {}, False),
        (x * 2, y * 2, {x: y}, True),
        (x * 2, y * 2, {y: x}, True),
        (x * 2, y * 3, {y: x}, False),
        (product * 2, z * 2, {product: z}, True),
        (product * 2, z * 2, {z: product}, True),
        (x * (y * z), (x * y) * z, {}, False),
        (product + z, product + product, {z: product}, True),
    ]
    for one, other, givens, expected in cases:
        pair = (other, one) if turned else (one, other)
        assert is_same_graph(*pair, givens=givens) is expected
