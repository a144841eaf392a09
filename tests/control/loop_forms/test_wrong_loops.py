"""Mistakes in loops, and what the errors say.

Each case is a program as it would be typed, the class of the error that ends it, and pieces of the
message (with its notes). ``line N`` among the pieces is a line of the program.
"""

import linecache
import textwrap
import traceback
from typing import NamedTuple

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import control
from phintys._base.errors import (
    ArgumentError,
    DisconnectedInputError,
    DtypeError,
    MissingInputError,
    PhintysError,
    ShapeError,
    TypeContractError,
)


class Case(NamedTuple):
    program: str
    error: type[Exception]
    fragments: list[str]


WHAT_STEPS_RETURN = {
    "nothing": Case(
        "def step(row):\n    row * 2\nscan(step, x)", ArgumentError, ["None", "return", "line 1"]
    ),
    "a number": Case(
        "scan(lambda row: 1.0,\n     x)", ArgumentError, ["1.0", "constant(1.0)", "line 1"]
    ),
    "text": Case("scan(lambda row: [row, 'b'], x)", ArgumentError, ["'b'", "str", "line 1"]),
    "more outputs than states": Case(
        "def step(row, h):\n    return row + h, row - h\nscan(step, x, 0.0)",
        ArgumentError,
        ["returned 2 outputs", "1 entries", "None for an output", "line 2", "defined at"],
    ),
    "fewer outputs than states": Case(
        "scan(lambda row, h, k: row + h + k, x, [0.0, 0.0])",
        ArgumentError,
        ["returned 1 outputs", "2 entries", "line 1"],
    ),
    "updates of a variable that is not shared": Case(
        "scan(lambda row: {x: row}, x)", ArgumentError, ["shared", "x of type", "outputs_info"]
    ),
    "two updates of a variable": Case(
        "def step(row):\n    return row, [(s, s + 1),\n                 (s, s + 2)]\nscan(step, x)",
        ArgumentError,
        ["updates s twice", "line 2", "line 3", "Give one"],
    ),
    "an update of another dtype": Case(
        "i = phintys.shared(1, name='i')\nscan(lambda row: {i: i + row}, x)",
        TypeContractError,
        ["update of i", "Scalar(int64)", "Scalar(float64)", "line 2", "astype"],
    ),
    "a condition for each element": Case(
        "scan(lambda row: (row, phintys.until(x > row)), x)",
        ShapeError,
        ["single truth value", "bool", "line 1", ".any()"],
    ),
    "two conditions": Case(
        "scan(lambda row: (row, phintys.until(row > 1), phintys.until(row < 0)), x)",
        ArgumentError,
        ["two conditions", "until(a | b)", "line 1"],
    ),
    "outputs in two ways": Case(
        "scan(lambda row: (row, [row]), x)", ArgumentError, ["one list of outputs", "line 1"]
    ),
    "rows that are not tensors": Case(
        "g = phintys.graph.generic('g')\nscan(lambda row: g, x)",
        TypeContractError,
        ["Output 0", "not a tensor", "generic", "outputs_info", "line 2"],
    ),
}

