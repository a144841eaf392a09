"""What explain prints for small graphs, held against ``explained.txt``.

After an intended change run with ``PHINTYS_UPDATE_GOLDENS=1``, and read the difference.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.backends.native.assembler.target import Target
from phintys.backends.native.explain import explain_program
from phintys.backends.native.lower.graph import lower_program
from phintys.backends.native.writer.programs import emit_program
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op

GOLDENS = Path(__file__).parent / "explained.txt"
PAGE = Path(__file__).parents[3] / "docs" / "native.md"


class Twice(Op):
    """An Op that has only Python code."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * 2

    def __str__(self):
        return "Twice"


def vector(name):
    return pt.dvector(name)


def matrix(name):
    return pt.dmatrix(name)


def elementwise():
    x, y = vector("x"), vector("y")
    return [x, y], [pt.exp(x) * y + 1]


def outer_product():
    x, y = vector("x"), vector("y")
    return [x, y], [pt.tanh(x.dimshuffle(0, "x") * y.dimshuffle("x", 0))]


def softmax():
    x = matrix("x")
    return [x], [pt.special.softmax(x, axis=1)]


def layer_norm():
    x = matrix("x")
    centred = x - x.mean(axis=1, keepdims=True)
    return [x], [centred / pt.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)]


def columns():
    x = pt.fmatrix("x")
    return [x], [x.sum(axis=0), pt.argmax(x, axis=1)]


def everything():
    x = matrix("x")
    return [x], [pt.exp(x).sum() / x.size]


def transposed():
    x = matrix("x")
    return [x], [x + x.T]


def buffers():
    x = vector("x")
    y = pt.exp(x)
    z = y / y.sum()
    return [x], [(z * pt.log(z / z.max())).sum()]


def reshaped():
    x = matrix("x")
    return [x], [pt.exp(x).reshape((2, 3, 4)) * 2]


def callback():
    x = vector("x")
    return [x], [pt.exp(Twice()(x * 3)) + 1]


def constants():
    x = pt.zvector("x")
    return [x], [x * np.arange(3.0), pt.abs(x)]


def known_rows():
    x = pt.tensor(dtype="float64", shape=(None, 5))
    x.name = "x"
    return [x], [pt.special.softmax(x, axis=1)]


def gather_and_scatter():
    x, i = matrix("x"), pt.lvector("i")
    rows = pt.exp(x[i])
    return [x, i], [pt.inc_subtensor(x[i], rows)]


def concatenated():
    x, y = vector("x"), vector("y")
    return [x, y], [pt.concatenate([pt.exp(x), y * 2, pt.zeros(3)])]


def products():
    x, w, b = matrix("x"), matrix("w"), vector("b")
    return [x, w, b], [pt.tanh(pt.dot(x.T, w.T) + b), pt.dot(w, b)]


def several_outputs():
    x, y = vector("x"), vector("y")
    error = x - y
    return [x, y], [error, error**2, (error**2).sum()]


def updates():
    x = vector("x")
    weights = phintys.shared(np.zeros(3), name="weights")
    step = phintys.shared(np.float64(0.1), name="step")
    new = {weights: weights - step * x, step: step * 0.9}
    fgraph = phintys.function([x], (weights * x).sum(), updates=new).maker.fgraph
    return fgraph.inputs, fgraph.outputs


def running_sums():
    x = matrix("x")
    return [x], [pt.cumsum(pt.exp(x), axis=0), pt.cumsum(x, axis=1), pt.cumprod(x[0])]


def mask():
    x = vector("x")
    return [x], [pt.log(x[x > 0]).sum()]


def rows_of_a_jacobian():
    x, w = vector("x"), matrix("w")
    loop = phintys.gradient.jacobian(pt.tanh(pt.dot(w, x)), x, vectorize=False)
    return [x, w], [loop]


CASES = [
    elementwise,
    outer_product,
    softmax,
    known_rows,
    layer_norm,
    columns,
    everything,
    transposed,
    buffers,
    reshaped,
    callback,
    constants,
    gather_and_scatter,
    concatenated,
    products,
    several_outputs,
    updates,
    running_sums,
    mask,
    rows_of_a_jacobian,
]


def explained(case):
    program = lower_program(FunctionGraph(*case(), clone=True))
    emitted = emit_program(program, Target.named("x86-64-v3"))
    return explain_program(program, emitted)


def goldens():
    sections = GOLDENS.read_text().split("==== ")[1:]
    return {head: body.strip("\n") for head, _, body in (s.partition("\n") for s in sections)}


def update():
    text = "".join(f"==== {case.__name__}\n{explained(case)}\n\n" for case in CASES)
    GOLDENS.write_text(text.rstrip("\n") + "\n")


if os.environ.get("PHINTYS_UPDATE_GOLDENS") == "1":
    update()


@pytest.mark.parametrize("case", CASES)
def test_explained(case):
    assert explained(case) == goldens()[case.__name__]


def test_every_golden_has_a_case():
    assert set(goldens()) == {case.__name__ for case in CASES}


def test_the_page_shows_one_of_them():
    assert f"```console\n{goldens()['softmax']}\n```" in PAGE.read_text(encoding="utf-8")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_code_is_the_same_each_time(case):
    # Nothing may depend on where objects lie in memory: code is found on disk by its text.
    texts = set()
    ballast = []
    for _ in range(6):
        program = lower_program(FunctionGraph(*case(), clone=True))
        texts.add(str(emit_program(program, Target.named("x86-64-v3")).module))
        ballast += [object() for _ in range(777)]
    assert len(texts) == 1


def test_what_is_overwritten_is_told():
    x, index = vector("x"), pt.lvector("index")
    weights, table = (phintys.shared(np.zeros(3), name=name) for name in ("weights", "table"))
    updates = {weights: weights - x, table: pt.inc_subtensor(table[index], x)}
    fgraph = phintys.function([x, index], mode="native", updates=updates).maker.fgraph
    texts = set()
    for _ in range(3):
        program = lower_program(fgraph)
        emitted = emit_program(program, Target.named("x86-64-v3"))
        texts.add(explain_program(program, emitted))
    (text,) = texts
    assert [line.split(". ", 1)[1] for line in text.splitlines() if ". claim" in line] == [
        "claim table -> t5, a copy if others hold it",
        "claim weights -> t4, other memory if others hold it",
    ]
    assert "t4[i] = weights[i] - x[i]    [result, over weights]" in text
    assert "t5[t6[i]] += x[i]    [result, over table]" in text
