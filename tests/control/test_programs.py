"""Programs with loops as users write them, against the same in NumPy."""

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import random, scan, until
from phintys.control import while_loop

RNG = np.random.default_rng(5)


def slopes(f, x, eps=1e-6):
    """Return finite differences of a function of an array."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = eps
        found[at] = (f(x + step) - f(x - step)) / (2 * eps)
    return found


def test_the_most_likely_states_by_positions_that_are_carried_back():
    transitions, scores, start = (
        pt.dmatrix("transitions"),
        pt.dmatrix("scores"),
        pt.dvector("start"),
    )

    def forward(score, best, transitions):
        paths = best[:, None] + transitions
        return paths.max(axis=0) + score, paths.argmax(axis=0)

    best, back = scan(
        forward, [scores[1:]], [start + scores[0], None], [transitions], return_updates=False
    )
    last = best[-1].argmax()
    before = scan(
        lambda row, state: row[state], [back], [last], go_backwards=True, return_updates=False
    )
    path = pt.concatenate([before[::-1], last[None]])
    f = phintys.function([transitions, scores, start], [path, best[-1].max()])
    a, b, p = RNG.normal(size=(5, 5)), RNG.normal(size=(30, 5)), RNG.normal(size=5)
    found, value = f(a, b, p)
    rows, pointers = p + b[0], []
    for row in b[1:]:
        pointers.append((rows[:, None] + a).argmax(axis=0))
        rows = (rows[:, None] + a).max(axis=0) + row
    expected = [rows.argmax()]
    for pointer in pointers[::-1]:
        expected.append(pointer[expected[-1]])
    np.testing.assert_array_equal(found, expected[::-1])
    np.testing.assert_allclose(value, rows.max())


def test_the_loss_of_alignments_and_its_gradient():
    logs, labels = pt.dmatrix("logs"), pt.lvector("labels")
    never = -1e30
    places = pt.arange(2 * labels.shape[0] + 1)
    spaced = pt.set_subtensor(pt.zeros_like(places)[1::2], labels)
    jumps = (spaced[2:] != spaced[:-2]) & (spaced[2:] != 0)
    may_jump = pt.concatenate([pt.zeros((2,), dtype="bool"), jumps])
    first = pt.switch(places < 2, logs[0][spaced], never)

    def step(row, alpha, spaced, may_jump):
        one = pt.concatenate([[never], alpha[:-1]])
        two = pt.switch(may_jump, pt.concatenate([[never, never], alpha[:-2]]), never)
        return pt.logaddexp(pt.logaddexp(alpha, one), two) + row[spaced]

    alphas = scan(step, [logs[1:]], [first], [spaced, may_jump], return_updates=False)
    loss = -pt.logaddexp(alphas[-1][-1], alphas[-1][-2])
    f = phintys.function([logs, labels], [loss, phintys.grad(loss, logs)])
    symbols = np.array([1, 2, 2, 4])

    def plain(x):
        extended = np.zeros(2 * len(symbols) + 1, int)
        extended[1::2] = symbols
        alpha = np.where(np.arange(len(extended)) < 2, x[0][extended], never)
        for row in x[1:]:
            new = np.full(len(extended), never)
            for s, symbol in enumerate(extended):
                new[s] = alpha[s]
                if s >= 1:
                    new[s] = np.logaddexp(new[s], alpha[s - 1])
                if s >= 2 and symbol not in (0, extended[s - 2]):
                    new[s] = np.logaddexp(new[s], alpha[s - 2])
                new[s] += row[symbol]
            alpha = new
        return -np.logaddexp(alpha[-1], alpha[-2])

    x = RNG.normal(size=(9, 5))
    value, gradient = f(x, symbols)
    np.testing.assert_allclose(value, plain(x))
    np.testing.assert_allclose(gradient, slopes(plain, x), rtol=1e-5, atol=1e-7)


def test_steps_of_adapted_length_in_a_loop_with_a_condition():
    k, y0, end = pt.dscalar("k"), pt.dvector("y0"), pt.dscalar("end")

    def step(state):
        t, h, y, n = state
        h = pt.minimum(h, end - t)
        k1 = -k * y + pt.sin(t)
        k2 = -k * (y + h / 2 * k1) + pt.sin(t + h / 2)
        k3 = -k * (y + 0.75 * h * k2) + pt.sin(t + 0.75 * h)
        new = y + h * (2 / 9 * k1 + 1 / 3 * k2 + 4 / 9 * k3)
        k4 = -k * new + pt.sin(t + h)
        error = h * (-5 / 72 * k1 + 1 / 12 * k2 + 1 / 9 * k3 - 1 / 8 * k4)
        size = pt.sqrt((error**2).mean()) / 1e-7
        factor = pt.clip(0.9 * pt.maximum(size, 1e-10) ** (-1 / 3), 0.2, 5.0)
        return pt.switch(size <= 1, t + h, t), h * factor, pt.switch(size <= 1, new, y), n + 1

    begin = (pt.constant(0.0), pt.constant(0.01), y0, pt.constant(0))
    t, _, y, n = while_loop(lambda state: (state[0] < end) & (state[3] < 10_000), step, begin)
    gradients = phintys.grad(y.sum(), [k, y0])
    f = phintys.function([k, y0, end], [t, y, n, *gradients])

    def exact(k, y0, t=3.0):
        c = k * k + 1
        return (k * np.sin(t) - np.cos(t)) / c + (y0 + 1 / c) * np.exp(-k * t)

    first = np.array([1.0, 2.0])
    last, found, count, by_k, by_first = f(2.0, first, 3.0)
    assert (last, 10 < count < 10_000) == (3.0, True)
    np.testing.assert_allclose(found, exact(2.0, first), rtol=1e-5)
    slope = (exact(2 + 1e-6, first) - exact(2 - 1e-6, first)).sum() / 2e-6
    np.testing.assert_allclose(by_k, slope, rtol=1e-3)
    np.testing.assert_allclose(by_first, np.full(2, np.exp(-6)), rtol=1e-3)


def test_messages_on_a_ring_until_they_stay_the_same():
    factors, weights = pt.dtensor3("factors"), pt.dmatrix("weights")

    def step(right, left, factors, weights):
        new_right = pt.roll(pt.einsum("ia,iab->ib", weights * right, factors), 1, axis=0)
        new_left = pt.einsum("ib,iab->ia", pt.roll(weights * left, -1, axis=0), factors)
        new_right = new_right / new_right.sum(axis=1, keepdims=True)
        new_left = new_left / new_left.sum(axis=1, keepdims=True)
        change = abs(new_right - right).max() + abs(new_left - left).max()
        return [new_right, new_left], until(change < 1e-12)

    ones = pt.ones_like(weights)
    right, left = scan(
        step,
        outputs_info=[ones, ones],
        non_sequences=[factors, weights],
        n_steps=500,
        return_updates=False,
    )
    beliefs = weights * right[-1] * left[-1]
    beliefs = beliefs / beliefs.sum(axis=1, keepdims=True)
    cost = -pt.log(beliefs[:, 0]).sum()
    f = phintys.function([factors, weights], [beliefs, right.shape[0], phintys.grad(cost, weights)])
    p, q = np.exp(RNG.normal(size=(6, 3, 3))), np.exp(RNG.normal(size=(6, 3)))

    def plain(q):
        right = left = np.ones((6, 3))
        count = 0
        change = np.inf
        while change >= 1e-12:
            count += 1
            one = np.roll(np.einsum("ia,iab->ib", q * right, p), 1, axis=0)
            other = np.einsum("ib,iab->ia", np.roll(q * left, -1, axis=0), p)
            one, other = (x / x.sum(axis=1, keepdims=True) for x in (one, other))
            change = abs(one - right).max() + abs(other - left).max()
            right, left = one, other
        found = q * right * left
        return found / found.sum(axis=1, keepdims=True), count

    found, ran, gradient = f(p, q)
    expected, count = plain(q)
    assert ran == count
    np.testing.assert_allclose(found, expected)
    by_differences = slopes(lambda q: -np.log(plain(q)[0][:, 0]).sum(), q)
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-4, atol=1e-6)


def test_the_distance_of_two_texts_by_a_loop_in_a_loop():
    one, other = pt.lvector("one"), pt.lvector("other")

    def row(letter, before, other):
        def cell(its, above, beside, left):
            return pt.minimum(pt.minimum(above, left) + 1, beside + pt.neq(letter, its))

        sequences = [other, before[1:], before[:-1]]
        rest = scan(cell, sequences, [before[0] + 1], return_updates=False)
        return pt.concatenate([before[:1] + 1, rest])

    rows = scan(row, [one], [pt.arange(other.shape[0] + 1)], [other], return_updates=False)
    f = phintys.function([one, other], rows[-1][-1])
    a, b = RNG.integers(0, 4, 20), RNG.integers(0, 4, 15)
    table = np.add.outer(np.arange(21), np.arange(16))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1, j + 1] = min(
                table[i, j + 1] + 1, table[i + 1, j] + 1, table[i, j] + (x != y)
            )
    assert f(a, b) == table[-1, -1]


def test_a_soft_distance_of_two_series_by_a_loop_in_a_loop():
    x, y = pt.dvectors("x", "y")
    gamma, far = 0.5, 1e10

    def row(costs, above):
        def cell(cost, diagonal, up, left):
            ways = pt.stack([diagonal, up, left])
            return cost - gamma * pt.logsumexp(-ways / gamma)

        cells = scan(cell, [costs, above[:-1], above[1:]], pt.constant(far), return_updates=False)
        return pt.concatenate([[far], cells])

    first = pt.concatenate([pt.zeros(1), pt.full(y.shape, far)])
    rows = scan(row, (x[:, None] - y) ** 2, first, return_updates=False)
    distance = rows[-1, -1]
    f = phintys.function([x, y], [distance, phintys.grad(distance, [x, y])])

    def expected(x, y):
        table = np.full((len(x) + 1, len(y) + 1), far)
        table[0, 0] = 0
        for i, j in np.ndindex(len(x), len(y)):
            ways = table[[i, i, i + 1], [j, j + 1, j]]
            soft = -gamma * np.logaddexp.reduce(-ways / gamma)
            table[i + 1, j + 1] = (x[i] - y[j]) ** 2 + soft
        return table[-1, -1]

    a, b = RNG.normal(size=6), RNG.normal(size=4)
    value, (by_x, by_y) = f(a, b)
    np.testing.assert_allclose(value, expected(a, b))
    np.testing.assert_allclose(by_x, slopes(lambda a: expected(a, b), a), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_y, slopes(lambda b: expected(a, b), b), rtol=1e-4, atol=1e-6)


def test_a_mixture_of_normal_distributions_until_its_likelihood_stays():
    points, starts = pt.dmatrix("points"), pt.dmatrix("starts")
    count, dims = 3, 2

    def joint(mixture):
        factor = pt.linalg.cholesky(mixture["spread"])
        apart = points - mixture["mean"][:, None]
        z = pt.linalg.solve_triangular(factor, apart.transpose(0, 2, 1), lower=True)
        size = pt.log(pt.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        constant = pt.log(mixture["weight"]) - size - dims / 2 * np.log(2 * np.pi)
        return constant[:, None] - (z**2).sum(axis=1) / 2

    def improve(state):
        mixture, new, _, steps = state
        logs = joint(mixture)
        shares = pt.softmax(logs, axis=0)
        total = shares.sum(axis=1)
        mean = shares @ points / total[:, None]
        apart = points - mean[:, None]
        spread = pt.einsum("kn,kni,knj->kij", shares, apart, apart) / total[:, None, None]
        mixture = {"weight": total / points.shape[0], "mean": mean, "spread": spread}
        return mixture, pt.logsumexp(logs, axis=0).sum(), new, steps + 1

    first = {
        "weight": pt.full(count, 1 / count),
        "mean": starts,
        "spread": pt.tile(pt.eye(dims), (count, 1, 1)),
    }
    mixture, value, _, steps = while_loop(
        lambda state: (abs(state[1] - state[2]) > 1e-9) & (state[3] < 100),
        improve,
        (first, -1e300, 0.0, 0),
    )
    centres = np.array([(-3.0, 0.0), (3.0, 0.0), (0.0, 4.0)])
    data = np.concatenate([RNG.normal(centre, 0.6, size=(40, 2)) for centre in centres])
    found, likelihood, ran = phintys.function([points, starts], [mixture, value, steps])(
        data, data[[0, 50, 100]]
    )
    np.testing.assert_allclose(found["mean"], centres, atol=0.4)
    assert 3 < ran < 100

    weight, mean, spread = np.full(count, 1 / count), data[[0, 50, 100]], [np.eye(dims)] * count
    for _ in range(ran):
        apart = data - mean[:, None]
        squares = np.einsum("kni,kij,knj->kn", apart, np.linalg.inv(spread), apart)
        logs = np.log(weight) - np.log(np.linalg.det(spread)) / 2 - np.log(2 * np.pi)
        logs = logs[:, None] - squares / 2
        sums = np.logaddexp.reduce(logs)
        shares = np.exp(logs - sums)
        total = shares.sum(axis=1)
        weight, mean = total / len(data), shares @ data / total[:, None]
        apart = data - mean[:, None]
        spread = np.einsum("kn,kni,knj->kij", shares, apart, apart) / total[:, None, None]
    np.testing.assert_allclose(likelihood, sums.sum(), rtol=1e-9)
    np.testing.assert_allclose(found["spread"], spread, rtol=1e-6, atol=1e-9)


def test_particles_that_are_drawn_anew_estimate_what_a_kalman_filter_computes():
    stream, count = random.RandomStream(5), 4000
    seen, decay = pt.dvector("seen"), pt.dscalar("decay")

    def step(y, particles, total):
        moved = decay * particles + 0.5 * stream.normal(size=count)
        logs = random.logp(random.Normal(moved, 0.7), y)
        edges = pt.cumsum(pt.softmax(logs))
        drawn = pt.searchsorted(edges, (pt.arange(count) + stream.uniform()) / count)
        return moved[pt.minimum(drawn, count - 1)], total + pt.logsumexp(logs) - np.log(count)

    (clouds, totals), updates = scan(step, seen, [stream.normal(size=count), 0.0])
    f = phintys.function([seen, decay], [clouds.mean(axis=1), totals[-1]], updates=updates)

    data = RNG.normal(size=20)
    mean, variance, likelihood, means = 0.0, 1.0, 0.0, []
    for y in data:
        mean, variance = 0.8 * mean, 0.64 * variance + 0.25
        gain = variance / (variance + 0.49)
        likelihood -= ((y - mean) ** 2 / (variance + 0.49) + np.log(variance + 0.49)) / 2
        mean, variance = mean + gain * (y - mean), variance * (1 - gain)
        means.append(mean)
    likelihood -= len(data) / 2 * np.log(2 * np.pi)
    runs = [f(data, 0.8) for _ in range(3)]
    assert len({float(total) for _, total in runs}) == 3
    for estimate, total in runs:
        np.testing.assert_allclose(estimate, means, atol=0.06)
        assert abs(total - likelihood) < 0.4
