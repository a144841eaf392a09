import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import DtypeError, InconsistencyError, OpContractError, ShapeError
from phintys.graph import Apply, Constant, FunctionGraph, Op, Type, generic
from phintys.graph.features import Feature
from phintys.graph.traversal import explicit_graph_inputs
from phintys.graph.verify import verify_graph
from phintys.passes import infer_shapes, rewrite_graph, shape_inference
from phintys.rewriting import RewriteTrace
from phintys.tensor.elemwise import elemwise
from phintys.tensor.scalar_bridge import MakeVector
from phintys.tensor.shapes import Shape, ShapeI, shape, shape_i
from phintys.tensor.type import TensorType

exp = elemwise(ps.exp)
x, y = pt.dmatrix("x"), pt.dmatrix("y")
v = pt.dvector("v")
n = pt.lscalar("n")
half = pt.tensor("half", dtype="float64", shape=(None, 3))


class Opaque(Op):
    """An Op of which nothing is known but the type of its output."""

    __props__ = ()

    def make_node(self, value):
        return Apply(self, [value], [value.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0].copy()


class Telling(Opaque):
    """An Op that answers what it is told to."""

    def __init__(self, answer):
        self.answer = answer

    __eq__, __hash__ = object.__eq__, object.__hash__

    def infer_shape(self, fgraph, node, shapes):
        return [self.answer(node, shapes)]


class Older(Opaque):
    def infer_shape(self, node, shapes):
        return [(shapes[0][0], shapes[0][1])]


class Ranked(Type):
    """No tensors, but things with a shape."""

    ndim = 2

    def filter(self, value, strict=False, allow_downcast=None):
        return value


def inferred(*outputs, trace=None, features=()):
    inputs = list(explicit_graph_inputs(outputs))
    fgraph = FunctionGraph(inputs, outputs, copy_inputs=False, features=features)
    shape_inference.apply(fgraph, trace)
    verify_graph(fgraph)
    return fgraph


def ops_of(fgraph):
    return [str(node.op) for node in fgraph.toposort()]


def test_a_size_is_worked_out_without_the_value():
    fgraph = inferred(shape_i(exp(exp(x)).T, 0))
    assert ops_of(fgraph) == ["Shape_i{1}"]
    assert fgraph.outputs[0].owner.inputs == [x]


def test_a_shape_becomes_a_vector_of_sizes():
    fgraph = inferred(shape(exp(x).T))
    assert ops_of(fgraph) == ["Shape_i{1}", "Shape_i{0}", "MakeVector{dtype=int64}"]


def test_the_shape_of_an_input_stays_one_node():
    assert ops_of(inferred(shape(x), shape_i(x, 1))) == ["Shape", "Shape_i{1}"]


def test_known_sizes_become_constants():
    fgraph = inferred(shape_i(exp(half), 0), ShapeI(1)(exp(half)), shape(pt.zeros((2, 3))))
    assert ops_of(fgraph) == ["Shape_i{0}", "MakeVector{dtype=int64}"]
    assert fgraph.outputs[1].data == 3
    assert [part.data for part in fgraph.outputs[2].owner.inputs] == [2, 3]


def test_a_known_size_of_an_input_becomes_a_constant():
    assert inferred(ShapeI(1)(half)).outputs[0].data == 3


def test_what_does_not_tell_stays_needed():
    op = Opaque()
    fgraph = inferred(shape_i(exp(op(exp(x))), 0))
    assert ops_of(fgraph) == ["Exp", "Opaque", "Shape_i{0}"]
    assert ops_of(inferred(shape(op(x)))) == ["Opaque", "Shape"]


def test_the_older_signature_works():
    assert ops_of(inferred(shape_i(Older()(exp(x)), 1))) == ["Shape_i{1}"]


def test_types_with_a_rank_and_no_static_shape():
    ranked = Ranked()
    a = ranked("a")
    op = Telling(lambda node, shapes: shapes[0])
    fgraph = inferred(ShapeI(1)(op(a)))
    assert ops_of(fgraph) == ["Shape_i{1}"]
    assert fgraph.outputs[0].owner.inputs == [a]


def test_inputs_without_a_shape_are_none():
    seen = []

    class Mixed(Op):
        def make_node(self, a, b):
            return Apply(self, [a, b], [generic(), b.type()])

        def infer_shape(self, fgraph, node, shapes):
            seen.append(shapes[0])
            return [None, shapes[1]]

    g = generic("g")
    assert ops_of(inferred(shape_i(Mixed()(g, exp(x))[1], 0))) == ["Shape_i{0}"]
    assert seen == [None]


def test_an_answer_may_be_none():
    op = Telling(lambda node, shapes: None)
    assert ops_of(inferred(shape_i(op(x), 0))) == [str(op), "Shape_i{0}"]


def test_an_answer_may_be_of_ints_and_other_integer_dtypes():
    op = Telling(lambda node, shapes: (3, pt.cast(shapes[0][0], "int8")))
    fgraph = inferred(shape(op(x)))
    first, second = fgraph.outputs[0].owner.inputs
    assert first.data == 3
    assert second.type.dtype == "int64"


def test_an_answer_may_ask_for_shapes_itself():
    op = Telling(lambda node, shapes: (shape(node.inputs[0])[1], node.inputs[0].shape[0] * 2))
    fgraph = inferred(shape_i(op(exp(exp(x))), 1))
    assert "Exp" not in ops_of(fgraph)


@pytest.mark.parametrize(
    "answer",
    [
        lambda node, shapes: (node.outputs[0].shape[0], shapes[0][1]),
        lambda node, shapes: (shape_i(node.outputs[0], 0) + 0, shapes[0][1]),
        lambda node, shapes: (ShapeI(0)(exp(node.outputs[0])), shapes[0][1]),
    ],
)
def test_an_answer_about_the_output_itself_tells_nothing(answer):
    fgraph = inferred(shape_i(Telling(answer)(exp(x)), 0), shape_i(Telling(answer)(exp(x)), 1))
    assert ops_of(fgraph)[-1].startswith("Shape_i")
    assert ops_of(fgraph).count("Exp") == 1  # the second size is told


# Wrong answers


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda node, shapes: shapes[0][:1], OpContractError, "a tuple of 2 sizes"),
        (lambda node, shapes: (-1, 2), OpContractError, "-1"),
        (
            lambda node, shapes: (2, 4),
            OpContractError,
            "returned 4 for a size that by its type is 3",
        ),
        (lambda node, shapes: (2.0, 3), DtypeError, "2.0"),
        (lambda node, shapes: (pt.dscalar("d"), 3), DtypeError, "float64"),
        (lambda node, shapes: (pt.lvector("l"), 3), ShapeError, "no dimensions"),
        (lambda node, shapes: ("two", 3), DtypeError, "two"),
    ],
)
def test_a_wrong_answer_names_op_and_line(answer, error, message):
    out = Telling(answer)(half)
    with pytest.raises(error) as caught:
        inferred(shape_i(out, 0))
    text = str(caught.value) + "\n".join(getattr(caught.value, "__notes__", ()))
    assert message in text
    assert "Telling" in text


