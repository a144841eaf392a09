"""What the tests of the passes share: a small evaluator, and the life of one rule on one graph."""

from types import SimpleNamespace

import numpy as np
import pytest

from phintys.graph import Constant, FunctionGraph
from phintys.graph.traversal import explicit_graph_inputs, toposort
from phintys.graph.verify import verify_graph
from phintys.rewriting import RewriteTrace, Worklist


def _evaluate(outputs, values):
    """Compute a graph by ``perform``, node by node: nothing here knows of rewriting."""
    found = dict(values)
    for node in toposort(outputs):
        inputs = [v.data if isinstance(v, Constant) else found[v] for v in node.inputs]
        cells = [[None] for _ in node.outputs]
        node.op.perform(node, inputs, cells)
        for variable, (value,) in zip(node.outputs, cells, strict=True):
            assert variable.type.is_valid_value(value), (node, value)
            found[variable] = value
    return [v.data if isinstance(v, Constant) else found[v] for v in outputs]


def _random_value(variable, seed):
    rng = np.random.default_rng(seed)
    shape = [3 if size is None else size for size in variable.type.shape]
    dtype = variable.type.numpy_dtype
    if dtype.kind == "b":
        return np.asarray(rng.integers(0, 2, shape), dtype)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(0 if dtype.kind == "u" else -5, 6, shape), dtype)
    value = rng.uniform(0.1, 0.9, shape) * rng.choice([-1, 1], shape)
    return np.asarray(value + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0), dtype)


def _apply_rule(rule, expression, values=None, positive=False):
    """Rewrite with one rule alone; return what came out, after all checks that always hold."""
    inputs = list(explicit_graph_inputs([expression]))
    if values is None:
        values = {x: _random_value(x, seed) for seed, x in enumerate(inputs)}
        if positive:
            values = {x: abs(value.real).astype(value.dtype) for x, value in values.items()}
    before = _evaluate([expression], values)[0]
    fgraph = FunctionGraph(inputs, [expression], copy_inputs=False)
    origins = {str(node.origin) for node in fgraph.apply_nodes}
    trace = RewriteTrace()
    Worklist([rule], name="test").apply(fgraph, trace)
    verify_graph(fgraph)
    (out,) = fgraph.outputs
    assert out.type.dtype == expression.type.dtype
    assert out.type.shape == expression.type.shape
    # Constants have no line; every node has one of the original nodes' lines.
    assert {str(node.origin) for node in fgraph.apply_nodes} <= origins
    after = _evaluate([out], values)[0]
    assert after.dtype == before.dtype
    assert after.shape == before.shape
    return SimpleNamespace(
        out=out,
        count=len(trace.applied(rule.name)),
        before=before,
        after=after,
        ops=[str(node.op) for node in fgraph.toposort()],
        fgraph=fgraph,
    )


@pytest.fixture(scope="session")
def evaluate():
    return _evaluate


@pytest.fixture(scope="session")
def random_value():
    return _random_value


@pytest.fixture(scope="session")
def apply_rule():
    return _apply_rule
