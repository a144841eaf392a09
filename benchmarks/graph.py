"""Cost of the graph room: CPU microseconds for each node, for chains of several lengths.

Run it with ``python benchmarks/graph.py [lengths]``. What is linear shows as a row that does not
grow from left to right, but for what the garbage collector takes of longer chains. The last lines
tell what it costs that a node knows its line.
"""

import copy
import gc
import pickle
import sys
import time
import timeit
from typing import Any

import phintys.graph.apply
from phintys._base.origin import current_origin
from phintys.compat.features import NodeFinder
from phintys.graph import (
    Apply,
    FunctionGraph,
    Op,
    Type,
    ancestors,
    clone,
    equal_computations,
    graph_replace,
    toposort,
    verify_graph,
)
from phintys.graph.printing import debugprint, pprint

SIZES = (1_000, 10_000, 100_000)


class Anything(Type):
    __props__ = ()

    def filter(self, value, strict=False, allow_downcast=None):
        return value


class F(Op):
    __props__ = ()

    def make_node(self, x, y):
        return Apply(self, [x, y], [x.type()])


class G(F):
    pass


anything, f, g = Anything(), F(), G()


def chain(n):
    """f(f(... f(x, y) ..., y), y)"""
    x, y = anything("x"), anything("y")
    end = x
    for _ in range(n):
        end = f(end, y)
    return x, y, end


def replace_each(fgraph):
    """Replace the nodes one by one, from the inputs to the output."""
    for node in fgraph.toposort():
        fgraph.replace_validate(node.outputs[0], g(*node.inputs))


def steps(n):
    """Yield (name, what to time), each with what the ones before have made."""
    yield "build", lambda: chain(n)
    x, y, end = chain(n)
    yield "ancestors", lambda: sum(1 for _ in ancestors([end]))
    yield "toposort", lambda: toposort([end])
    yield "clone", lambda: clone([x, y], [end])
    yield "replace an input", lambda: graph_replace(end, {x: y})
    _, (twin,) = clone([x, y], [end], copy_inputs=False)
    yield "equal_computations", lambda: equal_computations([end], [twin])
    yield "import", lambda: FunctionGraph([x, y], [end], clone=False)
    fgraph = FunctionGraph([x, y], [end])
    yield "verify", lambda: verify_graph(fgraph)
    yield "replace each node", lambda: replace_each(fgraph)
    fgraph.attach_feature(NodeFinder())
    yield "the same, with an index", lambda: replace_each(fgraph)
    yield "prune", lambda: fgraph.replace(fgraph.outputs[0], fgraph.inputs[0])
    pickled = pickle.dumps(end)
    yield "pickle", lambda: pickle.dumps(end)
    yield "unpickle", lambda: pickle.loads(pickled)
    yield "deepcopy", lambda: copy.deepcopy(end)
    yield "debugprint", lambda: debugprint(end, file="str")
    yield "pprint", lambda: pprint(end)


def seconds(step):
    gc.collect()
    start = time.process_time()
    step()
    return time.process_time() - start


INTERNAL = """
def descend(depth, function):
    return function() if depth == 0 else descend(depth - 1, function)
"""


def microseconds(statement, number=100_000):
    return (
        min(timeit.repeat(statement, number=number, repeat=5, timer=time.process_time))
        / number
        * 1e6
    )


def origins():
    """Return the cost of a node, and of finding its line by itself, at a few depths."""
    x, y = anything("x"), anything("y")

    # Frames of Phintys's own code, as between an operator of a user's and the node that it makes.
    internal: dict[str, Any] = {}
    exec(compile(INTERNAL, phintys.graph.apply.__file__, "exec"), internal)

    nothing = microseconds(lambda: None)
    yield "f(x, y)", microseconds(lambda: f(x, y)) - nothing
    yield "Apply(f, [x, y], [anything()])", microseconds(lambda: Apply(f, [x, y], [anything()]))
    yield "the line, from the frame above", microseconds(current_origin) - nothing
    for frames in (2, 6):
        calls = microseconds(lambda n=frames: internal["descend"](n, int))
        both = microseconds(lambda n=frames: internal["descend"](n, current_origin))
        yield f"the line, from {frames} frames further up", both - calls


def main(sizes=SIZES):
    table = {}
    for n in sizes:
        for name, step in steps(n):
            table.setdefault(name, []).append(seconds(step) / n * 1e6)
    print(f"{'µs of CPU for each node':<26}" + "".join(f"{n:>10}" for n in sizes))
    for name, row in table.items():
        print(f"{name:<26}" + "".join(f"{value:>10.2f}" for value in row))
    print("\nµs of CPU for one")
    for name, value in origins():
        print(f"{name:<36}{value:>8.2f}")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or SIZES)
