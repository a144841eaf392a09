"""ifelse, cond and branch: values, laziness, derivatives, and what goes wrong."""

import copy
import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import ifelse
from phintys._base.errors import ArgumentError, DtypeError, ShapeError, TypeContractError
from phintys.control import IfElse, branch, cond
from phintys.gradient import verify_grad
from phintys.graph import FunctionGraph, equal_computations, generic
from phintys.passes import rewrite_graph
from tests.counted import Counted

MODES = ("native", "reference", "debug")
X, Y = np.array([0.5, 1.0, 2.0]), np.array([2.0, 3.0, 0.25])


def compiled(inputs, outputs, mode="native", **options):
    return phintys.function(inputs, outputs, mode=mode, **options)


# ---- values ------------------------------------------------------------------------------------


def test_sides_are_trees():
    x, i = pt.dscalar("x"), pt.lscalar("i")
    chosen = cond(
        x > 0, lambda x: {"y": x, "z": (2 * x, 1.0)}, lambda x: {"y": -x, "z": [0.0, x]}, x
    )
    several = branch(i, [{"y": x}, {"y": x**2}, {"y": x**3}])
    slope = phintys.grad(chosen["z"][0] * several["y"], x)
    f = compiled([x, i], [chosen, several, slope])
    assert f(3.0, 1) == [{"y": 3, "z": (6, 1)}, {"y": 9}, 54]
    assert f(-3.0, 2) == [{"y": 3, "z": (0, -3)}, {"y": -27}, 0]


@pytest.mark.parametrize("mode", MODES)
def test_the_chosen_side_is_returned(mode):
    c = pt.bscalar("c")
    x, y = pt.dvectors("x", "y")
    f = compiled([c, x, y], ifelse(c, pt.exp(x) * y, x.sum() - y), mode)
    np.testing.assert_allclose(f(1, X, Y), np.exp(X) * Y)
    np.testing.assert_allclose(f(-3, X, Y), np.exp(X) * Y)
    np.testing.assert_allclose(f(0, X, Y), X.sum() - Y)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32", "float64", "complex128"])
def test_every_number_but_zero_is_true(mode, dtype):
    c, x = pt.scalar("c", dtype=dtype), pt.dscalar("x")
    f = compiled([c, x], ifelse(c, x, -x), mode)
    assert [float(f(np.dtype(dtype).type(value), 1.0)) for value in (0, 1)] == [-1.0, 1.0]
    if dtype == "float64":
        assert [float(f(value, 1.0)) for value in (np.nan, 0.25, -0.0)] == [1.0, 1.0, -1.0]


@pytest.mark.parametrize("mode", MODES)
def test_lists_tuples_and_nested_choices(mode):
    c, d = pt.bscalars("c", "d")
    x, y = pt.dvectors("x", "y")
    inner = ifelse(d, [x * 2, y[0]], [y * 3, x[0]])
    assert isinstance(inner, list)
    outer = ifelse(c, (inner[0], inner[1] + 1), (x, y[1]), name="outer")
    assert isinstance(outer, tuple)
    f = compiled([c, d, x, y], outer, mode)
    expected = {
        (1, 1): (X * 2, Y[0] + 1),
        (1, 0): (Y * 3, X[0] + 1),
        (0, 0): (X, Y[1]),
        (0, 1): (X, Y[1]),
    }
    for (one, two), (a, b) in expected.items():
        found = f(one, two, X, Y)
        np.testing.assert_array_equal(found[0], a)
        np.testing.assert_array_equal(found[1], b)


@pytest.mark.parametrize("mode", MODES)
def test_the_shape_where_only_one_side_has_a_known_size(mode):
    c = pt.bscalar("c")
    r, x = pt.dvectors("r", "x")
    rows, _ = phintys.scan(lambda r: ifelse(c, pt.ones(3), pt.cos(x) * r), r)
    f = compiled([c, r, x], [rows, rows.shape], mode)
    for n in (0, 2):
        found, shape = f(0, np.ones(n), X)
        assert found.shape == tuple(shape) == (n, 3)


