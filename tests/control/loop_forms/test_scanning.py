"""``scan``: each argument, alone and with others, against loops in Python."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import (
    filter,
    foldl,
    foldr,
    fori_loop,
    loop,
    map,
    reduce,
    scan_checkpoints,
    while_loop,
)
from tests.control.loops_in_numpy import MODES, plain_scan

every_mode = pytest.mark.parametrize("mode", MODES)
X = np.random.default_rng(0).normal(size=(6, 3))
V = X[:, 0].copy()


def check(inputs, outputs, given, expected, mode, updates=None):
    found = phintys.function(inputs, outputs, updates=updates, mode=mode)(*given)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.sampled(5)
@every_mode
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("taps", [[0], [-1], [2], [0, -2], [1, 3], [-1, 0, 2], [-9, 4]])
def test_sequences_with_taps(taps, backwards, mode):
    x, y = pt.dvector("x"), pt.dvector("y")

    def step(*rows):
        return sum(row * 10.0**at for at, row in enumerate(rows))

    found, updates = phintys.scan(
        step, [{"input": x, "taps": taps}, y], go_backwards=backwards, return_list=True
    )
    assert updates == {}
    sequences = [(V, taps), (V[:4], [0])]
    expected, _ = plain_scan(
        lambda *rows: ([step(*rows)], False), sequences, [None], None, backwards
    )
    check([x, y], found, [V, V[:4]], expected, mode)


@pytest.mark.sampled(2)
@every_mode
@pytest.mark.parametrize("taps", [[-1], [-2], [-1, -2], [-3, -1, -2]])
def test_states_with_taps(taps, mode):
    h, steps = pt.dmatrix("h"), pt.lscalar("steps")

    def step(*rows):
        return sum(row * (0.3 + 0.1 * at) for at, row in enumerate(rows))

    info = {"initial": h[0] if taps == [-1] else h, "taps": taps}
    found, _ = phintys.scan(step, outputs_info=info, n_steps=steps)
    f = phintys.function([h, steps], found, mode=mode)
    for n in (0, 1, 2, 5):
        expected, _ = plain_scan(lambda *rows: ([step(*rows)], False), [], [(X, taps)], n)
        np.testing.assert_allclose(f(X, n), expected[0].reshape(n, 3), rtol=1e-10)


def test_arguments_come_in_the_order_sequences_states_others():
    x, y, u, v, w = pt.dvectors("x", "y", "u", "v", "w")
    seen = []

    def step(*arguments):
        seen.extend(arguments)
        return [arguments[4] + arguments[0], arguments[1] * 2, arguments[5] + w.sum()]

    phintys.scan(
        step,
        sequences=[{"input": x, "taps": [1, -1]}, y],
        outputs_info=[{"initial": u, "taps": [-1, -3]}, None, {"initial": v.sum()}],
        non_sequences=[w],
    )
    names = ["x[t+1]", "x[t-1]", "y[t]", "u[t-1]", "u[t-3]", None, "w"]
    assert [argument.name for argument in seen] == names
    assert seen[-1] is w


def test_parameters_name_what_has_no_name():
    seen = []

    def step(a, b, *others):
        seen.extend([a, b, *others])
        return a + b

    phintys.scan(step, pt.arange(3), 0)
    assert [argument.name for argument in seen] == ["a", "b"]


@every_mode
@pytest.mark.parametrize("n", [None, 3])
def test_several_sequences_and_states(n, mode):
    x, y = pt.dmatrix("x"), pt.dvector("y")
    h, k = pt.dvector("h"), pt.lvector("k")
    w = pt.dmatrix("w")

    def symbolic(x, x2, y, h, before, last, w):
        new = pt.tanh(x + x2 * y + w @ h)
        return new, last * 2 + before, new.sum()

    def plain(x, x2, y, h, before, last, w):
        new = np.tanh(x + x2 * y + w @ h)
        return [new, last * 2 + before, new.sum()], False

    found, _ = phintys.scan(
        symbolic,
        [{"input": x, "taps": [0, 1]}, y],
        [h, {"initial": k, "taps": [-2, -1]}, None],
        w,
        n,
    )
    given = X, V[:4], np.ones(3), np.array([1, 2]), X[:3]
    sequences = [(X, [0, 1]), (V[:4], [0])]
    states = [([np.ones(3)], [-1]), ([1, 2], [-2, -1]), None]
    expected, _ = plain_scan(plain, sequences, states, n, fixed=[X[:3]])
    check([x, y, h, k, w], found, given, expected, mode)


@every_mode
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float32", "complex128"])
def test_states_keep_their_dtypes(dtype, mode):
    x, h = pt.vector("x", dtype=dtype), pt.scalar("h", dtype=dtype)
    found, _ = phintys.scan(lambda x, h: pt.maximum(x, h) if dtype[0] != "c" else x * h, x, h)
    assert found.dtype == dtype
    values = np.array([3, 1, 4], dtype)
    expected = np.maximum.accumulate(values) if dtype[0] != "c" else np.cumprod(values)
    check(
        [x, h],
        [found],
        [values, np.asarray(values[0])],
        [expected * values[0] if dtype[0] == "c" else expected],
        mode,
    )


@every_mode
@pytest.mark.parametrize(
    ("initial", "dtype", "expected"),
    [
        (0, "float64", "float64"),
        (0, "float32", "float32"),
        (0.0, "float32", "float32"),
        (False, "int32", "int32"),
        (0, "complex64", "complex64"),
    ],
)
def test_python_numbers_take_the_dtype_of_the_state(initial, dtype, expected, mode):
    x = pt.vector("x", dtype=dtype)
    found, _ = phintys.scan(lambda x, h: (h + x).astype(dtype), x, initial)
    assert found.dtype == expected
    values = np.array([1, 2, 3], dtype)
    check([x], [found], [values], [np.cumsum(values)], mode)


@every_mode
@pytest.mark.parametrize("strict", [False, True])
def test_shared_variables_that_are_read(strict, mode):
    w = phintys.shared(np.array(2.0), name="w")
    x = pt.dvector("x")
    found, updates = phintys.scan(
        lambda x, h, *_: h * w + x, x, 0.0, [w] if strict else None, strict=strict
    )
    assert not updates
    expected, _ = plain_scan(lambda x, h: ([h * 2 + x], False), [(V, [0])], [([0.0], [-1])])
    check([x], [found], [V], expected, mode)


def test_strict_allows_what_the_step_updates():
    counter = phintys.shared(0, name="counter")
    stream = phintys.random.RandomStream(1)
    draws, updates = phintys.scan(
        lambda: (stream.normal(), {counter: counter + 1}), n_steps=3, strict=True
    )
    assert len(set(phintys.function([], draws, updates=updates)())) == 3
    assert counter.get_value() == 3


@every_mode
@pytest.mark.parametrize("form", ["dict", "pairs", "updates alone", "until first", "flat"])
def test_updates_and_conditions_in_all_forms(form, mode):
    count = phintys.shared(0, name="count")
    x = pt.dvector("x")
    stop = phintys.until(x.sum() < 0)

    def step(x):
        y = x * count
        stop = phintys.until(x > 1)
        return {
            "dict": ([y], {count: count + 1}),
            "pairs": (y, [(count, count + 1)]),
            "updates alone": {count: count + 1},
            "until first": (stop, [y], {count: count + 1}),
            "flat": (y, y + 1, {count: count + 1}, stop),
        }[form]

    found, updates = phintys.scan(step, x, return_list=True)
    values = np.array([0.5, 1.0, 2.0, 3.0])
    ran = 3 if form in {"until first", "flat"} else 4
    y = values[:ran] * np.arange(ran)
    expected = {"updates alone": [], "flat": [y, y + 1]}.get(form, [y])
    check([x], found, [values], expected, mode, updates)
    assert count.get_value() == ran
    assert stop.condition.dtype == "bool"


@every_mode
def test_updates_read_their_value_of_the_step_before(mode):
    a, b = phintys.shared(0, name="a"), phintys.shared(1, name="b")
    doubled = a * 2  # depends on a, so it is computed in each step
    found, updates = phintys.scan(lambda: (doubled, {a: b, b: a + b}), n_steps=6)
    f = phintys.function([], found, updates=updates, mode=mode)
    np.testing.assert_array_equal(f(), [0, 2, 2, 4, 6, 10])
    assert (a.get_value(), b.get_value()) == (8, 13)
    np.testing.assert_array_equal(f(), [16, 26, 42, 68, 110, 178])


@every_mode
def test_default_updates_of_shared_variables_that_a_step_makes(mode):
    made = []

    def step():
        seed = phintys.shared(1, name="seed")
        seed.default_update = (seed * 7) % 31
        made.append(seed)
        return seed

    found, updates = phintys.scan(step, n_steps=4)
    f = phintys.function([], found, updates=updates, mode=mode)
    np.testing.assert_array_equal(f(), [1, 7, 18, 2])
    np.testing.assert_array_equal(f(), [14, 5, 4, 28])
    assert list(updates) == made


@every_mode
def test_what_steps_do_not_change_is_computed_outside(mode):
    x, w = pt.dvector("x"), pt.dmatrix("w")
    product = w @ w
    found, _ = phintys.scan(lambda x, h: h @ product + pt.exp(w).sum() * x, x, pt.zeros(3))
    op = found.owner.inputs[0].owner.op
    assert all(node.op != pt.exp for node in op.fgraph.apply_nodes)
    assert sum(isinstance(node.op, pt.Dot) for node in op.fgraph.apply_nodes) == 1
    other = X[:3]
    expected, _ = plain_scan(
        lambda x, h: ([h @ other @ other + np.exp(other).sum() * x], False),
        [(V, [0])],
        [([np.zeros(3)], [-1])],
    )
    check([x, w], [found], [V, other], expected, mode)


@every_mode
def test_loops_in_loops(mode):
    x = pt.dmatrix("x")

    def outer(row, scale):
        def inner(a, h, scale):
            return h * scale + a * row.sum()

        rows, _ = phintys.scan(inner, row, 0.0, scale)
        return rows[-1], rows, scale

    def step(row, scale):
        rows, _ = plain_scan(
            lambda a, h: ([h * scale + a * row.sum()], False), [(row, [0])], [([0.0], [-1])]
        )
        return [rows[0][-1], rows[0], scale], False

    found, _ = phintys.scan(outer, x, [0.5, None, None])
    expected, _ = plain_scan(step, [(X, [0])], [([0.5], [-1]), None, None])
    check([x], found, [X], expected, mode)


@every_mode
def test_values_of_other_types_are_states(mode):
    class Box(phintys.Type):
        def filter(self, value, strict=False, allow_downcast=None):
            return value

    box = Box()

    @phintys.wrap_py([box, pt.dscalar], [box])
    def push(stack, x):
        return (*stack, float(x))

    x, stack = pt.dvector("x"), box("stack")
    found, _ = phintys.scan(lambda x, stack: push(stack, x), x, stack)
    f = phintys.function([x, stack], found, mode=mode)
    assert f([1.0, 2.0], ()) == (1.0, 2.0)
    assert f([], (5.0,)) == (5.0,)


@every_mode
def test_shapes_that_depend_on_values(mode):
    n = pt.lscalar("n")
    found, _ = phintys.scan(lambda i, h: h + i, pt.arange(n), pt.zeros((n, n)))
    check(
        [n],
        [found, found.shape],
        [3],
        [np.cumsum(np.arange(3.0))[:, None, None] * np.ones((3, 3)), [3, 3, 3]],
        mode,
    )


@every_mode
def test_the_forms_of_the_result(mode):
    x = pt.dvector("x")
    alone, updates = phintys.scan(lambda x: x, x)
    assert updates == {}
    (listed,) = phintys.scan(lambda x: x, x, return_list=True, return_updates=False)
    nothing = phintys.scan(lambda x: {}, x)
    assert nothing == (None, {})
    check([x], [alone, listed], [V], [V, V], mode)


@every_mode
def test_options_that_have_no_effect_on_values(mode):
    x = pt.dvector("x")
    found, _ = phintys.scan(
        lambda x, h: x + h,
        x,
        0.0,
        mode="FAST_RUN",
        profile="steps",
        allow_gc=False,
        truncate_gradient=2,
    )
    op = found.owner.inputs[0].owner.op
    assert (str(op), op.truncate_gradient) == ("steps", 2)
    check([x], [found], [V], [np.cumsum(V)], mode)


@every_mode
def test_maps_and_folds(mode):
    x, y = pt.dvector("x"), pt.dvector("y")
    squares, _ = map(lambda x: x**2, x, go_backwards=True)
    total, _ = reduce(lambda x, h: h * 2 + x, x, 1.0)
    left, _ = foldl(lambda x, y, h, k: [h - x, k * y], [x, y], [0.0, 1.0])
    right, _ = foldr(lambda x, h: h * 0.5 + x, x, 0.0)
    kept = filter(lambda x: x > 0, x)
    both = filter(lambda x, y: [x > 0, y > x], [x, y], go_backwards=True)
    given = V, V[::-1].copy()
    expected = [
        V[::-1] ** 2,
        plain_scan(lambda x, h: ([h * 2 + x], False), [(V, [0])], [([1.0], [-1])])[0][0][-1],
        -V.sum(),
        V.prod(),
        plain_scan(lambda x, h: ([h * 0.5 + x], False), [(V[::-1], [0])], [([0.0], [-1])])[0][0][
            -1
        ],
        V[V > 0],
        V[::-1][V[::-1] > 0],
        V[V[::-1] < V],
    ]
    check([x, y], [squares, total, *left, right, kept, *both], given, expected, mode)


@every_mode
def test_folds_of_nothing_are_the_initial_value(mode):
    x = pt.dvector("x")
    total, _ = reduce(lambda x, h: h + x, x, 3.0)
    check([x], [total], [np.zeros(0)], [3.0], mode)


@pytest.mark.sampled(4)
@every_mode
@pytest.mark.parametrize("every", [1, 3, 4])
def test_loops_of_blocks(every, mode):
    x, w = pt.dvector("x"), pt.dscalar("w")
    count = phintys.shared(0, name="count")

    def step(x, h, w):
        return [h * w + x + 0.1 * count, x * count], {count: count + 1}

    found, updates = scan_checkpoints(step, x, [0.0, None], w, save_every_N=every)
    f = phintys.function([x, w], found, updates=updates, mode=mode)
    for n in (0, 1, 4, 6):
        count.set_value(0)
        values = V[:n]
        h, rows = 0.0, []
        for t in range(n):
            h = h * 0.5 + values[t] + 0.1 * t
            rows.append((h, values[t] * t))
        kept = [rows[t] for t in range(n) if t % every == every - 1 or t == n - 1]
        np.testing.assert_allclose(np.transpose(f(values, 0.5)), np.reshape(kept, (-1, 2)))
        assert count.get_value() == n


@pytest.mark.sampled(5)
@every_mode
@pytest.mark.parametrize("checkpoint", [None, False, 1, 2])
def test_what_gradients_keep_does_not_change_them(checkpoint, mode):
    x, w = pt.dvector("x"), pt.dscalar("w")

    def step(x, h):
        return pt.tanh(h * w + x)

    rows, _ = phintys.scan(step, x, 0.0, checkpoint=checkpoint)
    last, _ = loop(lambda h, x: (step(x, h), None), 0.0, x, checkpoint=checkpoint)
    counted = fori_loop(0, x.shape[0], lambda i, h: step(x[i], h), 0.0, checkpoint=checkpoint)
    (_, ended) = while_loop(
        lambda c: c[0] < x.shape[0],
        lambda c: (c[0] + 1, step(x[c[0]], c[1])),
        (0, 0.0),
        checkpoint=checkpoint,
    )
    costs = [rows[-1], last, counted, ended] if mode != "debug" else [rows[-1]]
    slopes = [phintys.grad(cost, w) for cost in costs]
    op = rows.owner.inputs[0].owner.op
    assert op.checkpoint is checkpoint
    h, slope = 0.0, 0.0
    for value in V:
        h, before = np.tanh(0.5 * h + value), h
        slope = (1 - h**2) * (before + 0.5 * slope)
    check([x, w], slopes, [V, 0.5], [slope] * len(costs), mode)
