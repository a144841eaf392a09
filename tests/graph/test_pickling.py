"""Pickles and deep copies: the same graph again, with everything shared that was shared."""

import copy
import io
import pickle
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys.graph import (
    Apply,
    FunctionGraph,
    HasInnerGraph,
    Op,
    SharedVariable,
    Type,
    Variable,
    ancestors,
    equal_computations,
    toposort,
)

# Two picklers, and deepcopy: each takes an object and returns it again.
COPIERS = {
    "C": lambda thing: pickle.loads(pickle.dumps(thing)),
    "python": lambda thing: pickle._loads(pickle._dumps(thing)),
    "protocol 2": lambda thing: pickle.loads(pickle.dumps(thing, protocol=2)),
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(params=COPIERS)
def copier(request):
    return COPIERS[request.param]


PICKLERS = {"C": pickle.Pickler, "python": pickle._Pickler}


@pytest.fixture(params=PICKLERS)
def pickler_class(request):
    return PICKLERS[request.param]


def test_a_leaf(toys, copier):
    x = toys.number("x")
    x.tag.note = [1]
    again = copier(x)
    assert again is not x
    assert (again.name, again.type, again.owner, again.tag.note) == ("x", x.type, None, [1])


def test_a_graph(toys, copier):
    x = toys.number("x")
    y = toys.Named("f")(x, name="y")
    first, second = toys.Named("g", 2)(y, toys.number.make_constant(3))
    first.owner.tag.note = 1
    y.tag.note = [2]
    again = copier(second)
    node = again.owner
    assert again.index == 1
    assert node.outputs[1] is again
    assert node.op == first.owner.op
    assert node.tag.note == 1
    assert str(node.origin) == str(first.owner.origin)
    (again_y, constant) = node.inputs
    assert constant.data == 3
    assert (again_y.name, again_y.tag.note, again_y.index) == ("y", [2], 0)
    assert again_y.owner.inputs[0].name == "x"
    mine, others = set(ancestors([second])), set(ancestors([again]))
    assert mine.isdisjoint(others)


def test_a_node_brings_its_outputs(toys, copier):
    node = toys.Named("f", 2).make_node(toys.number("x"))
    again = copier(node)
    assert [v.owner for v in again.outputs] == [again, again]
    assert [v.index for v in again.outputs] == [0, 1]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0, 2]])
def test_variables_of_one_graph_go_on_sharing(toys, copier, order):
    x = toys.number("x")
    y = toys.Named("f")(x)
    z = toys.Named("g")(y, x)
    things = [[x, y, z][i] for i in order]
    again = copier({"list": things, "node": z.owner, "x": x})
    x2, y2, z2 = again["x"], again["node"].inputs[0], again["node"].outputs[0]
    assert again["list"] == [[x2, y2, z2][i] for i in order]
    assert y2.owner.inputs == [x2]
    assert z2.owner.inputs == [y2, x2]


@given(data=st.data(), name=st.sampled_from(sorted(COPIERS)))
def test_any_graph_comes_back_equal_and_with_its_sharing(toys, data, name):
    graph = data.draw(toys.dags())
    things = [data.draw(st.permutations(graph.variables)), graph.inputs, graph.outputs]
    variables, inputs, outputs = COPIERS[name](things)
    leaves = [v for v in things[0] if v.owner is None]
    twins = [w for v, w in zip(things[0], variables, strict=True) if v.owner is None]
    assert equal_computations(graph.outputs, outputs, leaves, twins)
    place = {v: i for i, v in enumerate(things[0])}
    for old, new in zip(things[0], variables, strict=True):
        assert (old.owner is None) == (new.owner is None)
        if old.owner is not None:
            assert new.owner.inputs == [variables[place[v]] for v in old.owner.inputs]
            assert new.owner.outputs == [variables[place[v]] for v in old.owner.outputs]
    assert inputs == [variables[place[v]] for v in graph.inputs]
    assert outputs == [variables[place[v]] for v in graph.outputs]


def test_one_pickler_for_several_dumps_keeps_sharing(toys, pickler_class):
    x = toys.number("x")
    y = toys.Named("f")(x)
    z = toys.Named("g")(y)
    file = io.BytesIO()
    pickler = pickler_class(file)
    for variable in (y, z, x):
        pickler.dump(variable)
    file.seek(0)
    unpickler = pickle.Unpickler(file)
    y2, z2, x2 = (unpickler.load() for _ in range(3))
    assert z2.owner.inputs == [y2]
    assert y2.owner.inputs == [x2]


