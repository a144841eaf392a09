"""Which arrays share memory: graphs whose operations are kernels of their own."""

import itertools

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.kernels import fusion as fuse
from phintys.backends.native.limits import SMALL_BLOCK
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.writer.programs import emit_program
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op
from tools.native_programs import compile_program


@pytest.fixture(autouse=True)
def small_kernels(monkeypatch):
    monkeypatch.setattr(fuse, "MOST_STATEMENTS", 1)


class View(Op):
    """Shows every other element, and says so."""

    view_map = {0: [0]}
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [pt.vector(dtype=x.dtype)])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][::2]


def planned(inputs, outputs):
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    return program, emit_program(program, Target.host()).memory


def names(slot):
    return [array.label for array in slot.arrays]


def test_a_chain_works_in_place():
    x = pt.dvector("x")
    y = x
    for _ in range(6):
        y = pt.exp(y)
    program, memory = planned([x], [y])
    assert len(program.steps) == 6
    assert len(memory.slots) == 1
    assert len(memory.taken_over) == 4


def test_what_is_read_later_is_not_overwritten():
    x = pt.dvector("x")
    y = pt.exp(x)
    z = pt.sin(y)
    _, memory = planned([x], [pt.cos(z) * y])
    assert len(memory.slots) == 2


def test_dead_operands_are_reused_later():
    x = pt.dvector("x")
    a, b = pt.exp(x), pt.sin(x)
    c = a.sum() + b.sum()
    d, e = pt.cos(x) * c, pt.tanh(x) * c
    _, memory = planned([x], [d.sum() * e.sum()])
    large = [slot for slot in memory.slots if slot.arrays[0].ndim]
    assert len(large) == 2


def test_other_sizes_have_slots_of_their_own():
    x, y = pt.dvector("x"), pt.dvector("y")
    _, memory = planned([x, y], [pt.exp(pt.exp(x)), pt.exp(pt.exp(y))])
    assert len(memory.slots) == 2


def test_another_order_of_elements_is_not_written_in_place():
    x = pt.dmatrix("x")
    y = pt.exp(x)
    z = y + y.T
    program, memory = planned([x], [pt.exp(z)])
    assert not [array for array in memory.taken_over if array.ndim == 2 and len(memory.slots) == 1]
    values = np.random.default_rng(0).normal(size=(40, 40))
    (got,) = compile_program(program)(values)
    np.testing.assert_allclose(got, np.exp(np.exp(values) + np.exp(values).T), rtol=1e-14)


def test_other_dtypes_are_not_written_in_place():
    x = pt.dvector("x")
    y = pt.cast(pt.exp(x), "int64")
    _, memory = planned([x], [pt.abs(y) + y.sum()])
    assert all(a.dtype == b.dtype for a, b in memory.taken_over.items())


def test_views_that_ops_make_keep_their_memory():
    x = pt.dvector("x")
    y = pt.exp(x)
    z = View()(y)
    w = pt.sin(x * z.sum()) + pt.cos(x * z.sum())
    program, memory = planned([x], [z * w.sum()])
    exp = next(a for slot in memory.slots for a in slot.arrays if a.variable is not None)
    assert exp is memory.slots[memory.places[exp]].arrays[0]
    assert len(memory.slots[memory.places[exp]].arrays) == 1
    values = np.random.default_rng(0).normal(size=10)
    (got,) = compile_program(program)(values)
    view = np.exp(values)[::2]
    wanted = (np.sin(values * view.sum()) + np.cos(values * view.sum())).sum()
    np.testing.assert_allclose(got, view * wanted, rtol=1e-12)


class FirstRow(Op):
    """Shows the first row of a matrix, and says so."""

    view_map = {0: [0]}
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [pt.vector(dtype=x.dtype)])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][0]


class Whole(Op):
    """Shows all of a vector, and says so."""

    view_map = {0: [0]}
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][:]


def test_what_is_seen_through_a_view_is_not_written_in_place():
    x = pt.dmatrix("x")
    y = pt.exp(x)
    program, memory = planned([x], [pt.sin(y + FirstRow()(y))])
    assert not memory.taken_over
    values = np.random.default_rng(0).normal(size=(5, 3))
    (got,) = compile_program(program)(values)
    wanted = np.sin(np.exp(values) + np.exp(values)[0])
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_what_is_seen_through_a_view_may_end_in_a_kernel_with_the_code_of_another():
    x = pt.vector(shape=(4,))
    z = pt.sin(Whole()(pt.sin(x)))
    program, memory = planned([x], [pt.cos(z)])
    assert not memory.taken_over
    values = np.random.default_rng(0).normal(size=4)
    (got,) = compile_program(program)(values)
    np.testing.assert_allclose(got, np.cos(np.sin(np.sin(values))), rtol=1e-12)


