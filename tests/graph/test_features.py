"""Feature, the base class of features."""

import pytest

from phintys._base.errors import InconsistencyError
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


class WithAttributes(Feature):
    """A feature whose hooks are functions among its attributes."""

    def __init__(self, seen):
        self.on_change_input = lambda *_: seen.append("change")
        self.orderings = lambda fgraph: seen.append("orderings") or {}

    def on_attach(self, fgraph):
        self.validate = refuse


class Unrelated:
    """A feature that is not a Feature, and whose hook is no function."""

    def __init__(self, seen):
        self.validate = Refuses()


class Refuses:
    def __call__(self, fgraph):
        refuse(fgraph)


def refuse(fgraph):
    msg = "refused"
    raise InconsistencyError(msg)


@pytest.mark.parametrize("kind", [WithAttributes, Unrelated])
def test_hooks_may_be_attributes(simple, kind):
    fgraph, x, y, _a, _b, out = simple
    seen = []
    fgraph.attach_feature(kind(seen))
    with pytest.raises(InconsistencyError, match="refused"):
        fgraph.validate()
    with pytest.raises(InconsistencyError, match="refused"):
        fgraph.replace_validate(x, y)
    assert fgraph.outputs == [out]
    assert x in out.owner.inputs[0].owner.inputs
    assert ("change" in seen) == (kind is WithAttributes)
