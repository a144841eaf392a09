"""``loop``, ``while_loop`` and ``fori_loop``, against loops in Python."""

from typing import NamedTuple

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import fori_loop, loop, while_loop
from tests.control.loops_in_numpy import MODES

every_mode = pytest.mark.parametrize("mode", MODES)
X = np.random.default_rng(0).normal(size=(5, 3))


class Pair(NamedTuple):
    left: object
    right: object


@pytest.mark.sampled(2)
@every_mode
@pytest.mark.parametrize("reverse", [False, True])
def test_carries_inputs_and_rows_of_any_form(reverse, mode):
    x, y, h = pt.dmatrix("x"), pt.dvector("y"), pt.dvector("h")

    def body(carry, given):
        total, last = carry["totals"].left, carry["h"]
        new = pt.tanh(last + given[0]) * given[1]["y"]
        assert given[2] is None
        rows = {"sum": new.sum(), "none": None, "pair": [last, 2.0]}
        return {"totals": Pair(total + given[1]["y"], None), "h": new}, rows

    carry, rows = loop(
        body, {"totals": Pair(0, None), "h": h}, (x, {"y": y}, None), reverse=reverse
    )
    assert isinstance(carry["totals"], Pair)
    assert carry["totals"].right is None
    assert rows["none"] is None
    outputs = [carry["totals"].left, carry["h"], rows["sum"], *rows["pair"]]
    f = phintys.function([x, y, h], outputs, mode=mode)
    for n in (5, 1, 0):
        last, total = np.ones(3), 0.0
        sums, lasts = [], []
        for t in reversed(range(n)) if reverse else range(n):
            lasts.append(last)
            last = np.tanh(last + X[t]) * X[t, 0]
            total += X[t, 0]
            sums.append(last.sum())
        order = slice(None, None, -1 if reverse else 1)
        expected = [total, last, sums[order], np.reshape(lasts[order], (n, 3)), np.full(n, 2.0)]
        for one, other in zip(f(X[:n], X[:n, 0], np.ones(3)), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@every_mode
def test_a_length_instead_of_inputs(mode):
    n = pt.lscalar("n")
    last, powers = loop(lambda h, x: (2 * h, h) if x is None else None, 1, length=n)
    f = phintys.function([n], [last, powers], mode=mode)
    for size in (0, 1, 4):
        found = f(size)
        assert found[0] == 2**size
        np.testing.assert_array_equal(found[1], 2 ** np.arange(size))


@every_mode
def test_lengths_must_be_equal(mode):
    x, y, n = pt.dvector("x"), pt.dvector("y"), pt.lscalar("n")
    last, _ = loop(lambda h, xy: (h + xy[0] * xy[1], None), 0.0, (x, y), n)
    f = phintys.function([x, y, n], last, mode=mode)
    assert f([1.0, 2.0], [3.0, 4.0], 2) == 11
    for sizes in ((2, 3, 2), (3, 2, 2), (2, 2, 1)):
        with pytest.raises(AssertionError, match=r"lengths of length, xs.0. of a loop, xs.1. of"):
            f(np.ones(sizes[0]), np.ones(sizes[1]), sizes[2])


@every_mode
def test_loops_with_a_condition(mode):
    a, b = pt.dscalar("a"), pt.lscalar("b")

    def newton(carry):
        x, steps = carry
        return x - (x * x - a) / (2 * x), steps + b

    root, steps = while_loop(lambda c: pt.abs(c[0] ** 2 - a) > 1e-12 * a, newton, (a, 0))
    f = phintys.function([a, b], [root, steps], mode=mode)
    for value in (2.0, 1.0, 1e6):
        x, count = value, 0
        while abs(x * x - value) > 1e-12 * value:
            x, count = x - (x * x - value) / (2 * x), count + 3
        found = f(value, 3)
        np.testing.assert_allclose(found[0], x, rtol=1e-14)
        assert found[1] == count


@every_mode
def test_vectors_and_other_types_in_loops_with_a_condition(mode):
    class Box(phintys.Type):
        def filter(self, value, strict=False, allow_downcast=None):
            return value

    box = Box()

    @phintys.wrap_py([box, pt.dvector], [box])
    def push(stack, x):
        return (*stack, float(x.sum()))

    x, stack = pt.dvector("x"), box("stack")
    last, stack_out = while_loop(
        lambda c: c[0].sum() < 10, lambda c: (c[0] * 2, push(c[1], c[0])), (x, stack)
    )
    f = phintys.function([x, stack], [last, stack_out], mode=mode)
    value, sums = f([1.0, 2.0], ())
    np.testing.assert_array_equal(value, [4.0, 8.0])
    assert sums == (3.0, 6.0)
    assert f([20.0, 0.0], (1.0,))[1] == (1.0,)


@pytest.mark.sampled(4)
@every_mode
@pytest.mark.parametrize(("lower", "upper"), [(0, 5), (2, 7), (-3, 1), (4, 4), (5, 2)])
def test_loops_over_integers(lower, upper, mode):
    a, b, h = pt.lscalar("a"), pt.iscalar("b"), pt.dvector("h")

    def body(i, carry):
        h, k = carry
        return h * 0.5 + i, k + i

    symbolic, known = fori_loop(a, b, body, (h, 0)), fori_loop(lower, upper, body, (h, 0))
    f = phintys.function([a, b, h], [*symbolic, *known], mode=mode)
    expected, k = np.ones(2), 0
    for i in range(lower, upper):
        expected, k = expected * 0.5 + i, k + i
    found = f(lower, upper, np.ones(2))
    for one, other in zip(found, [expected, k] * 2, strict=True):
        np.testing.assert_allclose(one, other)


@every_mode
def test_loops_in_loops(mode, repeats):
    most = repeats(7, 12)
    n, x = pt.lscalar("n"), pt.dvector("x")

    def collatz(i, total):
        number, steps = while_loop(
            lambda c: c[0] > 1,
            lambda c: (pt.switch(c[0] % 2, 3 * c[0] + 1, c[0] // 2), c[1] + 1),
            (i, 0),
        )
        return total + steps * x[0] * number

    f = phintys.function([n, x], fori_loop(1, n, collatz, 0.0), mode=mode)
    total = 0
    for i in range(1, most):
        number = i
        while number > 1:
            number, total = 3 * number + 1 if number % 2 else number // 2, total + 1
    assert f(most, [0.5]) == total * 0.5


def test_steps_read_variables_with_names():
    x, h = pt.dvector("x"), pt.dscalar("h")
    seen = []

    def body(carry, x):
        seen.extend([*carry, x])
        return (carry[0] + x, carry[1]), None

    loop(body, (h, 1.0), x)
    assert [variable.name for variable in seen] == ["h[t-1]", "carry[1]", "x[t]"]
