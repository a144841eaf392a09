"""OpFromGraph: values, derivatives, overrides, inlining, and what goes wrong."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import (
    ArgumentError,
    DisconnectedInputError,
    InconsistencyError,
    MissingInputError,
    NullGradientError,
    OpContractError,
)
from phintys.control import OpFromGraph
from phintys.gradient import verify_grad
from phintys.graph import Apply, FunctionGraph, Op, equal_computations, generic
from phintys.graph.null_type import disconnected_type, grad_undefined
from phintys.tensor.inplace import add_inplace

MODES = ("native", "reference", "debug")
INLINE = (None, True, False)
X, Y = np.array([0.5, 1.0, -2.0]), np.array([2.0, 3.0, 0.25])


def product(inline=None, **options):
    """exp(u) * v, and their sum."""
    u, v = pt.dvectors("u", "v")
    return OpFromGraph([u, v], [pt.exp(u) * v, u + v], inline=inline, **options)


def values(inputs, outputs, *arguments, mode="native"):
    return phintys.function(inputs, outputs, mode=mode)(*arguments)


def ops_of(f):
    return [type(node.op) for node in f.maker.fgraph.apply_nodes]


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("mode", MODES)
def test_it_computes_its_expressions(mode, inline):
    x, y = pt.dvectors("x", "y")
    a, b = product(inline)(x, y)
    c, d = product(inline)(b, x)
    found = values([x, y], [a, b, c, d], X, Y, mode=mode)
    expected = [np.exp(X) * Y, X + Y, np.exp(X + Y) * X, Y + 2 * X]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("mode", MODES)
def test_shared_variables_in_it_have_their_current_values(mode, inline):
    w = phintys.shared(np.array([1.0, 2.0, 3.0]), "w")
    u, x = pt.dvectors("u", "x")
    op = OpFromGraph([u], [u * w], inline=inline)
    f = phintys.function([x], op(op(x)), updates={w: w + op(x)}, mode=mode)
    assert f(X).tolist() == (X * [1, 4, 9]).tolist()
    assert w.get_value().tolist() == [1.5, 4.0, -3.0]
    assert f(X).tolist() == (X * np.array([1.5, 4.0, -3.0]) ** 2).tolist()


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("mode", MODES)
def test_outputs_that_are_inputs_or_repeated_have_their_own_memory(mode, inline):
    u, x = pt.dvectors("u", "x")
    op = OpFromGraph([u], [u, u[1:], u * 2, pt.constant([1.0, 2.0])], inline=inline)
    given_value = X.copy()
    f = phintys.function([x], op(x) + op(x)[:1], mode=mode)
    results = f(given_value)
    for number, one in enumerate(results):
        one[...] = 100.0 + number
    assert given_value.tolist() == X.tolist()
    assert f(given_value)[3].tolist() == [1.0, 2.0]


def test_inputs_can_be_intermediate_results_and_values():
    x, y = pt.dvectors("x", "y")
    middle = x**2
    op = OpFromGraph([middle, y], [middle + y])
    assert op([1.0, 2.0], y).eval({y: [1.0, 1.0]}).tolist() == [2.0, 3.0]
    assert op(x, 2 * x).eval({x: [1.0, 2.0]}).tolist() == [3.0, 6.0]


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_values_of_any_type_pass_through(mode):
    class Length(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [pt.lscalar()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = np.asarray(len(inputs[0]))

    a, b = generic("a"), generic("b")
    op = OpFromGraph([a], [Length()(a), a], inline=False)
    n, same = values([b], op(b), ["x", "y"], mode=mode)
    assert (int(n), same) == (2, ["x", "y"])


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("mode", MODES)
def test_shapes_that_depend_on_values(mode, inline):
    u, n = pt.dvector("u"), pt.lscalar("n")
    op = OpFromGraph([u, n], [pt.alloc(u.sum(), n, 2), u[:n]], inline=inline)
    x, k = pt.dvector("x"), pt.lscalar("k")
    a, b = op(x, k)
    found = values([x, k], [a.shape, b.shape, a], X, 2, mode=mode)
    assert [one.tolist() for one in found] == [[2, 2], [2], [[-0.5, -0.5], [-0.5, -0.5]]]


def test_shapes_are_inferred_without_the_values():
    u, x = pt.dvector("u"), pt.dmatrix("x")
    op = OpFromGraph([u], [pt.outer(u, u)], inline=False)
    f = phintys.function([x], op(x[0]).shape)
    assert OpFromGraph not in ops_of(f)
    assert f(np.ones((2, 5))).tolist() == [5, 5]


# ---- derivatives -------------------------------------------------------------------------------


@pytest.mark.parametrize("inline", INLINE)
def test_derivatives_are_those_of_the_inner_graph(inline):
    w = phintys.shared(1.5, "w")
    u, v = pt.dvectors("u", "v")
    op = OpFromGraph([u, v], [pt.exp(u) * v * w, pt.sin(u * v)], inline=inline)

    def cost(x, y):
        a, b = op(x, y)
        return (a * b).sum()

    verify_grad(cost, [X, Y])
    verify_grad(lambda x, y: phintys.grad(cost(x, y), [x, y])[0].sum(), [X, Y])
    x, y = pt.dvectors("x", "y")
    plain = (pt.exp(x) * y * w * pt.sin(x * y)).sum()
    for mode in MODES:
        found, expected = (
            values([x, y], phintys.grad(one, [x, y, w]), X, Y, mode=mode)
            for one in (cost(x, y), plain)
        )
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("inline", INLINE)
def test_forward_derivatives(inline):
    x, y = pt.dvectors("x", "y")
    outputs = product(inline)(x, y)
    for directions in ([y, x], [y, None]):
        found = phintys.Rop(outputs, [x, y], directions)
        plain = phintys.Rop([pt.exp(x) * y, x + y], [x, y], directions)
        for one, other in zip(
            values([x, y], found, X, Y), values([x, y], plain, X, Y), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_an_output_does_not_depend_on_is_disconnected():
    u, v = pt.dvectors("u", "v")
    x, y = pt.dvectors("x", "y")
    a, b = OpFromGraph([u, v], [u * 2, v * 3])(x, y)
    assert a.owner.op.connection_pattern(a.owner) == [[True, False], [False, True]]
    assert phintys.grad(a.sum(), x).eval({x: X, y: Y}).tolist() == [2.0] * 3
    with pytest.raises(DisconnectedInputError):
        phintys.grad(a.sum(), y)
    given_pattern = OpFromGraph([u, v], [u * v], connection_pattern=[[True], [False]])
    with pytest.raises(DisconnectedInputError):
        phintys.grad(given_pattern(x, y).sum(), y)
    assert phintys.grad(b.sum(), [x, y], disconnected_inputs="ignore")[0].eval({x: X}).sum() == 0


def test_gradients_for_integers_are_zero_and_undefined_ones_stay_undefined():
    u, n = pt.dvector("u"), pt.lscalar("n")
    x, k = pt.dvector("x"), pt.lscalar("k")
    cost = OpFromGraph([u, n], [u * n])(x, k).sum()
    assert phintys.grad(cost, k).eval({x: X, k: 2}, on_unused_input="ignore") == 0.0
    rounded = OpFromGraph([u], [pt.round(u)])(x).sum()
    assert phintys.grad(rounded, x).eval({x: X}).tolist() == [0.0] * 3
    broken = OpFromGraph([u], [phintys.gradient.undefined_grad(u)])(x).sum()
    with pytest.raises(NullGradientError):
        phintys.grad(broken, x)


# ---- overrides ---------------------------------------------------------------------------------


def overriding_op():
    u, v, g = pt.dvectors("u", "v", "g")
    o, p, h = pt.dvectors("o", "p", "h")
    return OpFromGraph([u, v, o, p, g, h], [10 * g * o, 20 * h * v])


OVERRIDES = {
    "a function": (
        {"lop_overrides": lambda i, o, g: [10 * g[0] * o[0], 20 * g[1] * i[1]]},
        lambda x, y: (10 * np.exp(x) * y, 20 * y),
    ),
    "a function without the outputs": (
        {"grad_overrides": lambda i, g: [7 * g[0] * i[1], g[1] + i[0]]},
        lambda x, y: (7 * y, 1 + x),
    ),
    "an Op": (
        {"lop_overrides": overriding_op()},
        lambda x, y: (10 * np.exp(x) * y, 20 * y),
    ),
    "a list": (
        {"lop_overrides": [None, lambda i, o, g: g[0] * 5]},
        lambda x, y: (np.exp(x) * y + 1, np.full(3, 5.0)),
    ),
    "a list with the old word": (
        {"grad_overrides": [lambda i, g: g[1] * i[0], "default"]},
        lambda x, y: (x, np.exp(x) + 1),
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("name", OVERRIDES)
def test_gradients_are_overridden(name, inline):
    options, expected = OVERRIDES[name]
    x, y = pt.dvectors("x", "y")
    a, b = product(inline, **options)(x, y)
    cost = a.sum() + b.sum()
    for mode in MODES:
        found = values([x, y], [cost, *phintys.grad(cost, [x, y])], X, Y, mode=mode)
        np.testing.assert_allclose(found[0], (np.exp(X) * Y + X + Y).sum())
        for one, other in zip(found[1:], expected(X, Y), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_an_output_without_a_gradient_has_zeros_for_one():
    x, y = pt.dvectors("x", "y")
    a, _ = product(lop_overrides=lambda i, o, g: [g[0] + g[1], g[1]])(x, y)
    assert values([x, y], phintys.grad(a.sum(), [x, y]), X, Y)[1].tolist() == [0.0] * 3


def test_gradients_can_be_cut_or_undefined():
    x, y = pt.dvectors("x", "y")
    a, _ = product(lop_overrides=[disconnected_type(), None])(x, y)
    np.testing.assert_allclose(phintys.grad(a.sum(), y).eval({x: X, y: Y}), np.exp(X))
    with pytest.raises(DisconnectedInputError):
        phintys.grad(a.sum(), x)
    null = grad_undefined(Op(), 0, x, "by decree")
    a, _ = product(grad_overrides=[null, None])(x, y)
    with pytest.raises(NullGradientError, match="by decree"):
        phintys.grad(a.sum(), x)


def test_an_override_can_connect_what_the_graph_does_not():
    u, x = pt.dvectors("u", "x")
    rounded = pt.round(phintys.gradient.disconnected_grad(u))
    straight_through = OpFromGraph([u], [rounded], grad_overrides=lambda i, g: g)
    assert phintys.grad((straight_through(x) ** 2).sum(), x).eval({x: X}).tolist() == [
        0.0,
        2.0,
        -4.0,
    ]


def test_shared_variables_keep_the_gradients_of_the_graph():
    w = phintys.shared(3.0, "w")
    u, x = pt.dvectors("u", "x")
    op = OpFromGraph([u], [u * w], grad_overrides=lambda i, g: [100 * g[0]])
    found = values([x], phintys.grad(op(x).sum(), [x, w]), X)
    assert found[0].tolist() == [100.0] * 3
    assert found[1] == X.sum()
    both = OpFromGraph([u], [u * w], lop_overrides=[None, lambda i, o, g: g[0].sum() * i[1]])
    assert values([x], phintys.grad(both(x).sum(), [x, w]), X)[1] == 9.0


def test_forward_derivatives_are_overridden_or_follow_the_reverse_one():
    x, y = pt.dvectors("x", "y")
    op = product(rop_overrides=lambda i, e: [e[0] * 10, e[1] * 20])
    found = values([x, y], phintys.Rop(op(x, y), [x, y], [y, x]), X, Y)
    assert [one.tolist() for one in found] == [(Y * 10).tolist(), (X * 20).tolist()]
    _, without = phintys.Rop(op(x, y), [x], [y])
    assert without.eval({y: Y}).tolist() == [0.0] * 3
    one = product(rop_overrides=[None, lambda i, e: e[0] * 7])
    found = values([x, y], phintys.Rop(one(x, y), [x, y], [y, x]), X, Y)
    np.testing.assert_allclose(found[0], np.exp(X) * (Y * Y + X))
    assert found[1].tolist() == (Y * 7).tolist()
    reverse = product(grad_overrides=lambda i, g: [5 * g[0], 3 * g[1]])
    found = values([x, y], phintys.Rop(reverse(x, y), [x, y], [y, x]), X, Y)
    assert [one.tolist() for one in found] == [(5 * Y).tolist(), (3 * X).tolist()]


def test_second_derivatives_go_through_overrides():
    u, x = pt.dvectors("u", "x")
    op = OpFromGraph([u], [u**3], grad_overrides=lambda i, g: [g[0] * i[0] ** 4])
    slope = phintys.grad(op(x).sum(), x)
    np.testing.assert_allclose(phintys.grad(slope.sum(), x).eval({x: X}), 4 * X**3)


# ---- compilation -------------------------------------------------------------------------------


def test_it_is_inlined_unless_it_is_to_stay():
    x, y = pt.dvectors("x", "y")
    for inline in INLINE:
        op = product(inline)
        nested = OpFromGraph([x, y], op(x, y), inline=inline)
        for mode in ("native", "reference"):
            f = phintys.function([x, y], nested(x, y), mode=mode)
            assert (OpFromGraph in ops_of(f)) == (inline is False)
    f = phintys.function(
        [x, y], product()(x, y), mode=phintys.get_mode("native").excluding("inline_graphs")
    )
    assert ops_of(f) == [OpFromGraph]
    np.testing.assert_allclose(f(X, Y)[1], X + Y)


def test_equal_ones_are_merged():
    x, y = pt.dvectors("x", "y")
    assert product(False) == product(False)
    assert hash(product(False)) == hash(product(False))
    assert product(False) != product(False, name="other")
    assert product() != product(lop_overrides=[None, lambda i, o, g: g[0]])
    f = phintys.function([x, y], [product(False)(x, y)[0], product(False)(x, y)[1]])
    assert ops_of(f) == [OpFromGraph]


def test_native_code_has_no_call_into_python_for_one_that_stays():
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], product(False)(x, y), mode="native")
    assert not f.vm.callback_nodes
    assert "exp" in f.explain()


def test_an_output_that_another_op_overwrites():
    u, x, y = pt.dvectors("u", "x", "y")
    same = OpFromGraph([u], [u])
    f = phintys.function(
        [x, y], [add_inplace(same(x), y), x], mode="reference", accept_inplace=True
    )
    given_value = X.copy()
    total, again = f(given_value, Y)
    assert total.tolist() == (X + Y).tolist()
    assert again.tolist() == given_value.tolist() == X.tolist()


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize("mode", MODES)
def test_inputs_may_be_overwritten_where_it_is_declared(mode, inline):
    u, v, x, y = pt.dvectors("u", "v", "x", "y")
    op = OpFromGraph([u, v], [add_inplace(u, v)], inline=inline, destroy_map={0: [0]})
    f = phintys.function([x, y], op(x * 2, y), mode=mode, accept_inplace=True)
    assert f(X, Y).tolist() == (2 * X + Y).tolist()
    with pytest.raises(InconsistencyError, match="destroy_map="):
        OpFromGraph([u, v], [add_inplace(u, v)])


def test_the_profiler_and_the_nan_guard_see_inside():
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], product(False)(x, y), mode="reference", profile=True)
    f(X, Y)
    assert "OpFromGraph" in f.profile.summary()
    u = pt.dvector("u")
    logarithm = OpFromGraph([u], [pt.log(u) * 0 + u])
    guarded = phintys.function(
        [x], logarithm(x), mode=phintys.NanGuardMode(nan_is_error=True, inf_is_error=True)
    )
    with pytest.raises(FloatingPointError, match="log"):
        guarded([-1.0])


# ---- copies, pickles, text ---------------------------------------------------------------------


def halved(inputs, grads):
    return [0.5 * grads[0], grads[1]]


@pytest.mark.parametrize(
    "copied",
    [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
def test_copies_compute_the_same(copied):
    x, y = pt.dvectors("x", "y")
    cost = product(False, grad_overrides=halved, name="twin")(x, y)[0].sum()
    graph = FunctionGraph([x, y], [cost, *phintys.grad(cost, [x, y])])
    twin = copied(graph)
    assert equal_computations(twin.outputs, graph.outputs, twin.inputs, graph.inputs)
    f = phintys.function(twin.inputs, twin.outputs)
    assert f(X, Y)[1].tolist() == [0.5] * 3
    g = copied(phintys.function([x, y], cost))
    np.testing.assert_allclose(g(X, Y), (np.exp(X) * Y).sum())


def test_inner_graphs_can_be_copied_too():
    x, y = pt.dvectors("x", "y")
    a, _ = product(False)(x, y)
    ((x2, _), (a2,)) = phintys.graph.clone([x, y], [a], clone_inner_graphs=True)
    assert x2 is not x
    assert a2.owner.op == a.owner.op
    assert a2.owner.op.fgraph is not a.owner.op.fgraph


def test_it_prints_its_name_and_its_graph(capsys):
    x, y = pt.dvectors("x", "y")
    phintys.dprint(product(name="scaled")(x, y)[0])
    text = capsys.readouterr().out
    assert text.startswith("scaled.0 [id A]")
    assert "Inner graphs:" in text
    assert "Exp" in text
    assert str(product()) == "OpFromGraph"


# ---- mistakes ----------------------------------------------------------------------------------

U, V = pt.dvectors("u", "v")
MISTAKES = {
    "no list": (lambda: OpFromGraph(U, [U]), ArgumentError, "list of variables.*write"),
    "a number": (lambda: OpFromGraph([U], [2]), ArgumentError, "2 of type int at position 0"),
    "a constant": (lambda: OpFromGraph([pt.constant(1.0)], [U]), ArgumentError, "the constant"),
    "twice the same": (lambda: OpFromGraph([U, U], [U]), ArgumentError, "u is given twice"),
    "a missing input": (
        lambda: OpFromGraph([U], [U + V], name="f"),
        MissingInputError,
        r"depend on v .* not among its inputs \(u\).*Add it",
    ),
    "a shared variable, under strict": (
        lambda: OpFromGraph([U], [U * phintys.shared(1.0, "w")], strict=True),
        ArgumentError,
        "shared variables w, which strict=True forbids",
    ),
    "both overrides": (
        lambda: OpFromGraph([U], [U], lop_overrides=max, grad_overrides=max),
        ArgumentError,
        "either lop_overrides or grad_overrides",
    ),
    "an override that is none": (
        lambda: OpFromGraph([U], [U], lop_overrides=3),
        ArgumentError,
        "lop_overrides must be a function.*got 3 of type int",
    ),
    "an entry that is none": (
        lambda: OpFromGraph([U], [U], rop_overrides=[V]),
        ArgumentError,
        "Entry 0 of rop_overrides.*got v",
    ),
    "too many entries": (
        lambda: OpFromGraph([U], [U], grad_overrides=[None, None]),
        ArgumentError,
        "must have 1 entries, one for each input, got 2",
    ),
    "a pattern of the wrong size": (
        lambda: OpFromGraph([U], [U], connection_pattern=[[True, False]]),
        ArgumentError,
        "1 lists .* of 1 bools",
    ),
    "a destroy_map out of range": (
        lambda: OpFromGraph([U], [U], destroy_map={1: [0]}),
        ArgumentError,
        "from its 1 outputs",
    ),
    "a name that is none": (lambda: OpFromGraph([U], [U], name=3), ArgumentError, "a string"),
    "too few inputs": (lambda: product(name="f")(U), ArgumentError, "f takes 2 inputs, got 1"),
    "an input of another rank": (
        lambda: product(name="f")(U, pt.dmatrix("m")),
        TypeError,
        "m .*",
    ),
    "an override that returns too few": (
        lambda: phintys.grad(product(grad_overrides=lambda i, g: [g[0]])(U, V)[0].sum(), U),
        OpContractError,
        "must return a list of 2 variables",
    ),
    "an override that returns a number": (
        lambda: phintys.grad(product(grad_overrides=[lambda i, g: 1.0, None])(U, V)[0].sum(), U),
        OpContractError,
        "must return variables, got 1.0",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name):
    program, error, message = MISTAKES[name]
    with pytest.raises(error, match=f"(?s){message}"):
        program()


# ---- generated graphs --------------------------------------------------------------------------

STEPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "tanh": lambda a, b: pt.tanh(a),
    "sum": lambda a, b: a.sum() + b,
    "slice": lambda a, b: a[::-1] * b,
}


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(INLINE),
    st.integers(1, 2),
)
def test_generated_graphs_equal_plain_expressions(steps, inline, depth):
    def build(*leaves):
        made = list(leaves)
        for name, i, j in steps:
            made.append(STEPS[name](made[i % len(made)], made[j % len(made)]))
        return made[-2:]

    inside = pt.dvectors("u", "v")
    op = OpFromGraph(inside, build(*inside), inline=inline)
    for _ in range(depth - 1):
        op = OpFromGraph(inside, op(*inside), inline=inline)
    x, y = pt.dvectors("x", "y")
    found, expected = (
        values(
            [x, y],
            [
                *outputs,
                *phintys.grad(
                    outputs[0].sum() + outputs[1].sum(), [x, y], disconnected_inputs="ignore"
                ),
            ],
            X,
            Y,
            mode="reference",
        )
        for outputs in (op(x, y), build(x, y))
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
