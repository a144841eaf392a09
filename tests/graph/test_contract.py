"""Calls of the optional methods of Ops: defaults, older signatures, wrong answers."""

import numpy as np
import pytest

from phintys._base.errors import MethodNotDefinedError, OpContractError, ShapeError
from phintys.graph import Apply, DisconnectedType, NullType, Op, Type, contract


class Tensorlike(Type):
    __props__ = ("dtype", "ndim")

    def __init__(self, dtype="float64", ndim=1):
        self.dtype = dtype
        self.ndim = ndim

    def filter(self, value, strict=False, allow_downcast=None):
        return value


vector = Tensorlike()
indices = Tensorlike("int64")


class Plain(Op):
    def make_node(self, *inputs):
        return Apply(self, inputs, [vector() for _ in range(2)])


def node_of(**methods):
    """Return a node with two inputs and two outputs, of an Op with some methods."""
    cls = type("Tested", (Plain,), methods)
    return cls().make_node(vector("x"), vector("y"))


def test_defines():
    on_class = node_of(grad=lambda self, inputs, grads: list(grads)).op
    assert contract.defines(on_class, "grad")
    assert not contract.defines(on_class, "L_op")
    assert not contract.defines(on_class, "connection_pattern")
    on_instance = Plain()
    assert not contract.defines(on_instance, "perform")
    on_instance.perform = lambda node, inputs, storage: None
    assert contract.defines(on_instance, "perform")
    assert contract.defines(on_instance, "make_node")

    class Op(Plain):  # an unlucky name
        def grad(self, inputs, grads):
            return list(grads)

    assert contract.defines(Op(), "grad")


@pytest.mark.parametrize(
    "method",
    [
        lambda self, fgraph, node: fgraph is None and len(node.inputs) == 2,
        lambda self, node: len(node.inputs) == 2,
        lambda self, *args: len(args) == 2,
    ],
)
def test_constant_folding_in_both_signatures(method):
    assert contract.do_constant_folding(None, node_of(do_constant_folding=method)) is True


def test_constant_folding_by_default_and_on_instances():
    node = node_of()
    assert contract.do_constant_folding(None, node) is True
    node.op.do_constant_folding = lambda node: []
    assert contract.do_constant_folding(None, node) is False


@pytest.mark.parametrize(
    "method",
    [
        lambda self, fgraph, node, shapes: [shapes[0], shapes[1]],
        lambda self, node, shapes: [list(shapes[0]), shapes[1]],
        lambda self, *args: args[-1],
        staticmethod(lambda node, shapes: shapes),
    ],
)
def test_infer_shape_in_both_signatures(method):
    node = node_of(infer_shape=method)
    assert contract.infer_shape(None, node, [(3,), (4,)]) == [(3,), (4,)]


def test_infer_shape_set_on_an_instance():
    node = node_of()
    with pytest.raises(MethodNotDefinedError, match="Tested does not define infer_shape"):
        contract.infer_shape(None, node, [(3,), (4,)])
    node.op.infer_shape = lambda node, shapes: shapes
    assert contract.infer_shape(None, node, [(3,), (4,)]) == [(3,), (4,)]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "one shape for each of its 2 outputs, got None"),
        ([(1,)], "one shape for each of its 2 outputs"),
        ([(1,), (1, 2)], "tuple of 1 sizes for output 1"),
        ([(1,), 1], "tuple of 1 sizes for output 1"),
    ],
)
def test_wrong_shapes(answer, message):
    node = node_of(infer_shape=lambda self, fgraph, node, shapes: answer)
    with pytest.raises(OpContractError, match=message):
        contract.infer_shape(None, node, [(3,), (4,)])


def test_unknown_shapes_pass():
    node = node_of(infer_shape=lambda self, fgraph, node, shapes: [None, (2,)])
    assert contract.infer_shape(None, node, [(3,), (4,)]) == [None, (2,)]


