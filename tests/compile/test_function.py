"""function: inputs, outputs, updates, givens, and what it says about wrong ones."""

import re
import warnings
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.config import config
from phintys._base.errors import (
    ArgumentError,
    ConfigError,
    DisconnectedInputError,
    MissingInputError,
    NullGradientError,
    UnusedInputError,
)
from phintys.compile import In, Out, function, shared
from phintys.graph import Constant, DisconnectedType, NullType, generic
from phintys.graph.shared_variable import SharedVariable
from phintys.tensor.type import TensorType


@pytest.fixture
def double(ops):
    return ops.double


@pytest.fixture
def s(ops):
    return SharedVariable(ops.double, 10.0, name="s")


# ---- inputs and outputs --------------------------------------------------------------------------


def test_the_contracts_example(ops, double):
    x, y = double("x"), double("y")
    f = function([x, y], ops.mul(x, y))
    assert f(5, 6) == 30.0
    assert f(5.6, 6.7) == 5.6 * 6.7
    assert type(f(5, 6)) is float


@pytest.mark.parametrize("mode", [None, "reference", "native", "debug", "NanGuardMode"])
def test_what_a_call_returns_follows_what_outputs_is(ops, double, mode):
    x = double("x")
    y = ops.add(x, 1.0)

    def call(outputs):
        return function([x], outputs, mode=mode, on_unused_input="ignore")(2.0)

    assert call(y) == 3.0
    assert call([y]) == [3.0]
    assert call((y, x)) == [3.0, 2.0]
    assert call([]) == []
    assert call({"b": y, "a": x}) == {"b": 3.0, "a": 2.0}
    assert list(call({"b": y, "a": x})) == ["b", "a"]
    assert call(None) is None
    assert call(Out(y)) == 3.0
    assert call([Out(y, borrow=True), y]) == [3.0, 3.0]


def test_outputs_may_be_numbers_and_constants():
    assert function([], 5)() == 5
    assert isinstance(function([], 5)(), np.ndarray)
    five, values = function([], [5.0, Constant(generic, "text")])()
    assert (five, values) == (5.0, "text")


def test_0d_results_are_0d_arrays(ops):
    x = ops.scalar("x")
    result = function([x], ops.mul(x, 2.0))(3.0)
    assert isinstance(result, np.ndarray)
    assert result.shape == ()


def test_an_input_may_be_a_computed_variable(ops, double):
    x = double("x")
    y = ops.neg(x)
    z = ops.mul(y, 2.0)
    f = function([y], z)
    assert f(3.0) == 6.0
    g = function([x, y], [ops.add(x, y), z])
    assert g(1.0, 5.0) == [6.0, 10.0]


def test_the_users_graph_is_not_touched(ops, double, s):
    x = double("x")
    y = ops.neg(ops.add(x, s))
    before = (y.owner, list(y.owner.inputs), x.owner)
    f = function([x], y, updates=[(s, x)], givens={s: Constant(double, 1.0)})
    assert f(2.0) == -3.0
    assert (y.owner, list(y.owner.inputs), x.owner) == before
    assert y not in f.maker.fgraph.variables


def test_nodes_of_a_function_have_the_users_line(ops, double):
    x = double("x")
    y = ops.neg(x)  # the line
    f = function([x], y)
    (node,) = f.maker.fgraph.apply_nodes
    assert "# the line" in str(node.origin)


def test_a_long_chain(ops, double, repeats):
    x = double("x")
    y = x
    for _ in range(repeats(10_000, 100_000)):
        y = ops.neg(y)
    assert function([], y, givens={x: 4.0}, mode="reference")() == 4.0


# ---- updates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, tuple, dict, OrderedDict])
def test_updates_are_made_from_the_old_values(ops, double, s, kind):
    t = SharedVariable(double, 1.0, name="t")
    x = double("x")
    pairs = [(s, ops.add(s, t)), (t, ops.mul(s, x))]
    f = function([x], [s, t], updates=kind(pairs))
    assert f(2.0) == [10.0, 1.0]
    assert (s.get_value(), t.get_value()) == (11.0, 20.0)
    assert f(0.0) == [11.0, 20.0]
    assert (s.get_value(), t.get_value()) == (31.0, 0.0)


