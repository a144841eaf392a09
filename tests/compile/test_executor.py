"""Compiled functions: arguments, errors about them, copies, subsets, threads, recursion."""

import copy
import pickle
import re
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys._base.config import config
from phintys._base.errors import ArgumentError
from phintys.compile import In, Mode, function, get_mode
from phintys.compile.locks import locks_of
from phintys.graph import Variable
from phintys.graph.shared_variable import SharedVariable
from phintys.tensor.type import TensorType


@pytest.fixture
def double(ops):
    return ops.double


@pytest.fixture
def f(ops, double):
    x, y = double("x"), double("y")
    return function([x, In(y, value=2.0)], ops.add(ops.mul(x, 10.0), y), name="f")


# ---- arguments -----------------------------------------------------------------------------------


@given(st.data())
def test_arguments_by_position_and_name(ops, data):
    names = "abcdef"[: data.draw(st.integers(0, 6))]
    variables = [ops.double(name) for name in names]
    optional = data.draw(st.sets(st.sampled_from(names))) if names else set()
    specs = [In(v, value=-1.0) if v.name in optional else v for v in variables]
    compiled = function(specs, variables, on_unused_input="ignore")
    positional = data.draw(st.integers(0, len(names)))
    by_name = data.draw(st.sets(st.sampled_from(names[positional:]))) if names[positional:] else ()
    numbers = {name: float(i) for i, name in enumerate(names)}
    args = [numbers[name] for name in names[:positional]]
    kwargs = {name: numbers[name] for name in by_name}
    missing = [n for n in names[positional:] if n not in by_name and n not in optional]
    if missing:
        with pytest.raises(ArgumentError, match=f"lacks a value for {missing[0]} at index"):
            compiled(*args, **kwargs)
        return
    given_names = {*names[:positional], *by_name}
    expected = [numbers[name] if name in given_names else -1.0 for name in names]
    assert compiled(*args, **kwargs) == expected


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "f() lacks a value for x at index 0"),
        ((1, 2, 3), {}, "f() takes at most 2 arguments, got 3"),
        ((1,), {"x": 2}, "f() got two values for the input 'x'"),
        ((1,), {"yy": 2}, "f() has no input named 'yy': f(x: double, y: double = 2.0). Did you"),
        ((1,), {"quite_other": 2}, "f() has no input named 'quite_other'"),
    ],
)
def test_wrong_arguments_list_the_signature(f, args, kwargs, message):
    with pytest.raises(ArgumentError, match=re.escape(message)) as caught:
        f(*args, **kwargs)
    assert "f(x: double, y: double = 2.0)" in str(caught.value)


def test_functions_of_none_one_and_unnamed_inputs(ops, double):
    with pytest.raises(ArgumentError, match=re.escape("function() takes no arguments, got 1")):
        function([], 1.0)(1)
    with pytest.raises(ArgumentError, match="takes 1 argument, got 2"):
        function([double()], [], on_unused_input="ignore")(1, 2)
    with pytest.raises(ArgumentError, match=re.escape("(unnamed) at index 1")):
        function([double("x"), double()], [], on_unused_input="ignore")(1)


def test_inputs_of_the_same_name_go_by_position_only(ops, double):
    x, twin = double("x"), double("x")
    g = function([x, twin], ops.add(x, ops.mul(twin, 10.0)))
    assert g(1.0, 2.0) == 21.0
    with pytest.raises(ArgumentError, match="several inputs named 'x'"):
        g(1.0, x=2.0)
    with pytest.raises(KeyError, match="several inputs"):
        g["x"]
    assert function([x, In(twin, name="y")], twin, on_unused_input="ignore")(1.0, y=2.0) == 2.0


def test_a_call_takes_an_input_named_self(ops, double):
    x = double("self")
    assert function([x], x)(self=3.0) == 3.0


def note_of(compiled, *args, **kwargs):
    with pytest.raises((TypeError, ValueError)) as caught:
        compiled(*args, **kwargs)
    return "\n".join(caught.value.__notes__)


def test_a_bad_argument_is_described(f):
    note = note_of(f, "text")
    assert "Bad argument at index 0 ('x') of f():" in note
    assert "expected a value of type double, got 'text' of type str" in note
    assert "Signature: f(x: double, y: double = 2.0)" in note
    assert "index 1 ('y')" in note_of(f, 1.0, y=1j)
    assert len(note_of(f, "long " * 1000)) < 400


