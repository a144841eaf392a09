import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.graph import equal_computations, pprint

X, Y = pt.matrices("x", "y")
V = pt.vector("v")
T = pt.tensor3("t")
I = pt.lvector("i")
K = pt.lscalar("k")
NAMES = {name: getattr(pt, name) for name in pt.__all__} | {
    "x": X,
    "y": Y,
    "v": V,
    "t": T,
    "i": I,
    "k": K,
}

# Texts that read back as the expression that prints as they do.
TEXTS = [
    "x + y * x",
    "(x + y) * x",
    "x - (y - x)",
    "-(x + y) ** 2.0",
    "(-x) ** 2.0",
    "x ** (-1.0)",
    "1.0 / x",
    "x // y % 3.0",
    "v * 2.5 + 1.0",
    "x + v",
    "~(x > 0.0) | (x <= y) & (y < 3.0)",
    "exp(abs(x)) * switch(x > 0.0, x, 0.0)",
    "clip(minimum(x, y), 0.0, 1.0)",
    "cast(x, 'float32')",
    "add_inplace(x, y)",
    "x[0]",
    "x[0:3, ::2]",
    "x[k:, k]",
    "x[-1]",
    "v[i]",
    "x[i, i]",
    "x[:, i]",
    "x[x > 0.0]",
    "(x + y)[0, 1:]",
    "x[:, None, :]",
    "x.T",
    "(x + y).T",
    "exp(x).T",
    "t.transpose(2, 0, 1)",
    "x.dimshuffle(1, 'x', 0)",
    "sum(x)",
    "sum(x, axis=1)",
    "prod(t, axis=(0, 2))",
    "max(x + y, axis=0) - min(x)",
    "any(x > 0.0)",
    "all(x > 0.0, axis=0)",
    "argmax(x, axis=1)",
    "max(x, axis=0) + x",
    "x * (y // x)",
    "x * (y * x)",
    "x + (y - x)",
    "v / sum(v)",
    "softmax(x, axis=1)",
    "log_softmax(x, axis=1)",
    "logsumexp(x, axis=0)",
    "cumsum(x, axis=0)",
    "cumprod(x, axis=1)",
    "sort(v, axis=0)",
    "x @ y @ x",
    "x @ (y @ x)",
    "x @ v",
    "t @ t",
    "x * (y @ x)",
    "concatenate([x, y], axis=1)",
    "split(v, [1, 2], 2)[1]",
    "set_subtensor(x[0], v)",
    "inc_subtensor(v[i], 1.0)",
    "set_subtensor((x + y)[1:, 0], 0.0)",
    "x.shape",
    "x.shape[0]",
    "x.reshape([2, 3])",
    "x.reshape([x.shape[0], 1, -1])",
    "alloc(0.0, k, 3)",
    "arange(0, k, 1)",
    "specify_shape(x, (2, None))",
    "specify_shape(v, (k,))",
    "diagonal(x)",
    "nonzero(x)[1]",
]

# Where what is printed says the same in other words.
PRINTED = {
    "split(v, [1, 2], 2)[1]": "split(v, [1, 2], axis=0)[1]",
    "x * (y * x)": "x * y * x",
    "add_inplace(x, y)": "x + y",
}


@pytest.mark.parametrize("text", TEXTS)
def test_printed_expressions_read_back(text):
    names = NAMES | {"add_inplace": pt.inplace.add_inplace}
    expression = eval(text, names)
    printed = pprint(expression)
    assert printed == PRINTED.get(text, text)
    assert equal_computations([expression], [eval(text, names)])


def test_a_diagonal_that_is_not_the_main_one():
    assert pprint(pt.diagonal(X, 1)) == "diagonal(x, offset=1)"


def test_dimensions_that_are_dropped():
    assert pprint(pt.row("r").squeeze(0)) == "r.squeeze(0)"
    both = pt.tensor("s", shape=(1, None, 1)).dimshuffle(1)
    assert pprint(both) == "s.squeeze((0, 2))"


def test_new_dimensions_are_shown_where_nothing_else_brings_them():
    assert pprint(V[None] * 2) == "v[None, :] * 2.0"
    assert pprint(V[None] + V[None]) == "v[None, :] + v[None, :]"
    assert pprint(V[:, None] + V) == "v[:, None] + v"


def test_constants():
    assert pprint(X * np.array([[1.0, 2.0]])) == "x * [[1. 2.]]"
    assert pprint(X * pt.constant(2.0, name="two")) == "x * two"
    assert pprint(X * np.ones((1, 1))) == "x * 1.0"
    assert pprint(X * -1) == "x * -1.0"


def test_names_go_before_expressions_of_leaves_only():
    s = phintys.shared(np.zeros(3), name="s")
    assert pprint(s + 1) == "s + 1.0"


def test_equality():
    assert pprint(pt.eq(X, Y)) == "x == y"


def test_bridges_to_scalars():
    assert pprint(pt.scalar_from_tensor(K)) == "scalar_from_tensor(k)"
    assert pprint(pt.tensor_from_scalar(phintys.scalar.int64("n"))) == "tensor_from_scalar(n)"


def test_brief_texts_stop_at_names_and_where_they_are_long():
    x = pt.dvector("x")
    y = pt.exp(x)
    assert pprint.brief(x) == "x"
    assert pprint.brief(y * 2 + 1) == "exp(x) * 2.0 + 1.0"
    y.name = "rates"
    assert pprint.brief(y) == "rates"
    assert pprint.brief((y + 1) * 2) == "(rates + 1.0) * 2.0"
    assert pprint.brief(pt.sin(y + 1), most=16) == "sin(rates + 1.0)"
    assert pprint.brief(pt.sin(y + 1), most=15) == "Sin.0"


def test_brief_texts_of_large_graphs_look_at_few_nodes(monkeypatch):
    x = pt.dvector("x")
    for _ in range(100):
        x = pt.sin(x) + x
    looked = []
    printer_of = pprint.printer_of
    monkeypatch.setattr(pprint, "printer_of", lambda v: looked.append(v) or printer_of(v))
    assert pprint.brief(x) == "Add.0"
    assert len(looked) < 40