def test_update_to_a_number_and_of_a_variable_that_is_not_read(ops, double, s):
    x = double("x")
    function([], updates={s: 3})()
    assert s.get_value() == 3.0
    assert function([x], updates={s: x})(4.0) is None
    assert s.get_value() == 4.0


def test_a_call_that_fails_changes_nothing(ops, double):
    def fail(x):
        if x < 0:
            raise ValueError("negative")
        return x

    values = [SharedVariable(double, float(i), name=f"s{i}") for i in range(3)]
    x, state = double("x"), double("state")
    checked = ops.Call("checked", fail)(x)
    updates = [(value, ops.add(value, checked if i == 1 else x)) for i, value in enumerate(values)]
    f = function([x, In(state, value=7.0, update=ops.add(state, x))], state, updates=updates)
    with pytest.raises(ValueError, match="negative"):
        f(-1.0)
    assert [value.get_value() for value in values] == [0.0, 1.0, 2.0]
    assert f[state] == 7.0
    assert f(1.0) == 7.0
    assert [value.get_value() for value in values] == [1.0, 2.0, 3.0]
    assert f[state] == 8.0


def test_wrong_outputs_change_nothing_either(ops, double, s):
    x = double("x")
    f = function([x], updates=[(s, ops.Call("broken", lambda x: "no")(x))])
    with pytest.raises(TypeError, match="broken"):
        f(1.0)
    assert s.get_value() == 10.0


def test_default_update(ops, double, s):
    t = SharedVariable(double, 0.0, name="t")
    s.default_update = ops.add(s, ops.add(t, 1.0))
    t.default_update = ops.add(t, 1.0)  # found through the update of s
    x = double("x")
    f = function([x], ops.add(x, s))
    assert [f(0.0), f(0.0), f(0.0)] == [10.0, 11.0, 13.0]
    assert t.get_value() == 3.0
    for without in (True, [s, t], (s, t)):
        assert function([], s, no_default_updates=without)() == 16.0
        assert (s.get_value(), t.get_value()) == (16.0, 3.0)
    function([], s, no_default_updates=[t])()
    assert (s.get_value(), t.get_value()) == (20.0, 3.0)
    function([], s, updates={s: ops.neg(s)})()
    assert (s.get_value(), t.get_value()) == (-20.0, 3.0)


def test_a_default_update_of_the_wrong_type(double, s):
    s.default_update = Constant(generic, "x")
    with pytest.raises(TypeError, match="default_update of the shared variable s"):
        function([], s)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4, unique_by=lambda p: p[0])
)
def test_any_permutation_of_shared_arrays(pairs):
    vector = TensorType("float64", (None,))
    variables = [SharedVariable(vector, np.full(2, float(i))) for i in range(4)]
    arrays = [variable.get_value(borrow=True) for variable in variables]
    function([], updates=[(variables[to], variables[source]) for to, source in pairs])()
    expected = list(range(4))
    for to, source in pairs:
        expected[to] = source
    after = [variable.get_value(borrow=True) for variable in variables]
    assert [array[0] for array in after] == expected
    for i, array in enumerate(after):  # nobody shares
        for other in after[i + 1 :]:
            assert not np.shares_memory(array, other)
    assert [array[0] for array in arrays] == [0.0, 1.0, 2.0, 3.0]


# ---- givens --------------------------------------------------------------------------------------


def test_givens_replace_leaves_computed_and_shared_variables(ops, double, s):
    x, y = double("x"), double("y")
    z = ops.neg(x)
    assert function([y], ops.add(z, y), givens={x: y})(3.0) == 0.0
    assert function([y], ops.add(z, y), givens=[(z, ops.mul(y, 10.0))])(3.0) == 33.0
    assert function([x], ops.add(s, x), givens={s: x})(3.0) == 6.0
    assert function([], ops.add(s, x), givens={x: 5})() == 15.0
    assert s not in function([x], ops.add(s, x), givens={s: x}).get_shared()


@pytest.mark.parametrize(
    "of",
    [
        lambda d: d.items(),
        lambda d: zip(d, d.values(), strict=True),
        lambda d: (p for p in d.items()),
    ],
    ids=["items", "zip", "generator"],
)
def test_pairs_may_come_from_anything_that_gives_them(of):
    x, s = pt.dscalar("x"), shared(1.0)
    count = function([], s, updates=of({s: s + 1}))
    assert [count(), count()] == [1.0, 2.0]
    assert function([x], s * 2, givens=of({s: x}))(5.0) == 10.0
    with pytest.raises(ArgumentError, match="list of pairs"):
        function([], s, updates=iter([s, s, s]))


