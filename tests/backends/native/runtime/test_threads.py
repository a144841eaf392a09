import ctypes
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phintys.backends.native.assembler.atomics import null
from phintys.backends.native.assembler.builder import Builder
from phintys.backends.native.assembler.control import loop, when
from phintys.backends.native.assembler.module import Module
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.assembler.types import INT32, INT64, PTR, VOID
from phintys.backends.native.runtime import engine
from phintys.backends.native.runtime.threads import POOL, emit_threads
from tests.budget import budget

MS = 1_000_000
STAKE, SAVINGS, PURSE = 2 * MS, 30 * MS, MS
FAR = 2**62  # a time that does not come


class Pool:
    """A pool of its own, and a kernel that adds 1 to the elements of its range."""

    def __init__(self, workers, patience=200):
        module = Module(Target.host())
        emit_threads(module)
        self._emit_count(module)
        self._emit_nested(module)
        self._emit_late(module)
        self._emit_stopped(module)
        self.code = engine.load(module)
        self.address = self.code.data_address("phintys_threads")
        names = ("count", "nested", "late", "stopped")
        self.kernel, self.nested, self.late, self.stopped = map(self.code.address, names)
        self.reset = self._function("phintys_pool_reset")
        self.stop = self._function("phintys_pool_stop")
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        self.run = self._function("phintys_run_parallel", *[pointer] * 3, *[number] * 3)
        self.judge = self._function("phintys_pool_judge", number)
        self.reset()
        self["wanted"], self["patience"] = workers, patience

    def __getitem__(self, name):
        return POOL.read(self.address, name)

    def __setitem__(self, name, number):
        POOL.write(self.address, name, number)

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

    @staticmethod
    def _emit_stopped(module):
        """A kernel that takes 50 ms for one of its iterations, of which data is the number."""
        b = Builder(module.function("stopped", VOID, [PTR, INT64, INT64]))
        data, begin, _ = b.arguments
        with when(b, b.eq(begin, b.load(INT64, data))):
            b.call("usleep", INT32, [b.constant(INT32, 50_000)])
        b.ret()

    def count(self, length, grain, threads, kernel=None):
        data = np.zeros(length, np.int64)
        self.run(None, kernel or self.kernel, data.ctypes.data, length, grain, threads)
        return data

    @property
    def workers(self):
        return self["workers"]


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
        if pool["left"]:
            break
        pool.run(None, pool.late, name.ctypes.data, 2, 1, 2)
    # The worker took 50 ms, a chunk of the caller 2 ms or a little more.
    assert pool["left"] == pool["alone"] >= 4 * STAKE
    assert pool["account"] == STAKE
    pool.stop()


def test_only_the_time_of_jobs_counts_not_that_between_them():
    pool = Pool(1)
    pool["left"] = 50 * MS
    name = np.array([threading.get_ident()])
    for _ in range(3):
        pool.run(None, pool.late, name.ctypes.data, 1000, 1000, 2)  # shared by none
    assert pool["left"] == 50 * MS
    for _ in range(3):
        time.sleep(0.06)
        pool.run(None, pool.late, name.ctypes.data, 17, 1, 2)  # two pieces of 2 ms each
    assert 0 < pool["left"] <= 38 * MS
    assert pool.workers == 0


def test_a_caller_that_is_stopped_in_a_chunk_has_lost_that_time():
    pool = Pool(1, 10_000)
    first = np.array([0])  # which the caller takes, since the worker has not begun
    pool.run(None, pool.stopped, first.ctypes.data, 8, 1, 2)
    # All chunks but one take no time, and one 50 ms.
    assert pool["left"] == pool["alone"] >= 4 * 45 * MS
    pool.stop()


def test_workers_are_not_started_for_jobs_that_are_done_alone():
    pool = Pool(2)
    pool["left"] = FAR
    for _ in range(2):
        assert (pool.count(1000, 10, 8) == 1).all()
        assert pool.workers == 0
        assert FAR - 1000 * MS < pool["left"] < FAR
    pool["left"] = 0
    assert (pool.count(1000, 10, 8) == 1).all()
    assert pool.workers == 2
    pool.stop()


