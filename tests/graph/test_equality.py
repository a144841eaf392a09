"""equal_computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import TypeContractError
from phintys.graph import (
    SharedVariable,
    clone,
    clone_replace,
    equal_computations,
    toposort,
)


def test_the_same_and_different_expressions(toys):
    f, g = toys.Named("f"), toys.Named("g")
    x, y = toys.number("x"), toys.number("y")
    assert equal_computations([f(x)], [f(x)])
    assert not equal_computations([f(x)], [g(x)])
    assert not equal_computations([f(x, y)], [f(y, x)])
    assert not equal_computations([f(x)], [f(x, x)])
    assert not equal_computations([f(x)], [f(y)])
    assert not equal_computations([f(x), f(y)], [f(y), f(x)])
    assert not equal_computations([f(x)], [f(x), f(x)])
    assert equal_computations([], [])


def test_which_output_matters(toys):
    x = toys.number("x")
    a, b = toys.Named("f", 2)(x), toys.Named("f", 2)(x)
    assert equal_computations([a[1]], [b[1]])
    assert not equal_computations([a[0]], [b[1]])


def test_inputs_that_correspond(toys):
    f = toys.Named("f")
    x, y, z = (toys.number(name) for name in "xyz")
    assert equal_computations([f(x, y)], [f(y, z)], [x, y], [y, z])
    assert not equal_computations([f(x, y)], [f(z, y)], [x, y], [y, z])
    assert equal_computations([x], [y], [x], [y])
    assert not equal_computations([x], [y])
    other = toys.other_number("o")
    assert not equal_computations([f(x)], [f(other)], [x], [other])


def test_inputs_may_be_computed(toys):
    f, g = toys.Named("f"), toys.Named("g")
    x, y = toys.number("x"), toys.number("y")
    middle = g(x)
    assert equal_computations([f(middle)], [f(y)], [middle], [y])
    assert not equal_computations([f(g(x))], [f(y)], [middle], [y])


def test_inputs_must_pair_up(toys):
    x = toys.number("x")
    with pytest.raises(TypeContractError, match="got 1 and 0"):
        equal_computations([x], [x], [x])
    with pytest.raises(TypeContractError, match="got 1 and 2"):
        equal_computations([x], [x], [x], [x, x])


def test_constants_by_value_and_shared_variables_by_identity(toys):
    f = toys.Named("f")
    one, also_one, two = (toys.number.make_constant(v) for v in (1, 1, 2))
    assert equal_computations([f(one)], [f(also_one)])
    assert not equal_computations([f(one)], [f(two)])
    a, b = (SharedVariable(toys.number, 1) for _ in range(2))
    assert equal_computations([f(a)], [f(a)])
    assert not equal_computations([f(a)], [f(b)])


def test_types_may_be_left_out(toys):
    f = toys.Named("f")
    wide, narrow = toys.Wide("w", 2), toys.Wide("w", 1)
    x, y = wide("x"), narrow("y")
    assert not equal_computations([f(x)], [f(y)], [x], [y])
    assert equal_computations([f(x)], [f(y)], [x], [y], strict_dtype=False)
    other = toys.number("z")
    assert not equal_computations([f(x)], [f(other)], [x], [other], strict_dtype=False)
    two, also_two = toys.number.make_constant(2), toys.other_number.make_constant(2.0)
    assert not equal_computations([f(two)], [f(also_two)])
    # The Op is the same, yet its outputs are of types that have nothing in common.
    assert not equal_computations([f(two)], [f(also_two)], strict_dtype=False)
    g = toys.Named("g", out_type=toys.number)
    assert equal_computations([g(two)], [g(also_two)], strict_dtype=False)
    assert not equal_computations([g(two)], [g(toys.number.make_constant(3))], strict_dtype=False)


def test_values_among_the_outputs(toys):
    constant = toys.number.make_constant(2)
    assert equal_computations([constant, 2], [2, constant])
    assert equal_computations([np.array([1, 2])], [toys.number.make_constant([1, 2])])
    assert equal_computations([2.0], [2])
    assert equal_computations([float("nan")], [np.nan])
    assert equal_computations(["a"], ["a"])
    assert not equal_computations([2], [3])
    assert not equal_computations([0.0], [-0.0])
    assert not equal_computations([2], [[2]])
    assert not equal_computations([2], [toys.number("x")])
    assert not equal_computations([2], [toys.Named("f")(constant)])
    assert not equal_computations([object()], [object()])


@given(st.data())
def test_clones_are_equal_and_changed_clones_are_not(toys, data):
    graph = data.draw(toys.dags(min_nodes=1))
    inputs, outputs = clone(graph.inputs, graph.outputs, copy_orphans=False)
    assert equal_computations(graph.outputs, outputs, graph.inputs, inputs)
    assert equal_computations(outputs, graph.outputs, inputs, graph.inputs)
    nodes = toposort(outputs)
    if not nodes:
        return
    node = data.draw(st.sampled_from(nodes))
    changed = toys.Named("changed", node.nout)(*node.inputs, return_list=True)
    other = clone_replace(outputs, dict(zip(node.outputs, changed, strict=True)))
    assert not equal_computations(graph.outputs, other, graph.inputs, inputs)


@given(st.data())
def test_equality_is_that_of_what_is_computed(toys, data):
    """Shared or written twice: graphs are equal just if they come to equal numbers."""
    graph = data.draw(toys.dags(max_nodes=8, names=("f",)))
    left, right = data.draw(st.tuples(*[st.sampled_from(graph.variables)] * 2))
    (a, b) = toys.evaluate([left, right], {**graph.values})
    leaf = left.owner is None or right.owner is None
    if leaf and left is not right:  # a leaf equals no other, even with the same value
        return
    assert equal_computations([left], [right]) == (a == b)


def test_sharing_makes_no_difference_nor_costs(toys):
    f = toys.Named("f")
    x = toys.number("x")
    left = right = x
    for _ in range(200):  # 2**200 ways from end to end
        left = f(left, left)
        right = f(right, f_again(toys, right))
    again = x
    for _ in range(200):
        again = f(again, again)
    assert equal_computations([left], [again])
    assert not equal_computations([left], [right])


def f_again(toys, x):
    return toys.Named("g")(x)
