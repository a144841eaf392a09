"""Native programs held against the reference backend."""

from functools import lru_cache

import numpy as np
import pytest

import phintys.tensor  # noqa: F401 - registers operators
from phintys.backends.native.kernels import fusion as fuse
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.verify import verify_program
from phintys.backends.reference import ReferenceBackend
from phintys.graph.fgraph import FunctionGraph
from tools.native_programs import compile_program, target_here

TOLERANCES = {
    "float16": 2e-3,
    "float32": 3e-6,
    "complex64": 3e-6,
    "float64": 1e-13,
    "complex128": 1e-13,
}


def same(got, wanted, *, exact):
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    if exact or wanted.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, wanted)
        return
    tolerance = TOLERANCES[wanted.dtype.name]
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def program_of(inputs, outputs, most_statements=None):
    """The program of a graph; kernels may be made smaller than they would be."""
    with pytest.MonkeyPatch.context() as patch:
        if most_statements is not None:
            patch.setattr(fuse, "MOST_STATEMENTS", most_statements)
        return lower_program(FunctionGraph(inputs, outputs, clone=True))


@lru_cache(maxsize=20)
def _linked(inputs, outputs, target, most_statements):
    """The program of the reference backend, the native program, and that compiled.

    They are kept for tests that run one graph on several values.
    """
    reference = ReferenceBackend().link(FunctionGraph(inputs, outputs, clone=True))
    program = program_of(inputs, outputs, most_statements)
    assert not [step for step in program.steps if isinstance(step, Callback)]
    verify_program(program)
    return reference, program, compile_program(program, target_here(target))


def compare_backends(
    inputs,
    outputs,
    values,
    *,
    target="host",
    exact=False,
    ranges=(1, 3),
    most_statements=None,
):
    """Run a graph in both backends, natively with work cut into several ranges."""
    reference, program, native = _linked(tuple(inputs), tuple(outputs), target, most_statements)
    wanted = [np.asarray(value) for value in reference([value.copy() for value in values])]
    before = [value.copy() for value in values]
    for count in ranges:
        native.ranges = count
        results = native(*values)
        for got, expected in zip(results, wanted, strict=True):
            same(got, expected, exact=exact)
    for value, former in zip(values, before, strict=True):
        np.testing.assert_array_equal(value, former)
    return program


@pytest.fixture(scope="session")
def compare():
    return compare_backends
