import os
import threading
import time

import pytest

from phintys._base.config import config
from phintys.backends.native.runtime.background import Background, Chores


def test_the_result_comes_from_another_thread():
    assert Background(threading.get_ident).result() != threading.get_ident()
    assert Background(divmod, 7, 2).result() == (3, 1)


def test_errors_are_raised_where_the_result_is_wanted():
    failed = Background(int, "x")
    for _ in range(2):
        with pytest.raises(ValueError, match="invalid literal"):
            failed.result()
    failed.wait()


def test_the_configuration_is_that_of_who_asks():
    with config.change_flags(num_threads=3):
        asked = Background(lambda: config.num_threads)
    assert asked.result() == 3


def test_without_threads_it_is_done_here(monkeypatch):
    def fail(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    assert Background(threading.get_ident).result() == threading.get_ident()


def test_functions_are_compiled_while_the_interpreter_ends(run_python):
    program = """
    import atexit
    import numpy as np
    import phintys, phintys.tensor as pt

    def late():
        x = pt.dvector("x")
        print(phintys.function([x], pt.exp(x).sum(), mode="native")(np.zeros(3)))

    atexit.register(late)
    """
    assert run_python(program) == "3.0\n"


def test_it_may_wait_for_all_within_itself():
    waited = []

    def work():
        for one in started:
            one.wait()
        waited.append(True)

    started = []
    started.append(Background(work))
    started[0].result()
    assert waited == [True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_process_forks_between_two_tasks_only():
    done = []
    tasks = [Background(lambda: (time.sleep(0.02), done.append(None))) for _ in range(3)]
    child = os.fork()
    if child == 0:
        os._exit(len(done))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    for task in tasks:
        task.result()


def test_a_process_ends_after_its_tasks(run_python):
    assert "done" in run_python(
        """
        import time
        from phintys.backends.native.runtime.background import Background, Chores
        Background(lambda: (time.sleep(0.05), print("done", flush=True)))
        """
    )


def test_chores_are_done_one_after_the_other():
    done = []
    own = Chores()
    for number in range(100):
        own.add(lambda number=number: done.append((number, threading.get_ident())))
    own.wait()
    assert [number for number, _ in done] == list(range(100))
    assert threading.get_ident() not in {thread for _, thread in done}


def test_chores_have_the_configuration_of_who_asks():
    found = []
    own = Chores()
    with config.change_flags(num_threads=3):
        own.add(lambda: found.append(config.num_threads))
    own.wait()
    assert found == [3]


def test_a_chore_that_fails_is_told_and_the_next_one_done():
    done = []
    own = Chores()
    held = threading.Event()
    own.add(held.wait)
    own.add(lambda: int("x"))
    own.add(lambda: done.append(1))
    threading.Timer(0.01, held.set).start()
    with pytest.warns(RuntimeWarning, match="invalid literal"):
        own.wait()
    assert done == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_chores_pause_while_a_process_forks(run_python):
    program = """
    import os, time
    from phintys.backends.native.runtime.background import chores

    done = []
    for number in range(5):
        chores.add(lambda: (time.sleep(0.05), done.append(1)))
    child = os.fork()
    if child == 0:
        chores.add(lambda: None)
        chores.wait()
        os._exit(0 if len(done) == 5 else 1)
    status = os.waitpid(child, 0)[1]
    chores.wait()
    print(len(done), os.waitstatus_to_exitcode(status))
    """
    assert run_python(program) == "5 0\n"
