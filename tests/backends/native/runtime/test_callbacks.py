"""Ops with nothing but Python code, inside of native programs."""

import gc
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys import Apply, In, Op, Out
from phintys._base.errors import OpContractError
from phintys.graph.type import generic
from tests.budget import budget

MODE = "native"
pytestmark = pytest.mark.usefixtures("native")


def compiled(inputs, outputs, **options):
    return phintys.function(inputs, outputs, mode=MODE, **options)


@pytest.fixture
def x():
    return pt.dvector("x")


def test_native_code_and_python_take_turns(x, python_op):
    negate, double = python_op(np.negative), python_op(lambda v: v * 2)
    f = compiled([x], [pt.exp(double(pt.exp(negate(pt.exp(x))))), negate(x)])
    value = np.linspace(-1, 1, 7)
    first, second = f(value)
    np.testing.assert_allclose(first, np.exp(2 * np.exp(-np.exp(value))))
    np.testing.assert_array_equal(second, -value)


def test_what_an_op_keeps_is_never_written_to(x, python_op, rng):
    kept = []

    def keep(v):
        kept.append((v, v[1:], v.copy()))
        return v + 1

    keeping = python_op(keep)
    f = compiled([x], pt.exp(keeping(pt.tanh(keeping(pt.tanh(x) * 2)) * 3)) + pt.tanh(x))
    for _ in range(20):
        f(rng.normal(size=rng.integers(1, 50)))
        f(rng.normal(size=30_000))
    for whole, view, copied in kept:
        np.testing.assert_array_equal(whole, copied)
        np.testing.assert_array_equal(view, copied[1:])


def test_what_an_op_returns_and_keeps_is_never_written_to(x, python_op, rng):
    kept = []

    def keep(v):
        result = v * 2
        kept.append((result, result.copy()))
        return result

    keeping = python_op(keep)
    f = compiled([x], [pt.tanh(keeping(x)), keeping(pt.tanh(x))])
    for _ in range(20):
        _, returned = f(rng.normal(size=9))
        returned[:] = 0
        kept.pop()
    for result, copied in kept:
        np.testing.assert_array_equal(result, copied)


def test_views(x, python_op, rng):
    reverse = python_op(lambda v: v[::-1], view_map={0: [0]})
    every_second = python_op(lambda v: v[::2], view_map={0: [0]})
    y = reverse(pt.exp(x))
    outputs = [y, pt.tanh(y), every_second(y), reverse(every_second(y)) + 1.0, every_second(x)]
    f = compiled([x], outputs)
    for _ in range(5):
        value = rng.normal(size=11)
        expected = np.exp(value)[::-1]
        got = f(value)
        wanted = [
            expected,
            np.tanh(expected),
            expected[::2],
            expected[::2][::-1] + 1,
            value[::2],
        ]
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one, other)


def test_ops_that_overwrite(x, python_op, rng):
    def add_one(v):
        v += 1
        return v

    inplace = python_op(add_one, destroy_map={0: [0]})
    y = pt.exp(x)
    z = inplace(y)
    f = compiled([x], [pt.tanh(z), z, inplace(x) * 2], accept_inplace=True)
    value = rng.normal(size=5)
    before = value.copy()
    expected = np.exp(value) + 1
    for _ in range(3):
        for got, wanted in zip(
            f(value), [np.tanh(expected), expected, (value + 1) * 2], strict=True
        ):
            np.testing.assert_allclose(got, wanted)
        np.testing.assert_array_equal(value, before)
    g = compiled([In(x, mutable=True)], inplace(x) * 2, accept_inplace=True)
    np.testing.assert_allclose(g(value), (before + 1) * 2)


class Split(Op):
    """Two outputs of different types, one of which is no array."""

    def make_node(self, v):
        return Apply(self, [v], [v.type(), generic(), pt.lscalar()])

    def perform(self, node, inputs, output_storage):
        (v,) = inputs
        output_storage[0][0] = v * 2
        output_storage[1][0] = {"length": len(v)}
        output_storage[2][0] = np.array(len(v))


