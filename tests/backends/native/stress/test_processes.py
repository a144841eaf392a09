"""Processes: forks, cores, threads at the end, signals."""

import os
import sys

import pytest

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
linux = pytest.mark.skipif(sys.platform != "linux", reason="what Linux has")

BEGIN = """
    import os, signal, sys, threading, time, warnings
    import numpy as np
    import phintys, phintys.tensor as pt
    from phintys import config
    from phintys._base.config import thread_limit
    from phintys.backends.native.runtime.support import support

    warnings.filterwarnings("ignore", category=DeprecationWarning)  # of forks and threads
    x = pt.dvector("x")
    value = np.linspace(-1, 1, 500_000)

    def compiled():
        return phintys.function([x], [pt.exp(x) + pt.sin(x), pt.tanh(x).sum()], mode="native")

    def same(results, others):
        return all(map(np.array_equal, results, others))
"""

MULTIPROCESSING = (
    BEGIN
    + """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    f = compiled()
    if sys.argv[1] == "after":
        assert support().workers == 0
        # The first calls may run alone: the threads are compiled meanwhile, and may be distrusted.
        while not support().workers and thread_limit() > 1:
            f(value)

    def work(number):
        # In a process forked before anything ran, and in one with a pool of threads that is gone.
        g = compiled()
        return all(same(f(value * number), g(value * number)) for _ in range(3))

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        assert list(pool.map(work, range(6))) == [True] * 6
    assert same(f(value), compiled()(value))
    print("fine")
"""
)


@posix
@pytest.mark.parametrize("when", ["before", "after"])
def test_forked_processes_compile_and_call(run, when):
    assert run(MULTIPROCESSING, when) == "fine\n"


FORKING_TREE = (
    BEGIN
    + """
    f = compiled()
    expected = f(value)

    def fork(depth):
        child = os.fork()
        if child == 0:
            good = same(f(value), expected) and (depth == 0 or fork(depth - 1) == 0)
            # Ends as programs do: threads are stopped, memory is given back.
            sys.exit(0 if good else 1)
        return os.waitpid(child, 0)[1]

    assert fork(3) == 0
    assert same(f(value), expected)
"""
)


@posix
def test_forks_of_forks_end_well(run):
    run(FORKING_TREE)


FORKING_UPDATES = (
    BEGIN
    + """
    mode = sys.argv[1]
    s, t = (phintys.shared(np.zeros(3), name=name) for name in "st")
    step = phintys.function([], updates=[(s, s + 1), (t, t + 1)], mode=mode)
    step()
    stopped = False

    def work():
        while not stopped:
            step()

    thread = threading.Thread(target=work)
    thread.start()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(20):
            time.sleep(0.002)
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # ends a child that hangs
                before = s.get_value()
                step()
                os._exit(int(not (s.get_value() == before + 1).all()))
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stopped = True
        thread.join()
"""
)


@posix
@pytest.mark.parametrize("mode", ["native", "reference"])
def test_forks_while_another_thread_updates(run, mode):
    run(FORKING_UPDATES, mode)


FORKING_EARLY = """
    import os, signal, sys, threading, time, warnings
    import numpy as np, scipy, llvmlite

    warnings.filterwarnings("ignore", category=DeprecationWarning)  # of forks and threads

    def compiled(scale):
        import phintys, phintys.tensor as pt

        x = pt.dmatrix("x")
        y = pt.erfcinv(abs(pt.tanh(x)) + 0.5).sum() + pt.dot(x, pt.softmax(x)).sum() * scale
        f = phintys.function([x], [y, phintys.grad(y, x)], mode="native")
        return f(np.full((2, 2), 0.25))

    def fork(work):
        child = os.fork()
        if child == 0:
            signal.alarm(100)  # ends a child that hangs
            work()
            os._exit(0)
        return os.waitpid(child, 0)[1]

    def first_steps(delay):
        import phintys  # in a new process, which has imported nothing of it

        thread = threading.Thread(target=compiled, args=(1.0,))
        thread.start()
        time.sleep(delay)
        status = fork(lambda: compiled(2.0))
        thread.join()
        os._exit(int(status != 0))

    count = int(sys.argv[1])
    statuses = [fork(lambda: first_steps(0.3 * number / count)) for number in range(count)]
    assert not any(statuses), statuses
"""


@posix
def test_forks_while_another_thread_imports_and_compiles(run, repeats):
    run(FORKING_EARLY, repeats(3, 60))


CORES = (
    BEGIN
    + """
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    assert thread_limit() == 1
    f = compiled()
    f(value)
    assert support().workers == 0, support().workers
"""
)


@linux
def test_the_cores_that_a_process_may_use_are_respected(run):
    run(CORES)


