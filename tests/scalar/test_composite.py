import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.scalar as ps
from phintys._base.config import config
from phintys._base.errors import DtypeError, MissingInputError, OpContractError, TypeContractError
from phintys.graph import Apply, DisconnectedType, HasInnerGraph, NullType, Op, debugprint
from phintys.scalar import Composite, ScalarType, UnaryScalarOp

UNARY = [ps.exp, ps.sin, ps.tanh, ps.neg, ps.sqr, ps.sigmoid, ps.erf, ps.abs, ps.floor, ps.arctan]
BINARY = [ps.add, ps.sub, ps.mul, ps.maximum, ps.arctan2, ps.logaddexp]
DTYPES = ["float64", "float64", "float32", "int16", "bool", "complex128"]


@st.composite
def recipes(draw, dtypes=DTYPES, several=True):
    """Return dtypes of inputs, steps (op, which values), and which values are outputs."""
    inputs = draw(st.lists(st.sampled_from(dtypes), min_size=1, max_size=3))
    steps = []
    count = len(inputs) + 2
    for _ in range(draw(st.integers(0, 8))):
        op = draw(st.sampled_from(UNARY + BINARY))
        arity = 1 if op in UNARY else 2
        steps.append((op, tuple(draw(st.integers(0, count - 1)) for _ in range(arity))))
        count += 1
    outputs = draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=3 if several else 1))
    return inputs, steps, outputs


def build(recipe, cut=None):
    """Return inputs and outputs; steps that an op refuses for its dtypes are left out.

    With ``cut``, that step is a Composite of its own.
    """
    dtypes, steps, outputs = recipe
    inputs = [ScalarType(dtype)(f"x{i}") for i, dtype in enumerate(dtypes)]
    values = [*inputs, ps.constant(0.5), ps.constant(np.float32(2))]
    for number, (op, args) in enumerate(steps):
        operands = [values[arg] for arg in args]
        try:
            value = op(*operands)
        except TypeError:
            value = operands[0]
        else:
            if number == cut and len(set(operands)) == len(operands):
                leaves = [x.type() for x in operands]
                value = Composite(leaves, [op(*leaves)])(*operands)
        values.append(value)
    return inputs, [values[output] for output in outputs]


def numbers_for(inputs, seed, size=None):
    rng = np.random.default_rng(seed)
    values = []
    for x in inputs:
        value = rng.uniform(-2, 2, size)
        if x.type in ps.complex_types:
            value = value + 1j * rng.uniform(-2, 2, size)
        values.append(np.asarray(value).astype(x.dtype)[()])
    return values


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@given(recipes())
def test_values_are_those_of_the_graph(evaluate, recipe):
    inputs, outputs = build(recipe)
    op = Composite(inputs, outputs)
    made = op(*inputs, return_list=True)
    assert [v.type for v in made] == [v.type for v in outputs]
    for seed in range(2):
        given_ = dict(zip(inputs, numbers_for(inputs, seed), strict=True))
        expected, results = evaluate(outputs, given_), evaluate(made, given_)
        for a, b in zip(results, expected, strict=True):
            assert a.dtype == b.dtype
            close(a, b)
    arrays = numbers_for(inputs, 0, size=(3, 2))
    with np.errstate(all="ignore"):
        results = op.kernel([x.dtype for x in inputs])(*arrays)
        for i, j in np.ndindex(3, 2):
            at = {x: a[i, j] for x, a in zip(inputs, arrays, strict=True)}
            values = evaluate(outputs, at)
            for result, value, out in zip(
                (results,) if op.nout == 1 else results, values, outputs, strict=True
            ):
                assert result.dtype == out.dtype
                close(result[i, j], value)


@given(recipes(), st.integers(0, 7))
def test_equal_computations_are_equal_ops(recipe, cut):
    inputs, outputs = build(recipe)
    op = Composite(inputs, outputs)
    for again in (
        Composite(*build(recipe)),
        Composite(*build(recipe, cut)),  # nested ones are taken apart
        Composite(op.inner_inputs, op.inner_outputs),
        Composite.of_formula(op.formula, name="other"),
        pickle.loads(pickle.dumps(op)),
        copy.deepcopy(op),
    ):
        assert again == op
        assert hash(again) == hash(op)
        assert str(again.formula) == str(op.formula)
    fresh = [x.type() for x in inputs]
    wrapped = Composite(fresh, op(*fresh, return_list=True))
    assert wrapped == op


