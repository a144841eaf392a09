"""Graphs and functions for batches, against a loop over the items."""

import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, OpContractError, PhintysError, ShapeError
from phintys.control import Scan, cond, while_loop
from phintys.gradient import custom_gradient
from phintys.graph import Apply, Op
from phintys.graph.traversal import applys_between
from phintys.tensor.batching import BATCHING, Blockwise, batches, vectorize_graph
from phintys.testing.graphs import graphs
from phintys.testing.random_loops import random_loops

RNG = np.random.default_rng(0)


def ops_of(outputs):
    return {type(node.op) for node in applys_between([], outputs)}


def check(build, *batched, modes=("reference", None), gradient=True):
    """Compare a graph, its batch and their gradients, by a loop over the items."""
    items = [pt.tensor(dtype=x.dtype, shape=(None,) * (x.ndim - 1)) for x in batched]
    whole = [pt.tensor(dtype=x.dtype, shape=(None,) * x.ndim) for x in batched]
    y = build(*items)
    ys = vectorize_graph(y, dict(zip(items, whole, strict=True)))

    def outputs(variables, result):
        wrt = [x for x in variables if x.dtype.startswith("float")]
        return [result, *phintys.grad((result**2).sum(), wrt)] if gradient else [result]

    one = phintys.function(items, outputs(items, y), mode="reference")
    results = [one(*row) for row in zip(*batched, strict=True)]
    expected = [np.stack(rows) for rows in zip(*results, strict=True)]
    for mode in modes:
        found = phintys.function(whole, outputs(whole, ys), mode=mode)(*batched)
        for value, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, wanted, 1e-10, 1e-12)
    return ys


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(graphs(dtypes=("float64", "int64", "bool")))
def test_a_drawn_graph_for_a_batch(graph):
    inputs = [x for x in graph.inputs if x.type.shape is not None]
    values = dict(zip(graph.inputs, graph.values, strict=True))
    replace = {x: x.type.clone(shape=(None, *x.type.shape))() for x in inputs}
    lanes = [
        values,
        {x: np.flip(value).reshape(value.shape) for x, value in values.items()},
    ]
    one = phintys.function(graph.inputs, graph.outputs, "reference", on_unused_input="ignore")
    with np.errstate(all="ignore"):
        expected = [one(*(lane[x] for x in graph.inputs)) for lane in lanes]
        batched = vectorize_graph(graph.outputs, replace)
        f = phintys.function(list(replace.values()), batched, "reference", on_unused_input="ignore")
        found = f(*(np.stack([lane[x] for lane in lanes]) for x in inputs))
    for value, old, *wanted in zip(found, graph.outputs, *expected, strict=True):
        whole = value if value.ndim > old.ndim else np.stack([value, value])
        np.testing.assert_allclose(whole, np.stack(wanted), 1e-7, 1e-7)


# ---- rules -------------------------------------------------------------------------------------


def test_all_modules_define_the_rules_that_the_table_names():
    assert {Op, Scan, pt.Elemwise} <= set(BATCHING.load())


def test_an_operand_that_is_the_same_for_all_items_makes_one_large_product():
    x, w = pt.dvector("x"), pt.dmatrix("w")
    for product in (w @ x, x @ w):
        xs = pt.dmatrix("xs")
        assert pt.BatchedDot not in ops_of([vectorize_graph(product, {x: xs})])


def test_batches_broadcast_against_each_other():
    x, y = pt.dvectors("x", "y")
    a, b = pt.tensor("a", shape=(4, 1, None)), pt.tensor("b", shape=(3, None))
    product = vectorize_graph(x @ y, {x: a, y: b})
    assert product.type.shape == (4, 3)
    values = RNG.normal(size=(4, 1, 2)), RNG.normal(size=(3, 2))
    np.testing.assert_allclose(
        product.eval(dict(zip((a, b), values, strict=True))), (values[0] * values[1]).sum(-1)
    )


def test_shapes_are_the_same_for_all_items():
    x, xs = pt.dvector("x"), pt.dmatrix("xs")
    size = vectorize_graph(x.shape[0] * 2, {x: xs})
    assert size.ndim == 0
    assert size.eval({xs: np.zeros((3, 5))}) == 10


def test_an_empty_batch():
    x, xs = pt.dmatrix("x"), pt.dtensor3("xs")
    outputs = [x.reshape((-1, 2)), x.T @ x, pt.sort(x.flatten()), pt.concatenate([x, x])]
    found = phintys.function([xs], vectorize_graph(outputs, {x: xs}))(np.zeros((0, 4, 3)))
    assert [y.shape for y in found] == [(0, 6, 2), (0, 3, 3), (0, 12), (0, 8, 3)]


