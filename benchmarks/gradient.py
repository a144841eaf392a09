"""Cost of building gradients: CPU seconds, and microseconds for each node of the forward graph.

Run it with ``python benchmarks/gradient.py``. A cost that is linear shows as a last column that
does not grow from row to row.
"""

import gc
import time
from typing import Any

import phintys.tensor as pt
from phintys.gradient import Rop, grad

SIZES = (1_000, 10_000, 100_000)


def tanh_chain(n):
    """tanh(tanh(... x))"""
    x = pt.dscalar("x")
    y = x
    for _ in range(n):
        y = pt.tanh(y)
    return x, y


def mixed_chain(n):
    """y <- tanh(y) * w + y, with one weight for all"""
    x, w = pt.dscalars("x", "w")
    y = x
    for _ in range(n // 3):
        y = pt.tanh(y) * w + y
    return x, y


def vector_chain(n):
    """y <- y * w + b on vectors, with the gradient for w and b too"""
    x, w, b = pt.dvectors("x", "w", "b")
    y = x
    for _ in range(n // 2):
        y = y * w + b
    return [x, w, b], y.sum()


def fan(n):
    """A sum of n products, each with its own weight"""
    weights = [pt.dscalar() for _ in range(n // 2)]
    x: Any = pt.dscalar("x")
    return weights, pt.add(*(w * x for w in weights))


def seconds(build):
    gc.collect()
    start = time.process_time()
    build()
    return time.process_time() - start


def main():
    print(f"{'graph':<14}{'nodes':>9}{'forward s':>11}{'grad s':>9}{'µs/node':>9}{'Rop s':>9}")
    for graph in (tanh_chain, mixed_chain, vector_chain, fan):
        for n in SIZES:
            forward = seconds(lambda graph=graph, n=n: graph(n))
            wrt, cost = graph(n)
            reverse = min(seconds(lambda w=wrt, c=cost: grad(c, w)) for _ in range(3))
            points = [v.type() for v in wrt] if isinstance(wrt, list) else wrt.type()
            push = seconds(lambda w=wrt, c=cost, p=points: Rop(c, w, p))
            print(
                f"{graph.__name__:<14}{n:>9,}{forward:>11.3f}{reverse:>9.3f}"
                f"{1e6 * reverse / n:>9.1f}{push:>9.3f}"
            )


if __name__ == "__main__":
    main()