def test_a_bad_array_is_described_with_a_remedy(ops):
    x = ops.vector("x")
    n = TensorType("int8", (None,))("n")
    m = TensorType("float64", (None, None))("m")
    g = function([x, n, m], [x, n, m], name="g")
    good = [np.ones(2), np.ones(2, "int8"), np.ones((2, 2))]
    g(*good)
    assert "cast it with value.astype('int8')" in note_of(g, good[0], np.full(2, 300), good[2])
    assert "the input takes 1-d arrays, the value is 2-d: reshape it" in note_of(
        g, np.ones((3, 3)), *good[1:]
    )
    assert "would fit at index 2: are the arguments in order?" in note_of(g, *good[::-1])
    assert "takes values. Build the expression first" in note_of(g, x, *good[1:])
    assert "round it, or cast it" in note_of(function([n], n), np.full(2, 1.5))
    assert "Hint" not in note_of(function([x], x), np.full(2, 1j))
    three = TensorType("float64", (3,))("three")
    assert "Hint" not in note_of(function([three], three), np.ones(2))  # its dtype is right
    single = TensorType("float32", (None,))("single")
    assert "allow the loss of precision" in note_of(function([single], single), np.full(2, 0.1))
    strict = function([In(n, strict=True)], n)
    assert "the input is strict" in note_of(strict, [1, 2])
    assert "array of dtype float64 and shape (3, 3)" in note_of(g, np.ones((3, 3)), *good[1:])


def test_static_shapes_of_arguments_are_checked(ops):
    x = TensorType("float64", (2,))("x")
    g = function([x], x)
    np.testing.assert_array_equal(g(np.ones(2)), np.ones(2))
    assert "Bad argument" in note_of(g, np.ones(3))


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda v: np.array(v, "float32")])
def test_arguments_are_converted_where_nothing_is_lost(ops, kind):
    x = ops.vector("x")
    result = function([x], ops.neg(x))(kind([1.0, 2.0]))
    assert result.dtype == "float64"
    np.testing.assert_array_equal(result, [-1.0, -2.0])


def test_trust_input_takes_arguments_as_they_are(ops, double):
    x = double("x")
    seen = []
    g = function([x], ops.Call("spy", lambda x: seen.append(x) or 0.0)(x))
    g(1)
    assert {type(value) for value in seen} == {float}
    seen.clear()
    g.trust_input = True
    g(1)
    g(x=2)
    assert {(value, type(value)) for value in seen} == {(1, int), (2, int)}


# ---- containers ----------------------------------------------------------------------------------


def test_a_required_input_keeps_no_value(f):
    assert f["x"] is None
    with pytest.raises(ArgumentError, match="keeps no value between calls"):
        f["x"] = 1.0


@pytest.mark.parametrize("key", ["q", 5, -5, None])
def test_unknown_keys(f, key):
    with pytest.raises(KeyError, match="has no input"):
        f[key]
    with pytest.raises(KeyError, match="has no input"):
        f[key] = 1.0
    assert key not in f


def test_a_kept_value_is_filtered(f):
    with pytest.raises(ValueError, match="could not convert") as caught:
        f["y"] = "text"
    assert "While setting the value of y" in caught.value.__notes__[0]
    assert f["y"] == 2.0


# ---- copies --------------------------------------------------------------------------------------


@pytest.fixture
def counting(ops, double):
    s = SharedVariable(double, 1.0, name="s")
    x, state = double("x"), double("state")
    compiled = function(
        [x, In(state, value=0.0, update=ops.add(state, 1.0))],
        [ops.add(s, x), state],
        updates=[(s, ops.add(s, x))],
        name="count",
    )
    return compiled, s


@pytest.mark.parametrize("share_memory", [False, True])
def test_a_copy_shares_shared_variables_and_nothing_else(counting, share_memory):
    count, s = counting
    count(1.0)
    twin = count.copy(share_memory=share_memory)
    assert twin(1.0) == [3.0, 1.0]
    assert (s.get_value(), count["state"], twin["state"]) == (3.0, 1.0, 2.0)
    assert count(1.0) == [4.0, 1.0]
    assert (twin.vm is count.vm) is share_memory
    assert twin.name == "count copy"
    assert count.copy(name="other").name == "other"
    assert repr(twin).startswith("<Function count copy(x: double")


