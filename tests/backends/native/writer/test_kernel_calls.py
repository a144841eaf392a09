"""Calls of kernels: into how many parts reductions are divided, and where this is computed."""

import re

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.writer.programs import emit_program

RNG = np.random.default_rng(0)
X, LENGTHS = pt.dmatrix("x"), pt.lvector("lengths")


def _reductions(x, scale):
    return scale * x.sum(), (scale * x).max(axis=0).sum(), pt.logsumexp(scale * x, axis=0).sum()


def _in_steps(step):
    sums, _ = phintys.scan(step, sequences=[LENGTHS], non_sequences=[X])
    return phintys.function([X, LENGTHS], sums)


@pytest.fixture(scope="module")
def loops():
    """The same reductions of all rows in each step, and of as many as the step says."""
    return {
        "all": _in_steps(lambda n, x: _reductions(x, 1.0 / n)),
        "some": _in_steps(lambda n, x: _reductions(x[:n], 1.0)),
    }


def _divisions_in_steps(f):
    """Return how many divisions of lengths the steps of a program contain, beside those before."""
    text = str(emit_program(lower_program(f.maker.fgraph), Target.host()).module)
    run = text[text.index("define i32 @run") :]
    steps = re.split(r"\nbody\d+:", run)[1:]
    return sum(len(re.findall("sdiv i64 8192", step)) for step in steps)


def test_parts_are_found_before_loops_that_do_not_change_the_lengths(loops):
    assert _divisions_in_steps(loops["all"]) == 0
    assert _divisions_in_steps(loops["some"]) > 0


@pytest.mark.parametrize("shape", [(1, 1), (5, 2), (20_000, 3), (70, 5000)])
@pytest.mark.parametrize("steps", [0, 3])
def test_reductions_of_any_lengths_in_steps(loops, shape, steps):
    x = RNG.normal(size=shape)
    lengths = RNG.integers(1, shape[0] + 1, steps)
    for name, f in loops.items():
        found = f(x, lengths)
        for at, n in enumerate(lengths):
            part = x / n if name == "all" else x[:n]
            expected = part.sum(), part.max(axis=0).sum(), np.log(np.exp(part).sum(axis=0)).sum()
            np.testing.assert_allclose([one[at] for one in found], expected, rtol=1e-9)
