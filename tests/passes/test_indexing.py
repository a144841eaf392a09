import numpy as np
import pytest

import phintys.tensor as pt
from phintys.passes import indexing as rules
from phintys.passes.indexing import CANONICAL_INDEXING
from phintys.tensor.indexing.basic import Subtensor
from phintys.tensor.scalar_bridge import make_vector
from phintys.tensor.shapes import shape, shape_i

x = pt.dmatrix("x")
half = pt.tensor("half", dtype="float64", shape=(None, 3))
s, t = pt.dscalar("s"), pt.dscalar("t")
n = pt.lscalar("n")
f32 = pt.tensor("f32", dtype="float32", shape=())

APPLIES = [
    (rules.drop_full_slices, "x[:]", lambda: x[:], []),
    (rules.drop_full_slices, "x[:, :]", lambda: x[:, :], []),
    (rules.drop_full_slices, "x[0:, ::1]", lambda: x[0:, ::1], []),
    (rules.drop_full_slices, "nothing", lambda: Subtensor(())(x), []),
    (rules.drop_full_slices, "half[:, :3]", lambda: half[:, :3], []),
    (rules.drop_full_slices, "half[:, :7]", lambda: half[:, :7], []),
    (rules.drop_full_slices, "its size", lambda: x[: shape_i(x, 0)], []),
    (rules.drop_full_slices, "its size, computed", lambda: x[:, : shape_i(pt.exp(x), 1)], []),
    (rules.index_only_place, "the only row", lambda: x[None][0], ...),
    (rules.index_only_place, "the last one is the only one", lambda: x[:, None][:, -1], ...),
    (rules.index_only_place, "of a number", lambda: s[None, None][0, 0], ...),
    (rules.index_known_parts, "shape(x)[0]", lambda: shape(x)[0], ["Shape_i{0}"]),
    (rules.index_known_parts, "shape(x)[-1]", lambda: shape(x)[-1], ["Shape_i{1}"]),
    (rules.index_known_parts, "shape(half)[1]", lambda: shape(half)[1], []),
    (rules.index_known_parts, "shape(x)[1:]", lambda: shape(x)[1:], ...),
    (rules.index_known_parts, "shape(x)[::-1]", lambda: shape(x)[::-1], ...),
    (rules.index_known_parts, "(s, t)[1]", lambda: make_vector(s, t)[1], []),
    (rules.index_known_parts, "(s, f32)[1]", lambda: make_vector(s, f32)[1], ["Cast_float64"]),
    (rules.index_known_parts, "(s, t)[0:1]", lambda: make_vector(s, t)[0:1], ...),
    (rules.index_known_parts, "(s, t)[2:]", lambda: make_vector(s, t)[2:], ...),
]
DOES_NOT = [
    (rules.drop_full_slices, "x[1:]", lambda: x[1:]),
    (rules.drop_full_slices, "x[::-1]", lambda: x[::-1]),
    (rules.drop_full_slices, "x[0]", lambda: x[0]),
    (rules.drop_full_slices, "half[:, :2]", lambda: half[:, :2]),
    (rules.drop_full_slices, "half[:, :-1]", lambda: half[:, :-1]),
    (rules.drop_full_slices, "x[:3]", lambda: x[:3]),
    (rules.drop_full_slices, "any size", lambda: x[:n]),
    (rules.drop_full_slices, "the other size", lambda: x[: shape_i(x, 1)]),
    (rules.index_only_place, "one of several rows", lambda: x[0]),
    (rules.index_only_place, "all of them", lambda: x[None][:]),
    (rules.index_only_place, "any position", lambda: x[None][n - 1]),
    (rules.index_known_parts, "any position", lambda: shape(x)[n]),
    (rules.index_known_parts, "any part", lambda: make_vector(s, t)[n:]),
    (rules.index_known_parts, "another vector", lambda: pt.dvector("v")[0]),
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
    assert not any("Subtensor" in op for op in result.ops)
    if ops is not ...:
        assert result.ops == ops


@pytest.mark.parametrize(
    ("rule", "why", "build"), DOES_NOT, ids=[f"{case[0].name}: {case[1]}" for case in DOES_NOT]
)
def test_does_not_apply(apply_rule, rule, why, build):
    values = {x: np.ones((3, 3)), n: np.array(1), s: np.array(1.0), t: np.array(2.0)}
    known = values if why.startswith("any") else None
    assert apply_rule(rule, build(), known).count == 0


def test_every_rule_is_tested_both_ways():
    names = {rule.name for rule in CANONICAL_INDEXING}
    tested = {rule.name for rule, *_ in APPLIES}
    assert tested == {rule.name for rule, *_ in DOES_NOT}
    assert tested <= names  # the others: test_soundness.py and test_restraint.py
