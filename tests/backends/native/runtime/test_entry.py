"""Calls: what builtins take, what they hand to Python, and that no argument can break them."""

import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import phintys
import phintys.tensor as pt
from phintys import In, Out
from phintys._base.errors import ArgumentError, ShapeError, TypeContractError
from phintys.tensor.type import DTYPES
from tests.budget import budget

MODE = "native"
pytestmark = pytest.mark.usefixtures("native")


def both(inputs, outputs, **options):
    """The same function in both backends."""
    return [phintys.function(inputs, outputs, mode=mode, **options) for mode in (MODE, "reference")]


def outcome(f, *args, **kwargs):
    """What a call gives: a value, or the error's class and words."""
    try:
        result = f(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever it is, both must raise it
        return type(error), str(error), getattr(error, "__notes__", None)
    return result


def agree(functions, *args, **kwargs):
    got, wanted = (outcome(f, *args, **kwargs) for f in functions)
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple), got
        assert got[:2] == wanted[:2]
        return
    for one, other in zip(*(x if isinstance(x, list) else [x] for x in (got, wanted)), strict=True):
        assert type(one) is type(other)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype
            assert one.shape == other.shape
        np.testing.assert_array_equal(one, other)


def test_the_call_goes_straight_to_a_builtin():
    x = pt.dvector("x")
    f = phintys.function([x], x + 1.0, mode=MODE)
    assert type(type(f).__call__).__name__ == "builtin_function_or_method"
    assert isinstance(f, phintys.Function)
    np.testing.assert_array_equal(f(np.zeros(3)), np.ones(3))
    call = type(f).__call__
    del f
    gc.collect()
    np.testing.assert_array_equal(call(np.zeros(3)), np.ones(3))


def test_the_result_is_a_new_array_each_time():
    x = pt.dvector("x")
    f = phintys.function([x], x + 1.0, mode=MODE)
    results = [f(np.full(3, float(i))) for i in range(10)]
    for i, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(3, i + 1.0))
        assert sys.getrefcount(result) <= 4
        assert result.base is None
        assert result.flags.owndata


def test_references_are_counted_right():
    x, y = pt.dvectors("x", "y")
    s = phintys.shared(np.ones(3))
    f = phintys.function([x, y], [x + y * s, x - y], mode=MODE)
    g = phintys.function([x], x * s, updates=[(s, s + x)], mode=MODE)
    a, b = np.ones(3), np.ones(3)
    dtype = a.dtype

    def work():
        f(a, b)
        f(a, [1, 2, 3])
        g(a)
        for wrong in ((a,), (a, "x"), (a, np.ones(4)), (a, b, b)):
            with pytest.raises((ArgumentError, TypeContractError, ShapeError)):
                f(*wrong)

    for _ in range(3):
        work()
    reference = phintys.function([x, y], x + y, mode="reference")
    lost_by_the_reference = -sys.getrefcount(dtype)
    for _ in range(100):
        with pytest.raises(ShapeError):
            reference(a, np.ones(4))
    lost_by_the_reference += sys.getrefcount(dtype)

    counted = (a, b, dtype, f, s.get_value(borrow=True), None)
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(100):
        work()
    after = [sys.getrefcount(one) for one in counted]
    before[2] += lost_by_the_reference  # NumPy loses a reference to the dtype in error messages
    assert all(abs(x - y) < 50 for x, y in zip(before, after, strict=True)), (before, after)


LENGTHS = st.integers(0, 4)


@st.composite
def any_array(draw):
    dtype = draw(st.sampled_from([*DTYPES, "float64", "float64", "longdouble", "O", "U3", "M8[s]"]))
    shape = tuple(draw(st.lists(LENGTHS, max_size=3)))
    array = np.zeros(shape, dtype) if dtype in {"O", "U3", "M8[s]"} else None
    if array is None:
        number = st.integers(0, 1 if dtype == "bool" else 3)
        array = np.asarray(draw(hnp.arrays("int64", shape, elements=number))).astype(dtype)
    change = draw(st.integers(0, 9))
    if change == 0:
        array = array[..., ::-1] if array.ndim else array
    elif change == 1:
        array = np.asfortranarray(array)
    elif change == 2 and array.ndim:
        array = np.repeat(array, 2, axis=0)[::2]
    elif change == 3 and dtype in DTYPES:
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]  # unaligned
        raw = raw.view(dtype).reshape(shape)
        raw[...] = array
        array = raw
    elif change == 4:
        array.flags.writeable = False
    elif change == 5:
        array = np.broadcast_to(array, (2, *shape))
    elif change == 6 and dtype in DTYPES:
        array = array.astype(array.dtype.newbyteorder())
    elif change == 7:
        array = array.view(np.matrix) if array.ndim == 2 else np.ma.MaskedArray(array)
    elif change == 8 and dtype in DTYPES:
        array = pickle.loads(pickle.dumps(array))
    return array


