"""The verifier finds each broken invariant, and nothing in a sound graph."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import IntegrityError
from phintys.graph import Apply, FunctionGraph, Op, verify_graph


@pytest.fixture
def simple(toys):
    x, y = toys.number("x"), toys.number("y")
    a, a1 = toys.Named("f", 2)(x)
    b = toys.Named("g")(a, y, toys.number.make_constant(1))
    return FunctionGraph([x, y], [b], clone=False), x, y, a, a1, b


@given(st.data())
def test_sound_graphs_pass(toys, data):
    graph = data.draw(toys.dags())
    for clone in (True, False):
        verify_graph(FunctionGraph(graph.inputs, graph.outputs, clone=clone), make_nodes=True)


def damage_input(fgraph, x, y, a, a1, b, toys):
    b.owner.inputs[1] = toys.number("z")


def damage_swap(fgraph, x, y, a, a1, b, toys):
    b.owner.inputs[0], b.owner.inputs[1] = y, a


def damage_output(fgraph, x, y, a, a1, b, toys):
    fgraph.outputs[0] = toys.number("z")


def damage_other_output(fgraph, x, y, a, a1, b, toys):
    fgraph.outputs[0] = a


def damage_owner(fgraph, x, y, a, a1, b, toys):
    b.owner = a.owner


def damage_index(fgraph, x, y, a, a1, b, toys):
    a.index, a1.index = 1, 0


def damage_clients_lost(fgraph, x, y, a, a1, b, toys):
    fgraph.clients[y].clear()


def damage_clients_twice(fgraph, x, y, a, a1, b, toys):
    b.owner.inputs[1] = a
    fgraph.clients[y].clear()
    fgraph.clients[a] *= 2


def damage_clients_stranger(fgraph, x, y, a, a1, b, toys):
    fgraph.clients[y][0] = (toys.Named("k")(y).owner, 0)


def damage_clients_place(fgraph, x, y, a, a1, b, toys):
    fgraph.clients[y][0] = (b.owner, 7)


def damage_variable_forgotten(fgraph, x, y, a, a1, b, toys):
    del fgraph.clients[a1]


def damage_input_forgotten(fgraph, x, y, a, a1, b, toys):
    del fgraph.inputs[1]


def damage_input_twice(fgraph, x, y, a, a1, b, toys):
    fgraph.inputs.append(x)


def damage_input_computed(fgraph, x, y, a, a1, b, toys):
    fgraph.inputs.append(a)


def damage_input_constant(fgraph, x, y, a, a1, b, toys):
    fgraph.inputs.append(b.owner.inputs[2])


def damage_input_unknown(fgraph, x, y, a, a1, b, toys):
    fgraph.inputs.append(toys.number("z"))


def damage_node_forgotten(fgraph, x, y, a, a1, b, toys):
    del fgraph._nodes[a.owner]


def damage_dead_node(fgraph, x, y, a, a1, b, toys):
    fgraph.import_node(toys.Named("k")(x).owner)


def damage_dead_leaf(fgraph, x, y, a, a1, b, toys):
    fgraph.import_var(toys.number.make_constant(3))


def damage_cycle(fgraph, x, y, a, a1, b, toys):
    fgraph.change_node_input(a.owner, 0, b)


def damage_constant_computed(fgraph, x, y, a, a1, b, toys):
    constant = b.owner.inputs[2]
    node = Apply(toys.Named("k"), [x], [constant])
    fgraph._nodes[node] = None
    fgraph.clients[x].append((node, 0))


def damage_op(fgraph, x, y, a, a1, b, toys):
    b.owner.op.nout = []


def damage_unequal_op(fgraph, x, y, a, a1, b, toys):
    class Odd(Op):
        def __eq__(self, other):
            return False

        def __hash__(self):
            return 0

    b.owner.op = Odd()


DAMAGES = {
    damage_input: r"Input 1 of g is z, which the graph does not know",
    damage_swap: r"is not at the place of its client",
    damage_output: r"Output 0 of the graph, z, is missing among the variables",
    damage_other_output: r"f\.0 has 2 uses, but 1 clients",
    damage_owner: r"Output 0 of g is .*, which says that it is output 0 of f",
    damage_index: r"Output 0 of f is .*, which says that it is output 1 of f",
    damage_clients_lost: r"y has 1 uses, but 0 clients",
    damage_clients_twice: r"A client of f\.0 is listed twice",
    damage_clients_stranger: r"A client of y, k, is not in the graph",
    damage_clients_place: r"y is not at the place of its client",
    damage_variable_forgotten: r"Output 1 of f is missing among the variables",
    damage_input_forgotten: r"y is a leaf, but neither an input, nor a constant, nor shared",
    damage_input_twice: r"Input 2 of the graph, x, is there twice",
    damage_input_computed: r"Input 2 of the graph, f\.0, is computed by f",
    damage_input_constant: r"Input 2 of the graph, Constant\{1\}, is a constant",
    damage_input_unknown: r"Input 2 of the graph, z, is missing among the variables",
    damage_node_forgotten: r"A client of x, f, is not in the graph",
    damage_dead_node: r"Nothing uses k, so it should not be there",
    damage_dead_leaf: r"Nothing uses Constant\{3\}, so it should not be there",
    damage_cycle: r"The graph depends on itself",
    damage_constant_computed: r"has a value of its own, yet k computes it",
    damage_op: r"cannot be compared and hashed",
    damage_unequal_op: r"does not equal itself",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_damage_is_found(simple, toys, damage):
    fgraph, x, y, a, a1, b = simple
    verify_graph(fgraph)
    damage(fgraph, x, y, a, a1, b, toys)
    with pytest.raises(IntegrityError, match=DAMAGES[damage]):
        verify_graph(fgraph)


def test_messages_name_the_line(simple, toys):
    fgraph, x, y, a, a1, b = simple
    damage_input(fgraph, x, y, a, a1, b, toys)
    with pytest.raises(IntegrityError, match="The node was made at") as caught:
        fgraph.check_integrity()
    assert __file__ in str(caught.value)


def test_types_that_make_node_would_not_give(toys):
    x = toys.number("x")
    wrong = Apply(toys.Named("f"), [x], [toys.other_number()])
    fgraph = FunctionGraph([x], wrong.outputs)
    verify_graph(fgraph)
    with pytest.raises(IntegrityError, match=r"outputs of types \[Kind\(name='number'\)\]"):
        verify_graph(fgraph, make_nodes=True)

    class Picky(Op):
        def make_node(self, x):
            raise TypeError("not that")

    fgraph = FunctionGraph([x], Apply(Picky(), [x], [toys.number()]).outputs)
    with pytest.raises(IntegrityError, match="refuses the inputs of its node: not that"):
        verify_graph(fgraph, make_nodes=True)
