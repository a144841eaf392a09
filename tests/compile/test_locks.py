"""Functions with updates that call each other: a circle of threads ends by an error."""

import subprocess

# Function k updates the k-th variables, and calls the next one once all of them run.
CIRCLES = """
    import threading
    import numpy as np
    import phintys
    import phintys.tensor as pt
    from phintys._base.errors import DeadlockError

    x = pt.dscalar("x")

    def circle(mode, count, several):
        everyone = threading.Barrier(count)
        rows = [[phintys.shared(0.0, f"{n}{k}") for k in range(several)] for n in "abcd"[:count]]
        inner = [phintys.function([x], x, updates={s: s + x for s in row}, mode=mode)
                 for row in rows]
        outer = []
        for k, row in enumerate(rows):
            @phintys.wrap_py([pt.dscalar], [pt.dscalar])
            def call(value, k=k):
                everyone.wait()
                return np.asarray(inner[(k + 1) % count](float(value) / 10))
            outer.append(phintys.function([x], call(x), updates={s: s + x for s in row}, mode=mode))

        errors = []
        def work(k):
            try:
                outer[k](1.0)
            except DeadlockError as error:
                errors.append((k, str(error), "".join(error.__notes__)))

        for turn in range(2):
            errors.clear()
            for s in sum(rows, []):
                s.set_value(0.0)
            threads = [threading.Thread(target=work, args=[k]) for k in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            (failed, message, notes), = errors
            # What failed, and the call that it made, updated nothing; the others did.
            expected = np.full(count, 1.1)
            expected[failed] -= 1.0
            expected[(failed + 1) % count] -= 0.1
            found = [[float(s.get_value()) for s in row] for row in rows]
            assert np.allclose(found, expected[:, None], atol=1e-12), (found, expected)
            assert all(any(s.name in message for s in row) for row in rows), message
            assert "call" in notes, notes

    for case in [("native", 2, 1), ("native", 4, 10), ("reference", 3, 1), ("reference", 2, 10)]:
        circle(*case)
"""


def test_one_of_several_threads_that_wait_for_each_other_gets_an_error(python_command):
    command = python_command(CIRCLES)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# A thread that waits for longer than it takes to look for a deadlock.
WAITS = """
    import threading
    import time
    import phintys
    import phintys.tensor as pt

    x = pt.dscalar("x")
    for mode in ("native", "reference"):
        s = phintys.shared(0.0, "s")
        entered = threading.Event()

        @phintys.wrap_py([pt.dscalar], [pt.dscalar])
        def slow(value):
            entered.set()
            time.sleep(0.3)
            return value

        f = phintys.function([x], [], updates={s: s + slow(x)}, mode=mode)
        g = phintys.function([x], [], updates={s: s * 2 + x}, mode=mode)
        threads = [threading.Thread(target=f, args=[1.0])]
        threads[0].start()
        entered.wait()
        for _ in range(3):
            threads.append(threading.Thread(target=g, args=[0.0]))
            threads[-1].start()
        for thread in threads:
            thread.join()
        assert s.get_value() == 8.0, s.get_value()
"""


def test_long_waits_end_when_the_lock_is_free(python_command):
    command = python_command(WAITS)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