def test_givens_are_made_all_at_once(ops, double):
    x, y = double("x"), double("y")
    u, v = double("u"), double("v")
    out = [ops.add(x, ops.mul(y, 10.0))]
    # x and y trade places: neither replacement sees the other.
    pairs = [(x, ops.neg(y)), (y, ops.neg(x))]
    with pytest.raises(MissingInputError):
        function([], out, givens=pairs)
    f = function([u, v], out, givens=[(x, v), (y, u)])
    assert f(1.0, 2.0) == [12.0]


def test_a_replacement_is_used_as_it_is(ops, double, s):
    x, u = double("x"), double("u")
    z = ops.neg(s)
    # The z that takes the place of x reads s; the z of the graph itself reads u.
    f = function([u], ops.add(x, ops.mul(z, 100.0)), givens=[(x, z), (s, u)])
    assert f(1.0) == -110.0


def test_givens_reach_updates_and_default_updates(ops, double, s):
    x, t = double("x"), SharedVariable(double, 0.0, name="t")
    t.default_update = ops.add(t, x)
    function([], t, updates={s: ops.mul(s, x)}, givens={x: 2.0})()
    assert (s.get_value(), t.get_value()) == (20.0, 2.0)


def test_givens_and_updates_of_the_same_shared_variable(ops, double, s):
    x = double("x")
    f = function([x], s, givens={s: x}, updates={s: ops.add(s, 1.0)})
    assert f(100.0) == 100.0
    assert s.get_value() == 101.0


def test_givens_may_change_types_if_not_strict(ops):
    single = TensorType("float32", (None,))("single")
    x = ops.vector("x")
    y = ops.neg(x)
    with pytest.raises(ArgumentError, match="rebuild_strict=False"):
        function([single], y, givens={x: single})
    result = function([single], y, givens={x: single}, rebuild_strict=False)(np.ones(2, "float32"))
    assert result.dtype == "float32"


# ---- In ------------------------------------------------------------------------------------------


def test_values_of_inputs_are_defaults(ops, double):
    x, y, z = double("x"), double("y"), double("z")
    f = function([x, In(y, value=2), In(z, value=3.0, name="last")], [x, y, z])
    assert f(1.0) == [1.0, 2.0, 3.0]
    assert f(1.0, 5.0) == [1.0, 5.0, 3.0]
    assert f(1.0, last=5) == [1.0, 2.0, 5.0]
    assert f(y=1.0, x=0.0) == [0.0, 1.0, 3.0]
    assert f(1.0) == [1.0, 2.0, 3.0]
    f["y"] = 20
    assert (f[y], f["last"], f[2]) == (20.0, 3.0, 3.0)
    assert f(1.0) == [1.0, 20.0, 3.0]
    f.value[y] = 21
    assert f.value["y"] == 21.0
    assert f.container["y"].value == 21.0
    assert "y" in f
    assert y in f
    assert "q" not in f
    assert "y" in f.value
    assert len(f.value) == 3


def test_an_input_with_an_update_is_a_state(ops, double):
    x, state = double("x"), double("state")
    f = function([x, In(state, value=0.0, update=ops.add(state, x))], state)
    assert [f(1.0), f(2.0), f(4.0)] == [0.0, 1.0, 3.0]
    assert f[state] == 7.0
    assert f(1.0, 100.0) == 100.0
    assert f[state] == 101.0
    f[state] = 5
    assert f(1.0) == 5.0


def test_an_implicit_input_is_no_argument(ops, double, s):
    x, y = double("x"), double("y")
    f = function([In(y, value=s.container), x], [x, y])
    assert f(1.0) == [1.0, 10.0]
    s.set_value(3.0)
    assert f(1.0) == [1.0, 3.0]
    g = function([In(y, value=4.0, implicit=True), x], [x, y])
    assert g(1.0) == [1.0, 4.0]


