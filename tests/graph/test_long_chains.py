"""A chain of 100,000 nodes can be put through everything."""

import copy
import gc
import pickle
import weakref

import pytest

from phintys.compat.features import History, NodeFinder
from phintys.graph import (
    FunctionGraph,
    ancestors,
    clone,
    clone_replace,
    equal_computations,
    graph_inputs,
    graph_replace,
    toposort,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    verify_graph,
)
from phintys.graph.printing import debugprint, pprint


@pytest.fixture(autouse=True)
def _no_collection_meanwhile():
    """Millions of objects come and go here; looking through them again and again takes longer."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def ends(toys, long):
    """A variable and what a chain makes of it; also used beside each node."""
    x = toys.number("x")
    end = x
    f = toys.Named("f")
    for _ in range(long):
        end = f(end, x)
    return x, end


def test_walking(ends, long):
    x, end = ends
    assert sum(1 for _ in ancestors([end])) == long + 1
    assert sum(1 for _ in vars_between([x], [end])) == long + 1
    assert list(graph_inputs([end])) == [x]
    assert variable_depends_on(end, x)
    assert truncated_graph_inputs([end], [x]) == [x]


def test_sorting(ends, long):
    x, end = ends
    order = toposort([end])
    assert len(order) == long
    assert order[0].inputs == [x, x]
    assert order[-1].outputs == [end]


def test_copying(ends, long, toys):
    x, end = ends
    (x2,), (copied,) = clone([x], [end])
    assert equal_computations([end], [copied], [x], [x2])
    z = toys.number("z")
    for replaced in (clone_replace(end, {x: z}), graph_replace(end, {x: z})):
        assert equal_computations([end], [replaced], [x], [z])
    again = copy.deepcopy(end)
    assert len(toposort([again])) == long


def test_pickling(ends):
    x, end = ends
    again_x, again = pickle.loads(pickle.dumps([x, end]))
    assert equal_computations([again], [end], [again_x], [x])


def test_printing(ends, long):
    _x, end = ends
    text = debugprint(end, file="str")
    assert text.count("f [id") >= long
    assert len(text) < 300 * long
    formula = pprint(end)
    assert formula.count("f(") == long
    assert formula.endswith("f(f(x, x), x)" + ", x)" * (long - 2))
    assert str(end) == "f.0"
    assert str(end.owner) == "f(f.0, x)"


def test_function_graphs(ends, long, toys):
    x, end = ends
    fgraph = FunctionGraph([x], [end])
    fgraph.attach_feature(finder := NodeFinder())
    fgraph.attach_feature(history := History())
    assert len(fgraph.apply_nodes) == long
    verify_graph(fgraph)
    g = toys.Named("g")
    for node in fgraph.toposort():
        fgraph.replace(node.outputs[0], g(*node.inputs))
    verify_graph(fgraph)
    assert len(finder.get_nodes(g)) == long
    fgraph.replace_validate(fgraph.outputs[0], fgraph.inputs[0])
    assert not fgraph.apply_nodes
    verify_graph(fgraph)
    history.revert(0)
    verify_graph(fgraph)
    assert len(finder.get_nodes(toys.Named("f"))) == long
    fgraph.remove_input(0)
    assert not fgraph.variables


def test_a_function_graph_can_be_pickled_and_cloned(ends, long):
    x, end = ends
    fgraph = FunctionGraph([x], [end], clone=False)
    for twin in (pickle.loads(pickle.dumps(fgraph)), fgraph.clone()):
        assert len(twin.apply_nodes) == long


def test_all_is_given_back(toys, long):
    x = toys.number("x")
    end = toys.chain(long, x)
    fgraph = FunctionGraph([x], [end])
    last = weakref.ref(end.owner)
    copied = weakref.ref(next(iter(fgraph.apply_nodes)))
    del end, fgraph
    gc.collect()
    assert last() is None
    assert copied() is None
