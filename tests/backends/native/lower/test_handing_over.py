"""Arrays that an Op in Python keeps are its own: made where they stay, or copies."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import Apply, Mode, Op
from phintys._base.errors import IntegrityError
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.verify import verify_program
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.type import generic
from tools.fuzz.modes import StepByStep


class Pair(Op):
    """A tuple of two vectors."""

    __props__ = ()
    kept_inputs = (0, 1)

    def make_node(self, *inputs):
        return Apply(self, [pt.as_tensor_variable(v) for v in inputs], [generic()])

    def made_anew(self, node):
        return lambda *arrays: (arrays,)

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = tuple(array.copy() for array in inputs)


class Second(Op):
    """The second vector of a pair, which is a view of it."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, pair):
        return Apply(self, [pair], [pt.dvector()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][1]


class Shown(Op):
    """A vector as a view of itself."""

    __props__ = ()
    view_map = {0: [0]}

    def make_node(self, vector):
        return Apply(self, [vector], [vector.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][:]


class Spoilt(Op):
    """A pair whose vectors are overwritten with -1."""

    __props__ = ()
    destroy_map = {0: [0]}

    def make_node(self, pair):
        return Apply(self, [pair], [generic()])

    def perform(self, node, inputs, output_storage):
        for array in inputs[0]:
            array[:] = -1
        output_storage[0][0] = inputs[0]


pair, second, shown, spoilt = Pair(), Second(), Shown(), Spoilt()
x, y = pt.dvector("x"), pt.dvector("y")
X, Y = np.array([1.0, 2.0, 4.0, 7.0]), np.array([3.0, 0.5, 5.0, 8.0])
RAMP = pt.constant(np.arange(4.0))
made, other = pt.sqr(x) + y, pt.cumsum(x * y)


def arrays_of(results):
    """All arrays among results, and in the pairs."""
    lists = [one if isinstance(one, tuple) else (one,) for one in results]
    return [array for some in lists for array in some]


def handed_over(outputs, inputs=(x, y)):
    """How many arrays a program hands over; it must be valid."""
    program = lower_program(FunctionGraph(list(inputs), list(outputs), clone=True))
    verify_program(program)
    callbacks = [step for step in walk_steps(program.steps) if isinstance(step, Callback)]
    return sum(len(step.handed_over) for step in callbacks)


def check_alone(inputs, outputs, values):
    """Results are those of the reference, in memory of their own that a later call leaves."""
    modes = ("native", "reference", Mode(StepByStep()))
    f, oracle, stepwise = (
        phintys.function(inputs, outputs, mode=mode, accept_inplace=True) for mode in modes
    )
    given = [value.copy() for value in values]
    results = f(*given)
    found = arrays_of(results)
    assert all(array.flags.owndata for one in results if isinstance(one, tuple) for array in one)
    wanted = [array.copy() for array in arrays_of(oracle(*values))]
    shared = [v.get_value(borrow=True) for v in f.get_shared()]
    for one, another in itertools.combinations([*found, *given, *shared, RAMP.data], 2):
        assert not np.shares_memory(one, another)
    for array in given:
        array[:] = np.nan
    f(*given)
    f(*[value + 1 for value in values])
    for one, same, right in zip(found, arrays_of(stepwise(*values)), wanted, strict=True):
        np.testing.assert_array_equal(one, right)
        np.testing.assert_array_equal(same, right)


shared = phintys.shared(np.arange(4.0) + 7, name="shared")

# name -> (outputs, how many arrays are handed over)
CASES = {
    "computed": ([pair(made, other)], 2),
    "an argument": ([pair(x, made)], 1),
    "part of an argument": ([pair(y[1:], x[::-1])], 2),
    "a constant": ([pair(RAMP, other)], 1),
    "shared": ([pair(shared, made)], 1),
    "one array twice": ([pair(made, made)], 1),
    "a part as well": ([pair(made, made[:2])], 2),
    "a view": ([pair(pt.outer(x, y).flatten(), other)], 1),
    "a result too": ([pair(made, other), made], 1),
    "read by others": ([pair(made, other), made * 2, other.sum(keepdims=True)], 2),
    "two objects": ([pair(made, other), pair(other, made)], 2),
    "two of four": ([pair(made, other), pair(made * other, made)], 3),
    "of another Op": ([pair(made, second(pair(made, other)))], 1),
    "shown by another Op": ([pair(made, other), shown(made), shown(other) * 2], 0),
    "a view of the object": ([second(pair(made, other)) + 1, made * 3], 0),
    "overwritten later": ([spoilt(pair(made, other)), made * 2, other * 2], 0),
    "read after the call": ([pair(made, second(pair(x, y)) + made), made[0] * x], 2),
}


@pytest.mark.parametrize("name", CASES)
def test_arrays_are_alone(name):
    outputs, count = CASES[name]
    assert handed_over(outputs, [x, y, shared]) == count
    check_alone([x, y], outputs, [X, Y])


@given(st.lists(st.sampled_from(sorted(CASES)), min_size=2, max_size=4))
def test_several_functions_in_one(names):
    outputs = [one for name in names for one in CASES[name][0]]
    handed_over(outputs, [x, y, shared])
    check_alone([x, y], outputs, [X, Y])


def test_large_arrays_are_results():
    f = phintys.function([x, y], pair(made, other), mode="native")
    values = np.ones(100_000), np.ones(100_000)
    results = f(*values)
    f(*[value * 2 for value in values])
    np.testing.assert_array_equal(results[0], values[0] * 2)
    np.testing.assert_array_equal(results[1], np.arange(100_000) + 1.0)


def test_branches_and_loops_make_copies():
    flag = pt.bscalar("flag")
    chosen = phintys.ifelse(flag, second(pair(made, other)), second(pair(other, made)))
    rows, _ = phintys.scan(
        lambda row: second(pair(row * 2, pt.sqr(row))), sequences=[pt.outer(x, y)]
    )
    assert handed_over([chosen, rows], [x, y, flag]) == 0
    for value in (0, 1):
        f = phintys.function([x, y, flag], [chosen, rows], mode="native")
        oracle = phintys.function([x, y, flag], [chosen, rows], mode="reference")
        for one, right in zip(f(X, Y, value), oracle(X, Y, value), strict=True):
            np.testing.assert_array_equal(one, right)


def test_a_call_that_fails_leaves_nothing():
    f = phintys.function([x, y], [pair(made, other), other[pt.cast(x[0], "int64")]], mode="native")
    wanted = [array.copy() for array in f(X, Y)[0]]
    with pytest.raises(IndexError):
        f(X * 9, Y)
    for one, right in zip(f(X, Y)[0], wanted, strict=True):
        np.testing.assert_array_equal(one, right)


def test_what_is_kept_by_two_is_invalid():
    program = lower_program(FunctionGraph([x, y], [pair(made, made)], clone=True))
    (step,) = [one for one in program.steps if isinstance(one, Callback)]
    step.handed_over = (0, 1)
    with pytest.raises(IntegrityError, match="which another Op keeps"):
        verify_program(program)


def test_what_is_returned_and_kept_is_invalid():
    program = lower_program(FunctionGraph([x, y], [made, pair(made, other)], clone=True))
    (step,) = [one for one in program.steps if isinstance(one, Callback)]
    step.handed_over = (0, 1)
    with pytest.raises(IntegrityError, match="kept without a copy"):
        verify_program(program)


def test_what_is_written_later_is_invalid():
    program = lower_program(FunctionGraph([x, y], [pair(made, other)], clone=True))
    program.steps += [one for one in program.steps if isinstance(one, Kernel)]
    with pytest.raises(IntegrityError, match="is written, which an Op keeps"):
        verify_program(program)
