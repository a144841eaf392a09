"""RowLoop: the loop over the rows of a Jacobian."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import RowLoop
from phintys.gradient import (
    DisconnectedInputError,
    Lop,
    grad,
    jacobian,
    verify_grad,
    verify_rop,
)
from phintys.graph import applys_between


def loss(x):
    """Return something that holds a Jacobian."""
    return (jacobian(pt.tanh(x) * x[0], x, vectorize=False) ** 2).sum(axis=0)


def test_it_can_be_differentiated():
    verify_grad(loss, [np.array([0.3, -0.7, 1.2])])


def test_it_has_an_r_operator():
    verify_rop(loss, [np.array([0.3, -0.7, 1.2])])


def test_twice():
    x = pt.dvector("x")
    second = jacobian(jacobian(x**3, x, vectorize=False), x, vectorize=False)
    at = np.array([1.0, 2.0])
    expected = np.zeros((2, 2, 2))
    for i in range(2):
        expected[i, i, i] = 6 * at[i]
    np.testing.assert_allclose(second.eval({x: at}), expected)


def test_gradient_of_the_gradient():
    verify_grad(lambda x: grad((loss(x) ** 2).sum(), x), [np.array([0.3, -0.7])], abs_tol=1e-4)


def test_its_gradient_without_rows():
    x = pt.dvector("x")
    gradient = grad(jacobian(x**2, x, vectorize=False).sum(), x)
    assert gradient.eval({x: np.zeros(0)}).shape == (0,)


def test_shape_inference():
    x = pt.dmatrix("x")
    rows = jacobian(x.sum(axis=1), x, vectorize=False)
    shapes = [(f"n{i}", f"m{i}") for i in range(len(rows.owner.inputs))]
    (shape,) = rows.owner.op.infer_shape(None, rows.owner, shapes)
    like = rows.owner.op.like[0] + 1  # the number of rows is input 0
    assert shape == (rows.owner.inputs[0], f"n{like}", f"m{like}")


def test_it_can_be_pickled():
    x = pt.dvector("x")
    f = jacobian(x**2, x, vectorize=False)
    assert f.eval({x: [1.0, 2.0]}).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    x2, f2 = pickle.loads(pickle.dumps((x, f)))
    assert f2.eval({x2: [1.0, 2.0]}).tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_random_weights_pull_back():
    x, g = pt.dvector("x"), pt.dmatrix("g")
    rows = jacobian(x**2, x, vectorize=False)
    product = Lop(rows, x, g)
    at, weights = np.array([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(product.eval({x: at, g: weights}), 2 * np.diag(weights))


def test_equal_loops_are_merged():
    x = pt.dvector("x")
    first, second = jacobian(pt.sin(x), x, vectorize=False), jacobian(pt.sin(x), x, vectorize=False)
    loop, other = first.owner.op, jacobian(pt.cumsum(x), x, vectorize=False).owner.op
    assert loop == second.owner.op
    assert hash(loop) == hash(second.owner.op)
    assert loop != other
    f = phintys.function([x], [first, second])
    nodes = f.maker.fgraph.apply_nodes
    assert sum(isinstance(node.op, RowLoop) for node in nodes) == 1


def test_a_copy():
    x = pt.dvector("x")
    loop = jacobian(x**2, x, vectorize=False).owner.op
    copy = loop.clone()
    assert copy == loop
    assert copy.index is not loop.index
    assert len(copy.fgraph.apply_nodes) == len(loop.fgraph.apply_nodes) > 0


def test_it_is_printed_with_its_inner_graph():
    x = pt.dvector("x")
    text = phintys.debugprint(jacobian(x**2, x, vectorize=False), file="str")
    assert "Inner graphs" in text
    assert "RowLoop" in text


def test_shared_variables():
    w = phintys.shared(np.array([1.0, 2.0]), name="w")
    f = phintys.function([], jacobian(w**2 * 3, w, vectorize=False))
    np.testing.assert_allclose(f(), np.diag([6.0, 12.0]))
    w.set_value(np.array([1.0]))
    np.testing.assert_allclose(f(), [[6.0]])


def test_an_error_inside_names_the_line():
    x, y = pt.dvectors("x", "y")
    rows = jacobian((x * y)[:2] * x[:2], x, vectorize=False)
    with pytest.raises(ValueError, match=r"shape|fit") as caught:
        rows.eval({x: np.ones(3), y: np.ones(4)})
    assert "test_row_loop.py" in "".join([str(caught.value), *caught.value.__notes__])


def test_what_the_rows_have_in_common_is_computed_once():
    x = pt.dvector("x")
    y = pt.exp(pt.sin(x))
    node = jacobian(y, x, vectorize=False).owner
    assert isinstance(node.op, RowLoop)
    assert y in node.inputs
    inside = applys_between(node.op.inner_inputs, node.op.inner_outputs)
    assert y.owner.op not in {inner.op for inner in inside}


def test_connections():
    x, y = pt.dvectors("x", "y")
    rows = jacobian(x**2 + y, x, vectorize=False)  # 2 x on the diagonal
    node = rows.owner
    connected = {
        variable
        for variable, (is_connected,) in zip(
            node.inputs, node.op.connection_pattern(node), strict=True
        )
        if is_connected
    }
    assert node.inputs[0] not in connected
    assert x in node.inputs  # for its shape
    assert x not in connected
    assert connected
    with pytest.raises(DisconnectedInputError):
        grad(rows.sum(), y)
    linear = jacobian(pt.cumsum(x), x, vectorize=False)
    with pytest.raises(DisconnectedInputError):
        grad(linear.sum(), x)
    assert grad(linear.sum(), x, disconnected_inputs="ignore").eval({x: [1.0, 2.0]}).tolist() == [
        0.0,
        0.0,
    ]
