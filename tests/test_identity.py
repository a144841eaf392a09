"""The library compares variables by identity: what ``==`` makes of them is for users' programs.

Where library code wrote ``==``, ``in``, ``index`` or ``remove`` for variables, each would build a
node, and ask it for its truth. Here every such comparison raises, while graphs of all kinds are
built, differentiated, rewritten, compiled, called, copied, pickled and printed.
"""

import copy
import io
import pickle

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys._base.errors import PhintysError
from phintys.graph import FunctionGraph, clone_replace, debugprint, equal_computations
from phintys.passes.pipelines import all_rules, rewrite_graph
from phintys.scalar.variable import ScalarVariable
from phintys.tensor.elemwise import elemwise
from phintys.tensor.variable import TensorMethods
from phintys.testing.random_loops import make_loop


class ComparedError(Exception):
    pass


def _refuse(self, other):
    msg = f"{self} was compared with {other!r}"
    raise ComparedError(msg)


@pytest.fixture
def no_comparison(monkeypatch):
    """Every comparison of a variable raises."""
    for owner in (TensorMethods, ScalarVariable):
        for name in ("__eq__", "__ne__"):
            monkeypatch.setattr(owner, name, _refuse)


def test_a_comparison_would_be_seen(no_comparison):
    x, y = pt.dvectors("x", "y")
    with pytest.raises(ComparedError):
        x in [y, y]
    with pytest.raises(ComparedError):
        ps.float64("s") != 1


def _leaves():
    shapes = {
        **dict.fromkeys("st", ()),
        **dict.fromkeys("xyzu", (None,)),
        **dict.fromkeys("XYZ", (None, None)),
        "T": (None, None, None),
        "r": (1, None),
        "c": (None, 1),
        **dict.fromkeys(("x3", "y3"), (3,)),
        **dict.fromkeys(("X3", "Y3"), (3, 3)),
    }
    named = {name: pt.tensor(name, dtype="float64", shape=shape) for name, shape in shapes.items()}
    named.update({name: pt.lscalar(name) for name in "ijn"})
    named.update(b=pt.tensor("b", dtype="bool", shape=(None,)), k=pt.lvector("k"))
    return {
        **named,
        "pt": pt,
        "ps": ps,
        "np": np,
        "phintys": phintys,
        "elemwise": elemwise,
        "loop": make_loop,
    }


def test_rules_and_gradients(no_comparison, repeats):
    scope = _leaves()
    outputs = []
    texts = list(dict.fromkeys(text for rule in all_rules() for text in rule.examples))
    every = repeats(3, 1)
    for text in texts[::every]:
        try:
            expression = eval(text, dict(scope))  # some give names
        except (PhintysError, OverflowError):
            continue  # not an expression of floats
        outputs.append(expression)
    assert len(outputs) > 300 // every
    given = [x for x in scope.values() if isinstance(x, TensorMethods)]
    costs = [y.sum() for y in outputs if y.dtype == "float64"]
    targets = [x for x in given if x.dtype == "float64"]
    # A sample of the rules need not have an example of each variable.
    gradients = phintys.grad(pt.add(*costs), targets, disconnected_inputs="ignore")
    rewrite_graph([*outputs, *gradients])
    phintys.function(given, outputs[::8], mode="native", on_unused_input="ignore")


def _perceptron():
    x, w = pt.dmatrix("x"), phintys.shared(np.ones((3, 2)), "w")
    cost = pt.log_softmax(pt.maximum(x @ w, 0.1) + 1, axis=1)[:, 0].mean()
    new = w - 0.1 * phintys.grad(cost, w)
    return [x], [cost], {w: new}, [np.ones((4, 3))]


def _table():
    x, i = pt.dmatrix("x"), pt.lscalar("i")
    table = pt.set_subtensor(x[i], x[0] * 2)
    parts = pt.join(0, table, x[::-1].T.T, pt.alloc(0.0, 1, x.shape[1]))
    values = [parts.reshape((-1, 1)), parts.max(axis=0), table[[0, 1, 0]], pt.sort(x, axis=0)]
    return [x, i], values, {}, [np.arange(6.0).reshape(3, 2), 1]


def _jacobian():
    x = pt.dvector("x")
    rows = phintys.jacobian(pt.cumsum(x**2) * x.prod(), x)
    return [x], [rows, phintys.Rop(pt.exp(x), x, x)], {}, [np.array([1.0, 2.0])]


PROGRAMS = {"perceptron": _perceptron, "table": _table, "jacobian": _jacobian}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, mode, no_comparison):
    inputs, outputs, updates, values = PROGRAMS[name]()
    f = phintys.function(inputs, outputs, updates=updates, mode=mode)
    f(*values)
    again = pickle.loads(pickle.dumps(f))
    again(*values)
    again.copy()(*values)
    debugprint(f, file=io.StringIO())


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_as_data(name, no_comparison):
    inputs, outputs, _, _ = PROGRAMS[name]()
    copies = [
        clone_replace(outputs, {inputs[0]: inputs[0] * 1}),
        pickle.loads(pickle.dumps(outputs)),
        copy.deepcopy(outputs),
    ]
    for copied in copies:
        equal_computations(outputs, copied)
        phintys.pprint(copied)
        debugprint(copied, file=io.StringIO())
    fgraph = FunctionGraph(inputs, outputs)
    fgraph.replace(fgraph.outputs[0], fgraph.outputs[0].copy())


def test_scalars(no_comparison):
    x, y = ps.float64("x"), ps.float64("y")
    z = ps.sin(x) * y + ps.switch(x < y, x, 2.0)
    phintys.grad(z, [x, y])
    composite = ps.Composite([x, y], [z])
    a, b = pt.dvectors("a", "b")
    out = elemwise(composite)(a, b)
    f = phintys.function([a, b], [out, phintys.grad(out.sum(), a)])
    f([1.0], [2.0])