def any_object():
    return st.one_of(
        any_array(),
        any_array(),
        any_array(),
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.complex_numbers(),
        st.text(max_size=3),
        st.lists(st.integers(-3, 3), max_size=3),
        st.lists(st.lists(st.floats(-3, 3), max_size=2), max_size=2),
        st.just(np.float32(1.5)),
        st.just(np.int8(3)),
        st.just(pt.dvector("a variable")),
        st.just(object()),
        st.just(np.ndarray),
    )


@pytest.fixture(scope="module")
def functions():
    x, y = pt.dvector("x"), pt.dmatrix("y")
    n, r = pt.lscalar("n"), pt.TensorType("float32", (None, 1))("r")
    s = phintys.shared(np.arange(3.0))
    return [
        both([x, y], [x + y, y * 2]),
        both([x, x.type("z")], x * 2.0, on_unused_input="ignore"),
        both([n, r], [n + 1, r * 2]),
        both([pt.TensorType("float64", (2, 3))("fixed")], [pt.dscalar("d")], givens={})
        if False
        else both([In(x, allow_downcast=True)], x + s),
        both([In(x, strict=True), In(n, value=3)], [x + 1.0, n]),
    ]


@given(data=st.data())
@budget(250)
def test_any_arguments_give_what_they_give_in_python(functions, data):
    pair = data.draw(st.sampled_from(functions))
    args = data.draw(st.lists(any_object(), max_size=3))
    kwargs = data.draw(
        st.dictionaries(st.sampled_from(["x", "y", "n", "q", "z", ""]), any_object(), max_size=1)
    )
    with np.errstate(all="ignore"):
        agree(pair, *args, **kwargs)


