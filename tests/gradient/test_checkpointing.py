"""checkpoint: the same values and derivatives, with less memory."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import grad, ifelse
from phintys._base.errors import ArgumentError
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.writer.programs import emit_program
from phintys.control import OpFromGraph, scan
from phintys.control.fences import Fence
from phintys.control.graph_ops.custom import Checkpoint
from phintys.gradient import checkpoint, custom_gradient, jacobian, verify_grad
from phintys.graph import FunctionGraph, equal_computations, generic
from tests.counted import Counted

MODES = ("native", "reference", "debug")
X, Y = np.array([0.5, 1.0, -2.0]), np.array([2.0, 3.0, 0.25])


def values(inputs, outputs, *arguments, mode="native"):
    return phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*arguments)


def block(h, weights):
    for w in weights:
        h = pt.tanh(h @ w)
    return h


def wave(u, v, factor=2.0):
    e = pt.exp(pt.sin(u) * factor)
    return {"a": e * v, "b": (e**2).sum()}


def plain(function):
    return function


# ---- values and derivatives ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode", ["native", "reference", pytest.param("debug", marks=pytest.mark.stress)]
)
def test_values_and_derivatives_are_the_same(mode):
    x, y = pt.dvectors("x", "y")

    def outputs(wrap):
        found = wrap(wave)(x, v=y, factor=1.5)
        cost = (found["a"] ** 2).sum() * found["b"]
        slope = grad(cost, x)
        return [
            *found.values(),
            *grad(cost, [x, y]),
            *grad((slope**2).sum(), [x, y]),
            phintys.Rop(cost, [x, y], [y, x]),
            grad(phintys.Rop(cost, x, y), x),
            jacobian(found["a"], x),
            phintys.hessian(found["b"], x),
        ]

    made, expected = (
        values([x, y], outputs(wrap), X, Y, mode=mode) for wrap in (checkpoint, plain)
    )
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11)


def test_finite_differences():
    f = checkpoint(lambda u, v: checkpoint(wave)(u * v, pt.cos(v))["a"] + u)
    verify_grad(lambda x, y: f(x, y).sum(), [X, Y])
    verify_grad(lambda x, y: grad(f(x, y).sum(), [x, y])[1].sum(), [X, Y])


@pytest.mark.parametrize("mode", MODES)
def test_what_is_captured_has_gradients(mode):
    w = phintys.shared(3.0, "w")
    x, y = pt.dvectors("x", "y")
    outside = pt.exp(y)

    def cost(wrap):
        return wrap(lambda u: pt.tanh(u * outside) * w)(x).sum()

    made, expected = (
        values([x, y], grad(cost(wrap), [x, y, w, outside]), X, Y, mode=mode)
        for wrap in (checkpoint, plain)
    )
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_inside_of_other_things(mode):
    c = pt.bscalar("c")
    x, y, u = pt.dvectors("x", "y", "u")
    sine = custom_gradient(lambda v: (pt.sin(v), lambda g: g * 5))

    def outputs(wrap):
        f = wrap(lambda v: wrap(lambda a: pt.exp(pt.sin(a)))(sine(v)) * v)
        inner = OpFromGraph([u], [f(u)], inline=False)
        chosen = ifelse(c, f(x), x * y)
        return [*grad((chosen * y).sum(), [x, y]), grad(inner(x).sum(), x), f(inner(x))]

    for value in (0, 1):
        made, expected = (
            values([c, x, y], outputs(wrap), value, X, Y, mode=mode) for wrap in (checkpoint, plain)
        )
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_in_the_body_of_a_loop(mode):
    x, w = pt.dvector("x"), pt.dmatrix("w")
    tangent = custom_gradient(lambda h: (pt.sin(h), lambda g: g * pt.cos(h)))

    def outputs(wrap, sine):
        step = wrap(lambda h, v: pt.tanh(pt.tanh(h @ v) @ v))
        rows, _ = scan(lambda h, v: sine(step(h, v)), outputs_info=x, non_sequences=w, n_steps=4)
        cost = (rows**2).sum()
        return [cost, *grad(cost, [x, w])]

    matrix = np.eye(3) * 0.9 + 0.1
    made, expected = (
        phintys.function([x, w], outputs(*some), mode=mode)(X, matrix)
        for some in ((checkpoint, tangent), (plain, pt.sin))
    )
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_values_of_any_type_and_integers():
    thing, n, x = generic("thing"), pt.lscalar("n"), pt.dvector("x")
    f = checkpoint(lambda a, k, v: (a, k + 1, pt.tanh(v) * k))
    same, number, value = f(thing, n, x)
    cost = value.sum() * number
    found = values([thing, n, x], [same, number, grad(cost, x)], "it", 2, X)
    assert found[:2] == ["it", 3]
    np.testing.assert_allclose(found[2], 6 / np.cosh(X) ** 2)


# ---- what is computed, and when -----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_it_is_computed_again_for_the_gradient_alone(mode):
    op = Counted("counted")
    x = pt.dvector("x")
    value = checkpoint(lambda v: op(v) * 2)(x)
    f = phintys.function([x], value, mode=mode)
    g = phintys.function([x], [(value**2).sum(), grad((value**2).sum(), x)], mode=mode)
    for compiled, calls in ((f, 1), (g, 2)):
        op.calls = 0
        compiled(X)
        assert op.calls == calls


def test_forward_derivatives_share_the_computation():
    x, v = pt.dvectors("x", "v")
    value = checkpoint(pt.exp)(x)
    f = phintys.function([x, v], [value, phintys.Rop(value, x, v)])
    assert sorted(str(node.op) for node in f.maker.fgraph.apply_nodes) == ["Exp", "Mul"]


def test_gradients_nobody_asks_for_are_not_computed():
    x, w = pt.dmatrices("x", "w")

    def products(wrt):
        loss = (checkpoint(block)(x, [w]) ** 2).sum()
        f = phintys.function([x, w], grad(loss, wrt))
        return sum(str(node.op) == "Dot" for node in f.maker.fgraph.apply_nodes)

    assert products(x) == products(w) == 3
    assert products([x, w]) == 4


def training(wrap, layers, in_each, mode="native"):
    """Return the loss and its gradients of a network, compiled, and arguments."""
    x = pt.tensor("x", dtype="float64", shape=(64, 16))
    weights = [pt.tensor(dtype="float64", shape=(16, 16)) for _ in range(layers)]
    h = x
    for first in range(0, layers, in_each):
        h = wrap(block)(h, weights[first : first + in_each])
    loss = (h**2).sum()
    rng = np.random.default_rng(3)
    arguments = [rng.normal(size=(64, 16)), *(rng.normal(size=(16, 16)) / 4 for _ in weights)]
    f = phintys.function([x, *weights], [loss, *grad(loss, weights)], mode=mode)
    return f, arguments


ROWS = 64 * 16 * 8


def peak(f):
    """Return how many intermediate results of a layer native code has memory for."""
    emitted = emit_program(lower_program(f.maker.fgraph), Target.host())
    return sum(slot.bytes.known for slot in emitted.memory.slots) / ROWS


def test_memory_grows_with_the_square_root_of_the_depth():
    peaks: dict[str, list[float]] = {"plain": [], "checkpointed": []}
    for side in (3, 6):
        (f, arguments), (g, _) = (training(wrap, side * side, side) for wrap in (plain, checkpoint))
        for one, other in zip(f(*arguments), g(*arguments), strict=True):
            np.testing.assert_array_equal(one, other)
        peaks["plain"].append(peak(f))
        peaks["checkpointed"].append(peak(g))
    assert peaks["plain"][0] >= 9
    assert peaks["plain"][1] >= 36
    assert peaks["checkpointed"][0] <= 3 * 3
    assert peaks["checkpointed"][1] <= 3 * 6


def test_lengths_need_not_be_known():
    def slots(wrap):
        h, weights = pt.dmatrix("x"), [pt.dmatrix() for _ in range(16)]
        inputs = [h, *weights]
        for first in range(0, 16, 4):
            h = wrap(block)(h, weights[first : first + 4])
        loss = (h**2).sum()
        graph = phintys.function(inputs, [loss, *grad(loss, weights)]).maker.fgraph
        memory = emit_program(lower_program(graph), Target.host()).memory
        return sum(slot.arrays[0].ndim == 2 for slot in memory.slots)

    assert slots(plain) >= 16
    assert slots(checkpoint) <= 12


def test_nested_checkpoints_need_less():
    def nested(wrap):
        @wrap
        def quarter(h, ws):
            return wrap(block)(wrap(block)(h, ws[:4]), ws[4:])

        return lambda _: quarter

    (f, arguments), (g, _) = (training(nested(wrap), 32, 8) for wrap in (plain, checkpoint))
    for one, other in zip(f(*arguments), g(*arguments), strict=True):
        np.testing.assert_array_equal(one, other)
    assert peak(g) <= peak(f) / 2


def test_explain_shows_where_it_begins_again():
    f, _ = training(checkpoint, 4, 2)
    text = f.explain()
    assert "4 fences" in text.splitlines()[0]
    assert "fence after" in text


# ---- copies and text ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_copies_compute_the_same(copied):
    x, y = pt.dvectors("x", "y")
    cost = checkpoint(wave)(x, y)["a"].sum()
    graph = FunctionGraph([x, y], [cost, grad(cost, x)])
    twin = copied(graph)
    assert equal_computations(twin.outputs, graph.outputs, twin.inputs, graph.inputs)
    again = copied(phintys.function([x, y], grad(cost, x)))
    np.testing.assert_allclose(again(X, Y), 2 * np.cos(X) * np.exp(2 * np.sin(X)) * Y)


def test_its_name_and_its_Op():
    x, y = pt.dvectors("x", "y")
    assert str(checkpoint(wave)(x, y)["a"].owner.op) == "wave"
    assert str(checkpoint(name="block")(wave)(x, y)["a"].owner.op) == "block"
    assert checkpoint(wave).__name__ == "wave"
    slope = grad(checkpoint(wave)(x, y)["b"], x)
    assert isinstance(slope.owner.op, Fence)
    (made,) = {variable.owner.op for variable in slope.owner.inputs}
    assert isinstance(made, Checkpoint)
    assert str(made) == "gradient of wave"


# ---- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (checkpoint, r"decorator of functions, got x .*checkpoint\(f\)\(x\)"),
        (lambda x: checkpoint(3), "got 3 of type int"),
        (checkpoint(lambda u: None), "must return variables.*returned None"),
        (checkpoint(lambda u: [u, "a"]), r"returned 'a' of type str at \[1\]"),
    ],
)
def test_mistakes_are_explained(program, message):
    with pytest.raises(ArgumentError, match=f"(?s){message}"):
        program(pt.dvector("x"))


# ---- generated programs -------------------------------------------------------------------------

STEPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * pt.tanh(b),
    "exp": lambda a, b: pt.exp(-(a**2)) + b,
    "sum": lambda a, b: pt.tanh(a).sum() + b,
    "slice": lambda a, b: a[::-1] * b,
    "scan": lambda a, b: pt.cumsum(pt.sin(a)) - b,
}
CUTS = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9), st.booleans()),
    min_size=1,
    max_size=7,
)


@given(CUTS, st.sampled_from(["native", "reference"]))
@settings(max_examples=settings().max_examples // 4)
def test_generated_programs(steps, mode):
    x, y = pt.dvectors("x", "y")

    def build(wrap):
        made = [x, y]
        for name, i, j, is_cut in steps:
            step = wrap(STEPS[name]) if is_cut else STEPS[name]
            made.append(step(made[i % len(made)], made[j % len(made)]))
        cost = sum(one.sum() for one in made)
        slopes = grad(cost, [x, y])
        twice = grad((slopes[0] ** 2).sum(), y, disconnected_inputs="ignore")
        return [cost, *slopes, twice]

    made, expected = (values([x, y], build(wrap), X, Y, mode=mode) for wrap in (checkpoint, plain))
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