def test_an_index_for_each_item():
    x = RNG.normal(size=(3, 4, 5))
    i, j = np.array([3, 0, 2]), np.array([[0, 1], [2, 2], [4, -1]])
    check(lambda x, i: x[1:, i], x, i)
    check(lambda x, i, j: x[i, j], x, i, j)
    check(lambda x, j: x[:, j, None], x, j)
    check(lambda x, i, j: pt.set_subtensor(x[i, j], 2.0), x, i, j)
    check(lambda x, j: pt.inc_subtensor(x[::2, j], x[1:3, :2]), x, j)


def test_slices_at_places_of_their_own_are_gathered():
    x, i = RNG.normal(size=(3, 6)), np.array([3, 0, 2])
    ys = check(lambda x, i: x[i : i + 2], x, i)
    assert Blockwise not in ops_of([ys])
    y = RNG.normal(size=(3, 4, 6, 2))
    check(lambda y, i: y[-1:, i : i + 3, i // 3], y, i)
    check(lambda y, i: y[:, i + 2 : i : -1, [0, 1, 1]], y, i)
    check(lambda y, i: y[i - 4 : i : 3, :, 1], y[:, :, :3], np.array([3, 2, 1]))
    check(lambda x, i: pt.set_subtensor(x[i : i + 2], x[:2]), x, i)
    check(lambda x, i: x[i - 9 : 2], x, i)
    xs, js = pt.dmatrix("xs"), pt.lvector("js")
    one, j = pt.dvector("one"), pt.lscalar("j")
    f = phintys.function([xs, js], pt.vectorize_graph(one[j:], {one: xs, j: js}))
    assert f(x, [4, -2, 4]).shape == (3, 2)
    assert f(np.zeros((0, 6)), np.zeros(0, int)).shape == (0, 0)
    with pytest.raises(ShapeError, match="one shape"):
        f(x, [4, 3, 4])


# ---- control flow ------------------------------------------------------------------------------


def test_loops_run_all_items_together():
    x, h = RNG.normal(size=(3, 4)), RNG.normal(size=3)

    def build(x, h):
        states, _ = phintys.scan(lambda row, state: pt.tanh(row + h * state), x, pt.constant(0.0))
        return states

    ys = check(build, x, h)
    assert Blockwise not in ops_of([ys])


def test_a_loop_runs_until_the_last_item_ends():
    a, b = np.array([48, 17, 0, 12]), np.array([36, 5, 3, 0])
    check(
        lambda a, b: while_loop(lambda p: p[1] > 0, lambda p: (p[1], p[0] % p[1]), (a, b))[0],
        a,
        b,
        gradient=False,
    )

    def root(x):
        return while_loop(lambda y: abs(y**2 - x) > 1e-9, lambda y: (y + x / y) / 2, x)

    check(root, np.array([2.0, 9.0, 1e4]))


@pytest.mark.parametrize("seed", range(8))
def test_a_drawn_program_of_loops_for_a_batch(seed):
    inputs, outputs, values = random_loops(Random(seed))
    pairs = list(zip(inputs, values, strict=True))
    counts = [x for x in inputs if x.type.ndim == 0 and x.type.dtype == "int64"]
    batched = [x for x in inputs if x not in counts]
    replace = {x: x.type.clone(shape=(None, *x.type.shape))() for x in batched}
    lanes = [
        [v if x in counts else np.flip(v) if flipped else v for x, v in pairs]
        for flipped in (False, True)
    ]
    one = phintys.function(inputs, outputs, "reference", on_unused_input="ignore")
    found = vectorize_graph(outputs, replace)
    whole = [replace.get(x, x) for x in inputs]
    f = phintys.function(whole, found, "reference", on_unused_input="ignore")
    stacked = [
        lane[0] if x in counts else np.stack(lane)
        for x, lane in zip(inputs, zip(*lanes, strict=True), strict=True)
    ]
    with np.errstate(all="ignore"):
        try:
            expected = [one(*lane) for lane in lanes]
        except PhintysError as error:  # a negative number of steps, or too few rows
            with pytest.raises(type(error)):
                f(*stacked)
            return
        results = f(*stacked)
    for value, old, *wanted in zip(results, outputs, *expected, strict=True):
        rows = value if value.ndim > old.ndim else np.stack([value, value])
        for row, item in zip(rows, wanted, strict=True):
            # Rows beyond those of an item whose loop has ended are not those of the item.
            own = row[tuple(map(slice, item.shape))]
            np.testing.assert_allclose(own, item, 1e-4, 1e-5)


def test_items_that_have_ended_have_no_part_in_gradients():
    def iterated(x):
        return while_loop(lambda y: y > 1.0, lambda y: pt.sqrt(y - 1.0), x)

    check(iterated, np.array([1.5, 0.5, 100.0, 1.0]))


def test_a_condition_for_each_item_chooses_item_by_item():
    x, h = RNG.normal(size=(3, 4)), np.array([1.0, -1.0, 2.0])
    check(lambda x, h: cond(h > 0, lambda x: x * h, lambda x: x[::-1], x), x, h)


def test_ops_made_of_graphs_keep_their_derivatives():
    u = pt.dvector("u")
    op = phintys.OpFromGraph(
        [u], [u**2], lop_overrides=lambda inputs, outputs, grads: [7 * grads[0]]
    )
    x, xs = pt.dvector("x"), pt.dmatrix("xs")
    ys = vectorize_graph(op(x), {x: xs})
    slope = phintys.function([xs], phintys.grad(ys.sum(), xs))
    assert slope(np.ones((2, 3))).tolist() == [[7.0] * 3] * 2

    @custom_gradient
    def clipped(x):
        return x**3, lambda g: pt.clip(g * 3 * x**2, -1, 1)

    ys = vectorize_graph(clipped(x), {x: xs})
    slope = phintys.function([xs], phintys.grad(ys.sum(), xs))
    assert slope([[0.1, 9.0]]).round(6).tolist() == [[0.03, 1.0]]


# ---- Blockwise ---------------------------------------------------------------------------------


class Scaled(Op):
    """``x / max(abs(x))``, for vectors."""

    __props__ = ()
    gufunc_signature = "(n),()->(n)"

    def make_node(self, x, by):
        x, by = pt.as_tensor_variable(x), pt.as_tensor_variable(by)
        assert (x.ndim, by.ndim) == (1, 0)
        return Apply(self, [x, by], [x.type()])

    def perform(self, node, inputs, output_storage):
        x, by = inputs
        output_storage[0][0] = x * by

    def grad(self, inputs, output_grads):
        x, by = inputs
        (g,) = output_grads
        return [g * by, (g * x).sum()]

    def R_op(self, inputs, eval_points):
        x, by = inputs
        dx, dby = eval_points
        terms = [dx * by] if dx is not None else []
        return [sum(terms + ([x * dby] if dby is not None else []))]


def test_an_op_of_a_user_with_a_signature_has_batches():
    x, by = RNG.normal(size=(4, 3)), RNG.normal(size=4)
    ys = check(Scaled(), x, by, modes=("reference", None, "debug"))
    assert str(ys.owner.op) == "Blockwise{Scaled, (n),()->(n)}"
    again = pickle.loads(pickle.dumps(ys.owner.op))
    assert again == ys.owner.op
    assert hash(again) == hash(ys.owner.op)
    assert Blockwise(Scaled()) == Blockwise(Scaled(), "(n),()->(n)")


def test_blockwise_broadcasts_and_sums_the_gradients():
    op = Blockwise(Scaled())
    x, by = pt.tensor("x", shape=(4, 1, None)), pt.tensor("by", shape=(3,))
    y = op(x, by)
    assert y.type.shape == (4, 3, None)
    f = phintys.function([x, by], [y, y.shape, *phintys.grad((y**2).sum(), [x, by])])
    values = RNG.normal(size=(4, 1, 2)), RNG.normal(size=3)
    found, shape, of_x, of_by = f(*values)
    a, b = values[0], values[1][:, None]
    np.testing.assert_allclose(found, a * b)
    assert shape.tolist() == [4, 3, 2]
    np.testing.assert_allclose(of_x, 2 * a * (b**2).sum())
    np.testing.assert_allclose(of_by, (2 * b[:, 0] * (a**2).sum()))
    v = pt.tensor("v", shape=(4, 1, None))
    along = phintys.function([x, by, v], phintys.Rop(y, x, v))
    np.testing.assert_allclose(along(*values, np.ones((4, 1, 2))), np.ones((4, 3, 2)) * b)


def test_blockwise_of_an_op_with_native_code_calls_no_python():
    x = pt.dtensor3("x")
    f = phintys.function([x], Blockwise(pt.Dot(), "(m,n),(n,k)->(m,k)")(x, x))
    value = RNG.normal(size=(2, 3, 3))
    np.testing.assert_allclose(f(value), value @ value)
    assert "callback" not in str(f.explain())


def test_running_extremes_of_items_are_those_along_a_later_axis():
    ys = check(lambda x: pt.cummax(x, 1), RNG.normal(size=(2, 3, 4)))
    x = pt.dtensor3("x")
    blockwise = Blockwise(pt.RunningArgExtreme(0, "min"), "(n)->(n)")(x)
    f = phintys.function([x], blockwise)
    assert Blockwise not in ops_of([ys]) | ops_of(f.maker.fgraph.outputs)
    assert "callback" not in str(f.explain())
    np.testing.assert_array_equal(f([[[2.0, 1.0, 3.0, 0.0]]]), [[[0, 1, 1, 3]]])


def test_items_of_different_shapes():
    x, xs = pt.dvector("x"), pt.dmatrix("xs")
    ys = vectorize_graph(x[x > 0], {x: xs})
    assert ys.eval({xs: [[1.0, -1.0], [-2.0, 2.0]]}).tolist() == [[1.0], [2.0]]
    for mode in ("reference", None):
        f = phintys.function([xs], ys, mode=mode)
        with pytest.raises(ShapeError):
            f([[1.0, -1.0], [2.0, 2.0]])


def test_a_rule_of_a_user():
    class Twice(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

    @batches(Twice)
    def twice(node, batch):
        return [batch.inputs[0] * 2]

    x, xs = pt.dvector("x"), pt.dmatrix("xs")
    assert vectorize_graph(Twice()(x), {x: xs}).eval({xs: [[1.0]]}).tolist() == [[2.0]]
    batches(Twice)(lambda node, batch: [batch.inputs[0].sum()])
    with pytest.raises(OpContractError, match="batching rule of Twice"):
        vectorize_graph(Twice()(x), {x: xs})


# ---- vectorize ---------------------------------------------------------------------------------


def test_functions_of_trees():
    def loss(params, x):
        hidden = pt.tanh(params["in"] @ x)
        return {"cost": params["out"][0] * hidden.sum(), "parts": (hidden, [x.sum()])}

    weights, factors, x = pt.dtensor3("weights"), pt.dvector("factors"), pt.dvector("x")
    signature = "(m,n),(),(n)->(),(m),()"
    found = pt.vectorize(loss, signature)({"in": weights, "out": [factors]}, x)
    slopes = phintys.grad(found["cost"].sum(), {"in": weights})
    f = phintys.function([weights, factors, x], [found, slopes])
    rng = np.random.default_rng(3)
    w, a, v = rng.normal(size=(4, 3, 2)), rng.normal(size=4), rng.normal(size=2)
    result, slope = f(w, a, v)
    hidden = np.tanh(w @ v)
    np.testing.assert_allclose(result["cost"], a * hidden.sum(axis=1))
    np.testing.assert_allclose(result["parts"][0], hidden)
    np.testing.assert_allclose(result["parts"][1][0], np.full(4, v.sum()))
    np.testing.assert_allclose(slope["in"], (a[:, None] * (1 - hidden**2))[..., None] * v)
    with pytest.raises(ArgumentError, match="2 arguments by its signature"):
        pt.vectorize(loss, "(m,n),(n)->(),(m),()")({"in": weights, "out": [factors]}, x)


def test_vectorize_as_numpy_does():
    def function(x, a):
        return x.sum() * a, x * a

    x, a = RNG.normal(size=(2, 1, 3)), RNG.normal(size=4)
    total, product = pt.vectorize(function, "(n),()->(),(n)")(pt.constant(x), a)
    np.testing.assert_allclose(total.eval(), x.sum(-1) * a)
    np.testing.assert_allclose(product.eval(), x * a[:, None])
    numbers = pt.vectorize(lambda x: pt.switch(x > 0, x, 0.0))(pt.constant(x))
    np.testing.assert_allclose(numbers.eval(), np.maximum(x, 0))


def test_a_result_that_no_argument_changes_is_repeated():
    x = pt.dmatrix("x")
    (one, two) = pt.vectorize(lambda x: [pt.constant(1.0), x.shape[0]], "(n)->(),()")(x)
    assert one.eval({x: np.zeros((2, 3))}).tolist() == [1.0, 1.0]
    assert two.eval({x: np.zeros((2, 3))}).tolist() == [3, 3]


@pytest.mark.parametrize("text", ["", "n->n", "(n)", "(n,)->()", "(n)->", "(n-1)->()", 3])
def test_wrong_signatures(text):
    with pytest.raises(ArgumentError, match="string such as"):
        Blockwise(pt.Dot(), text)
