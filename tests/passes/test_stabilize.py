import numpy as np
import pytest
import scipy.special

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.graph import FunctionGraph
from phintys.passes import sigmoids, softmaxes, special
from phintys.passes import stabilize as rules
from phintys.passes.pipelines import PIPELINES
from phintys.passes.stabilize import STABILIZE
from phintys.rewriting import Worklist
from phintys.tensor.elemwise import elemwise

v, w = pt.dvector("v"), pt.dvector("w")
x = pt.dmatrix("x")
f32 = pt.fvector("f32")
i64 = pt.lvector("i64")
c128 = pt.tensor("c128", dtype="complex128", shape=(None,))

exp, log, log1p, sigmoid, neg, reciprocal = map(
    elemwise, (ps.exp, ps.log, ps.log1p, ps.sigmoid, ps.neg, ps.reciprocal)
)
softmax = pt.special.softmax


def log_sum_exp(x, axis=None, keepdims=False):
    return log(pt.sum(exp(x), axis=axis, keepdims=keepdims))


def centred(s, u, axis=None):
    """The gradient of a softmax."""
    return s * (u - (u * s).sum(axis=axis, keepdims=True))


# (rule, the expression as text, the expression, the Op that comes out)
APPLIES = [
    (rules.log_of_one_plus, "log(1 + v)", lambda: log(1 + v), "Log1p"),
    (rules.log_of_one_plus, "log(v + 1)", lambda: log(v + 1.0), "Log1p"),
    (rules.log_of_one_plus, "log(1 + v + w)", lambda: log(pt.add(1.0, v, w)), "Log1p"),
    (rules.log_of_one_plus, "ones_like", lambda: log(v + pt.ones_like(v)), "Log1p"),
    (rules.log_of_one_plus, "float32", lambda: log(1 + f32), "Log1p"),
    (rules.log_of_one_plus, "float32 in float64", lambda: log(np.float64(1) + f32), "Log1p"),
    (rules.log_of_one_minus, "log(1 - v)", lambda: log(1 - v), "Log1p"),
    (rules.log_of_one_minus, "log(1 + -v)", lambda: log(1 + neg(v)), "Log1p"),
    (rules.log1p_of_exp, "log1p(exp(v))", lambda: log1p(exp(v)), "Softplus"),
    (rules.log1p_of_minus_exp, "log1p(-exp(-v))", lambda: log1p(-exp(-v)), "Log1mexp"),
    (sigmoids.quotient_to_sigmoid, "1 / (1 + exp(-v))", lambda: 1 / (1 + exp(-v)), "Sigmoid"),
    (sigmoids.quotient_to_sigmoid, "reciprocal", lambda: reciprocal(exp(-v) + 1), "Sigmoid"),
    (rules.log_of_positive, "log(sigmoid(v))", lambda: log(sigmoid(v)), "Log_sigmoid"),
    (sigmoids.log1p_of_minus_sigmoid, "log1p(-sigmoid(v))", lambda: log1p(-sigmoid(v)), "Neg"),
    (rules.log_of_positive, "axis 1", lambda: log(softmax(x, axis=1)), "LogSoftmax{axis=1}"),
    (rules.log_of_positive, "all axes", lambda: log(softmax(x)), "LogSoftmax"),
    (rules.log_of_positive, "all axes", lambda: log_sum_exp(x), "LogSumExp"),
    (rules.log_of_positive, "axis 0", lambda: log_sum_exp(x, 0), "LogSumExp{axis=0}"),
    (rules.log_of_positive, "keepdims", lambda: log_sum_exp(x, 1, keepdims=True), ...),
    (rules.function_minus_one, "exp(v) - 1", lambda: exp(v) - 1, "Expm1"),
    (rules.function_minus_one, "exp(v) + -1", lambda: exp(v) + -1, "Expm1"),
    (rules.function_minus_one, "float32", lambda: exp(f32) - np.float64(1), "Cast_float64"),
]
DOES_NOT = [
    (rules.log_of_one_plus, "log(2 + v)", lambda: log(2 + v)),
    (rules.log_of_one_plus, "log(v)", lambda: log(v)),
    (rules.log_of_one_plus, "integers", lambda: log(1 + i64 * i64)),
    (rules.log_of_one_plus, "complex", lambda: log(1 + c128)),
    (rules.log_of_one_plus, "sizes that may differ", lambda: log(v + pt.ones_like(w))),
    (rules.log_of_one_minus, "log(v - 1)", lambda: log(v + 2 - 1)),
    (rules.log_of_one_minus, "log(2 - v)", lambda: log(2 - v)),
    (rules.log1p_of_exp, "log1p(v)", lambda: log1p(v)),
    (rules.log1p_of_exp, "integers", lambda: log1p(exp(i64))),
    (rules.log1p_of_minus_exp, "log1p(-v)", lambda: log1p(-v)),
    (sigmoids.quotient_to_sigmoid, "integers above", lambda: i64 / (1 + exp(-v))),
    (sigmoids.quotient_to_sigmoid, "1 + ...", lambda: 1 / (2 + exp(-v))),
    (rules.log_of_positive, "log(tanh)", lambda: log(pt.tanh(v))),
    (rules.log_of_positive, "two numbers", lambda: log(2 + pt.tanh(v))),
    (rules.log_of_minus_expm1, "no minus", lambda: log(pt.expm1(v))),
    (rules.log_of_expm1, "log1p", lambda: log1p(pt.expm1(v))),
    (rules.log_of_exp_plus_exp, "a term without exp", lambda: log(exp(v) + w)),
    (rules.log_of_exp_plus_exp, "complex", lambda: log(exp(c128) + exp(c128 + 1))),
    (rules.one_minus_function, "exp(v) - 1", lambda: exp(v) - 1),
    (rules.one_minus_function, "2 - exp(v)", lambda: 2 - exp(v)),
    (rules.one_minus_function, "complex", lambda: 1 - pt.erf(c128)),
    (rules.one_minus_function, "sizes that may differ", lambda: pt.ones_like(w) - exp(v)),
    (rules.one_plus_erf, "1 + erfc(v)", lambda: 1 + pt.erfc(v)),
    (rules.log_of_exp, "log(exp2(v))", lambda: log(pt.exp2(v))),
    (rules.log_of_exp, "complex", lambda: log(exp(c128))),
    (rules.exp_of_log, "exp(log2(v))", lambda: exp(pt.log2(v))),
    (rules.exp_of_log, "complex", lambda: exp(log(c128))),
    (softmaxes.quotient_to_softmax, "no keepdims", lambda: exp(v) / exp(x).sum(axis=0)),
    (softmaxes.quotient_to_softmax, "the other axis", lambda: exp(x) / exp(x).sum(axis=1)),
    (softmaxes.quotient_to_softmax, "of something else", lambda: exp(v) / exp(w).sum()),
    (softmaxes.product_to_softmax, "the other axis", lambda: exp(x) * (1 / exp(x).sum(axis=1))),
    (softmaxes.product_to_softmax, "of something else", lambda: exp(v) * (1 / exp(w).sum())),
    (softmaxes.minus_logsumexp, "the other axis", lambda: x - pt.logsumexp(x, axis=1)),
    (softmaxes.minus_logsumexp, "of something else", lambda: v - pt.logsumexp(w)),
    (softmaxes.gradient_of_log_softmax, "no quotient", lambda: centred(softmax(v), v)),
    (
        softmaxes.gradient_of_log_softmax,
        "another divisor",
        lambda: centred(softmax(v), v / softmax(w)),
    ),
    (
        softmaxes.gradient_of_log_softmax,
        "the other axis",
        lambda: centred(softmax(x, axis=1), x / softmax(x, axis=1), axis=0),
    ),
    (
        softmaxes.gradient_of_log_softmax,
        "other elements",
        lambda: centred(softmax(v), pt.inc_subtensor(pt.zeros_like(v)[0], 1 / softmax(v)[1])),
    ),
    (sigmoids.share_of_exponentials, "three terms", lambda: exp(v) / pt.add(exp(v), exp(w), v)),
    (sigmoids.share_of_exponentials, "of something else", lambda: exp(v) / (exp(w) + exp(f32))),
    (sigmoids.exponential_times_sigmoid, "the same sign", lambda: exp(v) * sigmoid(v)),
    (sigmoids.exponential_times_sigmoid, "another argument", lambda: exp(-v) * sigmoid(w)),
    (sigmoids.exponential_times_sigmoid, "2 + exp", lambda: (2 + exp(-v)) * sigmoid(v)),
    (rules.log_of_indexed_softmax, "no softmax", lambda: log(pt.tanh(x)[0])),
    (rules.log_of_scaled_positive, "two unknown signs", lambda: log(v * w)),
    (rules.log_of_scaled_positive, "integers", lambda: log(exp(f32) * (i64 + 9))),
    (rules.log_of_power, "a power that varies", lambda: log(v**w)),
    (rules.log_of_power, "cbrt", lambda: log(pt.cbrt(v))),
    (rules.number_times_its_log, "another number", lambda: v * log(w)),
    (rules.number_times_its_log, "complex", lambda: c128 * log(c128)),
    (rules.log_of_positive, "log(erf(v))", lambda: log(pt.erf(v))),
    (special.number_and_tail, "other numbers", lambda: 0.5 + 0.25 * pt.erf(v)),
    (special.number_and_tail, "1 + erfc(v)", lambda: 1 + pt.erfc(v)),
    (special.number_and_tail, "other sizes", lambda: pt.ones_like(w) - 0.5 * pt.erfc(v)),
    (special.log1p_of_tail, "log1p(erfc(v))", lambda: log1p(pt.erfc(v))),
    (special.log1p_of_tanh, "log1p(2 * tanh(v))", lambda: log1p(2 * pt.tanh(v))),
    (rules.other_log_of_positive, "log2(erf(v))", lambda: pt.log2(pt.erf(v))),
    (special.scaled_erfc, "another argument", lambda: exp(pt.sqr(v)) * pt.erfc(w)),
    (special.density_times_reciprocal, "another argument", lambda: exp(-(v**2)) * (1 / pt.erfc(w))),
    (special.cancel_positive, "may be 0", lambda: v * (w / v)),
    (special.cancel_positive, "another argument", lambda: exp(v) * (v / exp(w))),
    (special.distribute_over_quotients, "no quotient", lambda: exp(v) * (w - v)),
    (special.distribute_over_quotients, "may be 0", lambda: v * (w / v - w)),
    (special.distribute_over_quotients, "another divisor", lambda: exp(v) * (w / exp(w) - v)),
    (special.density_by_tail, "no minus", lambda: exp(pt.sqr(v)) / pt.erfc(v)),
    (sigmoids.log1p_of_minus_sigmoid, "no minus", lambda: log1p(sigmoid(v))),
    (rules.log_of_positive, "log2", lambda: elemwise(ps.log2)(softmax(x, axis=1))),
    (rules.log_of_positive, "complex", lambda: log(softmax(c128))),
    (rules.log_of_positive, "no exp", lambda: log(pt.sum(v * v))),
    (rules.log_of_positive, "a product", lambda: log(pt.prod(exp(v)))),
    (rules.log_of_positive, "another dtype", lambda: log(pt.sum(exp(f32), dtype="float64"))),
    (rules.function_minus_one, "1 - exp(v)", lambda: 1 - exp(v)),
    (rules.function_minus_one, "exp(v) + 1", lambda: exp(v) + 1),
    (rules.function_minus_one, "three terms", lambda: pt.add(exp(v), -1.0, w)),
    (rules.function_minus_one, "complex", lambda: exp(c128) - 1),
    (rules.function_minus_one, "sizes that may differ", lambda: exp(v) - pt.ones_like(w)),
]
IDS = [f"{rule.name}: {text}" for rule, text, *_ in APPLIES]
NOT_IDS = [f"{rule.name}: {text}" for rule, text, _ in DOES_NOT]


