import os
import threading

import pytest

from phintys._base.locks import ProcessLock


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
