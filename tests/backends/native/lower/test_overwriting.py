"""What set_subtensor and inc_subtensor write to: memory that nobody needs as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys.backends.native.expressions import Load
from phintys.backends.native.lower import lower_program
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.stepwise.checking import run
from phintys.backends.native.verify import verify_program
from phintys.graph import Apply, FunctionGraph, Op
from tests.budget import budget


def copies(inputs, outputs):
    """How many arrays are copied element by element."""
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    verify_program(program)
    kernels = [step for step in program.steps if isinstance(step, Kernel)]
    statements = [one for kernel in kernels for nest in kernel.nests for one in nest.statements]
    return sum(isinstance(one.value, Load) and bool(one.loops) for one in statements)


def test_a_chain_of_changes_copies_nothing():
    x, index = pt.dmatrix("x"), pt.lvector("index")
    y = pt.exp(x)
    for row in range(3):
        y = pt.set_subtensor(y[row, 1:], float(row))
        y = pt.inc_subtensor(y[index], 1.0)
    assert copies([x, index], [y]) == 0
    assert copies([x, index], [pt.set_subtensor(x[0], 1.0)]) == 1  # the argument stays as it is


READERS = {
    "a later node": lambda y, new: [new, y.sum()],
    "an output": lambda y, new: [new, y],
    "a view": lambda y, new: [new, (y[::-1] * new).sum()],
    "a reshaped view": lambda y, new: [new, y.reshape((-1, 1)) * new],
    "the new value": lambda y, new: [pt.set_subtensor(y[2], new.sum())],
}


@pytest.mark.parametrize("name", READERS)
def test_who_still_reads_the_base_sees_it_as_it_was(name, compare):
    x = pt.dvector("x")
    y = pt.exp(x)
    compare([x], READERS[name](y, pt.set_subtensor(y[1:], y[:-1])), [np.arange(6.0)])
    compare([x], READERS[name](y, pt.inc_subtensor(y[::2], 1.0)), [np.arange(6.0)])


INDICES = [np.s_[0], np.s_[1:], np.s_[::-2], np.s_[[2, 0, 2]], np.s_[[True, False, True, True]]]


@st.composite
def programs(draw):
    """Inputs, outputs: values that change one another."""
    x = pt.dvector("x")
    values = [x, x * 2, pt.exp(x), x[::-1], pt.zeros_like(x)]
    for _ in range(draw(st.integers(1, 8))):
        base, other = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        index = draw(st.sampled_from(INDICES))
        what = draw(st.sampled_from(["set", "inc", "add", "reverse", "reshape"]))
        if what == "set":
            made = pt.set_subtensor(base[index], other[index])
        elif what == "inc":
            made = pt.inc_subtensor(base[index], other[0])
        elif what == "add":
            made = base * 0.5 + other
        elif what == "reverse":
            made = base[::-1]
        else:
            made = base.reshape((2, 2)).T.flatten()
        values.append(made)
    return [x], draw(st.lists(st.sampled_from(values[3:]), min_size=1, max_size=3))


@budget(60)
@given(programs())
def test_values_that_change_one_another(compare, program):
    inputs, outputs = program
    lowered = compare(inputs, outputs, [np.linspace(-1, 2, 4)], ranges=(1,))
    wanted = FunctionGraph(inputs, outputs, clone=True)
    found = run(lowered, [np.linspace(-1, 2, 4)])
    assert len(found) == len(wanted.outputs)


class Shows(Op):
    """Returns its input itself, and keeps it."""

    __props__ = ()

    view_map = {0: [0]}

    def __init__(self):
        self.kept = []

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        self.kept.append(inputs[0])
        output_storage[0][0] = inputs[0]


def test_what_an_op_in_python_got_stays_as_it_is():
    x = pt.dvector("x")
    y, op = pt.exp(x), Shows()
    shown = op(y)
    f = phintys.function([x], [pt.set_subtensor(y[0], 5.0), shown * 2], "native")
    changed_, doubled = f(np.zeros(3))
    assert (changed_.tolist(), doubled.tolist()) == ([5, 1, 1], [2, 2, 2])
    f = phintys.function([x], pt.inc_subtensor(y[1:], shown.sum()), "native")
    assert f(np.zeros(3)).tolist() == [1, 4, 4]
    assert [kept.tolist() for kept in op.kept] == [[1, 1, 1]] * 2


# ---- arguments that were declared mutable --------------------------------------------------------


def changed(x, index):
    return pt.inc_subtensor(pt.set_subtensor(x[0], 5.0)[index], 1.0)


@pytest.mark.parametrize("borrow", [False, True])
def test_a_mutable_argument_is_overwritten(borrow):
    x, index = pt.dvector("x"), pt.lvector("index")
    out = phintys.Out(changed(x, index), borrow=borrow)
    f = phintys.function([phintys.In(x, mutable=True), index], out, "native")
    value = np.zeros(4)
    result = f(value, np.array([1, 1]))
    assert result.tolist() == [5, 2, 0, 0]
    assert (result is value) == borrow
    assert np.shares_memory(result, value) == borrow


@pytest.mark.parametrize("kind", ["read-only", "not contiguous", "a list"])
def test_arguments_that_cannot_be_overwritten_are_copied(kind):
    x, index = pt.dvector("x"), pt.lvector("index")
    out = phintys.Out(changed(x, index), borrow=True)
    f = phintys.function([phintys.In(x, mutable=True), index], out, "native")
    value = np.zeros(8)
    given = {"read-only": value[:4], "not contiguous": value[::2], "a list": [0.0] * 4}[kind]
    if kind == "read-only":
        given.flags.writeable = False
    assert f(given, np.array([1, 1])).tolist() == [5, 2, 0, 0]
    assert not value.any()


def test_arguments_in_the_same_memory_are_not_overwritten():
    x, y = pt.dvector("x"), pt.dvector("y")
    s = phintys.shared(np.arange(4.0))
    outputs = [pt.set_subtensor(x[0], 9.0), pt.set_subtensor(y[1], 9.0) + s]
    inputs = [phintys.In(one, mutable=True) for one in (x, y)]
    f = phintys.function(inputs, [phintys.Out(one, borrow=True) for one in outputs], "native")
    value = np.ones(4)
    for one, other in [(value, value), (value, value[:]), (np.ones(4), s.get_value(borrow=True))]:
        wanted = one.copy(), other + s.get_value()
        wanted[0][0], wanted[1][1] = 9, 9 + s.get_value()[1]
        for found, expected in zip(f(one, other), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert (value == 1).all()
    assert s.get_value().tolist() == [0, 1, 2, 3]


def test_a_mutable_argument_is_read_before_it_is_overwritten():
    x = pt.dvector("x")
    outputs = [phintys.Out(pt.set_subtensor(x[0], 5.0), borrow=True), x.sum(), x[::-1] * 2]
    f = phintys.function([phintys.In(x, mutable=True)], outputs, "native")
    value = np.arange(3.0)
    first, total, turned = f(value)
    assert first is value
    assert (first.tolist(), total, turned.tolist()) == ([5, 1, 2], 3, [4, 2, 0])
