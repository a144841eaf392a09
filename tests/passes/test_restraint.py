"""Expressions that look like what a rule rewrites, and that it must leave alone."""

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.graph import FunctionGraph
from phintys.graph.traversal import explicit_graph_inputs
from phintys.passes.merging import merge
from phintys.passes.pipelines import PIPELINES
from phintys.rewriting import RewriteTrace, Worklist
from phintys.tensor.elemwise import elemwise

# rule -> what it leaves alone, in the variables below
LEFT_ALONE = {
    # arithmetic
    "merge_constants": [
        "2 + x",
        "x + y",
        "pt.mul(1e200, x, 1e200)",
        "pt.mul(1e-200, x, 1e-200)",
        "pt.mul(x, y, 1e200)",
        "pt.mul(x, 1e200, y, 1e-200)",
        "2 + v8",
    ],
    "subtract_constant": ["x - y", "2 - x", "i8 - np.float64(2)", "x - s"],
    "constant_out_of_difference": ["1 - x", "x - (2 - y)", "1 - (x - y)"],
    "merge_scales": ["(x / y) / z", "2 / (x * y)", "k / 2 / 2", "(1e200 * x) / 1e-200"],
    "divide_by_power_of_two": ["x / 3", "x / y", "2 / x", "x / 0.0", "x / 1e300", "k / 4"],
    "sign_out_of_product": ["x * y", "u8 * (-i8)", "2 * x"],
    "sign_out_of_quotient": ["x / y", "(-k) / 2", "(-k) / k"],
    "sign_into_constant": ["-(x * y)", "-(x / y)", "-x"],
    "add_negative": ["x + y", "k + (-i8)", "pt.add(x, -y, z)"],
    "subtract_negative": ["x - y", "k - (-i8)", "1 - x"],
    "negative_difference": ["-(x + y)", "-(k - i8)"],
    "collect_terms": [
        "x + y",
        "x + -x",
        "2 * x + -3 * x",
        "b + b",
        "x + x * y",
        "c + c",  # twice an infinite number is NaN
    ],
    "collect_factors": ["x * y", "b & b", "x * x**0.5", "x * x**-1.0", "pt.mul(y, x, x)"],
    "simple_power": ["x**3", "x**y", "2**x", "x ** np.array([0.0, 1.0, 2.0])"],
    "merge_powers": ["(x**0.5) ** 2", "(x**y) ** 2", "pt.sqr(x) ** 0.5", "(x**9)**9"],
    "flip_quotient": ["1 / x", "2 / (x / y)", "1 / (k / k)"],
    "multiply_by_reciprocal": ["x * y", "x * (2 / y)", "k * (1 / k)", "pt.mul(x, y, 1 / z)"],
    "drop_sign_of_argument": ["pt.sin(-x)", "abs(-u8)", "abs(pt.sin(x))"],
    "drop_needless_function": ["abs(pt.sin(x))", "abs(x)", "pt.floor(pt.exp(x))", "abs(pt.sqr(k))"],
    "absorb": ["x * 0", "pt.maximum(x, np.inf)", "i8 * 1", "b | False"],
    "drop_repeated_operand": ["b & (k > 0)", "pt.maximum(x, y)"],
    "cancel_integers": ["x - x", "k - i8", "b ^ (k > 0)"],
    # checks
    "drop_true_conditions": [
        "pt.Assert()(x, False)",
        "pt.Assert()(x, np.array([True, False]))",
        "pt.Assert()(x, pt.ge(x, 0))",
    ],
    # comparison
    "compare_with_itself": ["pt.eq(x, x)", "x <= x", "pt.neq(x, x)", "x < y"],
    "compare_with_truth": ["pt.eq(b, k > 0)", "pt.eq(x, 1)", "pt.eq(k, True)"],
    "compare_size_with_negative": [
        "pt.ShapeI(0)(x) < 1",
        "k < 0",
        "pt.ShapeI(0)(x) - 5 < 0",
        "x < 0",
    ],
    "bound_of_size": ["pt.maximum(k, 0)", "pt.maximum(pt.ShapeI(0)(x), 1)", "pt.maximum(x, 0.0)"],
    "absorbed_extreme": ["pt.minimum(pt.maximum(x, y), x)", "pt.maximum(pt.maximum(n, m), n)"],
    "merge_bounds": ["pt.maximum(pt.minimum(x, 1), 2)", "pt.maximum(pt.maximum(x, y), 2)"],
    "negated_comparison": ["~(x < y)", "pt.logical_not(x >= y)", "~b"],
    "double_not": ["pt.logical_not(pt.logical_not(x))", "pt.logical_not(~k)"],
    "integers_are_finite": ["pt.isnan(x)", "pt.isfinite(x)"],
    "switch_on_negation": ["pt.switch(b, x, y)", "pt.switch(~k, x, y)"],
    "switch_twice": [
        "pt.switch(b, pt.switch(k > 0, x, y), z)",
        "pt.switch(b, pt.switch(b, x, y), z)",
    ],
    "switch_of_truths": [
        "pt.switch(b, True, True)",
        "pt.switch(x, True, False)",
        "pt.switch(b, 1, 0)",
    ],
    # dimshuffle, shape, fills
    "dimshuffle_before_elemwise": [
        "pt.exp(M).T",
        "(M.T + M).T",
        "(pt.exp(M.T) + 0 * s).dimshuffle(0, 1, 'x')",
    ],
    "dimshuffle_of_alloc": ["pt.alloc(x, 2, n).T", "M.T"],
    "elemwise_before_fill": ["pt.alloc(s, n) + x", "pt.exp(x)", "pt.alloc(s, n) + pt.alloc(s, m)"],
    "merge_allocs": ["pt.alloc(pt.alloc(s, n), m)", "pt.alloc(x, 2, n)"],
    "reshape_of_dimshuffle": ["M.T.reshape((-1,))", "M.reshape((-1,))"],
    "reshape_to_dimshuffle": ["M.reshape((-1, 1))", "x.reshape((n, 1))", "M.reshape((1, n, m))"],
    # indexing
    "simplify_entries": ["M[1:]", "M[:n]", "M[::-1]", "M[i]"],
    "merge_indices": ["x[1:][-1]", "x[n:][1]", "x[:-1][0]", "x[::2][1]"],
    "read_what_was_set": [
        "pt.set_subtensor(x[0], s)[0]",
        "pt.inc_subtensor(v3[0], s)[0]",
        "pt.set_subtensor(v3[0], s)[1]",
    ],
    "index_before_alloc": ["pt.alloc(s, n)[0]", "pt.alloc(s, 3)[i]"],
    "index_before_join": [
        "pt.concatenate([x, y])[1]",
        "pt.concatenate([v3, v3])[2:4]",
        "pt.concatenate([M, M])[:pt.ShapeI(0)(M)]",
    ],
    "index_before_dimshuffle": ["M[0]", "x[None][:1]"],
    "index_before_elemwise": [
        "(x + y)[0]",
        "pt.exp(x)[0] + pt.exp(x)",
        "M[0]",
        "pt.exp(v3)[0] * pt.exp(v3).sum()",
        "pt.exp(v3)[0] * pt.exp(v3)[1:].sum()",
        "pt.exp(v8)[0] * pt.exp(v8)[1]",
    ],
    "index_before_reduction": ["M[0]", "M.sum(axis=0)[0] * M.sum(axis=0)"],
    "index_before_dot": ["pt.dot(M, M)[0] * pt.dot(M, M)", "M[0]"],
    # join, dot, reduce
    "join_of_one": ["pt.concatenate([x, y])"],
    "merge_joins": ["pt.concatenate([x, y])", "pt.concatenate([pt.concatenate([k, k]), x])"],
    "drop_empty_parts": ["pt.concatenate([x, y])", "pt.concatenate([M[:0], M])"],
    "outer_to_product": ["pt.dot(M, M)", "pt.dot(x, y)"],
    "row_to_vector": ["pt.dot(M, M)", "pt.dot(M.T, M)", "pt.dot(x[:, None], y[None])"],
    "factor_out_of_dot": [
        "pt.dot(M, M)",
        "pt.dot(-k, k)",
        "pt.dot(s * M, x)",
        "pt.dot(np.inf * M, x)",
        "pt.dot(1e-200 * M, x)",
    ],
    "transpose_of_dot": ["pt.dot(M, M).T", "pt.dot(M.T, M).T", "pt.dot(M.T, M.T)"],
    "sum_of_dot": ["pt.dot(M, M).max()", "pt.dot(k, k).sum()", "pt.exp(pt.dot(M, M)).sum()"],
    "merge_reductions": ["M.max(axis=0).sum()", "pt.exp(M.sum(axis=0)).sum()"],
    "sum_of_scattered": [
        "pt.inc_subtensor(M[0, 1], 2.0).sum(axis=0)",
        "pt.set_subtensor(pt.zeros((3, 3))[0, 1], 2.0).sum(axis=0)",
        "pt.inc_subtensor(pt.zeros((3, 3))[0, 1], 2.0).sum()",
        "pt.inc_subtensor(pt.zeros((3, 3))[0, 1], 2.0).max(axis=0)",
        "pt.inc_subtensor(pt.zeros((3, 3))[0, 1:], 2.0).sum(axis=0)",
        "pt.inc_subtensor(pt.zeros((3, 3))[k, 1:], 2.0).sum(axis=0)",
        "pt.inc_subtensor(pt.zeros((3, 3))[k, k[:, None]], 2.0).sum(axis=0)",
        "pt.inc_subtensor(pt.zeros((3, 3))[k, k], 2.0, ignore_duplicates=True).sum(axis=0)",
    ],
    "sum_of_padded": [
        "pt.pad(M, 1).max()",
        "pt.pad(M, 1, constant_values=2.0).sum()",
        "pt.pad(M, 1).sum(axis=0)",
        "pt.set_subtensor(pt.zeros((3, 3))[1:], M).sum()",
        "pt.set_subtensor(pt.zeros(4)[1:3], v3[:1]).sum()",
        "pt.set_subtensor(pt.zeros(4)[1:3], x).sum()",
        "pt.set_subtensor(pt.zeros(x.shape[0] + 1)[2 : x.shape[0] + 2], x).sum()",
        "pt.set_subtensor(pt.zeros(x.shape[0] + 2)[-1 : x.shape[0] + 2], x).sum()",
        "pt.set_subtensor(pt.zeros(x.shape[0] + 2)[1 : y.shape[0] + 1], x).sum()",
        "pt.set_subtensor(pt.zeros(x.shape[0] + 2)[1 : x.shape[0] + 1], s).sum()",
    ],
    "factor_out_of_sum": [
        "(s * x).sum()",
        "(x * y).sum()",
        "(2 * x).prod()",
        "(1e200 * x).sum()",
        "(2 * i8).sum()",
    ],
    "extreme_before_increasing": [
        "pt.sin(x).max()",
        "pt.sqrt(x).max()",
        "(-k).max()",
        "pt.exp(x).sum()",
    ],
    "reduce_alloc": [
        "pt.alloc(s, n).sum()",
        "pt.alloc(s, n).max()",
        "pt.alloc(x, 2, n).sum(axis=1)",
    ],
    "log_of_product_of_exp": ["pt.log(x.prod())", "pt.log(pt.exp(x).sum())"],
    # specialize
    "power_of_two": ["3.0**x", "x**2.0", "2**k"],
    "root_of_square": ["pt.sqrt(x)", "pt.sqr(pt.sqrt(x))"],
    "merge_exponentials": [
        "pt.exp(x) * y",
        "pt.exp(x) * pt.exp(y) + pt.exp(x)",
        "pt.exp(pt.log(x)) * y",
    ],
    "divide_exponentials": [
        "pt.exp(x) / y",
        "pt.exp(x) / pt.exp(y) + pt.exp(y)",
        "pt.exp(x[:, None]) / pt.exp(y[None])",
    ],
    "power_of_exponential": ["pt.sqrt(pt.exp(x)) + pt.exp(x)", "y ** pt.exp(x)"],
    "ratio_to_tangent": ["pt.cos(x) / pt.sin(x)", "pt.sin(x) / pt.cos(y)"],
    "minus_softplus": ["-pt.softplus(x)", "pt.softplus(-x)"],
    "exp_of_softplus": ["pt.softplus(pt.exp(x))"],
    "drop_gradient_mark": ["x"],
}

