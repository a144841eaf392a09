import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import InconsistencyError
from phintys.graph import (
    Apply,
    Constant,
    DisconnectedType,
    FunctionGraph,
    NullType,
    Op,
    Type,
    generic,
)
from phintys.graph.features import Feature
from phintys.graph.verify import verify_graph
from phintys.passes import merge
from phintys.rewriting import RewriteTrace
from phintys.tensor.convert import constant
from phintys.tensor.type import TensorType


class F(Op):
    """Any number of inputs, any number of outputs of one Type."""

    __props__ = ("name", "nout")

    def __init__(self, name="f", nout=1, type=generic, view_map=None, destroy_map=None):
        self.name = name
        self.nout = nout
        self.type = type
        if view_map:
            self.view_map = view_map
        if destroy_map:
            self.destroy_map = destroy_map

    def make_node(self, *inputs):
        return Apply(self, inputs, [self.type() for _ in range(self.nout)])


class Weird(Op):
    """An Op whose comparison or hash misbehaves as told."""

    def __init__(self, compare=None, hashed=0):
        self.compare = compare
        self.hashed = hashed

    def __eq__(self, other):
        if self is other:
            return True
        if isinstance(self.compare, Exception):
            raise self.compare
        return self.compare

    def __hash__(self):
        if isinstance(self.hashed, Exception):
            raise self.hashed
        return self.hashed

    def make_node(self, *inputs):
        return Apply(self, inputs, [generic()])


f, g = F("f"), F("g")


def merged(inputs, outputs, trace=None):
    fgraph = FunctionGraph(inputs, outputs)
    merge.apply(fgraph, trace)
    verify_graph(fgraph)
    return fgraph


def test_equal_ops_on_equal_inputs_become_one():
    x, y = generic("x"), generic("y")
    fgraph = merged([x, y], [f(x, y), F("f")(x, y), g(x, y), f(y, x), f(x)])
    first, second, other, swapped, fewer = fgraph.outputs
    assert first is second
    assert len({first, other, swapped, fewer}) == 4
    assert len(fgraph.apply_nodes) == 4


def test_merging_goes_on_above_what_was_merged():
    x = generic("x")
    fgraph = merged([x], [g(g(f(x))), g(g(f(x))), f(f(x), f(x))])
    assert fgraph.outputs[0] is fgraph.outputs[1]
    assert len(fgraph.apply_nodes) == 4


def test_inputs_are_never_merged():
    x, y = generic("x"), generic("y")
    assert len(merged([x, y], [f(x), f(y)]).apply_nodes) == 2


def test_all_outputs_of_a_node_are_merged():
    split = F("split", nout=2)
    x = generic("x")
    a, b = split(x)
    c, d = split(x)
    fgraph = merged([x], [f(a, d), f(c, b), a, d])
    assert fgraph.outputs[0] is fgraph.outputs[1]
    assert fgraph.outputs[2].owner is fgraph.outputs[3].owner
    assert len(fgraph.apply_nodes) == 2


def test_the_first_one_stays_with_its_line():
    x = generic("x")
    first = f(x)
    second = f(x)
    fgraph = merged([x], [g(first), g(second)])
    (inner, outer) = fgraph.toposort()
    assert inner.origin.lineno == first.owner.origin.lineno != second.owner.origin.lineno
    assert outer.origin.function == "test_the_first_one_stays_with_its_line"


@pytest.mark.parametrize(
    ("values", "number"),
    [
        ([1.0, 1.0], 1),
        ([1.0, 2.0], 2),
        ([0.0, -0.0], 2),
        ([np.nan, np.nan], 1),
        ([1.0, np.float32(1.0)], 2),
        ([1.0, np.array([1.0])], 2),
        ([np.zeros((2, 3)), np.zeros((3, 2))], 2),
        ([np.arange(1000.0), np.arange(1000.0)], 1),
    ],
    ids=str,
)
def test_constants_merge_by_type_and_bits(values, number):
    fgraph = merged([], [f(constant(value)) for value in values])
    assert len({output.owner.inputs[0] for output in fgraph.outputs}) == number
    assert len(fgraph.apply_nodes) == number


