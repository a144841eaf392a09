import numpy as np
import pytest

import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.graph import Apply, FunctionGraph
from phintys.passes import elemwise as rules
from phintys.passes.elemwise import CANONICAL_ELEMWISE
from phintys.rewriting import Worklist
from phintys.tensor.elemwise import elemwise
from phintys.tensor.inplace import add_inplace

x, y, z = (pt.tensor(name, dtype="float64", shape=(None, None)) for name in "xyz")
v = pt.dvector("v")
s = pt.dscalar("s")
row = pt.tensor("row", dtype="float64", shape=(1, None))
col = pt.tensor("col", dtype="float64", shape=(None, 1))
three = pt.tensor("three", dtype="float64", shape=(3,))
one = pt.tensor("one", dtype="float64", shape=(1,))
i8, u8 = pt.tensor("i8", dtype="int8", shape=(None,)), pt.tensor("u8", dtype="uint8", shape=(None,))
i64 = pt.lvector("i64")
f16, f32 = pt.tensor("f16", dtype="float16", shape=(None,)), pt.fvector("f32")
b = pt.tensor("b", dtype="bool", shape=(None,))
c64 = pt.tensor("c64", dtype="complex64", shape=(None,))
c128 = pt.tensor("c128", dtype="complex128", shape=(None,))

conj, identity, neg, pos, second = map(elemwise, (ps.conj, ps.identity, ps.neg, ps.pos, ps.second))
cast = pt.cast