def test_picklers_that_take_turns_do_not_disturb_each_other(toys, pickler_class):
    x = toys.number("x")
    variables = [toys.chain(5, x)]
    variables.append(toys.chain(5, variables[-1]))
    files = [io.BytesIO(), io.BytesIO()]
    picklers = [pickler_class(file) for file in files]
    for variable in variables:
        for pickler in picklers:
            pickler.dump(variable)
    for file in files:
        file.seek(0)
        unpickler = pickle.Unpickler(file)
        first, second = unpickler.load(), unpickler.load()
        assert equal_computations([second], [variables[1]], list(_leaves(second)), [x])
        assert first in set(ancestors([second]))


def _leaves(variable):
    return (v for v in ancestors([variable]) if v.owner is None)


def test_a_kept_pickler_does_not_make_others_recursive(toys, pickler_class, deep):
    end = toys.chain(deep, toys.number("x"))
    kept = pickler_class(io.BytesIO())
    kept.dump(end)
    for other in PICKLERS.values():
        file = io.BytesIO()
        other(file).dump(end)
        again = pickle.loads(file.getvalue())
        assert len(toposort([again])) == deep


class Nesting(Op):
    """An Op that pickles a variable on its own while it is itself being pickled."""

    def __init__(self, variable, dumps):
        self.variable = variable
        self.dumps = dumps

    def make_node(self, *inputs):
        return Apply(self, inputs, [inputs[0].type()])

    def __reduce__(self):
        return (_unnest, (self.dumps(self.variable),))


def _unnest(text):
    return Nesting(pickle.loads(text), None)


@pytest.mark.parametrize("inner", [pickle.dumps, pickle._dumps])
@pytest.mark.parametrize("outer", [pickle.dumps, pickle._dumps])
def test_nested_picklers(toys, inner, outer, deep):
    x = toys.number("x")
    below = toys.chain(deep, x)
    middle = Nesting(below, inner)(below)
    top = toys.chain(deep, middle)
    again = pickle.loads(outer([top, below, middle]))
    top2, below2, middle2 = again
    assert middle2.owner.inputs == [below2]
    assert middle2 in set(ancestors([top2]))
    assert len(toposort([top2])) == len(toposort([top]))
    inside = middle2.owner.op.variable
    assert len(toposort([inside])) == deep
    assert inside is not below2


def test_many_nested_picklers_cost_no_more_each(toys, monkeypatch):
    """A nested pickler must not make the outer one forget what it has."""
    from phintys.graph import pickling

    asked = []
    count = pickling.nodes_below

    def counting(*args, **kwargs):
        nodes = count(*args, **kwargs)
        asked.append(len(nodes))
        return nodes

    monkeypatch.setattr(pickling, "nodes_below", counting)
    x = toys.number("x")
    y = x
    for _ in range(30):
        y = Nesting(toys.Named("g")(x), pickle.dumps)(y)
    pickle.dumps([y, y.owner.inputs[0]])
    assert sum(asked) == 30 + 30  # the outer graph once, and each inner one once


def test_a_shared_variable_whose_update_depends_on_it(toys, copier):
    state = SharedVariable(toys.number, 1, name="state")
    draw, after = toys.Named("draw", 2)(state)
    state.default_update = after
    for start in (state, draw, after, [draw, state]):
        again = copier(start)
        if isinstance(again, list):
            again = again[0]
        found = next(v for v in ancestors([again]) if v.owner is None)
        assert found.get_value() == 1
        assert found.default_update.owner.inputs == [found]
        assert found.default_update.index == 1
        if again is not found:
            assert found.default_update.owner is again.owner


def test_a_long_update_of_a_shared_variable(toys, copier, deep):
    state = SharedVariable(toys.number, 1, name="state")
    state.default_update = toys.chain(deep, state)
    for start in (state, state.default_update, state.default_update.owner.inputs[0]):
        again = copier(start)
        found = next(v for v in ancestors([again]) if v.owner is None)
        order = toposort([found.default_update])
        assert len(order) == deep
        assert order[0].inputs == [found]


def test_a_tag_that_refers_to_the_graph_above(toys, copier):
    x = toys.number("x")
    y = toys.Named("f")(x)
    z = toys.Named("g")(y)
    y.tag.above = z
    x.tag.above = y
    for start in (x, y, z):
        again = copier(start)
        found = set(ancestors([again]))
        leaf = next(v for v in found if v.owner is None)
        assert leaf.tag.above.owner.inputs == [leaf]
        assert leaf.tag.above.tag.above.owner.inputs == [leaf.tag.above]


def test_variables_and_nodes_of_classes_of_one_s_own(toys, copier):
    again = copier(Special(toys.number, "extra"))
    assert type(again) is Special
    assert again.extra == "extra"


