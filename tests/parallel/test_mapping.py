"""Tasks give what calls one after the other give, and leave the caller's values alone."""

import collections
import functools
import gc
import importlib
import sys
import threading
import time
import types
import warnings

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import parallel, random
from phintys.parallel import places
from phintys.parallel.held import holds_values
from phintys.random.bits.states import folded

x = pt.dscalar("x")
total = phintys.shared(0.0, name="total")
add = phintys.function([x], total, updates={total: total + x})


def sum_up(start, count=3):
    """Uses a global that stores values."""
    return [float(add(start)) for _ in range(count)]


class Method:
    def __call__(self, start):
        return add(start)


class Attribute:
    __slots__ = ("function", "inside")

    def __init__(self, function=None):
        function = function or add  # made before the tasks
        self.inside = {"deep": [function]}
        self.function = function

    def __call__(self, start):
        self.inside["deep"][0](start)
        return float(self.function(start))


def in_closure(function):
    def again(start, left=2):
        function(start)
        return again(start, left - 1) if left else float(function(start))

    return again


HOLDERS = {
    "function": add,
    "global": sum_up,
    "closure": in_closure(add),
    "lambda": lambda start: sum_up(start)[-1],
    "attribute": Attribute(),
    "namespace": functools.partial(
        lambda space, start: float(space.queue[0].item()(start)),
        types.SimpleNamespace(queue=collections.deque([np.array(add, dtype=object)])),
    ),
    "partial": functools.partial(lambda f, start: [float(f(start)), float(f(start))], add),
    "variable": lambda start: total.set_value(total.get_value() + start) or float(total.eval()),
}
WHERE = {
    "in turn": {"workers": 1},
    "threads": {"workers": 3},
    "joblib": {"client": "threading", "workers": 2},
}


@pytest.fixture(params=WHERE)
def where(request):
    if request.param == "joblib":
        pytest.importorskip("joblib", reason="needs the extra 'joblib'")
    return WHERE[request.param]


@pytest.mark.parametrize("holder", HOLDERS)
def test_each_task_starts_from_the_callers_values_and_leaves_them_alone(where, holder):
    call = HOLDERS[holder]
    expected = []
    for start in (1.0, 2.0, 3.0):
        expected.append(call(start))
        total.set_value(0.0)
    assert parallel.map(call, [1.0, 2.0, 3.0], **where) == expected
    assert total.get_value() == 0.0
    total.set_value(5.0)
    try:
        (found,) = parallel.map(add, [1.0], **where)
    finally:
        total.set_value(0.0)
    assert found == 5.0


def test_a_stream_draws_other_numbers_in_each_task_as_fold_in_says(where):
    stream = random.RandomStream(7)
    draw = phintys.function([], stream.normal(size=3))
    (shared,) = (one for one in draw.get_shared())
    start = shared.get_value()
    found = parallel.map(lambda _: [draw(), draw()], range(4), **where)
    np.testing.assert_array_equal(shared.get_value(), start)
    again = parallel.map(lambda _: [draw(), draw()], range(4), **where)
    np.testing.assert_array_equal(found, again)
    for number, draws in enumerate(found):
        shared.set_value(folded(start, number))
        np.testing.assert_array_equal(draws, [draw(), draw()])
    assert len(np.unique(found)) == 24


@pytest.mark.parametrize("rng", [3, "state", "shared"])
def test_rng_gives_each_call_the_generator_of_its_number(where, rng):
    r = random.rng("r")
    _, u = r.uniform(size=2)
    f = phintys.function([x, r], x + u)
    given = {"state": random.state(3), "shared": random.shared_rng(3)}.get(rng, rng)
    start = given.get_value() if rng == "shared" else random.state(3)
    child = phintys.function([r, n := pt.lscalar("n")], r.fold_in(n))
    found = parallel.map(f, [0.0, 1.0, 2.0], rng=given, **where)
    expected = [f(float(number), child(start, number)) for number in range(3)]
    np.testing.assert_array_equal(found, expected)


def test_numpys_generators_are_jumped_and_those_that_cannot_are_refused(where):
    shared = phintys.shared(np.random.default_rng(3))
    after, u = shared.uniform(size=2)
    f = phintys.function([], u, updates={shared: after})
    found = parallel.map(lambda _: f(), range(3), **where)
    bits = np.random.default_rng(3).bit_generator
    expected = [np.random.Generator(bits.jumped(n + 1)).uniform(size=2) for n in range(3)]
    np.testing.assert_array_equal(found, expected)
    shared.set_value(np.random.Generator(np.random.SFC64(1)))
    with pytest.raises(phintys.PhintysError, match="SFC64"):
        parallel.map(lambda _: f(), range(3), **where)


def test_options_of_the_callers_block_hold_in_tasks(where):
    with phintys.config.change_flags(floatX="float32"):
        assert parallel.map(lambda _: phintys.config.floatX, range(3), **where) == ["float32"] * 3


def test_a_tuple_is_several_arguments_and_an_empty_list_no_call(where):
    assert parallel.map(max, [(1, 2), ([4, 3],)], **where) == [2, 4]
    assert parallel.map(max, [], **where) == []


def test_threads_run_side_by_side():
    meeting = threading.Barrier(2, timeout=60)
    assert sorted(parallel.map(lambda _: meeting.wait(), range(2), workers=2)) == [0, 1]


# ---- errors --------------------------------------------------------------------------------------