def test_constants_that_are_outputs_merge():
    fgraph = merged([], [constant(1.0), constant(1.0)])
    assert fgraph.outputs[0] is fgraph.outputs[1]


def test_constants_without_a_hash_merge_only_with_themselves():
    value = [1, 2]
    one, alias, other = (Constant(generic, v) for v in (value, value, [1, 2]))
    assert len(merged([], [f(one), f(alias), f(other)]).apply_nodes) == 2


# Ops that overwrite


def test_ops_that_overwrite_are_not_merged():
    x, y = generic("x"), generic("y")
    inplace = F("inplace", destroy_map={0: [0]})
    fgraph = merged([x, y], [inplace(x, y), inplace(x, y)])
    assert len(fgraph.apply_nodes) == 2


def test_what_is_overwritten_is_not_merged():
    x = generic("x")
    inplace = F("inplace", destroy_map={0: [0]})
    fgraph = merged([x], [inplace(f(x)), f(x), g(x), g(x)])
    assert [str(node.op) for node in fgraph.apply_nodes].count("F{name=f, nout=1}") == 2
    assert fgraph.outputs[2] is fgraph.outputs[3]


def test_what_is_overwritten_through_views_is_not_merged():
    x = generic("x")
    inplace = F("inplace", destroy_map={None: [0]})
    view = F("view", view_map={0: [0]})
    fgraph = merged([x], [inplace(view(view(f(x)))), view(f(x)), f(x)])
    owned, viewed, plain = fgraph.outputs
    memory = owned.owner.inputs[0].owner.inputs[0].owner.inputs[0]
    assert plain is not memory
    assert viewed.owner.inputs[0] is plain


def test_constants_that_are_overwritten_are_not_merged():
    inplace = F("inplace", destroy_map={0: [0]})
    fgraph = merged([], [inplace(constant(1.0)), f(constant(1.0))])
    assert fgraph.outputs[0].owner.inputs[0] is not fgraph.outputs[1].owner.inputs[0]


# Things that cannot be compared


class Unhashable(Constant):
    def signature(self):
        return [1]


class Raising(Constant):
    def signature(self):
        raise ValueError("no signature")


@pytest.mark.parametrize("kind", [Unhashable, Raising])
def test_constants_that_cannot_be_compared_stay_and_are_noted(kind):
    trace = RewriteTrace()
    constants = [kind(generic, 1) for _ in range(2)]
    fgraph = merged([], [f(c) for c in constants], trace)
    assert len(fgraph.apply_nodes) == 2
    assert len(trace) == 2
    assert all(kind.__name__ in event.refused for event in trace)


@pytest.mark.parametrize(
    "op",
    [
        Weird(ValueError("no")),
        Weird(np.array([True, True])),
        Weird(hashed=TypeError("unhashable")),
    ],
    ids=["__eq__ raises", "__eq__ gives an array", "__hash__ raises"],
)
def test_ops_that_cannot_be_compared_stay_and_are_noted(op):
    trace = RewriteTrace()
    x = generic("x")
    other = Weird(op.compare, op.hashed)
    fgraph = FunctionGraph(
        [x], [Apply(op, [x], [generic()]).out, Apply(other, [x], [generic()]).out]
    )
    merge.apply(fgraph, trace)
    assert len(fgraph.apply_nodes) == 2
    assert trace.events
    assert all("Weird cannot be compared" in event.refused for event in trace)


@pytest.mark.parametrize(("answer", "number"), [(np.True_, 1), (1, 1), (NotImplemented, 2), (0, 2)])
def test_any_truth_counts_as_equal(answer, number):
    x = generic("x")
    assert len(merged([x], [Weird(answer)(x), Weird(answer)(x)]).apply_nodes) == number