STATES = {
    "another dtype": Case(
        "h = pt.fscalar('h')\nscan(lambda row, h: h + row, x, h)",
        DtypeError,
        ["State 0", "h[t-1]", "float32", "float64", "line 2", "initial.astype('float64')"],
    ),
    "a narrower dtype": Case(
        "scan(lambda row, h: (h + row).astype('int64'), x, 0.0)",
        DtypeError,
        ["float64", "int64", "line 1", "new.astype('float64')"],
    ),
    "another rank": Case(
        "def step(row, h):\n    return h + x\nscan(step, x, 0.0)",
        ShapeError,
        ["State 0", "rank 1", "line 2", "zeros"],
    ),
    "another shape": Case(
        "scan(lambda row, h: pt.zeros(3), x, pt.zeros(2))",
        ShapeError,
        ["(2,)", "(3,)", "line 1", "initial value"],
    ),
    "another shape at run time": Case(
        "h = pt.dvector('h')\n"
        "last, _ = scan(lambda row, h: pt.join(0, h, h), x, h)\n"
        "phintys.function([x, h], last)([1.0, 2.0], [1.0])",
        ShapeError,
        ["step 0", "(2,)", "(1,)", "line 2"],
    ),
    "taps without rows": Case(
        "scan(lambda a, b: a, outputs_info={'taps': [-2, -1]}, n_steps=3)",
        ArgumentError,
        ["Entry 0", "no initial value", "initial="],
    ),
    "a tap of the future": Case(
        "scan(lambda a, b: a, outputs_info={'initial': x, 'taps': [-1, 1]}, n_steps=3)",
        ArgumentError,
        ["must be negative", "Got 1 in [-1, 1]"],
    ),
    "the same tap twice": Case(
        "scan(lambda a, b: a, outputs_info={'initial': x, 'taps': [-1, -1]}, n_steps=3)",
        ArgumentError,
        ["different", "[-1, -1]"],
    ),
    "too few rows": Case(
        "h = {'initial': pt.zeros(1), 'taps': [-2, -1]}\n"
        "scan(lambda a, b: a, outputs_info=h, n_steps=3)",
        ShapeError,
        ["needs 2 rows", "it has 1", "line 1"],
    ),
    "too few rows at run time": Case(
        "info = {'initial': x, 'taps': [-2, -1]}\n"
        "h, _ = scan(lambda a, b: a + b, outputs_info=info, n_steps=3)\n"
        "phintys.function([x], h)([1.0])",
        ShapeError,
        ["size 2", "(1,)", "line 2"],
    ),
    "one value for two taps": Case(
        "scan(lambda a, b: a, outputs_info={'initial': 0.0, 'taps': [-2, -1]}, n_steps=3)",
        ShapeError,
        ["must have 2 rows", "Scalar(float64)"],
    ),
}

ARGUMENTS = {
    "no function": Case("scan(x, x)", ArgumentError, ["must be a function", "x"]),
    "a function of too few arguments": Case(
        "scan(lambda row: row, x, 0.0)", ArgumentError, ["2 arguments", "x[t]", "line 1"]
    ),
    "no number of steps": Case(
        "scan(lambda h: h * 2, outputs_info=1.0)", ArgumentError, ["n_steps", "a sequence"]
    ),
    "a negative number of steps": Case(
        "scan(lambda row: row, x, n_steps=-3)", ArgumentError, ["-3", "go_backwards"]
    ),
    "a negative number of steps at run time": Case(
        "n = pt.lscalar('n')\nrows, _ = scan(lambda row: row, x, n_steps=n)\n"
        "phintys.function([x, n], rows)([1.0], -3)",
        PhintysError,
        ["-3", "line 2"],
    ),
    "part of a step": Case(
        "scan(lambda row: row, x, n_steps=2.5)", DtypeError, ["integer", "2.5", "astype"]
    ),
    "a vector of steps": Case(
        "scan(lambda row: row, x, n_steps=x.shape)", ShapeError, ["rank 0", "x.shape[0]", "line 1"]
    ),
    "more steps than rows": Case(
        "scan(lambda row: row, pt.zeros(3), n_steps=5)",
        ShapeError,
        ["Sequence 0", "3 steps", "n_steps is 5", "line 1"],
    ),
    "more steps than rows at run time": Case(
        "n = pt.lscalar('n')\nrows, _ = scan(lambda row: row, x, n_steps=n)\n"
        "phintys.function([x, n], rows)([1.0], 4)",
        ShapeError,
        ["4", "1", "line 2"],
    ),
    "a sequence without rows": Case(
        "scan(lambda row: row, pt.dscalar('c'))", ShapeError, ["rank 0", "c", "non_sequences"]
    ),
    "a sequence that is not a tensor": Case(
        "scan(lambda row: row, phintys.graph.generic('g'))",
        TypeContractError,
        ["sequence 0", "must be a tensor"],
    ),
    "an unknown key": Case(
        "scan(lambda row: row, {'input': x, 'tap': [1]})", ArgumentError, ["'tap'", "taps"]
    ),
    "a tap that is not a number": Case(
        "scan(lambda row: row, {'input': x, 'taps': ['t-1']})", ArgumentError, ["integers", "'t-1'"]
    ),
    "no taps": Case(
        "scan(lambda: x, {'input': x, 'taps': []})", ArgumentError, ["empty", "name a tap"]
    ),
    "a shared variable under strict": Case(
        "scan(lambda row: row * s, x, strict=True)",
        ArgumentError,
        ["shared variables s", "non_sequences=[s]", "line 1"],
    ),
    "a truncation to nothing": Case(
        "scan(lambda row: row, x, truncate_gradient=0)", ArgumentError, ["positive", "-1", "0"]
    ),
}