def test_a_copy_keeps_the_containers_that_were_given(ops, double):
    x, s = double("x"), SharedVariable(double, 1.0)
    f = function([In(x, value=s.container)], x)
    s.set_value(5.0)
    twin = f.copy()
    s.set_value(6.0)
    assert f() == twin() == 6.0


def test_a_copy_with_other_shared_variables(counting, double):
    count, s = counting
    t = SharedVariable(double, 100.0, name="t")
    twin = count.copy(swap={s: t})
    assert twin(1.0) == [101.0, 0.0]
    assert (s.get_value(), t.get_value()) == (1.0, 101.0)
    assert twin.get_shared() == [t]
    assert count.get_shared() == [s]
    assert twin[t] == 101.0


def test_a_copy_without_updates(counting):
    count, s = counting
    twin = count.copy(delete_updates=True)
    assert twin(1.0) == [2.0, 0.0]
    assert twin(1.0) == [2.0, 0.0]
    assert s.get_value() == 1.0
    assert "updates" not in repr(twin)
    assert "updates state, s" in repr(count)
    assert count(1.0) == [2.0, 0.0]


def test_copies_of_copies(counting, double):
    count, s = counting
    t = SharedVariable(double, 100.0, name="t")
    twin = count.copy(swap={s: t}).copy(swap={t: s}, delete_updates=True).copy(share_memory=True)
    assert twin(0.0) == [1.0, 0.0]


@pytest.mark.parametrize("wrong", ["unknown", "plain", "type", "clash", "list"])
def test_wrong_swaps(ops, double, counting, wrong):
    count, s = counting
    t = SharedVariable(double, 0.0, name="t")
    array = SharedVariable(ops.vector, np.zeros(2), name="array")
    both = function([], updates=[(s, s), (t, s)])
    call, swap, message = {
        "unknown": (count, {t: s}, "has no shared variable t; it has s"),
        "plain": (count, {s: double("x")}, "is swapped for a shared variable, got x"),
        "type": (count, {s: array}, "the types must be the same"),
        "clash": (both, {s: t}, "two updates would go to the same shared variable"),
        "list": (count, [s], "expected a dict or a list of pairs"),
    }[wrong]
    with pytest.raises(ArgumentError, match=message):
        call.copy(swap=swap)


def test_the_name_of_a_copy_is_text(counting):
    with pytest.raises(ArgumentError, match="copy: name is a str, got 3"):
        counting[0].copy(name=3)


# ---- pickling and deep copies --------------------------------------------------------------------


class Doubled(TensorType):
    """A pickle needs importable classes; these tests use arrays and builtin functions."""


def picklable(ops):
    """Return a function whose Ops can be pickled, and its shared variable."""
    from phintys.compile import deep_copy

    w = SharedVariable(ops.vector, np.ones(2), name="w")
    x, state = ops.vector("x"), ops.vector("state")
    compiled = function(
        [x, In(state, value=np.zeros(2), update=deep_copy(x))],
        {"w": w, "state": state},
        updates=[(w, deep_copy(x))],
        name="step",
        mode=get_mode("reference"),
    )
    return compiled, w