class Special(Variable):
    def __init__(self, type, extra):
        super().__init__(type, name="special")
        self.extra = extra


def test_deep_copies_share_types_and_ops_but_not_values(toys):
    double = Type()
    double.filter = lambda value, strict=False, allow_downcast=None: value
    op = Op()
    data, value = [1], [2]
    constant = double.make_constant(data)
    shared = SharedVariable(double, value, name="shared")
    y = Apply(op, [constant, shared], [double("y")]).out
    again = copy.deepcopy(y)
    assert again.owner.op is op
    assert again.type is double
    constant2, shared2 = again.owner.inputs
    assert constant2.data == data
    assert constant2.data is not data
    assert shared2.get_value(borrow=True) is not shared.get_value(borrow=True)
    assert shared2.container.type is double
    shared2.set_value([3])
    assert shared.get_value() == [2]


def test_deep_copies_within_a_larger_object(toys):
    x = toys.number("x")
    y = toys.Named("f")(x)
    model = SimpleNamespace(inputs=[x], outputs={"y": y}, node=y.owner)
    again = copy.deepcopy(model)
    assert again.node.inputs == again.inputs
    assert again.outputs["y"] is again.node.outputs[0]
    memo = {}
    first = copy.deepcopy(y, memo)
    assert copy.deepcopy(x, memo) is first.owner.inputs[0]


def test_a_function_graph(toys, copier):
    x = toys.number("x")
    state = SharedVariable(toys.number, 5, name="state")
    y = toys.Named("f")(x, state)
    fgraph = FunctionGraph([x, state], [y, y], update_mapping={1: 1})
    again = copier(fgraph)
    again.check_integrity()
    assert again.update_mapping == {1: 1}
    assert again.outputs[0] is again.outputs[1]
    assert equal_computations(again.outputs, fgraph.outputs, again.inputs, fgraph.inputs)
    assert set(again.variables).isdisjoint(fgraph.variables)
    both, alone = copier((fgraph, fgraph.outputs[0]))
    assert both.outputs[0] is alone


def test_an_op_with_an_inner_graph(toys, copier):
    x = toys.number("x")
    outer = Inner(FunctionGraph([x], [toys.chain(3, x)]))(toys.number("y"))
    again = copier(outer)
    inner = again.owner.op.fgraph
    inner.check_integrity()
    assert len(inner.apply_nodes) == 3


class Inner(HasInnerGraph, Op):
    def __init__(self, fgraph):
        self.fgraph = fgraph

    def make_node(self, *inputs):
        return Apply(self, inputs, [v.type() for v in self.fgraph.outputs])


def test_nothing_is_kept_alive(toys, pickler_class):
    from phintys.graph import pickling

    before = list(pickling._SESSIONS)
    y = toys.chain(5, toys.number("x"))
    pickler_class(io.BytesIO()).dump(y)
    assert list(pickling._SESSIONS) == before

    class Refusing(Op):
        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def __reduce__(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        pickle.dumps(toys.chain(3, Refusing()(y)))
    assert len(toposort([pickle.loads(pickle.dumps(toys.chain(3, y)))])) == 8


class Renamed(pickle._Pickler):
    """A pickler that goes its own way before it saves, as those of other packages do."""

    def save(self, obj, save_persistent_id=True):
        return super().save(obj, save_persistent_id)


class Overriding(pickle.Pickler):
    def reducer_override(self, obj):
        return NotImplemented


@pytest.mark.parametrize("cls", [Renamed, Overriding])
def test_picklers_of_other_packages(toys, cls, deep):
    end = toys.chain(deep, toys.number("x"))
    file = io.BytesIO()
    cls(file).dump([end, end.owner.inputs[0]])
    last, before = pickle.loads(file.getvalue())
    assert last.owner.inputs == [before]
    assert len(toposort([last])) == deep


def test_a_pickler_that_keeps_no_bundles_still_ends(toys):
    """Each node comes with its nodes, but not forever."""
    seen = {}

    def save(thing, depth):
        assert depth < 200
        if isinstance(thing, list | tuple):
            for part in thing:
                save(part, depth + 1)
        elif id(thing) not in seen and isinstance(thing, Variable | Apply):
            reduced = thing.__reduce_ex__(4)
            for part in reduced[1]:
                save(part, depth + 1)
            seen[id(thing)] = reduced
        elif type(thing).__name__ == "_Bundle":
            save(list(thing.__reduce__()[3]), depth + 1)

    y = toys.chain(5, toys.number("x"))
    save(y, 0)
    assert {id(v.owner) for v in ancestors([y]) if v.owner} <= set(seen)
