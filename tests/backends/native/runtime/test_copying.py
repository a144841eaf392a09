"""Handlers of signals run while large values are copied, and what they raise ends the call."""

import signal

import pytest

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")

PROGRAM = """
import signal
import sys
import numpy as np
from phintys.backends.native.runtime import interrupts, services

# Small pieces take as long as large ones of a table that is larger than this machine's memory.
services.POLLED_BYTES, interrupts.POLL_NANOSECONDS = 8, 0

import phintys
import phintys.tensor as pt

class Stop(Exception):
    pass

class Mean(phintys.Op):
    __props__ = ()

    def make_node(self, x):
        return phintys.Apply(self, [x], [pt.dscalar()])

    def perform(self, node, inputs, output_storage):
        global performed
        performed += 1
        output_storage[0][0] = inputs[0].mean()

ran, stop_at, performed = 0, None, 0

def handler(*_):
    global ran, stop_at
    ran += 1
    if ran == stop_at:
        stop_at = None
        raise Stop

big = np.arange(4_000_000.0)
s, t = phintys.shared(big), phintys.shared(np.zeros(3))
x, v = pt.dvector("x"), pt.dscalar("v")
new = pt.set_subtensor(s[1], v)
updates = {s: new, t: t + 1}
f, arguments, changed = {
    "a shared value that others hold": (
        phintys.function([v], [], updates=updates, mode="native"), (np.array(5.0),), (5, 1)
    ),
    "what a Python Op is given": (
        phintys.function([x], Mean()(x.reshape((-1, 2))), updates={t: t + 1}, mode="native"),
        (big,),
        (1, 1),
    ),
}[sys.argv[1]]
f(*arguments)  # which compiles what it needs
s.set_value(big)
t.set_value(np.zeros(3))
held = s.get_value(borrow=True)
before = s.get_value(), t.get_value()
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
ran, stop_at = 0, 5  # without checks, a handler can run before the call and after it
try:
    f(*arguments)
except Stop:
    pass
else:
    raise AssertionError("no handler ran")
signal.setitimer(signal.ITIMER_REAL, 0)
assert performed <= 1
assert np.array_equal(s.get_value(), before[0]), "the table has changed"
assert np.array_equal(t.get_value(), before[1]), "the other one has changed"
assert np.array_equal(held, np.arange(4_000_000.0))
f(*arguments)
assert (s.get_value()[1], t.get_value()[0]) == changed
assert np.array_equal(held, np.arange(4_000_000.0))
"""


@pytest.mark.parametrize(
    "copy",
    [
        "a shared value that others hold",
        "what a Python Op is given",
    ],
)
def test_a_handler_ends_a_copy(run_python, copy):
    run_python(PROGRAM, copy)
