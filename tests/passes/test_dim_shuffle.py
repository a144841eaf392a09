import numpy as np
import pytest

import phintys.tensor as pt
from phintys.passes import shapes as rules
from phintys.passes.shapes import CANONICAL_DIMSHUFFLE
from phintys.tensor.dim_shuffle import DimShuffle

x = pt.dmatrix("x")
row = pt.tensor("row", dtype="float64", shape=(1, None))
s = pt.dscalar("s")

APPLIES = [
    (rules.drop_useless_dimshuffle, "same order", lambda: DimShuffle(2, (0, 1))(x), []),
    (rules.drop_useless_dimshuffle, "no dimensions", lambda: DimShuffle(0, ())(s), []),
    (rules.merge_dimshuffles, "x.T.T", lambda: x.T.T, ["Transpose{0,1}"]),
    (
        rules.merge_dimshuffles,
        "insert and move",
        lambda: x.dimshuffle("x", 1, 0).dimshuffle(2, 0, 1),
        ["DimShuffle{order=[0,x,1]}"],
    ),
    (
        rules.merge_dimshuffles,
        "insert and drop",
        lambda: x.dimshuffle(0, "x", 1).dimshuffle(0, 2),
        ["Transpose{0,1}"],
    ),
    (
        rules.merge_dimshuffles,
        "drop and insert",
        lambda: row.dimshuffle(1).dimshuffle("x", 0),
        ["DimShuffle{order=[x,1]}"],
    ),
]
DOES_NOT = [
    (rules.drop_useless_dimshuffle, "transposed", lambda: x.T),
    (rules.drop_useless_dimshuffle, "one more", lambda: x.dimshuffle(0, 1, "x")),
    (rules.merge_dimshuffles, "something between", lambda: pt.exp(x.T).T),
]


@pytest.mark.parametrize(
    ("rule", "text", "build", "ops"),
    APPLIES,
    ids=[f"{case[0].name}: {case[1]}" for case in APPLIES],
)
def test_applies(apply_rule, rule, text, build, ops):
    result = apply_rule(rule, build())
    assert result.count == 1
    np.testing.assert_array_equal(result.after, result.before)
    assert len(result.ops) == len(ops)


@pytest.mark.parametrize(
    ("rule", "why", "build"), DOES_NOT, ids=[f"{case[0].name}: {case[1]}" for case in DOES_NOT]
)
def test_does_not_apply(apply_rule, rule, why, build):
    assert apply_rule(rule, build()).count == 0


def test_every_rule_is_tested_both_ways():
    names = {rule.name for rule in CANONICAL_DIMSHUFFLE}
    tested = {rule.name for rule, *_ in APPLIES}
    assert tested == {rule.name for rule, *_ in DOES_NOT}
    assert tested <= names  # the others: test_soundness.py and test_restraint.py


def test_a_dropped_dimension_is_still_checked(apply_rule, evaluate):
    expression = x.dimshuffle(1, 0, "x").dimshuffle(0, 2)
    result = apply_rule(rules.merge_dimshuffles, expression, {x: np.ones((1, 3))})
    assert result.count == 1
    with pytest.raises(ValueError, match="size"):
        evaluate([result.out], {x: np.ones((2, 3))})
