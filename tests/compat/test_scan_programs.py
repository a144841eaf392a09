"""Programs with loops as the old packages' users write them, with the old imports.

They follow what the tutorials on scan show: powers, polynomials, accumulation, writes at positions,
Gibbs sampling, taps, conditions, Jacobians, recurrent networks.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from phintys.compat import PACKAGES, install, uninstall

pytestmark = pytest.mark.parametrize("package", PACKAGES)
RNG = np.random.default_rng(3)
W, U, V = (RNG.normal(size=(3, 3)) for _ in range(3))
X = RNG.normal(size=(8, 3))

HEADER = """
import numpy as np
import {package}
import {package}.tensor as T
from {package} import function, grad, shared
"""


@pytest.fixture(autouse=True)
def _forget_old_packages():
    yield
    for package in PACKAGES:
        uninstall(package)


def run(package, program):
    """Return the names of a program that was written for an old package."""
    install(package)
    names = {}
    source = (HEADER + program).replace("{package}", package)
    exec(compile(source, f"{package}_program.py", "exec"), names)
    return names


def test_powers_of_each_element(package):
    names = run(
        package,
        """
k = T.iscalar("k")
A = T.vector("A")

powers, updates = {package}.scan(
    fn=lambda so_far, base: so_far * base,
    outputs_info=T.ones_like(A),
    non_sequences=A,
    n_steps=k,
)
power = function(inputs=[A, k], outputs=powers[-1], updates=updates)
""",
    )
    np.testing.assert_array_equal(names["power"](range(5), 3), np.arange(5) ** 3)


def test_a_polynomial(package):
    names = run(
        package,
        """
coefficients = T.dvector("coefficients")
x = T.scalar("x")
most = 10_000

terms, updates = {package}.scan(
    fn=lambda coefficient, exponent, base: coefficient * (base**exponent),
    outputs_info=None,
    sequences=[coefficients, T.arange(most)],
    non_sequences=x,
)
polynomial = function(inputs=[coefficients, x], outputs=terms.sum())
""",
    )
    assert names["polynomial"]([1.0, 0.0, 2.0], 3.0) == 19.0


def test_a_sum_with_an_initial_value_of_the_same_dtype(package):
    names = run(
        package,
        """
up_to = T.iscalar("up_to")

def add(number, total):
    return total + number

numbers = T.arange(up_to)
zero = T.as_tensor_variable(np.asarray(0, numbers.dtype))
totals, updates = {package}.scan(fn=add, outputs_info=zero, sequences=numbers)
triangle = function(inputs=[up_to], outputs=totals)
""",
    )
    np.testing.assert_array_equal(names["triangle"](6), [0, 1, 3, 6, 10, 15])


def test_writes_at_positions(package):
    names = run(
        package,
        """
places = T.imatrix("places")
numbers = T.vector("numbers")
model = T.matrix("model")

def put(place, number, model):
    nothing = T.zeros_like(model)
    return T.set_subtensor(nothing[place[0], place[1]], number)

pictures, updates = {package}.scan(
    fn=put, outputs_info=None, sequences=[places, numbers], non_sequences=model
)
draw = function(inputs=[places, numbers, model], outputs=pictures)
""",
    )
    found = names["draw"]([[1, 1], [2, 3]], [42.0, 50.0], np.zeros((5, 5)))
    assert found.shape == (2, 5, 5)
    assert (found[0, 1, 1], found[1, 2, 3], found.sum()) == (42.0, 50.0, 92.0)


def test_a_shared_counter(package):
    names = run(
        package,
        """
a = shared(1)
values, updates = {package}.scan(lambda: {a: a + 1}, n_steps=10)

b = a + 1
c = updates[a] + 1
f = function([], [b, c], updates=updates)
""",
    )
    f, a = names["f"], names["a"]
    for start in (1, 11):
        assert [int(value) for value in f()] == [start + 1, start + 11]
        assert a.get_value() == start + 10


GIBBS = """
weights = shared(W_values)
to_visible = shared(np.array([0.1, -0.2, 0.3]))
to_hidden = shared(np.array([-0.1, 0.2, 0.0]))
seed = shared(np.arange(1, 4), name="seed")

