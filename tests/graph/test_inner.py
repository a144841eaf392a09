"""The protocol of Ops with an inner graph, in the layers that know no passes or backends."""

import copy
import pickle

import numpy as np
import pytest

import phintys.tensor as pt
from phintys._base.errors import (
    IntegrityError,
    MethodNotDefinedError,
    MissingInputError,
    OpContractError,
)
from phintys.gradient import jacobian
from phintys.graph import (
    Apply,
    FunctionGraph,
    HasInnerGraph,
    Op,
    clone,
    equal_computations,
    verify_graph,
)


class Repeat(HasInnerGraph, Op):
    """Apply a graph n times."""

    __props__ = ("n",)

    def __init__(self, fgraph, n):
        self.fgraph = fgraph
        self.n = n

    def with_inner(self, fgraph):
        return Repeat(fgraph, self.n)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform_with(self, program, node, inputs, output_storage):
        (value,) = inputs
        for _ in range(self.n):
            (value,) = program([value])
        output_storage[0][0] = value


def repeat(n, build):
    u = pt.dvector("u")
    return Repeat(FunctionGraph([u], [build(u)]), n)


def run(op, value):
    node = op(pt.dvector()).owner
    storage = [[None]]
    op.perform(node, [np.asarray(value)], storage)
    return storage[0][0].tolist()


def test_equality_is_that_of_class_props_and_structure():
    op = repeat(2, lambda u: u * 2)
    assert op == repeat(2, lambda u: u * 2)
    assert hash(op) == hash(repeat(2, lambda u: u * 2))
    assert op != repeat(3, lambda u: u * 2)
    assert op != repeat(2, lambda u: u * 3)
    assert op != repeat(2, lambda u: u + u)
    # Many different loops are told apart by their hashes, or finding equal ones takes long.
    assert (
        len(
            {
                hash(repeat(2, build))
                for build in (pt.exp, pt.tanh, lambda u: u * 3, lambda u: u * 2)
            }
        )
        == 4
    )

    class Other(Repeat):
        __props__ = ("n",)

    assert op != Other(op.fgraph, 2)


def test_types_of_inputs_count():
    v, w = pt.dvector("v"), pt.tensor("w", dtype="float64", shape=(3,))
    assert Repeat(FunctionGraph([v], [v * 2]), 1) != Repeat(FunctionGraph([w], [w * 2]), 1)


def test_without_props_an_op_equals_itself_only():
    class Plain(HasInnerGraph, Op):
        def __init__(self, fgraph):
            self.fgraph = fgraph

    u = pt.dvector("u")
    fgraph = FunctionGraph([u], [u * 2])
    op = Plain(fgraph)
    assert op == op
    assert op != Plain(fgraph)
    assert len({op, Plain(fgraph)}) == 2


def test_props_must_be_hashable():
    with pytest.raises(OpContractError, match=r"n=\[1\]"):
        hash(Repeat(repeat(1, pt.exp).fgraph, [1]))


def test_its_own_equality_is_kept():
    class Never(Repeat):
        __props__ = ("n",)

        def __eq__(self, other):
            return False

        def __hash__(self):
            return 7

    op = Never(repeat(1, pt.exp).fgraph, 1)
    assert op != op
    assert hash(op) == 7


def test_perform_runs_the_graph():
    assert run(repeat(3, lambda u: u * 2), [1.0, 2.0]) == [8.0, 16.0]


def test_a_pickle_runs_and_is_equal():
    op = repeat(2, lambda u: u * 2)
    run(op, [1.0])
    hash(op)
    again = pickle.loads(pickle.dumps(op))
    assert again == op
    assert again.fgraph is not op.fgraph
    assert run(again, [1.0]) == [4.0]
    for state in (op.__getstate__(), again.__getstate__()):
        # What is noted of the graphs within is pickled: asking them again would be a recursion.
        assert set(state) == {"fgraph", "n", "nesting", "held_nesting", "overwrites_within"}


def test_deep_copies_of_graphs_share_the_op():
    op = repeat(2, lambda u: u * 2)
    assert copy.deepcopy(op(pt.dvector())).owner.op is op


def test_a_clone_has_a_graph_of_its_own():
    op = repeat(2, lambda u: u * 2)
    twin = op.clone()
    assert twin == op
    assert twin.fgraph.apply_nodes.isdisjoint(op.fgraph.apply_nodes)
    x = pt.dvector("x")
    _, (y,) = clone([x], [op(op(x))], clone_inner_graphs=True)
    assert y.owner.op is y.owner.inputs[0].owner.op is not op
    assert y.owner.op == op


def test_equal_computations_looks_inside():
    x = pt.dvector("x")
    one, same, other = (repeat(2, lambda u, c=c: u * c)(x) for c in (2, 2, 3))
    assert equal_computations([one], [same])
    assert not equal_computations([one], [other])


def test_an_inner_graph_is_closed():
    u, v = pt.dvectors("u", "v")
    with pytest.raises(MissingInputError):
        Repeat(FunctionGraph([u], [u * v]), 2)


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (lambda op: op.clone(), "with_inner"),
        (lambda op: run(op, [1.0]), "perform_with"),
    ],
)
def test_a_missing_method_is_named(call, method):
    class Hollow(HasInnerGraph, Op):
        def __init__(self, fgraph):
            self.fgraph = fgraph

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    with pytest.raises(MethodNotDefinedError, match=f"Hollow .* no {method}"):
        call(Hollow(repeat(1, pt.exp).fgraph))


def test_what_is_captured():
    assert repeat(2, pt.exp).captured == {0: 0}
    x = pt.dvector("x")
    node = jacobian(pt.exp(x) * x, x, vectorize=False).owner
    op = node.op
    assert op.captured == {i: i for i in range(1, len(node.inputs))}  # but not the number of rows
    for outer, inner in op.captured.items():
        assert node.inputs[outer].type == op.inner_inputs[inner].type


class TestVerification:
    def test_a_damaged_inner_graph_is_found(self):
        op = repeat(2, lambda u: u * 2)
        x = pt.dvector("x")
        fgraph = FunctionGraph([x], [op(x)])
        verify_graph(fgraph)
        op.fgraph.outputs[0].owner.inputs[0] = pt.dvector("stranger")
        with pytest.raises(IntegrityError, match="stranger") as caught:
            verify_graph(fgraph)
        assert "inner graph of Repeat" in caught.value.__notes__[0]

    def test_captured_inputs_have_the_types_of_the_inner_ones(self):
        op = repeat(2, lambda u: u * 2)
        x = pt.dvector("x")
        fgraph = FunctionGraph([x], [op(x)])
        (node,) = fgraph.apply_nodes
        wrong = pt.dmatrix("wrong")
        fgraph.add_input(wrong)
        fgraph.change_node_input(node, 0, wrong, check=False)
        with pytest.raises(IntegrityError, match="captures input 0"):
            verify_graph(fgraph)
