"""How windows lie on images, and options for each axis."""

import pytest

import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.tensor.images.geometry import (
    count_of,
    extent_of,
    pads_of,
    per_axis,
    per_axis_padding,
)
from phintys.tensor.sizes import floor_div_sizes


def test_one_number_is_for_all_axes():
    assert per_axis(3, 2, "The stride") == per_axis([3, 3], 2, "The stride") == (3, 3)
    assert per_axis_padding(1, 2) == per_axis_padding((1, (1, 1)), 2) == ((1, 1), (1, 1))
    assert per_axis_padding("valid", 1) == ((0, 0),)
    assert per_axis_padding(("half", (2, 0)), 2) == ("half", (2, 0))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "a", None, (1,), (1, 2, 3), (1, 0)])
def test_strides_are_positive_ints(value):
    with pytest.raises(ArgumentError, match="The stride is"):
        per_axis(value, 2, "The stride")


@pytest.mark.parametrize(
    "value", ["same", -1, (0, -1), 0.5, (1, 2, 3), ((1, 2, 3), 0), ((1, -1), 0), ((1, "half"), 0)]
)
def test_padding_is_a_rule_or_not_negative(value):
    with pytest.raises(ArgumentError, match=r"[Pp]adding"):
        per_axis_padding(value, 2)


def test_options_are_known_when_the_graph_is_built():
    with pytest.raises(ArgumentError, match="known when the graph is built, got n"):
        per_axis(pt.lscalar("n"), 2, "The stride")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("length", [5, 6])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", ["half", "full", (1, 2)])
def test_places_are_counted(length, size, dilation, stride, padding):
    extent = extent_of(size, dilation)
    assert extent == len(range((size - 1) * dilation + 1))
    before, behind = pads_of(padding, extent)
    places = [at for at in range(-before, length + behind) if at + extent <= length + behind]
    assert count_of(length, padding, extent, stride) == len(places[::stride])
    n, k = pt.lscalars("n", "k")
    symbolic = count_of(n, padding, extent_of(k, dilation), stride)
    assert symbolic.eval({n: length, k: size}) == len(places[::stride])


def test_quotients_of_sizes():
    n = pt.lscalar("n")
    assert floor_div_sizes(7, 2) == 3
    assert floor_div_sizes(n, 1) is n
    assert floor_div_sizes(n, 2).eval({n: 7}) == 3