def draw(seed):
    # a stand-in for random numbers
    new = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return new, T.cast(new, "float64") / 2_147_483_648

{step}

sample = T.vector("sample")
values, updates = {package}.scan(one_step, outputs_info=sample, n_steps=10, {options})
gibbs10 = function([sample], values[-1], updates=updates)
"""

FORMS = {
    "shared variables found in the step": (
        """
def one_step(visible):
    first, below = draw(seed)
    hidden = T.cast(below < T.nnet_sigmoid(T.dot(visible, weights) + to_hidden), "float64")
    second, below = draw(first)
    visible = T.cast(below < T.nnet_sigmoid(T.dot(hidden, weights.T) + to_visible), "float64")
    return visible, {seed: second}
""",
        "",
    ),
    "shared variables that are listed": (
        """
def one_step(visible, weights, to_visible, to_hidden, state):
    first, below = draw(state)
    hidden = T.cast(below < T.nnet_sigmoid(T.dot(visible, weights) + to_hidden), "float64")
    second, below = draw(first)
    visible = T.cast(below < T.nnet_sigmoid(T.dot(hidden, weights.T) + to_visible), "float64")
    return [visible], [(state, second)]
""",
        "non_sequences=[weights, to_visible, to_hidden, seed], strict=True",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_gibbs_sampling(form, package):
    step, options = FORMS[form]
    program = GIBBS.replace("{step}", step).replace("{options}", options)
    program = program.replace("T.nnet_sigmoid", "T.sigmoid").replace(
        "W_values", f"np.array({W.tolist()})"
    )
    names = run(package, program)

    def draw(seed):
        new = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
        return new, new / 2_147_483_648

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    seed, visible = np.arange(1, 4), np.zeros(3)
    for _ in range(2):
        found = names["gibbs10"](visible)
        for _ in range(10):
            seed, below = draw(seed)
            hidden = (below < sigmoid(visible @ W + [-0.1, 0.2, 0.0])).astype(float)
            seed, below = draw(seed)
            visible = (below < sigmoid(hidden @ W.T + [0.1, -0.2, 0.3])).astype(float)
        np.testing.assert_array_equal(found, visible)
        np.testing.assert_array_equal(names["seed"].get_value(), seed)


@pytest.mark.parametrize("place", ["scan_module", "scan_module.scan_utils", "scan.utils", "scan"])
def test_a_condition_ends_the_loop(place, package):
    if place.startswith("scan_module") != (package == "theano"):
        place = {"theano": "scan_module.scan_utils"}.get(package, "scan.utils")
    names = run(
        package,
        f"""
from {{package}}.{place} import until

def double(value, largest):
    return value * 2, until(value * 2 > largest)

largest = T.scalar("largest")
values, _ = {{package}}.scan(
    double,
    outputs_info=T.constant(1.0, dtype="float64"),
    non_sequences=largest,
    n_steps=1024,
)
f = function([largest], values)
""",
    )
    np.testing.assert_array_equal(names["f"](45), [2, 4, 8, 16, 32, 64])


def test_taps_of_sequences_and_states(package):
    names = run(
        package,
        f"""
W, W_in_1, W_in_2, W_back, W_out = [shared(np.array(v)) for v in (
    {W.tolist()}, {U.tolist()}, {V.tolist()}, {W.T.tolist()}, {U.T.tolist()})]

def step(u_tm4, u_t, x_tm3, x_tm1, y_tm1, W, W_in_1, W_in_2, W_back, W_out):
    x_t = T.tanh(
        T.dot(x_tm1, W) + T.dot(u_t, W_in_1) + T.dot(u_tm4, W_in_2) + T.dot(y_tm1, W_back)
    )
    y_t = T.dot(x_tm3, W_out)
    return [x_t, y_t]