def test_types_that_cannot_be_compared_keep_nodes_apart():
    class Odd(Type):
        def __eq__(self, other):
            raise ValueError("never compare me")

        __hash__ = object.__hash__

    x = generic("x")
    op = F("odd")
    outputs = [Apply(op, [x], [Odd()()]).out for _ in range(2)]
    trace = RewriteTrace()
    fgraph = merged([x], outputs, trace)
    assert len(fgraph.apply_nodes) == 2
    assert "Odd cannot be compared" in trace.events[0].refused


def test_outputs_of_different_types_keep_nodes_apart():
    x = generic("x")
    op = F("op")
    for sizes in ((None, 1), (1, None)):
        outputs = [Apply(op, [x], [TensorType("float64", (size,))()]).out for size in sizes]
        fgraph = merged([x], outputs)
        assert [node.op for node in fgraph.apply_nodes] == [op, op]


@pytest.mark.parametrize("type", [NullType("why"), DisconnectedType()])
def test_null_and_disconnected_variables_merge_like_others(type):
    x = generic("x")
    op = F("gradient", type=type)
    assert len(merged([x], [op(x), op(x)]).apply_nodes) == 1


# Engine


def test_a_refused_merge_is_noted_and_leaves_the_graph():
    class Never(Feature):
        def validate(self, fgraph):
            raise InconsistencyError("not today")

    x = generic("x")
    fgraph = FunctionGraph([x], [f(x), f(x)], features=[Never()])
    trace = RewriteTrace()
    merge.apply(fgraph, trace)
    verify_graph(fgraph)
    assert len(fgraph.apply_nodes) == 2
    assert [event.refused for event in trace] == ["not today"]


def test_the_trace_has_one_event_for_each_node_that_went():
    x = generic("x")
    trace = RewriteTrace()
    merged([x], [f(x), f(x), f(x)], trace)
    assert trace.counts() == {"merge": 2}
    assert all(event.node.op == f for event in trace)


def test_merging_twice_changes_nothing():
    x = generic("x")
    fgraph = merged([x], [g(f(x)), g(f(x)), f(constant(1.0)), f(constant(1.0))])
    trace = RewriteTrace()
    merge.apply(fgraph, trace)
    assert not trace.events


def test_two_long_equal_chains_become_one(repeats):
    number = repeats(10_000, 50_000)
    x = generic("x")
    a = b = x
    for _ in range(number):
        a, b = f(a), f(b)
    fgraph = merged([x], [a, b])
    assert fgraph.outputs[0] is fgraph.outputs[1]
    assert len(fgraph.apply_nodes) == number


def test_many_nodes_of_one_kind_on_one_input_stay_cheap(repeats):
    # As many Ops on one input as nodes: comparing all pairs would take minutes.
    count = repeats(5_000, 20_000)
    x = generic("x")
    outputs = [F(str(number))(x) for number in range(count)]
    fgraph = merged([x], [*outputs, *(F(str(number))(x) for number in range(count))])
    assert len(fgraph.apply_nodes) == count


@pytest.mark.parametrize("op", [pt.add, pt.mul, pt.maximum, pt.eq, pt.and_], ids=str)
def test_operands_that_may_change_places_are_no_difference(op):
    x, y = pt.lvector("x"), pt.lvector("y")
    fgraph = FunctionGraph([x, y], [op(x, y), op(y, x)])
    merge.apply(fgraph)
    assert len(fgraph.apply_nodes) == 1


def test_operands_that_may_not_change_places_are():
    x, y, z = pt.dvector("x"), pt.dvector("y"), pt.dvector("z")
    # Three operands are added from left to right: another order rounds in another way.
    outputs = [x - y, y - x, pt.add(x, y, z), pt.add(y, x, z), x < y, y < x]
    fgraph = FunctionGraph([x, y, z], outputs)
    merge.apply(fgraph)
    assert len(fgraph.apply_nodes) == 6
