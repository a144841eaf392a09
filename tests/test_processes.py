"""What one process pickles, another can use: hashes of strings differ between them."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.graph import equal_computations

SAVE = """
import pickle, sys
import numpy as np, phintys, phintys.tensor as pt
from phintys import scalar as ps

x = pt.dmatrix("x")
w = phintys.shared(np.arange(3.0), name="w")
a, b = ps.float64("a"), ps.float64("b")
composite = pt.Elemwise(ps.Composite([a, b], [a * b + 1]))
y = pt.softmax(composite(x, w)[1:, ::-1], axis=1).sum(axis=0).reshape((3, 1)) @ pt.ones((1, 2))
cost = pt.switch(y > 0, pt.log(y), pt.cast(y.argmax(), "float64")).sum()
step = phintys.function([x], cost, updates={w: w - phintys.grad(cost, w)}, name="step")
pickle.dump((x, w, cost, step, step.maker.fgraph, pt.exp, pt.dmatrix), sys.stdout.buffer)
"""

LOAD = """
import pickle, sys
import numpy as np, phintys, phintys.tensor as pt
from phintys.graph import equal_computations

x, w, cost, step, fgraph, exp, dmatrix = pickle.load(sys.stdin.buffer)
assert exp == pt.exp and hash(exp) == hash(pt.exp) and {pt.exp: 1}[exp]
assert dmatrix is pt.dmatrix and x.type is pt.dmatrix
value = np.ones((3, 3))
other = phintys.function([x], cost)(value)  # compiled anew, so merged and folded by hash
assert np.allclose(step(value), other), (other,)
assert not np.array_equal(w.get_value(), np.arange(3.0))  # the function's w is the graph's
fgraph.check_integrity()
print(repr(step))
print(w.get_value().tolist())
"""


def run(program, seed, **options):
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=environment,
        capture_output=True,
        check=False,
        **options,
    )
    assert not done.returncode, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def saved():
    return run(SAVE, 1)


def test_graphs_and_functions_go_from_process_to_process(saved):
    here = run(LOAD, 1, input=saved)
    assert run(LOAD, 2, input=saved) == here
    assert here.startswith(b"<Function step(x: Matrix(float64, shape=(?, ?))) -> Scalar(float64)")


def test_what_was_loaded_is_as_good_as_new(saved):
    x, w, cost, step, _fgraph, _exp, _type = pickle.loads(saved)
    clone = pickle.loads(pickle.dumps(cost))
    assert equal_computations([cost], [cost])
    assert str(clone.type) == str(cost.type)
    value = np.random.default_rng(0).normal(size=(4, 3))
    slope = phintys.function([x], phintys.grad(cost, w))(value)
    before = w.get_value()
    step(value)
    np.testing.assert_allclose(w.get_value(), before - slope)
    assert w.type == pt.dvector
