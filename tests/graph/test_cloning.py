"""Copies of graphs, with and without replacements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import (
    MethodNotDefinedError,
    OpContractError,
    RewriteError,
    TypeContractError,
)
from phintys.graph import (
    Apply,
    FunctionGraph,
    HasInnerGraph,
    Op,
    SharedVariable,
    ancestors,
    clone,
    clone_get_equiv,
    clone_replace,
    equal_computations,
    graph_replace,
    toposort,
)


@given(st.data())
def test_a_clone_is_equal_and_shares_no_node(toys, data):
    graph = data.draw(toys.dags())
    copy_inputs = data.draw(st.booleans())
    copy_orphans = data.draw(st.sampled_from([None, True, False]))
    inputs, outputs = clone(graph.inputs, graph.outputs, copy_inputs, copy_orphans)
    assert (inputs == graph.inputs) is (not copy_inputs)
    assert set(toposort(outputs)).isdisjoint(toposort(graph.outputs))
    values = dict(zip(inputs, graph.values.values(), strict=True))
    assert toys.evaluate(outputs, values) == toys.evaluate(graph.outputs, graph.values)
    if not (copy_inputs if copy_orphans is None else copy_orphans):
        assert equal_computations(outputs, graph.outputs, inputs, graph.inputs)


def test_what_is_copied(toys):
    x = toys.number("x")
    shared = SharedVariable(toys.number, 1, name="shared")
    constant = toys.number.make_constant(2)
    y = toys.Named("f")(x, shared, constant)
    equiv = clone_get_equiv([x], [y])
    assert [equiv[v] is v for v in (x, shared, constant)] == [False, False, False]
    assert equiv[shared].container is shared.container
    assert equiv[y.owner].inputs == [equiv[x], equiv[shared], equiv[constant]]
    assert equiv[y] is equiv[y.owner].outputs[0]
    equiv = clone_get_equiv([x], [y], copy_inputs=False, copy_orphans=False)
    assert equiv[y.owner].inputs == [x, shared, constant]


def test_a_memo_is_taken_as_copied_already(toys):
    x, z = toys.number("x"), toys.number("z")
    y = toys.Named("f")(x)
    out = toys.Named("g")(y, x)
    memo = {y: z}
    equiv = clone_get_equiv([x], [out], copy_inputs=False, memo=memo)
    assert equiv is memo
    assert equiv[out].owner.inputs == [z, x]
    assert y.owner not in equiv


def test_inputs_that_a_node_computes_become_leaves(toys):
    x = toys.number("x")
    y, other = toys.Named("f", 2)(x)
    out = toys.Named("g")(y, other)
    (new_y,), (new_out,) = clone([y], [out])
    assert new_y.owner is None
    assert new_out.owner.inputs[0] is new_y
    assert new_out.owner.inputs[1].owner.inputs[0].name == "x"


def test_outputs_may_be_inputs_and_orphans(toys):
    x, y = toys.number("x"), toys.number("y")
    (new_x,), (out, orphan) = clone([x], [x, y])
    assert out is new_x
    assert new_x is not x
    assert orphan is not y
    assert clone([x], [x, y], copy_inputs=False) == ([x], [x, y])


class Inner(HasInnerGraph, Op):
    """An Op with a graph inside."""

    def __init__(self, fgraph):
        self.fgraph = fgraph

    def with_inner(self, fgraph):
        return type(self)(fgraph)

    def make_node(self, *inputs):
        return Apply(self, inputs, [v.type() for v in self.fgraph.outputs])


def inner_op(toys):
    x = toys.number("x")
    return Inner(FunctionGraph([x], [toys.Named("f")(x)]))


def test_inner_graphs_are_copied_when_asked_for(toys):
    op = inner_op(toys)
    x = toys.number("x")
    y, z = op(x), op(op(x))
    _, (kept, _) = clone([x], [y, z])
    assert kept.owner.op is op
    _, (copied, twice) = clone([x], [y, z], clone_inner_graphs=True)
    assert copied.owner.op is not op
    assert copied.owner.op.fgraph is not op.fgraph
    assert twice.owner.op is copied.owner.op  # still one Op
    assert equal_computations(copied.owner.op.fgraph.outputs, op.fgraph.outputs, *_ins(copied, op))


def _ins(copied, op):
    return copied.owner.op.fgraph.inputs, op.fgraph.inputs


def test_inner_graphs_that_cannot_be_copied(toys):
    class Closed(Inner):
        with_inner = HasInnerGraph.with_inner

    class Odd(Inner):
        def with_inner(self, fgraph):
            return Op()

    x = toys.number("x")
    fgraph = inner_op(toys).fgraph
    with pytest.raises(MethodNotDefinedError, match="has an inner graph but no with_inner"):
        clone([x], [Closed(fgraph)(x)], clone_inner_graphs=True)
    with pytest.raises(OpContractError, match="must return an Op with an inner graph"):
        clone([x], [Odd(fgraph)(x)], clone_inner_graphs=True)


def test_replacements_do_not_reach_into_inner_graphs(toys):
    op = inner_op(toys)
    inside = op.fgraph.inputs[0]
    y = op(toys.number("x"))
    z = toys.number("z")
    assert clone_replace(y, {inside: z}).owner.op is op
    assert op.fgraph.inputs == [inside]


REPLACERS = {"clone_replace": clone_replace, "graph_replace": graph_replace}


@pytest.fixture(params=REPLACERS)
def replacer(request):
    return REPLACERS[request.param]


def test_replacing_changes_nothing_in_place(toys, replacer):
    x, z = toys.number("x"), toys.number("z")
    y = toys.Named("f")(x)
    out = toys.Named("g")(y, x)
    new = replacer(out, {x: z})
    assert new.owner.inputs[0].owner.inputs == [z]
    assert new.owner.inputs[1] is z
    assert out.owner.inputs == [y, x]
    assert y.owner.inputs == [x]


def test_replacements_happen_at_once(toys, replacer):
    x, y = toys.number("x"), toys.number("y")
    out = toys.Named("f")(x, y)
    assert replacer(out, {x: y, y: x}).owner.inputs == [y, x]
    g = toys.Named("g")
    once = replacer(out, {x: g(x)}).owner.inputs[0]
    assert once.owner.inputs == [x]
    assert replacer(out, [(x, g(y)), (y, x)]).owner.inputs[0].owner.inputs == [y]


def test_replacing_what_is_computed_and_outputs(toys, replacer):
    x, z = toys.number("x"), toys.number("z")
    y, other = toys.Named("f", 2)(x)
    out = toys.Named("g")(y, other)
    new = replacer([out, y, out], {y: z})
    assert new[0].owner.inputs[0] is z
    assert new[0].owner.inputs[1].owner.op == y.owner.op
    assert new[1] is z
    assert new[2] is new[0]
    assert replacer(out, {out: z}) is z


def test_results_are_shaped_like_the_outputs(toys):
    x, z = toys.number("x"), toys.number("z")
    y = toys.Named("f")(x)
    assert clone_replace((y, x), {x: z})[1] is z
    assert list(clone_replace({"a": x, "b": y}, {x: z})) == ["a", "b"]
    assert clone_replace({"a": x}, {x: z}) == {"a": z}
    assert clone_replace([], {x: z}) == []
    assert graph_replace([x], {x: z}) == [z]


def test_clone_replace_copies_all_and_graph_replace_only_what_changes(toys):
    x, y, z = (toys.number(name) for name in "xyz")
    left, right = toys.Named("f")(x), toys.Named("g")(y)
    out = toys.Named("h")(left, right)
    copied = clone_replace(out, {x: z}).owner.inputs[1]
    assert copied is not right
    assert copied.owner.inputs == [y]
    assert graph_replace(out, {x: z}).owner.inputs[1] is right
    assert clone_replace(out).owner.inputs[0].owner.inputs == [x]
    assert graph_replace(out, {}) is out
    assert clone_replace(out, copy_inputs_over=False).owner.inputs[0].owner.inputs != [x]


def test_names_tags_and_lines_are_kept(toys, replacer):
    x, z = toys.number("x"), toys.number("z")
    y = toys.Named("f")(x, name="y")
    y.tag.note = 1
    new = replacer(y, {x: z})
    assert (new.name, new.tag.note) == ("y", 1)
    assert new.origin is y.origin


def test_what_does_not_occur(toys):
    x, z = toys.number("x"), toys.number("z")
    y = toys.Named("f")(x)
    twin = toys.Named("f")(x, name="twin")
    assert clone_replace(y, {z: x}).owner.inputs == [x]
    with pytest.raises(RewriteError, match=r"Cannot replace twin .*identity") as caught:
        graph_replace(y, {x: z, twin: z})
    assert "Cannot replace x" not in str(caught.value)
    assert graph_replace(y, {x: z, twin: z}, strict=False).owner.inputs == [z]
    # What is hidden by another replacement does occur.
    out = toys.Named("g")(y)
    assert graph_replace(out, {y: z, x: z}).owner.inputs == [z]


def test_types_that_do_not_fit(toys, replacer):
    x, z = toys.number("x"), toys.other_number("z")
    y = toys.Named("f")(x)
    with pytest.raises(TypeContractError, match="z of type other number cannot stand for x"):
        replacer(y, {x: z})
    with pytest.raises(TypeContractError, match=r"cannot stand for f\.0 .*made at") as caught:
        replacer(toys.Named("g")(y), {y: z})
    assert __file__ in str(caught.value)


def test_types_that_do_not_fit_may_be_tried(toys):
    x, z = toys.number("x"), toys.other_number("z")
    y = toys.Named("g")(toys.Named("f")(x))
    assert clone_replace(y, {x: z}, rebuild_strict=False).type == toys.other_number
    assert graph_replace(y, {x: z}, strict=False).type == toys.other_number

    class Strict(Op):
        def make_node(self, x):
            if x.type != toys.number:
                raise TypeError("numbers only")
            return Apply(self, [x], [x.type()])

    y = Strict()(x)
    with pytest.raises(TypeError, match="numbers only") as caught:
        clone_replace(y, {x: z}, rebuild_strict=False)
    assert __file__ in caught.value.__notes__[0]


def test_types_that_fit_or_can_be_converted(toys, replacer):
    wide, narrow = toys.Wide("w", 2), toys.Wide("w", 1)
    x = wide("x")
    y = toys.Named("f")(x)
    assert replacer(y, {x: narrow("z")}).type == narrow
    convertible = toys.Kind("w-convertible")("c")
    assert str(replacer(y, {x: convertible}).owner.inputs[0].owner) == "convert(c)"


@pytest.mark.parametrize("pair", [(1, 2), ("x", None)])
def test_only_variables_can_be_replaced_by_variables(toys, replacer, pair):
    x = toys.number("x")
    y = toys.Named("f")(x)
    with pytest.raises(TypeContractError, match="from a Variable to a Variable"):
        replacer(y, {x: pair[0]})
    with pytest.raises(TypeContractError, match="from a Variable to a Variable"):
        replacer(y, [pair])
    with pytest.raises(TypeContractError, match="Expected variables as outputs"):
        replacer([y, 3], {x: y})
    with pytest.raises(TypeContractError, match="Expected variables as outputs"):
        replacer(3, {x: y})


@given(st.data())
def test_replaced_graphs_compute_with_the_replaced_values(toys, data):
    graph = data.draw(toys.dags())
    old = data.draw(st.lists(st.sampled_from(graph.variables), unique=True, max_size=3))
    new = [data.draw(st.sampled_from(graph.variables)) for _ in old]
    pairs = dict(zip(old, new, strict=True))
    known = toys.evaluate(new, graph.values)
    wanted = _with_values(toys, graph, dict(zip(old, known, strict=True)))
    for outputs in (
        clone_replace(graph.outputs, pairs),
        graph_replace(graph.outputs, pairs, strict=False),
    ):
        assert toys.evaluate(outputs, graph.values) == wanted


def _with_values(toys, graph, fixed):
    """Evaluate with some variables having given values, whatever computes them."""
    values = {**graph.values, **fixed}
    for node in toposort(graph.outputs, blockers=list(fixed)):
        inputs = [values.get(v, getattr(v, "data", None)) for v in node.inputs]
        inputs = [
            v.get_value() if value is None and isinstance(v, SharedVariable) else value
            for v, value in zip(node.inputs, inputs, strict=True)
        ]
        for index, variable in enumerate(node.outputs):
            values.setdefault(variable, node.op.compute(index, inputs))
    return toys.evaluate(graph.outputs, values)


def test_ancestors_of_the_original_are_untouched(toys, replacer):
    x, z = toys.number("x"), toys.number("z")
    out = toys.Named("g")(toys.Named("f")(x))
    before = list(ancestors([out]))
    replacer(out, {x: z})
    assert list(ancestors([out])) == before
