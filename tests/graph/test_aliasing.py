"""Views and overwriting: who shares memory, who must come first, and what cannot be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import CycleError, InconsistencyError
from phintys.graph import (
    Apply,
    FunctionGraph,
    HasInnerGraph,
    Op,
    SharedVariable,
    ancestors,
    toposort,
)
from phintys.graph.alias_map import destroyed_inputs, root_of, view_roots
from phintys.graph.aliasing import (
    DestroyHandler,
    check_aliasing,
    destroy_orderings,
    destroyers,
    fast_inplace_check,
)
from tests.budget import budget


def graph(inputs, *outputs):
    return FunctionGraph(inputs, outputs, clone=False)


def names(nodes):
    return [str(node.op) for node in nodes]


def test_destroyers(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    z = ops["inplace"](x, y)
    s = ops["scratch"](y)
    fgraph = graph([x, y], z, s)
    assert destroyers(fgraph) == {x: [z.owner], y: [s.owner]}
    assert destroyers(graph([x], ops["read"](x))) == {}


def test_readers_come_first(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    z = ops["inplace"](x, y)
    before = toys.Named("log")(x)
    through_view = toys.Named("exp")(ops["view"](x))
    after = toys.Named("sin")(z)
    fgraph = graph([x, y], after, before, through_view)
    assert names(destroy_orderings(fgraph)[z.owner]) == ["log", "view", "exp"]
    fgraph.attach_feature(DestroyHandler([x]))
    order = names(fgraph.toposort())
    assert order.index("inplace") > max(order.index(name) for name in ("log", "view", "exp"))
    assert order.index("sin") > order.index("inplace")
    fgraph.validate()


def test_nothing_is_computed_where_nothing_is_overwritten(toys, ops, monkeypatch):
    from phintys.graph import aliasing

    monkeypatch.setattr(aliasing, "AliasMap", None)  # calling it would fail
    x = toys.number("x")
    fgraph = graph([x], ops["view"](x))
    assert destroy_orderings(fgraph) == {}
    check_aliasing(fgraph)
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    fgraph.toposort()


@pytest.mark.parametrize("name", ["inplace", "scratch"])
def test_inputs_must_be_declared_mutable(toys, ops, name):
    x, y = toys.number("x"), toys.number("y")
    fgraph = graph([x, y], ops[name](x, y))
    with pytest.raises(InconsistencyError, match="not declared mutable") as caught:
        check_aliasing(fgraph)
    assert __file__ in str(caught.value)
    with pytest.raises(InconsistencyError, match="overwrites x, an input"):
        check_aliasing(fgraph, [y])
    check_aliasing(fgraph, [x])
    fgraph = graph([x, y], ops[name](ops["view"](x), y))
    with pytest.raises(InconsistencyError, match=r"x \(through its view view\.0\)"):
        check_aliasing(fgraph)
    fgraph = graph([x, y], ops[name](ops["read"](x), y))
    check_aliasing(fgraph)


def test_constants_and_shared_variables(toys, ops):
    one = toys.number.make_constant(1)
    shared = SharedVariable(toys.number, 1, name="shared")
    with pytest.raises(InconsistencyError, match=r"Constant\{1\}, a constant"):
        check_aliasing(graph([], ops["inplace"](one)))
    fgraph = graph([], ops["inplace"](shared))
    with pytest.raises(InconsistencyError, match="shared, a shared variable"):
        check_aliasing(fgraph)
    check_aliasing(fgraph, [shared])


def test_a_value_is_overwritten_once(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    a = ops["read"](x)
    first, second = ops["inplace"](a, x), ops["scratch"](ops["view"](a))
    fgraph = graph([x, y], first, second)
    with pytest.raises(InconsistencyError, match="would be overwritten twice") as caught:
        check_aliasing(fgraph)
    assert str(caught.value).count(__file__) == 2
    # One after the other is another matter: the second overwrites what the first left.
    again = ops["inplace"](ops["inplace"](ops["read"](x)))
    check_aliasing(graph([x], again))
    # Two inputs of one node that are the two halves of a choice.
    either = ops["view2"](ops["read"](x), b := ops["read"](y))
    with pytest.raises(InconsistencyError, match="twice"):
        check_aliasing(graph([x, y], ops["inplace"](either), ops["inplace"](b)))


def test_outputs_must_survive(toys, ops):
    x = toys.number("x")
    a = ops["read"](x)
    with pytest.raises(InconsistencyError, match=r"read\.0, an output of the graph"):
        check_aliasing(graph([x], a, ops["inplace"](a)))
    v = ops["view"](a)
    with pytest.raises(InconsistencyError, match=r"view\.0, an output of the graph"):
        check_aliasing(graph([x], v, ops["inplace"](a)))
    with pytest.raises(InconsistencyError, match="x, an output of the graph"):
        check_aliasing(graph([x], x, ops["inplace"](x)), [x])


def test_a_node_that_reads_what_it_overwrites(toys, ops):
    x = toys.number("x")
    a = ops["read"](x)
    same, view = (a, a), (a, ops["view"](a))
    for pair in (same, view):
        with pytest.raises(InconsistencyError, match="reads the same memory as input 1"):
            check_aliasing(graph([x], ops["inplace"](*pair)))
    tolerant = toys.Aliasing("tolerant", destroys=((0, (0,)),))
    tolerant.destroyhandler_tolerate_same = [(0, 1)]
    check_aliasing(graph([x], tolerant(*same)))
    with pytest.raises(InconsistencyError, match="reads the same memory"):
        check_aliasing(graph([x], tolerant(*view)))
    easy = toys.Aliasing("easy", destroys=((0, (0,)),))
    easy.destroyhandler_tolerate_aliased = [(0, 1)]
    check_aliasing(graph([x], easy(*view)))


def test_an_order_that_cannot_be(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    a = ops["read"](x)
    z = ops["inplace"](a, y)
    bad = toys.Named("late")(a, z)  # reads a, but only after it is gone
    fgraph = graph([x, y], bad)
    with pytest.raises(CycleError, match="late, made at") as caught:
        check_aliasing(fgraph)
    assert "overwrites a value must run after all others" in caught.value.__notes__[0]
    fgraph.attach_feature(DestroyHandler())
    with pytest.raises(InconsistencyError):
        fgraph.toposort()
    # Two nodes that each overwrite what the other reads.
    b = toys.Named("other")(x)
    fgraph = graph([x, y], ops["inplace"](a, b), ops["inplace"](b, a))
    with pytest.raises(CycleError):
        check_aliasing(fgraph)


def test_the_handler_refuses_changes(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    a = toys.Named("add")(ops["read"](x), y)
    b = toys.Named("add")(a.owner.inputs[0], y)
    fgraph = FunctionGraph([x, y], [a, b], [DestroyHandler()], clone=False)
    one = ops["inplace"](*a.owner.inputs)
    two = ops["inplace"](*b.owner.inputs)
    fgraph.replace_validate(a, one)
    before = fgraph.toposort()
    assert names(before) == ["read", "add", "inplace"]
    with pytest.raises(InconsistencyError, match="twice"):
        fgraph.replace_validate(b, two)
    assert fgraph.toposort() == before
    handler = fgraph.features[0]
    assert list(handler) == [one.owner]
    fgraph.replace(one, x)
    assert list(handler) == []
    assert handler.clone().mutable_inputs == []


def test_a_handler_attached_late_knows_what_is_there(toys, ops):
    x = toys.number("x")
    z = ops["inplace"](x)
    fgraph = graph([x], z)
    handler = DestroyHandler()
    fgraph.attach_feature(handler)
    assert list(handler) == [z.owner]
    with pytest.raises(InconsistencyError, match="not declared mutable"):
        fgraph.validate()


# Random graphs, held against memory that is really shared.


class Memory:
    """A cell that views share and that overwriting changes."""

    def __init__(self, value):
        self.value = value


def run(toys, fgraph, order, values):
    """Compute the outputs in memory that is shared as the Ops say."""
    cells = {variable: Memory(value) for variable, value in values.items()}
    for node in order:
        inputs = [_cell(variable, cells) for variable in node.inputs]
        before = [cell.value for cell in inputs]
        destroyed = destroyed_inputs(node)
        for index, output in enumerate(node.outputs):
            result = node.op.compute(index, before)
            viewed = node.op.view_map.get(index, [])
            if index in destroyed.values():
                (position,) = (i for i, by in destroyed.items() if by == index)
                inputs[position].value = result
                cells[output] = inputs[position]
            elif viewed:
                cells[output] = inputs[viewed[sum(before) % len(viewed)]]
            else:
                cells[output] = Memory(result)
        for position, by in destroyed.items():
            if by is None:
                inputs[position].value = "rubbish"
    return [_cell(variable, cells).value for variable in fgraph.outputs]


def _cell(variable, cells):
    return cells.get(variable) or Memory(variable.data)


def pure(toys, fgraph, values):
    """Compute the outputs as if nothing were ever overwritten."""
    values = dict(values)
    for node in toposort(fgraph.outputs):
        before = [values.get(v, getattr(v, "data", None)) for v in node.inputs]
        for index, output in enumerate(node.outputs):
            viewed = node.op.view_map.get(index, [])
            values[output] = (
                before[viewed[sum(before) % len(viewed)]]
                if viewed
                else node.op.compute(index, before)
            )
    return [values.get(v, getattr(v, "data", None)) for v in fgraph.outputs]


@st.composite
def aliasing_graphs(draw, toys, ops):
    inputs = [toys.number(f"x{i}") for i in range(2)]
    variables = [*inputs, toys.number.make_constant(5)]
    for _ in range(draw(st.integers(3, 8))):
        op = ops[draw(st.sampled_from(["view", "view2", "inplace", "inplace", "scratch", "read"]))]
        count = 1 if op.name == "view" else 2
        used = [draw(st.sampled_from(variables)) for _ in range(count)]
        if op.destroy_map and not draw(st.booleans()):
            used = [ops["read"](variable) for variable in used]
            variables.extend(used)
        variables.append(op(*used))
    used = {variable for v in variables if v.owner is not None for variable in v.owner.inputs}
    outputs = draw(st.permutations([v for v in variables[2:] if v not in used]))
    return FunctionGraph(inputs, outputs, clone=False), draw(st.sampled_from([[], inputs]))


@budget(200)
@given(st.data())
def test_what_is_accepted_computes_as_if_nothing_were_overwritten(toys, ops, data):
    fgraph, mutable = data.draw(aliasing_graphs(toys, ops))
    values = dict(zip(fgraph.inputs, (100, 200), strict=True))
    roots = view_roots(fgraph)
    for variable in fgraph.variables:
        assert set(root_of(variable)) == set(roots[variable])
        assert set(roots[variable]) <= set(ancestors([variable]))
    try:
        check_aliasing(fgraph, mutable)
    except InconsistencyError:
        return
    fgraph.attach_feature(DestroyHandler(mutable))
    assert run(toys, fgraph, fgraph.toposort(), values) == pure(toys, fgraph, values)


@budget(200)
@given(st.data())
def test_the_order_does_not_depend_on_how_a_graph_came_to_be(toys, ops, data):
    x = toys.number("x")
    readers = [toys.Named(name)(x) for name in data.draw(st.permutations("abcd"))]
    outputs = [ops["inplace"](x), ops["read"](ops["view"](x)), *readers]
    fgraph = graph([x], *data.draw(st.permutations(outputs)))
    for _ in range(data.draw(st.integers(1, 3))):
        node = data.draw(st.sampled_from(list(fgraph.apply_nodes)))
        fgraph.replace_all(zip(node.outputs, node.clone().outputs, strict=True))
    twin, equiv = fgraph.clone_get_equiv(attach_features=False)
    for one in (fgraph, twin):
        one.attach_feature(DestroyHandler(one.inputs))
    assert twin.toposort() == [equiv[node] for node in fgraph.toposort()]
    assert twin.inputs_first() == [equiv[node] for node in fgraph.inputs_first()]


def test_a_long_chain_of_overwriting_nodes(toys, ops, deep):
    x = toys.number("x")
    fgraph = graph([x], toys.chain(deep, x, ops["inplace"]))
    check_aliasing(fgraph, [x])
    fgraph.attach_feature(DestroyHandler([x]))
    assert len(fgraph.toposort()) == deep
    assert root_of(toys.chain(deep, x, ops["view"])) == (x,)


def test_what_might_be_overwritten(toys, ops):
    x, y, one = toys.number("x"), toys.number("y"), toys.number.make_constant(1)
    inner, other = ops["read"](x), ops["read"](y)
    view, both = ops["view"](inner), ops["view2"](inner, other)
    result, left = ops["read"](view), ops["view"](ops["read"](both))
    everything = [x, y, one, inner, other, view, both, result, left]
    fgraph = graph([x, y], result, left, ops["read"](one))
    assert fast_inplace_check(fgraph, everything) == [inner, other, view, both]
    fgraph.attach_feature(DestroyHandler([x]))
    assert fast_inplace_check(fgraph, everything) == [x, inner, other, view, both]
    # What is overwritten once is not overwritten again, through any view.
    fgraph.replace_validate(result, ops["inplace"](view, y))
    assert fast_inplace_check(fgraph, [x, inner, other, view, both]) == [x, other]
    for victim in (inner, both):
        with pytest.raises(InconsistencyError):
            fgraph.replace_validate(fgraph.outputs[2], ops["scratch"](victim))
    fgraph.replace_validate(fgraph.outputs[2], ops["scratch"](other))


# The handler remembers what it has checked: that must make no difference.


@budget(200)
@given(st.data())
def test_changes_are_judged_as_if_all_were_checked(toys, ops, data):
    fgraph, mutable = data.draw(aliasing_graphs(toys, ops))
    try:
        check_aliasing(fgraph, mutable)
    except InconsistencyError:
        return
    fgraph.attach_feature(DestroyHandler(mutable))
    for _ in range(data.draw(st.integers(1, 6))):
        variables = sorted(fgraph.variables, key=str)
        computed = [v for v in variables if v.owner is not None]
        if not computed:
            return
        old = data.draw(st.sampled_from(computed))
        name = data.draw(st.sampled_from(["view", "read", "read", "inplace", "scratch", "none"]))
        new = data.draw(st.sampled_from(variables))
        if name != "none":
            extra = [] if name == "view" else [data.draw(st.sampled_from(variables))]
            new = ops[name](new, *extra)
        if old in ancestors([new]):
            continue  # the graph would depend on itself, which is found out elsewhere
        try:
            fgraph.replace_validate(old, new)
            accepted = True
        except InconsistencyError:
            accepted = False
        if accepted:
            check_aliasing(fgraph, mutable)
            continue
        # What was refused would not have passed without a memory either.
        fgraph.replace_all([(old, new)])
        with pytest.raises(InconsistencyError):
            check_aliasing(fgraph, mutable)
        return


def test_a_victim_that_becomes_a_constant_is_judged_again(toys, ops):
    x = toys.number("x")
    victim = ops["read"](x, x)
    fgraph = graph([x], ops["inplace"](victim, x))
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    fgraph.replace_validate(fgraph.outputs[0].owner.inputs[1], toys.number.make_constant(2))
    with pytest.raises(InconsistencyError, match="a constant"):
        fgraph.replace_validate(victim, toys.number.make_constant(1))


def test_a_victim_that_becomes_an_output_is_judged_again(toys, ops):
    x = toys.number("x")
    victim = ops["read"](x, x)
    fgraph = graph([x], ops["inplace"](victim, x), ops["read"](victim, x))
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    fgraph.add_output(victim)
    with pytest.raises(InconsistencyError, match="an output of the graph"):
        fgraph.validate()
    fgraph.remove_output(2)
    fgraph.validate()
    fgraph.remove_output(1)
    fgraph.add_output(victim)  # as many outputs as before
    with pytest.raises(InconsistencyError, match="an output of the graph"):
        fgraph.validate()


def test_the_whole_graph_is_checked_once(toys, ops, monkeypatch):
    from phintys.graph import aliasing

    checks = []
    whole = aliasing._check
    monkeypatch.setattr(aliasing, "_check", lambda *given: checks.append(1) or whole(*given))
    x, y = toys.number("x"), toys.number("y")
    inner = ops["read"](x)
    early = toys.chain(20, y, ops["read"])  # beside all that
    above = toys.chain(20, early, ops["read"])
    late = toys.chain(20, ops["inplace"](inner, above), ops["read"])
    fgraph = graph([x, y], late, ops["read"](inner))
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    for node in list(fgraph.toposort()):
        (output,) = node.outputs
        if node.op == ops["read"] and output is not inner and node.inputs[0] is not inner:
            fgraph.replace_validate(output, ops["read"](node.inputs[0], node.inputs[0]))
    fgraph.replace_validate(fgraph.outputs[1], ops["read"](inner, inner))
    for new in (ops["inplace"](inner, y), ops["scratch"](x, y), ops["read"](inner, late)):
        with pytest.raises(InconsistencyError):
            fgraph.replace_validate(fgraph.outputs[1], new)
    fgraph.replace_validate(fgraph.outputs[1], ops["inplace"](ops["read"](inner), y))
    assert len(checks) == 1


def test_changes_far_from_what_is_overwritten_are_told_from_others(toys, ops, monkeypatch):
    looked = []
    whole = DestroyHandler._check_changes
    monkeypatch.setattr(
        DestroyHandler, "_check_changes", lambda *given: looked.append(1) or whole(*given)
    )
    x, y = toys.number("x"), toys.number("y")
    both = toys.Aliasing("both", 2, destroys=((0, (0,)), (1, (0,))))
    first, second = both(ops["read"](x), y)
    shown = ops["view"](first)
    z = ops["inplace"](first, y)
    middle = ops["read"](y)
    fgraph = graph([x, y], z, toys.Named("last")(middle), ops["read"](shown))
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    for found in (first, second, shown, ops["view"](second)):
        with pytest.raises(InconsistencyError):  # it was overwritten when z was computed
            fgraph.replace_validate(middle, ops["read"](found, z))
    assert len(looked) == 4
    for _ in range(3):
        new = ops["read"](ops["read"](y), y)
        fgraph.replace_validate(middle, new)
        middle = new
    fgraph.replace_validate(middle, ops["read"](z))
    assert len(looked) == 4


def test_a_change_that_leaves_no_order_is_explained(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    a = ops["read"](x)
    z = ops["inplace"](a, y)
    fgraph = graph([x, y], z, toys.Named("last")(y))
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    with pytest.raises(CycleError, match="late, made at") as caught:
        fgraph.replace_validate(fgraph.outputs[1], toys.Named("late")(z, a))
    assert "overwrites a value must run after all others" in caught.value.__notes__[0]
    assert names(fgraph.toposort()) == ["read", "inplace", "last"]
    fgraph.validate()


def test_a_second_output_in_the_memory_of_the_first_is_known(toys, ops):
    x, y = toys.number("x"), toys.number("y")
    # Both outputs overwrite x, so what overwrites one overwrites the other.
    first, second = toys.Aliasing("both", 2, destroys=((0, (0,)), (1, (0,))))(ops["read"](x), y)
    fgraph = graph([x, y], second, ops["inplace"](ops["read"](y), x), ops["read"](first))
    fgraph.attach_feature(DestroyHandler())
    fgraph.validate()
    with pytest.raises(InconsistencyError, match=r"both\.1, an output of the graph"):
        fgraph.replace_validate(fgraph.outputs[2], ops["inplace"](first, y))


def test_inner_graphs_are_judged_too(toys, ops):
    class Within(HasInnerGraph, Op):
        __props__ = ("mutable_inner",)

        def __init__(self, fgraph, mutable_inner=()):
            self.fgraph, self.mutable_inner = fgraph, mutable_inner

        def make_node(self, *inputs):
            return Apply(self, inputs, [toys.number()])

    x, y, u = toys.number("x"), toys.number("y"), toys.number("u")
    inner = graph([u], ops["inplace"](u))
    unsound, sound = Within(inner), Within(inner, (0,))
    check_aliasing(graph([x], sound(x)))
    outer = Within(graph([y], unsound(y)))
    for op in (unsound, outer):
        with pytest.raises(InconsistencyError, match="overwrites u, an input") as caught:
            check_aliasing(graph([x], op(x)))
        assert "In the inner graph of" in caught.value.__notes__[0]
        fgraph = graph([x], ops["read"](x))
        fgraph.attach_feature(DestroyHandler())
        for _ in range(2):
            with pytest.raises(InconsistencyError, match="overwrites u, an input"):
                fgraph.replace_validate(fgraph.outputs[0], op(x))
            fgraph.replace_validate(fgraph.outputs[0], sound(x))
