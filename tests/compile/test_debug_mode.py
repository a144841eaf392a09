"""DebugMode on what is sound: no false alarms, the same results, options (faults: the zoo)."""

import pickle

import numpy as np
import pytest
from hypothesis import given

import phintys.tensor as pt
from phintys._base.errors import BadRewrite, BadViewMap, ConfigError, DebugModeError, ShapeError
from phintys.compile import DebugMode, In, function, shared
from phintys.compile.debugging.replacements import Replacements
from phintys.graph import Apply, FunctionGraph, Op
from phintys.graph.aliasing import DestroyHandler
from phintys.passes import PIPELINES
from phintys.rewriting import Pass, Pipeline, WalkInOrder, Worklist, node_rewriter
from phintys.tensor.inplace import add_inplace
from phintys.testing.strategies import graphs
from tests.budget import budget

FULL = PIPELINES["full"]


@budget(10)
@given(graphs())
def test_random_graphs_are_sound(graph):
    f = function(graph.inputs, graph.outputs, mode="debug", on_unused_input="ignore")
    with np.errstate(all="ignore"):
        results = f(*graph.values)
    for found, expected in zip(results, graph.expected, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


def in_place(op):
    @node_rewriter([op])
    def rule(fgraph, node):
        """add(x, y) -> add_inplace(x, y)"""
        return [add_inplace(*node.inputs)]

    return DebugMode(Pipeline([Pass("inplace", Worklist([rule]))]))


def test_a_refused_substitution_is_no_fault():
    x, y = pt.dvectors("x", "y")
    inner = x + y  # must not be overwritten by both sums that follow, nor may x be
    f = function([x, y], [inner + x, inner + y], mode=in_place(pt.add))
    ops = [repr(node.op) for node in f.maker.fgraph.toposort()]
    assert ops.count("Add") == 2
    assert sum("inplace" in op.lower() or "{" in op for op in ops) == 1
    values = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    for _ in range(2):
        np.testing.assert_array_equal(f(*values), [[12.0, 24.0], [21.0, 42.0]])
    np.testing.assert_array_equal(values, [[1.0, 2.0], [10.0, 20.0]])


class Exchanged(Op):
    """Returns its inputs in the other order, as they are."""

    __props__ = ()

    view_map = {0: [1], 1: [0]}

    def make_node(self, x, y):
        return Apply(self, [x, y], [y.type(), x.type()])

    def perform(self, node, inputs, output_storage):
        (output_storage[0][0], output_storage[1][0]) = reversed(inputs)


def test_a_view_of_one_input_may_share_the_memory_of_another():
    x = pt.dvector("x")
    y = x + 1.0
    f = function([x], Exchanged()(y, y[::-1]), mode="debug")
    np.testing.assert_array_equal(f([0.0, 1.0]), [[2.0, 1.0], [1.0, 2.0]])


def test_changes_that_were_refused_are_forgotten():
    x, y = pt.dvectors("x", "y")
    z = x + y
    fgraph = FunctionGraph([x, y], [z], [DestroyHandler()], clone=False)
    notes = Replacements()
    fgraph.attach_feature(notes)
    with pytest.raises(Exception, match="mutable"):
        fgraph.replace_validate(z, add_inplace(x, y), reason="refused")
    assert notes.found() == []
    fgraph.replace_validate(z, y + x, reason="accepted")
    (found,) = notes.found()
    assert (found.old, found.new, found.rule) == (z, fgraph.outputs[0], "accepted")
    assert "Add" in found.before


def test_arguments_are_left_alone_unless_they_are_mutable():
    x, y = pt.dvectors("x", "y")
    for mutable in (False, True):
        f = function([In(x, mutable=mutable), y], add_inplace(x, y), "debug", accept_inplace=True)
        value = np.array([1.0, 2.0])
        np.testing.assert_array_equal(f(value, [1.0, 1.0]), [2.0, 3.0])
        np.testing.assert_array_equal(value, [2.0, 3.0] if mutable else [1.0, 2.0])


def test_updates_and_shared_values():
    total, x = shared(np.zeros(2), name="total"), pt.dvector("x")
    f = function([x], total * 2, updates={total: total + x}, mode="debug")
    results = [f([1.0, 2.0]).tolist() for _ in range(3)]
    assert results == [[0.0, 0.0], [2.0, 4.0], [4.0, 8.0]]
    assert total.get_value().tolist() == [3.0, 6.0]


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (lambda x: pt.log(1 + pt.exp(x)), [-1000.0, -40.0, 0.0, 40.0, 1000.0]),
        (lambda x: pt.log(1 - pt.sigmoid(x)), [-800.0, -1e-9, 1e-9, 37.0, 40.0, 800.0]),
        (lambda x: pt.log(1 - pt.exp(x)), [-1e-17, -1e-16, -1e-9, -1.0, -900.0]),
        (lambda x: pt.log(pt.exp(x).sum()), [999.0, 1000.0]),
        (lambda x: pt.log(1 + x) + pt.exp(x) - 1, [1e-20, 1e-15, -1e-16]),
        (lambda x: (x + 1e16) - 1e16, [1.0, 3.0, -7.0]),
        (lambda x: pt.log(pt.softmax(x)), [-1000.0, 0.0, 1000.0]),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stable_forms_and_lost_digits_are_no_faults(expression, values, dtype):
    x = pt.vector("x", dtype=dtype)
    cost = expression(x)
    assert function([x], cost, mode="debug")(np.array(values, dtype)).dtype == dtype


def test_errors_that_rewriting_removes_are_no_faults():
    x, y = pt.dvectors("x", "y")
    f = function([x, y], pt.zeros_like(x * 2) + (x + y).shape[0] * 0, mode="debug")
    assert f([1.0, 2.0], [1.0, 2.0]).tolist() == [0.0, 0.0]


def test_errors_stay_what_they_are():
    x, y = pt.dvectors("x", "y")
    z = x + y  # the line
    f = function([x, y], z * 2, mode="debug")
    with pytest.raises(ShapeError, match="do not fit") as caught:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert "# the line" in "\n".join([str(caught.value), *caught.value.__notes__])
    assert not isinstance(caught.value, DebugModeError)


class Twice(Op):
    """Doubles, in one way or another."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2


class Picky(Twice):
    def perform(self, node, inputs, output_storage):
        raise AssertionError("not while debugging")

    def debug_perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] + inputs[0]


def test_debug_perform_stands_in_everywhere():
    x = pt.dvector("x")
    f = function([x], Picky()(x + 1) * 3, mode="debug")
    assert f([1.0]).tolist() == [12.0]


def test_copies_pickles_and_subsets():
    x = pt.dvector("x")
    f = function([x], [pt.exp(x) + 0, x * 1], mode="debug")
    for one in (f, f.copy(), pickle.loads(pickle.dumps(f))):
        assert one([0.0])[0].tolist() == [1.0]
        assert one([0.0], output_subset=[1])[0].tolist() == [0.0]


class WithBuffer(Op):
    """Keeps a buffer that is larger than its result, as an output that nobody reads."""

    __props__ = ()

    default_output = 0

    def make_node(self, x):
        return Apply(self, [x], [x.type(), x.type()])

    def perform(self, node, inputs, output_storage):
        (x,), (result, buffer) = inputs, output_storage
        if buffer[0] is None or buffer[0].size < 2 * x.size:
            buffer[0] = np.empty(2 * x.size)
        result[0] = buffer[0][: x.size]
        np.multiply(x, 2, out=result[0])


def test_hidden_outputs_may_hold_anything():
    x = pt.dvector("x")
    f = function([x], WithBuffer()(x) + 1, mode="debug")
    assert f([1.0, 2.0]).tolist() == [3.0, 5.0]
    with pytest.raises(BadViewMap, match="outputs 0 and 1 share memory"):
        function([x], WithBuffer().make_node(x).outputs, mode="debug")([1.0])


# ---- options -------------------------------------------------------------------------------------


class Accumulate(Twice):
    """Adds to what is in its storage cell."""

    def perform(self, node, inputs, output_storage):
        (cell,) = output_storage
        if cell[0] is None or cell[0].shape != inputs[0].shape:
            cell[0] = np.zeros_like(inputs[0])
        cell[0] += inputs[0] * 2


class Count(Twice):
    """Counts its calls."""

    calls = 0

    def perform(self, node, inputs, output_storage):
        type(self).calls += 1
        output_storage[0][0] = inputs[0] * self.calls


class ByStrides(Twice):
    """Goes along memory."""

    def perform(self, node, inputs, output_storage):
        flat = inputs[0].ravel(order="K")
        output_storage[0][0] = flat.cumsum().reshape(inputs[0].shape)


class TooLong(Twice):
    """Tells a wrong shape."""

    def infer_shape(self, fgraph, node, input_shapes):
        return [tuple(size + 1 for size in input_shapes[0])]


class Infinite(Twice):
    """Divides by zero."""

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * np.inf


@pytest.mark.parametrize(
    ("op", "strict", "lax"),
    [
        (Accumulate(), {}, {"check_preallocated_output": ""}),
        (
            Accumulate(),
            {"check_preallocated_output": "previous"},
            {"check_preallocated_output": ["wrong_size"]},
        ),
        (ByStrides(), {}, {"check_strides": False}),
        (TooLong(), {}, {"check_infer_shape": False}),
        (Infinite(), {"check_isfinite": True}, {}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Op) else "",
)
def test_checks_can_be_left_out(op, strict, lax):
    x = pt.dmatrix("x")
    value = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(DebugModeError):
        function([x], op(x), mode=DebugMode(**strict))(value)
    assert function([x], op(x), mode=DebugMode(**lax))(value).shape == (2, 2)


def test_all_repetitions_can_be_left_out():
    x = pt.dvector("x")
    off = {
        "check_py": False,
        "check_native": False,
        "check_strides": False,
        "check_preallocated_output": False,
    }
    Count.calls = 0
    with pytest.raises(DebugModeError):  # the graph as a whole still disagrees with its nodes
        function([x], Count()(x), mode=DebugMode(**off))([1.0])


def test_rewrites_need_not_be_checked():
    @node_rewriter([pt.exp])
    def wrong(fgraph, node):
        """exp(x) -> sin(x)"""
        return [pt.sin(node.inputs[0])]

    x = pt.dvector("x")
    pipeline = Pipeline([Pass("wrong", WalkInOrder([wrong]))])
    with pytest.raises(BadRewrite):
        function([x], pt.exp(x), mode=DebugMode(pipeline))([0.0])
    lax = DebugMode(pipeline, check_rewrites=False)
    assert function([x], pt.exp(x), mode=lax)([0.0]).tolist() == [0.0]
    # What a mode is made into keeps its options.
    assert function([x], pt.exp(x), mode=DebugMode(pipeline).excluding("wrong"))([0.0]) == 1.0


def test_wrong_options():
    with pytest.raises(ConfigError, match=r"'strides'; there are previous, .*ALL"):
        DebugMode(check_preallocated_output="previous:strides")
    assert DebugMode(check_preallocated_output="ALL").options == DebugMode().options
    assert DebugMode(check_preallocated_output=True).options == DebugMode().options
    assert DebugMode(check_preallocated_output="initial").options == (
        DebugMode(check_preallocated_output=()).options
    )


@pytest.mark.parametrize("ndim", [12, 31, 32])
@pytest.mark.parametrize("name", ["exp", "sum", "transpose"])
def test_arrays_of_many_dimensions_take_little_memory(name, ndim):
    x = pt.tensor("x", shape=(None,) * ndim)
    f = function([x], getattr(pt, name)(x), mode="debug")
    value = np.full((2, *(1,) * (ndim - 2), 3), 0.5)
    np.testing.assert_allclose(f(value), getattr(np, name)(value))
