import numpy as np
import pytest

import phintys.scalar as ps
import phintys.tensor as pt
from phintys.passes import reduce as rules
from phintys.passes.reduce import CANONICAL_REDUCE
from phintys.tensor.reduce import Reduce

x = pt.dmatrix("x")
x3 = pt.tensor("x3", dtype="float64", shape=(None, 1, None))
one = pt.tensor("one", dtype="float64", shape=(1, 1))
i8 = pt.tensor("i8", dtype="int8", shape=(None, 1))
f16 = pt.tensor("f16", dtype="float16", shape=(None, 1))
b = pt.tensor("b", dtype="bool", shape=(1, None))


def reduce(op, axis, dtype=None, acc_dtype=None):
    return Reduce(op, axis, dtype, acc_dtype)


APPLIES = [
    (rules.drop_axes_of_size_one, "no axes", lambda: reduce(ps.add, ())(x)),
    (rules.drop_axes_of_size_one, "no axes, int8", lambda: reduce(ps.add, ())(i8)),
    (rules.drop_axes_of_size_one, "no axes, another dtype", lambda: reduce(ps.add, (), "int8")(x)),
    (
        rules.drop_axes_of_size_one,
        "computed in another dtype",
        lambda: reduce(ps.add, (), "float64", "float32")(x),
    ),
    (rules.drop_axes_of_size_one, "all of one element", lambda: reduce(ps.mul, None)(one)),
    (rules.drop_axes_of_size_one, "one axis", lambda: reduce(ps.maximum, (1,))(x3)),
    (rules.drop_axes_of_size_one, "one of two axes", lambda: reduce(ps.add, (1, 2))(x3)),
    (rules.drop_axes_of_size_one, "one of all axes", lambda: reduce(ps.add, None)(x3)),
    (rules.drop_axes_of_size_one, "int8 to int64", lambda: reduce(ps.add, (1,))(i8)),
    (rules.drop_axes_of_size_one, "float16", lambda: reduce(ps.add, (1,))(f16)),
    (rules.drop_axes_of_size_one, "bools", lambda: reduce(ps.or_, (0,))(b)),
    # Of one number, hypot is not the number but its size.
    (rules.drop_axes_of_size_one, "hypot", lambda: reduce(ps.hypot, (1,))(x3)),
    (
        rules.reduce_before_dimshuffle,
        "hypot of a new dimension",
        lambda: reduce(ps.hypot, (0,))(x.dimshuffle("x", 0, 1)),
    ),
    (rules.reduce_before_dimshuffle, "sum of all", lambda: reduce(ps.add, None)(x.T)),
    (rules.reduce_before_dimshuffle, "one axis", lambda: reduce(ps.maximum, (0,))(x.T)),
    (rules.reduce_before_dimshuffle, "int8", lambda: reduce(ps.add, (0,))(i8.T)),
    (
        rules.reduce_before_dimshuffle,
        "a new dimension",
        lambda: reduce(ps.add, (0, 2))(x.dimshuffle("x", 0, 1)),
    ),
    (
        rules.reduce_before_dimshuffle,
        "only new dimensions",
        lambda: reduce(ps.add, (0, 2))(i8.dimshuffle("x", 0, "x", 1)),
    ),
    (rules.combine_few_truths, "all of two", lambda: pt.stack([x[0, 0] > 0, x[0, 1] > 1]).all()),
    (rules.combine_few_truths, "any of three", lambda: pt.stack([b[0, 0], False, b[0, 1]]).any()),
]
DOES_NOT = [
    (rules.combine_few_truths, "a sum", lambda: pt.stack([b[0, 0], b[0, 1]]).sum()),
    (rules.combine_few_truths, "numbers", lambda: pt.stack([i8[0, 0], i8[1, 0]]).all()),
    (rules.combine_few_truths, "a vector of unknown length", b[0].all),
    (rules.drop_axes_of_size_one, "sizes not known", lambda: reduce(ps.add, (0,))(x)),
    (rules.drop_axes_of_size_one, "the other axis", lambda: reduce(ps.add, (0,))(x3)),
    (rules.reduce_before_dimshuffle, "no dimshuffle", lambda: reduce(ps.add, (0,))(x)),
    (
        rules.reduce_before_dimshuffle,
        "a dimension is dropped",
        lambda: reduce(ps.add, (0,))(x.dimshuffle(1)),
    ),
    (
        rules.reduce_before_dimshuffle,
        "a new dimension remains",
        lambda: reduce(ps.add, (1,))(x.dimshuffle("x", 0, 1)),
    ),
    (
        rules.reduce_before_dimshuffle,
        "what remains is in another order",
        lambda: reduce(ps.add, (1,))(x3.dimshuffle(2, 1, 0)),
    ),
]


@pytest.mark.parametrize(
    ("rule", "text", "build"), APPLIES, ids=[f"{case[0].name}: {case[1]}" for case in APPLIES]
)
def test_applies(apply_rule, rule, text, build):
    result = apply_rule(rule, build())
    assert result.count >= 1
    np.testing.assert_allclose(result.after, result.before, rtol=1e-15)


@pytest.mark.parametrize(
    ("rule", "why", "build"), DOES_NOT, ids=[f"{case[0].name}: {case[1]}" for case in DOES_NOT]
)
def test_does_not_apply(apply_rule, rule, why, build):
    values = {x: np.ones((1, 3))} if why == "a dimension is dropped" else None
    assert apply_rule(rule, build(), values).count == 0


def test_every_rule_is_tested_both_ways():
    names = {rule.name for rule in CANONICAL_REDUCE}
    tested = {rule.name for rule, *_ in APPLIES}
    assert tested == {rule.name for rule, *_ in DOES_NOT}
    assert tested <= names  # the others: test_soundness.py and test_restraint.py


def test_nothing_is_left_of_a_reduction_over_no_elements(apply_rule):
    assert apply_rule(rules.drop_axes_of_size_one, reduce(ps.add, ())(x)).ops == []