@pytest.mark.parametrize("mode", MODES)
def test_sides_of_different_shapes(mode):
    c = pt.bscalar("c")
    x = pt.dvector("x")
    outputs = [
        ifelse(c, x[1:], pt.concatenate([x, x])),
        ifelse(c, pt.outer(x, x), x[None, :1]),
        ifelse(c, x[x > 0.7], x * 2) + 1,
    ]
    f = compiled([c, x], [*outputs, outputs[0].shape, outputs[2].shape], mode)
    for value in (0, 1):
        found = f(value, X)
        then = [X[1:], np.outer(X, X), X[X > 0.7] + 1]
        otherwise = [np.concatenate([X, X]), X[None, :1], X * 2 + 1]
        for one, other in zip(found, then if value else otherwise, strict=False):
            np.testing.assert_allclose(one, other)
        assert found[3].tolist() == list(found[0].shape)
        assert found[4].tolist() == list(found[2].shape)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_values_of_any_type(mode):
    c = pt.bscalar("c")
    a, b = generic("a"), generic("b")
    f = compiled([c, a, b], ifelse(c, [a, pt.constant(1.0)], [b, pt.constant(2.0)]), mode)
    assert f(1, "left", "right")[0] == "left"
    assert f(0, "left", "right")[0] == "right"
    assert float(f(0, "left", "right")[1]) == 2.0


@pytest.mark.parametrize("mode", MODES)
def test_results_are_the_callers_own(mode):
    c = pt.bscalar("c")
    x, y = pt.dvectors("x", "y")
    f = compiled([c, x, y], [ifelse(c, x, y), ifelse(c, y, x)], mode)
    given_value = X.copy()
    one, _ = f(1, given_value, Y)
    one[...] = 100.0
    assert given_value.tolist() == X.tolist()


@pytest.mark.parametrize("mode", MODES)
def test_updates_of_shared_values_can_be_conditional(mode):
    s = phintys.shared(np.zeros(3), "s")
    c, x = pt.bscalar("c"), pt.dvector("x")
    f = compiled([c, x], s.sum(), mode, updates={s: ifelse(c, s + x, s)})
    sums = [float(f(value, X)) for value in (1, 0, 1, 1)]
    assert sums == [0.0, 3.5, 3.5, 7.0]
    assert s.get_value().tolist() == (3 * X).tolist()


def test_numbers_are_taken_in_the_type_of_the_other_side():
    c, x, y = pt.bscalar("c"), pt.fscalar("x"), pt.dvector("y")
    assert ifelse(c, x, 0).type == x.type
    assert ifelse(c, np.array([1, 2, 3]), y).type.dtype == "float64"
    assert ifelse(True, 1, 2).eval() == 1


# ---- only the chosen side is computed ------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_only_the_chosen_side_is_computed(mode):
    then, otherwise = Counted("then"), Counted("otherwise")
    c, x = pt.bscalar("c"), pt.dvector("x")
    f = compiled([c, x], ifelse(c, then(x * 2) + 1, pt.exp(otherwise(x))), mode)
    for value in (1, 0, 1):
        then.calls = otherwise.calls = 0
        found = f(value, X)
        np.testing.assert_allclose(found, np.sin(2 * X) + 1 if value else np.exp(np.sin(X)))
        assert bool(then.calls) == bool(value)
        assert bool(otherwise.calls) != bool(value)


@pytest.mark.parametrize("mode", MODES)
def test_what_would_fail_is_not_computed(mode):
    i, x = pt.lscalar("i"), pt.dvector("x")
    value = ifelse(i < x.shape[0], x[i], -1.0)
    f = compiled([i, x], value, mode)
    assert [float(f(number, X)) for number in (0, 2, 3, 100)] == [0.5, 2.0, -1.0, -1.0]
    with pytest.raises(IndexError):
        f(-7, X)


@pytest.mark.parametrize("mode", MODES)
def test_what_both_sides_need_is_computed_once(mode):
    both = Counted("both")
    c, x = pt.bscalar("c"), pt.dvector("x")
    middle = both(x)
    f = compiled([c, x], ifelse(c, middle + 1, middle * 2), mode)
    both.calls = 0
    f(1, X)
    if mode != "debug":
        assert both.calls == 1


@pytest.mark.parametrize("mode", MODES)
def test_choices_by_one_condition_share_what_they_need(mode):
    then = Counted("then")
    c, x = pt.bscalar("c"), pt.dvector("x")
    middle = then(x)
    one = ifelse(c, middle + 1, x)
    two = ifelse(c, middle * one, x + one)
    f = compiled([c, x], [one, two], mode)
    then.calls = 0
    np.testing.assert_allclose(f(0, X)[1], 2 * X)
    assert then.calls == 0
    np.testing.assert_allclose(f(1, X)[1], np.sin(X) * (np.sin(X) + 1))


@pytest.mark.parametrize("mode", MODES)
def test_nested_choices_are_lazy(mode):
    ops = [Counted(f"side {number}") for number in range(4)]
    i, x = pt.lscalar("i"), pt.dvector("x")
    f = compiled([i, x], branch(i, [op(x) * number for number, op in enumerate(ops)]), mode)
    for number in range(4):
        for op in ops:
            op.calls = 0
        np.testing.assert_allclose(f(number, X), np.sin(X) * number)
        assert [bool(op.calls) for op in ops] == [one == number for one in range(4)]


