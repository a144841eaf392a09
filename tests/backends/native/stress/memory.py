"""A program: does things very often, and says how much memory the process has gained by each.

``python memory.py 5`` prints a line for each kind of work: its name, and kilobytes. Each is done a
fifth as often as the numbers below say.
"""

import copy
import gc
import pickle
import sys
from pathlib import Path

import numpy as np

import phintys
import phintys.tensor as pt
from phintys import Apply, Op

MODE = "native"


def resident():
    """Kilobytes of memory that the process uses."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4


class Refuses(Op):
    """An Op in Python that raises where it does not like a number, and keeps what it has seen."""

    __props__ = ()
    kept = None

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        Refuses.kept = inputs[0]
        if inputs[0].sum() > 5:
            raise ZeroDivisionError
        output_storage[0][0] = inputs[0] / 2


x, y = pt.dvectors("x", "y")
number = pt.lscalar("number")
shared = phintys.shared(np.zeros(10))
few, many = np.ones(10), np.ones(100_000)


def tries(function, *args):
    try:
        function(*args)
    except (phintys.PhintysError, ZeroDivisionError, MemoryError, TypeError):
        return
    raise AssertionError("no error")


def small():
    f = phintys.function([x, y], x * y + 1.0, mode=MODE)
    return 1_000_000, lambda: f(few, few)


def updates():
    f = phintys.function([x], [x.sum(), x + shared], updates=[(shared, shared + x)], mode=MODE)
    return 200_000, lambda: f(few)


def large():
    f = phintys.function([x], [pt.sqrt(x) + x[::-1], x.sum()], mode=MODE)
    return 5_000, lambda: f(many)


def wrong_arguments():
    f = phintys.function([x, y], x * y, mode=MODE)

    def work():
        tries(f, few)
        tries(f, few, "text")
        tries(f, few, few.astype(complex))
        tries(f, few, few[None])
        tries(lambda: f(few, z=few))

    return 4_000, work


def lists_and_keywords():
    f = phintys.function([x, y], x * y, mode=MODE)
    return 20_000, lambda: (f([1, 2], y=few[:2]), f(few[::2], few[::2]), f(few.astype("f4"), few))


def failing_checks():
    f = phintys.function([x, y, number], [x * y, x[number]], mode=MODE)
    index, good = np.array(10), np.array(1)
    return 1_500, lambda: (tries(f, few, few, index), tries(f, few, few[:3], good))


def no_memory():
    f = phintys.function([number], pt.alloc(1.5, number, 2), mode=MODE)
    absurd = np.array(2**50)
    return 5_000, lambda: tries(f, absurd)


def callbacks():
    f = phintys.function([x], pt.exp(Refuses()(x * 1.0)) + x, mode=MODE)
    good, bad = np.zeros(10), np.ones(10)
    return 3_000, lambda: (f(good), tries(f, bad))


def large_callbacks():
    f = phintys.function([x], pt.sqrt(Refuses()(x * 1.0)) + x, mode=MODE)
    good, bad = np.zeros(100_000), many
    return 1_000, lambda: (f(good), tries(f, bad))


def functions():
    turn = iter(range(10**9))

    def work():
        f = phintys.function([x, y], pt.sqrt(x) * y + float(next(turn) % 5), mode=MODE)
        f(few, few)

    return 500, work


def copies():
    f = phintys.function([x], [Refuses()(x * 0.0), shared + x], mode=MODE)

    def work():
        for twin in (pickle.loads(pickle.dumps(f)), copy.copy(f), copy.deepcopy(f)):
            twin(few)

    return 80, work


KINDS = [
    small,
    updates,
    large,
    wrong_arguments,
    lists_and_keywords,
    failing_checks,
    no_memory,
    callbacks,
    large_callbacks,
    functions,
    copies,
]


def main():
    for kind in KINDS:
        count, work = kind()
        for _ in range(count // 5):
            work()
        before = resident()
        for _ in range(count // int(sys.argv[1])):
            work()
        sys.stdout.write(f"{kind.__name__} {resident() - before}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
