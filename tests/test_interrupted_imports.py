"""Ctrl-C while Phintys is imported, or compiles for the first time: the next attempt works."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest


def run(program, *arguments, timeout=280):
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


AGAIN = """
    import importlib, pkgutil, sys
    import phintys, phintys.tensor as pt

    x = pt.dvector("x")
    phintys.function([x], pt.erf(x).sum())
    left_out = ("phintys.bridge.", "phintys.compat", "phintys.__main__")
    for found in pkgutil.walk_packages(phintys.__path__, "phintys."):
        if not found.name.startswith(left_out) and "__main__" not in found.name:
            importlib.import_module(found.name)
    failed = []
    for name in sorted(sys.modules)[:: int(sys.argv[1])]:
        if not name.startswith("phintys.") or name.startswith(left_out):
            continue
        former = sys.modules.pop(name)  # as after an attempt that was cut short at its end
        try:
            importlib.import_module(name)
        except Exception as error:
            failed.append(f"{name}: {error!r}")
        sys.modules[name] = former
    print(*failed, sep="\\n", end="")
"""


def test_every_module_may_be_imported_again(repeats):
    assert run(AGAIN, str(repeats(3, 1))) == ""


INTERRUPTED = """
    import os, signal, sys, time
    import numpy as np, scipy, llvmlite  # whose own imports are not ours to mend

    def attempt():
        import phintys, phintys.tensor as pt

        phintys.config.cache_dir = sys.argv[1]
        x = pt.dmatrix("x")
        y = pt.erfcinv(abs(pt.tanh(x)) + 0.5).sum() + pt.dot(x, pt.softmax(x)).sum()
        f = phintys.function([x], [y, phintys.grad(y, x)], mode="native")
        value, gradient = f(np.full((2, 2), 0.25))
        return float(value) + float(gradient.sum())

    def in_child(delay):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            began = time.perf_counter()
            interrupted = False
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                attempt()
            except KeyboardInterrupt:
                interrupted = True
            signal.setitimer(signal.ITIMER_REAL, 0)
            if not delay:
                print(time.perf_counter() - began, flush=True)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(100)  # ends a child that hangs
            try:
                good = attempt() == attempt()
            finally:
                sys.stderr.flush()
            sys.stdout.flush()
            os._exit(0 if good else 7)
        return os.waitpid(child, 0)[1]

    delays = [0.0] if sys.argv[2] == "time" else map(float, sys.argv[2:])
    statuses = [in_child(delay) for delay in delays]
    if any(statuses):  # no assert: python -OO leaves it out
        sys.exit(f"statuses of the children: {statuses}")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_an_interrupt_before_the_first_result(tmp_path, repeats):
    run(INTERRUPTED, str(tmp_path), "time")  # fills the cache
    took = float(run(INTERRUPTED, str(tmp_path), "time"))
    count = repeats(3, 100)
    delays = [took * (number + 0.5) / count for number in range(count)]
    run(INTERRUPTED, str(tmp_path), *map(str, delays))
