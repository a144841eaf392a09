"""Signals: what handlers raise arrives, once, and leaves everything as it was before the call.

``PHINTYS_STRESS`` is by how much the storms last longer than usual.
"""

import os
import signal

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")

LONGER = float(os.environ.get("PHINTYS_STRESS", "1"))

BEGIN = """
    import signal, sys, threading, time
    import numpy as np
    import phintys, phintys.tensor as pt

    class Stop(Exception):
        pass

    armed = False
    raised = 0

    def handler(*_):
        # Disarmed first: a signal that comes in here must not raise in place of this one.
        global armed, raised
        if armed:
            armed = False
            raised += 1
            raise Stop

    signal.signal(signal.SIGALRM, handler)
"""

STORM = (
    BEGIN
    + """
    mode, seconds = sys.argv[1], float(sys.argv[2])
    a, b, c = (phintys.shared(np.zeros(3), name=name) for name in "abc")
    step = phintys.function([], updates=[(a, a + 1), (b, b + 1), (c, c + 1)], mode=mode)
    step()
    done = seen = 0
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        try:
            armed = True
            step(); step(); step(); step(); step()
            armed = False
        except Stop:
            seen += 1
        done += 5
    signal.setitimer(signal.ITIMER_REAL, 0)
    values = [one.get_value() for one in (a, b, c)]
    assert raised == seen > 100, (raised, seen)
    assert all((value == values[0][0]).all() for value in values), values
    assert values[0][0] <= done + 1
    # No lock is left behind: another thread can update them.
    thread = threading.Thread(target=step, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert a.get_value()[0] == values[0][0] + 1
"""
)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_a_storm_of_signals_loses_none_and_leaves_no_lock(run, mode):
    run(STORM, mode, LONGER)


CONTENDED = (
    BEGIN
    + """
    seconds = float(sys.argv[1])
    a, b = (phintys.shared(np.zeros(3), name=name) for name in "ab")
    step = phintys.function([], updates=[(a, a + 1), (b, b + 1)], mode="native")
    back = phintys.function([], updates=[(b, b + 1), (a, a + 1)], mode="native")
    ends = time.perf_counter() + seconds
    counts = [0, 0]

    def work(number):
        while time.perf_counter() < ends:
            (step, back)[number]()
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    seen = 0
    while time.perf_counter() < ends:
        try:
            armed = True
            step()
            armed = False
        except Stop:
            seen += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert raised == seen > 10, (raised, seen)
    assert (a.get_value() == b.get_value()).all()
    assert a.get_value()[0] >= sum(counts)
"""
)


def test_signals_while_other_threads_hold_the_locks(run):
    run(CONTENDED, LONGER)
