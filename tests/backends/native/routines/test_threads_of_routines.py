"""What routines say of threads: which hand parts of their work to several."""

import pytest

import phintys.tensor as pt
from phintys import random
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.plan import Plan
from phintys.backends.native.program import walk_steps
from phintys.backends.native.steps.call import LibraryCall
from phintys.graph.fgraph import FunctionGraph

GENERATOR = random.random_generator_type("r")
V, W = pt.dvector("v"), pt.zvector("w")
X = pt.dmatrix("x")

# The name of a routine, what calls it, and whether it hands parts of its work to the thread pool.
CALLS = {
    "order": ([X], [pt.argsort(X, axis=1, stable=True)], False),
    "fourier": ([W], [pt.fft.fft(W)], False),
    "fourier_of_real": ([V], [pt.fft.rfft(V)], False),
    "draw of NumPy": ([GENERATOR], GENERATOR.normal(size=7), False),
    "integers of NumPy": ([GENERATOR], GENERATOR.integers(0, 9, size=7), False),
    "search_sorted": ([V], [pt.searchsorted(V, V * 2)], True),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_routine_of_one_thread_is_not_divisible(name):
    """Threads share a loop around it instead: it is not counted as work that they share inside."""
    inputs, outputs, is_divisible = CALLS[name]
    program = lower_program(FunctionGraph(inputs, list(outputs), clone=True))
    costs = Plan(program, Target.host()).costs
    (call,) = [step for step in walk_steps(program.steps) if isinstance(step, LibraryCall)]
    assert call.routine.name == name
    assert call.is_divisible(costs) == is_divisible
    assert call.routine.shares_work or not call.routine.calls_blas  # none of these does
