"""FunctionGraph: who uses what, what comes and goes, and what is refused."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.errors import (
    CycleError,
    InconsistencyError,
    IntegrityError,
    MethodNotDefinedError,
    MissingInputError,
    TypeContractError,
)
from phintys.graph import (
    Feature,
    FunctionGraph,
    SharedVariable,
    ancestors,
    equal_computations,
    toposort,
)
from phintys.graph.features import AlreadyThere


class Log(Feature):
    """Writes down what it is told."""

    def __init__(self):
        self.events = []

    def on_attach(self, fgraph):
        self.events.append("attach")

    def on_detach(self, fgraph):
        self.events.append("detach")

    def on_import(self, fgraph, node, reason):
        assert node in fgraph
        self.events.append(("import", str(node.op), reason))

    def on_prune(self, fgraph, node, reason):
        assert node not in fgraph
        self.events.append(("prune", str(node.op), reason))

    def on_change_input(self, fgraph, node, i, old, new, reason):
        assert new in fgraph
        assert (fgraph.outputs if node == "output" else node.inputs)[i] is new
        who = node if node == "output" else str(node.op)
        self.events.append(("change", who, i, str(old), str(new), reason))

    def clear(self):
        events, self.events = self.events, []
        return events


@pytest.fixture
def simple(toys):
    """out = h(f(x), g(f(x), y)), not copied."""
    x, y = toys.number("x"), toys.number("y")
    a = toys.Named("f")(x, name="a")
    b = toys.Named("g")(a, y, name="b")
    out = toys.Named("h")(a, b, name="out")
    fgraph = FunctionGraph([x, y], [out], clone=False)
    return fgraph, x, y, a, b, out


def ops(nodes):
    return [str(node.op) for node in nodes]


def test_members_and_clients(simple):
    fgraph, x, y, a, b, out = simple
    assert ops(fgraph.apply_nodes) == ["f", "g", "h"]
    assert set(fgraph.variables) == {x, y, a, b, out}
    assert fgraph.clients[x] == [(a.owner, 0)]
    assert fgraph.clients[a] == [(b.owner, 0), (out.owner, 0)]
    assert fgraph.get_clients(out) == [("output", 0)]
    assert a in fgraph
    assert a.owner in fgraph
    assert 3 not in fgraph
    fgraph.check_integrity()
    assert str(fgraph) == "FunctionGraph(x, y -> out; 3 nodes)"


def test_by_default_the_graph_is_a_copy(toys):
    x = toys.number("x")
    shared = SharedVariable(toys.number, 1, name="shared")
    one = toys.number.make_constant(1)
    y = toys.Named("f")(x, shared, one)
    fgraph = FunctionGraph([x], [y])
    assert x not in fgraph
    assert y not in fgraph
    assert fgraph.inputs[0].name == "x"
    assert fgraph.outputs[0].owner.inputs[1:] == [shared, one]
    assert fgraph.outputs[0].origin is y.origin
    kept = FunctionGraph([x], [y], copy_inputs=False)
    assert kept.inputs == [x]
    copied = FunctionGraph([x], [y], copy_orphans=True)
    assert copied.outputs[0].owner.inputs[1] is not shared
    memo = {}
    FunctionGraph([x], [y], memo=memo)
    assert memo[y].owner is memo[y.owner]


def test_inputs_are_found_if_not_given(toys):
    x, y = toys.number("x"), toys.number("y")
    shared = SharedVariable(toys.number, 1)
    out = toys.Named("f")(y, x, shared, toys.number.make_constant(1))
    assert FunctionGraph(outputs=[out], clone=False).inputs == [y, x]


@pytest.mark.parametrize("clone", [True, False])
def test_missing_inputs(toys, clone):
    x, y = toys.number("x"), toys.number("y")
    out = toys.Named("f")(x, y)
    with pytest.raises(MissingInputError, match=r"y \(type number\) is needed by f, made at") as e:
        FunctionGraph([x], [out], clone=clone)
    assert __file__ in str(e.value)
    assert "Add it to the inputs" in str(e.value)
    with pytest.raises(MissingInputError, match="needed by the graph's outputs"):
        FunctionGraph([x], [y], clone=clone)


def test_wrong_ends(toys):
    x = toys.number("x")
    y = toys.Named("f")(x)
    with pytest.raises(InconsistencyError, match="needs outputs"):
        FunctionGraph([x])
    with pytest.raises(InconsistencyError, match="x is an input of the graph already"):
        FunctionGraph([x, x], [y])
    with pytest.raises(InconsistencyError, match="is a constant"):
        FunctionGraph([x, toys.number.make_constant(1)], [y])
    with pytest.raises(InconsistencyError, match=r"(?s)computed by f, at\n .*clone=True"):
        FunctionGraph([y], [y], clone=False)
    assert FunctionGraph([y], [y]).inputs[0].owner is None
    for clone in (True, False):
        with pytest.raises(TypeContractError, match=r"Each input .* must be a Variable, got 1"):
            FunctionGraph([1], [y], clone=clone)
        with pytest.raises(TypeContractError, match=r"Each output .* must be a Variable, got None"):
            FunctionGraph([x], [None], clone=clone)
    with pytest.raises(TypeError, match="memo make sense only with clone=True"):
        FunctionGraph([x], [y], clone=False, memo={})
    with pytest.raises(TypeError, match="unknown"):
        FunctionGraph([x], [y], unknown=1)


def test_update_mapping(toys):
    x, state = toys.number("x"), SharedVariable(toys.number, 0, name="state")
    y = toys.Named("f")(x, state)
    assert FunctionGraph([x, state], [x, y], update_mapping={1: 1}).update_mapping == {1: 1}
    assert FunctionGraph([x, state], [y]).update_mapping == {}
    for wrong in ({1: 0}, {0: 2}, {-1: 0}):
        with pytest.raises(InconsistencyError, match="from output position to input position"):
            FunctionGraph([x, state], [y], update_mapping=wrong)


def test_replace(simple, toys):
    fgraph, x, y, a, b, out = simple
    new = toys.Named("k")(y, name="new")
    log = Log()
    fgraph.attach_feature(log)
    fgraph.replace(a, new, reason="why")
    assert log.clear() == [
        "attach",
        ("import", "k", "why"),
        ("change", "g", 0, "a", "new", "why"),
        ("change", "h", 0, "a", "new", "why"),
        ("prune", "f", "why"),
    ]
    assert out.owner.inputs == [new, b]
    assert b.owner.inputs == [new, y]
    assert a not in fgraph
    assert x in fgraph  # an input stays, needed or not
    assert fgraph.clients[x] == []
    fgraph.check_integrity()
    assert ops(fgraph.toposort()) == ["k", "g", "h"]


def test_replacing_outputs_inputs_and_constants(simple, toys):
    fgraph, x, y, a, _b, out = simple
    fgraph.replace(out, a)
    assert fgraph.outputs == [a]
    assert ops(fgraph.apply_nodes) == ["f"]
    one = toys.number.make_constant(1)
    fgraph.replace(x, one)
    assert a.owner.inputs == [one]
    assert one in fgraph
    fgraph.replace(one, y)
    assert one not in fgraph
    fgraph.check_integrity()
    fgraph.replace(a, x)
    assert fgraph.outputs == [x]
    assert not fgraph.apply_nodes
    fgraph.check_integrity()


def test_replacing_by_what_is_computed_from_it(simple, toys):
    fgraph, _x, _y, a, _b, _out = simple
    new = toys.Named("k")(a)
    fgraph.replace(a, new)
    assert ops(fgraph.toposort()) == ["f", "k", "g", "h"]
    assert new.owner.inputs == [a]
    fgraph.check_integrity()


def test_replacing_by_itself_is_nothing(simple):
    fgraph, _x, _y, a, _b, out = simple
    log = Log()
    fgraph.attach_feature(log)
    fgraph.replace(a, a)
    fgraph.change_node_input(out.owner, 0, a)
    assert log.events == ["attach"]


def test_a_replacement_that_needs_what_it_replaces_is_found_by_sorting(simple):
    fgraph, _x, _y, a, b, _out = simple
    fgraph.replace(a, b)  # b needs a
    with pytest.raises(CycleError, match="g, made at"):
        fgraph.toposort()
    with pytest.raises(IntegrityError, match="depends on itself"):
        fgraph.check_integrity()


def test_what_replace_refuses(simple, toys):
    fgraph, x, y, a, _b, out = simple
    stranger = toys.Named("k")(x)
    with pytest.raises(InconsistencyError, match=r"k\.0 is not in this FunctionGraph.*made at"):
        fgraph.replace(stranger, a)
    with pytest.raises(TypeContractError, match="other number cannot stand for a of type number"):
        fgraph.replace(a, toys.other_number("o"))
    with pytest.raises(TypeContractError, match="only be replaced by a variable, got 3"):
        fgraph.replace(a, 3)
    with pytest.raises(MissingInputError, match=r"z .*needed by k"):
        fgraph.replace(a, toys.Named("k")(toys.number("z")))
    with pytest.raises(MissingInputError, match="needed by the graph's outputs or a replacement"):
        fgraph.replace(a, toys.number("z"))
    with pytest.raises(InconsistencyError, match="not in this FunctionGraph"):
        fgraph.get_clients(stranger)
    with pytest.raises(InconsistencyError, match="not in this FunctionGraph"):
        fgraph.change_node_input(stranger.owner, 0, y)
    fgraph.check_integrity()
    assert equal_computations(fgraph.outputs, [out])


def test_missing_inputs_may_become_inputs(simple, toys):
    fgraph, x, y, a, b, _out = simple
    z = toys.number("z")
    fgraph.replace(a, toys.Named("k")(z), import_missing=True)
    assert fgraph.inputs == [x, y, z]
    w = toys.number("w")
    fgraph.replace(b, w, import_missing=True)
    assert fgraph.inputs == [x, y, z, w]
    fgraph.check_integrity()


def test_a_narrower_or_convertible_type_may_take_the_place(toys):
    wide, narrow = toys.Wide("w", 2), toys.Wide("w", 1)
    x, z, c = wide("x"), narrow("z"), toys.Kind("w-convertible")("c")
    y = toys.Named("f")(x)
    fgraph = FunctionGraph([x, z, c], [y], clone=False)
    fgraph.replace(x, z)
    assert y.owner.inputs == [z]
    with pytest.raises(TypeContractError):
        fgraph.replace(z, x)
    fgraph.replace(y, c)
    assert str(fgraph.outputs[0].owner) == "convert(c)"
    assert fgraph.outputs[0].origin is y.origin
    fgraph.check_integrity()
    fgraph.change_node_input("output", 0, x, check=False)
    assert fgraph.outputs == [x]


def test_a_node_with_several_outputs_stays_while_one_is_used(toys):
    x, y = toys.number("x"), toys.number("y")
    a, b = toys.Named("f", 2)(x)
    fgraph = FunctionGraph([x, y], [a, b], clone=False)
    fgraph.replace(a, y)
    assert a in fgraph
    assert fgraph.clients[a] == []
    fgraph.check_integrity()
    fgraph.replace(b, y)
    assert a not in fgraph
    fgraph.check_integrity()


def test_replace_all_passes_over_what_became_unneeded(toys):
    x, y = toys.number("x"), toys.number("y")
    a, b = toys.Named("f", 2)(x)
    fgraph = FunctionGraph([x, y], [a], clone=False)
    fgraph.replace_all([(a, y), (b, y)])
    assert fgraph.outputs == [y]
    with pytest.raises(InconsistencyError, match="not in this FunctionGraph"):
        fgraph.replace_all([(y, x), (a, y)])
    assert fgraph.outputs == [y]  # nothing was begun
    fgraph.replace_all({y: x})
    assert fgraph.outputs == [x]


def test_replace_all_goes_in_order(toys):
    x, y, z = (toys.number(name) for name in "xyz")
    out = toys.Named("f")(x, y)
    fgraph = FunctionGraph([x, y, z], [out], clone=False)
    fgraph.replace_all([(x, y), (y, z)])
    assert out.owner.inputs == [z, z]


class Veto(Feature):
    def __init__(self, forbidden):
        self.forbidden = forbidden

    def validate(self, fgraph):
        found = [node for node in fgraph.apply_nodes if str(node.op) == self.forbidden]
        if found:
            raise InconsistencyError(f"no {self.forbidden} here")


def test_validated_replacements_are_all_or_nothing(simple, toys):
    fgraph, _x, y, a, b, out = simple
    fgraph.attach_feature(Veto("k"))
    before = snapshot(fgraph)
    good = toys.Named("ok")(y)
    bad = toys.Named("k")(y)
    for pairs in ([(a, good), (b, bad)], {b: bad}, [(a, bad), (b, a)]):
        with pytest.raises(InconsistencyError, match="no k here"):
            fgraph.replace_all_validate(pairs)
        assert snapshot(fgraph) == before
        fgraph.check_integrity()
    with pytest.raises(InconsistencyError):
        fgraph.replace_validate(out, bad)
    assert snapshot(fgraph) == before
    with pytest.raises(InconsistencyError):
        fgraph.replace_all_validate([(a, toys.Named("k")(toys.number("new")))], import_missing=True)
    assert snapshot(fgraph) == before
    with pytest.raises(TypeContractError):
        fgraph.replace_all_validate([(a, good), (b, toys.other_number("o"))])
    assert snapshot(fgraph) == before
    fgraph.replace_all_validate([(a, good)])
    assert out.owner.inputs == [good, b]
    fgraph.replace_validate(good, y)
    fgraph.check_integrity()


def snapshot(fgraph):
    """Everything about a graph but the order in which its parts are listed."""
    return (
        list(fgraph.inputs),
        list(fgraph.outputs),
        {node: list(node.inputs) for node in fgraph.apply_nodes},
        {variable: set(clients) for variable, clients in fgraph.clients.items()},
        fgraph.toposort() if not fgraph._orders else None,
    )


def test_a_transaction_takes_everything_back(simple, toys):
    fgraph, x, y, a, b, out = simple
    before = snapshot(fgraph)

    def inner():
        with fgraph.transaction():
            fgraph.replace(b, x)
            raise KeyError

    def outer():
        with fgraph.transaction():
            fgraph.replace(a, toys.Named("k")(y))
            with pytest.raises(KeyError):
                inner()
            assert fgraph.outputs[0].owner.inputs[1] is b
            fgraph.replace(b, y)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        outer()
    assert snapshot(fgraph) == before
    with fgraph.transaction():
        fgraph.replace(out, x)
    assert fgraph.outputs == [x]


def test_transactions_inside_of_others_are_told_apart(simple):
    fgraph, x, y, a, b, _out = simple
    before = snapshot(fgraph)

    def outer():
        with fgraph.transaction():
            with fgraph.transaction():
                fgraph.replace(b, y)  # both journals are equal now, but not the same
            fgraph.replace(a, x)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        outer()
    assert snapshot(fgraph) == before
    fgraph.check_integrity()


def test_a_transaction_refuses_what_it_cannot_take_back(simple):
    fgraph, _x, _y, a, b, _out = simple
    before = snapshot(fgraph)
    for change in (
        lambda: fgraph.add_output(a),
        lambda: fgraph.remove_output(0),
        lambda: fgraph.remove_input(0),
        lambda: fgraph.remove_node(b.owner),
    ):
        with (
            pytest.raises(InconsistencyError, match="only replacements can be undone"),
            fgraph.transaction(),
        ):
            change()
        assert snapshot(fgraph) == before
    fgraph.add_output(a)


def test_a_feature_that_fails_in_the_middle_is_survived(simple, toys):
    fgraph, x, _y, a, b, _out = simple

    class Fragile(Feature):
        broken = True

        def on_change_input(self, fgraph, node, i, old, new, reason):
            if self.broken and i == 1:
                self.broken = False
                raise RuntimeError("broke")

    before = snapshot(fgraph)
    fgraph.attach_feature(Fragile())
    new = toys.Named("k")(x)
    with pytest.raises(RuntimeError, match="broke"):
        fgraph.replace_all_validate([(a, new), (b, new)])
    assert snapshot(fgraph) == before
    fgraph.check_integrity()


@given(st.data())
def test_random_changes_keep_the_graph_sound_and_can_be_taken_back(toys, data):
    graph = data.draw(toys.dags(min_nodes=1))
    fgraph = FunctionGraph(graph.inputs, graph.outputs, clone=False)
    log = Counting()
    fgraph.attach_feature(log)
    before = snapshot(fgraph)
    try:
        with fgraph.transaction():
            for _ in range(data.draw(st.integers(1, 5))):
                variables = list(fgraph.variables)
                old = data.draw(st.sampled_from(variables))
                safe = [v for v in variables if old not in set(ancestors([v])) or v is old]
                if data.draw(st.booleans()):
                    new = data.draw(st.sampled_from(safe))
                else:
                    new = toys.Named("new")(*data.draw(st.lists(st.sampled_from(safe))))
                expected = expectation(toys, fgraph, graph.values, old, new)
                fgraph.replace(old, new)
                fgraph.check_integrity()
                assert log.nodes == set(fgraph.apply_nodes)
                assert toys.evaluate(fgraph.outputs, graph.values) == expected
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    fgraph.check_integrity()
    assert snapshot(fgraph) == before
    assert log.nodes == set(fgraph.apply_nodes)


def expectation(toys, fgraph, values, old, new):
    """What the outputs come to if all present users of one variable read another."""
    (number,) = toys.evaluate([new], values)
    return toys.evaluate(fgraph.outputs, {**values, old: number})


class Counting(Feature):
    def on_attach(self, fgraph):
        self.nodes = set(fgraph.apply_nodes)

    def on_import(self, fgraph, node, reason):
        assert node not in self.nodes
        assert all(v.owner is None or v.owner in self.nodes for v in node.inputs)
        self.nodes.add(node)

    def on_prune(self, fgraph, node, reason):
        self.nodes.remove(node)


def test_features_are_attached_once_and_detached(simple):
    fgraph, *_ = simple
    log = Log()
    fgraph.attach_feature(log)
    fgraph.attach_feature(log)
    assert fgraph.features == (log,)
    fgraph.remove_feature(log)
    fgraph.remove_feature(log)
    assert log.events == ["attach", "detach"]
    assert fgraph.features == ()


def test_a_feature_may_decline(simple):
    fgraph, *_ = simple

    class Once(Feature):
        def on_attach(self, fgraph):
            if any(isinstance(other, Once) for other in fgraph.features):
                raise AlreadyThere

    first = Once()
    fgraph.attach_feature(first)
    fgraph.attach_feature(Once())
    assert fgraph.features == (first,)


def test_any_object_may_be_a_feature(simple, toys):
    fgraph, _x, y, _a, b, _out = simple

    class Plain:
        def on_prune(self, fgraph, node, reason):
            self.pruned = str(node.op)

    plain = Plain()
    fgraph.attach_feature(plain)
    fgraph.replace(b, y)
    assert plain.pruned == "g"


def test_features_given_at_the_start_see_the_graph_come(toys):
    x = toys.number("x")
    log = Log()
    FunctionGraph([x], [toys.chain(2, x)], features=[log])
    assert log.events == ["attach", ("import", "f", "init"), ("import", "f", "init")]


def test_callbacks_by_name(simple):
    fgraph, *_ = simple

    class Asked(Feature):
        def __init__(self, answer):
            self.answer = answer
            self.heard = []

        def question(self, fgraph, word):
            self.heard.append(word)
            return self.answer

    one, two = Asked(1), Asked(2)
    for feature in (one, Log(), two):
        fgraph.attach_feature(feature)
    assert fgraph.collect_callbacks("question", "hm") == {one: 1, two: 2}
    fgraph.execute_callbacks("question", word="well")
    assert one.heard == two.heard == ["hm", "well"]


def test_a_feature_may_leave_while_it_is_called(simple, toys):
    fgraph, _x, y, a, _b, _out = simple

    class Leaving(Feature):
        heard = 0

        def on_change_input(self, fgraph, node, i, old, new, reason):
            self.heard += 1
            fgraph.remove_feature(self)

    leaving, counting = Leaving(), Log()
    fgraph.attach_feature(leaving)
    fgraph.attach_feature(counting)
    fgraph.replace(a, y)
    assert leaving.heard == 1
    assert [event[0] for event in counting.events] == ["a", "change", "change", "prune"]


def test_orderings_of_features_are_respected(simple, toys):
    fgraph, _x, y, a, b, _out = simple
    k = toys.Named("k")(y)
    fgraph.add_output(k)
    assert ops(fgraph.toposort()) == ["f", "g", "h", "k"]

    class Order(Feature):
        def __init__(self, orderings):
            self.pairs = orderings

        def orderings(self, fgraph):
            return self.pairs

    first = Order({a.owner: [k.owner]})
    fgraph.attach_feature(first)
    assert ops(fgraph.toposort()) == ["k", "f", "g", "h"]
    second = Order({a.owner: [b.owner]})
    fgraph.attach_feature(second)
    assert fgraph.orderings() == {a.owner: [k.owner, b.owner]}
    with pytest.raises(CycleError):
        fgraph.toposort()
    second.pairs = {}
    assert ops(fgraph.toposort()) == ["k", "f", "g", "h"]
    first.pairs = {}  # a feature may change its mind
    assert ops(fgraph.toposort()) == ["f", "g", "h", "k"]
    first.pairs = {a.owner: [k.owner]}
    fgraph.remove_feature(first)
    fgraph.remove_feature(second)
    assert ops(fgraph.toposort()) == ["f", "g", "h", "k"]


def test_the_sorted_list_is_one_s_own(simple):
    fgraph, *_ = simple
    fgraph.toposort().clear()
    assert ops(fgraph.toposort()) == ["f", "g", "h"]


def test_outputs_come_and_go(simple, toys):
    fgraph, x, y, a, _b, _out = simple
    fgraph.add_output(a)
    fgraph.add_output(a)
    fgraph.add_output(toys.Named("k")(y))
    fgraph.update_mapping = {0: 0, 2: 1, 3: 0}
    assert set(fgraph.clients[a]) >= {("output", 1), ("output", 2)}
    fgraph.check_integrity()
    fgraph.remove_output(0)
    assert fgraph.update_mapping == {1: 1, 2: 0}
    assert fgraph.outputs[:2] == [a, a]
    assert ops(fgraph.apply_nodes) == ["f", "k"]
    fgraph.check_integrity()
    fgraph.remove_output(-1)
    assert fgraph.outputs == [a, a]
    fgraph.check_integrity()
    with pytest.raises(IndexError):
        fgraph.remove_output(2)
    with pytest.raises(MissingInputError):
        fgraph.add_output(toys.number("z"))
    fgraph.add_output(z := toys.number("z"), import_missing=True)
    assert fgraph.inputs == [x, y, z]


def test_removing_an_input_removes_what_depends_on_it(simple, toys):
    fgraph, x, y, a, _b, _out = simple
    fgraph.add_output(a)
    fgraph.add_output(y)
    fgraph.update_mapping = {0: 0, 1: 0}
    log = Log()
    fgraph.attach_feature(log)
    fgraph.remove_input(1, reason="why")
    assert fgraph.inputs == [x]
    assert fgraph.outputs == [a]
    assert fgraph.update_mapping == {0: 0}
    assert ops(fgraph.apply_nodes) == ["f"]
    assert sorted(event[1] for event in log.events[1:]) == ["g", "h"]
    fgraph.check_integrity()
    fgraph.add_input(z := toys.number("z"))
    assert fgraph.inputs == [x, z]
    fgraph.remove_input(0)
    assert fgraph.outputs == []
    assert fgraph.inputs == [z]
    fgraph.check_integrity()


def test_removing_a_node_removes_what_depends_on_it(simple):
    fgraph, _x, _y, a, b, _out = simple
    fgraph.add_output(a)
    fgraph.remove_node(b.owner)
    assert ops(fgraph.apply_nodes) == ["f"]
    assert fgraph.outputs == [a]
    fgraph.check_integrity()
    with pytest.raises(InconsistencyError, match="not in this FunctionGraph"):
        fgraph.remove_node(b.owner)


def test_clients_by_hand(simple, toys):
    fgraph, x, _y, a, _b, _out = simple
    k = toys.Named("k")(x)
    fgraph.import_node(k.owner)
    assert ops(fgraph.toposort()) == ["f", "g", "h", "k"]  # though nothing uses it yet
    with pytest.raises(InconsistencyError, match="is not a client of"):
        fgraph.remove_client(k, (a.owner, 0))
    with pytest.raises(InconsistencyError, match="not in this FunctionGraph"):
        fgraph.add_client(toys.number("z"), (a.owner, 0))
    fgraph.remove_client(x, (k.owner, 0), remove_if_empty=False)
    fgraph.add_client(x, (k.owner, 0))
    fgraph.outputs.append(k)
    fgraph.add_client(k, ("output", 1))
    fgraph.check_integrity()
    fgraph.outputs.pop()
    fgraph.remove_client(k, ("output", 1))
    assert k not in fgraph
    fgraph.check_integrity()


def test_importing_what_cannot_be_imported_changes_nothing(simple, toys):
    fgraph, x, _y, _a, _b, _out = simple
    before = snapshot(fgraph)
    part = toys.chain(3, x)
    with pytest.raises(MissingInputError):
        fgraph.import_var(toys.Named("k")(part, toys.number("z")))
    assert snapshot(fgraph) == before


def test_many_clients_are_exchanged_one_by_one(toys):
    """Lists of clients stay right beyond the length from which on their places are kept."""
    x, y = toys.number("x"), toys.number("y")
    f = toys.Named("f")
    users = [f(x) for _ in range(100)]
    out = toys.Named("g")(*users, x, x)
    fgraph = FunctionGraph([x, y], [out], clone=False)
    for user in users[::3]:
        fgraph.change_node_input(user.owner, 0, y)
    fgraph.check_integrity()
    fgraph.replace(x, y)
    assert fgraph.clients[x] == []
    assert len(fgraph.clients[y]) == 102
    fgraph.check_integrity()
    for user in users[::2]:
        fgraph.replace(user, x)
    fgraph.check_integrity()
    fgraph.replace(y, x)
    fgraph.replace(x, y)
    fgraph.check_integrity()
    fgraph.replace(out, x)
    assert fgraph.clients[y] == []
    assert fgraph._places == {}
    fgraph.check_integrity()


def test_new_clients_of_a_variable_with_many(toys):
    x, y = toys.number("x"), toys.number("y")
    f = toys.Named("f")
    users = [f(x) for _ in range(50)]
    out = toys.Named("g")(*users)
    fgraph = FunctionGraph([x, y], [out], clone=False)
    fgraph.change_node_input(users[0].owner, 0, y)  # from here on places are kept
    fgraph.change_node_input(users[0].owner, 0, x)
    for user in users[1:20]:
        fgraph.replace(user, toys.Named("h")(x, x))
    fgraph.check_integrity()
    for node in list(fgraph.apply_nodes)[::-1]:
        if str(node.op) == "h":
            fgraph.replace(node.outputs[0], y)
    fgraph.change_node_input(users[0].owner, 0, y)
    fgraph.check_integrity()
    assert len(fgraph.clients[x]) == 30


def test_a_user_that_a_feature_makes_leave_is_passed_over(toys):
    x, y = toys.number("x"), toys.number("y")
    first, second = toys.Named("f")(x), toys.Named("g")(x)
    fgraph = FunctionGraph([x, y], [first, second], clone=False)

    class Removing(Feature):
        def on_change_input(self, fgraph, node, i, old, new, reason):
            if second in fgraph and node is first.owner:
                fgraph.replace(second, y)

    fgraph.attach_feature(Removing())
    fgraph.replace(x, y)
    assert fgraph.outputs == [first, y]
    assert second.owner.inputs == [x]  # it is none of the graph's business any more
    fgraph.check_integrity()


def test_clones(simple, toys):
    fgraph, _x, _y, _a, b, out = simple
    fgraph.update_mapping = {0: 1}
    log = Log()
    fgraph.attach_feature(log)
    twin, equiv = fgraph.clone_get_equiv()
    twin.check_integrity()
    assert set(twin.variables).isdisjoint(fgraph.variables)
    assert equiv[out] is twin.outputs[0]
    assert equiv[b.owner] in twin.apply_nodes
    assert twin.update_mapping == {0: 1}
    assert [type(feature) for feature in twin.features] == [Log]
    assert twin.features[0] is not log
    twin.replace(twin.outputs[0], twin.inputs[0])
    assert fgraph.outputs == [out]
    assert fgraph.clone_get_equiv(attach_features=False)[0].features == ()
    for other in (fgraph.clone(), copy.copy(fgraph)):
        assert equal_computations(other.outputs, fgraph.outputs, other.inputs, fgraph.inputs)


def test_features_that_cannot_be_cloned(simple):
    fgraph, *_ = simple

    class Needy(Feature):
        def __init__(self, need):
            self.need = need

    for feature, message in ((Needy(1), "Needy cannot be made"), (object(), r"has no clone\(\)")):
        fgraph.attach_feature(feature)
        with pytest.raises(MethodNotDefinedError, match=message):
            fgraph.clone()
        assert fgraph.clone_get_equiv(attach_features=False)[0].features == ()
        fgraph.remove_feature(feature)


def test_features_go_with_pickles_and_deep_copies(simple):
    fgraph, *_ = simple
    log = Log()
    fgraph.attach_feature(log)
    twin = copy.deepcopy(fgraph)
    assert [type(feature) for feature in twin.features] == [Log]
    assert twin.features[0].events.count("attach") == 2
    twin.replace(twin.outputs[0], twin.inputs[0])
    assert twin.features[0].events[-1][0] == "prune"
    assert log.events == ["attach"]


def test_nodes_changed_behind_its_back_are_noticed(simple, toys):
    fgraph, x, y, _a, b, _out = simple
    b.owner.inputs[0] = toys.Named("k")(x)
    fgraph.add_output(y)
    with pytest.raises(InconsistencyError, match="needs k, which it does not have"):
        fgraph.toposort()


def test_two_graphs_of_the_same_nodes(toys):
    x = toys.number("x")
    out = toys.chain(3, x)
    first = FunctionGraph([x], [out], clone=False)
    second = FunctionGraph([x], [out], clone=False)
    first.check_integrity()
    second.check_integrity()
    first.replace(out, x)
    second.check_integrity()
    second.replace(out.owner.inputs[0], x)
    second.check_integrity()


@given(st.data())
def test_import_order_is_one_of_computation(toys, data):
    graph = data.draw(toys.dags())
    fgraph = FunctionGraph(graph.inputs, graph.outputs, clone=False)
    assert list(fgraph.apply_nodes) == fgraph.toposort() == toposort(graph.outputs)
    fgraph.check_integrity()
