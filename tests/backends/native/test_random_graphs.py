"""Random graphs: native results equal those of the reference.

First graphs of exact operations, bit by bit: values are small integers in all dtypes and stay
small, so that sums are exact in any order. Then graphs of all ops, whose programs are carried out
step by step without emission: what is wrong there is wrong in lowering, fusion or the planning of
memory.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.backends.native.lower.graph import lower_program
from phintys.graph.fgraph import FunctionGraph
from tools.fuzz import check, draw, shrunk
from tools.fuzz.kinds import GENERAL
from tools.fuzz.modes import StepByStep, Variant
from tools.native_programs import compile_program

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
LENGTHS = [0, 1, 2, 3, 7, 8, 9, 16, 17, 33, 70]


def is_complex(x):
    return x.dtype.startswith("complex")


def small(x):
    """Keep numbers small, so that products and sums stay exact."""
    if x.dtype == "bool" or is_complex(x):
        return x
    if x.dtype.startswith("u"):
        return pt.minimum(x, np.asarray(3, x.dtype))
    return pt.maximum(pt.minimum(x, np.asarray(3, x.dtype)), np.asarray(-3, x.dtype))


def numeric(x):
    return pt.cast(x, "int8") if x.dtype == "bool" else x


def real(x):
    return pt.real(x) if is_complex(x) else x


BINARY = {
    "add": lambda x, y: small(x + y),
    "sub": lambda x, y: small(numeric(x) - numeric(y)),
    "mul": lambda x, y: small(x * y) if not is_complex(x * y) else x + y,
    "maximum": lambda x, y: pt.maximum(real(x), real(y)),
    "minimum": lambda x, y: pt.minimum(real(x), real(y)),
    "lt": lambda x, y: pt.lt(real(x), real(y)),
    "eq": pt.eq,
    "switch": lambda x, y: pt.switch(pt.neq(x, 0), x, y),
    "int_div": lambda x, y: numeric(real(x)) // (abs(small(numeric(real(y)))) + 1),
    "mod": lambda x, y: numeric(real(x)) % (abs(small(numeric(real(y)))) + 1),
}
UNARY = {
    "neg": lambda x: -numeric(x),
    "abs": lambda x: abs(real(x)),
    "floor": lambda x: pt.floor(numeric(real(x)) * 0.5),
    "half": lambda x: numeric(x) * np.asarray(0.5, "float32"),
    "cast_float32": lambda x: pt.cast(real(x), "float32"),
    "cast_int16": lambda x: pt.cast(real(x), "int16"),
    "cast_float16": lambda x: pt.cast(real(x), "float16"),
    "cast_bool": lambda x: pt.cast(real(x), "bool"),
    "conj": pt.conj,
}
REDUCTIONS = ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all"]


@st.composite
def tensors(draw, dims):
    """A variable, and a value of it: axes are some of ``dims``, or broadcast."""
    dtype = draw(st.sampled_from(DTYPES))
    shape, static = [], []
    for length in dims[len(dims) - draw(st.integers(0, len(dims))) :]:
        kind = draw(st.sampled_from(["unknown", "known", "broadcast"]))
        shape.append(1 if kind == "broadcast" else length)
        static.append({"unknown": None, "known": length, "broadcast": 1}[kind])
    seed = draw(st.integers(0, 1000))
    value = np.random.default_rng(seed).integers(-2, 3, size=shape)
    if dtype.startswith("u"):
        value = abs(value)
    value = value.astype(dtype)
    if dtype.startswith("complex"):
        value += np.asarray(1j, dtype) * np.random.default_rng(seed + 1).integers(-2, 3, size=shape)
    return pt.tensor(dtype=dtype, shape=static), np.asarray(value, dtype)


def reduced(draw, x):
    """A reduction of x along some axes, with kept dimensions or not."""
    axes = draw(st.lists(st.integers(0, x.ndim - 1), min_size=1, max_size=x.ndim, unique=True))
    name = draw(st.sampled_from(REDUCTIONS))
    keepdims = draw(st.booleans())
    x = real(x) if name != "sum" else x
    if name in {"argmax", "argmin"}:
        axes = axes[0]
    if name in {"any", "all"}:
        x = pt.neq(x, 0)
    if name == "prod":
        x = pt.sign(numeric(x))
    result = getattr(pt, name)(x, axis=axes, keepdims=keepdims)
    return small(result)


@st.composite
def graphs(draw):
    dims = [draw(st.sampled_from(LENGTHS)) for _ in range(draw(st.integers(0, 3)))]
    pairs = [draw(tensors(dims)) for _ in range(draw(st.integers(1, 3)))]
    made = [variable for variable, _ in pairs]
    for _ in range(draw(st.integers(1, 8))):
        x = draw(st.sampled_from(made))
        kind = draw(st.sampled_from(["unary", "binary", "binary", "reduce", "shuffle"]))
        if kind == "unary":
            made.append(UNARY[draw(st.sampled_from(sorted(UNARY)))](x))
        elif kind == "binary":
            y = draw(st.sampled_from([other for other in made if fits(x, other)]))
            made.append(BINARY[draw(st.sampled_from(sorted(BINARY)))](x, y))
        elif kind == "reduce" and x.ndim:
            made.append(reduced(draw, x))
        elif kind == "shuffle" and x.ndim:
            order = draw(st.permutations(range(x.ndim)))
            made.append(x.dimshuffle(*order) if len(set(dims)) <= 1 else x.dimshuffle(*order, "x"))
    outputs = draw(st.lists(st.sampled_from(made[len(pairs) :] or made), min_size=1, max_size=3))
    outputs = [output + np.asarray(0, "bool") for output in outputs]
    return [variable for variable, _ in pairs], outputs, [value for _, value in pairs]


def fits(x, y):
    """Whether two variables surely broadcast: their trailing sizes are of the same axes."""
    shapes = zip(reversed(x.type.shape), reversed(y.type.shape), strict=False)
    return all(1 in {a, b} or a == b for a, b in shapes)


@settings()
@given(
    case=graphs(),
    target=st.sampled_from(["host", "host", "x86-64-v3", "x86-64-v2"]),
    most_statements=st.sampled_from([64, 64, 3, 1]),
)
def test_exact_graphs_agree(compare, case, target, most_statements):
    inputs, outputs, values = case
    try:
        compare(inputs, outputs, values, target=target, exact=True, most_statements=most_statements)
    except ShapeError as error:
        # The reference found an axis without elements, or lengths that differ, and so must native.
        reason = str(error)
        with pytest.raises(ShapeError):
            native(inputs, outputs, values)
        assert "no element" in reason or "do not fit" in reason


def native(inputs, outputs, values):
    program = lower_program(FunctionGraph(inputs, outputs, clone=True))
    compile_program(program)(*values)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("pipeline", ["none", "full"])
@pytest.mark.parametrize("most_statements", [None, 1, 4])
@pytest.mark.parametrize("start", [0, 1000])
def test_programs_mean_what_graphs_mean(start, most_statements, pipeline):
    name = f"step by step, kernels of {most_statements}"
    variant = Variant(name, StepByStep(), pipeline, most_statements=most_statements)
    first = start + 200 * (most_statements or 0)
    for seed in range(first, first + 20):
        found = check(draw(seed), [variant])
        assert found is None, str(shrunk(found, GENERAL))