@pytest.mark.parametrize(("rule", "text", "build", "op"), APPLIES, ids=IDS)
def test_applies(apply_rule, rule, text, build, op):
    result = apply_rule(rule, build(), positive=True)
    assert result.count == 1
    tolerance = 1e-6 if "float32" in text else 1e-12
    np.testing.assert_allclose(result.after, result.before, rtol=tolerance)
    if op is not ...:
        assert str(result.out.owner.op) == op


@pytest.mark.parametrize(("rule", "why", "build"), DOES_NOT, ids=NOT_IDS)
def test_does_not_apply(apply_rule, rule, why, build):
    assert apply_rule(rule, build(), positive=True).count == 0


def test_every_rule_is_known_not_to_apply_to_something():
    # That it applies, and what it keeps, is tested in test_soundness.py.
    assert {rule.name for rule in STABILIZE} == {rule.name for rule, *_ in DOES_NOT}


# What the rules are for: (the expression of v, v, the right value to full precision)
DANGEROUS = [
    ("log(1 + v), small", lambda v: log(1 + v), 1e-20, 1e-20),
    ("log(1 - v), small", lambda v: log(1 - v), 1e-20, -1e-20),
    ("log(1 + exp(v)), large", lambda v: log(1 + exp(v)), 1000.0, 1000.0),
    ("log(1 + exp(v)), negative", lambda v: log(1 + exp(v)), -50.0, 1.9287498479639178e-22),
    ("log(1 - exp(v)), small", lambda v: log(1 - exp(v)), -1e-20, -46.051701859880914),
    ("log(1 - exp(v)), negative", lambda v: log(1 - exp(v)), -50.0, -1.9287498479639178e-22),
    ("exp(v) - 1, small", lambda v: exp(v) - 1, 1e-20, 1e-20),
    ("1 / (1 + exp(-v)), negative", lambda v: 1 / (1 + exp(-v)), -740.0, 4.2e-322),
    ("log(sigmoid(v)), negative", lambda v: log(sigmoid(v)), -1000.0, -1000.0),
    ("log(1 / (1 + exp(-v)))", lambda v: log(1 / (1 + exp(-v))), -1000.0, -1000.0),
    ("log(1 - sigmoid(v)), large", lambda v: log(1 - sigmoid(v)), 1000.0, -1000.0),
    ("log(sum(exp(v))), large", lambda v: log(pt.sum(exp(v))), 1000.0, 1000.0),
    ("log(sum(exp(v))), negative", lambda v: log(pt.sum(exp(v))), -1000.0, -1000.0),
    ("log(exp(v) + exp(2 * v))", lambda v: log(exp(v) + exp(2 * v)), 1000.0, 2000.0),
    ("log(exp(v) - 1), large", lambda v: log(exp(v) - 1), 1000.0, 1000.0),
    ("log(exp(v) - 1), small", lambda v: log(exp(v) - 1), 1e-20, -46.051701859880914),
    ("1 - sigmoid(v), large", lambda v: 1 - sigmoid(v), 50.0, 1.9287498479639178e-22),
    ("sigmoid(v) - 1, large", lambda v: sigmoid(v) - 1, 50.0, -1.9287498479639178e-22),
    ("1 - exp(v), small", lambda v: 1 - exp(v), 1e-20, -1e-20),
    ("1 - erf(v), large", lambda v: 1 - pt.erf(v), 10.0, 2.088487583762545e-45),
    ("1 - erfc(v), small", lambda v: 1 - pt.erfc(v), 1e-20, 1.1283791670955126e-20),
    ("1 + erf(v), negative", lambda v: 1 + pt.erf(v), -10.0, 2.088487583762545e-45),
    ("log(erfc(v)), large", lambda v: log(pt.erfc(v)), 100.0, -10005.177585122666),
    ("log(exp(v) * v)", lambda v: log(exp(v) * v), 1000.0, 1006.907755278982137),
    ("log(v ** 2), large", lambda v: log(v**2), 1e200, 921.034037197618274),
    ("exp(v) / (1 + exp(v))", lambda v: exp(v) / (1 + exp(v)), 1000.0, 1.0),
    ("exp(v) / sum(exp(v))", lambda v: exp(v) / exp(v).sum(), 1000.0, 1.0),
    ("v * log(v)", lambda v: v * log(v), 0.0, 0.0),
    ("log(mean(exp(v)))", lambda v: log(pt.mean(exp(v))), 1000.0, 1000.0),
    ("exp(v ** 2) * erfc(v)", lambda v: exp(v**2) * pt.erfc(v), 100.0, 0.005641613782989433),
]