u = T.matrix("u")
x0 = T.matrix("x0")
y0 = T.vector("y0")
([x_vals, y_vals], updates) = {{package}}.scan(
    fn=step,
    sequences=dict(input=u, taps=[-4, -0]),
    outputs_info=[dict(initial=x0, taps=[-3, -1]), y0],
    non_sequences=[W, W_in_1, W_in_2, W_back, W_out],
    strict=True,
)
f = function([u, x0, y0], [x_vals, y_vals], updates=updates)
""",
    )
    x, y = list(X[:3]), [X[3]]
    for t in range(4, 8):
        new = np.tanh(x[-1] @ W + X[t] @ U + X[t - 4] @ V + y[-1] @ W.T)
        y.append(x[-3] @ U.T)
        x.append(new)
    for one, other in zip(names["f"](X, X[:3], X[3]), (x[3:], y[1:]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_a_jacobian_and_a_hessian(package):
    names = run(
        package,
        """
x = T.dvector("x")
y = x**2 * x.sum()
rows, updates = {package}.scan(
    lambda i, y, x: T.grad(y[i], x), sequences=T.arange(y.shape[0]), non_sequences=[y, x]
)
jacobian = function([x], rows, updates=updates)

cost = (x**3).sum() * x[0]
gy = grad(cost, x)
rows, updates = {package}.scan(
    lambda i, gy, x: T.grad(gy[i], x), sequences=T.arange(gy.shape[0]), non_sequences=[gy, x]
)
hessian = function([x], rows, updates=updates)
""",
    )
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(
        names["jacobian"](x), np.diag(2 * x * x.sum()) + (x**2)[:, None], rtol=1e-12
    )
    expected = np.diag(6 * x * x[0])
    expected[0] += 3 * x**2
    expected[:, 0] += 3 * x**2
    np.testing.assert_allclose(names["hessian"](x), expected, rtol=1e-12)


def test_maps_over_rows_and_folds(package):
    names = run(
        package,
        """
X, W, b = T.matrix("X"), T.matrix("W"), T.vector("b")
layer, updates = {package}.scan(lambda v: T.tanh(T.dot(v, W) + b), sequences=X)
norms, _ = {package}.map(lambda row: T.sqrt((row**2).sum()), X)
product, _ = {package}.reduce(lambda row, so_far: so_far * row, sequences=X, outputs_info=b)
left, _ = {package}.foldl(lambda row, so_far: so_far * 0.5 + row, X, b)
right, _ = {package}.foldr(lambda row, so_far: so_far * 0.5 + row, X, b)
f = function([X, W, b], [layer, norms, product, left, right], updates=updates)
""",
    )
    b = np.array([1.0, 2.0, 3.0])
    left, right = b, b
    for t in range(len(X)):
        left, right = left * 0.5 + X[t], right * 0.5 + X[-1 - t]
    expected = [np.tanh(X @ W + b), np.sqrt((X**2).sum(1)), b * X.prod(0), left, right]
    for one, other in zip(names["f"](X, W, b), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_a_sequence_read_from_its_end(package):
    names = run(
        package,
        """
X, W, Y, U, P, V, b = [T.matrix(name) for name in "XWYUPV"] + [T.vector("b")]
values, updates = {package}.scan(
    lambda y, p, x: T.tanh(T.dot(x, W) + T.dot(y, U) + T.dot(p, V)),
    sequences=[Y, P[::-1]],
    outputs_info=[b],
)
f = function([Y, P, b, W, U, V], values, updates=updates)
backwards, _ = {package}.scan(lambda p, h: h + p, P, b, go_backwards=True)
g = function([P, b], backwards)
""",
    )
    b, expected = X[0], []
    for t in range(8):
        b = np.tanh(b @ W + X[t] @ U + X[::-1][::-1][7 - t] @ V)
        expected.append(b)
    found = names["f"](X, X, X[0], W, U, V)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(names["g"](X, X[0]), X[0] + np.cumsum(X[::-1], 0))


RECURRENT = f"""
W_hh, W_hx = shared(np.array({W.tolist()})), shared(np.array({U.tolist()}))

x, target = T.matrix("x"), T.vector("target")

def recurrence(x_t, h_tm1):
    h_t = T.tanh(T.dot(x_t, W_hx) + T.dot(h_tm1, W_hh))
    return [h_t, h_t.sum()]

