"""custom_gradient: values, both directions, closures, forms, and what goes wrong."""

import copy
import pickle
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import grad, ifelse
from phintys._base.errors import ArgumentError, DisconnectedInputError, GradientError
from phintys.control import OpFromGraph
from phintys.gradient import custom_gradient, jacobian, verify_grad
from phintys.graph import FunctionGraph, equal_computations, generic

MODES = ("native", "reference", "debug")
X, Y = np.array([0.5, 1.0, -2.0]), np.array([2.0, 3.0, 0.25])


def values(inputs, outputs, *arguments, mode="native"):
    return phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*arguments)


@custom_gradient
def power(u, v):
    """exp(u) * v, with a gradient that is right."""
    return pt.exp(u) * v


def power_fwd(u, v):
    e = pt.exp(u)
    return e * v, (e, v)


def power_bwd(residuals, g):
    e, v = residuals
    return g * e * v, g * e


power.defvjp(power_fwd, power_bwd)


@custom_gradient
def short_power(u, v):
    e = pt.exp(u)
    return e * v, lambda g: (g * e * v, g * e)


@custom_gradient
def forward_power(u, v):
    return pt.exp(u) * v


@forward_power.defjvp
def forward_power_jvp(primals, tangents):
    (u, v), (du, dv) = primals, tangents
    e = pt.exp(u)
    return e * v, e * v * du + e * dv


FORMS = {"rules": power, "short": short_power, "forward": forward_power}


# ---- right gradients ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_derivatives_that_are_right_are_those_of_the_expression(form):
    f = FORMS[form]
    assert f.__name__.endswith("power")
    verify_grad(lambda x, y: (f(x, y) ** 2).sum(), [X, Y])
    verify_grad(lambda x, y: grad((f(x, y) ** 2).sum(), [x, y])[0].sum(), [X, Y])
    x, y = pt.dvectors("x", "y")
    plain, made = ((one**2).sum() for one in (pt.exp(x) * y, f(x, y)))
    outputs = [
        [cost, *grad(cost, [x, y]), phintys.Rop(cost, [x, y], [y, x])] for cost in (made, plain)
    ]
    for mode in MODES:
        found, expected = (values([x, y], some, X, Y, mode=mode) for some in outputs)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_inside_of_other_things(form):
    f = FORMS[form]
    c = pt.bscalar("c")
    x, y = pt.dvectors("x", "y")
    u, v = pt.dvectors("u", "v")
    op = OpFromGraph([u, v], [f(u, v) * u], inline=False)

    def programs(f, op):
        inner = op(x, y) if f is not None else pt.exp(x) * y * x
        single = (lambda a, b: pt.exp(a) * b) if f is None else f
        chosen = ifelse(c, single(x, y), x - y)
        return [
            *grad(inner.sum(), [x, y]),
            *grad(chosen.sum(), [x, y]),
            jacobian(single(x, y), x),
            jacobian(grad(single(x, y).sum(), x), y),
            *phintys.hessian((single(x, y)).sum(), [x, y]),
        ]

    for mode in ("native", "reference"):
        for value in (0, 1):
            found, expected = (
                values([c, x, y], programs(*some), value, X, Y, mode=mode)
                for some in ((f, op), (None, None))
            )
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)


def test_merged_with_what_is_equal_outside():
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], [power(x, y), *grad(power(x, y).sum(), [x, y])])
    names = sorted(str(node.op) for node in f.maker.fgraph.apply_nodes)
    assert names.count("Exp") == 1


# ---- other gradients ----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_those_of_the_rules(mode):
    f = custom_gradient(lambda x, y: x * y)
    f.defvjp(lambda x, y: (x * y, x), lambda x, g: (10 * g * x, None))
    x, y = pt.dvectors("x", "y")
    a, b = grad(f(x, y).sum(), [x, y])
    twice = grad(a.sum(), x)
    found = values([x, y], [a, b, twice, *phintys.Rop([f(x, y)], x, y)], X, Y, mode=mode)
    for one, other in zip(found, [10 * X, 0 * X, [10.0] * 3, 10 * X * Y], strict=True):
        np.testing.assert_allclose(one, other)


def test_both_directions_can_differ():
    f = custom_gradient(lambda x: x**2)
    f.defvjp(lambda x: (x**2, None), lambda _, g: (g * 7,))
    f.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0] * 5))
    x = pt.dvector("x")
    found = values([x], [grad(f(x).sum(), x), phintys.Rop(f(x), x, x)], X)
    assert [one.tolist() for one in found] == [[7.0] * 3, (5 * X).tolist()]


def test_a_function_that_calls_itself_in_its_rules():
    @custom_gradient
    def sine(x):
        return pt.sin(x)

    @sine.defjvp
    def sine_jvp(primals, tangents):
        return sine(*primals), tangents[0] * pt.cos(primals[0])

    verify_grad(lambda x: grad(sine(x).sum(), x).sum(), [X])