LIMITS = (
    BEGIN
    + """
    f = compiled()
    if sys.argv[1] == "environment":
        assert config.num_threads == 1
        alone = f(value)
        assert support().workers == 0
    else:
        with config.change_flags(num_threads=1):
            alone = f(value)
        assert support().workers == 0
    # Another thread has its own limit; the bits are the same.
    with config.change_flags(num_threads=1):
        other = []
        thread = threading.Thread(target=lambda: other.append((thread_limit(), f(value))))
        thread.start()
        thread.join()
        assert thread_limit() == 1
    (limit, results), = other
    assert same(results, alone)
    with config.change_flags(num_threads=2):
        assert thread_limit() == 2
        assert same(f(value), alone)
"""
)


def test_a_limit_of_threads_for_one_call(run):
    run(LIMITS, "block")


def test_a_limit_of_threads_from_the_environment(run):
    run(LIMITS, "environment", flags="num_threads=1")


INTERRUPT = (
    BEGIN
    + """
    y = x
    for _ in range(30):
        y = pt.exp(pt.sin(y))
    value = value[:100_000]
    f = phintys.function([x], y, mode="native")
    expected = f(value)
    began = time.perf_counter()
    f(value)
    took = time.perf_counter() - began
    interrupted = 0
    for round in range(6):
        signal.setitimer(signal.ITIMER_REAL, took * (round + 0.5) / 6)
        try:
            while True:
                f(value)
        except KeyboardInterrupt:
            interrupted += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert np.array_equal(f(value), expected)
    assert interrupted == 6, interrupted
"""
).replace("x = pt", "signal.signal(signal.SIGALRM, signal.default_int_handler)\n    x = pt", 1)


@linux
def test_an_interrupt_during_a_call(run):
    run(INTERRUPT)
    run(INTERRUPT, flags="num_threads=1")


EXIT = (
    BEGIN
    + """
    f = compiled()
    one = np.ones(10)

    def work(data):
        while True:
            f(data)

    for number in range(6):
        threading.Thread(target=work, args=(value if number % 2 else one,), daemon=True).start()
    time.sleep(0.1)
    print("end", flush=True)
"""
)


def test_the_end_with_busy_daemon_threads(run, repeats):
    for _ in range(repeats(1, 10)):
        assert run(EXIT) == "end\n"


COMPILING = (
    BEGIN
    + """
    import gc
    wrong = []

    def work(seed):
        for number in range(4):
            v = pt.dvector("v")
            factor = float(seed * 100 + number)
            f = phintys.function([v], [pt.exp(v) * factor, v.sum() + factor], mode="native")
            first, second = f(np.zeros(4))
            if not (np.array_equal(first, np.full(4, factor)) and second == factor):
                wrong.append((seed, number))
            if number % 2 == 0:
                gc.collect()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    if hasattr(os, "fork"):
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            work(50)
            os._exit(len(wrong))
        assert os.waitpid(child, 0)[1] == 0
    for thread in threads:
        thread.join()
    assert wrong == []
"""
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flags", ["", "object_cache=False"])
def test_eight_threads_compile_at_once(run, flags):
    run(COMPILING, flags=flags)


CALLBACKS = (
    BEGIN
    + """
    from phintys import Apply, Op

    class Again(Op):
        __props__ = ()

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            (v,) = inputs
            if v[0] > 100:
                raise ZeroDivisionError
            # The function that this is part of, called from inside itself.
            depth = v[0]
            output_storage[0][0] = f(v - 1.0) if depth > 0 else v * 0.0

    y = pt.sqrt(abs(Again()(x * 1.0))) + pt.exp(x * 0.0)
    f = phintys.function([x], pt.sort(y)[::-1] + Again()(-abs(y)), mode="native")
    sizes = [10, 1_000, 30_000, 200_000]
    expected = {n: f(np.full(n, 2.0)) for n in sizes}
    wrong = []

    def work(seed):
        for number in range(12):
            n = sizes[(seed + number) % 4]
            if not np.array_equal(f(np.full(n, 2.0)), expected[n]):
                wrong.append(n)
            try:
                f(np.full(n, 200.0))
            except ZeroDivisionError:
                continue
            wrong.append("no error")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [], wrong
"""
)


def test_ops_in_python_between_long_kernels_in_eight_threads(run):
    run(CALLBACKS)


SWITCHING = (
    BEGIN
    + """
    sys.setswitchinterval(1e-6)
    wrong = []

    def work(number):
        for turn in range(int(sys.argv[1])):
            one, other = ("float32", "float64")[:: 1 if (number + turn) % 2 else -1]
            v = pt.tensor("v", dtype=one, shape=(None,))
            y = [pt.exp(v).astype(other) * (number + 1), (v > turn).sum() + pt.dot(v, v)]
            f = phintys.function([v], y)
            got = f(np.ones(3, one))
            if not np.allclose(got[0], np.e * (number + 1)) or got[1] != 3 + 3 * (turn < 1):
                wrong.append((number, turn, got))

    def attempt(number):
        try:
            work(number)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [], wrong
"""
)


def test_six_threads_compile_their_first_functions(run, repeats):
    for _ in range(repeats(1, 40)):
        run(SWITCHING, 2, flags="object_cache=False")
