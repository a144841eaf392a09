"""Patterns of loops, branches and Ops made of graphs."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import OpFromGraph, ifelse, scan
from phintys._base.errors import ShapeError
from phintys.control import LoopArguments, Scan, until
from phintys.gradient import sparsity
from phintys.graph import FunctionGraph


def entries(matrix):
    return matrix.toarray().astype(int).tolist()


def test_a_loop_without_state_is_diagonal_by_rows():
    x = pt.tensor("x", shape=(3, 2))
    y = scan(lambda row: row[0] * row[1], sequences=[x], return_updates=False)
    assert entries(sparsity(y, x)) == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]


def test_a_loop_without_state_reads_what_it_captures_in_all_steps():
    x, c = pt.tensor("x", shape=(3,)), pt.tensor("c", shape=(2,))
    y = scan(
        lambda a, c: pt.stack([a * c[1], c[0] ** 2]),
        sequences=[x[::-1]],
        non_sequences=[c],
        n_steps=2,
        return_updates=False,
    )
    of_x, of_c = sparsity(y, [x, c])
    assert entries(of_x) == [[0, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert entries(of_c) == [[0, 1], [1, 0], [0, 1], [1, 0]]


def test_a_state_depends_on_all_steps_before():
    x = pt.tensor("x", shape=(3,))
    y = scan(
        lambda a, s: s * a, sequences=[x], outputs_info=[pt.constant(1.0)], return_updates=False
    )
    assert entries(sparsity(y, x)) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_taps_reach_back_as_far_as_they_say():
    x = pt.tensor("x", shape=(2,))
    y = scan(
        lambda two, one: two * 2.0,
        outputs_info=[{"initial": x, "taps": [-2, -1]}],
        n_steps=4,
        return_updates=False,
    )
    assert entries(sparsity(y, x)) == [[1, 0], [0, 1], [1, 0], [0, 1]]


def test_a_step_that_knows_its_number_reads_one_element():
    x = pt.tensor("x", shape=(3,))
    y = scan(
        lambda i, x: x[2 - i] ** 2,
        sequences=[pt.arange(3)],
        non_sequences=[x],
        return_updates=False,
    )
    assert entries(sparsity(y, x)) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]


def test_the_last_state_of_a_loop_of_unknown_length_is_a_fixed_point():
    t, s = pt.lscalar("t"), pt.tensor("s", shape=(4,))
    step = FunctionGraph([t, s], [pt.concatenate([s[:1], s[:-1] * 2.0])])
    loop = Scan(step, LoopArguments(untraced=1))
    x, n = pt.tensor("x", shape=(4,)), pt.lscalar("n")
    found = sparsity(loop(n, x), x)
    assert entries(found) == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    known = sparsity(loop(n, x), x, givens={n: 1})
    assert entries(known) == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_the_size_of_what_a_condition_ends_is_not_known():
    x = pt.tensor("x", shape=(3,))
    y = scan(lambda a: (a * 2.0, until(a > 5.0)), sequences=[x], return_updates=False)
    with pytest.raises(ShapeError, match="needs to know all sizes"):
        sparsity(y, x)


def test_a_state_of_a_loop_of_unknown_length_has_the_pattern_of_any_number_of_steps():
    x, n, i = pt.tensor("x", shape=(4,)), pt.lscalar("n"), pt.lscalar("i")
    states = scan(
        lambda s: pt.concatenate([s[:1], s[:-1] * 2.0]),
        outputs_info=[x],
        n_steps=n,
        return_updates=False,
    )
    after_any = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    for state in (states[-1], states[0], states[i]):
        assert entries(sparsity(state, x)) == after_any
    assert entries(sparsity(states[-1, 1], x)) == after_any[1:2]
    assert entries(sparsity(states[-1, ::2], x)) == after_any[::2]
    after_one = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    assert entries(sparsity(states[-1], x, givens={n: 1})) == after_one


@pytest.mark.parametrize(
    "read", [lambda y: y[1:], lambda y: y.sum(), lambda y: y[-1, pt.lscalar() :]]
)
def test_all_that_a_loop_of_unknown_length_makes_has_no_pattern(read):
    x, n = pt.tensor("x", shape=(3,)), pt.lscalar("n")
    states = scan(lambda s: s * 2.0, outputs_info=[x], n_steps=n, return_updates=False)
    with pytest.raises(ShapeError, match="needs to know all sizes"):
        sparsity(read(states), x)


def test_the_last_state_before_a_condition_has_a_pattern():
    x = pt.tensor("x", shape=(3,))
    states = scan(
        lambda s: (s * s[0], until(s[0] > 5.0)), outputs_info=[x], n_steps=9, return_updates=False
    )
    assert entries(sparsity(states[-1], x)) == [[1, 0, 0], [1, 1, 0], [1, 0, 1]]


def test_gradients_of_loops_have_patterns():
    x = pt.tensor("x", shape=(3,))
    y = scan(pt.sin, sequences=[x], return_updates=False)
    found = sparsity(phintys.grad((y**2).sum(), x), x)
    assert found.toarray()[np.eye(3, dtype=bool)].all()


def test_a_choice_depends_on_both_sides_unless_it_is_known():
    x, c = pt.tensor("x", shape=(2,)), pt.bscalar("c")
    y = ifelse(c, x * 2.0, x[::-1] + 1.0)
    assert entries(sparsity(y, x)) == [[1, 1], [1, 1]]
    assert entries(sparsity(y, x, givens={c: 1})) == [[1, 0], [0, 1]]
    assert entries(sparsity(y, x, givens={c: 0})) == [[0, 1], [1, 0]]


def test_an_op_made_of_a_graph_has_the_pattern_of_its_graph():
    a, b = pt.tensor("a", shape=(2,)), pt.tensor("b", shape=(2,))
    op = OpFromGraph([a, b], [a[::-1] * 2.0, a * b])
    x = pt.tensor("x", shape=(2,))
    reversed_, product = op(x, x[::-1])
    assert entries(sparsity(reversed_, x)) == [[0, 1], [1, 0]]
    assert entries(sparsity(product, x)) == [[1, 1], [1, 1]]


def test_derivatives_of_an_ops_own_may_depend_on_anything():
    a = pt.tensor("a", shape=(2,))
    op = OpFromGraph([a], [a * 2.0], lop_overrides=lambda inputs, outputs, grads: [grads[0].sum()])
    x = pt.tensor("x", shape=(2,))
    assert sparsity(op(x), x).nnz == 4