@pytest.fixture(scope="module")
def accounts():
    """A pool without workers, of which only the account is used: with times that tests choose."""
    return Pool(0)


@pytest.fixture
def account(accounts):
    accounts.reset()
    return accounts


def test_a_long_wait_is_paid_by_working_alone(account):
    account.judge(-8 * MS)
    assert account["alone"] == account["left"] == 4 * 8 * MS
    assert account["account"] == STAKE


def test_callers_work_alone_for_longer_while_sharing_does_not_pay(account):
    times = []
    for _ in range(8):
        account.judge(-8 * MS)
        times.append(account["left"] // MS)
    assert times == [32, 64, 128, 256, 512, 1000, 1000, 1000]


def test_what_was_gained_pays_for_waiting(account):
    for _ in range(1000):
        account.judge(MS // 10)
    assert account["account"] == SAVINGS
    for _ in range(3):
        account.judge(-8 * MS)
        assert account["left"] == 0
    account.judge(-8 * MS)
    assert account["left"] == 4 * (2 * MS + STAKE)


def test_a_quiet_machine_is_trusted_again(account):
    for _ in range(6):
        account.judge(-8 * MS)
    assert account["alone"] == 1000 * MS
    for _ in range(300):
        account.judge(MS // 10)
    assert (account["alone"], account["left"]) == (0, 0)
    account["account"] = STAKE
    account.judge(-8 * MS)
    assert account["alone"] == 32 * MS


def test_losses_of_short_jobs_do_not_matter_beside_gains_of_long_ones(account):
    for _ in range(1000):
        for _ in range(20):
            account.judge(-5_000)
        account.judge(MS)
        assert account["left"] == 0


def test_jobs_that_always_lose_are_soon_done_alone(account):
    jobs = 0
    while account["left"] == 0:
        account.judge(-5_000)
        jobs += 1
    assert jobs == PURSE // 5_000 + 1
    assert account["left"] == 4 * jobs * 5_000


def test_savings_do_not_pay_for_what_each_job_loses(account):
    for _ in range(1000):
        account.judge(MS // 10)
    assert account["account"] == SAVINGS
    times = []
    for _ in range(5):
        while not account["left"]:
            account.judge(-25_000)
        times.append(account["left"] // MS)
        account["left"] = 0
    assert times == [4, 8, 16, 32, 64]  # 41 jobs each


@given(st.lists(st.integers(-(10**12), 10**12), max_size=30))
@budget(100)
def test_callers_never_work_alone_for_more_than_a_second(accounts, gains):
    accounts.reset()
    for gain in gains:
        accounts.judge(gain)
        left = accounts["left"]
        assert 0 <= accounts["account"] <= SAVINGS
        assert 0 <= accounts["purse"] <= PURSE
        assert left == 0 or 4 * PURSE <= left <= 1000 * MS


def test_workers_watch_for_jobs_only_where_jobs_follow_soon():
    pool = Pool(1)

    def job(ended):
        pool["ended"] = ended
        pool["left"] = 0  # it is shared, however late the worker was before
        pool.count(100, 1, 2)

    job(FAR)
    for _ in range(8):
        assert pool["watch"] == pool["patience"]
        job(0)  # long ago
    assert pool["watch"] == 0
    job(FAR)
    assert pool["watch"] == pool["patience"]
    pool.stop()


BUSY = """
    import subprocess, sys, time
    import numpy as np
    import phintys, phintys.tensor as pt

    seconds = float(sys.argv[1])
    x, y = pt.dmatrices("x", "y")
    distance = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    cost = (pt.exp(-distance) * pt.sin(distance)).sum()
    f = phintys.function([x, y], [cost, phintys.grad(cost, x)])
    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))

    def bits():
        return [result.tobytes() for result in f(*values)]

    with phintys.config.change_flags(num_threads=1):
        expected = bits()
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for threads in (2, 3, 0):
                with phintys.config.change_flags(num_threads=threads):
                    assert bits() == expected, threads
    finally:
        for other in others:
            other.kill()
            other.wait()
    print("fine")
"""


@pytest.mark.stress
def test_bits_are_the_same_beside_busy_processes(run_python):
    assert run_python(BUSY, "20") == "fine\n"


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