def test_sizes_from_callbacks_have_a_block_of_their_own():
    x = pt.dvector("x")
    z = View()(x)
    _, memory = planned([x], [pt.exp(pt.exp(z)).sum() + pt.exp(pt.exp(x)).sum()])
    assert sorted(memory.groups) == [-1, 0]


def test_small_buffers_are_on_the_stack_unless_an_op_may_keep_them():
    x = pt.vector(shape=(4,))
    y = pt.sin(x).sum()
    for op in (pt.sin, Whole()):
        program, _ = planned([x], [pt.cos(op(pt.sin(x) * y))])
        takes_arena = "phintys_arena" in str(emit_program(program, Target.host()).module)
        assert takes_arena == isinstance(op, Whole)
        values = np.random.default_rng(0).normal(size=4)
        (got,) = compile_program(program)(values)
        inner = np.sin(values) * np.sin(values).sum()
        wanted = np.cos(inner if takes_arena else np.sin(inner))
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("length", [0, 3, SMALL_BLOCK // 8, SMALL_BLOCK // 8 + 1, 5000])
def test_calls_decide_where_blocks_of_unknown_sizes_are(length, total_of_sines):
    values = np.random.default_rng(0).normal(size=length)
    sines = np.sin(values)
    wanted = (np.cos(np.sin(sines * sines.sum()))).sum()
    np.testing.assert_allclose(total_of_sines(values), wanted, rtol=1e-12)


@pytest.fixture(scope="module")
def total_of_sines():
    x = pt.dvector("x")
    y = pt.sin(x)
    f = phintys.function([x], pt.cos(pt.sin(y * y.sum())).sum(), mode="native")
    assert "slot 0" in str(f.explain())
    return f


def test_the_arena_holds_no_more_than_what_lives_at_once():
    x = pt.dvector("x")
    y = x
    for _ in range(20):
        y = pt.exp(-y) * pt.sin(y)
    program, _ = planned([x], [y])
    executable = compile_program(program)
    executable(np.zeros(1000))
    assert executable.arena_bytes[0] <= 3 * 8064


def layers(count):
    """Return a chain of products with matrices, each of which gives another width."""
    x = pt.dmatrix("x")
    weights = [pt.dmatrix(f"w{n}") for n in range(count)]
    y = x
    for w in weights:
        y = pt.tanh(pt.dot(y, w))
    return [x, *weights], [y.sum()]


def test_matrices_that_differ_in_one_unknown_length_share_a_slot():
    _, memory = planned(*layers(7))
    matrices = [slot for slot in memory.slots if slot.arrays[0].ndim == 2]
    assert len(matrices) == 2
    assert sorted(len(slot.sizes()) for slot in matrices) == [3, 4]


def test_vectors_of_unknown_lengths_do_not():
    x, y = pt.dvectors("x", "y")
    _, memory = planned([x, y], [pt.exp(pt.cumsum(pt.exp(x))).sum(), pt.exp(pt.cumsum(y)).sum()])
    assert all(len(slot.sizes()) == 1 for slot in memory.slots)


@pytest.mark.parametrize(
    "widths", [(3, 1, 50, 2, 9), (50, 3, 2, 1, 4), (1, 2, 3, 4, 90), (4, 0, 5, 1, 2)]
)
def test_a_shared_slot_has_room_for_the_largest(widths):
    inputs, outputs = layers(len(widths) - 1)
    f = phintys.function(inputs, outputs, mode="native")
    assert "max(" in f.explain()
    rng = np.random.default_rng(5)
    arrays = [rng.normal(size=(6, widths[0]))]
    arrays += [rng.normal(size=pair) for pair in itertools.pairwise(widths)]
    expected = arrays[0]
    for w in arrays[1:]:
        expected = np.tanh(expected @ w)
    for _ in range(2):
        np.testing.assert_allclose(f(*arrays)[0], expected.sum(), rtol=1e-12)