def test_a_wrong_number_of_answers():
    class Two(Opaque):
        def infer_shape(self, fgraph, node, shapes):
            return [shapes[0], shapes[0]]

    with pytest.raises(OpContractError, match="one shape for each of its 1 outputs"):
        inferred(shape_i(Two()(x), 0))


# The pass


def test_values_stay(evaluate, random_value):
    z = exp(x).reshape((-1, 1)).T
    outputs = [
        shape(z),
        shape_i(pt.dot(x, y.T) if hasattr(pt, "dot") else z, 0),
        pt.sum(x * pt.ones_like(exp(x)), axis=0).shape[0] * shape_i(exp(half), 0),
        pt.alloc(v, shape_i(exp(x), 1), v.shape[0]).shape,
    ]
    fgraph = inferred(*outputs)
    values = {a: random_value(a, 0) for a in explicit_graph_inputs(outputs)}
    after = evaluate(fgraph.outputs, values)
    for old, new in zip(evaluate(outputs, values), after, strict=True):
        np.testing.assert_array_equal(old, new)
        assert old.dtype == new.dtype
    assert not any(op in ops_of(fgraph) for op in ("Exp", "Alloc", "Sum", "Dot"))


def test_nothing_happens_without_questions():
    trace = RewriteTrace()
    fgraph = inferred(exp(x), trace=trace)
    assert not trace.events
    assert not fgraph.features


