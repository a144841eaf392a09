"""What several threads gain: Python's own, and those of one call; and how soon a pickle runs.

Run ``python benchmarks/threads.py``. Two Python threads that call a heavy function get two cores
only if the calls release the lock of the interpreter: two processes show what the machine has to
give. The rates are the best of several rounds, taken in turn. Loading a pickled
function is measured in fresh processes, beyond their imports.
"""

from __future__ import annotations

import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import config

ROUNDS = 9
SECONDS = 0.4

LOAD = """
import sys, time
import numpy as np
import phintys, phintys.tensor as pt
x = pt.dvector("x")
phintys.function([x], x + 1.0)(np.ones(3))  # whatever the first function waits for
with open(sys.argv[1], "rb") as file:
    pickled = file.read()
start = time.perf_counter()
import pickle
f = pickle.loads(pickled)
f(np.ones(3))
print(time.perf_counter() - start)
"""


def heavy():
    """Return a function that computes for about 20 ms, and arguments."""
    x = pt.dvector("x")
    y = pt.exp(-(x**2)) * pt.sin(x) + pt.tanh(x) * pt.log1p(x**2)
    return phintys.function([x], [y, y.sum()]), np.linspace(-3, 3, 2_000_000)


def calls_a_second(function, value, threads):
    """Return how many calls some Python threads carry out together in a second."""
    done = [0] * threads
    stop = time.perf_counter() + SECONDS

    def work(number):
        with config.change_flags(num_threads=1):
            while time.perf_counter() < stop:
                function(value)
                done[number] += 1

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - start)


def calls_of_processes(function, value, count):
    """Return how many calls some forked processes carry out together in a second."""
    readers = []
    for _ in range(count):
        reader, writer = os.pipe()
        if os.fork() == 0:
            rate = calls_a_second(function, value, 1)
            os.write(writer, str(rate).encode())
            os._exit(0)
        os.close(writer)
        readers.append(reader)
    total = 0.0
    for reader in readers:
        with os.fdopen(reader) as pipe:
            total += float(pipe.read())
        os.wait()
    return total


def seconds_a_call(function, value, threads):
    """Return the time of a call that may use some threads of its own."""
    with config.change_flags(num_threads=threads):
        start = time.perf_counter()
        for _ in range(5):
            function(value)
        return (time.perf_counter() - start) / 5


def load_seconds(nodes):
    """Return how long it takes to load a function of so many nodes and call it."""
    x = y = pt.dvector("x")
    for _ in range(nodes // 2):
        y = pt.tanh(y) * 1.5
    with tempfile.NamedTemporaryFile() as file:
        pickle.dump(phintys.function([x], y), file)
        file.flush()
        command = [sys.executable, "-c", LOAD, file.name]
        return statistics.median(
            float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(5)
        )


def main():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    function, value = heavy()
    function(value)
    rates = [
        (
            calls_a_second(function, value, 1),
            calls_a_second(function, value, 2),
            calls_of_processes(function, value, 2),
        )
        for _ in range(ROUNDS)
    ]
    one, two, processes = (max(column) for column in zip(*rates, strict=True))
    print(f"{cores} cores")
    print(f"1 Python thread   {one:6.1f} calls a second")
    print(f"2 Python threads  {two:6.1f} calls a second, {two / one:.2f} times as many")
    print(f"2 processes       {processes:6.1f} calls a second, {processes / one:.2f} times as many")
    times = [[seconds_a_call(function, value, n) for n in (1, 2)] for _ in range(ROUNDS)]
    alone, shared = (min(column) for column in zip(*times, strict=True))
    print(f"num_threads=1     {alone * 1e3:6.2f} ms a call")
    print(f"num_threads=2     {shared * 1e3:6.2f} ms a call, {alone / shared:.2f} times as fast")
    for nodes in (10, 100, 1000):
        print(f"pickle, {nodes:4} nodes {load_seconds(nodes) * 1e3:6.1f} ms to load and call")


if __name__ == "__main__":
    main()
