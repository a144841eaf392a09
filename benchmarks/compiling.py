"""How compiling grows with the graph: microseconds a node, from 1,000 to 100,000 nodes.

Run ``python benchmarks/compiling.py``. Linear means that the columns do not grow from row to row.
"""

from __future__ import annotations

import gc
import time

import numpy as np

from phintys import function
from phintys import tensor as pt


def chain(length: int):
    """A chain of Ops on a vector, none of which a rewrite removes."""
    x = pt.dvector("x")
    y = x
    for step in range(length):
        y = pt.sin(y) if step % 2 else pt.cos(y)
    return x, y


def tree(length: int):
    """A balanced sum of products."""
    x = pt.dvector("x")
    terms = [pt.sin(pt.mul(x, float(i))) for i in range(length // 3)]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [pt.add(a, b) for a, b in pairs] + ([terms[-1]] if len(terms) % 2 else [])
    return x, terms[0]


def main() -> None:
    value = np.linspace(0.0, 1.0, 3)
    print("graph   nodes    build   reference   full rewriting   call   (us a node)")
    for name, make in (("chain", chain), ("tree", tree)):
        for length in (1000, 10_000, 100_000):
            gc.collect()
            start = time.perf_counter()
            x, y = make(length)
            built = time.perf_counter() - start
            row = [built]
            for mode in ("reference", "native"):
                start = time.perf_counter()
                f = function([x], y, mode=mode)
                row.append(time.perf_counter() - start)
            start = time.perf_counter()
            f(value)
            row.append(time.perf_counter() - start)
            built, light, full, call = (1e6 * seconds / length for seconds in row)
            print(f"{name:6} {length:7d} {built:7.1f} {light:11.1f} {full:16.1f} {call:6.1f}")


if __name__ == "__main__":
    main()