class Point(NamedTuple):
    left: Any
    right: Any


def test_arguments_and_results_of_any_form():
    @custom_gradient(nondiff_argnums=(0,), nondiff_argnames="scale", name="formed")
    def f(kind, pair, scale=2.0, *, point):
        raise AssertionError

    with pytest.raises(ArgumentError, match="point of formed can only be given by name"):
        f("sum", 1, point=2)

    @custom_gradient(nondiff_argnums=0, nondiff_argnames="scale")
    def g(kind, tree, scale=2.0, *rest):
        assert kind == "sum"
        total = tree["a"][0] + tree["a"][1] * scale
        return Point(total, {"x": [total * rest[0], rest[1]]})

    def g_bwd(kind, scale, residuals, gradients):
        assert (kind, scale) == ("sum", 3.0)
        assert isinstance(gradients, Point)
        left, right = gradients.left, gradients.right["x"]
        return {"a": [left, scale * left], "n": None}, right[0] * residuals, None

    g.defvjp(lambda *args: (g(*args), args[1]["a"][0]), g_bwd)
    x, y, z = pt.dvectors("x", "y", "z")
    value = g("sum", {"a": (x, y), "n": 4}, 3.0, z, z)
    assert isinstance(value, Point)
    cost = value.left.sum() + (value.right["x"][0] * y).sum()
    found = values([x, y, z], [value.left, *grad(cost, [x, y, z])], X, Y, X)
    expected = [X + 3 * Y, np.ones(3), 3 + (X + 3 * Y) * X, Y * X]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other)


def test_values_that_are_not_variables_are_passed_on():
    @custom_gradient
    def f(x, axis, weights):
        return (x * weights).sum(axis=axis), lambda g: (g[:, None] * [1.0, 2.0, 3.0], None, None)

    x = pt.dmatrix("x")
    y = f(x, weights=np.array([2.0, 2.0, 2.0]), axis=1)
    total, slope = values([x], [y, grad(y.sum(), x)], [X])
    assert total.tolist() == [2 * X.sum()]
    assert slope.tolist() == [[1.0, 2.0, 3.0]]


def test_a_single_argument_needs_no_tuple():
    f = custom_gradient(lambda x: (x, lambda g: g * 3))
    x = pt.dvector("x")
    assert values([x], grad(f(x).sum(), x), X).tolist() == [3.0] * 3
    none = custom_gradient(lambda x: (x, lambda g: None))
    assert values([x], grad(none(x).sum(), x), X).tolist() == [0.0] * 3


def test_numbers_are_gradients_too():
    f = custom_gradient(lambda x, y: (x * y, lambda g: (3, np.float64(2.0))))
    x, y = pt.dscalars("x", "y")
    assert [float(one) for one in values([x, y], grad(f(x, y), [x, y]), 1.0, 1.0)] == [3.0, 2.0]


def test_an_output_without_a_gradient_has_zeros_for_one():
    f = custom_gradient(lambda x: ((x, 2 * x), lambda g: g[0] + 10 * g[1]))
    x = pt.dvector("x")
    assert values([x], grad(f(x)[0].sum(), x), X).tolist() == [1.0] * 3
    assert values([x], grad(f(x)[1].sum(), x), X).tolist() == [10.0] * 3


def test_integers_and_objects_have_no_gradient():
    f = custom_gradient(lambda n, thing, x: ((x * n, thing), lambda g: (None, None, g[0])))
    n, thing, x = pt.lscalar("n"), generic("thing"), pt.dvector("x")
    value, same = f(n, thing, x)
    slopes = grad(value.sum(), [n, x])
    assert values([n, thing, x], [same, *slopes], 2, "it", X)[:2] == ["it", 0.0]
    with pytest.raises(DisconnectedInputError):
        grad(value.sum(), thing)
    jvp = custom_gradient(lambda thing, x: x * 2)
    jvp.defjvp(lambda primals, tangents: (primals[1] * 2, tangents[1] * 5))
    assert values([thing, x], grad(jvp(thing, x).sum(), x), "it", X).tolist() == [5.0] * 3


# ---- closures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("form", ["rules", "short", "forward"])
def test_what_is_captured_has_the_gradient_of_the_expression(form, mode):
    w = phintys.shared(3.0, "w")
    x, y = pt.dvectors("x", "y")
    outside = pt.exp(y)

    def f(u):
        return u * outside * w

    if form == "short":
        g = custom_gradient(lambda u: (f(u), lambda g: g * outside * 100))
    else:
        g = custom_gradient(f)
    if form == "rules":
        g.defvjp(lambda u: (f(u), None), lambda _, g: (g * outside * 100,))
    if form == "forward":
        g.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * outside * 100))
    cost = g(x).sum()
    push = phintys.Rop(cost, [x, y], [y, x]) if form == "forward" else cost
    found = values([x, y], [*grad(cost, [x, y, w, outside]), push], X, Y, mode=mode)
    e = np.exp(Y)
    expected = [100 * e, X * e * 3, (X * e).sum(), X * 3]
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(one, other)
    if form == "forward":
        np.testing.assert_allclose(found[-1], (Y * e * 100 + X * e * 3 * X).sum())