NAMED = {
    **{name: pt.dvector(name) for name in "xyz"},
    "M": pt.dmatrix("M"),
    "s": pt.dscalar("s"),
    "v3": pt.tensor("v3", dtype="float64", shape=(3,)),
    "v8": pt.tensor("v8", dtype="float64", shape=(8,)),
    **{name: pt.lscalar(name) for name in "inm"},
    "k": pt.lvector("k"),
    "c": pt.zvector("c"),
    "i8": pt.tensor("i8", dtype="int8", shape=(None,)),
    "u8": pt.tensor("u8", dtype="uint8", shape=(None,)),
    "b": pt.tensor("b", dtype="bool", shape=(None,)),
}
SCOPE = {"pt": pt, "ps": ps, "np": np, "phintys": phintys, "elemwise": elemwise, **NAMED}
RULES = {
    rule.name: rule
    for one in PIPELINES["full"]
    if hasattr(one.step, "rules")
    for rule in one.step.rules
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_left_alone(name):
    for text in LEFT_ALONE[name]:
        expression = eval(text, SCOPE)
        inputs = list(explicit_graph_inputs([expression]))
        fgraph = FunctionGraph(inputs, [expression], copy_inputs=False)
        merge.apply(fgraph)
        trace = RewriteTrace()
        Worklist([RULES[name]], name="restraint").apply(fgraph, trace)
        assert not trace.applied(name), text