def test_strict_and_downcast(ops, double):
    x = double("x")
    assert function([In(x, strict=True)], x)(1.0) == 1.0
    with pytest.raises(TypeError, match="Expected a float"):
        function([In(x, strict=True)], x)(1)
    value = ops.vector("value")
    integers = TensorType("int8", ())("integers")
    for spec, keywords in [
        (In(integers, allow_downcast=True), {}),
        (integers, {"allow_input_downcast": True}),
    ]:
        assert function([spec], integers, **keywords)(1.5) == 1
    with pytest.raises(TypeError):
        function([integers], integers)(1.5)
    with pytest.raises(TypeError):
        function([In(value, strict=True)], value)([1.0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mutable": True, "borrow": False}, "mutable=True, borrow=False"),
        ({"implicit": True}, "can never get a value"),
        ({"name": 3}, "the name of an input is a str"),
        ({"update": "x"}, "an update must have the input's type"),
        ({"update": Constant(generic, 1)}, "an update must have the input's type"),
    ],
)
def test_wrong_options_of_in(double, options, message):
    with pytest.raises(TypeError, match=message):
        In(double("x"), **options)


def test_autoname(double):
    assert In(double("x")).name == "x"
    assert In(double("x"), autoname=False).name is None
    assert In(double("x"), name="y").name == "y"


def test_in_and_out_can_be_read(ops, double):
    x = double("x")
    assert repr(In(x)) == "In(x, double)"
    spec = In(x, value=1.0, update=ops.neg(x), mutable=True)
    assert repr(spec) == "In(x, double, has a value, update=neg.0, mutable, borrow)"
    assert repr(Out(x, borrow=True)) == "Out(x, borrow)"


# ---- wrong inputs and outputs --------------------------------------------------------------------


def wrong(expected, message, *args, **kwargs):
    with pytest.raises(expected, match=f"(?s){message}") as caught:
        function(*args, **kwargs)
    return str(caught.value)


def test_wrong_inputs(ops, double, s):
    x = double("x")
    y = ops.neg(x)
    wrong(ArgumentError, r"inputs is a list, got x. Write \[x\]", x, y)
    wrong(ArgumentError, "inputs is a list of variables, got 'x'", "x", y)
    wrong(ArgumentError, r"got None .* write \[\]", None, y)
    wrong(ArgumentError, "a set, which has no order", {x}, y)
    wrong(ArgumentError, "inputs is a list of variables", {x: 1}, y)
    wrong(ArgumentError, "inputs is a list of variables, got 5", 5, y)
    wrong(ArgumentError, "got 'x' of type str", ["x"], y)
    wrong(ArgumentError, "got 1.0 of type float", [1.0], y)
    wrong(ArgumentError, r"not nested: write \[\*xs, y\]", [[x]], y)
    wrong(ArgumentError, "at index 0 and at index 1", [x, x], y)
    wrong(ArgumentError, "at index 0 and at index 1", [x, In(x, value=1.0)], y)
    wrong(ArgumentError, "constant .* its value is fixed", [Constant(double, 1.0)], y)
    wrong(ArgumentError, "shared variable s cannot be an explicit input .* givens", [s], y)


def test_wrong_outputs(double):
    x = double("x")
    wrong(ArgumentError, "lists, tuples, dicts", [x], [{x}])
    wrong(ArgumentError, "keys of an outputs dict are str, got 1", [x], {1: x})
    wrong(ArgumentError, "got 'x' of type str", [x], "x")
    wrong(ArgumentError, "got None of type NoneType", [x], [None])
    wrong(ArgumentError, "got <object", [x], object())
    wrong(NullGradientError, "undefined gradient: argmax jumps", [x], NullType("argmax jumps")())
    wrong(DisconnectedInputError, "disconnected gradient", [x], DisconnectedType()())


def test_wrong_updates(ops, double, s):
    x = double("x")
    wrong(ArgumentError, "each key is a shared variable, got x", [x], x, updates=[(x, s)])
    wrong(ArgumentError, "two new values", [x], x, updates=[(s, x), (s, s)])
    wrong(ArgumentError, "must have its type double", [x], x, updates=[(s, Constant(generic, 1))])
    wrong(ArgumentError, "must have its type double", [x], x, updates={s: "x"})
    wrong(ArgumentError, r"write \[\(s, x\)\]", [x], x, updates=(s, x))
    wrong(ArgumentError, "got a set. A set has no order", [x], x, updates={s})
    wrong(ArgumentError, "list of pairs", [x], x, updates=[s])
    wrong(ArgumentError, "got a int", [x], x, updates=1)