def test_different_computations_differ():
    x, y = ps.float64(), ps.float64()
    ops = {
        Composite([x, y], [x + y]),
        Composite([y, x], [x - y]),
        Composite([x, y], [x - y]),
        Composite([x], [x + 1.0]),
        Composite([x], [x + 2.0]),
        Composite([x], [x * 0.0]),
        Composite([x], [x * -0.0]),
        Composite([x], [x + 1.0, x + 1.0]),
        Composite([x, y], [y + x]),
    }
    assert len(ops) == 9
    f = ps.float32()
    assert Composite([f], [ps.exp(f)]) != Composite([x], [ps.exp(x)])
    assert Composite([x], [ps.exp(x)]) != ps.exp


def test_repeated_subexpressions_count_once():
    x = ps.float64("x")
    op = Composite([x], [ps.exp(x) * ps.exp(x)])
    assert [step.op for step in op.formula.steps] == [ps.exp, ps.mul]
    assert op.cost == ps.exp.cost + ps.mul.cost


def test_text():
    x, y = ps.float64("x"), ps.float64("y")
    for expression, text in (
        (x + y * 2, "i0 + i1 * 2.0"),
        ((x + y) * 2, "(i0 + i1) * 2.0"),
        (x - (y - x), "i0 - (i1 - i0)"),
        ((x - y) - x, "i0 - i1 - i0"),
        (-x, "-i0"),
        (-(x + y), "-(i0 + i1)"),
        ((-x) ** 2, "(-i0) ** 2.0"),
        (-(x**2), "-i0 ** 2.0"),
        ((x**y) ** 2, "(i0 ** i1) ** 2.0"),
        (x ** (y**2), "i0 ** i1 ** 2.0"),
        (x / (y / x), "i0 / (i1 / i0)"),
        (ps.exp(x + 1), "exp(i0 + 1.0)"),
        ((x < y) & (x > 0), "(i0 < i1) & (i0 > 0.0)"),
        (~(x < y), "~(i0 < i1)"),
        (ps.add(x, y, x), "i0 + i1 + i0"),
        (ps.switch(x < y, x, y), "switch(i0 < i1, i0, i1)"),
        (ps.sqr(ps.exp(x)) + ps.exp(x), "t0 = exp(i0); sqr(t0) + t0"),
    ):
        assert str(Composite([x, y], [expression])) == f"Composite{{{text}}}"
    assert str(Composite([x], [x, x + 1])) == "Composite{i0, i0 + 1.0}"
    assert str(Composite([x], [-x], name="minus")) == "minus"
    assert pickle.loads(pickle.dumps(Composite([x], [-x], name="minus"))).name == "minus"


def test_depth_is_no_matter(evaluate):
    x = y = ps.float64("x")
    for _ in range(3000):
        y = y * y + 0.1
    op = Composite([x], [y])
    assert len(op.formula.steps) == 6000
    assert 60_000 < len(str(op)) < 150_000  # each step once
    fixed_point = (1 - np.sqrt(0.6)) / 2
    np.testing.assert_allclose(op.impl(0.5), fixed_point)
    (gradient,) = op.L_op([x], [op(x)], [ps.constant(1.0)])
    np.testing.assert_allclose(evaluate([gradient], {x: fixed_point}), [0], atol=1e-300)
    assert pickle.loads(pickle.dumps(op)) == op


# Types


def test_inputs_are_cast_where_that_is_safe(evaluate):
    x, y = ps.float64(), ps.float32()
    op = Composite([x, y], [x + y])
    i, h = ps.int32(), ps.float16()
    out = op(i, h)
    assert out.type is ps.float64
    assert evaluate([out], {i: 3, h: 0.5}) == [3.5]
    assert op(i, 2).owner.inputs[1].type is ps.float32
    assert op.resolve_dtypes(["int8", "float16"]) == (np.dtype("float64"),)
    result = op.kernel(["int32", "float16"])(np.array([1, 2]), np.array([[1], [2]], "float16"))
    np.testing.assert_array_equal(result, [[2, 3], [3, 4]])
    for wrong in ((x, x), (ps.complex64(), y)):
        with pytest.raises(DtypeError, match=r"takes \(float64, float32\); got"):
            op(*wrong)
    # within another Composite the cast becomes a step
    outer = Composite([i, y], [op(i, y)])
    assert [step.op for step in outer.formula.steps] == [ps.CASTS["float64"], ps.add]


