import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from phintys._base.uninterrupted import import_whole, is_imported_again, run_whole, start_thread


def test_the_main_thread_lets_another_one_work():
    assert run_whole(threading.current_thread) is not threading.current_thread()
    found = []
    thread = threading.Thread(target=lambda: found.append(run_whole(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


def test_errors_come_out():
    with pytest.raises(ZeroDivisionError):
        run_whole(divmod, 1, 0)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_whole("no_such_module")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_work_goes_on_when_a_handler_raises():
    leave, done = threading.Event(), threading.Event()

    def work():
        leave.wait(20)
        done.set()

    def handler(*_):
        raise InterruptedError

    former = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(InterruptedError):
            run_interrupted(work)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert not done.is_set()
    leave.set()
    assert done.wait(20)


def run_interrupted(work):
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    run_whole(work)


def test_threads_have_room_whatever_the_program_has_set():
    def deep(number):
        return number and 1 + deep(number - 1)

    found, done = [], threading.Event()

    def work():
        found.append(deep(500))
        done.set()

    former = threading.stack_size(65536)
    try:
        start_thread(work, "test")
        assert done.wait(20)
        assert threading.stack_size(65536) == 65536  # the program's own threads are as they were
    finally:
        threading.stack_size(former)
    assert found == [500]


def test_only_another_attempt_at_the_same_module_is_one():
    home = {"__name__": "module"}
    assert is_imported_again(dict(home), home)
    assert not is_imported_again(home, home)
    assert not is_imported_again({"__name__": "other"}, home)


SMALL_STACKS = """
    import threading
    threading.stack_size(65536)
    import numpy as np, phintys, phintys.tensor as pt

    phintys.config.object_cache = False
    x = pt.dmatrix("x")
    f = phintys.function([x], [pt.softmax(x), pt.exp(x).sum(), pt.dot(x, x)], mode="native")
    f(np.ones((200, 200)))
    print(threading.stack_size(65536))
"""


def test_our_threads_compile_where_threads_are_small():
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(SMALL_STACKS)],
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "65536\n"), done.stderr


FORKED_WHILE_WORKING = """
    import os, threading, time, warnings
    from phintys._base.uninterrupted import finished_before_forks

    warnings.filterwarnings("ignore", category=DeprecationWarning)  # of forks and threads
    started = threading.Event()
    steps = []

    @finished_before_forks
    def work():
        steps.append("begun")
        started.set()
        time.sleep(0.5)  # without the GIL, as LLVM works
        steps.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    child = os.fork()
    if child == 0:
        os._exit(len(steps))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_waits_for_marked_functions():
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FORKED_WHILE_WORKING)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
