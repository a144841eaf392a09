"""Apply: nodes, their copies, and what they refuse."""

import copy

import pytest

from phintys._base.errors import OpContractError, TypeContractError
from phintys.graph import Apply, Op, Variable


def test_a_node_owns_its_outputs(toys):
    x, y, z = (toys.number(name) for name in "xyz")
    op = toys.Named("f", 2)
    node = Apply(op, (x,), (y, z))
    assert node.inputs == [x]
    assert node.outputs == [y, z]
    assert [(v.owner, v.index) for v in node.outputs] == [(node, 0), (node, 1)]
    assert (node.nin, node.nout) == (1, 2)
    assert str(node) == "f(x)"
    assert node.get_parents() == [x]
    assert node.get_parents() is not node.inputs


def test_a_node_has_its_own_lists(toys):
    inputs, outputs = [toys.number("x")], [toys.number()]
    node = Apply(toys.Named("f"), inputs, outputs)
    inputs.clear()
    outputs.clear()
    assert node.nin == node.nout == 1


@pytest.mark.parametrize("thing", [1, None, "x", [1]])
def test_inputs_and_outputs_must_be_variables(toys, thing):
    op = toys.Named("f")
    with pytest.raises(OpContractError, match="all inputs must be Variables"):
        Apply(op, [thing], [toys.number()])
    with pytest.raises(OpContractError, match="all outputs must be Variables"):
        Apply(op, [], [thing])


def test_outputs_must_be_new(toys):
    x = toys.number("x")
    used = toys.Named("f")(x)
    with pytest.raises(OpContractError, match="already computed by f"):
        Apply(toys.Named("g"), [x], [used])
    with pytest.raises(OpContractError, match="each once"):
        Apply(toys.Named("g"), [x], [(y := toys.number()), y])
    with pytest.raises(OpContractError, match="both as an input and as an output"):
        Apply(toys.Named("g"), [x], [x])
    assert x.owner is None


def test_a_refused_node_leaves_no_trace(toys):
    x, fresh = toys.number("x"), toys.number("fresh")
    used = toys.Named("f")(x)
    for inputs, outputs in (([x], [fresh, used]), ([1], [fresh]), ([fresh], [fresh])):
        with pytest.raises(OpContractError):
            Apply(toys.Named("g"), inputs, outputs)
        assert fresh.owner is None
        assert fresh.index is None


def test_default_output(toys):
    x = toys.number("x")
    one = toys.Named("f").make_node(x)
    assert one.default_output() is one.out is one.outputs[0]
    two = toys.Named("f", 2).make_node(x)
    with pytest.raises(OpContractError, match=r"2 outputs and no default_output"):
        two.default_output()
    op = toys.Named("f", 2)
    op.default_output = 1
    assert op.make_node(x).out.index == 1
    assert op(x).index == 1
    op.default_output = 2
    with pytest.raises(OpContractError, match="default_output is 2, but it has 2 outputs"):
        op(x)
    op.default_output = [0, 1]
    with pytest.raises(OpContractError, match=r"default_output is \[0, 1\], but"):
        op(x)


def test_clone(toys):
    x, z = toys.number("x"), toys.number("z")
    node = toys.Named("f", 2).make_node(x)
    node.outputs[0].name = "y"
    node.tag.note = "kept"
    node.outputs[1].tag.note = "kept, too"
    twin = node.clone()
    assert twin.inputs == [x]
    assert twin.op is node.op
    assert [(v.owner, v.index, v.name, v.type) for v in twin.outputs] == [
        (twin, 0, "y", toys.number),
        (twin, 1, None, toys.number),
    ]
    assert twin.tag.note == "kept"
    assert twin.outputs[1].tag.note == "kept, too"
    twin.tag.note = "changed"
    assert node.tag.note == "kept"
    assert node.clone([z]).inputs == [z]
    assert copy.copy(node).inputs == [x]
    assert copy.copy(node).outputs[0] is not node.outputs[0]


def test_clone_with_new_inputs_of_equal_type_does_not_call_make_node(toys):
    x = toys.number("x")
    op = Op()
    node = Apply(op, [x], [toys.number()])  # op has no make_node
    z = toys.Kind("number")("z")
    assert node.clone_with_new_inputs([z]).inputs == [z]


def test_clone_with_new_inputs_of_another_type(toys):
    x = toys.number("x")
    y = toys.Named("f")(x, name="y")
    node = y.owner
    node.tag.note = "kept"
    with pytest.raises(TypeContractError, match="other number"):
        node.clone_with_new_inputs([toys.other_number("z")])
    twin = node.clone_with_new_inputs([toys.other_number("z")], strict=False)
    assert twin.out.type == toys.other_number
    assert twin.out.name == "y"
    assert twin.tag.note == "kept"
    assert twin.origin is node.origin


def test_clone_with_inputs_of_a_narrower_type_makes_the_types_anew(toys):
    wide, narrow = toys.Wide("w", 2), toys.Wide("w", 1)
    node = toys.Named("f").make_node(wide("x"))
    twin = node.clone_with_new_inputs([narrow("z")])
    assert twin.out.type == narrow


def test_clone_with_new_inputs_converts(toys):
    wide = toys.Wide("w", 1)
    node = toys.Named("f").make_node(wide("x"))
    z = toys.Kind("w-convertible")("z")
    twin = node.clone_with_new_inputs([z])
    assert str(twin.inputs[0].owner) == "convert(z)"
    assert twin.inputs[0].origin is node.origin


def test_clone_with_new_inputs_counts(toys):
    node = toys.Named("f").make_node(toys.number("x"))
    with pytest.raises(TypeContractError, match="applied to 1 inputs here, got 2"):
        node.clone_with_new_inputs([toys.number(), toys.number()])


def test_an_op_must_not_change_its_number_of_outputs(toys):
    class Odd(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type() for _ in range(1 + (x.type == toys.number))])

    node = Odd().make_node(toys.number("x"))
    with pytest.raises(OpContractError, match="gave 1 outputs for inputs of types"):
        node.clone_with_new_inputs([toys.other_number("y")], strict=False)


def test_tag_is_made_when_asked_for(toys):
    node = toys.Named("f").make_node(toys.number("x"))
    assert "_tag" not in vars(node)
    assert node.tag is node.tag
    variable = Variable(toys.number)
    assert "_tag" not in vars(variable)
    variable.tag.a = 1
    assert variable.tag.a == 1
