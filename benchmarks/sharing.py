"""Compiling short programs that share deeply: microseconds a node, by stage and by length.

Run ``python benchmarks/sharing.py``. Each family is compiled with the gradient of the sum of its
last value. Figures are processor time, the best of two; linear cost shows as figures that do not
grow from row to row. LLVM is left out: its cost follows the length of the text.
"""

from __future__ import annotations

import gc
import time
from itertools import pairwise

from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower import lower_program
from phintys.backends.native.writer.programs import emit_program
from phintys.graph import FunctionGraph
from phintys.passes import PIPELINES
from phintys.testing.families import FAMILIES, with_gradient

LENGTHS = (50, 100, 200)
STAGES = ("build", "rewrite", "lower", "emit", "text")


def measure(family, length: int) -> tuple[int, list[float]]:
    """Return the number of nodes, the seconds of each stage, and the length of the text."""
    gc.collect()
    times = [time.process_time()]
    inputs, outputs = with_gradient(family, length)
    fgraph = FunctionGraph(inputs, outputs, copy_inputs=False)
    nodes = len(fgraph.apply_nodes)
    times.append(time.process_time())
    PIPELINES["full"].apply(fgraph)
    times.append(time.process_time())
    program = lower_program(fgraph)
    times.append(time.process_time())
    emitted = emit_program(program, Target.configured())
    times.append(time.process_time())
    stages = [after - before for before, after in pairwise(times)]
    return nodes, [*(1e6 * seconds for seconds in stages), len(str(emitted.module))]


def main() -> None:
    """Print the table."""
    print(f"{'family':12}{'nodes':>8}" + "".join(f"{name:>9}" for name in STAGES) + "  (a node)")
    for name, family in FAMILIES.items():
        measure(family, 2)
        for length in LENGTHS:
            nodes, first = measure(family, length)
            best = map(min, first, measure(family, length)[1])
            print(f"{name:12}{nodes:8,}" + "".join(f"{value / nodes:9.1f}" for value in best))


if __name__ == "__main__":
    main()
