import os
import re
import sys
import threading
import time
from pathlib import Path

import pytest

import phintys
from phintys._base.caches import Interned, Once, kept_property, remember


def test_many_threads_get_the_same_value():
    made = []

    @Once
    def value():
        """What it is."""
        time.sleep(0.01)
        made.append(object())
        return made[-1]

    assert value.__name__ == "value"
    assert value.__doc__ == (None if sys.flags.optimize > 1 else "What it is.")
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


def at_once(function, count=2):
    """What threads get that are all inside ``function`` before one of them leaves it."""
    found = []
    threads = [threading.Thread(target=lambda: found.append(function())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == count
    return found


def test_threads_that_ask_at_once_get_one_object():
    together = threading.Barrier(2, timeout=60)

    @Interned
    def box(number):
        together.wait()
        return [number]

    first, second = at_once(lambda: box(1))
    assert first is second is box(1)
    box.cache_clear()
    assert box.__name__ == "box"
    assert at_once(lambda: box(1))[0] is not first


def test_threads_that_read_a_property_at_once_get_one_object():
    together = threading.Barrier(2, timeout=60)

    class Circle:
        @kept_property
        def points(self):
            """Where it is."""
            together.wait()
            return []

    circle = Circle()
    first, second = at_once(lambda: circle.points)
    assert first is second is circle.points
    assert vars(circle) == {"points": first}
    assert Circle.points.__doc__ == (None if sys.flags.optimize > 1 else "Where it is.")


def test_a_table_stays_small():
    table = {}
    for number in range(1000):
        assert remember(table, number, str(number), most=10) == str(number)
        assert len(table) <= 10
        assert table[number] == str(number)


def test_no_cached_property_of_python():
    # In Python 3.11 it has a lock for all instances, which stays locked in forked processes.
    package = Path(phintys.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    found = [
        path for path, text in texts.items() if re.search(r"@(functools\.)?cached_property", text)
    ]
    assert found == []
