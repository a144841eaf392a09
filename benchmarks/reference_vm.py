"""What the reference VM costs: nanoseconds a node and a call, beyond the Ops' own work.

Run ``python benchmarks/reference_vm.py``. A chain of Ops that only pass a value on shows the cost
of a node; a chain of NumPy calls on tiny arrays, with the same calls made directly, shows what is
left of it in a program of real Ops; functions of one node show the cost of a call.
"""

from __future__ import annotations

import time

import numpy as np

from phintys.backends.reference import VM
from phintys.compile import function
from phintys.graph import Apply, FunctionGraph, Op
from phintys.tensor.type import TensorType

vector = TensorType("float64", (None,))


class Pass(Op):
    """Hands its input on."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0]


class Add(Op):
    """NumPy's addition."""

    __props__ = ()

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.add(inputs[0], inputs[1])


def best(call, repeats: int) -> float:
    """Return the shortest time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def chain(op: Op, length: int, arity: int) -> FunctionGraph:
    x = vector("x")
    y = x
    for _ in range(length):
        y = op(*[y] * arity)
    return FunctionGraph([x], [y], clone=False)


def main() -> None:
    value = np.ones(3)
    print("ns a node              with gc   without")
    for length in (10, 1000, 100_000):
        row = []
        for allow_gc in (True, False):
            vm = VM(chain(Pass(), length, 1), allow_gc=allow_gc)
            row.append(best(lambda vm=vm: vm([value]), 20) / length * 1e9)
        print(f"{length:7d} times pass   {row[0]:8.0f}  {row[1]:8.0f}")
    length = 1000
    fgraph = chain(Add(), length, 2)
    cells = [[None]]
    node = next(iter(fgraph.apply_nodes))

    def direct() -> None:
        perform = node.op.perform
        for _ in range(length):
            perform(node, [value, value], cells)

    own = best(direct, 50) / length * 1e9
    row = []
    for allow_gc in (True, False):
        vm = VM(fgraph, allow_gc=allow_gc)
        row.append(best(lambda vm=vm: vm([value]), 50) / length * 1e9 - own)
    print(f"{length:7d} times add    {row[0]:8.0f}  {row[1]:8.0f}   (perform alone: {own:.0f})")

    print("\nns a call of a function of one node")
    x, y = vector("x"), vector("y")
    one, two = function([x], Pass()(x)), function([x, y], Add()(x, y))

    def many(call) -> float:
        def loop() -> None:
            for _ in range(1000):
                call()

        return best(loop, 30) / 1000 * 1e9

    print(f"pass(x)                {many(lambda: one(value)):8.0f}")
    print(f"add(x, y)              {many(lambda: two(value, value)):8.0f}")
    print(f"add(x, y), keywords    {many(lambda: two(x=value, y=value)):8.0f}")
    two.trust_input = True
    print(f"add(x, y), trusted     {many(lambda: two(value, value)):8.0f}")
    print(f"np.add(x, y) alone     {many(lambda: np.add(value, value)):8.0f}")


if __name__ == "__main__":
    main()