def through_pickle(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("duplicate", [through_pickle, copy.deepcopy])
def test_duplicates_share_nothing(ops, duplicate):
    step, w = picklable(ops)
    step(np.full(2, 5.0))
    twin = duplicate(step)
    assert twin.name == "step"
    assert twin.maker.mode is step.maker.mode
    assert repr(twin) == repr(step)
    result = twin(np.full(2, 7.0))
    np.testing.assert_array_equal(result["w"], [5.0, 5.0])
    np.testing.assert_array_equal(result["state"], [5.0, 5.0])
    np.testing.assert_array_equal(twin["state"], [7.0, 7.0])
    (other,) = twin.get_shared()
    np.testing.assert_array_equal(other.get_value(), [7.0, 7.0])
    np.testing.assert_array_equal(w.get_value(), [5.0, 5.0])
    np.testing.assert_array_equal(step["state"], [5.0, 5.0])


@pytest.mark.parametrize("duplicate", [through_pickle, copy.deepcopy])
def test_functions_duplicated_together_keep_sharing(ops, duplicate):
    step, w = picklable(ops)
    read = function([], w)
    step_twin, read_twin, w_twin = duplicate((step, read, w))
    step_twin(np.full(2, 9.0))
    np.testing.assert_array_equal(read_twin(), [9.0, 9.0])
    np.testing.assert_array_equal(w_twin.get_value(), [9.0, 9.0])
    np.testing.assert_array_equal(read(), [1.0, 1.0])


def test_a_deep_copy_with_a_memo_may_share(ops):
    step, w = picklable(ops)
    twin = copy.deepcopy(step, {id(w.container): w.container})
    twin(np.full(2, 3.0))
    np.testing.assert_array_equal(w.get_value(), [3.0, 3.0])


def test_pickling_a_deep_graph(ops):
    from phintys.compile import deep_copy

    x = y = ops.vector("x")
    for _ in range(3_000):
        y = deep_copy(y)
    twin = through_pickle(function([x], y))
    np.testing.assert_array_equal(twin(np.ones(1)), [1.0])
    assert len(twin.maker.fgraph.apply_nodes) == len(function([x], y).maker.fgraph.apply_nodes)


def test_trust_input_and_profile_survive(ops):
    step, _ = picklable(ops)
    step.trust_input = True
    twin = through_pickle(step)
    assert twin.trust_input
    assert twin.profile is None
    x = ops.vector("x")
    profiled = through_pickle(function([x], x, profile="mine"))
    profiled(np.ones(1))
    assert (profiled.profile.name, profiled.profile.calls) == ("mine", 1)


# ---- output_subset -------------------------------------------------------------------------------


def test_output_subset_computes_only_what_is_wanted(ops, double):
    ran = []

    def spy(name):
        return ops.Call(name, lambda x: ran.append(name) or x)

    s = SharedVariable(double, 0.0, name="s")
    x = double("x")
    outputs = [spy("a")(x), spy("b")(x), spy("c")(x)]
    g = function([x], outputs, updates=[(s, ops.add(s, 1.0))])
    assert g(2.0, output_subset=[2, 0]) == [2.0, 2.0]
    assert set(ran) == {"a", "c"}
    ran.clear()
    assert g(2.0, output_subset=[]) == []
    assert ran == []
    assert s.get_value() == 2.0  # updates are made nevertheless
    named = function([x], {"one": outputs[0], "two": outputs[1]})
    assert named(3.0, output_subset=["two"]) == {"two": 3.0}


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        ([3], "no output 3; it has 0 to 1"),
        ([-1], "no output -1"),
        (["x"], "no output 'x'"),
        ("0", "is a list"),
        (0, "is a list"),
    ],
)
def test_wrong_subsets(double, subset, message):
    x = double("x")
    with pytest.raises(ArgumentError, match=message):
        function([x], [x, x])(1.0, output_subset=subset)
    with pytest.raises(ArgumentError, match=r"no output 0; it has \['a'\]"):
        function([x], {"a": x})(1.0, output_subset=[0])


# ---- text ----------------------------------------------------------------------------------------


def test_repr(ops, double, counting):
    x = double("x")
    assert repr(function([x], x)) == "<Function function(x: double) -> double>"
    assert repr(function([x], [x, x], name="g")) == "<Function g(x: double) -> [double, double]>"
    assert repr(function([], None)) == "<Function function() -> None>"
    assert repr(function([x], {"a": x})) == "<Function function(x: double) -> {'a': double}>"
    assert repr(counting[0]) == (
        "<Function count(x: double, state: double = 0.0) -> [double, double], updates state, s>"
    )


def test_maker(ops, double, counting):
    count, _ = counting
    maker = count.maker
    assert [str(spec.variable) for spec in maker.inputs] == ["x", "state", "s"]
    assert maker.updated == [1, 2]
    assert maker.fgraph.update_mapping == {2: 1, 3: 2}
    assert maker.function_name == "count"
    assert maker.mode is get_mode(config.mode)
    assert all(isinstance(out.variable, Variable) for out in maker.outputs)
    maker.fgraph.check_integrity()


# ---- profile -------------------------------------------------------------------------------------


def test_a_failing_call_is_not_counted(ops, double):
    x = double("x")
    g = function([x], ops.Call("fail", lambda x: 1 / 0)(x), profile=True)
    with pytest.raises(ZeroDivisionError):
        g(1.0)
    assert g.profile.calls == 0


