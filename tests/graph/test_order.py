"""Ranks, and changes of graphs that are judged as if the whole graph were checked each time."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import InconsistencyError
from phintys.graph import Apply, FunctionGraph, Op, Type, aliasing
from phintys.graph.aliasing import DestroyHandler, check_aliasing
from phintys.graph.order import Ranks
from tests.budget import budget

ANYTHING = Type()


# ---- ranks -----------------------------------------------------------------------------------


@budget(150)
@given(st.integers(2, 12), st.data())
def test_edges_are_placed_unless_they_close_a_cycle(count, data):
    nodes = [Make(f"f{number}")(ANYTHING()).owner for number in range(count)]
    ranks = Ranks({node: [] for node in nodes})
    after = {node: [] for node in nodes}
    for _ in range(3 * count):
        first, second = (data.draw(st.sampled_from(nodes)) for _ in range(2))
        below, stack = set(), [second]
        while stack:
            node = stack.pop()
            if node not in below:
                below.add(node)
                stack.extend(after[node])
        if first is second:
            continue
        cycle = ranks.place([(first, second)], after.__getitem__)
        assert bool(cycle) == (first in below)
        if not cycle:
            after[first].append(second)
        else:
            assert (cycle[0], cycle[-1]) == (first, second)
            assert all(one in after[other] for one, other in pairwise(cycle))
        rank = ranks.rank_of
        assert all(rank[one] < rank[other] for one in nodes for other in after[one])


def test_nodes_fit_between_others():
    x = Make("f")(ANYTHING())
    y = Make("g")(x)
    ranks = Ranks({x.owner: [], y.owner: [x.owner]})
    assert ranks.order() == [x.owner, y.owner]
    before = dict(ranks.rank_of)
    between = Make("h")(x).owner
    ranks.add(between, [x.owner])
    edges = [(x.owner, between), (between, y.owner)]
    assert ranks.place(edges, lambda node: []) == []
    assert {node: ranks.rank_of[node] for node in before} == before
    ranks.remove(between)
    ranks.remove(between)


# ---- changes ---------------------------------------------------------------------------------


class Make(Op):
    """Computes something from its inputs; it may overwrite some, or be a view of some."""

    __props__ = ("name", "overwrites", "shows")

    def __init__(self, name, overwrites=(), shows=()):
        self.name, self.overwrites, self.shows = name, overwrites, shows
        if overwrites:
            self.destroy_map = {0: list(overwrites)}
        if shows:
            self.view_map = {0: list(shows)}

    def make_node(self, *inputs):
        return Apply(self, inputs, [ANYTHING()])


def built(recipe, leaves, outputs):
    """A graph, its inputs first, then one variable for each entry of the recipe."""
    values = [ANYTHING(f"x{number}") for number in range(leaves)]
    inputs = list(values)
    for number, (kind, *sources) in enumerate(recipe):
        given = [values[source % len(values)] for source in sources]
        shows = {"pure": (), "view": (0,), "either": (0, 1)}[kind]
        values.append(Make(f"f{number:02}", shows=shows)(*given[: 1 if kind == "view" else 2]))
    chosen = [values[-1], *(values[number % len(values)] for number in outputs)]
    return FunctionGraph(inputs, chosen, clone=False)


RECIPES = st.lists(
    st.tuples(
        st.sampled_from(["pure", "pure", "pure", "view", "either"]),
        st.integers(0, 50),
        st.integers(0, 50),
    ),
    min_size=2,
    max_size=14,
)
CHANGES = st.lists(
    st.tuples(st.integers(0, 50), st.booleans(), st.integers(0, 1), st.integers(0, 50)),
    max_size=14,
)


def change(fgraph, number, destroys, position, source):
    """Put another Op in the place of one, or another input; return whether that is sound."""
    nodes = sorted(fgraph.apply_nodes, key=lambda node: node.op.name)
    if not nodes:
        return None
    node = nodes[number % len(nodes)]
    inputs = list(node.inputs)
    if destroys:
        op = Make(node.op.name, () if node.op.overwrites else (position % len(inputs),))
    else:
        op = node.op
        earlier = [*fgraph.inputs, *(one.outputs[0] for one in nodes if one.op.name < op.name)]
        inputs[position % len(inputs)] = earlier[source % len(earlier)]
    try:
        fgraph.replace_validate(node.outputs[0], op(*inputs))
    except InconsistencyError:
        return False
    return True


@budget(150)
@given(RECIPES, st.lists(st.integers(0, 50), max_size=2), CHANGES, st.booleans())
def test_changes_are_accepted_as_by_a_check_of_the_whole_graph(recipe, outputs, changes, lent):
    recipe = [(kind, *sources) for kind, *sources in recipe]
    handlers, graphs = [], []
    for _ in range(2):
        fgraph = built(recipe, 2, outputs)
        handler = DestroyHandler(fgraph.inputs[:1] if lent else ())
        fgraph.attach_feature(handler)
        handlers.append(handler)
        graphs.append(fgraph)
    for one in changes:
        handlers[1].on_attach(graphs[1])  # forgets what it knows
        results = [change(fgraph, *one) for fgraph in graphs]
        assert results[0] == results[1]
        for fgraph, handler in zip(graphs, handlers, strict=True):
            check_aliasing(fgraph, handler.mutable_inputs)
            fgraph.toposort()


def test_a_chain_is_overwritten_step_by_step_without_looking_at_it_all(monkeypatch):
    checks = []
    full = aliasing._check
    monkeypatch.setattr(aliasing, "_check", lambda *given: checks.append(1) or full(*given))
    fgraph = built([("pure", k, k) for k in range(200)], 1, [])
    fgraph.attach_feature(DestroyHandler(fgraph.inputs))
    for node in fgraph.toposort():
        new = Make(node.op.name, (0,))(node.inputs[0])
        fgraph.replace_validate(node.outputs[0], new)
    assert len(fgraph.apply_nodes) == 200
    assert all(node.op.overwrites for node in fgraph.apply_nodes)
    assert len(checks) == 1


def test_a_reader_that_needs_the_result_refuses():
    x = ANYTHING("x")
    y = Make("f")(x)
    for reads in (False, True):
        z = Make("g")(y)
        last = Make("h")(z, y) if reads else Make("h")(z)
        fgraph = FunctionGraph([x], [last], [DestroyHandler([x])], clone=False)
        fgraph.replace_validate(y, Make("f", (0,))(x))
        new = Make("g", (0,))(fgraph.toposort()[0].outputs[0])
        if reads:
            with pytest.raises(InconsistencyError):
                fgraph.replace_validate(z, new)
        else:
            fgraph.replace_validate(z, new)
        y = Make("f")(x)


def test_numbers_are_ranked_too():
    count = 1000  # small numbers are the same objects
    ranks = Ranks({number: range(max(0, number - 1), number) for number in range(count)})
    after = [[number + 1] for number in range(count - 1)] + [[]]
    cycle = ranks.place([(int(str(count - 1)), 0)], after.__getitem__)
    assert cycle == list(range(count))[::-1]
