"""Random expressions, through the full pipeline: dtype, shape and values before and after.

``RANDOM_EXPRESSIONS=20000 pytest tests/passes/test_random_expressions.py`` tries more of them. Each
is made from its number alone, which a failure names.
"""

import os
import random

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import PhintysError
from phintys.graph import FunctionGraph
from phintys.graph.traversal import toposort
from phintys.passes import PIPELINES

NUMBER = int(os.environ.get("RANDOM_EXPRESSIONS", "600"))
BATCHES = 12
DTYPES = ["float64"] * 4 + ["float32", "int8", "uint8", "int64", "bool", "complex128"]
CONSTANTS = [0, 1, 1, -1, 2, 3, 0.5, 4, np.inf, np.nan, 1e200, True, False]
UNARY = (
    *("exp", "log", "log1p", "expm1", "sqr", "sqrt", "neg", "neg", "abs", "sigmoid", "softplus"),
    *("erf", "erfc", "sin", "cos", "tanh", "floor", "ceil", "sign", "invert", "logical_not"),
    *("isnan", "reciprocal", "cosh", "log2", "exp2", "cbrt"),
)
BINARY = (
    *("add", "add", "sub", "sub", "mul", "mul", "true_div", "true_div", "pow", "maximum"),
    *("minimum", "fmax", "eq", "neq", "lt", "le", "gt", "ge", "and_", "or_", "xor", "int_div"),
    "mod",
)
SLICES = [slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(0, 2)]
INDICES = [0, -1, 1, *SLICES, slice(2, 0, -1)]


def grown(choose, x, others):
    """Return one more expression, of x and maybe others; what does not fit raises."""
    other = choose.choice([*others, choose.choice(CONSTANTS)])
    axis = choose.choice([None, 0, -1])
    index = tuple(choose.choice(INDICES) for _ in range(choose.randint(1, max(x.ndim, 1))))
    kinds = {
        "unary": lambda: getattr(pt, choose.choice(UNARY))(x),
        "binary": lambda: getattr(pt, choose.choice(BINARY))(*choose.sample([x, other], 2)),
        "sum": lambda: x.sum(axis=axis, keepdims=choose.random() < 0.5),
        "extreme": lambda: getattr(x, choose.choice(["max", "min", "prod"]))(axis=axis),
        "index": lambda: x[index],
        "transpose": lambda: x.T,
        "new": lambda: x[None] if choose.random() < 0.5 else x[..., None],
        "switch": lambda: pt.switch(choose.choice(others) > 0, x, other),
        "reshape": lambda: x.reshape((-1,) if choose.random() < 0.5 else x.shape),
        "alloc": lambda: pt.alloc(x, 2, *x.shape),
        "join": lambda: pt.concatenate([x, choose.choice(others)]),
        "dot": lambda: pt.dot(x, choose.choice(others)),
        "cast": lambda: x.astype(choose.choice(["float32", "float64", "int64", "int8"])),
        "fill": lambda: pt.fill(x, other),
    }
    weights = [6, 8, *[1] * (len(kinds) - 2)]
    return kinds[choose.choices(list(kinds), weights)[0]]()


def expressions(number):
    """Return the leaves and outputs of one random graph."""
    choose = random.Random(number)
    leaves = [
        pt.tensor(
            f"x{position}",
            dtype=choose.choice(DTYPES),
            shape=[
                choose.choice([None, None, 3, 1]) for _ in range(choose.choice([0, 1, 1, 2, 3]))
            ],
        )
        for position in range(3)
    ]
    pool = list(leaves)
    for _ in range(choose.randint(3, 14)):
        try:
            pool.append(grown(choose, choose.choice(pool[-5:]), pool))
        except (PhintysError, OverflowError):
            continue
    return leaves, pool[-2:]


def value_of(variable, number):
    rng = np.random.default_rng(number)
    shape = [3 if size is None else size for size in variable.type.shape]
    dtype = variable.type.numpy_dtype
    if dtype.kind in "biu":
        return rng.integers(
            0 if dtype.kind != "i" else -4, 2 if dtype.kind == "b" else 5, shape
        ).astype(dtype)
    return np.asarray(
        rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.kind == "c" else 0), dtype
    )


def tolerance(outputs):
    dtypes = {x.type.dtype for node in toposort(outputs) for x in (*node.inputs, *node.outputs)}
    return 2e-2 if dtypes & {"float16", "float32", "complex64"} else 1e-8


def agree(before, after, rtol):
    """Return whether values agree where both are finite, and nothing finite has got lost."""
    if before.dtype.kind in "biu":
        return np.array_equal(before, after)
    finite = np.isfinite(before)
    if not np.isfinite(after[finite]).all():
        return False
    distance = np.abs(before[finite] - after[finite])
    return bool((distance <= rtol * np.maximum(1, np.abs(before[finite]))).all())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_stay(evaluate, batch):
    tried = 0
    for number in range(batch, NUMBER, BATCHES):
        leaves, outputs = expressions(number)
        values = {x: value_of(x, number) for x in leaves}
        try:
            before = evaluate(outputs, values)
        except (PhintysError, ValueError, ZeroDivisionError):
            continue  # shapes that do not fit, integers to negative powers
        fgraph = FunctionGraph(leaves, outputs, copy_inputs=False)
        PIPELINES["full"].apply(fgraph, verify=True)
        after = evaluate(fgraph.outputs, values)
        tried += 1
        for one, other, old, new in zip(before, after, outputs, fgraph.outputs, strict=True):
            told = f"{number}: {phintys.pprint(old)} -> {phintys.pprint(new)}: {one} -> {other}"
            assert (one.dtype, one.shape) == (other.dtype, other.shape), told
            assert old.type.is_super(new.type), told
            assert old.type.broadcastable == new.type.broadcastable, told
            assert agree(np.asarray(one), np.asarray(other), tolerance(outputs)), told
    assert tried > NUMBER / BATCHES / 2
