"""What BLAS computes in one go, and what is left to loops."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.passes import rewrite_graph
from phintys.passes.blas import BLAS, add_within_blas, scale_within_blas
from phintys.tensor.blas import Gemm

X, Y, Z = pt.dmatrices("X", "Y", "Z")
x, y = pt.dvectors("x", "y")
s = pt.dscalar("s")
F, i = pt.fmatrix("F"), pt.lscalar("i")
C = pt.zmatrix("C")

SCALED = [
    ("2 * pt.dot(X, Y)", ["Dot"], ["Gemm"]),
    ("-pt.dot(X, y)", ["Dot"], ["Gemm"]),
    ("pt.dot(x, Y) * s", ["Dot", "ExpandDims{x}"], ["Gemm"]),
    ("-(s * pt.dot(X, Y))", ["Dot"], ["Mul", "Gemm"]),
    ("i * pt.dot(X, Y)", ["Dot"], ["Cast_float64", "Gemm"]),
    ("2 * pt.dot(C, C)", ["Dot"], ["Gemm"]),
    ("pt.dot(2 * pt.dot(X, Y), Z)", ["Dot"], ["Gemm", "Dot"]),
]
NOT_SCALED = [
    "2 * pt.dot(x, y)",  # a number
    "pt.exp(2 * pt.dot(X, Y))",  # the loop scales
    "(2 * pt.dot(X, Y)).sum(axis=0)",
    "Z * pt.dot(X, Y)",
    "0 * pt.dot(X, Y)",
    "np.inf * pt.dot(X, Y)",
    "np.float64(2) * pt.dot(F, F)",
    "1j * pt.dot(X, Y)",
    "2 * pt.dot(i * pt.ones((2, 2), 'int64'), pt.ones((2, 2), 'int64'))",
    "2 * pt.batched_dot(pt.dtensor3(), pt.dtensor3())",
]
ADDED = [
    ("Z + pt.dot(X, Y)", ["Gemm"]),
    ("Z - 0.1 * pt.dot(X.T, Y)", ["Transpose{1,0}", "Gemm"]),
    ("y + s * pt.dot(X, x)", ["Gemm"]),
    ("pt.dot(X, Y) - Z", ["Neg", "Gemm"]),
    ("pt.dot(X, Y) + y", ["ExpandDims{x,0}", "Gemm"]),
    ("pt.dot(X, Y) + 1", ["Gemm"]),
    ("F + pt.dot(X, Y)", ["Cast_float64", "Gemm"]),
    ("pt.dot(X, Y) + Z + y", ["ExpandDims{x,0}", "Add", "Gemm"]),
    ("Z - (X - pt.dot(X, Y))", ["Neg", "Add", "Gemm"]),
    ("pt.dot(X, Y) - pt.dot(Y, Z)", ["Dot", "Gemm"]),
    ("2 * pt.dot(X, Y) + pt.dot(Y, Z)", ["Gemm", "Gemm"]),
    ("pt.tanh(pt.dot(X, Y) + pt.dot(Y, Z) + y)", ["Dot", "Gemm", "ExpandDims{x,0}", "Add", "Tanh"]),
]
NOT_ADDED = [
    "pt.exp(Z + pt.dot(X, Y))",  # the loop adds
    "(Z + pt.dot(X, Y)).sum()",
    "x + pt.dot(X, Y)[0, 0]",
    "pt.dot(x, y) + x",
    "X * pt.dot(X, Y) + Z",
    "Z + 0 * pt.dot(X, Y)",
    "pt.dot(F, F) + X",
    "Z + pt.dot(F, F)",
    "pt.dot(pt.drow(), pt.dmatrix()) + Z",  # the product is what broadcasts
    "Z + pt.outer(x, y)",
]


def build(text):
    return eval(text, globals())


def shape_only(ops):
    return [op for op in ops if not op.startswith(("ExpandDims", "DropDims", "Squeeze"))]


@pytest.mark.parametrize(("text", "_", "ops"), SCALED, ids=[text for text, *_ in SCALED])
def test_scaled(apply_rule, text, _, ops):
    result = apply_rule(scale_within_blas, build(text))
    assert result.count >= 1
    assert sorted(shape_only(result.ops)) == sorted(ops)
    np.testing.assert_allclose(result.after, result.before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", NOT_SCALED)
def test_not_scaled(apply_rule, text):
    assert apply_rule(scale_within_blas, build(text)).count == 0


@pytest.mark.parametrize(("text", "ops"), ADDED, ids=[text for text, _ in ADDED])
def test_added(apply_rule, text, ops):
    result = apply_rule(add_within_blas, build(text))
    assert result.count >= 1
    assert shape_only(result.ops) == shape_only(ops)
    np.testing.assert_allclose(result.after, result.before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("text", NOT_ADDED)
def test_not_added(apply_rule, text):
    assert apply_rule(add_within_blas, build(text)).count == 0


def test_a_product_that_others_need_stays():
    product = pt.dot(X, Y)
    outputs = rewrite_graph([product, Z + product])
    assert outputs[0].owner.op == pt.Dot()
    assert outputs[1].owner.op == pt.add


def test_a_long_sum_is_one_chain():
    out = rewrite_graph(Z - s * pt.dot(X, Y) + pt.dot(Y, X) - pt.dot(X, Z))
    for _ in range(3):
        assert isinstance(out.owner.op, Gemm)
        out = out.owner.inputs[3]
    assert out is Z


def test_gradient_steps_are_one_call():
    w = phintys.shared(np.ones((3, 2)), name="w")
    cost = pt.sqr(pt.dot(X, w) - Y).sum() / 2
    step = rewrite_graph(w - 0.1 * phintys.grad(cost, w))
    assert isinstance(step.owner.op, Gemm)
    assert step.owner.inputs[3] is w


def test_the_twin_is_put_in_place_where_that_is_asked_for():
    mode = phintys.get_mode("reference").clone(pipeline=phintys.passes.PIPELINES["full"])
    mode = mode.including("inplace_everywhere")
    f = phintys.function([X, Y, Z], pt.exp(Z) + 2 * pt.dot(X, Y), mode=mode)
    assert "Gemm{inplace}" in [repr(node.op) for node in f.maker.fgraph.toposort()]
    values = [np.full((2, 2), value) for value in (1.0, 2.0, 3.0)]
    np.testing.assert_allclose(f(*values), np.exp(values[2]) + 2 * values[0] @ values[1])


def test_the_list():
    assert len({rule.name for rule in BLAS}) == len(BLAS)