def test_twice_is_once():
    fgraph = inferred(shape(exp(x).T), shape_i(Opaque()(x), 0))
    trace = RewriteTrace()
    shape_inference.apply(fgraph, trace)
    assert not trace.events


def test_the_trace_notes_what_became_of_a_question():
    trace = RewriteTrace()
    inferred(shape_i(exp(x), 0), trace=trace)
    (event,) = trace
    assert event.rule == "shape_inference"
    assert event.node.op == ShapeI(0)


def test_a_refused_answer_is_noted():
    class Never(Feature):
        def validate(self, fgraph):
            raise InconsistencyError("not today")

    trace = RewriteTrace()
    fgraph = inferred(shape_i(exp(x), 0), trace=trace, features=[Never()])
    assert ops_of(fgraph) == ["Exp", "Shape_i{0}"]
    assert [event.refused for event in trace] == ["not today"]


def test_new_nodes_have_lines_of_the_users_program():
    fgraph = inferred(shape(exp(x).reshape((-1, 2))))
    assert {node.origin.function for node in fgraph.apply_nodes} == {
        "test_new_nodes_have_lines_of_the_users_program"
    }


# Outside of a FunctionGraph


def test_infer_shapes():
    rows, columns = infer_shapes([exp(half)])[0]
    assert rows.owner.op == ShapeI(0)
    assert rows.owner.inputs == [half]
    assert isinstance(columns, Constant)
    assert columns.data == 3
    assert infer_shapes([generic("g"), n]) == [None, ()]
    assert infer_shapes([]) == []


def test_infer_shapes_leaves_the_graph():
    z = exp(x)
    (sizes,) = infer_shapes([exp(z)])
    assert [size.owner.inputs for size in sizes] == [[x], [x]]
    assert z.owner.inputs == [x]


def test_a_long_chain(repeats):
    z = v
    for _ in range(repeats(20_000, 100_000)):
        z = exp(z)
    assert ops_of(inferred(shape_i(z, 0))) == ["Shape_i{0}"]
    (sizes,) = infer_shapes([z])
    assert sizes[0].owner.inputs == [v]


def test_many_questions(repeats):
    outputs = []
    z = v
    for _ in range(repeats(10_000, 50_000)):
        z = exp(z)
        outputs.append(shape_i(z, 0))
    fgraph = inferred(*outputs)
    assert {type(node.op) for node in fgraph.apply_nodes} == {ShapeI}
    assert len(set(fgraph.outputs)) == 1


def test_vectors_are_made_only_of_what_is_simpler():
    fgraph = inferred(shape(exp(v)))
    (make, ask) = reversed(fgraph.toposort())
    assert isinstance(make.op, MakeVector)
    assert ask.op == ShapeI(0)
    assert isinstance(shape(v).owner.op, Shape)
    assert TensorType("int64", (1,)) == fgraph.outputs[0].type


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (lambda x, n: x[1:], "x.shape[0] - minimum(1, x.shape[0])"),
        (lambda x, n: x[:-1], "maximum(-1 + x.shape[0], 0)"),
        (lambda x, n: x[::-1], "x.shape[0]"),
        (lambda x, n: x[::2], "-(-x.shape[0] // 2)"),
        (lambda x, n: x[:3], "minimum(3, x.shape[0])"),
        (lambda x, n: x[-3:], "x.shape[0] - maximum(-3 + x.shape[0], 0)"),
        (lambda x, n: pt.alloc(x[0], pt.maximum(n, 0) * 2), "2 * maximum(n, 0)"),
    ],
)
def test_sizes_that_are_never_negative_are_not_bounded(build, wanted):
    x, n = pt.dvector("x"), pt.lscalar("n")
    assert phintys.pprint(rewrite_graph(build(x, n).shape[0])) == wanted