@pytest.mark.parametrize("form", ["rules", "short"])
def test_what_is_captured_inside_of_another_graph(form):
    u, v = pt.dvectors("u", "v")
    if form == "short":
        f = custom_gradient(lambda a: (a * v, lambda g: g * v * 100))
    else:
        f = custom_gradient(lambda a: a * v)
        f.defvjp(lambda a: (a * v, None), lambda _, g: (g * v * 100,))
    op = OpFromGraph([u, v], [f(u)], inline=False)
    x, y = pt.dvectors("x", "y")
    found = values([x, y], grad(op(x, 2 * y).sum(), [x, y]), X, Y)
    np.testing.assert_allclose(found[0], 200 * Y)
    np.testing.assert_allclose(found[1], 2 * X)


def test_a_function_of_what_it_captures_alone():
    x = pt.dvector("x")
    f = custom_gradient(lambda: (x * 2, lambda g: ()))
    assert values([x], grad(f().sum(), x), X).tolist() == [2.0] * 3


def test_methods():
    class Layer:
        def __init__(self, w):
            self.w = w

        @custom_gradient(nondiff_argnums=0)
        def apply(self, x):
            return self.w * x, lambda g: (100 * g,)

    w, x = pt.dscalar("w"), pt.dvector("x")
    found = values([w, x], grad(Layer(w).apply(x).sum(), [w, x]), 2.0, X)
    assert found[0] == X.sum()
    assert found[1].tolist() == [100.0] * 3


