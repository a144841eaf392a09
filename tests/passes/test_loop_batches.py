"""What steps of loops compute, for all steps at once: by the rules of batching."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys import Op, control, function
from phintys.passes import loop_batches
from phintys.tensor.batching.rules import BATCHING

VECTOR, MATRIX, STACK = np.arange(3.0), np.arange(9.0).reshape(3, 3), np.arange(27.0)
STACK = STACK.reshape(3, 3, 3) / 10


def _at_once(step, sequences, captured):
    rows = [pt.as_tensor_variable(np.asarray(value)).type() for value in sequences]
    same = [pt.as_tensor_variable(np.asarray(value)).type() for value in captured]
    result, _ = control.map(step, rows, non_sequences=same)
    f = function([*rows, *same], result)
    assert all(type(node.op).__name__ != "Scan" for node in f.maker.fgraph.apply_nodes)
    found = f(*sequences, *captured)
    items = [x[0].type() for x in rows]
    one = function([*items, *same], step(*items, *same), "reference")
    expected = [one(*values, *captured) for values in zip(*sequences, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert found.dtype == np.asarray(expected).dtype


@pytest.mark.parametrize(
    ("step", "sequences", "captured"),
    [
        pytest.param(lambda x: pt.exp(x) * 2, [MATRIX], [], id="elemwise"),
        pytest.param(lambda x, y: x + y, [MATRIX], [MATRIX], id="elemwise of another rank"),
        pytest.param(lambda x: x.T[:, None], [STACK], [], id="dimshuffle"),
        pytest.param(lambda x: x.max(axis=0), [STACK], [], id="reduce"),
        pytest.param(lambda x: pt.special.softmax(x, axis=0), [STACK], [], id="softmax"),
        pytest.param(pt.special.log_softmax, [STACK], [], id="log_softmax"),
        pytest.param(lambda x: x[1:], [MATRIX], [], id="slice"),
        pytest.param(lambda i, x: x[i], [np.array([2, 0])], [MATRIX], id="index of each step"),
        *[
            pytest.param(pt.dot, [x], [y], id=f"dot of ranks {x.ndim - 1}, {y.ndim}")
            for x in (MATRIX, STACK)
            for y in (VECTOR, MATRIX)
        ],
        pytest.param(lambda x, y: y @ x, [MATRIX], [MATRIX], id="matrix times rows"),
        pytest.param(lambda x, y: y @ x, [MATRIX], [VECTOR], id="vector times rows"),
        *[
            pytest.param(pt.dot, [x.astype(dtype)] * 2, [], id=f"{x.ndim - 1}, {dtype}")
            for x in (MATRIX, STACK)
            for dtype in ("float32", "int64", "int32", "bool")
        ],
    ],
)
def test_steps_are_computed_at_once_by_the_rules_of_batching(step, sequences, captured):
    _at_once(step, sequences, captured)


def test_what_moves_out_of_loops_has_a_rule_of_batching():
    base = BATCHING.find(Op)
    for op_class in loop_batches.BATCHED:
        assert BATCHING.find(op_class) not in {None, base}


def test_indices_without_slices_after_them_stay_short():
    i, x = pt.lvector("i"), pt.dtensor3("x")
    taken, _ = control.map(lambda i, x: x[i], [i], non_sequences=[x])
    f = function([i, x], taken)
    assert [str(node.op) for node in f.maker.fgraph.toposort()] == ["AdvancedSubtensor{array}"]
