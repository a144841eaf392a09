import ctypes
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys.backends.native.assembler.atomics import null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.runtime import engine
from phintys.backends.native.runtime.threads import POOL, emit_threads
from tests.budget import budget


class Pool:
    """A pool of its own, and a kernel that adds 1 to the elements of its range."""

    def __init__(self, workers, patience=200):
        module = Module(Target.host())
        emit_threads(module)
        self._emit_count(module)
        self._emit_nested(module)
        self._emit_late(module)
        self.code = engine.load(module)
        self.address = self.code.data_address("phintys_threads")
        names = ("count", "nested", "late")
        self.kernel, self.nested, self.late = map(self.code.address, names)
        self.reset = self._function("phintys_pool_reset")
        self.stop = self._function("phintys_pool_stop")
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        self.run = self._function("phintys_run_parallel", *[pointer] * 3, *[number] * 3)
        self.reset()
        POOL.write(self.address, "wanted", workers)
        POOL.write(self.address, "patience", patience)

    def _function(self, name, *types):
        return ctypes.CFUNCTYPE(None, *types)(self.code.address(name))

    @staticmethod
    def _emit_count(module):
        b = Builder(module.function("count", VOID, [PTR, INT64, INT64]))
        data, begin, end = b.arguments
        with loop(b, begin, end) as each:
            place = b.offset(data, each.index, INT64)
            b.store(b.load(INT64, place) + 1, place)
        b.ret()

    @staticmethod
    def _emit_nested(module):
        """A kernel that shares its range again."""
        b = Builder(module.function("nested", VOID, [PTR, INT64, INT64]))
        data, begin, end = b.arguments
        inner = b.offset(data, begin, INT64)
        count = b.write(PTR, "getelementptr i8, ptr @count, i64 0")
        one, threads = b.constant(INT64, 1), b.constant(INT64, 9)
        b.call("phintys_run_parallel", INT32, [null(b), count, inner, end - begin, one, threads])
        b.ret()

    @staticmethod
    def _emit_late(module):
        """A kernel that takes 2 ms in the thread whose name comes first, and 50 ms elsewhere."""
        b = Builder(module.function("late", VOID, [PTR, INT64, INT64]))
        is_caller = b.eq(b.call("pthread_self", INT64, []), b.load(INT64, b.arguments[0]))
        b.call(
            "usleep",
            INT32,
            [b.convert(b.select(is_caller, 2_000, b.constant(INT64, 50_000)), INT32)],
        )
        b.ret()

    def count(self, length, grain, threads, kernel=None):
        data = np.zeros(length, np.int64)
        self.run(None, kernel or self.kernel, data.ctypes.data, length, grain, threads)
        return data

    @property
    def workers(self):
        return POOL.read(self.address, "workers")


@pytest.fixture(params=[0, 1, 3], scope="module")
def pool(request):
    pool = Pool(request.param)
    yield pool
    pool.stop()
    assert pool.workers == 0


@given(
    length=st.integers(0, 5000),
    grain=st.integers(-3, 300),
    threads=st.integers(1, 8),
    nested=st.booleans(),
)
@budget(300)
def test_everything_is_computed_once(pool, length, grain, threads, nested):
    kernel = pool.nested if nested else pool.kernel
    assert (pool.count(length, grain, threads, kernel) == 1).all()


def test_workers_start_when_there_is_work_to_share():
    pool = Pool(2)
    pool.count(1000, 1000, 8)
    pool.count(1000, 1, 1)
    assert pool.workers == 0
    pool.count(1000, 10, 8)
    assert pool.workers == 2
    pool.stop()
    assert pool.workers == 0
    assert (pool.count(1000, 10, 8) == 1).all()
    assert pool.workers == 0


def test_jobs_are_done_alone_where_workers_are_late():
    pool = Pool(1, 10_000)
    name = np.array([threading.get_ident()])
    for _ in range(100):
        if POOL.read(pool.address, "distrust"):
            break
        pool.run(None, pool.late, name.ctypes.data, 2, 1, 2)
    late = POOL.read(pool.address, "distrust")
    assert late > 0
    assert POOL.read(pool.address, "skipped") == late
    for left in reversed(range(late)):
        assert (pool.count(1000, 10, 2) == 1).all()
        assert POOL.read(pool.address, "skipped") == left
        assert POOL.read(pool.address, "distrust") == late
    pool.stop()


def test_workers_are_not_started_for_jobs_that_are_done_alone():
    pool = Pool(2)
    POOL.write(pool.address, "skipped", 2)
    for workers in (0, 0, 2):
        assert (pool.count(1000, 10, 8) == 1).all()
        assert pool.workers == workers
    pool.stop()


@pytest.mark.parametrize("patience", [0, 1, 10_000])
def test_sleeping_workers_are_woken(patience):
    pool = Pool(3, patience)
    for pause in [0, 0, 0, 0.01, 0, 0.02, 0]:
        threading.Event().wait(pause)
        assert (pool.count(100, 1, 4) == 1).all()
    pool.stop()


def test_many_callers_at_once(pool):
    wrong = []

    def call(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            length, grain, threads = rng.integers([0, 1, 1], [3000, 100, 5])
            data = pool.count(int(length), int(grain), int(threads))
            if not (data == 1).all():
                wrong.append(data)

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


FORK = """
    import os, sys, threading, warnings
    import numpy as np
    import phintys, phintys.tensor as pt
    from phintys.backends.native.runtime.support import support

    warnings.filterwarnings("ignore", category=DeprecationWarning)
    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x) + pt.sin(x), mode="native")
    value = np.linspace(-1, 1, 500_000)
    expected = f(value)
    busy = True

    def keep_busy():
        while busy:
            f(value)

    # One thread of the parent is in the middle of a call when the process forks.
    thread = threading.Thread(target=keep_busy)
    thread.start()
    children = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            same = all(np.array_equal(f(value), expected) for _ in range(3))
            workers = support().workers
            os._exit(0 if same else 1)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    busy = False
    thread.join()
    assert statuses == [0] * 5, statuses
    assert np.array_equal(f(value), expected)
    print("fine")
"""


def test_a_forked_process_has_workers_of_its_own(run_python):
    if not hasattr(__import__("os"), "fork"):
        pytest.skip("no fork")
    assert run_python(FORK) == "fine\n"


EXIT = """
    import atexit, sys, threading, time
    import numpy as np
    import phintys, phintys.tensor as pt

    x = pt.dvector("x")
    f = phintys.function([x], pt.exp(x) + pt.sin(x), mode="native")
    value = np.linspace(-1, 1, 500_000)
    sys.kept = f(value)
    # Python ends while a thread is inside native code, and another call comes later still.
    threading.Thread(target=lambda: [f(value) for _ in range(10**6)], daemon=True).start()
    atexit.register(lambda: print(np.array_equal(f(value), sys.kept)))

    class Late:
        def __del__(self):
            self.last = f(value)

    sys.late = Late()
    time.sleep(0.05)
"""


def test_the_process_ends_well(run_python):
    assert run_python(EXIT) == "True\n"