class Length(Op):
    def make_node(self, handle):
        return Apply(self, [handle], [pt.lscalar()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.array(inputs[0]["length"])


def test_several_outputs_and_other_objects(x):
    doubled, handle, length = Split()(pt.exp(x))
    f = compiled([x], [doubled + 1.0, handle, length + Length()(handle)])
    value = np.arange(4.0)
    first, second, third = f(value)
    np.testing.assert_allclose(first, 2 * np.exp(value) + 1)
    assert second == {"length": 4}
    assert third == 8


class Later(Op):
    """Makes its own thunk, which sees its output cells."""

    seen: list

    def __init__(self):
        self.seen = []

    def make_node(self, v):
        return Apply(self, [v], [v.type()])

    def perform(self, node, inputs, output_storage):
        raise AssertionError("the thunk is used")

    def make_thunk(self, node, storage_map, compute_map, no_recycling, impl=None):
        source, target = storage_map[node.inputs[0]], storage_map[node.outputs[0]]
        done = compute_map[node.outputs[0]]
        self.seen.append(list(no_recycling))

        def thunk():
            assert target[0] is None
            target[0] = source[0] + 1
            done[0] = True

        return thunk


def test_ops_make_their_own_thunks(x):
    op = Later()
    y = op(pt.exp(x))
    f = compiled([x], pt.log(y))
    for _ in range(3):
        np.testing.assert_allclose(f(np.zeros(3)), np.log(2 * np.ones(3)))
    assert len(op.seen) == 1
    assert len(op.seen[0]) == 1


# ---- errors ------------------------------------------------------------------------------------


def fail(v):
    if v[0] > 0:
        raise KeyError("the Op's own error")
    return v


def test_an_exception_is_the_ops_own(x, python_op):
    y = python_op(fail)(pt.exp(x))
    f = compiled([x], pt.exp(y))
    for _ in range(3):
        with pytest.raises(KeyError, match="the Op's own error") as caught:
            f(np.ones(3))
        notes = "\n".join(caught.value.__notes__)
        assert "While computing" in notes
        assert "test_callbacks.py" in notes
        assert "shape (3,)" in notes
        assert any(entry.name == "fail" for entry in caught.traceback)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, StopIteration])
def test_every_exception_gets_through(x, python_op, error):
    def raise_it(v):
        raise error("what")

    f = compiled([x], pt.exp(python_op(raise_it)(pt.exp(x))))
    with pytest.raises(error, match="what"):
        f(np.ones(3))


@pytest.mark.parametrize(
    "wrong", [None, 1.0, "text", np.ones((2, 2)), np.ones(3, "float32"), [1.0, 2.0]]
)
def test_an_op_that_breaks_its_contract(x, python_op, wrong):
    f = compiled([x], pt.exp(python_op(lambda v: wrong)(pt.exp(x))))
    with pytest.raises(OpContractError):
        f(np.ones(3))


def test_the_function_works_after_an_error(x, python_op, native):
    def odd(v):
        if v.shape[0] % 2:
            raise ValueError("odd")
        return v * 2

    f = compiled([x], [pt.exp(python_op(odd)(pt.tanh(x))), pt.tanh(x) * 2])
    for length in range(1, 30):
        value = np.linspace(0, 1, length)
        if length % 2:
            with pytest.raises(ValueError, match="odd"):
                f(value)
        else:
            np.testing.assert_allclose(f(value)[0], np.exp(2 * np.tanh(value)))


# ---- calls inside calls ------------------------------------------------------------------------


def test_a_function_calls_itself(x, python_op):
    def deeper(v):
        return f(v[1:]) if len(v) > 1 else v * 0

    def sum_below(v):
        return np.array([deeper(v).sum()])

    f = compiled([x], python_op(sum_below)(pt.exp(x) * 0 + x) + x[:1])
    np.testing.assert_array_equal(f(np.arange(20.0)), [19 * 20 / 2])


def test_endless_recursion_is_a_recursion_error(run_python):
    program = """
        import numpy as np
        import phintys, phintys.tensor as pt
        from phintys import Apply, Op

        class Again(Op):
            def make_node(self, v):
                return Apply(self, [v], [v.type()])
            def perform(self, node, inputs, output_storage):
                output_storage[0][0] = f(inputs[0])

        x = pt.dvector("x")
        f = phintys.function([x], Again()(pt.exp(x)) + 1.0, mode="native")
        for _ in range(3):
            try:
                f(np.ones(3))
            except RecursionError:
                print("deep enough")
    """
    assert run_python(program) == "deep enough\n" * 3