# (rule, how the expression is written, the expression, the Ops that are left)
APPLIES = [
    (rules.drop_identity, "x + 0", lambda: x + 0, []),
    (rules.drop_identity, "0 + x", lambda: 0.0 + x, []),
    (rules.drop_identity, "x * 1", lambda: x * 1, []),
    (rules.drop_identity, "add(x, 0, y)", lambda: pt.add(x, 0.0, y), ["Add"]),
    (rules.drop_identity, "x + -0.0", lambda: x + -0.0, []),
    (rules.drop_identity, "zeros of one row", lambda: x + pt.zeros((1, 1)), []),
    (rules.drop_identity, "zeros of the same static shape", lambda: three + np.zeros(3), []),
    (rules.drop_identity, "zeros_like(x)", lambda: x + pt.zeros_like(x), []),
    (rules.drop_identity, "zeros like exp(x)", lambda: x + pt.zeros_like(pt.exp(x)), []),
    (rules.drop_identity, "transposed", lambda: x + pt.zeros_like(x.T).T, []),
    (rules.drop_identity, "int8 + 0.0", lambda: i8 + np.float64(0), ["Cast_float64"]),
    (
        rules.drop_identity,
        "int8 + int8 + 0.0",
        lambda: pt.add(i8, i8, np.float64(0)),
        ["Cast_float64", "Add"],
    ),
    (rules.drop_identity, "complex + 0j", lambda: c64 + np.complex64(0), []),
    (rules.drop_identity, "float + 0j", lambda: f32 + np.complex64(0), ["Cast_complex64"]),
    (rules.drop_identity, "bool or False", lambda: b | False, []),
    (rules.drop_identity, "bool and True", lambda: b & True, []),
    (rules.drop_identity, "bool xor False", lambda: b ^ False, []),
    (rules.drop_identity, "int & -1", lambda: i8 & np.int8(-1), []),
    (rules.drop_identity, "uint8 & 255", lambda: u8 & np.uint8(255), []),
    (rules.drop_identity, "int | 0", lambda: i64 | 0, []),
    (rules.subtract_zero, "x - 0", lambda: x - 0, []),
    (rules.subtract_zero, "int - 0.0", lambda: i64 - np.float64(0), ["Cast_float64"]),
    (rules.divide_by_one, "x / 1", lambda: x / 1, []),
    (rules.divide_by_one, "int / 1", lambda: i64 / 1, ["Cast_float64"]),
    (rules.undo_involution, "-(-x)", lambda: neg(neg(x)), []),
    (rules.undo_involution, "-(-(-x))", lambda: neg(neg(neg(x))), ["Neg"]),
    (rules.undo_involution, "-(-uint8)", lambda: neg(neg(u8)), []),
    (rules.undo_involution, "~~b", lambda: ~~b, []),
    (rules.undo_involution, "~~i8", lambda: ~~i8, []),
    (rules.undo_involution, "conj(conj(z))", lambda: conj(conj(c64)), []),
    (rules.drop_identity_function, "identity(x)", lambda: identity(x), []),
    (rules.drop_identity_function, "+x", lambda: pos(x), []),
    (rules.drop_complex_part_of_real, "conj(x)", lambda: conj(x), []),
    (rules.drop_complex_part_of_real, "real(x)", lambda: elemwise(ps.real)(x), []),
    (rules.drop_useless_cast, "float64", lambda: elemwise(ps.CASTS["float64"])(x), []),
    (rules.merge_casts, "8 -> 64 -> 8", lambda: cast(cast(i8, "int64"), "int8"), []),
    (rules.merge_casts, "8 -> 64 -> u8", lambda: cast(cast(i8, "int64"), "uint8"), ["Cast_uint8"]),
    (
        rules.merge_casts,
        "8 -> float32 -> complex",
        lambda: cast(cast(i8, "float32"), "complex64"),
        ["Cast_complex64"],
    ),
    (
        rules.merge_casts,
        "float16 -> 64 -> 32",
        lambda: cast(cast(f16, "float64"), "float32"),
        ["Cast_float32"],
    ),
    (rules.merge_casts, "bool -> 64 -> 8", lambda: cast(cast(b, "int64"), "int8"), ["Cast_int8"]),
    (rules.decide_switch, "True", lambda: pt.switch(True, x, y[:1, :1].sum()), []),
    (rules.decide_switch, "False", lambda: pt.switch(False, 1.0, x), []),
    (rules.decide_switch, "same", lambda: pt.switch(s > 0, x, x), []),
    (rules.decide_switch, "repeated", lambda: pt.switch(np.zeros(3, bool), 1.0, s), ...),
    (rules.decide_switch, "int8 or 1.5", lambda: pt.switch(True, i8, 1.5), ["Cast_float64"]),
    (rules.drop_useless_fill, "of a scalar", lambda: second(s, x), []),
    (rules.drop_useless_fill, "of itself", lambda: second(x, pt.exp(x)), ["Exp"]),
    (rules.drop_useless_fill, "of a row", lambda: second(row, pt.exp(row)), ["Exp"]),
    (rules.fill_to_alloc, "computed", lambda: second(pt.exp(x), 2.0), ...),
    (rules.fill_to_alloc, "rows from the value", lambda: second(pt.exp(row), col), ...),
    (
        rules.drop_fill_of_operand,
        "x * fill(x, s)",
        lambda: x * second(x, s),
        ["ExpandDims{x,x}", "Mul"],
    ),
    (
        rules.drop_fill_of_operand,
        "x * fill(exp(x), s)",
        lambda: x * second(pt.exp(x), s),
        ["ExpandDims{x,x}", "Mul"],
    ),
    (
        rules.drop_fill_of_operand,
        "x * alloc(s)",
        lambda: x * pt.alloc(s, *x.shape),
        ["ExpandDims{x,x}", "Mul"],
    ),
    (
        rules.drop_fill_of_operand,
        "x * alloc(v, ...)",
        lambda: x * pt.alloc(x[0], x.shape[0], x.shape[1]),
        ...,
    ),
    (rules.flatten_nested, "(x + y) + z", lambda: (x + y) + z, ["Add"]),
    (rules.flatten_nested, "x + (y + z)", lambda: x + (y + z), ["Add"]),
    (rules.flatten_nested, "((x * y) * z) * x", lambda: ((x * y) * z) * x, ["Mul"]),
    (rules.flatten_nested, "(x + y) + (z + x)", lambda: (x + y) + (z + x), ["Add", "Add"]),
]