def test_wrong_arguments():
    x, y = ps.float64("x"), ps.float64("y")

    class Outside(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    for inputs, outputs, error, match in (
        ([x], [x + y], MissingInputError, "depend on y .*Add it"),
        ([x, x], [x + x], TypeContractError, "given twice"),
        ([x], x, TypeContractError, "list of outputs"),
        (x, [x], TypeContractError, "list of inputs"),
        ([], [ps.constant(1)], TypeContractError, "at least one"),
        ([x], [], TypeContractError, "at least one"),
        ([x], [Outside()(x) + 1], TypeContractError, "Outside"),
        ([DisconnectedType()("d")], [x], TypeContractError, "must be scalars"),
    ):
        with pytest.raises(error, match=match):
            Composite(inputs, outputs)
    with pytest.raises(OpContractError, match="takes 1 input"):
        Composite([x], [-x])(x, x)
    with pytest.raises(OpContractError, match="takes 1 inputs"):
        Composite([x], [-x]).resolve_dtypes(["float64"] * 2)


def test_the_graph_within():
    x = ps.float64()
    op = Composite([x], [ps.exp(x) + 1.0])
    assert [node.op for node in op.fgraph.toposort()] == [ps.exp, ps.add]
    assert op.fgraph is op.fgraph
    assert str(op.inner_inputs[0]) == "i0"


def test_inputs_may_lie_within_a_graph(evaluate):
    x = ps.float64("x")
    y = ps.exp(x)
    op = Composite([y], [y * 2])
    assert str(op) == "Composite{i0 * 2.0}"
    assert op.impl(3.0) == 6


def test_results_do_not_share_memory():
    x = ps.float64()
    op = Composite([x], [x + 1, x + 1, x])
    array = np.ones(3)
    a, b, c = op.kernel(["float64"])(array)
    a[0] = 7
    assert b[0] == 2
    np.testing.assert_array_equal(c, array)
    constant = Composite([x], [ps.constant(3)])
    result = constant.kernel(["float64"])(np.ones((2, 2)))
    np.testing.assert_array_equal(result, np.full((2, 2), 3))
    result[0, 0] = 1
    assert constant.impl(1.0) == 3


# Derivatives


def directions(inputs, seed):
    rng = np.random.default_rng(seed)
    vs = []
    for x in inputs:
        v = rng.uniform(-1, 1)
        vs.append(np.complex128(complex(v, 0.5)) if x.type is ps.complex128 else np.float64(v))
    return vs


@given(recipes(dtypes=["float64", "float64", "complex128"]), st.integers(0, 3))
def test_derivatives_are_those_of_the_graph(evaluate, recipe, seed):
    inputs, outputs = build(recipe)
    op = Composite(inputs, outputs)
    numbers, vs = numbers_for(inputs, seed), directions(inputs, seed + 10)
    if any(v.type is ps.float32 for v in op.inner_outputs):
        return  # too coarse for differences
    made = op(*inputs, return_list=True)
    v_vars = [x.type() for x in inputs]
    tangents = op.R_op(inputs, v_vars)
    given_ = dict(zip([*inputs, *v_vars], [*numbers, *vs], strict=True))
    t_values = evaluate(tangents, given_)

    def along(t):
        with np.errstate(all="ignore"):
            result = op.impl(*(x + t * v for x, v in zip(numbers, vs, strict=True)))
        return [np.asarray(r) for r in (result if op.nout > 1 else (result,))]

    h = 1e-4
    wide = [along(k * h) for k in (-2, -1, 1, 2)]
    for value, tangent, out, *steps in zip(t_values, tangents, made, *wide, strict=True):
        assert tangent.type is (ps.float64 if out.type in ps.discrete_types else out.type)
        if out.type in ps.discrete_types:
            assert value == 0
            continue
        a, b, c, d = (complex(step) for step in steps)
        expected = (8 * (c - b) - (d - a)) / (12 * h)
        jump = max(abs(b - a), abs(c - b), abs(d - c))
        if not np.isfinite(expected) or jump > 0.1 or abs(value) > 100:
            continue  # a floor, a branch cut, or too steep for differences
        assert abs(value - expected) < 1e-4 * (1 + abs(expected)), (str(op), numbers, vs)

    gs = [ps.float64() if out.type in ps.discrete_types else out.type() for out in made]
    gradients = op.L_op(inputs, made, gs)
    g_values = [
        np.complex128(0.3 + 0.7j) if g.type is ps.complex128 else np.float64(0.3) for g in gs
    ]
    given_ |= dict(zip(gs, g_values, strict=True))
    there = [
        (x, L, v)
        for x, L, v in zip(inputs, gradients, vs, strict=True)
        if not isinstance(L.type, DisconnectedType)
    ]
    L_values = evaluate([L for _, L, _ in there], given_)
    if not np.all(np.isfinite([*L_values, *t_values, 0.0])):
        return
    backward = sum((np.conj(L) * v).real for L, (_, _, v) in zip(L_values, there, strict=True))
    forward = sum((np.conj(g) * t).real for g, t in zip(g_values, t_values, strict=True))
    size = sum(abs(L * v) for L, (_, _, v) in zip(L_values, there, strict=True))
    assert abs(backward - forward) <= 1e-9 * (1 + size + sum(map(abs, t_values)))
    for x, L, _ in there:
        assert L.type is x.type


def test_gradients_use_the_outputs_at_hand(evaluate):
    x, g = ps.float64("x"), ps.float64("g")
    op = Composite([x], [ps.tanh(x)])
    out = op(x)
    (gradient,) = op.L_op([x], [out], [g])
    assert evaluate([gradient], {x: 0.3, out: 0.5, g: 2}) == [1.5]


def test_which_input_influences_which_output():
    x, y, z = ps.float64(), ps.float64(), ps.float64()
    op = Composite([x, y, z], [ps.exp(x), x * y, ps.second(x, y), ps.constant(1)])
    node = op.make_node(x, y, z)
    assert op.connection_pattern(node) == [
        [True, True, False, False],
        [False, True, True, False],
        [False, False, False, False],
    ]


def test_missing_gradients():
    x, y = ps.float64("x"), ps.float64("y")
    g = ps.float64("g")
    op = Composite([x, y], [ps.jv(x, y), ps.exp(y), -y])
    outputs = op(x, y)
    gx, gy = op.L_op([x, y], outputs, [g, g, g])
    assert isinstance(gx.type, NullType)
    assert "jv" in gx.type.why_null
    assert gy.type is ps.float64
    none = DisconnectedType()()
    gx, gy = op.L_op([x, y], outputs, [none, g, none])
    assert isinstance(gx.type, DisconnectedType)
    assert gy.type is ps.float64
    assert op.R_op([x, y], [None, None]) == [None, None, None]
    tangents = op.R_op([x, y], [x, None])
    assert isinstance(tangents[0].type, NullType)
    tangents = op.R_op([x, y], [None, y])
    assert [t.type for t in tangents] == [ps.float64] * 3
    # what comes after a null is null
    after = Composite([x, y], [ps.exp(ps.jv(x, y)) * 2])
    assert isinstance(after.L_op([x, y], [after(x, y)], [g])[0].type, NullType)
    assert isinstance(after.R_op([x, y], [x, y])[0].type, NullType)


def test_integers_within(evaluate):
    i, x, g = ps.int64("i"), ps.float64("x"), ps.float32("g")
    op = Composite([i, x], [i * 2, x * i, ps.floor(x).astype("int8")])
    with config.change_flags(floatX="float32"):
        outputs = op(i, x)
        g8 = ps.float64("g")
        gi, gx = op.L_op([i, x], outputs, [g, g8, g])
        assert (gi.type, gx.type) == (ps.float64, ps.float64)
        assert evaluate([gi, gx], {i: 3, x: 0.5, g: 7, g8: 10}) == [5, 30]
        tangents = op.R_op([i, x], [g, g8])
        assert [t.type for t in tangents] == [ps.float32, ps.float64, ps.float32]
        assert evaluate(tangents, {i: 3, x: 0.5, g: 7, g8: 10}) == [0, 33.5, 0]
        only = Composite([i], [i * 2])
        (gradient,) = only.L_op([i], [only(i)], [g])
        assert gradient.type is ps.float32


class Cube(UnaryScalarOp):
    """A user's op with a reverse rule alone."""

    def impl(self, x):
        return x**3

    def grad(self, inputs, output_grads):
        return [output_grads[0] * 3 * inputs[0] ** 2]


cube = Cube(ps.same_out)


def test_users_ops_within(evaluate):
    x, v = ps.float64("x"), ps.float64("v")
    op = Composite([x], [ps.exp(cube(x))])
    np.testing.assert_allclose(op.impl(np.array([0.5, 1])), np.exp([0.125, 1]))
    (gradient,) = op.L_op([x], [op(x)], [v])
    (tangent,) = op.R_op([x], [v])  # by pulling back twice
    a, b = evaluate([gradient, tangent], {x: 0.5, v: 2})
    expected = np.exp(0.125) * 0.75 * 2
    np.testing.assert_allclose([a, b], [expected, expected], rtol=1e-14)
    assert pickle.loads(pickle.dumps(op)) == op


@pytest.mark.parametrize("answer", [None, [None]])
def test_an_r_op_without_an_answer_is_no_derivative_of_zero(evaluate, answer):
    class Undecided(Cube):
        def R_op(self, inputs, eval_points):
            return answer

    x, v = ps.float64("x"), ps.float64("v")
    op = Composite([x], [ps.exp(Undecided(ps.same_out)(x))])
    (tangent,) = op.R_op([x], [v])
    np.testing.assert_allclose(evaluate([tangent], {x: 0.5, v: 2}), [np.exp(0.125) * 1.5])


def test_its_graph_is_known_as_an_inner_graph():
    x, y = ps.float64("x"), ps.float64("y")
    op = Composite([x, y], [ps.exp(x * y) + 1])
    assert isinstance(op, HasInnerGraph)
    assert op.clone() == op
    assert "Inner graphs:" in debugprint(op(x, y), file="str")
