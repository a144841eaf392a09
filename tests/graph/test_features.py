"""Feature, the base class of features."""

import pytest

from phintys.graph import Feature, FunctionGraph


@pytest.fixture
def simple(toys):
    """out = h(f(x), g(f(x), y)), not copied."""
    x, y = toys.number("x"), toys.number("y")
    a = toys.Named("f")(x, name="a")
    b = toys.Named("g")(a, y, name="b")
    out = toys.Named("h")(a, b, name="out")
    return FunctionGraph([x, y], [out], clone=False), x, y, a, b, out


def snapshot(fgraph):
    return (
        list(fgraph.inputs),
        list(fgraph.outputs),
        {node: list(node.inputs) for node in fgraph.apply_nodes},
        fgraph.toposort(),
    )


def test_the_base_does_nothing(simple):
    fgraph, x, y, a, _b, _out = simple
    before = snapshot(fgraph)
    feature = Feature()
    feature.on_attach(fgraph)
    feature.on_import(fgraph, a.owner, None)
    feature.on_change_input(fgraph, a.owner, 0, x, y, None)
    feature.on_prune(fgraph, a.owner, None)
    feature.on_detach(fgraph)
    assert feature.orderings(fgraph) == {}
    assert type(feature.clone()) is Feature
    assert snapshot(fgraph) == before