# (rule, why not, the expression)
DOES_NOT = [
    (rules.drop_identity, "another number", lambda: x + 1),
    (rules.drop_identity, "0 is no factor to drop", lambda: x * 0),
    (rules.drop_identity, "no constant", lambda: x + s),
    (rules.drop_identity, "the zeros are larger", lambda: row + pt.zeros((3, 1))),
    (rules.drop_identity, "the zeros have a rank more", lambda: v + pt.zeros((2, 1))),
    (rules.drop_identity, "sizes that may differ", lambda: x + pt.zeros_like(y)),
    (rules.drop_identity, "a size known only of the zeros", lambda: v + np.zeros(3)),
    (rules.drop_identity, "only one operand", lambda: elemwise(ps.add)(pt.zeros_like(x))),
    (rules.drop_identity, "mixed values", lambda: three + np.array([0.0, 0.0, 1.0])),
    (rules.drop_identity, "uint8 & 255 in 64 bits", lambda: i64 & np.uint8(255)),
    (rules.subtract_zero, "0 - x", lambda: 0 - x),
    (rules.subtract_zero, "sizes that may differ", lambda: x - pt.zeros_like(y)),
    (rules.subtract_zero, "the result is larger", lambda: row - pt.zeros((3, 1))),
    (rules.divide_by_one, "1 / x", lambda: 1 / x),
    (rules.divide_by_one, "x // 1", lambda: x // 1),
    (rules.divide_by_one, "sizes that may differ", lambda: x / pt.ones_like(y)),
    (rules.undo_involution, "two different ones", lambda: ~(-i8)),
    (rules.undo_involution, "one", lambda: -x),
    (rules.drop_identity_function, "overwritten", lambda: add_inplace(identity(x), y)),
    (rules.drop_complex_part_of_real, "complex", lambda: conj(c64) + elemwise(ps.real)(c64)),
    (rules.drop_useless_cast, "another dtype", lambda: cast(x, "float32")),
    (rules.merge_casts, "float64 -> 32 -> 64", lambda: cast(cast(x, "float32"), "float64")),
    (rules.merge_casts, "int64 -> float64 -> int64", lambda: cast(cast(i64, "float64"), "int64")),
    (rules.merge_casts, "64 -> 8 -> 64", lambda: cast(cast(i64, "int8"), "int64")),
    (rules.merge_casts, "float -> int", lambda: cast(cast(f32, "float64"), "int8")),
    (rules.merge_casts, "int8 -> bool -> int8", lambda: cast(cast(i8, "bool"), "int8")),
    (rules.decide_switch, "unknown condition", lambda: pt.switch(x > 0, x, y)),
    (rules.decide_switch, "the other is larger", lambda: pt.switch(True, s, x)),
    (rules.decide_switch, "the condition is larger", lambda: pt.switch(pt.ones_like(x), s, 1.0)),
    (rules.decide_switch, "sizes that may differ", lambda: pt.switch(True, x, y)),
    (rules.drop_useless_fill, "larger than the value", lambda: second(x, s)),
    (rules.drop_useless_fill, "sizes that may differ", lambda: second(x, y)),
    (rules.fill_to_alloc, "nothing saved", lambda: second(x, 2.0)),
    (rules.drop_fill_of_operand, "sizes that may differ", lambda: x * second(y, s)),
    (rules.drop_fill_of_operand, "the other broadcasts", lambda: row * second(x, s)),
    (rules.drop_fill_of_operand, "alloc of other sizes", lambda: x * pt.alloc(s, *y.shape)),
    (rules.drop_fill_of_operand, "a fill alone", lambda: pt.exp(second(x, s))),
    (rules.flatten_nested, "sum of products", lambda: (x * y) + z),
    (rules.flatten_nested, "the order would change", lambda: pt.add(x, y, z + x)),
    (rules.flatten_nested, "another dtype", lambda: (i8 + i8) + i64),
    (rules.flatten_nested, "another dtype inside", lambda: (i8 + i64) + i64),
    (rules.flatten_nested, "a smaller part", lambda: (row + row) + x),
]
IDS = [f"{rule.name}: {text}" for rule, text, *_ in APPLIES]
NOT_IDS = [f"{rule.name}: {text}" for rule, text, _ in DOES_NOT]


@pytest.mark.parametrize(("rule", "text", "build", "ops"), APPLIES, ids=IDS)
def test_applies(apply_rule, rule, text, build, ops):
    result = apply_rule(rule, build())
    assert result.count >= 1
    np.testing.assert_array_equal(result.after, result.before)
    if ops is not ...:
        assert result.ops == ops


@pytest.mark.parametrize(("rule", "why", "build"), DOES_NOT, ids=NOT_IDS)
def test_does_not_apply(apply_rule, rule, why, build):
    assert apply_rule(rule, build()).count == 0


def test_a_choice_has_sizes_that_were_found_after_it_was_made(evaluate):
    node = pt.switch(three > 0, one, one).owner
    choice = Apply(node.op, node.inputs, [v.type()])
    (chosen,) = rules.decide_switch.transform(FunctionGraph([three, one], choice.outputs), choice)
    np.testing.assert_array_equal(
        evaluate([chosen], {three: np.ones(3), one: np.full(1, 4.0)})[0], [4.0] * 3
    )


def test_every_rule_is_tested_both_ways():
    names = {rule.name for rule in CANONICAL_ELEMWISE}
    assert len(names) == len(CANONICAL_ELEMWISE)
    tested = {rule.name for rule, *_ in APPLIES}
    assert tested == {rule.name for rule, *_ in DOES_NOT}
    assert tested <= names  # the others: test_soundness.py and test_restraint.py


def test_shapes_that_do_not_fit_still_raise(evaluate):
    expression = x + pt.zeros_like(y)
    fgraph = FunctionGraph([x, y], [expression], copy_inputs=False)
    Worklist(CANONICAL_ELEMWISE, name="all").apply(fgraph)
    with pytest.raises(ShapeError):
        evaluate(fgraph.outputs, {x: np.ones((2, 2)), y: np.ones((3, 3))})


def test_infinities_stay(apply_rule):
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e308])
    for rule, build in (
        (rules.drop_identity, lambda: v * 1),
        (rules.drop_identity, lambda: v + 0),
        (rules.undo_involution, lambda: neg(neg(v))),
        (rules.subtract_zero, lambda: v - 0),
        (rules.divide_by_one, lambda: v / 1),
    ):
        result = apply_rule(rule, build(), {v: values})
        assert result.count == 1
        np.testing.assert_array_equal(result.after, result.before)