@pytest.mark.parametrize(
    ("build", "value", "right"), [case[1:] for case in DANGEROUS], ids=[c[0] for c in DANGEROUS]
)
def test_precision_near_dangerous_values(evaluate, build, value, right):
    fgraph = FunctionGraph([v], [build(v)], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    with np.errstate(all="ignore"):
        (after,) = evaluate(fgraph.outputs, {v: np.array([value])})
    np.testing.assert_allclose(after, right, rtol=3e-15)


def test_log_softmax_of_far_apart_values(evaluate):
    fgraph = FunctionGraph([x], [log(softmax(x, axis=1))], copy_inputs=False)
    Worklist(STABILIZE, name="stabilize").apply(fgraph)
    (after,) = evaluate(fgraph.outputs, {x: np.array([[0.0, 1000.0]])})
    np.testing.assert_array_equal(after, [[-1000.0, 0.0]])


# Gradients are built before anything is stable, and must be so afterwards.
GRADIENTS = [
    ("log(sigmoid(v))", lambda v: log(sigmoid(v)), -1000.0, 1.0),
    ("log(1 - sigmoid(v))", lambda v: log(1 - sigmoid(v)), 1000.0, -1.0),
    ("log(1 + exp(v))", lambda v: log(1 + exp(v)), 1000.0, 1.0),
    ("log(sum(exp(v)))", lambda v: log(pt.sum(exp(v))), 1000.0, 1.0),
    ("log(erfc(v))", lambda v: log(pt.erfc(v)), 100.0, -200.00999900024991),
    ("log1p(-sigmoid(v))", lambda v: log1p(-sigmoid(v)), 1000.0, -1.0),
    ("1 / (1 + exp(-v))", lambda v: 1 / (1 + exp(-v)), -1000.0, 0.0),
    ("1 / (1 + exp(-2 * v))", lambda v: 1 / (1 + exp(-2 * v)), -1000.0, 0.0),
    ("log(1 / (1 + exp(-v)))", lambda v: log(1 / (1 + exp(-v))), -1000.0, 1.0),
    ("log(1 - 1 / (1 + exp(-v)))", lambda v: log(1 - 1 / (1 + exp(-v))), 1000.0, -1.0),
    ("log(exp(v) + exp(3))", lambda v: log(exp(v) + exp(pt.fill(v, 3.0))), 1000.0, 1.0),
    ("entropy, large", lambda v: cross_entropy(sigmoid(v)), 1000.0, 0.75),
    ("entropy, negative", lambda v: cross_entropy(sigmoid(v)), -1000.0, -0.25),
    ("entropy by hand, large", lambda v: cross_entropy(1 / (1 + exp(-v))), 1000.0, 0.75),
    ("entropy by hand, negative", lambda v: cross_entropy(1 / (1 + exp(-v))), -1000.0, -0.25),
]


def cross_entropy(p, target=0.25):
    return -(target * log(p) + (1 - target) * log1p(-p))


@pytest.mark.parametrize(
    ("build", "value", "right"), [case[1:] for case in GRADIENTS], ids=[c[0] for c in GRADIENTS]
)
def test_gradients_near_dangerous_values(evaluate, build, value, right):
    out = phintys.grad(build(v).sum(), v)
    fgraph = FunctionGraph([v], [out], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    with np.errstate(all="ignore"):
        (after,) = evaluate(fgraph.outputs, {v: np.array([value])})
    np.testing.assert_allclose(after, right, rtol=3e-15)


# The ways in which the likelihood of classes is written: of logits x and the classes i64, or t.
t = pt.dmatrix("t")
rows = pt.arange(i64.shape[0])
CLASSES = {
    "index of the log": lambda x: pt.mean(log(softmax(x, axis=1))[rows, i64]),
    "log of the index": lambda x: pt.mean(log(softmax(x, axis=1)[rows, i64])),
    "one row after another": lambda x: (
        (log(softmax(x, axis=1)[0, i64[0]]) + log(softmax(x, axis=1)[1, i64[1]])) / 2
    ),
    "one by one of the log": lambda x: (
        (log(softmax(x, axis=1))[0, i64[0]] + log(softmax(x, axis=1))[1, i64[1]]) / 2
    ),
    "one-hot": lambda x: pt.mean(pt.sum(t * log(softmax(x, axis=1)), axis=1)),
    "log_softmax": lambda x: pt.mean(pt.special.log_softmax(x, axis=1)[rows, i64]),
    "transposed": lambda x: pt.mean(log(softmax(x.T, axis=0)).T[rows, i64]),
}
LOGITS = np.array([[1000.0, 0.0, -1000.0], [0.3, -0.2, 0.7]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("build", CLASSES.values(), ids=CLASSES.keys())
def test_gradient_of_a_likelihood_of_classes(evaluate, build, dtype):
    logits = pt.tensor("logits", dtype=dtype, shape=(None, None))
    cost = build(logits)
    fgraph = FunctionGraph(None, [cost, phintys.grad(cost, logits)])
    PIPELINES["full"].apply(fgraph)
    hot = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    values = {"logits": LOGITS.astype(dtype), "i64": np.array([2, 1]), "t": hot}
    given = {one: values[one.name] for one in fgraph.inputs}
    found, gradient = evaluate(fgraph.outputs, given)
    powers = np.exp(LOGITS - LOGITS.max(axis=1, keepdims=True))
    right = powers / powers.sum(axis=1, keepdims=True)
    tolerance = 1e-6 if dtype == "float32" else 1e-15
    np.testing.assert_allclose(gradient, (hot - right) / 2, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found, (-2000 + np.log(right[1, 1])) / 2, rtol=tolerance)
    made_by = {node.outputs[0]: str(node.op) for node in fgraph.apply_nodes}
    assert "Exp" not in made_by.values()
    for node in fgraph.apply_nodes:
        if str(node.op) == "True_div":
            assert not made_by.get(node.inputs[1], "").startswith("Softmax")


def test_what_one_class_a_row_adds_is_not_summed_up():
    cost = pt.mean(log(softmax(x, axis=1))[rows, i64])
    fgraph = FunctionGraph(None, [phintys.grad(cost, x)])
    PIPELINES["full"].apply(fgraph)
    assert not any(str(node.op).startswith("Sum") for node in fgraph.apply_nodes)


def test_a_gradient_of_log_softmax_that_is_used_further(evaluate):
    cost = pt.sum(v * log(softmax(3 * v)))
    fgraph = FunctionGraph([v], [phintys.grad(cost, v)], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    (after,) = evaluate(fgraph.outputs, {v: np.array([0.0, 1000.0])})
    np.testing.assert_allclose(after, [-3000.0, 0.0])


ROOT_2 = 2**0.5
HALF_TAILS = {
    "ndtr(x)": pt.special.ndtr,
    "erfc / 2": lambda x: pt.erfc(-x / ROOT_2) / 2,
    "0.5 * erfc": lambda x: 0.5 * pt.erfc(-x * 0.5**0.5),
    "(1 + erf) / 2": lambda x: (1 + pt.erf(x / pt.sqrt(2.0))) / 2,
    "0.5 * (1 - erf)": lambda x: 0.5 * (1 - pt.erf(-x / ROOT_2)),
    "0.5 + 0.5 * erf": lambda x: 0.5 + 0.5 * pt.erf(x / ROOT_2),
    "0.5 * erf + 0.5": lambda x: pt.erf(x / ROOT_2) * 0.5 + 0.5,
    "0.5 - 0.5 * erf": lambda x: 0.5 - 0.5 * pt.erf(-x / ROOT_2),
    "0.5 - erf / 2": lambda x: 0.5 - pt.erf(-x / ROOT_2) / 2,
    "1 - ndtr": lambda x: 1 - pt.special.ndtr(-x),
    "1 - 0.5 * erfc": lambda x: 1 - 0.5 * pt.erfc(x / ROOT_2),
    "(2 - erfc) / 2": lambda x: (2 - pt.erfc(x / ROOT_2)) / 2,
}
LOGARITHMS = {
    "log": pt.log,
    "log1p": lambda p: pt.log1p(p - 1),
    "log2": lambda p: pt.log2(p) * np.log(2),
    "log10": lambda p: pt.log10(p) * np.log(10),
    "of 3 p": lambda p: pt.log(3 * p) - np.log(3),
    "of p / u": lambda p: pt.log(p / pt.exp(w[0]).astype(p.dtype)) + w[0],
    "of 1 / p": lambda p: -pt.log(1 / p),
}


@pytest.mark.parametrize(
    "tail",
    [pt.special.ndtr, pt.erf, pt.erfc, lambda x: pt.erfc(x) / 2, lambda x: 0.5 * pt.erfc(x)],
)
def test_log1p_of_small_tails_keeps_their_digits(evaluate, tail):
    z = pt.dvector("z")
    fgraph = FunctionGraph([z], [log1p(-tail(z)), tail(z)], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    at = np.array([-20.0, -1e-20, 1e-300, 8.0, 20.0])
    with np.errstate(all="ignore"):  # of tails of 1 and more
        found, tails = evaluate(fgraph.outputs, {z: at})
    small = abs(tails) < 1e-8
    assert small.any()
    np.testing.assert_allclose(found[small], -tails[small], rtol=2e-8)


SHARES = {
    "1/2 + 1/2 tanh(x)": lambda x: 0.5 + 0.5 * pt.tanh(x),
    "1/2 - 1/2 tanh(-x)": lambda x: 0.5 - 0.5 * pt.tanh(-x),
    "1/2 tanh(x) - -1/2": lambda x: 0.5 * pt.tanh(x) - -0.5,
    "1/2 (tanh(x) + 1)": lambda x: 0.5 * (pt.tanh(x) + 1),
    "(1 + tanh(x)) / 2": lambda x: (1 + pt.tanh(x)) / 2,
}


@pytest.mark.parametrize("share", SHARES)
def test_logarithms_of_the_logistic_distribution_do_not_underflow(evaluate, share):
    z = pt.dvector("z")
    p = SHARES[share](z)
    logs = [log(p), pt.log2(p) * np.log(2), log(3 * p) - np.log(3), -log(1 / p)]
    fgraph = FunctionGraph([z], [*logs, phintys.grad(logs[0].sum(), z)], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    at = np.array([-1e3, -400, -9, -2, 0.5, 3])
    with np.errstate(all="ignore"):  # in branches that are not taken
        *found, slopes = evaluate(fgraph.outputs, {z: at})
    for one in found:
        np.testing.assert_allclose(one, -np.logaddexp(0, -2 * at), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(slopes, 2 * scipy.special.expit(-2 * at), rtol=1e-14)


def test_log1p_of_tanh_does_not_underflow_and_keeps_its_digits(evaluate):
    z = pt.dvector("z")
    fgraph = FunctionGraph([z], [log1p(pt.tanh(z)), log1p(-pt.tanh(-z))], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    at = np.array([-1e3, -400, -2, -1e-9, 1e-20, 0.5, 30])
    expected = [*(2 * at[:2] + np.log(2)), *np.log1p(np.tanh(at[2:]))]
    np.testing.assert_allclose(evaluate(fgraph.outputs, {z: at}), [expected, expected], rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("tail", HALF_TAILS)
def test_logarithms_of_normal_tails_do_not_underflow(evaluate, tail, dtype):
    z = pt.vector("z", dtype=dtype)
    p = HALF_TAILS[tail](z)
    logs = [log(p) for log in LOGARITHMS.values()]
    fgraph = FunctionGraph([z, w], [*logs, phintys.grad(logs[0].sum(), z)], copy_inputs=False)
    PIPELINES["full"].apply(fgraph)
    at = np.array([-1e3, -40, -9, -2, 0.5, 3], dtype)
    with np.errstate(all="ignore"):  # in branches that are not taken
        *found, slopes = evaluate(fgraph.outputs, {z: at, w: np.array([0.25])})
    wanted = scipy.special.log_ndtr(at.astype("float64"))
    for name, one in zip(LOGARITHMS, found, strict=True):
        # logarithms of numbers near 1 have the digits of these
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(one, wanted, rtol=64 * eps, atol=4 * eps, err_msg=name)
    density = np.sqrt(2 / np.pi) / scipy.special.erfcx(-at.astype("float64") / ROOT_2)
    np.testing.assert_allclose(slopes, density, rtol=64 * np.finfo(dtype).eps)


def test_two_outputs_of_one_node_are_not_taken_for_one():
    a, b = pt.split(v, [1, 1], 2)
    values = [exp(b) * sigmoid(-a), exp(a) * sigmoid(-b), sigmoid(a) * exp(-b)]
    values += [softmax(v) * exp(a), log(softmax(v)) - a, pt.xlogy(a, b) / b]
    given = [0.2, 0.9]
    for found, expected in zip(
        phintys.function([v], values)(given),
        phintys.function([v], values, mode="reference")(given),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected)