@pytest.mark.parametrize(
    ("value", "update", "remedy"),
    [
        (3, lambda k: k - 0.5 * k, "Make the shared variable one of float64: shared(np.asarray("),
        (np.arange(3), lambda k: k * 1.5, "cut off the fraction of each new value"),
        (np.arange(3), lambda k: 1.5, "Make the shared variable one of float64"),
        (3, lambda k: k * 1j, "Make the shared variable one of complex128"),
        (1.0, lambda k: k * 1j, "Take the real part, expression.real, or make the shared variable"),
        (np.float32(1), lambda k: k * np.float64(2), "Cast it: expression.astype('float32')."),
        (True, lambda k: k + 1, "Cast it: expression.astype('bool')."),
    ],
)
def test_updates_of_another_dtype_say_what_keeps_the_meaning(value, update, remedy):
    k = shared(value, name="k")
    wrong(ArgumentError, re.escape(remedy), [], updates={k: update(k)})


def test_wrong_updates_of_arrays_say_how_to_mend_them(ops):
    w = SharedVariable(TensorType("float32", (None,)), np.ones(2, "float32"), name="w")
    x = ops.vector("x")
    wrong(ArgumentError, r"Cast it: expression.astype\('float32'\)", [x], updates={w: x})
    v = SharedVariable(TensorType("float64", (2,)), np.ones(2), name="v")
    wrong(ArgumentError, r"pt\.specify_shape\(expression, \(2,\)\)", [x], updates={v: x})
    wrong(ArgumentError, r"leave .* open: shared\(value, shape=\(None,\)\)", [x], updates={v: x})
    three = SharedVariable(TensorType("float64", (3,)), np.ones(3), name="three")
    wrong(ArgumentError, "A static size differs: reshape", [], updates={v: three})
    column = SharedVariable(TensorType("float64", (None, 1)), np.ones((2, 1)), name="column")
    wrong(ArgumentError, "numbers of dimensions differ", [], updates={v: column})
    for number in (2.0, 3, np.float32(1)):
        wrong(ArgumentError, r"pt\.full_like\(v, expression\)", [], updates={v: number})
    open_one = TensorType("float64", (None, None))("y")
    wrong(
        ArgumentError, r"specify_shape\(expression, \(None, 1\)\)", [], updates={column: open_one}
    )


def test_wrong_givens(ops, double, s):
    x, y = double("x"), double("y")
    z = ops.neg(x)
    wrong(ArgumentError, "x is an input .* has no effect", [x], z, givens={x: y})
    wrong(ArgumentError, "two replacements", [y], z, givens=[(x, y), (x, 1.0)])
    wrong(ArgumentError, "each key is a variable of the graph, got 'x'", [y], z, givens={"x": y})
    wrong(ArgumentError, "must have its type double", [y], z, givens={x: Constant(generic, 1)})
    wrong(ArgumentError, "must have its type double", [], z, givens={x: "text"})
    wrong(ArgumentError, "list of pairs", [y], z, givens=[x])


def test_wrong_options(ops, double, s):
    x = double("x")
    wrong(
        ArgumentError, "'raise', 'warn' or 'ignore', got 'error'", [x], x, on_unused_input="error"
    )
    wrong(ArgumentError, "name is a str, got 3", [x], x, name=3)
    wrong(ArgumentError, "profile is True", [x], x, profile=3)
    wrong(ArgumentError, "no_default_updates is True", [x], x, no_default_updates=[x])
    wrong(ArgumentError, "no_default_updates is True", [x], x, no_default_updates=s)
    wrong(ConfigError, "no mode 'refrence'; .* Did you mean 'reference'", [x], x, mode="refrence")
    wrong(ConfigError, "A mode is a Mode", [x], x, mode=3)


def test_a_missing_input_is_named_with_the_way_to_it_and_the_line(ops, double):
    x, y = double("x"), double("y")
    z = ops.neg(ops.mul(x, y))  # the way
    message = wrong(MissingInputError, "variable y", [x], [x, ops.add(z, x)])
    assert message.count("# the way") == 2
    assert "on the way to output 1" in message
    assert "givens={y: value}" in message
    assert "The inputs are: x" in message


def test_a_missing_input_with_the_name_of_another(ops, double):
    twin = double("x")
    message = wrong(MissingInputError, "same name 'x'", [double("x")], ops.neg(twin))
    assert "the same object" in message


