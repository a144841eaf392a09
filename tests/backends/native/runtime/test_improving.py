"""Programs are compiled quickly, and well when their calls have taken long enough."""

import gc
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import config
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.routines.library import has_loops, library
from phintys.backends.native.runtime import engine
from phintys.backends.native.runtime.background import chores
from phintys.backends.native.runtime.cache import object_cache
from phintys.backends.native.runtime.function import NativeProgram


@pytest.fixture(autouse=True)
def fresh_cache(native, tmp_path):
    with config.change_flags(cache_dir=str(tmp_path)):
        yield


def program_of(f):
    """Return the native program behind a function."""
    found = [one for one in gc.get_objects() if isinstance(one, NativeProgram)]
    return next(one for one in found if one.fgraph is f.maker.fgraph)


def compiled(*outputs_of, ndim=2, dtype="float64"):
    x = pt.tensor("x", dtype=dtype, shape=(None,) * ndim)
    return phintys.function([x], [output(x) for output in outputs_of], mode="native")


def call_often(f, *arguments):
    """Call a function so often that it is worth compiling well, and wait for that."""
    for _ in range(3000):
        f(*arguments)
    chores.wait()
    assert not program_of(f).is_on_trial


def test_calls_make_a_program_better():
    f = compiled(lambda x: pt.exp(x).sum(axis=1))
    value = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
    (expected,) = f(value)
    assert program_of(f).is_on_trial
    call_often(f, value)
    np.testing.assert_array_equal(f(value)[0], expected)


def test_long_calls_count_more(monkeypatch):
    monkeypatch.setattr(engine, "LINE_NANOSECONDS", 1)
    short = compiled(pt.tanh)
    monkeypatch.setattr(engine, "LINE_NANOSECONDS", 10**9)
    long = compiled(pt.sinh)
    for f in (short, long):
        f(np.zeros((2, 2)))
    chores.wait()
    assert not program_of(short).is_on_trial
    assert program_of(long).is_on_trial


GRAPHS = {
    "softmax": lambda x: pt.softmax(x, axis=1),
    "layer norm": lambda x: (x - x.mean(axis=1, keepdims=True)) / (1 + x.var(axis=0)),
    "logsumexp": lambda x: pt.logsumexp(x, axis=1),
    "extrema": lambda x: pt.stack([x.max(axis=0), x.min(axis=0)]),
    "argmax": lambda x: x.argmax(axis=1),
    "product": lambda x: x @ x.T,
    "sum of all": lambda x: pt.sin(x).sum(),
    "running sum": lambda x: pt.cumsum(x, axis=1),
    "gather": lambda x: x[pt.as_tensor_variable(np.array([2, 0, -1]))],
    "powers": lambda x: abs(x) ** 1.7 + x**3,
    "integers": lambda x: pt.cast(x * 10, "int16") // 3,
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_better_code_gives_the_same_bits(name, dtype):
    f = compiled(GRAPHS[name], dtype=dtype)
    value = np.random.default_rng(0).normal(size=(37, 53)).astype(dtype)
    before = f(value)
    program_of(f).improve()
    assert not program_of(f).is_on_trial
    for quick, well in zip(before, f(value), strict=True):
        assert quick.tobytes() == well.tobytes()


def test_what_is_in_the_cache_is_not_on_trial():
    f, g = (compiled(pt.cosh) for _ in range(2))
    program_of(f).improve()
    again = compiled(pt.cosh)
    assert program_of(g).is_on_trial
    assert not program_of(again).is_on_trial


def test_functions_with_loops_are_taken_from_the_cache_as_well_as_possible(monkeypatch):
    target = Target.host()
    factors, power = "phintys_lu_float64_x1", "phintys_exp_float64_x1"
    assert has_loops(factors)
    assert not has_loops(power)
    text = str(library(target, [factors]))
    well = engine.compile_object(text, target, 1)
    levels = []
    compile_here = engine._object_file

    def noted(text, target, level):
        levels.append(level)
        return compile_here(text, target, level)

    monkeypatch.setattr(engine, "_object_file", noted)
    functions = engine._MathLibrary(target, 0)
    assert functions._objects([power, factors])[0].files == well.files
    assert levels == [0], "vector math alone"
    functions._objects(["phintys_image_sums_float64_x1"])
    assert levels == [0, 1], "convolutions are compiled well before they are in the cache"


def test_all_is_compiled_well_before_the_first_call_if_that_is_asked_for():
    with config.change_flags(native_level="high"):
        f = compiled(pt.arcsinh)
    assert not program_of(f).is_on_trial


def test_quick_code_is_kept_on_disk(monkeypatch):
    compiled(pt.arctan)
    before = object_cache().statistics.misses

    def refuse(*arguments):
        pytest.fail("compiled again")

    monkeypatch.setattr(engine, "_compile", refuse)
    f = compiled(pt.arctan)
    assert program_of(f).is_on_trial
    assert object_cache().statistics.misses == before
    np.testing.assert_array_equal(f(np.zeros((1, 1)))[0], np.zeros((1, 1)))


def test_calls_go_on_in_all_threads_while_a_program_becomes_better():
    f = compiled(lambda x: pt.softmax(x, axis=1).sum(axis=0))
    value = np.random.default_rng(0).normal(size=(20, 30))
    (expected,) = f(value)
    wrong = []

    def work():
        results = [f(value)[0] for _ in range(1000)]
        wrong.extend(one for one in results if not np.array_equal(one, expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    program = program_of(f)
    program.improve()
    program.improve()
    for thread in threads:
        thread.join()
    assert not wrong
    assert not program.is_on_trial


def test_a_call_that_fails_raises_its_own_error():
    x, i = pt.dvector("x"), pt.lscalar("i")
    f = phintys.function([x, i], x[i], mode="native")
    value, far = np.zeros(3), np.array(7)
    for _ in range(2000):
        with pytest.raises(IndexError, match="7"):
            f(value, far)
    call_often(f, value, np.array(1))
    with pytest.raises(IndexError, match="7"):
        f(value, far)


def test_a_program_that_nobody_has_is_not_improved(monkeypatch):
    f = compiled(pt.arcsinh)
    held = threading.Event()
    chores.add(held.wait)
    value = np.zeros((2, 2))
    for _ in range(3000):
        f(value)
    del f
    gc.collect()

    def refuse(*arguments):
        pytest.fail("compiled for nobody")

    monkeypatch.setattr(engine, "_compile", refuse)
    held.set()
    chores.wait()


def test_a_program_that_is_measured_is_compiled_well():
    x = pt.dvector("x")
    f = phintys.function([x], pt.expm1(x), mode="native", profile=True)
    assert not program_of(f).is_on_trial


def test_a_process_that_ends_leaves_the_rest_undone(run_python, tmp_path):
    program = """
    import sys
    import numpy as np
    import phintys, phintys.tensor as pt

    phintys.config.cache_dir = sys.argv[1]
    x = pt.dvector("x")
    functions = [phintys.function([x], pt.exp(x) + i, mode="native") for i in range(20)]
    for f in functions:
        for _ in range(1000):
            f(np.zeros(3))
    print("done")
    """
    assert run_python(program, str(tmp_path)) == "done\n"
