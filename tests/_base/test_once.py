import os
import threading
import time

import pytest

from phintys._base.once import Once


def test_many_threads_get_the_same_value():
    made = []

    @Once
    def value():
        """What it is."""
        time.sleep(0.01)
        made.append(object())
        return made[-1]

    assert (value.__name__, value.__doc__) == ("value", "What it is.")
    assert not value.is_known
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(value())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert set(map(id, seen)) == {id(made[0])}
    assert value.is_known
    value.cache_clear()
    assert value() is made[1]


def test_an_error_is_not_kept():
    attempts = []

    @Once
    def value():
        attempts.append(None)
        if len(attempts) < 3:
            raise OSError(len(attempts))
        return len(attempts)

    for number in (1, 2):
        with pytest.raises(OSError, match=str(number)):
            value()
    assert value() == value() == 3


def test_a_value_may_be_none():
    calls = []
    value = Once(lambda: calls.append(None))
    assert value() is value() is None
    assert len(calls) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_new_process_does_not_wait_for_a_thread_that_is_not_there():
    inside, leave = threading.Event(), threading.Event()

    @Once
    def value():
        if inside.is_set():  # in the new process
            return 7
        inside.set()
        leave.wait()
        return 1

    thread = threading.Thread(target=value)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        os._exit(value())
    leave.set()
    thread.join()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert value() == 1