# ---- copies and text ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["rules", "short", "forward"])
@pytest.mark.parametrize(
    "copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_copies_have_the_same_gradient(form, copied):
    f = FORMS[form]
    assert copied(f) is f
    x, y = pt.dvectors("x", "y")
    graph = FunctionGraph([x, y], [f(x, y).sum()])
    twin = copied(graph)
    if form != "short":
        assert equal_computations(twin.outputs, graph.outputs, twin.inputs, graph.inputs)
    slopes = grad(twin.outputs[0], twin.inputs)
    np.testing.assert_allclose(
        phintys.function(twin.inputs, slopes)(X, Y), [np.exp(X) * Y, np.exp(X)]
    )


def plus_one(x):
    return x + 1


def ten_times(_, g):
    return (10 * g,)


def test_a_function_that_is_not_a_decorated_one_can_be_pickled():
    f = custom_gradient(plus_one, name="other")
    f.defvjp(forward_plus_one, ten_times)
    twin = pickle.loads(pickle.dumps(f))
    assert twin.name == "other"
    x = pt.dvector("x")
    assert values([x], grad(twin(x).sum(), x), X).tolist() == [10.0] * 3


def forward_plus_one(x):
    return x + 1, None


def test_it_prints_its_name():
    x, y = pt.dvectors("x", "y")
    assert str(power(x, y).owner.op) == "power"


@pytest.mark.docstrings
def test_its_docstring_is_that_of_the_function():
    assert power.__doc__.startswith("exp(u) * v")


# ---- mistakes -----------------------------------------------------------------------------------

x, y, s, n, z = (
    pt.dvector("x"),
    pt.dvector("y"),
    pt.dscalar("s"),
    pt.lscalar("n"),
    pt.zvector("z"),
)
three = pt.tensor("three", dtype="float64", shape=(3,))


def ruled(bwd, fwd=lambda x, y: (x * y, None), f=lambda x, y: x * y):
    made = custom_gradient(f, name="f")
    made.defvjp(fwd, bwd)
    return made


def slope(bwd, **options):
    return lambda: grad(ruled(bwd, **options)(x, y).sum(), [x, y])


def pushed(jvp):
    made = custom_gradient(lambda x: 2 * x, name="f")
    made.defjvp(jvp)
    return lambda: grad(made(x).sum(), x)


def bad(residuals, g):
    return g


MISTAKES = {
    "not a function": (lambda: custom_gradient(3), ArgumentError, "custom_gradient.* given 3"),
    "a variable": (lambda: custom_gradient(x), ArgumentError, "was given x of type"),
    "no rules": (
        lambda: custom_gradient(plus_one)(x),
        ArgumentError,
        "plus_one has no gradient.*defvjp.*test_custom.py",
    ),
    "a rule that is none": (
        lambda: custom_gradient(plus_one).defvjp(3, None),
        ArgumentError,
        "fwd must be a function.*3 of type int",
    ),
    "a jvp that is none": (
        lambda: custom_gradient(plus_one).defjvp("x"),
        ArgumentError,
        "jvp must be a function",
    ),
    "a number out of range": (
        lambda: custom_gradient(plus_one, nondiff_argnums=-2),
        ArgumentError,
        r"arguments of plus_one\(x\), got -2",
    ),
    "an unknown name": (
        lambda: custom_gradient(plus_one, nondiff_argnames=["k"]),
        ArgumentError,
        r"arguments of plus_one\(x\), got 'k'",
    ),
    "too many arguments": (lambda: power(x, y, s), TypeError, "too many positional"),
    "returns nothing": (
        lambda: ruled(bad, f=lambda x, y: None)(x, y),
        ArgumentError,
        "<lambda> returned None of type NoneType",
    ),
    "returns text": (
        lambda: ruled(bad, f=lambda x, y: (x, {"a": "text"}))(x, y),
        ArgumentError,
        r"returned 'text' of type str at \[1\]\['a'\].*test_custom.py",
    ),
    "returns an empty tuple": (
        lambda: ruled(bad, f=lambda x, y: ())(x, y),
        ArgumentError,
        "no variable at all",
    ),
    "too few gradients": (
        slope(lambda r, g: (g,)),
        GradientError,
        r"tuple of 2 gradients, one for each argument of f; it returned 1",
    ),
    "too many gradients": (slope(lambda r, g: (g, g, g)), GradientError, "it returned 3"),
    "a single gradient for two": (slope(bad), GradientError, "bad must return a tuple of 2"),
    "another form": (
        lambda: grad(ruled(lambda r, g: (g, (g, g)))(x, y).sum(), x),
        GradientError,
        "in the form of the arguments of f",
    ),
    "text for a gradient": (
        slope(lambda r, g: (g, "text")),
        GradientError,
        "gradient for y.*must be a variable, got 'text'",
    ),
    "another rank": (
        slope(lambda r, g: (g, g.sum())),
        GradientError,
        "gradient for y, of type.*float64.*must have the rank of y.*ones_like",
    ),
    "another rank, higher": (
        slope(lambda r, g: (g[None] * g, g)),
        GradientError,
        "gradient for x.*rank of x: sum it over",
    ),
    "another shape": (
        lambda: grad(ruled(lambda r, g: (g, pt.zeros(4)))(x, three).sum(), three),
        GradientError,
        "must have the shape of three",
    ),
    "complex": (slope(lambda r, g: (g * 1j, g)), GradientError, r"take its \.real"),
    "integers": (
        slope(lambda r, g: (r > 0, g), fwd=lambda x, y: (x * y, x)),
        GradientError,
        "must be continuous: cast it",
    ),
    "an object": (slope(lambda r, g: (generic("o"), g)), GradientError, "rank|array of numbers"),
    "fwd returns one": (
        slope(bad, fwd=lambda x, y: x * y),
        GradientError,
        "must return a pair: the value of f, and the residuals",
    ),
    "fwd returns another form": (
        slope(bad, fwd=lambda x, y: ((x, y), None)),
        GradientError,
        r"same form. The function returns one, and the rule \[0\], \[1\]",
    ),
    "a residual that is text": (
        slope(bad, fwd=lambda x, y: (x, [x, "text"])),
        GradientError,
        r"residuals of <lambda> must be variables.*'text' of type str at \[1\].*nondiff_argnums",
    ),
    "a residual that is a function": (
        slope(bad, fwd=lambda x, y: (x, plus_one)),
        GradientError,
        "residuals.*plus_one",
    ),
    "a gradient function of two": (
        lambda: grad(custom_gradient(lambda x: ((x, x), lambda a, b: a))(x)[0].sum(), x),
        TypeError,
        "one argument: for a value that is a tuple, a tuple of 2 gradients",
    ),
    "jvp returns one": (pushed(lambda p, t: t[0]), GradientError, "pair: .*the tangents"),
    "jvp returns another form": (
        pushed(lambda p, t: (2 * p[0], (t[0],))),
        GradientError,
        "tangents in the form of the value",
    ),
    "jvp returns another rank": (
        pushed(lambda p, t: (2 * p[0], t[0].sum())),
        GradientError,
        "The tangent of f.*must have the rank",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name):
    program, error, message = MISTAKES[name]
    with pytest.raises(error) as caught:
        program()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert re.search(message, text, re.DOTALL), text


def test_errors_in_a_rule_name_the_call_and_the_rule():
    value = ruled(lambda r, g: (g,))(x, y)
    with pytest.raises(GradientError) as caught:
        grad(value.sum(), x)
    text = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "value = ruled(lambda r, g: (g,))(x, y)" in text
    assert "was defined at" in text
