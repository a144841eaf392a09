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


def wrong_programs():
    """Programs with an error -> what the first line begins with, in all packages or in each."""
    x, y, m = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("m")
    state = phintys.shared(np.zeros(3), "state")
    f = phintys.function([x, y], x + y)
    one, two = [1.0], [1.0, 2.0]
    return {
        lambda: phintys.function([x, y], x): "{package}.function was asked to create a function",
        lambda: phintys.function([x, x], x): "Variable x is used twice in inputs to {package}.fun",
        lambda: phintys.function(x, x): "Input variables of a ",
        lambda: phintys.function([state], x): "Cannot use a shared variable (state) as explicit",
        lambda: phintys.function([x], x, givens={x: y}): "You are trying to replace variable 'x'",
        lambda: phintys.function([x], x, mode="quick"): "No predefined mode exist for string",
        lambda: phintys.function([], [], updates=[(x, y)]): "update target must be a SharedVar",
        lambda: phintys.function([], [], updates=[(state, state.sum())]): "An update must have the",
        lambda: phintys.function([], [], updates=[(state, state)] * 2): "this shared variable al",
        lambda: f(one): ("Missing required input: y", "Missing required input: y", "Missing input"),
        lambda: f(one, one, one): "Too many parameter passed to {package} function",
        lambda: f(one, 1.0): "Wrong number of dimensions: expected 1, got 0 with shape ().",
        lambda: f(one, two, z=1): ("Unknown input or state: z",) * 2 + ("Unknown input: z",),
        lambda: f(two, [1.0] * 3): tuple(
            f"Input dimension {mark} (input[0].shape[0] = 2, input[1].shape[0] = 3)"
            for mark in ("mis-match.", "mismatch.", "mismatch:")
        ),
        lambda: phintys.grad(x, x): ("cost must be", "Cost must be", "Cost must be"),
        lambda: phintys.grad(x.sum(), y): ("grad method was asked",) * 2 + ("Sum{axes=None}.0",),
        lambda: pt.join(0, x, m): ("Join() can only",) + ("Only tensors with the same",) * 2,
        lambda: x[0, 1]: ("too many indices for array",) * 2 + ("too many indices for tensor",),
        lambda: x[5].eval({x: one}): "index 5 is out of bounds for axis 0 with size 1",
        lambda: pt.specify_shape(x, 2).eval({x: one}): "SpecifyShape: dim 0 of input has shape 1, ",
        lambda: pt.as_tensor_variable("a"): "Cannot convert 'a' to ",
        lambda: phintys.ifelse(x, x, y): "The condition argument must be a truthy scalar value",
        lambda: phintys.scan(lambda s: s, outputs_info=[x]): "No information about the number of",
        lambda: phintys.scan(lambda s: s + 0.5, outputs_info=[pt.constant(1)], n_steps=2): (
            "When compiling the inner function of scan"
        ),
    }


def test_errors_begin_as_in_the_package(package):
    for fault, heads in wrong_programs().items():
        head = heads if isinstance(heads, str) else heads[list(TEXTS).index(package)]
        with pytest.raises(phintys.PhintysError) as caught:
            fault()
        assert str(caught.value).startswith(head.replace("{package}", package)), head
        if "computing" in " ".join(getattr(caught.value, "__notes__", [])):
            assert "\nApply node that caused the error: " in str(caught.value)
    print_as(None)
    with pytest.raises(phintys.PhintysError, match=r"\AToo many indices for"):
        _ = pt.dvector()[0, 1]
    print_as(package)
