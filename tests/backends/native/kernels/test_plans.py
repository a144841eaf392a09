"""Running sums pass on the last element in a register."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.writer.programs import emit_program
from phintys.graph.fgraph import FunctionGraph

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "complex128"])
@pytest.mark.parametrize("length", [0, 1, 2, 9, 3000])
def test_values(dtype, length):
    x = pt.tensor("x", dtype=dtype, shape=(None,))
    values = (RNG.normal(size=length) * 3).astype(dtype)
    backwards = pt.cumsum(x[::-1])[::-1]
    both = pt.cumsum(pt.cumsum(x) * 2)
    f = phintys.function([x], [pt.cumsum(x), backwards, both], mode="native")
    slow = phintys.function([x], [pt.cumsum(x), backwards, both], mode="reference")
    for one, other in zip(f(values), slow(values), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns(axis):
    x = pt.dmatrix("x")
    for shape in [(0, 3), (3, 0), (1, 1), (5, 70), (70, 5)]:
        values = RNG.normal(size=shape)
        f = phintys.function([x], pt.cumsum(x, axis=axis), mode="native")
        np.testing.assert_array_equal(f(values), np.cumsum(values, axis=axis))


def test_the_last_element_is_read_before_the_loop_only():
    x = pt.dvector("x")
    program = lower_program(FunctionGraph([x], [pt.cumsum(x)], clone=True))
    text = str(emit_program(program, Target.host()).module)
    (function,) = [part for part in text.split("define") if "fadd" in part]
    passes = [block for block in function.split("\nloop") if "fadd" in block]
    assert [block.count("load double") for block in passes] == [1]
