"""Long loops: signals end them, other threads run meanwhile, and memory does not grow."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.control import LoopArguments, Scan
from phintys.graph.fgraph import FunctionGraph

INTERRUPTED = """
import signal
import time

import numpy as np

import phintys
import phintys.tensor as pt
from phintys.control import LoopArguments, Scan
from phintys.graph.fgraph import FunctionGraph


def interrupt(*_):
    raise KeyboardInterrupt


t, u = pt.lscalar("t"), pt.TensorType("float64", (None,) * {ndim})("u")
state = phintys.shared(np.full({shape}, 1.5))
rows = phintys.shared(np.zeros(3))
new, = Scan(FunctionGraph([t, u], [{step}]), LoopArguments(untraced=1))(
    2**62, state, return_list=True
)
run = phintys.function([], [], updates={{state: new, rows: rows + 1}})
signal.signal(signal.SIGALRM, interrupt)
signal.setitimer(signal.ITIMER_REAL, 0.3)
due = time.perf_counter() + 0.3
try:
    run()
except KeyboardInterrupt:
    took = time.perf_counter() - due
    assert (state.get_value() == 1.5).all()
    assert (rows.get_value() == 0).all()
    print("ended after", took)
"""

STEPS = {
    "a number": (0, "()", "u * 0.5 + 1"),
    "long rows": (1, "(3_000_000,)", "pt.tanh(u)"),
    "a product": (2, "(600, 600)", "pt.dot(u, u) * 1e-3"),
    "a loop": (
        0,
        "()",
        "Scan(FunctionGraph([t, u], [u * 0.5 + t]), LoopArguments(untraced=1))(50_000, u)",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_signals_end_a_loop(name):
    ndim, shape, step = STEPS[name]
    code = INTERRUPTED.format(ndim=ndim, shape=shape, step=step)
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("ended after"), found.stdout


def test_other_threads_run_meanwhile():
    t, u, n = pt.lscalar("t"), pt.dscalar("u"), pt.lscalar("n")
    op = Scan(FunctionGraph([t, u], [pt.sin(u) + 1]), LoopArguments(untraced=1))
    run = phintys.function([n], op(n, 1.0))
    run(10)
    done = threading.Event()

    def work():
        run(3_000_000)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    counted = 0
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 100  # without the lock of the interpreter there would be a few


def test_memory_is_flat():
    t, x, n = pt.lscalar("t"), pt.dvector("x"), pt.lscalar("n")
    u = x.type()
    op = Scan(FunctionGraph([t, u], [pt.sqrt(u + t)]), LoopArguments(untraced=1))
    run = phintys.function([n, x], op(n, x))
    resource = pytest.importorskip("resource")
    run(10, np.ones(4))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(1_000_000, np.ones(4))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
