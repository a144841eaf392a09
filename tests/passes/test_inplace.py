"""The in-place pass: twins where they are possible, the same values, and near linear time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import RewriteError
from phintys.compile import In, Mode, function, get_mode, shared
from phintys.graph import Apply, FunctionGraph, Op
from phintys.graph.aliasing import DestroyHandler, destroy_orderings
from phintys.passes import PIPELINES, InPlace, inplace_everywhere, register_inplace
from phintys.rewriting import Pipeline, RewriteTrace
from phintys.testing.strategies import graphs
from tests.budget import budget

FULL = PIPELINES["full"].including("inplace_everywhere")
REFERENCE = Mode("reference", FULL, name="in place")
TWINS_ONLY = Mode("reference", FULL.requiring("inplace_everywhere"))


def overwriting(f):
    return [repr(node.op) for node in f.maker.fgraph.toposort() if node.op.destroy_map]


@budget(60)
@given(graphs(), st.booleans())
def test_values_stay_and_arguments_too(graph, borrow):
    f = function(graph.inputs, graph.outputs, REFERENCE, on_unused_input="ignore")
    before = [value.copy() for value in graph.values]
    with np.errstate(all="ignore"):
        for _ in range(2):
            results = f(*graph.values)
            for found, expected in zip(results, graph.expected, strict=True):
                np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)
    for value, old in zip(graph.values, before, strict=True):
        np.testing.assert_array_equal(value, old)


@pytest.mark.parametrize("mode", ["debug", "native"])
@budget(8)
@given(graphs())
def test_other_modes_agree(mode, graph):
    mode = get_mode(mode).including("inplace_everywhere")
    f = function(graph.inputs, graph.outputs, mode, on_unused_input="ignore")
    with np.errstate(all="ignore"):
        results = f(*graph.values)
    for found, expected in zip(results, graph.expected, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)


def test_only_what_is_needed_no_more_is_overwritten():
    x, y = pt.dvectors("x", "y")
    inner = x + y
    for outputs, count in [
        ([pt.exp(inner)], 1),
        ([pt.exp(inner), inner], 0),
        ([pt.exp(inner), pt.sin(inner)], 1),  # the second of the two
        ([pt.exp(inner), inner[::-1]], 0),  # a view that leaves
        ([pt.exp(pt.sin(pt.cos(inner)))], 3),
        ([pt.exp(x)], 0),
        ([inner * inner], 0),  # which reads it twice
        ([pt.exp(inner[1:])], 0),  # a view
    ]:
        f = function([x, y], outputs, TWINS_ONLY, on_unused_input="ignore")
        assert len(overwriting(f)) == count, outputs


def test_the_argument_itself_if_it_is_mutable():
    x = pt.dvector("x")
    f = function([In(x, mutable=True)], pt.exp(x) + 1, TWINS_ONLY)
    assert len(overwriting(f)) == 2
    value = np.array([0.0, 1.0])
    np.testing.assert_allclose(f(value), [2.0, np.e + 1])
    np.testing.assert_allclose(value, [2.0, np.e + 1])


def test_shared_values_are_not_overwritten():
    s = shared(np.zeros(3), name="s")
    f = function([], s[0], TWINS_ONLY, updates={s: pt.inc_subtensor(s[0], 1.0)})
    assert [f().tolist() for _ in range(3)] == [0.0, 1.0, 2.0]
    assert s.get_value().tolist() == [3.0, 0.0, 0.0]
    assert overwriting(f) == []


def test_a_chain_of_updates_copies_once():
    x = pt.dvector("x")
    y = x
    for position in range(5):
        y = pt.set_subtensor(y[position], float(position))
    f = function([x], y, TWINS_ONLY)
    assert len(overwriting(f)) == 4
    value = np.full(6, 9.0)
    assert f(value).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 9.0]
    assert value.tolist() == [9.0] * 6


def test_a_reader_moves_before_what_overwrites():
    x, y = pt.dvectors("x", "y")
    inner = x + y
    early = pt.exp(inner)
    late = inner * pt.sum(y)  # needs nothing of early
    f = function([x, y], [early, late], TWINS_ONLY)
    assert len(overwriting(f)) == 1
    f([1.0, 2.0], [3.0, 4.0])
    # The result of an overwriting node cannot be needed by somebody who reads the old value.
    g = function([x, y], inner * pt.sum(pt.exp(inner)), TWINS_ONLY)
    assert overwriting(g) == ["Mul{inplace 0->0}"]
    np.testing.assert_allclose(g([0.0], [0.0]), [0.0])


def test_smaller_operands_are_left_alone():
    x, y = pt.drow("x"), pt.dmatrix("y")
    f = function([x, y], (x + 1) * y, TWINS_ONLY)
    assert overwriting(f) == []
    f = function([x, y], (x + 1) * (y + 1), TWINS_ONLY)
    assert overwriting(f) == ["Mul{inplace 0->1}"]
    v = pt.ivector("v")
    assert overwriting(function([v], pt.true_div(v + v, 2), TWINS_ONLY)) == []


# ---- twins of users ------------------------------------------------------------------------------


class Halve(Op):
    __props__ = ("inplace",)

    def __init__(self, inplace=False):
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        x = inputs[0] if self.inplace else inputs[0].copy()
        x /= 2
        output_storage[0][0] = x


@pytest.fixture
def _registered(monkeypatch):
    monkeypatch.setattr("phintys.passes.inplace._TWINS", {})
    register_inplace(Halve(), Halve(inplace=True))


@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize("mode", ["native", "debug"])
def test_twins_of_users_are_put_in_by_default(mode):
    x = pt.dvector("x")
    f = function([x], Halve()(Halve()(x)), mode)
    assert [node.op for node in f.maker.fgraph.toposort()] == [Halve(), Halve(inplace=True)]
    value = np.array([4.0, 8.0])
    assert f(value).tolist() == [1.0, 2.0]
    assert value.tolist() == [4.0, 8.0]


@pytest.mark.usefixtures("_registered")
def test_a_class_and_a_function_of_twins():
    asked = []

    def twins(op, node):
        asked.append(node)
        return [] if len(asked) == 1 else [Halve(inplace=True)]

    register_inplace(Halve, twins)
    x = pt.dvector("x")
    f = function([x], Halve()(Halve()(x)), Mode("reference", FULL.requiring("inplace")))
    assert asked == []  # the Op itself is registered too, and that comes first
    assert len(overwriting(f)) == 1


def test_what_is_no_twin():
    with pytest.raises(RewriteError, match="no destroy_map"):
        register_inplace(Halve(), Halve())
    with pytest.raises(RewriteError, match="expected an Op"):
        register_inplace("halve", Halve(inplace=True))


def test_the_trace_tells():
    x = pt.dvector("x")
    trace = RewriteTrace()
    fgraph = FunctionGraph([x], [pt.exp(x + 1)])
    Pipeline([]).apply(fgraph, trace)
    inplace_everywhere.rewrite(fgraph, trace)
    assert trace.counts() == {"inplace": 1}


# ---- cost ----------------------------------------------------------------------------------------


def _chain(length):
    x = pt.dvector("x")
    y, sides = x, []
    for _ in range(length):
        y = pt.exp(y)
        sides.append(pt.sin(y))
        y = y + 1.0
    return FunctionGraph([x], [y, pt.add(*sides)], clone=False)


def test_the_order_is_right_on_long_chains_and_the_work_near_linear(monkeypatch):
    from phintys.graph.order import Ranks

    steps = [0]
    whole = Ranks._raise

    def counted(self, first, second, followers):
        def counting(node):
            steps[0] += 1
            return followers(node)

        return whole(self, first, second, counting)

    monkeypatch.setattr(Ranks, "_raise", counted)
    work = {}
    for length in (100, 1000):
        steps[0] = 0
        fgraph = _chain(length)
        inplace_everywhere.rewrite(fgraph)
        work[length] = steps[0]
        destroying = [node for node in fgraph.apply_nodes if node.op.destroy_map]
        assert len(destroying) >= length
        place = {node: number for number, node in enumerate(fgraph.toposort())}
        for node, earlier in destroy_orderings(fgraph).items():
            assert all(place[other] < place[node] for other in earlier)
    assert work[1000] <= 12 * work[100] + 1000


def test_nothing_is_done_where_nothing_has_a_twin(monkeypatch):
    monkeypatch.setattr("phintys.passes.inplace._TWINS", {})
    x = pt.dvector("x")
    fgraph = FunctionGraph([x], [pt.exp(x + 1)], [DestroyHandler()], clone=False)
    InPlace().rewrite(fgraph)
    assert [str(node.op) for node in fgraph.toposort()] == ["Add", "Exp"]