def test_shape_errors_tell_where_the_node_was_made():
    def infer_shape(self, fgraph, node, shapes):
        raise ShapeError("do not fit")

    node = node_of(infer_shape=infer_shape)
    with pytest.raises(ShapeError) as caught:
        contract.infer_shape(None, node, [(3,), (4,)])
    assert __file__ in caught.value.__notes__[0]


def test_connection_pattern():
    assert contract.connection_pattern(node_of()) == [[True, True], [True, True]]
    pattern = [[1, 0], (False, True)]
    node = node_of(connection_pattern=lambda self, node: pattern)
    assert contract.connection_pattern(node) == [[True, False], [False, True]]


@pytest.mark.parametrize("pattern", [None, [[True, True]], [[True], [True]], [True, True], "ab"])
def test_wrong_connection_patterns(pattern):
    node = node_of(connection_pattern=lambda self, node: pattern)
    with pytest.raises(OpContractError, match=r"2 lists .* of 2 bools"):
        contract.connection_pattern(node)


def test_gradients():
    grads = [vector("g"), vector("h")]
    node = node_of(grad=lambda self, inputs, output_grads: [output_grads[1], None])
    first, second = contract.input_gradients(node, grads)
    assert first is grads[1]
    assert isinstance(second.type, NullType)
    assert "returned None for input 1" in second.type.why_null

    def L_op(self, inputs, outputs, output_grads):
        return tuple(outputs)

    node = node_of(L_op=L_op, grad=lambda self, inputs, output_grads: 1 / 0)
    assert contract.input_gradients(node, grads) == node.outputs
    disconnected = DisconnectedType()()
    node = node_of(grad=lambda self, inputs, output_grads: [disconnected, output_grads[0]])
    assert contract.input_gradients(node, grads) == [disconnected, grads[0]]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (vector("g"), r"must return a list or tuple .* write `return \[gx\]`"),
        (3, "must return a list or tuple"),
        ([vector()], "returned 1 gradients for 2 inputs"),
        ([vector(), 1.0], r"must return Variables, got 1\.0 \(type float\) for input 1"),
        ([vector(), indices()], "gradient of integer type .* for input 1"),
        ([Tensorlike(np.dtype("uint8"))(), vector()], "integer type"),
        ([Tensorlike("bool")(), vector()], "integer type"),
    ],
)
@pytest.mark.parametrize("method", ["grad", "L_op"])
def test_wrong_gradients(answer, message, method):
    node = node_of(**{method: lambda self, *args: answer})
    with pytest.raises(OpContractError, match=rf"Tested\.{method} .*{message}|{message}") as caught:
        contract.input_gradients(node, [vector(), vector()])
    assert f"Tested.{method}" in str(caught.value)


def test_missing_gradients():
    with pytest.raises(MethodNotDefinedError, match="grad_undefined"):
        contract.input_gradients(node_of(), [vector(), vector()])


def test_push_forward():
    points = [vector("v"), None]
    node = node_of(R_op=lambda self, inputs, eval_points: list(eval_points))
    assert contract.push_forward(node, points) == points
    node = node_of(R_op=lambda self, inputs, eval_points: None)
    assert contract.push_forward(node, points) == [None, None]
    node = node_of(R_op=lambda self, inputs, eval_points: [DisconnectedType()(), eval_points[0]])
    assert contract.push_forward(node, points) == [None, points[0]]
    with pytest.raises(MethodNotDefinedError, match="does not define R_op"):
        contract.push_forward(node_of(), points)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (vector("g"), "must return a list with one entry"),
        ([vector()], "returned 1 results for 2 outputs"),
        ([vector(), 1.0], r"must return Variables, got 1\.0 for output 1"),
    ],
)
def test_wrong_push_forwards(answer, message):
    node = node_of(R_op=lambda self, inputs, eval_points: answer)
    with pytest.raises(OpContractError, match=message):
        contract.push_forward(node, [None, None])
