import weakref

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import InconsistencyError
from phintys.graph import Apply, Constant, FunctionGraph, Op, Type, clone_replace, generic
from phintys.graph.features import Feature
from phintys.graph.verify import verify_graph
from phintys.passes.folding import (
    GROWTH,
    LARGEST,
    SMALL,
    compute_constants,
    constant_folding,
)
from phintys.rewriting import RewriteTrace
from phintys.tensor.convert import constant
from phintys.tensor.elemwise import elemwise
from phintys.tensor.type import TensorType

add = elemwise(ps.add)
x = TensorType("float64", (None,))("x")


class Call(Op):
    """A Python function of the inputs, with one output of a given type."""

    def __init__(self, function, type=generic, fold=True):
        self.function = function
        self.type = type
        self.fold = fold

    def make_node(self, *inputs):
        return Apply(self, inputs, [self.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.function(*inputs)

    def do_constant_folding(self, fgraph, node):
        return self.fold


class OlderSignature(Call):
    def do_constant_folding(self, node):
        return self.fold


class Split(Op):
    """Two outputs, the second of which is seldom used."""

    __props__ = ()

    def make_node(self, value):
        return Apply(self, [value], [generic(), generic()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0], output_storage[1][0] = inputs[0]


class ByThunk(Op):
    """No perform, but make_thunk."""

    def make_node(self, value):
        return Apply(self, [value], [generic()])

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        def thunk():
            storage_map[node.outputs[0]][0] = storage_map[node.inputs[0]][0] + 1
            compute_map[node.outputs[0]][0] = True

        return thunk


def anything(value):
    return Constant(generic, value)


def folded(*outputs, trace=None, inputs=()):
    fgraph = FunctionGraph(list(inputs), outputs)
    constant_folding.apply(fgraph, trace)
    verify_graph(fgraph)
    return fgraph


def test_a_chain_of_constants_becomes_one_constant():
    value = constant(1.0)
    for _ in range(100):
        value = add(value, constant(2.0))
    (out,) = folded(value).outputs
    assert isinstance(out, Constant)
    assert out.data == 201.0


def test_only_what_depends_on_constants_alone_is_folded():
    fgraph = folded(add(x, add(constant([1.0]), constant([2.0]))), inputs=[x])
    (node,) = fgraph.apply_nodes
    assert node.inputs[0].owner is None
    np.testing.assert_array_equal(node.inputs[1].data, [3.0])


def test_the_type_stays_what_it_was():
    # A known size of 1 would make broadcast what did not.
    unknown = TensorType("float64", (None,))
    (out,) = folded(Call(lambda a: a, unknown)(constant([3.0]))).outputs
    assert isinstance(out, Constant)
    assert out.type == unknown


@pytest.mark.parametrize("op_class", [Call, OlderSignature])
@pytest.mark.parametrize("fold", [True, False])
def test_an_op_may_refuse(op_class, fold):
    fgraph = folded(op_class(lambda a: a, fold=fold)(anything(1)))
    assert len(fgraph.apply_nodes) == (0 if fold else 1)


def test_nodes_without_inputs_are_not_folded():
    assert len(folded(Call(lambda: 3)()).apply_nodes) == 1


def test_an_op_that_overwrites_is_not_run():
    op = Call(lambda a: a.append(1))
    op.destroy_map = {0: [0]}
    value = [0]
    assert len(folded(op(anything(value))).apply_nodes) == 1
    assert value == [0]


def test_what_is_overwritten_is_not_made_a_constant():
    inplace = Call(lambda a, b: a, TensorType("float64", (1,)))
    inplace.destroy_map = {0: [0]}
    fgraph = folded(inplace(add(constant([1.0]), constant([2.0])), x), inputs=[x])
    assert len(fgraph.apply_nodes) == 2


def test_several_outputs():
    first, _ = Split()(anything((1, 2)))
    fgraph = folded(first, *Split()(anything((3, 4))))
    assert [out.data for out in fgraph.outputs] == [1, 3, 4]


def test_make_thunk_is_used():
    assert folded(ByThunk()(anything(2))).outputs[0].data == 3


def test_a_view_does_not_share_the_memory_of_its_constant():
    source = constant(np.arange(6.0))
    view = Call(lambda a: a[::2], TensorType("float64", (3,)))
    view.view_map = {0: [0]}
    (out,) = folded(view(source)).outputs
    assert not np.shares_memory(out.data, source.data)
    assert not out.data.flags.writeable


# Errors


def failing(value):
    msg = f"cannot do {value}"
    raise ValueError(msg)


def test_an_error_leaves_the_node_and_is_noted():
    trace = RewriteTrace()
    fgraph = folded(Call(failing)(anything(1)), Call(str)(anything(1)), trace=trace)
    assert len(fgraph.apply_nodes) == 1
    assert fgraph.outputs[1].data == "1"
    refused, done = trace
    assert refused.refused == "ValueError: cannot do 1"
    assert refused.node is fgraph.outputs[0].owner
    assert trace.counts() == {"constant_folding": 1}
    assert not done.refused


def test_an_op_without_perform_is_left_and_noted():
    trace = RewriteTrace()
    op = Op()
    folded(Apply(op, [anything(1)], [generic()]).out, trace=trace)
    assert "MethodNotDefinedError" in trace.events[0].refused


def test_a_value_that_its_type_refuses_is_noted():
    class Even(Type):
        def filter(self, value, strict=False, allow_downcast=None):
            if value % 2:
                raise TypeError("odd")
            return value

    trace = RewriteTrace()
    fgraph = folded(Call(lambda a: a + 1, Even())(anything(2)), trace=trace)
    assert len(fgraph.apply_nodes) == 1
    assert trace.events[0].refused == "TypeError: odd"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_no_error_of_the_op(error):
    def interrupted(value):
        raise error

    with pytest.raises(error):
        folded(Call(interrupted)(anything(1)))


def test_warnings_of_numpy_wait_for_the_call():
    (out,) = folded(elemwise(ps.log)(constant(0.0))).outputs
    assert out.data == -np.inf


def test_a_refused_replacement_is_noted():
    class Never(Feature):
        def validate(self, fgraph):
            raise InconsistencyError("not today")

    fgraph = FunctionGraph([], [Call(str)(anything(1))], features=[Never()])
    trace = RewriteTrace()
    constant_folding.apply(fgraph, trace)
    assert len(fgraph.apply_nodes) == 1
    assert [event.refused for event in trace] == ["not today"]


# Size


@pytest.mark.parametrize(
    ("elements_in", "elements_out", "fits"),
    [
        (1, SMALL, True),
        (1, SMALL + 1, False),
        (SMALL, GROWTH * SMALL, True),
        (SMALL, GROWTH * SMALL + 1, False),
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["known size", "unknown size"])
def test_large_results_are_not_folded(elements_in, elements_out, fits, known):
    runs = []

    def grow(value):
        runs.append(value.size)
        return np.ones(elements_out)

    op = Call(grow, TensorType("float64", (elements_out if known else None,)))
    trace = RewriteTrace()
    fgraph = folded(op(constant(np.zeros(elements_in))), trace=trace)
    assert isinstance(fgraph.outputs[0], Constant) == fits
    # What is known to be large is not even computed.
    assert len(runs) == (1 if fits or not known else 0)
    assert [event.refused for event in trace] == (
        [""] if fits else [] if known else ["the result is large"]
    )


def test_small_results_of_large_ones_are_folded():
    n = 100
    assert n < SMALL < n * n
    matrix = pt.diag(pt.constant(np.arange(1.0, n + 1))) + 1
    (found,) = folded(pt.linalg.eigvalsh(matrix).sum()).outputs
    assert isinstance(found, Constant)
    np.testing.assert_allclose(found.data, n * (n + 1) / 2 + n)


def test_what_constants_write_into_zeros_is_a_constant():
    places = pt.constant(np.array([2, 0]))
    written = pt.zeros(3)[places].set(pt.constant(np.array([4.0, 5.0])))
    (found,) = folded(written).outputs
    np.testing.assert_array_equal(found.data, [5, 0, 4])
    (written,) = folded(pt.zeros(3)[places].set(x), inputs=[x]).outputs
    assert not isinstance(written.owner.inputs[0], Constant)


def test_zeros_whose_sizes_turn_out_to_be_known():
    n = pt.iscalar("n")
    total = pt.max(pt.eye(n) + 1)
    fgraph = FunctionGraph([], clone_replace([total], {n: pt.constant(100, dtype="int32")}))
    constant_folding.apply(fgraph)
    assert fgraph.outputs[0].data == 2


def test_large_results_are_computed_once_and_not_kept():
    calls = []

    def square(value):
        calls.append(value)
        return np.full((1000, 1000), value)

    large = Call(square, TensorType("float64", (1000, 1000)))(pt.constant(2.0))
    fgraph = folded(pt.max(large), pt.min(large), large)
    assert [getattr(one, "data", None) for one in fgraph.outputs] == [2.0, 2.0, None]
    assert len(calls) == 1


def test_a_chain_of_large_results_folds_without_recursion():
    value = pt.zeros((100, 100)) + pt.constant(1.0)
    for _ in range(5_000):
        value = value + 1.0
    (found,) = folded(pt.max(value)).outputs
    assert found.data == 5_001


def test_large_results_do_not_pile_up():
    made = []
    most = 0

    class Array(np.ndarray):
        pass

    def add_one(value):
        nonlocal most
        result = (value + np.ones((100, 100))).view(Array)
        made.append(weakref.ref(result))
        most = max(most, sum(one() is not None for one in made))
        return result

    class Plain(TensorType):
        def filter(self, value, strict=False, allow_downcast=None):
            return value

    value = pt.constant(0.0)
    for _ in range(20):
        value = Call(add_one, Plain("float64", (100, 100)))(value)
    (found,) = folded(Call(np.max)(value)).outputs
    assert found.data == 20
    assert most <= 3


def test_results_that_may_fill_the_memory_are_not_computed():
    large = Call(pytest.fail, TensorType("float64", (LARGEST + 1,)))(anything("computed"))
    fgraph = folded(pt.max(large))
    assert len(fgraph.apply_nodes) == 2


def test_compute_constants_leaves_the_node():
    node = Split()(anything((1, 2)))[0].owner
    assert [c.data for c in compute_constants(node)] == [1, 2]
    assert all(output.owner is node for output in node.outputs)


def test_a_long_chain_of_constants_folds(repeats):
    number = repeats(10_000, 100_000)
    value = anything(0)
    op = Call(lambda a: a + 1)
    for _ in range(number):
        value = op(value)
    assert folded(value).outputs[0].data == number


def test_bounds_of_sizes_that_turn_out_to_be_known():
    x = pt.tensor("x", dtype="float64", shape=(2, 3))
    largest = pt.maximum(pt.constant(np.int64(4)), pt.maximum(pt.shape(x)[0], pt.shape(x)[1]))
    assert phintys.pprint(phintys.passes.rewrite_graph(largest)) == "4"


SLICES = [
    (lambda c, x: c[1:] * x - c[:-1] * x, 2),
    (lambda c, x: c[1:] * x, 0),  # alone it takes less memory than what it is read from
    (lambda c, x: c[4000:] * x[:2000] - c[:2000] * x[:2000], 0),
    (lambda c, x: x[0] * c[::2] - c[1::2] * x[1] + x[2] * c[-1:0:-2], 0),  # others are slower
    (lambda c, x: pt.dot(c[1:], x) - pt.dot(c[:-1], x), 0),  # a routine may read it faster
    (lambda c, x: pt.exp(c[1:] - c[:-1]) * x, 0),  # the difference is a constant
]


@pytest.mark.parametrize(("build", "count"), SLICES)
@pytest.mark.parametrize("mode", ["reference", "native"])
def test_overlapping_slices_of_large_constants_are_read_where_they_are(build, count, mode):
    value = np.random.default_rng(0).standard_normal(6000)
    x = pt.tensor("x", shape=(5999,))
    f = phintys.function([x], build(pt.constant(value.copy()), x), mode=mode)
    nodes = f.maker.fgraph.apply_nodes
    kept = [one for one in nodes if isinstance(one.inputs[0], pt.TensorConstant)]
    assert sum(isinstance(one.op, pt.Subtensor) for one in kept) == count
    at = np.random.default_rng(1).standard_normal(5999)
    y = pt.tensor("y", shape=(6000,))
    wanted = phintys.function([y, x], build(y, x), mode="reference")(value, at)
    for _ in range(2):  # nothing is written into the constant
        np.testing.assert_allclose(f(at), wanted, rtol=1e-12, atol=1e-12)
