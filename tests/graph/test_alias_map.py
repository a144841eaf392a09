"""Roots, memory and overwritten values, as the maps of the Ops have them."""

import pytest

from phintys._base.errors import BadDestroyMap, BadViewMap
from phintys.graph import Apply, FunctionGraph, HasInnerGraph, Op
from phintys.graph.alias_map import (
    AliasMap,
    check_maps,
    destroyed_inputs,
    is_overwritten,
    memory_of,
    overwritten_variables,
    root_of,
    shared_inputs,
    view_roots,
)


def graph(inputs, *outputs):
    return FunctionGraph(inputs, outputs, clone=False)


def test_roots_of_views(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    v = ops["view"](x)
    w = ops["view"](v)
    both = ops["view2"](w, y)
    own = ops["read"](x)
    fgraph = graph([x, y], both, own)
    roots = view_roots(fgraph)
    assert roots == {x: (x,), y: (y,), v: (x,), w: (x,), both: (x, y), own: (own,)}
    assert {variable: root_of(variable) for variable in roots} == roots


def test_what_overwrites_begins_a_root(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    z = ops["inplace"](ops["view"](x), y)
    v = ops["view"](z)
    roots = view_roots(graph([x, y], v))
    assert roots[z] == roots[v] == (z,)
    assert root_of(v) == (z,)


def test_several_outputs_of_one_memory(toys):
    x, y = toys.number("x"), toys.number("y")
    # Both outputs overwrite x; a third views it, a fourth views y.
    op = toys.Aliasing("op", 4, views=((2, (0,)), (3, (1,))), destroys=((0, (0,)), (1, (0,))))
    a, b, c, d = op(x, y)
    roots = view_roots(graph([x, y], a, b, c, d))
    assert roots[a] == roots[b] == roots[c] == (a,)
    assert roots[d] == (y,)
    # Two inputs overwritten by one output.
    op = toys.Aliasing("op", 1, destroys=((0, (0, 1)),))
    z = op(x, y)
    assert destroyed_inputs(z.owner) == {0: 0, 1: 0}
    assert root_of(z) == (z,)
    scratch = toys.Aliasing("op", 1, destroys=((None, (1,)), (0, (1,))))
    assert destroyed_inputs(scratch(x, y).owner) == {1: 0}


def test_memory_outlives_overwriting(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    v = ops["view"](x)
    z = ops["inplace"](v, y)
    both = ops["view2"](z, y)
    own = ops["read"](both)
    aliases = AliasMap.of_graph(graph([x, y], own))
    assert aliases.memory(v) == aliases.memory(z) == (x,)
    assert aliases.memory(both) == (x, y)
    assert aliases.memory(own) == (own,)
    assert list(aliases) == [v, z, both]
    assert (aliases.views(x), aliases.views(y), aliases.views(z)) == ([v, z, both], [both], [])
    assert [set(memory_of(one)) for one in (v, z, both, own)] == [{x}, {x}, {x, y}, {own}]
    assert aliases.roots(both) == (z, y)


def test_what_is_overwritten(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    inner = ops["read"](x)
    victim, beside = ops["view"](inner), ops["view"](inner)
    z = ops["inplace"](victim, y)
    fgraph = graph([x, y], ops["read"](beside), z, ops["scratch"](y))
    aliases = AliasMap.of_graph(fgraph)
    assert aliases.overwritten == {inner, y}
    assert overwritten_variables(fgraph) == {inner, victim, beside, y}
    # Only users are looked at: another view of the same memory is not.
    assert [is_overwritten(fgraph, v) for v in (inner, victim, y)] == [True] * 3
    assert [is_overwritten(fgraph, v) for v in (beside, z, x)] == [False] * 3
    assert overwritten_variables(graph([x], ops["view"](x))) == set()


def test_a_map_of_arrays(toys, ops):
    aliases = AliasMap()
    aliases.add(ops["view"], ["buffer"], ["shown"])
    aliases.add(ops["inplace"], ["shown", "other"], ["result"])
    assert aliases.memory("result") == ("buffer",)
    assert aliases.roots("result") == ("result",)
    assert aliases.is_overwritten("shown")
    assert not aliases.is_overwritten("result")


def test_inputs_that_an_output_may_share(toys):
    op = toys.Aliasing("op", 2, views=((0, (1,)),), destroys=((0, (0,)), (None, (2,))))
    assert shared_inputs(op, 0) == (1, 0)
    assert shared_inputs(op, 1) == ()


@pytest.mark.parametrize(
    ("attributes", "error", "words"),
    [
        ({"destroys": ((0, (2,)),)}, BadDestroyMap, "names the input 2, and there are 2"),
        ({"destroys": ((1, (0,)),)}, BadDestroyMap, "names the output 1, and there are 1"),
        ({"destroys": ((0, (-1,)),)}, BadDestroyMap, "names the input -1"),
        ({"views": ((0, (0, 5)),)}, BadViewMap, "names the input 5"),
        ({"views": ((-1, (0,)),)}, BadViewMap, "names the output -1"),
        ({"views": ((None, (0,)),)}, BadViewMap, "names None as an output"),
    ],
)
def test_maps_that_make_no_sense(toys, attributes, error, words):
    node = toys.Aliasing("op", **attributes)(toys.number("x"), toys.number("y")).owner
    with pytest.raises(error, match=words) as caught:
        check_maps([node])
    assert __file__ in str(caught.value)


class Around(HasInnerGraph, Op):
    """An Op with an inner graph; its own maps are empty."""

    def __init__(self, fgraph):
        self.fgraph = fgraph

    def with_inner(self, fgraph):
        return Around(fgraph)

    def make_node(self, x):
        return Apply(self, [x], [x.type()])


def around(toys, build):
    u = toys.number("u")
    return Around(FunctionGraph([u], [build(u)]))


def test_maps_of_inner_graphs(toys):
    bad = toys.Aliasing("bad", views=((0, (3,)),))
    good = toys.Aliasing("good", views=((0, (0,)),))
    x = toys.number("x")
    inner = around(toys, lambda u: good(bad(u)))
    for op in (inner, around(toys, lambda u: inner(good(u)))):
        with pytest.raises(BadViewMap, match=r"bad: its view_map .* names the input 3") as caught:
            check_maps([good(op(x)).owner, op(x).owner])
        assert __file__ in str(caught.value)


def test_inner_graphs_within_each_other_are_checked_once_each(toys):
    checked = []

    class Counted(toys.Aliasing):
        view_map = property(lambda self: checked.append(self) or {0: [0]}, lambda *_: None)

    op = Counted("counted")
    for _ in range(45):  # 2**45 ways into the innermost
        op = around(toys, lambda u, op=op: op(op(u)))
    checked.clear()
    check_maps([op(toys.number("x")).owner])
    assert 0 < len(checked) < 10


def test_maps_that_make_sense(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    for op in ("view", "view2", "inplace", "scratch", "read"):
        check_maps([ops[op](x, y).owner])
