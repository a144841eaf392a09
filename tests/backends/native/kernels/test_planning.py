"""How kernels are carried out: in whole vectors, and several rows at once."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.limits import SHORT_COPY, SHORT_ROW
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.writer.programs import emit_program
from phintys.graph.fgraph import FunctionGraph
from tools.native_programs import compile_program, target_here

TARGETS = ["host", "x86-64-v3", "x86-64-v2"]

X, C, V = pt.dmatrix("X"), pt.dmatrix("C"), pt.dmatrix("V")
index = pt.lvector("index")


def lowered(inputs, outputs):
    return lower_program(FunctionGraph(inputs, outputs, clone=True))


def emitted(inputs, outputs):
    return emit_program(lowered(inputs, outputs), Target.named("x86-64-v3"))


def rows_side_by_side(inputs, outputs):
    """Return for each kernel how long the rows may be that are computed several at once."""
    codes = emitted(inputs, outputs).kernels.values()
    return [code.for_short_rows.most for code in codes if code.for_short_rows is not None]


def added_rows():
    return [X, index, V], [pt.inc_subtensor(X[index], V)]


def nearest():
    """The number of the row of C that is nearest to each row of X, and its distance."""
    distances = ((X[:, None] - C[None]) ** 2).sum(axis=2)
    return [X, C], [pt.argmin(distances, axis=1), distances.min(axis=1)]


def test_rows_at_an_index_from_memory_are_added_in_whole_vectors():
    # Only lanes at separate addresses are taken out of a vector.
    assert "extractelement" not in str(emitted(*added_rows()).module)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [0, 1, 3, 4, 5, 8, 17, 40])
def test_rows_at_equal_indices_are_added_in_order(target, columns):
    rng = np.random.default_rng(columns)
    x, v = rng.normal(size=(6, columns)), rng.normal(size=(20, columns))
    at = rng.integers(-6, 6, 20)
    expected = x.copy()
    np.add.at(expected, at, v)
    run = compile_program(lowered(*added_rows()), target_here(target))
    np.testing.assert_array_equal(run(x, at, v)[0], expected)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [0, 1, 3, 4, 5, 8, 17, 40])
def test_rows_at_an_index_from_memory_are_read(target, columns):
    rng = np.random.default_rng(columns)
    x, at = rng.normal(size=(6, columns)), rng.integers(-6, 6, 20)
    run = compile_program(lowered([X, index], [2 * X[index]]), target_here(target))
    np.testing.assert_array_equal(run(x, at)[0], 2 * x[at])


def test_only_rows_of_a_few_elements_are_copied_side_by_side():
    assert rows_side_by_side([X, index], [X[index]]) == [SHORT_COPY]
    lanes = Target.named("x86-64-v3").vector_bytes // 8
    assert rows_side_by_side([X], [X.sum(axis=1)]) == [SHORT_ROW * lanes]


def test_rows_that_are_reduced_along_two_short_axes_are_computed_side_by_side():
    assert len(rows_side_by_side(*nearest())) == 1


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("columns", [1, 2, 12, 13, 40])
@pytest.mark.parametrize("centres", [1, 2, 12, 13, 40])
def test_rows_are_reduced_along_two_axes_of_any_lengths(target, columns, centres):
    rng = np.random.default_rng(columns + centres)
    x, c = rng.normal(size=(19, columns)), rng.normal(size=(centres, columns))
    distances = ((x[:, None] - c[None]) ** 2).sum(axis=2)
    run = compile_program(lowered(*nearest()), target_here(target))
    at, least = run(x, c)
    np.testing.assert_array_equal(at, distances.argmin(axis=1))
    np.testing.assert_allclose(least, distances.min(axis=1), rtol=1e-13)


def test_what_is_accumulated_does_not_make_reductions_serial():
    at, _ = nearest()[1]
    sums = pt.inc_subtensor(pt.zeros_like(C)[at], X)
    program = lowered([X, C], [sums])
    kernels = [step for step in program.steps if isinstance(step, Kernel)]
    accumulating = [k for k in kernels if any(s.accumulate for s in k.statements)]
    assert accumulating
    assert not any(s.reduction for k in accumulating for s in k.statements)
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=(50, 2)), rng.normal(size=(4, 2))
    nearest_to = ((x[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    expected = np.zeros_like(c)
    np.add.at(expected, nearest_to, x)
    np.testing.assert_array_equal(phintys.function([X, C], sums)(x, c), expected)
