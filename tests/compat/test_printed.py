"""What is printed, in the notation of each old package."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ConfigError
from phintys.compat.debugging import debugprint
from phintys.compat.printed import pprint, print_as

TEXTS = {
    "theano": """
        TensorType(float64, vector) | TensorType(float32, 3D) | TensorType(float64, row)
        TensorType(float64, (True, True)) | <TensorType(float64, scalar)>
        TensorConstant{(2,) of 1.0} | TensorConstant{[ 0  1  2 .. 27 28 29]}
        Elemwise{add,no_inplace}.0 | Elemwise{Cast{float32}} | Elemwise{gt,no_inplace}
        sigmoid | InplaceDimShuffle{1,0} | InplaceDimShuffle{x,0} | Sum{acc_dtype=float64}
        Subtensor{int64} | Subtensor{::, int64:int64:} | dot | MakeVector{dtype='int64'}
        (x + (-y)) | gt(x, TensorConstant{1.0}) | (x * exp(y)) | (X \\dot x) | X.T | |x|
        fill(x, y) | x[1:] | IncSubtensor{Set;int64} | array([ 1.,  2.])
    """,
    "aesara": """
        TensorType(float64, (?,)) | TensorType(float32, (?, ?, ?)) | TensorType(float64, (1, ?))
        TensorType(float64, (1, 1)) | <TensorType(float64, ())>
        TensorConstant{(2,) of 1.0} | TensorConstant{[ 0  1  2 ... 27 28 29]}
        Elemwise{add,no_inplace}.0 | Elemwise{Cast{float32}} | Elemwise{gt,no_inplace}
        sigmoid | InplaceDimShuffle{1,0} | InplaceDimShuffle{x,0} | Sum{acc_dtype=float64}
        Subtensor{int64} | Subtensor{::, int64:int64:} | dot | MakeVector{dtype='int64'}
        (x + (-y)) | gt(x, TensorConstant{1.0}) | (x * exp(y)) | (X \\dot x) | X.T | |x|
        fill(x, y) | x[1:] | IncSubtensor{Set;int64} | array([1., 2.])
    """,
    "pytensor": """
        Vector(float64, shape=(?,)) | Tensor3(float32, shape=(?, ?, ?))
        Matrix(float64, shape=(1, ?)) | Matrix(float64, shape=(1, 1))
        <Scalar(float64, shape=())> | [1. 1.] | [ 0  1  2 ... 27 28 29]
        Add.0 | Cast{float32} | Gt | Sigmoid | MatrixTranspose | ExpandDims{axis=0}
        Sum{axes=None} | Subtensor{i} | Subtensor{:, start:stop} | Dot
        MakeVector{dtype='int64'} | (x + (-y)) | Gt(x, 1.0) | (x * Exp(y)) | (X \\dot x) | X.T
        |x| | fill(x, y) | x[1:] | SetSubtensor{i} | array([1., 2.])
    """,
}


@pytest.fixture(params=list(TEXTS))
def package(request):
    print_as(request.param)
    yield request.param
    print_as(None)


def texts():
    x, y, X = pt.dvector("x"), pt.dscalar("y"), pt.dmatrix("X")
    n = pt.lscalar("n")
    return [
        x.type,
        pt.TensorType("float32", (None, None, None)),
        pt.TensorType("float64", (1, None)),
        pt.TensorType("float64", (1, 1)),
        pt.dscalar(),
        pt.constant([1.0, 1.0]),
        pt.constant(np.arange(30)),
        x + y,
        x.astype("float32").owner.op,
        (x > y).owner.op,
        pt.sigmoid(x).owner.op,
        X.T.owner.op,
        x.dimshuffle("x", 0).owner.op,
        X.sum().owner.op,
        x[0].owner.op,
        X[:, 1:n].owner.op,
        pt.dot(X, x).owner.op,
        pt.stack([n, n]).owner.op,
        *map(pprint, (x + (-y), x > 1, x * pt.exp(y), pt.dot(X, x), X.T, abs(x))),
        pprint(pt.Elemwise(phintys.scalar.second)(x, y)),
        pprint(x[1:]),
        pt.set_subtensor(x[0], 1.0).owner.op,
        repr(np.array([1.0, 2.0])),
    ]


def test_types_constants_ops_and_formulas(package):
    expected = TEXTS[package].replace("\\\\", "\\").replace("\n", " | ").split(" | ")
    assert list(map(str, texts())) == [one.strip() for one in expected if one.strip()]


def test_trees(package):
    x, y = pt.dmatrix("x"), pt.dmatrix("y")
    inner = x + y
    inner.name = "inner"
    lines = debugprint(inner * pt.exp(y), file="str").splitlines()
    if package == "theano":
        assert lines == [
            "Elemwise{mul,no_inplace} [id A] ''   ",
            " |Elemwise{add,no_inplace} [id B] 'inner'   ",
            " | |x [id C]",
            " | |y [id D]",
            " |Elemwise{exp,no_inplace} [id E] ''   ",
            "   |y [id D]",
        ]
    elif package == "aesara":
        assert lines[1:3] == [" |Elemwise{add,no_inplace} [id B] 'inner'", " | |x [id C]"]
    else:
        assert lines == [
            "Mul [id A]",
            " ├─ Add [id B] 'inner'",
            " │  ├─ x [id C]",
            " │  └─ y [id D]",
            " └─ Exp [id E]",
            "    └─ y [id D]",
        ]


def test_positions_and_repeated_nodes_of_a_compiled_function(package):
    x = pt.dvector("x")
    y = pt.exp(x)
    f = phintys.function([x], y * pt.sin(y), mode="FAST_COMPILE")
    page = debugprint(f, print_type=True, file="str")
    name, end = ("Exp", "0") if package == "pytensor" else ("Elemwise{exp,no_inplace}", "0")
    middle = "[id B] <" + str(x.type) + ">" + (" ''   " if package == "theano" else " ")
    assert f"{name} {middle}{end}" in page
    assert (" ···" in page) == (package != "theano")


def test_graphs(package):
    x = pt.dvector("x")
    text = repr(phintys.graph.FunctionGraph([x], [pt.exp(x)], copy_inputs=False))
    name = "Exp" if package == "pytensor" else "Elemwise{exp,no_inplace}"
    assert text == (f"[{name}(x)]" if package == "theano" else f"FunctionGraph({name}(x))")


def test_it_ends(package):
    print_as(None)
    x = pt.dvector("x")
    assert str(x.type) == "Vector(float64, shape=(?,))"
    assert pprint(x + 1) == "x + 1.0"
    assert repr(np.array([1.0, 2.0])) == "array([1., 2.])"
    assert str(x + 1) == "Add.0"
    assert debugprint(x, file="str") == "x [id A]\n"


def test_only_old_packages_have_a_notation():
    with pytest.raises(ConfigError, match="theano, aesara, pytensor or None; got 'jax'"):
        print_as("jax")


@pytest.mark.parametrize("package", list(TEXTS))
def test_scripts_print_as_the_package_that_they_import(package, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"import {package}.tensor as T\nprint(T.dvector('x').type)\n")
    command = [sys.executable, "-m", "phintys.compat", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == TEXTS[package].split("|")[0].strip()
