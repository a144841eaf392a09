import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from phintys._base.locks import CallLock, ProcessLock, while_held


def test_one_thread_at_a_time():
    lock, inside, most = ProcessLock(), [], []

    def work():
        for _ in range(200):
            with lock, lock:
                inside.append(None)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


def test_an_error_lets_go():
    lock = ProcessLock()
    with pytest.raises(ZeroDivisionError), lock:
        1 / 0
    thread = threading.Thread(target=lock.__enter__, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_new_process_finds_it_free():
    lock = ProcessLock()
    held, leave = threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        with lock:
            os._exit(3)
    leave.set()
    thread.join()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_thread_that_forks_holds_it_in_both_processes():
    lock = ProcessLock()
    with lock:
        child = os.fork()
        if child == 0:
            with lock:  # released as often as it was taken
                pass
    if child == 0:
        thread = threading.Thread(target=lock.__enter__, daemon=True)
        thread.start()
        thread.join(10)
        os._exit(3 if not thread.is_alive() else 4)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3


def _is_free(lock):
    """Return whether another thread can have a lock."""

    def take():
        got = lock.acquire(blocking=False)
        if got:
            lock.release()
        return got

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(take).result()


@pytest.mark.parametrize("count", [0, 1, 2, 8, 20, 700])
def test_several_locks_are_held_and_released(count):
    locks = [CallLock() for _ in range(count)]

    def inside(value, *, error):
        assert not any(map(_is_free, locks[:3] + locks[-3:]))
        if error:
            raise ZeroDivisionError
        return value

    assert while_held(locks, inside, 5, error=False) == 5
    with pytest.raises(ZeroDivisionError):
        while_held(locks, inside, 5, error=True)
    assert all(map(_is_free, locks[:3] + locks[-3:]))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_signals_leave_no_lock_behind():
    locks = [CallLock() for _ in range(10)]
    armed = False

    def handler(*_):
        nonlocal armed
        if armed:
            armed = False
            raise InterruptedError

    former = signal.signal(signal.SIGALRM, handler)
    seen = 0
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        for _ in range(3_000):
            try:
                armed = True
                for _ in range(5):
                    while_held(locks, int)
                armed = False
            except InterruptedError:
                seen += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    assert seen > 10
    assert all(map(_is_free, locks))
