"""The contract of Ops, for subclasses and for plain instances."""

import pytest

from phintys._base.errors import MethodNotDefinedError, OpContractError
from phintys.graph import Apply, Constant, Op


def test_an_op_made_of_a_plain_instance(toys):
    double = Op()
    double.name = "double"

    def make_node(x):
        return Apply(double, [x], [toys.number()])

    def perform(node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    double.make_node = make_node
    double.perform = perform
    x = toys.number("x")
    y = double(x, name="y")
    assert y.name == "y"
    assert str(y.owner) == "double(x)"
    assert run(y, {x: 4}) == 8
    assert Op() != Op()


def run(variable, values):
    """Compute one node by its thunk."""
    node = variable.owner
    storage = {v: [values.get(v)] for v in [*node.inputs, *node.outputs]}
    computed = {v: [v in values] for v in storage}
    thunk = node.op.make_thunk(node, storage, computed, [])
    thunk()
    assert computed[variable] == [True]
    return storage[variable][0]


def test_call_returns_what_the_contract_says(toys):
    x = toys.number("x")
    assert toys.Named("f")(x).index == 0
    assert [v.index for v in toys.Named("f", 2)(x)] == [0, 1]
    assert [v.index for v in toys.Named("f")(x, return_list=True)] == [0]
    assert toys.Named("f", 0)(x) == []
    assert toys.Named("f", 2)(x, name="first")[0].name == "first"
    hidden = toys.Named("f", 2)
    hidden.default_output = 1
    assert hidden(x, name="second").name == "second"
    assert hidden(x).index == 1
    assert [v.index for v in hidden(x, return_list=True)] == [1]


def test_a_list_that_call_returns_is_not_the_node_s_own(toys):
    op = toys.Named("f", 2)
    outputs = op(toys.number("x"))
    outputs.clear()
    single = toys.Named("f")(toys.number("x"), return_list=True)
    node = single[0].owner
    single.clear()
    assert node.nout == 1


def test_keywords_go_to_make_node(toys):
    class Scaled(Op):
        def make_node(self, x, by=1):
            return Apply(self, [x, Constant(toys.number, by)], [x.type()])

    assert Scaled()(toys.number("x"), by=3).owner.inputs[1].data == 3


def test_make_node_must_return_a_node(toys):
    class Wrong(Op):
        def make_node(self, x):
            return x

    with pytest.raises(OpContractError, match=r"Wrong\.make_node must return an Apply node, got x"):
        Wrong()(toys.number("x"))


def test_itypes_and_otypes(toys):
    class Add(Op):
        itypes = (toys.number, toys.number)
        otypes = (toys.number,)

    x = toys.number("x")
    y = Add()(x, 3)
    assert y.type == toys.number
    assert y.owner.inputs[1].data == 3
    with pytest.raises(OpContractError, match="Add takes 2 inputs, got 1"):
        Add()(x)
    with pytest.raises(TypeError, match="other number"):
        Add()(x, toys.other_number("z"))


def test_what_is_missing_is_named(toys):
    class Lame(Op):
        pass

    x = toys.number("x")
    with pytest.raises(MethodNotDefinedError, match="Lame has no make_node"):
        Lame()(x)
    node = Apply(Lame(), [x], [toys.number()])
    with pytest.raises(MethodNotDefinedError, match="Lame has no perform"):
        node.op.perform(node, [1], [[None]])
    with pytest.raises(MethodNotDefinedError, match="Lame does not define grad"):
        node.op.L_op(node.inputs, node.outputs, [x])
    with pytest.raises(MethodNotDefinedError, match="Lame does not define R_op"):
        node.op.R_op(node.inputs, [x])


class Scale(Op):
    __props__ = ("by", "axis")

    def __init__(self, by, axis=None):
        self.by = by
        self.axis = axis


def test_props_give_equality_hash_and_text():
    assert Scale(2) == Scale(2)
    assert Scale(2) != Scale(3)
    assert len({Scale(2), Scale(2), Scale(2, 1)}) == 2
    assert str(Scale(2)) == repr(Scale(2)) == "Scale{by=2, axis=None}"

    class Other(Scale):
        pass

    assert Other(2) != Scale(2)
    assert str(Other(2)) == "Other{by=2, axis=None}"

    class Bare(Op):
        __props__ = ()

    assert Bare() == Bare()
    assert str(Bare()) == "Bare"


def test_methods_of_one_s_own_go_before_those_from_props():
    class Own(Op):
        __props__ = ("a",)

        def __init__(self, a):
            self.a = a

        def __eq__(self, other):
            return type(self) is type(other) and self.a % 2 == other.a % 2

        def __hash__(self):
            return self.a % 2

        def __str__(self):
            return "mine"

    assert Own(1) == Own(3)
    assert hash(Own(1)) == hash(Own(3))
    assert str(Own(1)) == "mine"

    class Below(Own):
        __props__ = ("a", "b")

        def __init__(self, a, b):
            super().__init__(a)
            self.b = b

    assert Below(1, 2) != Below(1, 3)  # by its own parameters
    assert str(Below(1, 2)) == "mine"


def test_props_that_cannot_be():
    with pytest.raises(OpContractError, match=r"must be a tuple of attribute names, got 'axis'"):

        class Text(Op):
            __props__ = "axis"

    with pytest.raises(OpContractError, match="tuple of attribute names"):

        class Numbers(Op):
            __props__ = (1,)

    with pytest.raises(OpContractError, match="defines __eq__ without __hash__"):

        class Half(Op):  # noqa: PLW1641 - the point
            def __eq__(self, other):
                return True

    with pytest.raises(OpContractError, match=r"unhashable type: 'list', in Scale\(by=\[1\]"):
        hash(Scale([1]))


def test_thunks_keep_or_drop_what_is_in_the_cells(toys):
    seen = []

    class Spy(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type(), x.type()])

        def perform(self, node, inputs, output_storage):
            seen.append([cell[0] for cell in output_storage])
            for cell in output_storage:
                cell[0] = inputs[0]

    x = toys.number("x")
    node = Spy().make_node(x)
    first, second = node.outputs
    storage = {x: [7], first: ["old"], second: ["old, too"]}
    computed = {v: [False] for v in storage}
    thunk = node.op.make_thunk(node, storage, computed, [second])
    thunk()
    assert seen == [["old", None]]
    assert storage[first] == storage[second] == [7]
    assert computed[first] == computed[second] == [True]
    storage[x][0] = 8
    thunk()
    assert seen == [["old", None], [7, None]]
    assert storage[second] == [8]


def test_debug_perform_stands_in_while_debugging(toys):
    class Odd(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = "perform"

        def debug_perform(self, node, inputs, output_storage):
            output_storage[0][0] = "debug_perform"

    x = toys.number("x")
    node = Odd().make_node(x)
    storage = {x: [1], node.out: [None]}
    computed = {x: [True], node.out: [False]}
    for debug in (False, True):
        node.op.make_py_thunk(node, storage, computed, [], debug=debug)()
        assert storage[node.out] == ["debug_perform" if debug else "perform"]


def test_no_aliases_unless_said():
    assert dict(Op().view_map) == {}
    assert dict(Op().destroy_map) == {}
    with pytest.raises(TypeError):
        Op().view_map[0] = [0]  # it is every Op's
