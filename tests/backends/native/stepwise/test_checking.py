"""Programs in the memory planned for them: what is wrong is found, and what is right is not."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import Apply, Op
from phintys._base.errors import BadThunkOutput, IntegrityError
from phintys.backends.native import memory
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.stepwise.calls import Calls
from phintys.backends.native.stepwise.checking import CheckFailed, MemoryCheck
from phintys.backends.native.stepwise.interpreter import Interpreter
from phintys.backends.native.stepwise.order import KernelOrder, Orders
from phintys.backends.native.writer.programs import emit_program
from phintys.graph.fgraph import FunctionGraph
from tools.fuzz.memory_ops import double_negated, late

VALUE = np.random.default_rng(0).normal(size=(5, 3))


def checked(inputs, outputs, *, target=None):
    """The program of a graph, and a check of its memory."""
    target = target or Target.host()
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    plan = emit_program(program, target).memory
    return program, plan, MemoryCheck(program, plan, target)


@pytest.fixture
def reckless(monkeypatch):
    """A planner by which kernels overwrite each operand that dies."""
    monkeypatch.setattr(memory.TakingOver, "can_take_over", lambda self, target, operand: True)
    with phintys.config.change_flags(object_cache=False):
        yield


def ends(made):
    """Outputs that need all of an array, which is therefore in memory of the arena."""
    return [pt.cumsum(made.flatten()) * made.sum()]


def turned(square):
    return ends(square + square.T)


WRONG = {
    "reversed rows": lambda k: ends(pt.exp(k[::-1]) + k),
    "another row": lambda k: ends(k + k[0]),
    "an element": lambda k: ends(k + k[0, 0]),
    "the transpose": lambda k: turned(pt.dot(k.T, k)),
    "softmax of reversed rows": lambda k: ends(pt.special.softmax(k[::-1], axis=1)),
    "gathered": lambda k: ends(k[pt.arange(k.shape[0])[::-1]] * 2),
    "two views": lambda k: ends(pt.exp(k.flatten()) + k.reshape((k.size,))[::-1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_operands_overwritten_too_early_are_found(name, reckless):
    x = pt.dmatrix("x")
    program, plan, check = checked([x], WRONG[name](pt.sin(pt.cumsum(x, axis=0) + x.sum())))
    assert plan.taken_over
    with pytest.raises(IntegrityError, match=r"to the same memory|is not there"):
        check([VALUE])
    assert len(Interpreter(program).run([VALUE])) == 1


@pytest.mark.parametrize("name", WRONG)
def test_nothing_is_found_in_what_the_planner_makes(name):
    x = pt.dmatrix("x")
    outputs = WRONG[name](pt.sin(pt.cumsum(x, axis=0) + x.sum()))
    _, _, check = checked([x], outputs)
    (wanted,) = phintys.function([x], outputs, mode="reference")(VALUE)
    np.testing.assert_allclose(check([VALUE])[0], wanted, rtol=1e-12)


def test_an_operand_is_read_by_all_its_names_before_it_is_overwritten(monkeypatch):
    x = pt.dmatrix("x")
    k = pt.tanh(x)
    outputs = [pt.cumsum(k.flatten() * 2), pt.cumsum(k.reshape((k.size,)) * 3)]
    program, plan, check = checked([x], outputs)
    assert plan.taken_over
    for got, factor in zip(check([VALUE]), (2, 3), strict=True):
        np.testing.assert_allclose(got, np.cumsum(np.tanh(VALUE) * factor), rtol=1e-12)
    # In a kernel that reads memory again for each name, that would be wrong.
    monkeypatch.setattr(KernelOrder, "register", lambda self, load, grid: None)
    with pytest.raises(IntegrityError, match="is not there"):
        MemoryCheck(program, plan, Target.host())([VALUE])


def test_debug_mode_finds_them_in_whole_programs_and_in_nodes(reckless):
    x = pt.dmatrix("x")
    outputs = WRONG["reversed rows"](pt.sin(pt.cumsum(x, axis=0) + x.sum()))
    with pytest.raises(BadThunkOutput, match=r"to the same memory|is not there"):
        phintys.function([x], outputs, mode="debug")(VALUE)


def test_the_memory_of_other_arrays_is_found():
    x = pt.dvector("x")
    y = pt.exp(pt.cumsum(x))
    z = pt.cumsum(y)
    program, plan, check = checked([x], [pt.cumsum(z * y.sum()) + z])
    assert check([np.arange(4.0)]) is not None
    first, second, *_ = [slot for slot in plan.slots if slot.arrays[0].ndim]
    for array in second.arrays:
        plan.places[array] = plan.places[first.arrays[0]]
    with pytest.raises(IntegrityError):
        MemoryCheck(program, plan, Target.host())([np.arange(4.0)])


def test_slots_that_are_too_small_are_found():
    x, y = pt.dvectors("x", "y")
    outputs = [pt.cumsum(pt.cumsum(pt.cumsum(one))) * 2 for one in (x, y)]
    program, plan, _ = checked([x, y], outputs)
    of_x, *others = [array for slot in plan.slots for array in slot.arrays if array.ndim]
    of_y = next(one for one in others if one.sizes != of_x.sizes)
    plan.places[of_y] = plan.places[of_x]
    with pytest.raises(IntegrityError, match="bytes, and its slot has"):
        MemoryCheck(program, plan, Target.host())([np.zeros(2), np.zeros(9)])


def test_a_routine_that_reads_what_it_writes_is_found():
    a = pt.dmatrix("a")
    x = pt.tanh(a)
    outputs = [pt.exp(pt.linalg.inv(pt.dot(x, x) + 1.0)).sum()]
    program, plan, check = checked([a], outputs)
    value = np.random.default_rng(1).normal(size=(3, 3))
    (wanted,) = phintys.function([a], outputs, mode="reference")(value)
    np.testing.assert_allclose(check([value])[0], wanted, rtol=1e-9)
    calls = [step for step in walk_steps(program.steps) if isinstance(step, LibraryCall)]
    product = next(call for call in calls if call.routine.name == "gemm")
    plan.places[product.outputs[0].memory] = plan.places[product.inputs[0].memory]
    with pytest.raises(IntegrityError, match="where it writes"):
        MemoryCheck(program, plan, Target.host())([value])


@pytest.mark.parametrize("name", ["cholesky", "inv", "eigh", "svd", "qr", "solve", "det", "expm"])
def test_routines_are_carried_out(name):
    a = pt.dmatrix("a")
    positive = pt.dot(a, a.T) + pt.eye(3)
    function = getattr(pt.linalg, name)
    made = function(positive, a) if name == "solve" else function(positive)
    outputs = list(made) if isinstance(made, tuple | list) else [made]
    _, _, check = checked([a], outputs)
    value = np.random.default_rng(2).normal(size=(3, 3))
    wanted = phintys.function([a], outputs, mode="native")(value)
    for got, one in zip(check([value]), wanted, strict=True):
        np.testing.assert_allclose(got, one, rtol=1e-8, atol=1e-10)


class Half(Op):
    """Shows every other element, or the whole with its sign changed in place."""

    __props__ = ("in_place",)

    def __init__(self, *, in_place):
        self.in_place = in_place
        setattr(self, "destroy_map" if in_place else "view_map", {0: [0]})

    def make_node(self, x):
        return Apply(self, [x], [pt.vector(dtype=x.dtype)])

    def perform(self, node, inputs, output_storage):
        (x,) = inputs
        if self.in_place:
            np.negative(x, out=x)
        output_storage[0][0] = x if self.in_place else x[: len(x) // 2]


@pytest.mark.parametrize("in_place", [False, True])
def test_what_ops_in_python_show_keeps_its_memory(in_place):
    x = pt.dvector("x")
    y = pt.cumsum(x)
    z = Half(in_place=in_place)(y)
    w = pt.cumsum(pt.cumsum(x * z.sum()))
    program, plan, check = checked([x], [z * w.sum()])
    value = np.arange(1.0, 5.0)
    total = np.cumsum(value)
    z = -total if in_place else total[:2]
    wanted = z * np.cumsum(np.cumsum(value * z.sum())).sum()
    np.testing.assert_allclose(check([value])[0], wanted)
    others = [one for slot in plan.slots for one in slot.arrays if one.ndim]
    plan.places.update(dict.fromkeys(others, plan.places[others[0]]))
    with pytest.raises(IntegrityError):
        MemoryCheck(program, plan, Target.host())([value])


def test_ops_in_python_may_show_what_they_overwrite_twice():
    x = pt.dvector("x")
    first, second = double_negated(pt.cumsum(x))
    _, _, check = checked([x], [pt.cumsum(first) + second[0]])
    total = -2 * np.cumsum(VALUE[0])
    np.testing.assert_allclose(check([VALUE[0]])[0], np.cumsum(total) + total[-1])


def test_a_call_that_fails_is_not_a_fault():
    x, y = pt.dvectors("x", "y")
    _, _, check = checked([x, y], [pt.cumsum(x + y)])
    with pytest.raises(CheckFailed):
        check([np.zeros(2), np.zeros(3)])


def test_sizes_are_read_where_they_become_known():
    """Their memory may then be used for others."""
    x = pt.fscalar("x")
    _, _, check = checked([x], [pt.arange(x, 5, 0.5)])
    np.testing.assert_array_equal(check([np.float32(0.25)])[0], np.arange(0.25, 5, 0.5))


def test_a_slot_has_room_for_arrays_whose_sizes_are_proven_later():
    """A check after the first use of a slot merges the sizes of an Op in Python with known ones."""
    x = pt.dmatrix("x")
    made, _ = late(x * 2)
    square = pt.eye(made.shape[0])[::-1]
    _, _, check = checked([x], [pt.dot(square, made) + x])
    np.testing.assert_array_equal(check([VALUE])[0], 2 * VALUE[::-1] + 1 + VALUE)


def test_a_check_ends_when_it_takes_too_long():
    x = pt.dmatrix("x")
    program = lower_program(FunctionGraph([x], [pt.special.softmax(x, axis=1)], clone=True))
    plan = emit_program(program, Target.host()).memory
    check = MemoryCheck(program, plan, Target.host(), most_work=100)
    assert check([VALUE]) is not None
    assert check([np.zeros((300, 3))]) is None


def test_loops_and_updates_are_carried_out_in_their_memory():
    x, s = pt.dvector("x"), phintys.shared(np.ones(3), name="s")
    rows, _ = phintys.scan(
        lambda a, b: pt.cumsum(a[::-1]) + b, outputs_info=[x], non_sequences=[s], n_steps=4
    )
    f = phintys.function([x], rows[-1] + s, updates=[(s, s[::-1] + rows[-1])], mode="debug")
    state, value = np.ones(3), np.arange(3.0)
    for _ in range(2):
        row = value
        for _ in range(4):
            row = np.cumsum(row[::-1]) + state
        np.testing.assert_allclose(f(value), row + state)
        state = state[::-1] + row
        np.testing.assert_allclose(s.get_value(), state)


def test_what_is_known_of_a_program_is_kept():
    x = pt.dvector("x")
    program, plan, _ = checked([x], [pt.cumsum(pt.cumsum(x))])
    calls, orders = Calls(program), Orders(program, Target.host())
    for value in ([1.0, 2.0], [3.0]):
        made = Interpreter(program, plan, calls, orders).run([np.array(value)])
        np.testing.assert_array_equal(made[0], np.cumsum(np.cumsum(value)))
