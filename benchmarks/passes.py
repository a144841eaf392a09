"""What rewriting costs: microseconds a node, by pass and by size of the graph.

Run ``python benchmarks/passes.py``. Figures are processor time; those of small graphs are the best
of several runs. Linear cost shows as equal figures along a row.
"""

from __future__ import annotations

import gc
import time

import phintys
import phintys.tensor as pt
from phintys.graph import FunctionGraph
from phintys.passes import PIPELINES

SIZES = (1_000, 10_000, 100_000)
LEAST_NODES = 30_000  # graphs are rewritten again and again until so many nodes have been


def nothing_to_do(number):
    """A chain in which no rule applies."""
    z = pt.dvector("x")
    for position in range(number):
        z = pt.tanh(z) if position % 2 else pt.exp(z)
    return [z]


def useless(number):
    """A chain of which every second node goes."""
    z = pt.dvector("x")
    for position in range(number):
        z = z + 0 if position % 2 else pt.tanh(z)
    return [z]


def shared_parts(number):
    """A ladder of products and sums in which every value is used twice."""
    x = pt.dvector("x")
    a, b = x, x
    for _ in range(number // 2):
        a, b = a * b, a + b
    return [a, b]


def twins(number):
    """Two equal chains, which become one."""
    x = pt.dvector("x")
    a = b = x
    for _ in range(number // 2):
        a, b = pt.sin(a), pt.sin(b)
    return [a + b]


def unstable(number):
    """A chain of forms that have a stable equivalent."""
    z = pt.dvector("x")
    for _ in range(number // 3):
        z = pt.log(1 + pt.exp(z))
    return [z]


def shapes(number):
    """Questions for the shapes of what is computed along a chain."""
    z = pt.dmatrix("x")
    outputs = []
    for position in range(number // 2):
        z = pt.exp(z).T if position % 2 else pt.sin(z)
        outputs.append(z.shape[0])
    return outputs[-100:]


def gradient(number):
    """A chain of sines and factors, summed, with its gradient."""
    x = pt.dvector("x")
    z = x
    for position in range(number // 5):
        z = pt.sin(z) * (1.0 + 0.5 / (position + 1))
    cost = z.sum()
    return [cost, phintys.grad(cost, x)]


def network(number):
    """A chain of layers in which all share one input, with its gradient."""
    x = pt.dvector("x")
    z = x
    for _ in range(number // 7):
        z = pt.tanh(z) * 0.5 + x
    cost = z.sum()
    return [cost, phintys.grad(cost, x)]


def tree(number):
    """A balanced sum of sines of products."""
    x = pt.dvector("x")
    terms = [pt.sin(x * float(position)) for position in range(number // 4)]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        terms = [a + b for a, b in pairs] + terms[len(terms) // 2 * 2 :]
    return terms


CASES = (
    *(nothing_to_do, useless, shared_parts, twins, unstable, shapes),
    *(gradient, network, tree),
)


def measure(build, number):
    """Return (nodes before, nodes after, seconds of each pass), the best of some runs."""
    best: dict[str, float] = {}
    before = after = 0
    for _ in range(max(1, LEAST_NODES // number)):
        fgraph = FunctionGraph(None, build(number))
        before = len(fgraph.apply_nodes)
        gc.collect()
        start = time.process_time()
        last = start

        def note(one, fgraph):
            nonlocal last
            now = time.process_time()
            best[one.name] = min(now - last, best.get(one.name, now))
            last = now

        PIPELINES["full"].apply(fgraph, after_pass=note)
        after = len(fgraph.apply_nodes)
        best["all passes"] = min(last - start, best.get("all passes", last))
    return before, after, best


def main():
    names = [*PIPELINES["full"].names, "all passes"]
    for build in CASES:
        print(f"{build.__name__}: {build.__doc__}")
        rows = [measure(build, number) for number in SIZES]
        print(f"  {'nodes':24s}" + "".join(f"{before:>12,}" for before, _, _ in rows))
        print(f"  {'nodes left':24s}" + "".join(f"{after:>12,}" for _, after, _ in rows))
        for name in names:
            cells = (1e6 * seconds[name] / before for before, _, seconds in rows)
            print(f"  {name:24s}" + "".join(f"{cell:9.2f} us" for cell in cells))
        print()


if __name__ == "__main__":
    main()
