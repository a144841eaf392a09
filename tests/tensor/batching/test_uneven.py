"""Batches of loops whose items end at different steps: right as each item alone, or an error."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.control import while_loop

MODES = ("native", "reference")
STARTS = np.array([0.3, 0.05, 1.0, 1.5])
STEPS = np.array([1, 4, 2, 3])


def check(value, t, others=(), given=(), mode="native"):
    """Compare a value and its gradient for a batch with those of each item."""
    outputs = [value, phintys.grad(value, t)]
    variables = [t, *others]
    alone = phintys.function(variables, outputs)
    batches = [x.type.clone(shape=(None, *x.type.shape))() for x in variables]
    batched = pt.vectorize_graph(outputs, dict(zip(variables, batches, strict=True)))
    found = phintys.function(batches, batched, mode=mode)(STARTS, *given)
    expected = [alone(*item) for item in zip(STARTS, *given, strict=True)]
    for number, one in enumerate(found):
        np.testing.assert_allclose(one, [values[number] for values in expected])


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_loops_with_a_condition(mode):
    """They read the rows of the forward loop from the last one of each item."""
    t = pt.dscalar("t")
    end = while_loop(lambda c: abs(c) < 2, lambda c: c * c + c + t, t)
    check(end, t, mode=mode)
    check(pt.exp(end) * t, t, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_loops_of_given_numbers_of_steps(mode):
    t, n = pt.dscalar("t"), pt.lscalar("n")
    states, _ = phintys.scan(lambda h: pt.sin(h) * t + 1, outputs_info=t, n_steps=n)
    check(states[-1], t, [n], [STEPS], mode)


@pytest.mark.parametrize("mode", MODES)
def test_the_first_and_the_last_rows_of_each_item(mode):
    t, ts, n, ns = pt.dscalar("t"), pt.dvector("ts"), pt.lscalar("n"), pt.lvector("ns")
    (states, squares), _ = phintys.scan(
        lambda h: [pt.sin(h) * t + 1, h**2], outputs_info=[t, None], n_steps=n
    )
    outputs = [states[-1], squares[-1], squares[0], states[0], squares[::-1][0], states[:][-1]]
    f = phintys.function([ts, ns], pt.vectorize_graph(outputs, {t: ts, n: ns}), mode=mode)
    alone = phintys.function([t, n], outputs)
    found = f(STARTS, STEPS)
    for number, item in enumerate(zip(STARTS, STEPS, strict=True)):
        np.testing.assert_allclose([one[number] for one in found], alone(*item))


@pytest.mark.parametrize("mode", MODES)
def test_loops_of_a_batch_without_items(mode):
    t, ts, n, ns = pt.dscalar("t"), pt.dvector("ts"), pt.lscalar("n"), pt.lvector("ns")
    end = while_loop(lambda c: abs(c) < 2, lambda c: c * c + c + t, t)
    states, _ = phintys.scan(lambda h: pt.sin(h) * t + 1, outputs_info=t, n_steps=n)
    outputs = [end, phintys.grad(end, t), states[-1], phintys.grad(states[-1], t)]
    f = phintys.function([ts, ns], pt.vectorize_graph(outputs, {t: ts, n: ns}), mode=mode)
    assert [x.shape for x in f([], np.zeros(0, int))] == [(0,)] * 4
    with pytest.raises((ValueError, IndexError)):
        f([1.0, 2.0], [-1, -2])


def test_gradients_within_batches_within_batches():
    def end(t):
        return while_loop(lambda c: abs(c) < 2, lambda c: c * c + c + t, t)

    def slopes(row):
        return phintys.grad(pt.vectorize(end)(row).sum(), row)

    t, rows = pt.dscalar("t"), pt.dmatrix("rows")
    alone = phintys.function([t], phintys.grad(end(t), t))
    found = phintys.function([rows], pt.vectorize(slopes, "(n)->(n)")(rows))
    given = np.array([[0.3, 1.0], [0.01, 0.5]])
    np.testing.assert_allclose(found(given), np.vectorize(alone)(given))


def test_rows_that_an_item_does_not_have_are_zero_or_an_error():
    t, ts, n, ns = pt.dscalar("t"), pt.dvector("ts"), pt.lscalar("n"), pt.lvector("ns")
    states, _ = phintys.scan(lambda h: h + t, outputs_info=t, n_steps=n)
    replace = {t: ts, n: ns}
    f = phintys.function([ts, ns], pt.vectorize_graph(states, replace))
    np.testing.assert_array_equal(f([1.0, 2.0], [1, 3]), [[2.0, 0.0, 0.0], [4.0, 6.0, 8.0]])

    for program in (states.mean(), states[::-1][1], pt.cumsum(states), states.shape[0] * t):
        g = phintys.function([ts, ns], pt.vectorize_graph(program, replace))
        alone = phintys.function([t, n], program)
        for number, item in enumerate(g([1.0, 2.0], [3, 3])):
            np.testing.assert_allclose(item, alone([1.0, 2.0][number], 3))
        with pytest.raises(ShapeError, match=r"(?i)items? of a batch"):
            g([1.0, 2.0], [1, 3])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("whole", [slice(None), ..., ()])
def test_an_index_of_all_rows(whole, mode):
    n, ns = pt.lscalar("n"), pt.lvector("ns")
    states, _ = phintys.scan(lambda h: h * 2, outputs_info=pt.ones(()), n_steps=n)
    f = phintys.function([ns], pt.vectorize_graph(states[whole][-1], {n: ns}), mode=mode)
    np.testing.assert_array_equal(f(STEPS), 2.0**STEPS)
