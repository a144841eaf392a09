"""Who owns which memory: results, arguments, shared values, constants, in-place Ops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import InconsistencyError
from phintys.compile import DeepCopy, In, Out, function
from phintys.graph import Constant, generic
from phintys.graph.shared_variable import SharedVariable


def copies(f):
    return sum(isinstance(node.op, DeepCopy) for node in f.maker.fgraph.apply_nodes)


@pytest.mark.parametrize("in_borrow", [False, True])
@pytest.mark.parametrize("out_borrow", [False, True])
@pytest.mark.parametrize("through", ["nothing", "a view", "views", "either"])
def test_a_result_shares_an_arguments_memory_only_if_both_sides_agree(
    ops, in_borrow, out_borrow, through
):
    x = ops.vector("x")
    y = {
        "nothing": x,
        "a view": ops.flip(x),
        "views": ops.flip(ops.flip(x)),
        "either": ops.either(ops.neg(x), x),
    }[through]
    f = function([In(x, borrow=in_borrow)], Out(y, borrow=out_borrow))
    value = ops.array(1.0, 2.0)
    result = f(value)
    assert np.shares_memory(result, value) is (in_borrow and out_borrow)
    np.testing.assert_array_equal(result, [2.0, 1.0] if through == "a view" else [1.0, 2.0])


@pytest.mark.parametrize("out_borrow", [False, True])
def test_a_result_shares_a_shared_value_only_if_borrowed(ops, out_borrow):
    w = SharedVariable(ops.vector, ops.array(1.0, 2.0))
    result = function([], Out(ops.flip(w), borrow=out_borrow))()
    assert np.shares_memory(result, w.get_value(borrow=True)) is out_borrow


@pytest.mark.parametrize("borrow", [False, True])
def test_a_result_never_shares_a_constants_memory(ops, borrow):
    c = Constant(ops.vector, ops.array(1.0, 2.0))
    f = function([], Out(ops.flip(c), borrow=borrow))
    f()[:] = 0.0
    np.testing.assert_array_equal(f(), [2.0, 1.0])
    np.testing.assert_array_equal(c.data, [1.0, 2.0])


@pytest.mark.parametrize("borrow", [(False, False), (True, False), (False, True), (True, True)])
def test_two_results_share_memory_only_if_both_are_borrowed(ops, borrow):
    x = ops.vector("x")
    y = ops.neg(x)
    f = function([x], [Out(y, borrow=borrow[0]), Out(ops.flip(y), borrow=borrow[1])])
    first, second = f(ops.array(1.0, 2.0))
    assert np.shares_memory(first, second) is all(borrow)
    assert copies(f) == (0 if all(borrow) else 1)
    twice = function([x], [Out(y, borrow=borrow[0]), Out(y, borrow=borrow[1])])
    assert np.shares_memory(*twice(ops.array(1.0, 2.0))) is all(borrow)


def test_what_has_memory_of_its_own_is_not_copied(ops):
    x = ops.vector("x")
    y = ops.neg(x)
    assert copies(function([x], [y, ops.add(y, x), ops.neg(ops.flip(y))])) == 0


def test_values_that_cannot_change_are_not_copied_in_vain():
    x = generic("x")
    text = "a long text"
    assert function([x], x)(text) is text
    value = [1, [2]]
    result = function([x], x)(value)
    assert result == value
    assert result is not value
    assert result[1] is not value[1]


@pytest.mark.parametrize("out_borrow", [False, True])
def test_a_result_and_an_update_never_share(ops, out_borrow):
    x = ops.vector("x")
    y = ops.neg(x)
    w = SharedVariable(ops.vector, np.zeros(2))
    for output in (y, ops.flip(y)):
        result = function([x], Out(output, borrow=out_borrow), updates=[(w, y)])(
            ops.array(1.0, 2.0)
        )
        assert not np.shares_memory(result, w.get_value(borrow=True))
        np.testing.assert_array_equal(w.get_value(), [-1.0, -2.0])


@pytest.mark.parametrize("borrow", [False, True])
def test_a_new_shared_value_is_the_arguments_only_if_that_is_lent(ops, borrow):
    x = ops.vector("x")
    w = SharedVariable(ops.vector, np.zeros(2))
    value = ops.array(1.0, 2.0)
    function([In(x, borrow=borrow)], updates=[(w, ops.flip(x))])(value)
    assert np.shares_memory(value, w.get_value(borrow=True)) is borrow


def test_new_shared_values_of_constants_and_of_kept_shared_values_are_copies(ops):
    c = Constant(ops.vector, ops.array(1.0, 2.0))
    v, w = (SharedVariable(ops.vector, np.zeros(2)) for _ in range(2))
    function([], updates=[(w, c)])()
    assert not np.shares_memory(w.get_value(borrow=True), c.data)
    function([], updates=[(w, v)])()
    assert not np.shares_memory(w.get_value(borrow=True), v.get_value(borrow=True))


def test_a_swap_costs_no_copy(ops):
    v, w = SharedVariable(ops.vector, np.zeros(2)), SharedVariable(ops.vector, np.ones(2))
    swap = function([], updates=[(v, w), (w, v)])
    swap()
    assert copies(swap) == 0
    np.testing.assert_array_equal(v.get_value(), np.ones(2))
    np.testing.assert_array_equal(w.get_value(), np.zeros(2))


def test_a_default_is_not_handed_out(ops):
    x = ops.vector("x")
    f = function([In(x, value=ops.array(1.0))], x)
    f()[:] = 9.0
    np.testing.assert_array_equal(f(), [1.0])


def test_results_of_one_call_are_not_changed_by_the_next(ops):
    w = SharedVariable(ops.vector, ops.array(1.0))
    step = function([], [w, ops.flip(w)], updates=[(w, ops.add(w, [1.0]))])
    results = [step() for _ in range(3)]
    assert [float(one[0]) for one, _ in results] == [1.0, 2.0, 3.0]
    results[0][0][:] = 100.0
    assert float(step()[0][0]) == 4.0


# ---- Ops that overwrite --------------------------------------------------------------------------


@pytest.mark.parametrize("mutable", [False, True])
@pytest.mark.parametrize("view", [False, True])
def test_an_argument_is_overwritten_only_if_mutable(ops, mutable, view):
    x, y = ops.vector("x"), ops.vector("y")
    z = ops.add_inplace(ops.flip(x) if view else x, y)
    f = function([In(x, mutable=mutable), y], z, accept_inplace=True)
    value = ops.array(1.0, 2.0)
    result = f(value, ops.array(10.0, 20.0))
    expected = [12.0, 21.0] if view else [11.0, 22.0]
    np.testing.assert_array_equal(result, expected)
    changed = expected[::-1] if view else expected
    np.testing.assert_array_equal(value, changed if mutable else [1.0, 2.0])
    assert not np.shares_memory(result, value)


def test_a_mutable_argument_and_a_borrowed_result_may_be_the_same(ops):
    x, y = ops.vector("x"), ops.vector("y")
    f = function(
        [In(x, mutable=True), y], Out(ops.add_inplace(x, y), borrow=True), accept_inplace=True
    )
    value = ops.array(1.0)
    assert f(value, ops.array(10.0)) is value
    assert copies(f) == 0


def test_shared_values_constants_and_defaults_are_never_overwritten(ops):
    w = SharedVariable(ops.vector, ops.array(1.0))
    c = Constant(ops.vector, ops.array(1.0))
    x = ops.vector("x")
    for victim, inputs in [
        (w, []),
        (c, []),
        (x, [In(x, value=ops.array(1.0), mutable=True)]),
    ]:
        f = function(inputs, ops.add_inplace(victim, 1.0 * c.data), accept_inplace=True)
        assert [float(f()[0]) for _ in range(3)] == [2.0, 2.0, 2.0]
    assert w.get_value() == [1.0]
    assert c.data == [1.0]


def test_an_update_in_place_goes_through_a_copy(ops):
    w = SharedVariable(ops.vector, ops.array(1.0))
    before = w.get_value(borrow=True)

    def fail(x):
        raise ValueError("late")

    x = ops.vector("x")
    new = ops.add_inplace(w, x)
    f = function([x], w, updates=[(w, new)], accept_inplace=True)
    np.testing.assert_array_equal(f(ops.array(5.0)), [1.0])
    np.testing.assert_array_equal(w.get_value(), [6.0])
    np.testing.assert_array_equal(before, [1.0])
    g = function([x], ops.Call("late", fail)(new), updates=[(w, new)], accept_inplace=True)
    with pytest.raises(ValueError, match="late"):
        g(ops.array(5.0))
    np.testing.assert_array_equal(w.get_value(), [6.0])


@pytest.mark.parametrize("mutable", [False, True])
def test_the_contracts_example_of_order(ops, mutable):
    x, y = ops.vector("x"), ops.vector("y")
    r1 = ops.neg(x)
    r2 = ops.add_inplace(x, y)
    r3 = ops.neg(x)
    r4 = ops.neg(r2)
    f = function([In(x, mutable=mutable), y], [r4, r3, r2, r1, x], accept_inplace=True)
    for _ in range(2):
        results = f(ops.array(1.0), ops.array(2.0))
        assert [float(one[0]) for one in results] == [-3.0, -1.0, 3.0, -1.0, 1.0]


def test_an_output_is_saved_before_it_is_overwritten(ops):
    x = ops.vector("x")
    y = ops.neg(x)
    view = ops.flip(y)
    z = ops.add_inplace(y, x)
    again = ops.add_inplace(z, x)
    f = function([x], [y, view, again], accept_inplace=True)
    results = f(ops.array(1.0, 2.0))
    np.testing.assert_array_equal(results, [[-1.0, -2.0], [-2.0, -1.0], [1.0, 2.0]])
    for i, one in enumerate(results):
        for other in results[i + 1 :]:
            assert not np.shares_memory(one, other)


def test_two_nodes_cannot_overwrite_the_same_value(ops):
    x = ops.vector("x")
    y = ops.neg(x)
    with pytest.raises(InconsistencyError, match="overwritten twice"):
        function([x], [ops.add_inplace(y, x), ops.add_inplace(y, x)], accept_inplace=True)


# ---- generated graphs ----------------------------------------------------------------------------


@st.composite
def programs(draw, ops):
    variables = [ops.vector("x"), ops.vector("y"), Constant(ops.vector, ops.array(7.0, 8.0))]
    w = SharedVariable(ops.vector, ops.array(5.0, 6.0), name="w")
    variables.append(w)
    functions = [
        lambda x, y, w: x,
        lambda x, y, w: y,
        lambda x, y, w: np.array([7.0, 8.0]),
        lambda x, y, w: w,
    ]
    choices = [ops.neg, ops.flip, ops.flip, ops.same, ops.add, ops.either]
    for _ in range(draw(st.integers(0, 8))):
        op = draw(st.sampled_from(choices))
        number = 2 if op in (ops.add, ops.either) else 1
        places = [draw(st.integers(0, len(variables) - 1)) for _ in range(number)]
        variables.append(op(*(variables[place] for place in places)))
        below = [functions[place] for place in places]
        functions.append(
            lambda x, y, w, op=op, below=below: op.function(*(one(x, y, w) for one in below))
        )
    return variables, functions, w


@given(st.data(), st.booleans())
def test_nothing_shares_memory_unasked(ops, data, allow_gc):
    variables, functions, w = data.draw(programs(ops))
    places = data.draw(st.lists(st.integers(0, len(variables) - 1), min_size=1, max_size=4))
    update = data.draw(st.none() | st.integers(0, len(variables) - 1))
    updates = [] if update is None else [(w, variables[update])]
    f = function(
        variables[:2], [variables[i] for i in places], updates=updates, on_unused_input="ignore"
    )
    x, y = ops.array(1.0, 2.0), ops.array(-3.0, 4.0)
    before = w.get_value()
    results = f(x, y)
    for place, result in zip(places, results, strict=True):
        np.testing.assert_array_equal(result, functions[place](x, y, before))
    if update is not None:
        np.testing.assert_array_equal(w.get_value(), functions[update](x, y, before))
    held = [x, y, w.get_value(borrow=True), variables[2].data, *results]
    for i, one in enumerate(held):
        for other in held[i + 1 :]:
            assert not np.shares_memory(one, other)
