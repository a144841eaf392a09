"""Orders in which the old packages walk over graphs."""

from __future__ import annotations

import importlib
import random

import pytest

import phintys.tensor as pt
from phintys import graph
from phintys.compat import install, uninstall
from phintys.graph import FunctionGraph

EXPECTED = {
    "aesara": {
        "ancestors": "sum left a b right c double",
        "graph_inputs": "a b c",
        "io_toposort": "double right left sum",
        "vars_between": "double sum c right left b a",
        "applys_between": "double sum right left",
    },
    "pytensor": {
        "ancestors": "sum right c b left a double",
        "graph_inputs": "c b a",
        "io_toposort": "right left sum double",
        "vars_between": "sum right c b left a double",
        "applys_between": "sum right left double",
    },
}


@pytest.fixture(params=list(EXPECTED))
def package(request):
    install(request.param)
    yield request.param
    uninstall(request.param)


def _named(name, variable):
    variable.name = name
    return variable


def _names(found):
    return " ".join(one.name if hasattr(one, "name") else one.outputs[0].name for one in found)


def test_walks_are_in_the_order_of_the_package(package):
    walks = importlib.import_module(f"{package}.graph.basic")
    a, b, c = pt.dscalars("a", "b", "c")
    left, right = _named("left", a * b), _named("right", b * c)
    outputs = [_named("double", 2 * c), _named("sum", left + right)]
    for name, expected in EXPECTED[package].items():
        walk = getattr(walks, name)
        takes_inputs = name == "io_toposort" or name.endswith("_between")
        found = walk([a, b, c], outputs) if takes_inputs else walk(outputs)
        shown = [one for one in found if getattr(one, "name", "") is not None]
        assert _names(shown) == expected, name


def test_nodes_come_after_what_they_need(package):
    walks = importlib.import_module(f"{package}.graph.basic")
    generator = random.Random(0)
    for _ in range(10):
        leaves = list(pt.dscalars("a", "b", "c"))
        variables = list(leaves)
        for _ in range(12):
            variables.append(pt.add(*generator.choices(variables, k=2)))
        outputs = generator.sample(variables[3:], 3)
        known = set(leaves)
        nodes = walks.io_toposort(leaves, outputs)
        for node in nodes:
            assert known.issuperset(node.inputs)
            known.update(node.outputs)
        assert known.issuperset(outputs)
        assert len(set(nodes)) == len(nodes)
        assert set(walks.io_toposort(leaves, outputs, {nodes[0]: []})) == set(nodes)


def test_the_names_of_theano(theano):
    graph = theano.gof.graph
    a, b = pt.dscalars("a", "b")
    assert graph.inputs([a, b * a]) == [b, a]
    assert graph.ancestors([a * b])[1:] == [a, b]
    assert len(graph.io_toposort([a, b], [a * b])) == 1
    assert graph.variables([a, b], [a * b, b + 1])[1:2] == [b]
    assert [one.name for one in graph.variables_and_orphans([a], [a * b])[1]] == ["b"]


def test_between_ends_at_the_inputs(package):
    walks = importlib.import_module(f"{package}.graph.basic")
    a, b = pt.dscalars("a", "b")
    middle = a * b
    last = middle + b
    assert set(walks.vars_between([middle], [last])) == {last, middle, b}
    assert list(walks.applys_between([middle], [last])) == [last.owner]
    nodes = list(walks.applys_between([], pt.split(pt.dvector("x"), 2)))
    assert len(nodes) == len(set(nodes))


def test_graphs_are_sorted_in_the_order_of_the_package(package, monkeypatch):
    monkeypatch.setitem(globals(), package, importlib.import_module(package))
    walks = importlib.import_module(f"{package}.graph.basic")
    a, b, c = pt.dscalars("a", "b", "c")
    fgraph = FunctionGraph([a, b, c], [2 * c, a * b + b * c], copy_inputs=False)
    assert fgraph.toposort() == list(walks.io_toposort(fgraph.inputs, fgraph.outputs))
    monkeypatch.undo()
    assert fgraph.toposort() == list(graph.io_toposort(fgraph.inputs, fgraph.outputs))