def test_threads_meet_in_the_same_ops(x, python_op):
    def slow(v):
        threading.Event().wait(0.001)
        return v * 2

    double = python_op(slow)
    f = compiled([x], double(pt.exp(double(x))))
    wrong = []

    def work(number):
        value = np.full(3, 0.1 * number)
        results = [f(value) for _ in range(10)]
        if not np.allclose(results, 2 * np.exp(2 * value)):
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- random graphs -----------------------------------------------------------------------------


@st.composite
def steps(draw):
    count = draw(st.integers(1, 7))
    return [
        (draw(st.integers(0, 6)), draw(st.integers(0, at)), draw(st.integers(0, at)))
        for at in range(count)
    ]


@given(program=steps(), length=st.integers(0, 20), borrow=st.booleans())
@budget(25)
def test_random_mixtures_agree_with_the_reference(python_op, program, length, borrow):
    reverse = python_op(lambda v: v[::-1], view_map={0: [0]})
    same = python_op(lambda v: v, view_map={0: [0]})

    def add_to(v, w):
        v += w
        return v

    add_inplace = python_op(add_to, destroy_map={0: [0]})
    subtract = python_op(np.subtract)
    choices = [
        lambda a, b: pt.maximum(a, 0.25),  # all are exact, so results are equal to the last bit
        lambda a, b: a + b,
        lambda a, b: reverse(a),
        lambda a, b: same(a + b),
        lambda a, b: add_inplace(a + 0.5, b),
        lambda a, b: subtract(b, a),
        lambda a, b: pt.concatenate([a[1:], b[:1]]),
    ]
    x = pt.dvector("x")
    made = [x]
    for number, a, b in program:
        made += [choices[number](made[a], made[b])]
    value = np.linspace(-1, 1, length)
    results = []
    for mode in (MODE, "reference"):
        f = phintys.function(
            [In(x, borrow=borrow)],
            [Out(one, borrow=borrow) for one in made],
            mode=mode,
            accept_inplace=True,
        )
        for _ in range(2):
            given = value.copy()
            got = [one.copy() for one in f(given)]
            np.testing.assert_array_equal(given, value)
        results.append(got)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    gc.collect()


def _at_most(limit):
    def slope(inputs, grads):
        return [_at_most(5)(inputs[0] * grads[0])]

    @phintys.wrap_py([pt.dscalar], [pt.dscalar], grad=slope)
    def checked(value):
        if value > limit:
            raise ValueError("It is too large.")
        return value

    return checked


def _total(row, start):
    return phintys.scan(
        lambda v, before: _at_most(5)(v + before / 64),
        sequences=[row],
        outputs_info=[start],
        return_updates=False,
    )[-1]


def halves(x):
    """Return two rows, of numbers that are known at run time only, so that no loop is unrolled."""
    return x.reshape((x.shape[0] // 4, x.shape[0] // 2))


_LOOPS = {
    "steps": lambda x: phintys.scan(_at_most(5), sequences=[x], return_updates=False),
    "some steps": lambda x: phintys.scan(
        lambda v: phintys.ifelse(v > 3, _at_most(5)(v), v * 2), sequences=[x], return_updates=False
    ),
    "steps in steps": lambda x: phintys.scan(
        _total, sequences=[halves(x)], outputs_info=[x[0]], return_updates=False
    ),
    "until": lambda x: phintys.scan(
        lambda v: (_at_most(5)(v), phintys.until(v > 7)), sequences=[x], return_updates=False
    ),
    "rows": lambda x: phintys.gradient.jacobian(
        phintys.scan(_at_most(50), sequences=[x * x / 2], return_updates=False), x, vectorize=False
    ),
}


@pytest.mark.parametrize("name", _LOOPS)
def test_errors_of_python_code_in_loops_name_the_steps(x, name):
    graph = _LOOPS[name](x)
    found = []
    for mode in (MODE, "reference"):
        f = phintys.function([x], graph, mode=mode)
        with pytest.raises(ValueError, match="It is too large") as error:
            f(np.arange(8.0))
        found.append([note.splitlines()[0] for note in error.value.__notes__])
    assert found[0] == found[1]
    assert any(note.startswith("In ") for note in found[0])
