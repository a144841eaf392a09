"""Features of older packages."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import InconsistencyError
from phintys.compat.features import (
    Bookkeeper,
    DestroyHandler,
    History,
    NodeFinder,
    PreserveVariableAttributes,
    ReplaceValidate,
    Validator,
)
from phintys.graph import Feature, FunctionGraph, ancestors
from tests.graph.conftest import Aliasing, Named, dags, number


@pytest.fixture
def simple():
    """out = h(f(x), g(f(x), y)), not copied."""
    x, y = number("x"), number("y")
    a = Named("f")(x, name="a")
    b = Named("g")(a, y, name="b")
    out = Named("h")(a, b, name="out")
    return FunctionGraph([x, y], [out], clone=False), x, y, a, b, out


def snapshot(fgraph):
    return (
        list(fgraph.inputs),
        list(fgraph.outputs),
        {node: list(node.inputs) for node in fgraph.apply_nodes},
        fgraph.toposort(),
    )


def test_a_bookkeeper_imports_and_prunes_all(simple):
    fgraph, x, _y, _a, b, _out = simple

    class Books(Bookkeeper):
        def __init__(self):
            self.nodes = []

        def on_import(self, fgraph, node, reason):
            self.nodes.append(str(node.op))

        def on_prune(self, fgraph, node, reason):
            self.nodes.remove(str(node.op))

    books = Books()
    fgraph.attach_feature(books)
    assert books.nodes == ["f", "g", "h"]
    fgraph.replace(b, x)
    assert books.nodes == ["f", "h"]
    fgraph.remove_feature(books)
    assert books.nodes == []


@pytest.mark.parametrize("early", [True, False])
def test_nodes_are_found_by_op(early):
    x = number("x")
    f, g = Named("f"), Named("g")
    a, b = f(x), Named("f")(f(x))
    finder = NodeFinder()
    fgraph = FunctionGraph([x], [a, b], [finder] if early else [], clone=False)
    fgraph.attach_feature(finder)
    assert finder.get_nodes(f) == (a.owner, b.owner.inputs[0].owner, b.owner)
    assert finder.get_nodes(g) == ()
    fgraph.replace(a, g(x))
    assert finder.get_nodes(Named("f")) == (b.owner.inputs[0].owner, b.owner)
    assert len(finder.get_nodes(g)) == 1
    fgraph.replace(b, x)
    assert finder.get_nodes(f) == ()
    assert list(finder.nodes) == [g]


@given(st.data())
def test_the_finder_is_right_after_any_change(data):
    graph = data.draw(dags(min_nodes=1))
    finder = NodeFinder()
    fgraph = FunctionGraph(graph.inputs, graph.outputs, [finder], clone=False)
    for _ in range(3):
        variables = list(fgraph.variables)
        old = data.draw(st.sampled_from(variables))
        fgraph.replace(old, data.draw(st.sampled_from(_not_above(variables, old))))
        for op in {node.op for node in fgraph.apply_nodes} | set(finder.nodes):
            expected = {node for node in fgraph.apply_nodes if node.op == op}
            assert set(finder.get_nodes(op)) == expected


def _not_above(variables, old):
    return [v for v in variables if old not in set(ancestors([v])) or v is old]


@given(st.data())
def test_history_restores_each_mark(data):
    graph = data.draw(dags(min_nodes=1))
    fgraph = FunctionGraph(graph.inputs, graph.outputs, clone=False)
    history = History()
    fgraph.attach_feature(history)
    marks = []
    for _ in range(data.draw(st.integers(1, 4))):
        marks.append((history.checkpoint(), snapshot(fgraph)))
        variables = list(fgraph.variables)
        old = data.draw(st.sampled_from(variables))
        safe = _not_above(variables, old)
        new = data.draw(st.sampled_from(safe))
        if data.draw(st.booleans()):
            new = Named("new")(new)
        fgraph.replace(old, new)
    while marks:
        back = data.draw(st.integers(0, len(marks) - 1))
        mark, before = marks[back]
        del marks[back:]
        history.revert(mark)
        assert snapshot(fgraph) == before
        fgraph.check_integrity()


def test_marks_that_are_gone(simple):
    fgraph, x, _y, a, _b, _out = simple
    history = History()
    with pytest.raises(InconsistencyError, match="attached to no graph"):
        history.revert(0)
    fgraph.attach_feature(history)
    before = history.checkpoint()
    fgraph.replace(a, x)
    after = history.checkpoint()
    history.revert(after)
    assert a not in fgraph
    history.revert(before)
    assert a in fgraph
    with pytest.raises(InconsistencyError, match="Cannot revert to mark 2"):
        history.revert(after)
    with pytest.raises(InconsistencyError, match="Cannot revert to mark -1"):
        history.revert(-1)


@pytest.mark.parametrize("cls", [History, Validator, ReplaceValidate])
def test_one_of_a_kind_for_each_graph(simple, cls):
    fgraph, x, *_ = simple
    first = cls()
    fgraph.attach_feature(first)
    fgraph.attach_feature(cls())
    assert fgraph.features == (first,)
    assert first.fgraph is fgraph
    other = FunctionGraph([x], [x], clone=False)
    with pytest.raises(InconsistencyError, match="attached to another graph"):
        other.attach_feature(first)
    fgraph.remove_feature(first)
    with pytest.raises(InconsistencyError, match="attached to no graph"):
        first.fgraph
    other.attach_feature(first)


class Veto(Feature):
    def __init__(self, forbidden="k"):
        self.forbidden = forbidden

    def validate(self, fgraph):
        if any(str(node.op) == self.forbidden for node in fgraph.apply_nodes):
            raise InconsistencyError(f"no {self.forbidden} here")


def test_the_validator_asks_all(simple):
    fgraph, _x, y, _a, b, _out = simple
    validator = Validator()
    for feature in (validator, Veto(), Veto("l")):
        fgraph.attach_feature(feature)
    assert validator.consistent()
    fgraph.replace(b, Named("l")(y))
    assert not validator.consistent()
    with pytest.raises(InconsistencyError, match="no l here"):
        validator.run()
    assert validator.count == 3
    assert validator.seconds > 0


def test_replace_validate(simple):
    fgraph, x, y, a, b, out = simple
    replacer = ReplaceValidate()
    for feature in (replacer, Veto()):
        fgraph.attach_feature(feature)
    before = snapshot(fgraph)
    with pytest.raises(InconsistencyError, match="no k here"):
        replacer.replace_all_validate([(b, Named("l")(y)), (a, Named("k")(y))])
    assert snapshot(fgraph) == before
    assert replacer.failures == 1
    with pytest.raises(InconsistencyError, match=r"f should have become unneeded \(why\)"):
        replacer.replace_all_validate_remove([(b, y)], [b.owner, a.owner], reason="why")
    assert snapshot(fgraph) == before
    replacer.replace_all_validate_remove([(b, y)], [b.owner])
    assert b not in fgraph
    replacer.replace_validate(a, x)
    assert out.owner.inputs == [x, y]
    assert (replacer.failures, replacer.count) == (2, 4)
    assert replacer.checkpoint() > 0


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))])
def test_features_of_a_copied_graph_know_the_copy(simple, copier):
    fgraph, _x, y, _a, b, _out = simple
    for feature in (NodeFinder(), ReplaceValidate()):
        fgraph.attach_feature(feature)
    fgraph.replace(b, y)
    for twin in (copier(fgraph), fgraph.clone()):
        finder, replacer = twin.features
        assert replacer.fgraph is twin
        assert [str(node.op) for node in finder.get_nodes(Named("f"))] == ["f"]
        assert finder.get_nodes(Named("f"))[0] in twin.apply_nodes
        assert replacer.checkpoint() == 0
        replacer.replace_validate(twin.outputs[0], twin.inputs[0])
        assert finder.nodes == {}
    assert len(fgraph.apply_nodes) == 2


def test_graphs_have_methods_of_their_features(simple):
    fgraph, x, _, a, b, _ = simple
    finder, changes = NodeFinder(), ReplaceValidate()
    fgraph.attach_feature(finder)
    fgraph.attach_feature(changes)
    assert fgraph.get_nodes(a.owner.op) == (a.owner,)
    mark = fgraph.checkpoint()
    fgraph.replace_validate(a, x, reason="less")
    assert fgraph.get_nodes(a.owner.op) == ()
    assert fgraph.consistent()
    fgraph.revert(mark)
    assert b.owner.inputs[0] is a
    twin = pickle.loads(pickle.dumps(fgraph))
    assert len(twin.get_nodes(a.owner.op)) == 1
    assert twin.checkpoint.__self__ is not changes
    fgraph.remove_feature(finder)
    fgraph.remove_feature(changes)
    for name in ("get_nodes", "checkpoint", "revert", "replace_validate", "consistent"):
        assert name not in vars(fgraph)
    assert fgraph.replace_validate.__self__ is fgraph


def test_names_of_variables_outlive_their_replacement(simple):
    fgraph, x, y, a, b, _ = simple
    fgraph.attach_feature(PreserveVariableAttributes())
    new, named = Named("k")(x), Named("k")(y, name="k")
    new.name = None
    fgraph.replace(a, new)
    fgraph.replace(b, named)
    assert (new.name, named.name) == ("a", "k")


@pytest.mark.parametrize("copier", [lambda x: x, lambda x: pickle.loads(pickle.dumps(x))])
def test_inputs_may_be_overwritten_unless_they_say_no(copier):
    x, y = number("x"), number("y")
    y.tag.indestructible = True
    seen, e = Named("g")(x), Named("f")(x, y)
    fgraph = FunctionGraph([x, y], [seen, e], clone=False)
    fgraph.attach_feature(DestroyHandler(algo="fast"))
    fgraph.attach_feature(ReplaceValidate())
    fgraph = copier(fgraph)
    x, y, (seen, e) = *fgraph.inputs, fgraph.outputs
    overwriting = Aliasing("f_inplace", destroys=((0, (0,)),))
    fgraph.replace_validate(e, overwriting(x, y))
    assert fgraph.destroyers(x) == [fgraph.outputs[1].owner]
    assert fgraph.destroyers(y) == []
    assert fgraph.toposort()[-1] is fgraph.outputs[1].owner  # after the other reader of x
    with pytest.raises(InconsistencyError):
        fgraph.replace_validate(fgraph.outputs[1], overwriting(y, x))
    assert fgraph.consistent()
    (handler,) = (one for one in fgraph.features if isinstance(one, DestroyHandler))
    fgraph.remove_feature(handler)
    assert not hasattr(fgraph, "destroyers")