LEAKS = {
    "a variable of a step in another expression": Case(
        "rows = []\nscan(lambda row: rows.append(row) or row, x)\n\n"
        "phintys.function([x], rows[0] + 1)",
        MissingInputError,
        ["x[t]", "a step of the loop", "line 2", "line 4", "Let the step return"],
    ),
    "an expression of a step in another loop": Case(
        "inner = []\ndef step(row):\n    inner.append(row * 2)\n    return row\nscan(step, x)\n"
        "rows, _ = scan(lambda row: row + inner[0], x)\nphintys.function([x], rows)",
        MissingInputError,
        ["x[t]", "line 5", "Let the step return"],
    ),
    "a gradient with respect to a variable of a step": Case(
        "rows = []\ny, _ = scan(lambda row: rows.append(row) or row, x)\n"
        "phintys.grad(y.sum(), rows[0])",
        DisconnectedInputError,
        ["x[t]", "a step of the loop", "line 2"],
    ),
    "a gradient with respect to a shape": Case(
        "n = x.shape[0]\ny, _ = scan(lambda h: h * 2, outputs_info=1.0, n_steps=n)\n"
        "phintys.grad(y.sum(), n)",
        DisconnectedInputError,
        ["only its shape", "Scan", "line 2"],
    ),
}

FUNCTIONAL = {
    "a body that returns no pair": Case(
        "loop(lambda c, row: c + row, 0.0, x)", ArgumentError, ["pair", "(carry, None)", "line 1"]
    ),
    "a carry of another form": Case(
        "loop(lambda c, row: ((c[0],), row), (0.0, 1.0), x)",
        ArgumentError,
        ["same form", "(*, *)", "(*,)", "line 1"],
    ),
    "a carry of another dtype": Case(
        "c = pt.fscalar('c')\nloop(lambda c, row: ({'c': c['c'] * row}, None), {'c': c}, x)",
        DtypeError,
        ["carry['c']", "float32", "float64", "line 2"],
    ),
    "no length": Case("loop(lambda c, row: (c, None), 0.0)", ArgumentError, ["length", "xs"]),
    "inputs of different lengths": Case(
        "loop(lambda c, rows: (c, None), 0.0, (pt.zeros(3), pt.ones(4)))",
        ShapeError,
        ["xs[0]", "3 rows", "xs[1]", "has 4", "x[:n]"],
    ),
    "a condition for each element": Case(
        "while_loop(lambda c: c < 10, lambda c: c * 2, x)",
        ShapeError,
        ["single truth value", "line 1", ".any()"],
    ),
    "bounds that are not integers": Case(
        "fori_loop(0, 2.5, lambda i, c: c, x)", DtypeError, ["upper", "2.5", "astype"]
    ),
    "rows that are text": Case(
        "loop(lambda c, row: (c, 'row'), 0.0, x)", TypeContractError, ["'row'", "stacked", "line 1"]
    ),
}

CASES = {
    f"{group}: {name}": case
    for group, cases in (
        ("a step returns", WHAT_STEPS_RETURN),
        ("a state", STATES),
        ("an argument", ARGUMENTS),
        ("a leak", LEAKS),
        ("functional", FUNCTIONAL),
    )
    for name, case in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_explained(name):
    program, error, fragments = CASES[name]
    source = textwrap.dedent(program).strip() + "\n"
    filename = "program.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = {
        "np": np,
        "phintys": phintys,
        "pt": pt,
        "scan": phintys.scan,
        "loop": control.loop,
        "while_loop": control.while_loop,
        "fori_loop": control.fori_loop,
        "x": pt.dvector("x"),
        "s": phintys.shared(1.0, name="s"),
    }
    with pytest.raises(error) as caught:
        exec(compile(source, filename, "exec"), names)
    message = "".join(traceback.format_exception_only(caught.value))
    missing = [fragment for fragment in fragments if fragment not in message]
    assert not missing, message
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert any(frame.filename == filename for frame in frames)
