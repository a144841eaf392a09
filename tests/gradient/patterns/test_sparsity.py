"""Patterns: exact for programs of known structure, supersets of Jacobians for random ones."""

import numpy as np
import pytest
from hypothesis import given

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, GradientError, ShapeError, TypeContractError
from phintys.gradient import (
    consider_constant,
    disconnected_grad,
    grad,
    jacobian,
    pattern_of,
    sparsity,
)
from phintys.gradient.patterns.rules import PATTERNS
from phintys.graph import Apply, Op
from phintys.testing.graphs import graphs
from tests.budget import budget

INDEX = np.array([3, 1, 1, 0])
BAND = np.tri(4) - np.tri(4, k=-2)

# Each is a function of arrays of these shapes whose pattern is that of its Jacobian at a point
# where nothing vanishes by chance.
STRUCTURAL = {
    "differences": (lambda x: x[1:] - x[:-1] ** 2, [(5,)]),
    "order": (lambda x: pt.exp(x).reshape((2, 3)).T.ravel()[::-1], [(6,)]),
    "broadcasting": (lambda x, y: x[:, None] * y + pt.exp(x)[:, None], [(3,), (4,)]),
    "sum and broadcasting": (lambda x: x.sum(0)[None] + x, [(3, 4)]),
    "repeated indices": (lambda x: x[INDEX] * 2, [(5,)]),
    "repeated increments": (lambda x: pt.inc_subtensor(x[INDEX], x[:4] ** 2), [(5,)]),
    "repeated assignments": (lambda x: pt.set_subtensor(x[INDEX], x[1:] ** 2), [(5,)]),
    "assigned slice": (lambda x: pt.set_subtensor(x[1:3], x[3:]), [(5,)]),
    "assigned number": (lambda x: pt.set_subtensor(x[1:3], x[0] ** 2), [(5,)]),
    "assigned mask": (lambda x: pt.set_subtensor(x[np.arange(5) > 2], 0.0), [(5,)]),
    "joined": (lambda x, y: pt.concatenate([x, y * x[0]])[2:], [(3,), (4,)]),
    "joined along the last axis": (lambda x, y: pt.concatenate([x, y], 1), [(2, 3), (2, 1)]),
    "stacked numbers": (lambda x: pt.stack([x[2], x[0] * x[1], 1.0]), [(3,)]),
    "split": (lambda x: pt.split(x, [1, 3], 2)[1] * 2, [(4,)]),
    "cumulative": (lambda x: pt.cumsum(x, axis=1), [(3, 4)]),
    "recurrence": (pt.LinearRecurrence(0), [(4,), (4,)]),
    "reversed recurrence": (pt.LinearRecurrence(0, True), [(4,), (4,)]),
    "product": (pt.dot, [(3, 4), (4, 2)]),
    "product of vectors": (pt.dot, [(3,), (3,)]),
    "sparse constant": (lambda x: pt.dot(BAND, x), [(4,)]),
    "sparse constant behind": (lambda x: pt.dot(x, BAND[:, :3]), [(2, 4)]),
    "stack of products": (pt.matmul, [(2, 3, 4), (2, 4, 2)]),
    "product for each of a stack": (pt.matmul, [(3, 4), (2, 4, 2)]),
    "softmax": (lambda x: pt.special.softmax(x, axis=1), [(3, 4)]),
    "convolution": (lambda x: pt.convolve(x, [1.0, 0.0, 2.0]), [(6,)]),
    "convolution of both": (pt.convolve, [(4,), (3,)]),
    "solution": (lambda x: pt.linalg.solve(x + 3 * np.eye(2), np.ones((2, 1))), [(3, 2, 2)]),
    "diagonals": (lambda x: pt.diag(x) + pt.diag(x[:-1] ** 2, 1), [(4,)]),
    "known choice": (lambda x: pt.where(np.arange(4) < 2, x, x[::-1]), [(4,)]),
    "known factor of 0": (lambda x: pt.exp(x) * np.array([1.0, 0.0, 2.0]), [(3,)]),
    "size as an index": (lambda x: x[x.shape[0] // 2] * x, [(5,)]),
    "number": (lambda x: x**2, [()]),
    "number of all": (lambda x: (x**2).sum(), [(3,)]),
    "all of a number": (lambda x: x * np.arange(1.0, 4.0), [()]),
    "nothing": (lambda x: x[:0] * 2, [(3,)]),
    "of nothing": (lambda x: pt.zeros(3) + x.sum(), [(0,)]),
    "arrays without elements": (pt.exp, [(0, 3)]),
    "constant": (lambda x: pt.zeros_like(x) + 1, [(3,)]),
    "whole numbers": (lambda x: x + pt.floor(x).astype("int64")[::-1], [(3,)]),
}


def at_random(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.2, 1, shape) for shape in shapes]


def dense_jacobians(y, variables, values):
    found = jacobian(y, variables, disconnected_inputs="ignore")
    f = phintys.function(variables, found, mode="reference", on_unused_input="ignore")
    size = int(np.prod(y.eval(dict(zip(variables, values, strict=True)), mode="reference").shape))
    return [np.reshape(value, (size, x.size)) for value, x in zip(f(*values), values, strict=True)]


@pytest.mark.parametrize("name", STRUCTURAL)
def test_a_pattern_is_that_of_the_jacobian(name):
    build, shapes = STRUCTURAL[name]
    variables = [pt.tensor(f"x{n}", shape=shape) for n, shape in enumerate(shapes)]
    y = build(*variables)
    for found, exact in zip(
        sparsity(y, variables),
        dense_jacobians(y, variables, at_random(shapes)),
        strict=True,
    ):
        np.testing.assert_array_equal(found.toarray(), exact != 0)


@budget(20)
@given(graphs(dtypes=("float64",), max_steps=6, max_outputs=1))
def test_a_pattern_contains_the_jacobian_of_a_random_graph(graph):
    (y,) = graph.outputs
    if y.type.numpy_dtype.kind != "f":
        return
    sizes = {x: value.shape for x, value in zip(graph.inputs, graph.values, strict=True)}
    try:
        patterns = sparsity(y, graph.inputs, sizes=sizes)
    except ShapeError:
        assert None in y.type.shape  # a loop that ends by a condition
        return
    f = phintys.function(graph.inputs, y, mode="reference", on_unused_input="ignore")
    before = f(*graph.values)
    for number, x in enumerate(graph.values):
        for place in range(x.size):
            moved = x.copy()
            moved.flat[place] += 1e-5
            after = f(*graph.values[:number], moved, *graph.values[number + 1 :])
            found = patterns[number][:, [place]].toarray().ravel()
            changed = ~np.isclose(after, before, rtol=1e-9, atol=1e-12, equal_nan=True).ravel()
            assert not np.any(changed & ~found)


# ---- what is known -------------------------------------------------------------------------------


def test_sizes_are_stated_by_types_or_by_the_call():
    x = pt.dvector("x")
    y = x[1:] * x[:-1]
    assert sparsity(y, x, sizes={x: 4}).shape == sparsity(y, x, sizes={x: (4,)}).shape == (3, 4)
    with pytest.raises(ShapeError, match=r"needs to know all sizes.*sizes=\{x: \(100,\)\}"):
        sparsity(y, x)


def test_sizes_of_other_inputs_count():
    x, b = pt.dvector("x"), pt.dmatrix("b")
    y = pt.concatenate([b.ravel(), x])
    assert sparsity(y, x, sizes={x: 2, b: (1, 3)}).toarray().nonzero()[0].tolist() == [3, 4]


def test_an_index_that_is_given_is_a_constant():
    x, i = pt.dvector("x"), pt.lvector("i")
    known = sparsity(x[i], x, sizes={x: 3}, givens={i: [2, 0]})
    np.testing.assert_array_equal(known.toarray(), [[0, 0, 1], [1, 0, 0]])
    unknown = sparsity(x[i], x, sizes={x: 3, i: 2})
    assert unknown.toarray().all()


def test_a_variable_is_not_both_given_and_differentiated():
    x = pt.dvector("x")
    with pytest.raises(ArgumentError, match="cannot be among the givens"):
        sparsity(x**2, x, givens={x: [1.0]})


def test_intermediate_variables_have_patterns_too():
    x = pt.tensor("x", shape=(3,))
    middle = x[::-1] ** 2
    of_x, of_middle = sparsity(middle[1:] * x[1:], [x, middle])
    np.testing.assert_array_equal(of_x.toarray(), [[0, 1, 0], [1, 0, 1]])
    np.testing.assert_array_equal(of_middle.toarray(), [[0, 1, 0], [0, 0, 1]])


def test_results_have_the_form_of_the_arguments():
    x, y = pt.tensor("x", shape=(2,)), pt.tensor("y", shape=(3,))
    found = sparsity({"a": x * 2, "b": y.sum()}, (x, y))
    assert {key: [one.shape for one in row] for key, row in found.items()} == {
        "a": [(2, 2), (2, 3)],
        "b": [(1, 2), (1, 3)],
    }
    assert found["a"][1].nnz == 0


@pytest.mark.parametrize("mark", [consider_constant, disconnected_grad])
def test_nothing_depends_on_what_gradients_do_not_flow_through(mark):
    x = pt.tensor("x", shape=(2,))
    assert sparsity(mark(x[::-1]) * x, x).toarray().tolist() == [[True, False], [False, True]]


def test_a_pattern_of_a_gradient_is_that_of_the_hessian():
    x = pt.tensor("x", shape=(4,))
    cost = (x[1:] * x[:-1]).sum() + x[0] ** 2
    found = sparsity(grad(cost, x), x)
    np.testing.assert_array_equal(
        found.toarray(), [[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    )


# ---- Ops of users --------------------------------------------------------------------------------


class Reversed(Op):
    """Reverse a vector, and return the shape of another one."""

    __props__ = ()

    def make_node(self, x, y):
        x, y = pt.as_tensor_variable(x), pt.as_tensor_variable(y)
        return Apply(self, [x, y], [x.type(), y.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0][::-1].copy()
        output_storage[1][0] = inputs[1].copy()

    def infer_shape(self, fgraph, node, shapes):
        return shapes

    def connection_pattern(self, node):
        return [[True, False], [False, True]]


def test_an_op_without_a_rule_is_dense_along_its_connections():
    x, y = pt.tensor("x", shape=(2,)), pt.tensor("y", shape=(3,))
    with pytest.warns(UserWarning, match="No rule says which elements.*Reversed"):
        found = sparsity(list(Reversed()(x, y)), [x, y])
    assert [[one.nnz for one in row] for row in found] == [[4, 0], [0, 9]]
    with pytest.raises(GradientError, match="No rule says"):
        sparsity(Reversed()(x, y)[0], x, ops_without_rule="raise")


def test_users_register_rules():
    class Mirrored(Reversed):
        pass

    @pattern_of(Mirrored)
    def pattern_of_mirrored(step):
        x, y = step.sets
        return [x[::-1], y]

    x, y = pt.tensor("x", shape=(2,)), pt.tensor("y", shape=(3,))
    found = sparsity(Mirrored()(x, y)[0], x, ops_without_rule="raise")
    np.testing.assert_array_equal(found.toarray(), [[0, 1], [1, 0]])


def test_only_tensors_have_patterns():
    x = pt.tensor("x", shape=(2,))
    with pytest.raises(TypeContractError, match="must be a symbolic variable"):
        sparsity(x * 2, 3.0)
    with pytest.raises(GradientError, match="ops_without_rule must be"):
        sparsity(x * 2, x, ops_without_rule="guess")


def test_every_rule_of_the_index_is_registered():
    assert len(PATTERNS.load()) >= 40


# ---- cost ----------------------------------------------------------------------------------------


def test_a_pattern_of_a_long_chain_has_only_its_elements():
    n = 100_000
    x = pt.tensor("x", shape=(n,))
    found = sparsity(pt.exp(x[:-2]) * x[1:-1] - x[2:] ** 2, x)
    assert found.nnz == 3 * (n - 2)
    assert found.indices.nbytes + found.indptr.nbytes < 5_000_000
