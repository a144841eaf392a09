"""Ops made of graphs, by their old names."""

import subprocess
import sys

import pytest

from phintys._base.errors import ArgumentError
from phintys.compat.from_graph import OpFromGraph

PROGRAM = """
import phintys.compat
phintys.compat.install("{package}")
import {package}
import {package}.tensor as T
from {package}.compile.builders import OpFromGraph

assert {package}.OpFromGraph is OpFromGraph
x, y, z = T.scalars("x", "y", "z")
e = x + y * z
op = OpFromGraph([x, y, z], [e], {options})
e2 = op(x, y, z) + op(z, y, x)
f = {package}.function([x, y, z], [e2, *{package}.grad(e2, [x, y, z])])
print(*(float(value) for value in f(1, 2, 3)))
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("package", "options", "expected"),
    [
        ("theano", "inline=True, grad_overrides='default'", "12.0 3.0 4.0 3.0"),
        (
            "theano",
            "lop_overrides=['default', lambda i, o, g: i[2] * 2, 'default']",
            "12.0 3.0 8.0 3.0",
        ),
        ("aesara", "on_unused_input='ignore'", "12.0 3.0 4.0 3.0"),
        ("pytensor", "pullback=[None, lambda i, o, g: i[2] * 2, None]", "12.0 3.0 8.0 3.0"),
    ],
)
def test_programs_with_the_old_names_run(package, options, expected):
    program = PROGRAM.format(package=package, options=options)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.strip() == expected, done.stderr


CHOICES = """
import phintys.compat
phintys.compat.install("{package}")
import {package}
import {package}.ifelse
import {package}.tensor as T
from {package}.ifelse import IfElse, ifelse

a, b = T.scalars("a", "b")
x, y = T.matrices("x", "y")
z_lazy = ifelse(T.lt(a, b), T.mean(x), T.mean(y))
pair = ifelse(T.lt(a, b), then_branch=[x, y], else_branch=[y, x], name="pair")
f = {package}.function([a, b, x, y], [z_lazy, *pair, ifelse(a, [x], y)[0]])
print(*(float(value.sum()) for value in f(0.0, 1.0, [[1.0]], [[2.0, 2.0]])))
print(type(z_lazy.owner.op) is IfElse, {package}.ifelse.ifelse is ifelse)
if callable({package}.ifelse):
    print(float({package}.ifelse(a, 1.0, else_branch=2.0).eval({{a: 0.0}})))
"""


@pytest.mark.parametrize("package", ["theano", "aesara", "pytensor"])
def test_choices_with_the_old_names_run(package):
    done = subprocess.run(
        [sys.executable, "-c", CHOICES.format(package=package)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    expected = ["1.0", "1.0", "4.0", "4.0", "True", "True"]
    if package == "pytensor":  # where the package has the function under the name of the module
        expected.append("2.0")
    assert done.stdout.split() == expected, done.stderr


def test_updates_belong_to_the_function():
    with pytest.raises(ArgumentError, match=r"does not take givens, updates.*Give updates"):
        OpFromGraph([], [], updates={}, givens={})
    with pytest.raises(ArgumentError, match="pullback"):
        OpFromGraph([], [], pullback=max, lop_overrides=min)