@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_lazy(mode):
    cosine = Counted("cosine of the gradient")
    then, otherwise = Counted("then", cosine), Counted("otherwise", cosine)
    c, x = pt.bscalar("c"), pt.dvector("x")
    cost = ifelse(c, then(x).sum(), (otherwise(x) ** 2).sum() * 0 + x.sum())
    f = compiled([c, x], [cost, phintys.grad(cost, x)], mode)
    cosine.calls = then.calls = otherwise.calls = 0
    f(1, X)
    assert not otherwise.calls
    assert then.calls
    assert cosine.calls


@pytest.mark.parametrize("mode", MODES)
def test_what_some_sides_of_nested_choices_need_is_not_computed_for_others(mode):
    op = Counted("some")
    c, d, x = pt.bscalar("c"), pt.bscalar("d"), pt.dvector("x")
    middle = op(x)
    f = compiled([c, d, x], ifelse(c, middle, ifelse(d, middle * 2, x)), mode)
    for values, expected in (
        ((1, 0), np.sin(X)),
        ((1, 1), np.sin(X)),
        ((0, 1), 2 * np.sin(X)),
        ((0, 0), X),
    ):
        op.calls = 0
        np.testing.assert_allclose(f(*values, X), expected)
        assert bool(op.calls) == any(values)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_choices_can_be_nested_deeply(mode):
    k, x = pt.lscalar("k"), pt.dvector("x")
    value = x[0]
    for number in range(120):
        value = ifelse(pt.eq(k, number), x[number % 5], value + 1.0)
    f = compiled([k, x], [value, phintys.grad(value, x)], mode)
    for number, expected in ((-1, 120.5), (119, None), (2, 119.0), (5, 114.5)):
        if expected is None:
            with pytest.raises(IndexError):
                f(number, X)
            continue
        found, slope = f(number, X)
        assert float(found) == expected
        assert slope.tolist() == [float(one == max(number, 0) % 5) for one in range(3)]


# ---- derivatives -------------------------------------------------------------------------------


def piecewise(x, y):
    root = pt.sqrt(x)
    first = ifelse(x[0] > 1.0, [pt.log(root) * y, y.sum()], [root.sum() * y**2, x[1]])
    return (ifelse(y[0] > 0.5, first[0] + pt.exp(root), x * first[1]) * first[0]).sum()


