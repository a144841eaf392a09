"""What is compiled when: the entry at once and then better, the services when they are needed."""

import pytest

pytestmark = pytest.mark.usefixtures("native")

SETUP = """
    import sys
    import numpy as np
    import phintys, phintys.tensor as pt
    from phintys._base.errors import ShapeError
    from phintys.backends.native.runtime import support as module
    from phintys.backends.native.runtime.protocol import PROCESS
    from phintys.backends.native.runtime.support import support

    phintys.config.cache_dir = sys.argv[1]
    x, y = pt.dvectors("x", "y")

    def services():
        return support()._services is not None
"""


def test_services_are_compiled_when_a_call_needs_them(run_python, tmp_path):
    program = (
        SETUP
        + """
    f = phintys.function([x, y], x * y, mode="native")
    print(f(np.ones(3), np.full(3, 2.0)), services(), support().kept_bytes)
    support().trim()
    large = f(np.ones(100_000), np.ones(100_000))
    print(services(), large.sum(), large.flags.owndata)
    del large
    print(support().kept_bytes > 800_000)
    """
    )
    assert run_python(program, str(tmp_path)).splitlines() == [
        "[2. 2. 2.] False 0",
        "True 100000.0 True",
        "True",
    ]


@pytest.mark.parametrize(
    "outputs",
    [
        "[x, x * y]",
        "[(x * y).sum(), (x - y).sum()]",
        "pt.exp(pt.concatenate([x, y])[::-1].cumsum())",
    ],
)
def test_programs_that_need_services_have_them(run_python, tmp_path, outputs):
    program = (
        SETUP
        + f"""
    f = phintys.function([x, y], {outputs}, mode="native")
    g = phintys.function([x, y], {outputs}, mode="reference")
    for got, expected in zip(f([1.0, 2.0], [3.0, 4.0]), g([1.0, 2.0], [3.0, 4.0])):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    print(services())
    """
    )
    assert run_python(program, str(tmp_path)) == "True\n"


def test_errors_need_no_services_before_they_happen(run_python, tmp_path):
    program = (
        SETUP
        + """
    f = phintys.function([x, y], x * y, mode="native")
    before = services()
    for _ in range(2):
        try:
            f(np.ones(3), np.ones(4))
        except ShapeError:
            print(before, services(), "ShapeError")
    """
    )
    assert run_python(program, str(tmp_path)) == "False True ShapeError\n" * 2


LATE = (
    SETUP
    + """
    import threading

    begun, threads_are_there = threading.Event(), threading.Event()

    class SlowLock:
        lock = support()._lock

        def __enter__(self):
            if threading.current_thread().name == "late":
                begun.set()
                threads_are_there.wait(100)
            self.lock.__enter__()

        def __exit__(self, *error):
            self.lock.__exit__(*error)

    support()._lock = SlowLock()
    late = threading.Thread(target=support().services, name="late")
    late.start()
    begun.wait(100)
    support().threads()
    former = PROCESS.read(support().process, "parallel_for")
    threads_are_there.set()
    late.join()
    print(former != 0, PROCESS.read(support().process, "parallel_for") == former)
    """
)


def test_a_thread_that_asks_late_for_services_leaves_the_pool_in_use(run_python, tmp_path):
    assert run_python(LATE, str(tmp_path)) == "True True\n"


RAISING = (
    SETUP
    + """
    class Timeout(Exception):
        pass

    made = getattr(module, sys.argv[2])
    error = eval(sys.argv[3])
    attempts = []

    def interrupted(*arguments):
        attempts.append(None)
        if len(attempts) == 1:  # as the handler of a signal would
            raise error("now")
        return made(*arguments)

    setattr(module, sys.argv[2], interrupted)
    support().foresee = lambda symbols, results: None
    f = phintys.function([x, y], eval(sys.argv[4]), mode="native")
    ones = np.ones(100_000)
    try:
        f(ones, ones)
    except error as raised:
        print("raised", raised, len(attempts))
    print(np.allclose(f(ones, ones), eval(sys.argv[5])), len(attempts), services())
    """
)
ERRORS = ("KeyboardInterrupt", "SystemExit", "Timeout", "RecursionError", "MemoryError")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("what", "error"),
    [("_Services", error) for error in ERRORS] + [("_Threads", "Timeout")],
)
def test_what_comes_while_services_are_compiled_ends_the_call(run_python, tmp_path, what, error):
    lines = run_python(RAISING, str(tmp_path), what, error, "pt.sin(x) * y", "np.sin(1)")
    assert lines == "raised now 1\nTrue 2 True\n"


def test_what_comes_while_the_arena_is_compiled_ends_the_call(run_python, tmp_path):
    needs_memory = "(pt.sin(x) / pt.sin(x).sum()).sum() + (y * 0).sum()"
    lines = run_python(RAISING, str(tmp_path), "_Services", "Timeout", needs_memory, "1")
    assert lines == "raised now 1\nTrue 2 True\n"


def test_the_entry_becomes_better(run_python, tmp_path):
    program = (
        SETUP
        + """
    f = phintys.function([x, y], x * y, mode="native")
    arrays = np.ones(3), np.full(3, 2.0)
    first = support()._entry.result()
    was_hasty = support()._is_hasty
    if was_hasty:
        assert f(*arrays).tolist() == [2.0] * 3
        support()._better.result()
        print(first is not support().entry_code)
    g = phintys.function([x, y], x - y, mode="native")
    print(f(*arrays), g(*arrays), was_hasty)
    """
    )
    assert run_python(program, str(tmp_path)) == "True\n[2. 2. 2.] [-1. -1. -1.] True\n"
    assert run_python(program, str(tmp_path)) == "[2. 2. 2.] [-1. -1. -1.] False\n"


def test_calls_go_on_while_the_entry_becomes_better(run_python, tmp_path):
    program = (
        SETUP
        + """
    import threading
    f = phintys.function([x, y], x * y, mode="native")
    arrays = np.ones(3), np.full(3, 2.0)
    wrong = []

    def work():
        for _ in range(20_000):
            if f(*arrays)[0] != 2.0:
                wrong.append(None)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    support()._better.result()
    print(wrong, f(*arrays))
    """
    )
    assert run_python(program, str(tmp_path)) == "[] [2. 2. 2.]\n"


def test_a_process_that_ends_at_once_ends_well(run_python, tmp_path):
    program = (
        SETUP
        + """
    print(phintys.function([x, y], x * y, mode="native")(np.ones(2), np.ones(2)))
    """
    )
    assert run_python(program, str(tmp_path)) == "[1. 1.]\n"