class Stubborn(Exception):
    """Cannot be pickled, whatever other libraries register for exceptions."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")
        self.lock = threading.Lock()


def test_an_error_leaves_no_warning_of_tasks_that_were_running(where):
    def fails(number):
        if number == 0:
            raise KeyError("the reason")
        time.sleep(0.2)

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(KeyError, match="the reason"):
            parallel.map(fails, range(4), **where)
        gc.collect()
    assert not found


def test_an_error_shows_the_task_its_inputs_and_the_users_line(where):
    def fails(number, array):
        if number == 2:
            raise KeyError("the reason")  # the line
        return number

    with pytest.raises(KeyError, match="the reason") as caught:
        parallel.map(fails, [(n, np.zeros((30, n))) for n in range(4)], **where)
    (note,) = caught.value.__notes__
    for part in ("task 2 ", "# the line", "test_mapping.py", "Argument 0: 2", "shape (30, 2)"):
        assert part in note


def test_an_error_of_a_compiled_function_keeps_the_line_that_made_the_node(where):
    def make():
        a = pt.dvector("a")
        return phintys.function([a], a[3] * 2)  # made here

    with pytest.raises(IndexError) as caught:
        parallel.map(make(), [np.zeros(4), np.zeros(2)], **where)
    said = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "# made here" in said
    assert "task 1 " in said


def test_the_first_task_that_fails_is_the_one_whose_error_is_raised():
    later_has_failed = threading.Event()

    def fails(number):
        if number == 0:
            assert later_has_failed.wait(60)
        else:
            later_has_failed.set()
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"^0"):
        parallel.map(fails, range(2), workers=2)


def test_tasks_after_one_that_fails_are_not_begun():
    begun = []

    def fails(number):
        begun.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError, match=r"^0"):
        parallel.map(fails, range(1000), workers=2)
    assert len(begun) < 1000


def test_an_error_that_cannot_be_pickled_is_sent_as_text():
    pytest.importorskip("joblib", reason="needs the extra 'joblib'")

    def fails(number):
        raise Stubborn("this", number)

    with pytest.raises(parallel.TaskError, match="Stubborn: this 0"):
        parallel.map(fails, range(2), client="threading")
    with pytest.raises(Stubborn, match="this 0"):
        parallel.map(fails, range(2))


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ((3, [1]), {}, "callable"),
        ((abs, 3), {}, "inputs must be a list"),
        ((abs, [1], object()), {}, "dask.distributed.Client"),
        ((abs, [1], "loki"), {}, "loki"),
        ((abs, [1]), {"workers": 0}, "workers must be a positive int"),
        ((abs, [1]), {"workers": True}, "workers must be a positive int"),
        ((abs, [1]), {"rng": total}, "rng must be a generator or a seed"),
    ],
)
def test_wrong_arguments_are_named(arguments, options, said):
    pytest.importorskip("joblib", reason="needs the extra 'joblib'")
    with pytest.raises(phintys.PhintysError, match=said):
        parallel.map(*arguments, **options)


def test_values_that_cannot_be_copied_are_refused(monkeypatch):
    with pytest.raises(phintys.PhintysError, match=r"method Method.__call__ uses .*updates total"):
        parallel.map(Method(), [1.0])
    with pytest.raises(phintys.PhintysError, match="method Method"):
        parallel.map(lambda start: float(Method()(start)), [1.0])
    module = types.ModuleType("models")
    module.add = add
    monkeypatch.setitem(sys.modules, "models", module)
    monkeypatch.setitem(globals(), "models", module)
    with pytest.raises(phintys.PhintysError, match="from models import add"):
        parallel.map(lambda start: float(models.add(start)), [1.0])  # noqa: F821 - a global by then
    lock = threading.Lock()
    with pytest.raises(phintys.PhintysError, match="cannot be copied for each task"):
        parallel.map(lambda start: lock and add(start), [1.0])
    assert parallel.map(lambda start: bool(lock) and start, [1.0]) == [1.0]  # no values, no copy


def test_large_libraries_are_not_walked_through(monkeypatch, tmp_path):
    """Those that are installed and name nothing of Phintys hold nothing of it."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    for name, line in (("apart", ""), ("based_on_it", "import phintys")):
        (folder / f"{name}.py").write_text(
            f"{line}\nheld = []\nclass Thing:\n    def method(self):\n        return held\n"
        )
    monkeypatch.syspath_prepend(str(folder))
    for name, walked in (("apart", False), ("based_on_it", True)):
        module = importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, module)
        module.held.append(add)
        if walked:
            with pytest.raises(phintys.PhintysError, match=r"Thing\.method"):
                holds_values(module.Thing())
        else:
            assert not holds_values(module.Thing())
        thing = module.Thing()
        thing.attribute = add
        if not walked:
            assert holds_values([thing])  # objects of its classes may


def test_a_worker_of_joblib_that_dies_again_and_again_is_an_error_of_the_first_task(monkeypatch):
    joblib = pytest.importorskip("joblib", reason="needs the extra 'joblib'")
    runs = []

    class Dying(joblib.Parallel):
        def __call__(self, tasks):
            runs.append(len(list(tasks)))
            raise places.BrokenProcessPool("died")

    with pytest.raises(parallel.TaskError, match=r"Task 0 .*BrokenProcessPool: died"):
        parallel.map(abs, [1, 2, 3], client=Dying())
    assert runs == [3] * 3


# ---- progress ------------------------------------------------------------------------------------


def test_progress_is_silent_in_pipes_and_shown_when_asked_for(capsys):
    parallel.map(abs, range(3))
    assert capsys.readouterr().err == ""
    parallel.map(abs, range(3), progress=True)
    said = capsys.readouterr().err
    assert "3 of 3 tasks" in said
