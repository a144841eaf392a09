import numpy as np
import pytest

import phintys.tensor as pt
from phintys.graph.traversal import explicit_graph_inputs
from phintys.passes import shapes as rules
from phintys.passes.shapes import CANONICAL_SHAPE
from phintys.tensor.creation import Alloc
from phintys.tensor.reshaping import Reshape
from phintys.tensor.shapes import SpecifyShape, shape, shape_i

x = pt.dmatrix("x")
v = pt.dvector("v")
s = pt.dscalar("s")
n = pt.lscalar("n")
fixed = pt.tensor("fixed", dtype="float64", shape=(2, 3))
half = pt.tensor("half", dtype="float64", shape=(None, 3))
row = pt.tensor("row", dtype="float64", shape=(1, None))

APPLIES = [
    (rules.drop_useless_alloc, "its own shape", lambda: pt.alloc(x, *map(shape_i, (x, x), (0, 1)))),
    (rules.drop_useless_alloc, "its static shape", lambda: Alloc()(fixed, 2, 3)),
    (
        rules.drop_useless_alloc,
        "the shape of what it comes from",
        lambda: pt.alloc(pt.exp(x), shape_i(x, 0), shape_i(x, 1)),
    ),
    (rules.drop_useless_alloc, "no dimensions", lambda: Alloc()(s)),
    (rules.drop_useless_specify_shape, "known", lambda: SpecifyShape((False, True))(half, 3)),
    (
        rules.drop_useless_specify_shape,
        "its own size",
        lambda: SpecifyShape((True, False))(x, shape_i(pt.exp(x), 0)),
    ),
    (rules.drop_useless_reshape, "static", lambda: Reshape(2)(fixed, [2, 3])),
    (rules.drop_useless_reshape, "a vector by -1", lambda: v.reshape((-1,))),
    (rules.drop_useless_reshape, "one size by -1", lambda: Reshape(2)(half, [-1, 3])),
    (rules.drop_useless_reshape, "its shape", lambda: Reshape(2)(x, shape(x))),
    (
        rules.drop_useless_reshape,
        "its sizes",
        lambda: x.reshape((shape_i(x, 0), shape_i(x, 1))),
    ),
    (rules.merge_reshapes, "flattened between", lambda: x.reshape((-1,)).reshape((1, 3, -1))),
    (rules.merge_reshapes, "checked between", lambda: fixed.reshape((3, 2)).reshape((6,))),
]
DOES_NOT = [
    (rules.drop_useless_alloc, "a larger shape", lambda: pt.alloc(row, 3, shape_i(row, 1))),
    (rules.drop_useless_alloc, "one more dimension", lambda: pt.alloc(v, 1, shape_i(v, 0))),
    (rules.drop_useless_alloc, "any size", lambda: pt.alloc(v, n)),
    (rules.drop_useless_specify_shape, "not known", lambda: pt.specify_shape(x, (None, 3))),
    (rules.drop_useless_specify_shape, "any size", lambda: pt.specify_shape(x, (n, None))),
    (
        rules.drop_useless_specify_shape,
        "the other dimension",
        lambda: pt.specify_shape(x, (shape_i(x, 1), None)),
    ),
    (rules.drop_useless_reshape, "another rank", lambda: x.reshape((-1,))),
    (rules.drop_useless_reshape, "another shape", lambda: fixed.reshape((3, 2))),
    (
        rules.drop_useless_reshape,
        "-1 beside a size that may be 0",
        lambda: x.reshape((shape_i(x, 0), -1)),
    ),
    (rules.drop_useless_reshape, "any size", lambda: v.reshape((n,))),
    (rules.drop_useless_reshape, "a vector of sizes", lambda: Reshape(1)(v, pt.lvector("sizes"))),
    (rules.merge_reshapes, "could fail between", lambda: x.reshape((3, 3)).reshape((9,))),
    (rules.merge_reshapes, "one", lambda: x.reshape((9,))),
]


def values_for(expression):
    found = {}
    for variable in explicit_graph_inputs([expression]):
        if variable is n:
            found[variable] = np.array(3)
        elif variable.name == "sizes":
            found[variable] = np.array([3])
        else:
            sizes = [3 if size is None else size for size in variable.type.shape]
            found[variable] = np.random.default_rng(1).normal(size=sizes)
    return found


@pytest.mark.parametrize(
    ("rule", "text", "build"), APPLIES, ids=[f"{rule.name}: {text}" for rule, text, _ in APPLIES]
)
def test_applies(apply_rule, rule, text, build):
    expression = build()
    result = apply_rule(rule, expression, values_for(expression))
    assert result.count == 1
    np.testing.assert_array_equal(result.after, result.before)


@pytest.mark.parametrize(
    ("rule", "why", "build"), DOES_NOT, ids=[f"{rule.name}: {text}" for rule, text, _ in DOES_NOT]
)
def test_does_not_apply(apply_rule, rule, why, build):
    expression = build()
    assert apply_rule(rule, expression, values_for(expression)).count == 0


def test_every_rule_is_tested_both_ways():
    names = {rule.name for rule in CANONICAL_SHAPE}
    tested = {rule.name for rule, *_ in APPLIES}
    assert tested == {rule.name for rule, *_ in DOES_NOT}
    assert tested <= names  # the others: test_soundness.py and test_restraint.py