@pytest.mark.parametrize("point", [([0.5, 2.0], [1.0, 3.0]), ([3.0, 2.0], [0.25, 3.0])])
def test_derivatives_are_those_of_the_chosen_side(point):
    verify_grad(piecewise, [np.array(one) for one in point])
    verify_grad(
        lambda x, y: phintys.grad(piecewise(x, y), [x, y])[0].sum(),
        [np.array(one) for one in point],
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_other_side_cannot_spoil_the_gradient(mode):
    x = pt.dscalar("x")
    y = ifelse(x > 0, pt.sqrt(x) + pt.log(x), x**2)
    slope = phintys.grad(y, x)
    f = compiled([x], [slope, phintys.grad(slope, x), phintys.Rop(y, x, pt.constant(1.0))], mode)
    assert [float(value) for value in f(-1.0)] == [-2.0, 2.0, -2.0]
    assert [float(value) for value in f(0.0)] == [0.0, 2.0, 0.0]
    np.testing.assert_allclose([float(value) for value in f(4.0)][::2], [0.5, 0.5])


@pytest.mark.parametrize("mode", MODES)
def test_sides_that_share_an_expression_cannot_spoil_the_gradient_of_others(mode):
    c, d = pt.bscalars("c", "d")
    x = pt.dscalar("x")
    root = pt.sqrt(x)
    y = ifelse(c, root, ifelse(d, 3 * root, 5 * x))
    slope = phintys.grad(y, x)
    f = compiled([c, d, x], [slope, phintys.grad(slope * x, x)], mode)
    assert [float(value) for value in f(0, 0, 0.0)] == [5.0, 5.0]
    assert [float(value) for value in f(0, 0, -1.0)] == [5.0, 5.0]
    np.testing.assert_allclose(f(1, 0, 4.0), [0.25, 0.125])
    np.testing.assert_allclose(f(0, 1, 4.0), [0.75, 0.375])


def test_gradients_with_respect_to_what_is_inside_a_side():
    c, x = pt.bscalar("c"), pt.dvector("x")
    middle = x**2
    cost = ifelse(c, (middle * 3).sum(), x.sum())
    slope = phintys.grad(cost, middle)
    assert slope.eval({c: 1, x: X}).tolist() == [3.0] * 3
    assert slope.eval({c: 0, x: X}).tolist() == [0.0] * 3


def test_conditions_and_integers_have_no_gradient():
    c, n, x = pt.dscalar("c"), pt.lscalar("n"), pt.dscalar("x")
    with pytest.raises(phintys._base.errors.DisconnectedInputError):
        phintys.grad(ifelse(c, x, -x), c)
    assert phintys.grad(ifelse(x > 0, n, n + 1) * 1.5, n).eval(on_unused_input="ignore") == 0.0


def test_the_graph_of_a_gradient_is_a_choice_of_gradients():
    c, x = pt.bscalar("c"), pt.dvector("x")
    slope = phintys.grad(ifelse(c, pt.exp(x).sum(), pt.sin(x).sum()), x)
    assert isinstance(slope.owner.op, IfElse)
    assert "exp" in phintys.pprint(slope.owner.inputs[1])
    assert "cos" in phintys.pprint(slope.owner.inputs[2])


# ---- cond and branch ---------------------------------------------------------------------------


def test_cond_calls_functions_with_the_operands():
    c = pt.bscalar("c")
    x, y = pt.dvectors("x", "y")
    total, other = cond(c, lambda a, b: (a + b, a), lambda a, b: (a - b, b), x, y)
    assert total.eval({c: 0, x: X, y: Y}).tolist() == (X - Y).tolist()
    assert other.eval({c: 1, x: X, y: Y}).tolist() == X.tolist()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_branch_clips_the_number(mode, count):
    i, x = pt.lscalar("i"), pt.dscalar("x")
    f = compiled(
        [i, x], branch(i, [[x + n, x * n] for n in range(count)]), mode, on_unused_input="ignore"
    )
    for number in range(-2, count + 2):
        n = min(max(number, 0), count - 1)
        assert [float(value) for value in f(number, 3.0)] == [3.0 + n, 3.0 * n]


# ---- rewriting -----------------------------------------------------------------------------------


def test_choices_that_are_known_disappear():
    c = pt.bscalar("c")
    x, y = pt.dvectors("x", "y")

    def count(variable):
        graph = FunctionGraph(outputs=[rewrite_graph(variable)])
        return sum(isinstance(node.op, IfElse) for node in graph.apply_nodes)

    assert count(ifelse(pt.constant(1) > 0, x, y)) == 0
    assert count(ifelse(c, x, x)) == 0
    assert count(ifelse(c, ifelse(c, x, y), ifelse(c, y, x) + 1)) == 2
    assert count(ifelse(c, ifelse(c, x, y), x * 2)) == 1
    (kept,) = [rewrite_graph(ifelse(c, [x, x * 2], [y, y * 3])[1])]
    assert kept.owner.op == IfElse(1)


# ---- copies, pickles, text, tools ----------------------------------------------------------------


@pytest.mark.parametrize(
    "copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "copy"]
)
def test_copies_compute_the_same(copied):
    c, x = pt.bscalar("c"), pt.dvector("x")
    y = ifelse(c, pt.exp(x), x[::-1], name="chosen")
    graph = FunctionGraph([c, x], [y, phintys.grad(y.sum(), x)])
    twin = copied(graph)
    assert equal_computations(twin.outputs, graph.outputs, twin.inputs, graph.inputs)
    for mode in MODES:
        f = copied(compiled([c, x], y, mode))
        np.testing.assert_allclose(f(1, X), np.exp(X))
        np.testing.assert_allclose(f(0, X), X[::-1])


def test_it_prints_its_name_and_explains_its_branches(capsys):
    c, x = pt.bscalar("c"), pt.dvector("x")
    y = ifelse(c, pt.exp(x), pt.sin(x), name="chosen")
    phintys.dprint(y)
    assert capsys.readouterr().out.startswith("chosen [id A]")
    text = compiled([c, x], y).explain()
    assert "1 branch" in text
    assert text.index("exp(") < text.index("else") < text.index("sin(")


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_profiles_have_the_choice(mode):
    c, x = pt.bscalar("c"), pt.dvector("x")
    f = compiled([c, x], ifelse(c, pt.exp(x), pt.sin(x)), mode, profile=True)
    f(0, X)
    assert "IfElse" in f.profile.summary()


def test_the_nan_guard_looks_at_the_chosen_side_only():
    c, x = pt.bscalar("c"), pt.dvector("x")
    f = compiled([c, x], ifelse(c, pt.log(x) * 0 + 1, x), phintys.NanGuardMode())
    assert f(0, [-1.0]).tolist() == [-1.0]
    with pytest.raises(FloatingPointError, match="log"):
        f(1, [-1.0])


def test_python_code_in_a_side_is_one_callback_in_a_branch():
    then = Counted("then")
    c, x = pt.bscalar("c"), pt.TensorType("float64", (3,))("x")
    f = compiled([c, x], ifelse(c, then(x), x))
    assert f(1, X).tolist() == np.sin(X).tolist()
    assert [node.op for node in f.vm.callback_nodes] == [then]
    assert "1 branch" in f.explain()


# ---- mistakes ------------------------------------------------------------------------------------

C, U, V, M = pt.bscalar("c"), pt.dvector("u"), pt.dvector("v"), pt.dmatrix("m")
MISTAKES = {
    "a vector as condition": (lambda: ifelse(U > 0, U, V), ShapeError, "any.*all.*pt.switch"),
    "text as condition": (lambda: ifelse("yes", U, V), TypeError, "condition of an ifelse"),
    "sides of different ranks": (
        lambda: ifelse(C, U, M),
        ShapeError,
        "Value 0 of an ifelse is u .* if the condition is true, and m .*same rank",
    ),
    "sides of different dtypes": (
        lambda: ifelse(C, U, V.astype("float32")),
        DtypeError,
        "test_branches.py.*same dtype: cast",
    ),
    "sides of different Types": (
        lambda: ifelse(C, phintys.scalar.float64("s"), U),
        TypeContractError,
        "same Type",
    ),
    "a number that does not fit": (
        lambda: ifelse(C, pt.lvector("n"), np.array([0.5])),
        TypeError,
        "value 0 on one side of an ifelse; on the other side is n",
    ),
    "one list": (lambda: ifelse(C, [U], V), ArgumentError, "both variables or both lists"),
    "lists of different lengths": (
        lambda: ifelse(C, [U, V], [U]),
        ArgumentError,
        "got 2 values if the condition is true, and 1 if not",
    ),
    "empty lists": (lambda: ifelse(C, [], []), ArgumentError, "at least one value"),
    "too few values": (lambda: IfElse(2)(C, U, V), ArgumentError, "4 values, got 2"),
    "variables for functions": (
        lambda: cond(C, U, V),
        ArgumentError,
        "true_fun of cond must be a function.*ifelse",
    ),
    "a float as number": (lambda: branch(pt.dscalar("t"), [U]), DtypeError, "an integer"),
    "no choices": (lambda: branch(0, []), ArgumentError, "at least one"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_explained(name):
    program, error, message = MISTAKES[name]
    with pytest.raises(error) as caught:
        program()
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert re.search(message, text, re.DOTALL), text


@pytest.mark.parametrize("mode", MODES)
def test_errors_in_a_side_name_its_line(mode):
    c = pt.bscalar("c")
    x, y = pt.dvectors("x", "y")
    f = compiled([c, x, y], ifelse(c, x + y, x), mode)
    assert f(0, X, Y[:2]).tolist() == X.tolist()
    with pytest.raises((ShapeError, ValueError)) as caught:
        f(1, X, Y[:2])
    assert "test_branches.py" in "\n".join([str(caught.value), *caught.value.__notes__])


# ---- generated graphs ---------------------------------------------------------------------------

STEPS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "tanh": lambda a, b: pt.tanh(a),
    "sum": lambda a, b: a.sum() + b,
    "reverse": lambda a, b: a[::-1] * b,
}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["choose", *sorted(STEPS)]),
            st.integers(0, 9),
            st.integers(0, 9),
            st.integers(0, 2),
        ),
        min_size=2,
        max_size=9,
    ),
    st.sampled_from(["native", "reference"]),
)
@settings(max_examples=settings().max_examples // 2)
def test_generated_choices_equal_eager_ones(steps, mode):
    conditions = pt.bscalars("c", "d", "e")
    x, y = pt.dvectors("x", "y")

    def build(choose):
        made = [x, y]
        for name, i, j, k in steps:
            one, other = made[i % len(made)], made[j % len(made)]
            made.append(
                choose(conditions[k], one, other) if name == "choose" else STEPS[name](one, other)
            )
        cost = made[-1].sum() + made[-2].sum()
        slopes = phintys.grad(cost, [x, y], disconnected_inputs="ignore")
        return [made[-1], cost, *slopes]

    inputs = [*conditions, x, y]
    lazy, eager = (
        compiled(inputs, build(choose), mode, on_unused_input="ignore")
        for choose in (ifelse, pt.switch)
    )
    for truths in itertools.product((0, 1), repeat=3):
        for one, other in zip(lazy(*truths, X, Y), eager(*truths, X, Y), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
