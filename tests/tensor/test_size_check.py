"""Sizes of values that are not computed: which of the errors of these values remain."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import function, pprint
from phintys._base.errors import IndexingError, ShapeError
from phintys.control import OpFromGraph
from phintys.passes import rewrite_graph
from phintys.tensor.size_check import SizeCheck, unchecked_size, with_check
from phintys.tensor.sizes import same_product

MODES = ("native", "reference", "debug")

x, y = pt.dvector("x"), pt.dvector("y")
X, Y = pt.dmatrix("X"), pt.dmatrix("Y")
n, m = pt.lscalar("n"), pt.lscalar("m")


def _ones(*shape):
    return np.ones(shape)


REMAIN = {
    "a reshape with -1": ([x], x.reshape((2, -1)), [_ones(125)]),
    "a reshape beside a symbolic size": ([x, n], x.reshape((n, -1)), [_ones(125), 2]),
    "a reshape to one symbolic size": ([x, n], x.reshape((n,)), [_ones(5), 3]),
    "a reshape to a symbolic size beside a number": ([x, n], x.reshape((2, n)), [_ones(8), 3]),
    "a reshape to symbolic sizes": ([x, n, m], x.reshape((n, m)), [_ones(125), 2, 3]),
    "a reshape to known sizes and -1": ([X], X.reshape((2, 7, -1)), [_ones(3, 4)]),
    "a stated size": ([X], pt.specify_shape(X, (4, None)), [_ones(3, 2)]),
    "a stated symbolic size": ([x, n], pt.specify_shape(x, (n,)), [_ones(3), 4]),
    "a negative length": ([n], pt.alloc(1.0, n), [-3]),
    "a negative length of many": ([n, m], pt.zeros((n, m)), [3, -3]),
    "a broadcast": ([x, n], pt.broadcast_to(x, (n,)), [_ones(3), 5]),
    "a number of repeats": ([x, n], pt.repeat(x, n), [_ones(3), -1]),
    "a product": ([X, Y], pt.dot(X, Y), [_ones(3, 2), _ones(5, 4)]),
    "a product of stacks": (
        [pt.dtensor3("a"), pt.dtensor3("b")],
        pt.matmul,
        [_ones(2, 3, 2), _ones(2, 5, 4)],
    ),
    "arrays joined": ([X, Y], pt.concatenate([X, Y]), [_ones(3, 2), _ones(5, 4)]),
    "arrays stacked": ([x, y], pt.stack([x, y]), [_ones(3), _ones(4)]),
}

OUT_OF_RANGE = {
    "a number": ([X], X[5], [_ones(3, 2)]),
    "a negative number": ([X], X[-4], [_ones(3, 2)]),
    "a symbolic number": ([X, n], X[n], [_ones(3, 2), 3]),
    "a negative symbolic number": ([X, n], X[n], [_ones(3, 2), -4]),
    "a number in a slice": ([X, n], X[n:][1], [_ones(3, 2), 2]),
}


def _last_size(value):
    return value.shape[value.ndim - 1]


def _call(case, build, mode):
    inputs, value, arguments = case
    value = value(*inputs) if callable(value) and not hasattr(value, "owner") else value
    return function(inputs, build(value), mode=mode, on_unused_input="ignore")(*arguments)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("build", [_last_size, pt.zeros_like], ids=["size", "zeros_like"])
@pytest.mark.parametrize("case", REMAIN.values(), ids=REMAIN)
def test_sizes_that_do_not_fit_raise_where_only_the_shape_is_used(case, build, mode):
    with pytest.raises(ShapeError):
        _call(case, lambda value: value, mode)
    with pytest.raises(ShapeError):
        _call(case, build, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("build", [_last_size, pt.zeros_like], ids=["size", "zeros_like"])
@pytest.mark.parametrize("case", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_indices_out_of_range_raise_where_only_the_shape_is_used(case, build, mode):
    with pytest.raises(IndexingError):
        _call(case, lambda value: value, mode)
    with pytest.raises(IndexingError):
        _call(case, build, mode)


def test_the_error_names_what_does_not_fit_and_the_users_line():
    folded = x.reshape((2, -1))  # this line
    with pytest.raises(ShapeError, match="elements before and after") as info:
        function([x], pt.zeros_like(folded).sum())(_ones(125))
    assert "must be equal, got 125 and 124" in str(info.value)
    assert "# this line" in "".join(info.value.__notes__)
    with pytest.raises(IndexingError, match="index 5 is out of range for size 3"):
        function([X], X[5].shape[0])(_ones(3, 2))
    with pytest.raises(ShapeError, match="each size must be at least 0, got -3"):
        function([n], pt.alloc(1.0, n).shape[0])(-3)


VANISH = {
    "an element": ([x], x[5] * 0, [_ones(3)]),
    "sizes known when compiling": ([x], x.reshape((3, 4)).shape[1], [_ones(125)]),
    "operands of an elementwise Op": ([x, y], (x + y).shape[0], [_ones(3), _ones(4)]),
    "the indices of an array": (
        [X, pt.lvector("i")],
        lambda X, i: X[i].shape[1],
        [_ones(3, 2), np.array([7])],
    ),
}


@pytest.mark.parametrize("case", VANISH.values(), ids=VANISH)
def test_the_shape_of_a_result_that_can_be_made_is_the_same(case):
    inputs, value, arguments = case
    value = value(*inputs) if not hasattr(value, "owner") else value
    if case is VANISH["an element"]:
        value = pt.zeros_like(x[5])
    result = function(inputs, value, on_unused_input="ignore")(*arguments)
    assert np.ndim(result) == value.ndim


def test_what_is_known_to_fit_is_not_checked():
    tall = pt.tensor("tall", shape=(None, 6))
    for value in (
        X.flatten(),
        X.flatten(1),
        pt.dtensor3("t").flatten(2),
        X.reshape((X.shape[1], X.shape[0])),
        X.reshape((-1, 1)),
        pt.dot(X, X.T),
        pt.concatenate([X, X]),
        X[1:],
        tall[:, 2],
        pt.zeros((x.shape[0], 3)),
        pt.zeros_like(X),
    ):
        assert "SizeCheck" not in pprint(rewrite_graph(value.shape)), value


def test_checks_of_sums_and_products_of_sizes_are_dropped():
    length = pt.alloc(1.0, x.shape[0] * 2 + 1).shape[0]
    assert pprint(rewrite_graph(length)) == "1 + 2 * x.shape[0]"
    assert "SizeCheck" in pprint(rewrite_graph(pt.alloc(1.0, n + 1).shape[0]))


def test_known_sizes_are_returned_as_they_are():
    assert with_check((3, x.shape[0]), "equal", 2, 2, "")[0] == 3
    (three, size) = with_check((3, x.shape[0]), "equal", n, m, "n and m")
    assert three == 3
    assert isinstance(size.owner.op, SizeCheck)
    assert unchecked_size(size) is size.owner.inputs[0]


def test_two_results_of_one_node_are_two_sizes():
    u = pt.lscalar("u")
    double, triple = OpFromGraph([u], [2 * u, 3 * u])(n)
    assert same_product([double, m], [m, double])
    assert not same_product([double], [triple])