# ---- threads and recursion -----------------------------------------------------------------------


def in_threads(work, number=8):
    problems = []

    def run(index):
        try:
            work(index)
        except Exception as error:  # noqa: BLE001 - reported below
            problems.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not problems
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("allow_gc", [True, False])
def test_eight_threads_call_one_function(ops, allow_gc):
    barrier = threading.Barrier(8, timeout=30)
    x = ops.vector("x")
    wait = ops.Call("wait", lambda x: barrier.wait() * 0.0 + x)
    with config.change_flags(allow_gc=allow_gc):
        g = function([x], [ops.add(wait(ops.neg(x)), x), ops.neg(x)])

    def work(index):
        for repeat in range(5):
            value = np.full(100, float(index * 100 + repeat))
            zero, negative = g(value)
            np.testing.assert_array_equal(zero, np.zeros(100))
            np.testing.assert_array_equal(negative, -value)

    in_threads(work)


def test_no_update_is_lost(ops, double):
    s, t = (SharedVariable(double, 0.0, name=name) for name in "st")
    state = double("state")
    slowly = ops.Call("slowly", lambda x: time.sleep(0.001) or x + 1.0)  # others get their turn
    forth = function(
        [In(state, value=0.0, update=slowly(state))], updates=[(s, slowly(s)), (t, slowly(t))]
    )
    back = function([], updates=[(t, slowly(t)), (s, slowly(s))])

    def work(index):
        for _ in range(3):
            (forth if index % 2 else back)()

    in_threads(work)
    assert (s.get_value(), t.get_value()) == (24.0, 24.0)
    assert forth[state] == 12.0


def test_locks_are_taken_in_one_order(ops):
    s, t = (SharedVariable(ops.double, 0.0).container for _ in range(2))
    assert locks_of([s, t]) == locks_of([t, s])
    assert len(locks_of([s, t])) == 2
    assert locks_of([s, s]) == locks_of([s])
    assert locks_of([]) == ()


def test_a_function_may_call_itself(ops, double):
    x = double("x")
    depth = SharedVariable(double, 0.0, name="depth")

    def factorial(n):
        return n * f_(n - 1.0) if n > 1.0 else 1.0

    below = ops.add(x, 0.0)
    with config.change_flags(allow_gc=False):
        f_ = function([x], ops.add(ops.Call("rec", factorial)(below), ops.mul(below, 0.0)))
    # DebugMode computes each node many times, and so calls the function many times.
    n, wanted = (2.0, 2.0) if config.mode == "debug" else (20.0, 2432902008176640000.0)
    assert f_(n) == wanted

    def nested(n):
        return g(n - 1.0) if n > 0.0 else 0.0

    g = function([x], ops.Call("nested", nested)(x), updates=[(depth, ops.add(depth, 1.0))])
    g(5.0)
    assert depth.get_value() == 1.0  # each call adds 1 to what it saw when it began


def test_free(ops):
    x = ops.vector("x")
    with config.change_flags(allow_gc=False):
        g = function([x], ops.neg(ops.neg(x)), mode="reference")
    g(np.ones(2))
    g(np.ones(2), output_subset=[0])
    kept = [cell[0] for v, cell in g.vm.storage_map.items() if v.owner is not None]
    assert sum(value is not None for value in kept) == 1
    g.free()
    kept = [cell[0] for v, cell in g.vm.storage_map.items() if v.owner is not None]
    assert all(value is None for value in kept)
    np.testing.assert_array_equal(g(np.ones(2)), np.ones(2))


def test_mode_with_a_backend_of_ones_own(ops, double):
    class Constantly:
        name = "constantly"

        def link(self, fgraph, *, profiler=None):
            return self

        def __call__(self, inputs):
            return [42.0]

        def free(self):
            pass

    x = double("x")
    assert function([x], ops.neg(x), mode=Mode(Constantly()))(1.0) == 42.0


def test_what_a_handler_raises_after_the_last_argument_comes_out(double):
    class Timeout(Exception):
        pass

    class Arguments(tuple):
        __slots__ = ()

        def __iter__(self):
            yield from super().__iter__()
            raise Timeout  # as the handler of a signal may, behind the last one

    x = double("x")
    f = function([x], x)
    with pytest.raises(Timeout):
        f._arguments(Arguments([1.0]), {})