[h, s], _ = {{package}}.scan(
    fn=recurrence, sequences=x, outputs_info=[T.zeros((3,)), None], n_steps=x.shape[0]
)
cost = ((s - target) ** 2).mean()
gradients = grad(cost, [W_hh, W_hx])
train = function(
    inputs=[x, target],
    outputs=cost,
    updates=[(w, w - 0.1 * g) for w, g in zip([W_hh, W_hx], gradients)],
)
"""


def test_a_recurrent_network_learns(package):
    names = run(package, RECURRENT)
    target = np.sin(np.arange(8.0))
    costs = [float(names["train"](X, target)) for _ in range(60)]
    assert costs[-1] < 0.2 * costs[0]

    def cost(w):
        h, found = np.zeros(3), 0.0
        for t in range(8):
            h = np.tanh(X[t] @ w[1] + h @ w[0])
            found += (h.sum() - target[t]) ** 2 / 8
        return found

    weights = [names[name].get_value() for name in ("W_hh", "W_hx")]
    before = [w.copy() for w in weights]
    names["train"](X, target)
    for at, name in enumerate(("W_hh", "W_hx")):
        step = names[name].get_value() - before[at]
        moved = [w.copy() for w in before]
        moved[at][1, 2] += 1e-6
        slope = (cost(moved) - cost(before)) / 1e-6
        np.testing.assert_allclose(step[1, 2], -0.1 * slope, rtol=1e-3, atol=1e-7)


def test_loops_that_keep_some_steps(package):
    module = "scan_module.scan_checkpoints" if package == "theano" else "scan.checkpoints"
    names = run(
        package,
        f"""
from {{package}}.{module} import scan_checkpoints

A, k = T.vector("A"), T.iscalar("k")
powers, updates = scan_checkpoints(
    fn=lambda so_far, base: so_far * base,
    outputs_info=T.ones_like(A),
    non_sequences=A,
    n_steps=k,
    save_every_N=10,
)
result = powers[-1]
f = function([A, k], [result, grad(result.sum(), A)], updates=updates)
""",
    )
    value, slope = names["f"]([0.5, 1.0, 1.1], 25)
    base = np.array([0.5, 1.0, 1.1])
    np.testing.assert_allclose(value, base**25)
    np.testing.assert_allclose(slope, 25 * base**24)


def test_names_are_where_they_were(package):
    install(package)
    top = importlib.import_module(package)
    homes = (
        {"": "scan map reduce foldl foldr scan_checkpoints", "scan_module": "scan until map reduce"}
        | {"scan_module.scan": "scan", "scan_module.scan_views": "map foldr"}
        | {
            "scan_module.scan_op": "Scan",
            "scan_module.scan_utils": "until clone equal_computations",
        }
        if package == "theano"
        else {"": "scan map reduce foldl foldr", "scan": "scan until map scan_checkpoints"}
        | {"scan.basic": "scan", "scan.views": "map reduce foldl foldr", "scan.op": "Scan"}
        | {"scan.utils": "until", "scan.checkpoints": "scan_checkpoints"}
    )
    for home, names in homes.items():
        module = importlib.import_module(f"{package}.{home}".rstrip("."))
        for name in names.split():
            assert callable(getattr(module, name))
    x = top.tensor.vector("x")
    _, updates = top.scan(lambda x: x, x)
    assert updates + updates == {}
    assert top.scan(lambda x: x, x, return_updates=False).ndim == 1


def test_states_keep_their_dtype_as_in_the_packages(package):
    install(package)
    T = importlib.import_module(f"{package}.tensor")

    def counted(initial, step):
        outputs, _ = importlib.import_module(package).scan(step, outputs_info=[initial], n_steps=3)
        return outputs.dtype, outputs.eval().tolist()

    assert counted(T.constant(False), lambda s: s + 1) == ("int8", [1, 2, 3])
    assert counted(T.constant(True), lambda s: T.cast(s * 2, "int8")) == ("int8", [2, 4, 8])
    changes = [
        (np.array(False), lambda s: T.cast(s, "int8")),
        (T.constant(0, dtype="int8"), lambda s: s < 1),
        (T.constant(0, dtype="int64"), lambda s: s + 1.5),
        (T.constant(0.0, dtype="float32"), lambda s: s + np.float64(1.5)),
        (T.constant(0.0, dtype="float64"), lambda s: T.cast(s, "float32")),
    ]
    for initial, step in changes:
        with pytest.raises(ValueError, match="of a scan changes between steps"):
            counted(initial, step)
