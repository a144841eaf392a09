"""Walks through graphs, and orders of nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import CycleError
from phintys.graph import (
    Constant,
    SharedVariable,
    ancestors,
    applys_between,
    explicit_graph_inputs,
    general_toposort,
    get_var_by_name,
    graph_inputs,
    io_toposort,
    orphans_between,
    toposort,
    truncated_graph_inputs,
    variable_depends_on,
    vars_between,
    walk,
)


@pytest.fixture
def diamond(toys):
    """x, y -> a = f(x), b = g(y), c = h(a, b, 1), with everything named."""
    x, y = toys.number("x"), toys.number("y")
    a = toys.Named("f")(x, name="a")
    b = toys.Named("g")(y, name="b")
    one = toys.number.make_constant(1, name="one")
    c = toys.Named("h")(a, b, one, name="c")
    return {"x": x, "y": y, "a": a, "b": b, "one": one, "c": c}


def names(variables):
    return [variable.name for variable in variables]


def test_ancestors_come_depth_first_and_once(diamond):
    c, a = diamond["c"], diamond["a"]
    assert names(ancestors([c])) == ["c", "a", "x", "b", "y", "one"]
    assert names(ancestors([a, c])) == ["a", "x", "c", "b", "y", "one"]
    assert names(ancestors([c, c])) == names(ancestors([c]))


def test_blockers_are_included_but_not_passed(diamond):
    assert names(ancestors([diamond["c"]], [diamond["a"]])) == ["c", "a", "b", "y", "one"]
    assert names(graph_inputs([diamond["c"]], [diamond["a"]])) == ["a", "y", "one"]


def test_ancestors_is_lazy(diamond):
    walker = ancestors([diamond["c"]])
    assert next(walker) is diamond["c"]


def test_graph_inputs_and_explicit_ones(diamond, toys):
    shared = SharedVariable(toys.number, 1, name="shared")
    out = toys.Named("f")(diamond["c"], shared)
    assert names(graph_inputs([out])) == ["x", "y", "one", "shared"]
    assert names(explicit_graph_inputs([out])) == ["x", "y"]
    assert names(explicit_graph_inputs(out)) == ["x", "y"]


def test_between(diamond):
    x, b, c = diamond["x"], diamond["b"], diamond["c"]
    assert names(vars_between([x, b], [c])) == ["c", "a", "x", "b", "one"]
    assert [str(node.op) for node in applys_between([x, b], [c])] == ["f", "h"]
    assert names(orphans_between([x], [c])) == ["y", "one"]
    assert names(vars_between([c], [c])) == ["c"]
    assert list(applys_between([c], [c])) == []


def test_vars_between_has_all_outputs_of_a_node(toys):
    x = toys.number("x")
    first, second = toys.Named("f", 2)(x)
    assert set(vars_between([x], [first])) == {x, first, second}


def test_depends_on(diamond):
    x, y, a, c = (diamond[name] for name in "xyac")
    assert variable_depends_on(c, x)
    assert variable_depends_on(c, [y])
    assert variable_depends_on(a, a)
    assert not variable_depends_on(a, y)
    assert not variable_depends_on(a, [])


def test_truncated_inputs(diamond):
    x, a, b, c = (diamond[name] for name in "xabc")
    assert truncated_graph_inputs([c]) == [c]
    assert truncated_graph_inputs([c], [a]) == [a, b]
    assert truncated_graph_inputs([c], [x]) == [x, b]
    assert truncated_graph_inputs([c], [c]) == [c]
    assert truncated_graph_inputs([a], [b]) == [a]


def test_walk_orders():
    below = {1: [2, 3], 2: [4], 3: [4], 4: None}
    assert list(walk([1], below.get)) == [1, 2, 3, 4]
    assert list(walk([1], below.get, bfs=False)) == [1, 2, 4, 3]
    assert list(walk([1, 1], lambda n: [n + 10] if n < 30 else None, hash_fn=lambda n: n % 10)) == [
        1
    ]


def test_get_var_by_name(diamond, toys):
    again = toys.number("x")
    out = toys.Named("f")(diamond["c"], again)
    assert get_var_by_name([out], "x") == (diamond["x"], again)
    assert get_var_by_name([out], "nothing") == ()


def test_toposort_is_by_inputs_from_first_to_last(diamond):
    assert [str(node.op) for node in toposort([diamond["c"]])] == ["f", "g", "h"]
    assert toposort([diamond["x"]]) == []
    assert toposort([diamond["c"]], blockers=[diamond["c"]]) == []
    assert [str(n.op) for n in io_toposort([diamond["a"]], [diamond["c"]])] == ["g", "h"]


def test_orderings_are_respected(diamond):
    f, g = diamond["a"].owner, diamond["b"].owner
    assert [str(n.op) for n in toposort([diamond["c"]], orderings={f: [g]})] == ["g", "f", "h"]


def test_a_cycle_by_orderings_names_its_nodes(diamond):
    f, h = diamond["a"].owner, diamond["c"].owner
    with pytest.raises(CycleError) as caught:
        toposort([diamond["c"]], orderings={f: [h]})
    message = str(caught.value)
    assert "f, made at" in message
    assert "h, made at" in message
    assert "g, made at" not in message  # it is no part of it
    assert __file__ in message
    assert "line" in message


def test_a_cycle_through_a_node_that_waits_elsewhere_is_told_exactly(toys):
    # c waits on the stack as an input of the root while it is reached, and begun, through d.
    x = toys.number("x")
    c = toys.Named("c")(x)
    d = toys.Named("d")(c)
    root = toys.Named("root")(c, d)
    root.owner.inputs.reverse()  # d first
    root.owner.inputs.insert(0, toys.Named("e")(x))
    with pytest.raises(CycleError) as caught:
        toposort([root], orderings={c.owner: [d.owner]})
    assert "these 2 node(s)" in str(caught.value)


def test_a_node_that_needs_itself(toys):
    x = toys.number("x")
    y = toys.Named("f")(x)
    y.owner.inputs[0] = y
    with pytest.raises(CycleError, match=r"these 1 node\(s\)"):
        toposort([y])


def test_a_long_cycle_is_abbreviated(toys):
    x = toys.number("x")
    start = toys.Named("first")(x)
    end = toys.chain(50, start)
    start.owner.inputs[0] = end
    with pytest.raises(CycleError, match="and 39 more"):
        toposort([end])


def test_blockers_break_a_cycle(toys):
    x = toys.number("x")
    y = toys.Named("f")(x)
    z = toys.Named("g")(y)
    y.owner.inputs[0] = z
    assert [str(node.op) for node in io_toposort([z], [y])] == ["f"]


def test_a_node_may_need_a_blocker_that_it_computes_itself(toys):
    x = toys.number("x")
    y, z = toys.Named("f", 2)(x)
    y.owner.inputs[0] = y
    assert io_toposort([y], [z]) == [z.owner]


@given(st.data())
def test_sorted_nodes_come_after_those_they_need(toys, data):
    graph = data.draw(toys.dags())
    order = toposort(graph.outputs)
    place = {node: i for i, node in enumerate(order)}
    assert len(place) == len(order)
    assert set(order) == {v.owner for v in ancestors(graph.outputs) if v.owner is not None}
    for node in order:
        for variable in node.inputs:
            assert variable.owner is None or place[variable.owner] < place[node]
    assert order == toposort(graph.outputs)


@given(st.data())
def test_sorted_nodes_respect_orderings_or_there_is_a_cycle(toys, data):
    graph = data.draw(toys.dags(min_nodes=2))
    order = toposort(graph.outputs)
    if not order:
        return
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(order), st.sampled_from(order))))
    orderings = {}
    for later, earlier in pairs:
        orderings.setdefault(later, []).append(earlier)
    needed = {
        node: {v.owner for v in node.inputs if v.owner is not None} | set(orderings.get(node, ()))
        for node in order
    }
    try:
        sorted_ = toposort(graph.outputs, orderings=orderings)
    except CycleError:
        assert any(_reaches(needed, node, node) for node in order)
        return
    place = {node: i for i, node in enumerate(sorted_)}
    assert set(place) == set(order)
    assert all(place[earlier] < place[node] for node in order for earlier in needed[node])


def _reaches(needed, start, target):
    return target in walk(needed[start], needed.get)


@given(st.data())
def test_truncated_inputs_are_enough(toys, data):
    graph = data.draw(toys.dags())
    wanted = data.draw(st.lists(st.sampled_from(graph.variables), max_size=2))
    inputs = truncated_graph_inputs(graph.outputs, wanted)
    leaves = [v for v in graph_inputs(graph.outputs, inputs) if not isinstance(v, Constant)]
    assert set(leaves) <= set(inputs)
    for variable in wanted:
        if variable in set(ancestors(graph.outputs)) and not isinstance(variable, Constant):
            below = truncated_graph_inputs(graph.outputs, [variable])
            assert variable in below


def test_general_toposort():
    needs = {"d": ["b", "c"], "b": ["a"], "c": ["a"], "a": None}
    assert general_toposort(["d"], needs.get) == ["a", "b", "c", "d"]
    assert general_toposort(["b", "d", "b"], needs.get) == ["a", "b", "c", "d"]
    with pytest.raises(CycleError, match="a needs b needs c needs a"):
        general_toposort(["a"], {"a": ["b"], "b": ["c"], "c": ["a"]}.get)
    with pytest.raises(CycleError, match="a needs a"):
        general_toposort(["z", "a"], {"a": ["a"], "z": ["a"]}.get)


def test_general_toposort_is_not_recursive(long):
    order = general_toposort([long], lambda n: [n - 1] if n else None)
    assert order == list(range(long + 1))
