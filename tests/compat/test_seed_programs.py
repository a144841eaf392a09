"""The programs that the contract's documents print, run as they stand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compat import PACKAGES, uninstall
from phintys.compat.script import run_script

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(autouse=True)
def _forget_old_packages():
    yield
    for package in PACKAGES:
        uninstall(package)


def run(name):
    return run_script(str(PROGRAMS / name), [])


def test_double_type():
    program = run("double_type.py")
    for double in (program.double_of_instance, program.double):
        assert double.filter(5) == 5.0
        assert isinstance(double.filter(5), float)
        assert double.filter("1.5", allow_downcast=True) == 1.5
        assert double.is_valid_value(1.0)
        assert not double.is_valid_value(1)
        assert double.values_eq_approx(1.0, 1.00001)
        assert not double.values_eq_approx(1.0, 1.1)
        with pytest.raises(TypeError, match="accurately represent"):
            double.filter(2**53 + 1)
        assert double("x").type is double
    assert str(program.double) == "double"
    assert program.equal_by_default is False
    assert program.equal_as_defined is True


def test_mul_as_a_plain_instance():
    program = run("mul_of_instance.py")
    assert program.first == 30.0
    assert program.second == 37.519999999999996
    assert program.no_wrapping == "'int' object has no attribute 'type'"
    assert program.third == 20.0
    assert program.close
    with pytest.raises(TypeError, match="only works on doubles"):
        program.mul(program.x, pt.dscalar())


@pytest.mark.parametrize(
    ("name", "expected"), [("add", 7.5), ("sub", 2.5), ("mul", 12.5), ("div", 2.0)]
)
def test_arithmetic_ops(name, expected):
    program = run("arithmetic_ops.py")
    op, double = getattr(program, name), program.double
    x, y = double("x"), double("y")
    assert phintys.function([x, y], op(x, y))(5, 2.5) == expected
    assert phintys.function([x], op(x, 2.5))(5) == expected
    assert str(op) == name
    assert op == program.BinaryDoubleOp(op.name, op.fn)
    assert hash(op) == hash(program.BinaryDoubleOp(op.name, op.fn))
    assert op != program.BinaryDoubleOp(op.name, max)
    with pytest.raises(TypeError, match=f"{name} only works on doubles"):
        op(x, pt.dscalar())


def test_how_to_make_ops(capsys):
    program = run("how_to_make_ops.py")
    assert capsys.readouterr().out == "10\n"
    assert program.node1.outputs[0].type == phintys.scalar.int64
    assert [c.data for c in program.node2.inputs] == [1, 2]
    assert program.node3.inputs[1].data == 79
    assert program.refused == "expected an int64 Scalar"

    x, y = phintys.scalar.float64("x"), phintys.scalar.float64("y")
    cost = program.mul(x, y)
    slopes = phintys.grad(pt.as_tensor_variable(cost), [x, y])
    assert phintys.function([x, y], slopes)(3.0, 5.0) == [5.0, 3.0]


def test_hidden_output():
    program = run("hidden_output.py")
    x, y = pt.dvectors("x", "y")
    total = program.Add()(x, y)
    assert len(total.owner.outputs) == 2
    f = phintys.function([x, y], total)
    for length in (3, 2, 7, 0, 4):
        a, b = np.arange(length) * 1.0, np.ones(length)
        np.testing.assert_array_equal(f(a, b), a + b)
    first = f([1.0], [1.0])
    f([5.0], [5.0])
    np.testing.assert_array_equal(first, [2.0])


def test_inplace():
    program = run("inplace.py")
    outputs = [program.r1, program.r2, program.r3, program.r4]
    f = phintys.function(
        [phintys.In(program.x, mutable=True), program.y], outputs, accept_inplace=True
    )
    results = f(2.0, 3.0)
    np.testing.assert_allclose(results, [np.log(2), 5.0, np.log(2), np.log(5)])
    assert program.add_inplace.destroy_map == {0: [0]}
