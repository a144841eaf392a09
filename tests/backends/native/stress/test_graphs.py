"""Graphs so large that something might give way: LLVM's stack, the interpreter's, or patience."""

import pytest

PROGRAM = """
    import sys
    import numpy as np
    import phintys, phintys.tensor as pt

    kind, count = sys.argv[1], int(sys.argv[2])
    x = pt.dvector("x")
    value = np.array([0.5, 0.25, 1.0])
    inputs, values = [x], [value]
    if kind == "chain":
        y, expected = x, value
        for number in range(count):
            y = pt.sqrt(y + x) if number % 2 else y * 1.5
            expected = np.sqrt(expected + value) if number % 2 else expected * 1.5
        outputs, expected = [y], [expected]
    elif kind == "inputs":
        inputs = pt.dvectors(*[f"x{number}" for number in range(count)])
        values = [value + number for number in range(count)]
        outputs, expected = [pt.add(*inputs)], [sum(values)]
    elif kind == "pieces":
        inputs = pt.dvectors(*[f"x{number}" for number in range(count)])
        values = [value[: number % 4] + number for number in range(count)]
        outputs, expected = [pt.concatenate(inputs) * 2.0], [np.concatenate(values) * 2.0]
    elif kind == "outputs":
        outputs = [pt.sqrt(x + number) * number for number in range(count)]
        expected = [np.sqrt(value + number) * number for number in range(count)]
    elif kind == "nested":
        y, expected = x, value
        for number in range(count):
            y = pt.concatenate([y, y[:1]]).sum() * 0.001 + x
            expected = np.append(expected, expected[0]).sum() * 0.001 + value
        outputs, expected = [y], [expected]
    f = phintys.function(inputs, outputs)
    for one, other in zip(f(*values), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"),
    [("chain", 10_000), ("inputs", 2_000), ("pieces", 2_000), ("outputs", 500), ("nested", 300)],
)
def test_a_large_graph(run, kind, count, repeats):
    run(PROGRAM, kind, count // repeats(3, 1))
