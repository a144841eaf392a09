"""Orders in which the old packages walk over graphs."""

from __future__ import annotations

import importlib
import random

import pytest

import phintys.tensor as pt
from phintys.compat import install, uninstall

EXPECTED = {
    "aesara": {
        "ancestors": "sum left a b right c double",
        "graph_inputs": "a b c",
        "io_toposort": "double right left sum",
    },
    "pytensor": {
        "ancestors": "sum right c b left a double",
        "graph_inputs": "c b a",
        "io_toposort": "right left sum double",
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
        found = walk([a, b, c], outputs) if name == "io_toposort" else walk(outputs)
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