@pytest.mark.parametrize("number", [2, 5, 31, 32, 33, 62, 63, 64, 100])
def test_a_chain_of_sums_is_cut_into_nodes_of_limited_size(apply_rule, number):
    variables = [pt.dvector(f"v{k}") for k in range(number)]
    total = variables[0]
    for variable in variables[1:]:
        total = total + variable
    result = apply_rule(rules.flatten_nested, total)
    np.testing.assert_array_equal(result.after, result.before)
    sizes = [len(node.inputs) for node in result.fgraph.apply_nodes]
    assert max(sizes) <= 32
    assert len(sizes) == max(1, -(-(number - 1) // 31))


def test_the_order_of_a_sum_stays(apply_rule):
    big, minus_big, small = (pt.dscalar(name) for name in ("big", "minus_big", "small"))
    values = {big: np.array(1e30), minus_big: np.array(-1e30), small: np.array(1.0)}
    for build in (
        lambda: small + (big + minus_big),
        lambda: (big + minus_big) + small,
        lambda: small + (minus_big + (big + small)),
    ):
        result = apply_rule(rules.flatten_nested, build(), values)
        assert result.count == 1
        assert result.after == result.before


def test_an_inner_sum_that_others_need_stays():
    inner = x + y
    fgraph = FunctionGraph([x, y, z], [inner + z, inner])
    Worklist([rules.flatten_nested], name="flatten").apply(fgraph)
    outer, inner = fgraph.outputs
    assert outer.owner.inputs == [inner, fgraph.inputs[2]]


def test_ops_of_several_outputs_keep_their_operands():
    first, second = ps.float64("i0"), ps.float64("i1")
    op = pt.Elemwise(ps.Composite([first, second], [first + second, first * second]))
    wide = pt.alloc(s, 2, 3)
    fgraph = FunctionGraph([s], op(wide, wide))
    Worklist(CANONICAL_ELEMWISE, name="all").apply(fgraph)
    assert [output.owner.op for output in fgraph.outputs] == [op, op]
