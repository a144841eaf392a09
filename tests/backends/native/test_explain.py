"""What explain prints for a dozen small graphs, held against ``explained.txt``.

After an intended change run with ``PHINTYS_UPDATE_GOLDENS=1``, and read the difference.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.backends.native.emit.frame import emit_program
from phintys.backends.native.emit.target import Target
from phintys.backends.native.explain import explain_program
from phintys.backends.native.lower.whole import lower_program
from phintys.graph.apply import Apply
from phintys.graph.fgraph import FunctionGraph
from phintys.graph.op import Op

GOLDENS = Path(__file__).parent / "explained.txt"


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
