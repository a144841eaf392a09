"""Signals: what handlers raise arrives, once, and leaves everything as it was before the call."""

import signal

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")

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
def test_a_storm_of_signals_loses_none_and_leaves_no_lock(run, mode, repeats):
    run(STORM, mode, repeats(1, 30))


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


def test_signals_while_other_threads_hold_the_locks(run, repeats):
    run(CONTENDED, repeats(1, 30))


LONG = (
    BEGIN
    + """
    from phintys import config

    n, x, r = pt.lscalar("n"), pt.dvector("x"), pt.dscalar("r")
    s = phintys.shared(np.zeros(3))
    y = x
    for _ in range(60):
        y = pt.sin(pt.exp(-y))
    wave = pt.sin(pt.arange(n) * 1e-3)
    endless, much = np.array(10**13), np.linspace(0, 1, 4_000_000)
    cases = {
        "elementwise": ([x], y, (much,)),
        "rows": ([x], (y[:2_000_000].reshape((2, -1)) * y[2_000_000:]).sum(axis=1), (much,)),
        "sum": ([n], wave.sum(), (endless,)),
        "any": ([n], (wave > 2).any(), (endless,)),
        "argmax": ([n], wave.argmax(), (endless,)),
        "argmax of large": ([n], pt.maximum(wave, 2).argmax(), (endless,)),
        "update": ([n], wave.sum(), (endless,)),
    }
    for threads in (1, 0):
        for name, (inputs, output, arguments) in cases.items():
            updates = {s: s + output} if name == "update" else {}
            f = phintys.function(inputs, output, updates=updates, mode="native")
            few = [np.array(100) if a is endless else a[:1000] for a in arguments]
            if name != "rows":
                expected = f(*few)
                s.set_value(np.zeros(3))
            with config.change_flags(num_threads=threads):
                armed = True
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                try:
                    f(*arguments)
                except Stop:
                    pass
                else:
                    # Elementwise work may have been done in time.
                    assert endless not in arguments, name
                signal.setitimer(signal.ITIMER_REAL, 0)
                armed = False
            assert (s.get_value() == 0).all()
            if name != "rows":
                assert np.array_equal(f(*few), expected), name
                s.set_value(np.zeros(3))
    assert raised >= 10, raised
"""
)


def test_long_calls_end_where_a_handler_raises(run):
    run(LONG)


STEPS = (
    BEGIN
    + """
    from phintys import config

    n, x, i = pt.lscalar("n"), pt.dvector("x"), pt.lvector("i")
    A, B, T, Z = pt.dmatrix("A"), pt.dmatrix("B"), pt.dtensor3("T"), pt.zmatrix("Z")
    s = phintys.shared(np.zeros(3))

    def wide(y):
        for _ in range(10):
            y = pt.sin(pt.exp(-y))
        return y

    def numbers(*shape):
        return np.linspace(0, 1, np.prod(shape, dtype=int)).reshape(shape)

    def scattered(length):
        return numbers(length), np.arange(length) % 1000

    # What is called, and with what for a length. No length makes more than a few MB long work.
    cases = {
        "rows": ([x], wide(x[None] + pt.arange(2.0)[:, None]), lambda n: [numbers(n)]),
        "transposed": ([A], wide(A.T + 1), lambda n: [numbers(n, 2)]),
        "strided": ([x], wide(x[::2]), lambda n: [numbers(n)]),
        "stack": ([T], pt.matmul(T, T), lambda n: [numbers(n // 64, 8, 8)]),
        "vectors": ([T], pt.matmul(T, T[:, :, :1]), lambda n: [numbers(n // 64, 8, 8)]),
        "product": ([A], A @ A, lambda n: [numbers(*[int(n**0.5) * 2] * 2)]),
        "complex": ([Z], Z @ Z, lambda n: [numbers(*[int(n**0.5)] * 2) + 1j]),
        "inner axis": ([A], A @ A.T, lambda n: [numbers(200, n // 8)]),
        "scatter": ([x, i], pt.inc_subtensor(pt.zeros(1000)[i], wide(x)), scattered),
        "write": ([x, i], pt.set_subtensor(pt.zeros(1000)[i], wide(x)), scattered),
        "gather": ([x, i], wide(x[i]), scattered),
        "cumulated": ([x], pt.cumsum(wide(x)), lambda n: [numbers(n)]),
        "mask": ([x], x[wide(x) > -2], lambda n: [numbers(n)]),
    }

    def seconds(f, arguments):
        f(*arguments)  # so that the memory of results is there
        begin = time.thread_time()
        f(*arguments)
        return time.thread_time() - begin

    # The time of this thread is counted, so that other threads and programs do not matter.
    signal.signal(signal.SIGPROF, handler)
    for name in sys.argv[1:]:
        inputs, output, make = cases[name]
        updates = {s: s + output.ravel()[0].real}
        f = phintys.function(inputs, output, updates=updates, mode="native")
        with config.change_flags(num_threads=1):
            f(*make(1 << 14))
            length = 1 << 18
            while (whole := seconds(f, make(length))) < 0.25:
                length *= 2 if whole > 0.05 else 4
            arguments = make(length)
            before = s.get_value()
            armed = True
            signal.setitimer(signal.ITIMER_PROF, 0.05)
            begin = time.thread_time()
            try:
                f(*arguments)
            except Stop:
                pass
            else:
                raise AssertionError(name)
            taken = time.thread_time() - begin
            print(name, length, whole, taken)
            assert taken < 0.8 * whole, (name, whole, taken)
            assert np.array_equal(s.get_value(), before), name
            f(*make(1 << 14))
            del arguments
"""
)