@given(data=st.data())
@budget(100)
def test_all_dtypes_and_layouts(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    ndim = data.draw(st.integers(0, 3))
    x = pt.tensor("x", dtype=dtype, shape=(None,) * ndim)
    pair = both([x], [pt.switch(x, x, x), Out(x, borrow=True)])
    for _ in range(5):
        agree(pair, data.draw(any_array()))


def test_static_lengths_are_checked():
    x = pt.TensorType("float64", (2, None))("x")
    pair = both([x], x + 1.0)
    for shape in [(2, 3), (2, 0), (3, 3), (2,), (2, 3, 1), (1, 3)]:
        agree(pair, np.ones(shape))


def test_keywords_defaults_and_subsets():
    x, y = pt.dvectors("x", "y")
    pair = both([x, In(y, value=[1.0, 2.0])], [x + y, x - y])
    a, b = np.array([3.0, 4.0]), np.array([5.0, 6.0])
    for args, kwargs in [
        ((a,), {}),
        ((a, b), {}),
        ((), {"x": a}),
        ((a,), {"y": b}),
        ((), {"y": b, "x": a}),
        ((a,), {"x": a}),
        ((), {}),
        ((a,), {"nonsense": b}),
        ((a, b), {"output_subset": [1]}),
        ((a, b), {"output_subset": []}),
    ]:
        agree(pair, *args, **kwargs)


def test_what_a_call_returns():
    x = pt.dscalar("x")
    s = phintys.shared(0.0)
    value = np.array(2.0)
    assert phintys.function([x], [x + 1.0], mode=MODE)(value) == [3.0]
    assert phintys.function([x], [], mode=MODE, on_unused_input="ignore")(value) == []
    assert phintys.function([x], updates=[(s, s + x)], mode=MODE)(value) is None
    assert s.get_value() == 2.0
    assert phintys.function([x], {"a": x + 1.0}, mode=MODE)(value) == {"a": 3.0}
    assert phintys.function([In(x, borrow=True)], Out(x, borrow=True), mode=MODE)(value) is value
    odd = np.arange(6.0)[::2]
    v = pt.dvector("v")
    assert phintys.function([In(v, borrow=True)], Out(v, borrow=True), mode=MODE)(odd) is odd


def test_other_values_than_arrays():
    handle = phintys.graph.type.generic("handle")
    x = pt.dscalar("x")
    f = phintys.function([handle, x], [handle, x + 1.0], mode=MODE)
    for thing in ["text", 17, {"a": [1]}, (1, 2)]:
        got, number = f(thing, np.array(1.0))
        assert got == thing
        assert number == 2.0


# ---- shared variables and updates --------------------------------------------------------------


def test_updates_are_stored_only_if_all_went_well():
    x = pt.dvector("x")
    s = phintys.shared(np.zeros(3), name="s")
    count = phintys.shared(0, name="count")
    f = phintys.function([x], s + 1.0, updates=[(count, count + 1), (s, s + x)], mode=MODE)
    old = s.get_value(borrow=True)
    np.testing.assert_array_equal(f(np.ones(3)), np.ones(3))
    np.testing.assert_array_equal(old, np.zeros(3))
    with pytest.raises(ShapeError):
        f(np.ones(4))
    with pytest.raises(TypeContractError):
        f("no array")
    assert count.get_value() == 1
    np.testing.assert_array_equal(s.get_value(), np.ones(3))
    np.testing.assert_array_equal(f([1, 2, 3]), np.full(3, 2.0))
    np.testing.assert_array_equal(s.get_value(), [2.0, 3.0, 4.0])


def test_no_update_is_lost_between_threads():
    x = pt.dscalar("x")
    s, t = phintys.shared(0.0), phintys.shared(0.0)
    functions = [
        phintys.function([x], s, updates=[(s, s + x)], mode=MODE),
        phintys.function([x], [s, t], updates=[(t, t + x), (s, s + x)], mode=MODE),
        phintys.function([x], t, updates=[(t, t + x)], mode="reference"),
    ]
    one = np.array(1.0)

    def work(f):
        for number in range(1500):
            f(one if number % 3 else 1.0)

    threads = [threading.Thread(target=work, args=(f,)) for f in [*functions, *functions]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert s.get_value() == t.get_value() == 6000.0


def test_a_shared_value_is_set_while_calls_run():
    x = pt.dvector("x")
    s = phintys.shared(np.zeros(50_000))
    f = phintys.function([x], (s + x) - x, mode=MODE)
    value = np.ones(50_000)
    stop = threading.Event()
    wrong = []

    def call():
        while not stop.is_set():
            result = f(value)
            if not (result == result[0]).all():
                wrong.append(result)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(300):
        s.set_value(np.full(50_000, float(number)), borrow=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_eight_threads_call_one_function():
    x, y = pt.dvectors("x", "y")
    f = phintys.function([x, y], [pt.exp(x) + y, (x * y).sum()], mode=MODE)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            a, b = rng.normal(size=(2, rng.integers(1, 30_000)))
            total, product = f(a.copy(), b.copy())
            if not np.allclose(total, np.exp(a) + b) or not np.isclose(product, (a * b).sum()):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("has_callback", [False, True])
def test_other_threads_run_during_a_long_call(python_op, has_callback):
    x = pt.dvector("x")
    y = python_op(np.negative)(x) if has_callback else x
    for _ in range(40):
        y = pt.exp(pt.sin(y))
    f = phintys.function([x], y, mode=MODE)
    value = np.linspace(-1, 1, 300_000)
    f(value)
    state = {"inside": False, "steps": 0}

    def call():
        with phintys.config.change_flags(num_threads=1):
            state["inside"] = True
            f(value)
            state["inside"] = False

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        thread = threading.Thread(target=call)
        thread.start()
        while thread.is_alive():
            state["steps"] += state["inside"]
    finally:
        sys.setswitchinterval(before)
    # Holding the lock of the interpreter, the call would let this loop run for a moment at most.
    assert state["steps"] > 10_000


# ---- life and death ----------------------------------------------------------------------------


def test_a_function_that_nobody_holds_is_freed():
    x = pt.dvector("x")
    f = phintys.function([x], x + 1.0, mode=MODE)
    f(np.zeros(3))
    reference, program = weakref.ref(f), weakref.ref(f.vm)
    del f
    gc.collect()
    assert reference() is None
    assert program() is None


def test_copies_and_pickles():
    x = pt.dvector("x")
    s = phintys.shared(np.ones(2))
    f = phintys.function([x], x + s, updates=[(s, s + 1)], mode=MODE)
    twin = f.copy(share_memory=True, delete_updates=True)
    loaded = pickle.loads(pickle.dumps(f))
    value = np.zeros(2)
    np.testing.assert_array_equal(twin(value), [1.0, 1.0])
    np.testing.assert_array_equal(f(value), [1.0, 1.0])
    np.testing.assert_array_equal(twin(value), [2.0, 2.0])
    np.testing.assert_array_equal(loaded(value), [1.0, 1.0])
    assert type(type(loaded).__call__).__name__ == "builtin_function_or_method"