def test_missing_inputs_in_odd_places(ops, double, s):
    x, y, z = double("x"), double("y"), double("z")
    state = In(z, value=0.0, update=ops.neg(x))
    wrong(MissingInputError, "variable x.*It is output 1, x", [], [s, x])
    wrong(MissingInputError, "variable x.*on the way to output 1", [], [ops.neg(s), ops.neg(x)])
    wrong(MissingInputError, "variable x.*It is the update of s", [], updates={s: x})
    wrong(MissingInputError, "variable x.*on the way to the update of the input z", [state], z)
    wrong(MissingInputError, "variable y.*what givens puts in place of x", [], x, givens={x: y})
    message = wrong(MissingInputError, "variable y", [], ops.add(y, z))
    assert "Missing as well: z" in message
    s.default_update = ops.add(s, x)
    wrong(MissingInputError, "variable x.*on the way to the default update of s", [], s)


def test_the_way_of_a_missing_input_is_not_endless(ops, double):
    x = double("x")
    y = x
    for _ in range(100):
        y = ops.neg(y)
    message = wrong(MissingInputError, "variable x", [], y)
    assert message.count("It is needed by") == config.traceback_limit


@pytest.mark.parametrize("choice", ["raise", "warn", "ignore"])
@pytest.mark.parametrize("by_config", [True, False])
def test_unused_inputs(ops, double, choice, by_config):
    x, y = double("x"), double("y")

    def compile_it():
        if not by_config:
            return function([x, y], x, on_unused_input=choice)
        with config.change_flags(on_unused_input=choice):
            return function([x, y], x)

    if choice == "raise":
        with pytest.raises(UnusedInputError, match="y at index 1 has no influence"):
            compile_it()
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = compile_it()
    assert f(1.0, 2.0) == 1.0
    assert len(caught) == (choice == "warn")
    if caught:
        assert "y at index 1 has no influence" in str(caught[0].message)
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("names", "build", "value"),
    [
        ("x", lambda x, y: phintys.grad(3 * x, x), 3.0),
        ("xy", lambda x, y: phintys.grad(3 * x + y, x), 3.0),
        ("xy", lambda x, y: pt.zeros_like(x + y), 0.0),
        ("xy", lambda x, y: (x + y).ones_like(), 1.0),
        ("xy", lambda x, y: pt.full_like(x + y, 2.5), 2.5),
        ("y", lambda x, y: phintys.grad(x + pt.floor(y), y), 0.0),
        ("y", lambda x, y: phintys.grad(x * 1.0, y, disconnected_inputs="ignore"), 0.0),
    ],
)
def test_inputs_that_the_program_uses_are_used(names, build, value):
    """What is simplified away when the graph is built was used all the same."""
    x, y = pt.dscalars("x", "y")
    out = build(x, y)
    assert out.ndim == 0
    given = [{"x": x, "y": y}[name] for name in names]
    for mode in ("native", "reference"):
        assert function(given, out, mode=mode)(*[1.0] * len(given)) == value


def test_what_the_gradient_of_a_cost_reads():
    x, y, z = pt.dscalars("x", "y", "z")
    function([x, y], phintys.grad(3 * x + y, x))
    with pytest.raises(UnusedInputError, match="z at index 1"):
        function([x, z], phintys.grad(3 * x, x))


def test_inputs_that_only_updates_need_are_used(ops, double, s):
    x, y, state = double("x"), double("y"), double("state")
    function([x], updates={s: x})(1.0)
    function([y, In(state, value=0.0, update=y)], [])(1.0)


def test_an_unused_input_with_the_name_of_a_used_variable(ops, double):
    name_twin = SharedVariable(double, 1.0, name="x")
    message = wrong(UnusedInputError, "x at index 0", [double("x")], ops.neg(name_twin))
    assert "another variable named 'x'" in message


def test_inplace_ops_need_consent(ops):
    x, y = ops.vector("x"), ops.vector("y")
    z = ops.add_inplace(x, y)  # the line
    message = wrong(ArgumentError, "add_inplace, which overwrites an input", [x, y], z)
    assert "# the line" in message
    assert "accept_inplace=True" in message


def test_shared_variables_of_all_kinds():
    number, text = shared(1.5), shared("text", name="t")
    f = function([], [number, text])
    assert f() == [1.5, "text"]
    text.set_value("other")
    assert f()[1] == "other"