@pytest.mark.parametrize(
    "kinds",
    [
        ["rows", "scatter"],
        pytest.param(["stack", "transposed", "strided", "vectors"], marks=pytest.mark.stress),
        pytest.param(["product", "complex", "inner axis"], marks=pytest.mark.stress),
        pytest.param(["write", "gather", "cumulated", "mask"], marks=pytest.mark.stress),
    ],
    ids=" ".join,
)
def test_every_kind_of_step_ends_early(run, kinds):
    run(STEPS, *kinds)


BESIDE = (
    BEGIN
    + """
    # A call in another thread takes no signals, and keeps none from the main thread.
    n = pt.lscalar("n")
    f = phintys.function([n], pt.sin(pt.arange(n) * 1e-3).sum(), mode="native")
    f(np.array(10))
    thread = threading.Thread(target=f, args=(np.array(10**13),), daemon=True)
    thread.start()
    time.sleep(0.3)
    armed = True
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        for _ in range(600):
            time.sleep(0.1)
    except Stop:
        pass
    assert raised == 1 and thread.is_alive()
    import os

    sys.stdout.flush()
    os._exit(0)
"""
)


def test_a_call_in_another_thread_keeps_no_signal_from_the_main_one(run):
    run(BESIDE)


DROPPED = (
    BEGIN
    + """
    import gc

    # A handler that raises while functions are dropped, and their code with them.
    x, lost = pt.dvector("x"), []
    sys.unraisablehook = lambda what: lost.append(what.object)
    for one in range(int(sys.argv[1])):
        functions = [phintys.function([x], pt.sin(x) * (one + k)) for k in range(10)]
        graphs = [pt.alloc(0.0, 10**6 + 10 * one + k) for k in range(10)]
        seen = 0
        signal.setitimer(signal.ITIMER_REAL, 2e-5, 2e-5)
        try:
            armed = True
            functions.clear()
            graphs.clear()
            gc.collect()
            while armed:
                pass
        except Stop:
            seen = 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert raised == one + 1 and seen and not lost, (raised, seen, lost)
"""
)


def test_signals_while_functions_are_dropped(run, repeats):
    run(DROPPED, repeats(4, 300))


ENDLESS = (
    BEGIN
    + """
    # Estimates of so much work do not fit into an integer. The signal comes from another thread,
    # which needs the GIL for it.
    n, x = pt.lscalar("n"), pt.dvector("x")

    def repeated(step, start):
        return phintys.scan(step, outputs_info=[start], n_steps=n)[0][-1]

    def again(a):
        return repeated(lambda b: b * 0.5 + x[:3].sum(), a)

    cases = {
        "numbers": repeated(lambda a: a * 0.5 + x.sum(), np.float64(1)),
        "vectors": repeated(lambda a: pt.sin(a) * 0.5 + 1, x),
        "loops in loops": repeated(again, np.float64(1)),
        "sum": pt.eq(pt.arange(n, dtype="int8"), 77).sum(),
    }
    for name, output in cases.items():
        f = phintys.function([n, x], output, mode="native", on_unused_input="ignore")
        f(np.array(5), np.ones(4))
        for count in (2**58 + 1, 2**61 - 1, 2**61, 2**62, 2**63 - 2**20):
            armed = True
            print(name, count, flush=True)
            threading.Timer(0.2, signal.raise_signal, (signal.SIGALRM,)).start()
            try:
                f(np.array(count), np.ones(4))
            except Stop:
                continue
            raise AssertionError((name, count))
"""
)


def test_loops_of_any_length_end_and_release_the_gil(run):
    run(ENDLESS, timeout=100)
