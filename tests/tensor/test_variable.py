"""Operators, methods and attributes of tensor variables, and what variables refuse to do."""

import copy
import math
import operator
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError, TypeContractError
from phintys.graph import Constant, Variable
from phintys.tensor.variable import TensorConstant, TensorMethods, TensorVariable

A = np.array([[1.5, -2.0, 0.5], [4.0, 0.25, -3.0]])
B = np.array([[2.0, 3.0, -0.5], [-1.5, 2.0, 1.0]])
I = np.array([[6, -3, 5], [1, 12, 7]])
J = np.array([[2, 1, 3], [1, 2, 4]])
S = np.array([[2.0, 1.0], [0.5, -1.0]])

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BITWISE = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


@pytest.mark.parametrize("symbol", BINARY)
def test_arithmetic_and_comparison(symbol, evaluate):
    function = BINARY[symbol]
    x, y = pt.dmatrices("x", "y")
    given = {x: A, y: B}
    np.testing.assert_array_equal(evaluate(function(x, y), given), function(A, B))
    np.testing.assert_array_equal(evaluate(function(x, 2), given), function(A, 2))
    np.testing.assert_array_equal(evaluate(function(3.5, x), given), function(3.5, A))
    np.testing.assert_array_equal(evaluate(function(B, x), given), function(B, A))
    np.testing.assert_array_equal(evaluate(function(x, B), given), function(A, B))


@pytest.mark.parametrize("symbol", BITWISE)
def test_bits(symbol, evaluate):
    function = BITWISE[symbol]
    i, j = pt.lmatrices("i", "j")
    given = {i: I, j: J}
    np.testing.assert_array_equal(evaluate(function(i, j), given), function(I, J))
    np.testing.assert_array_equal(evaluate(function(i, 2), given), function(I, 2))
    np.testing.assert_array_equal(evaluate(function(5, j), given), function(5, J))
    np.testing.assert_array_equal(evaluate(function(I, j), given), function(I, J))


def test_powers(evaluate):
    x, y = pt.dmatrices("x", "y")
    given = {x: np.abs(A), y: B}
    np.testing.assert_array_equal(evaluate(x**y, given), np.abs(A) ** B)
    np.testing.assert_array_equal(evaluate(x**2, given), np.abs(A) ** 2)
    np.testing.assert_array_equal(evaluate(2**y, given), 2**B)


def test_divmod(evaluate):
    x, y = pt.dmatrices("x", "y")
    for pair, expected in (
        (divmod(x, y), divmod(A, B)),
        (divmod(x, 2), divmod(A, 2)),
        (divmod(2, y), divmod(2, B)),
    ):
        for found, wanted in zip(evaluate(list(pair), {x: A, y: B}), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_matrix_products(evaluate):
    x, y = pt.dmatrices("x", "y")
    given = {x: A, y: B}
    np.testing.assert_allclose(evaluate(x @ y.T, given), A @ B.T)
    np.testing.assert_allclose(evaluate(x @ B.T, given), A @ B.T)
    np.testing.assert_allclose(evaluate(A @ y.T, given), A @ B.T)
    np.testing.assert_allclose(evaluate(x.dot(y.T), given), A @ B.T)


UNARY = {
    "-": operator.neg,
    "+": operator.pos,
    "abs": abs,
    "math.floor": (math.floor, np.floor),
    "math.ceil": (math.ceil, np.ceil),
    "math.trunc": (math.trunc, np.trunc),
    "round": (round, np.round),
    "round to a digit": (lambda x: round(x, 1), lambda x: np.round(x, 1)),
}


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name, evaluate):
    functions = UNARY[name]
    symbolic, numpy = functions if isinstance(functions, tuple) else (functions, functions)
    x = pt.dmatrix("x")
    np.testing.assert_array_equal(evaluate(symbolic(x), {x: A}), numpy(A))


def test_plus_is_the_variable_itself():
    x = pt.dmatrix("x")
    assert +x is x


def test_inversion(evaluate):
    i, b = pt.lmatrix("i"), pt.tensor("b", shape=(None,), dtype="bool")
    np.testing.assert_array_equal(evaluate(~i, {i: I}), ~I)
    mask = np.array([True, False])
    np.testing.assert_array_equal(evaluate(~b, {b: mask}), ~mask)


# Attributes and methods whose call reads the same for NumPy's arrays.
SAME = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "size": lambda x: x.size,
    "shape": lambda x: x.shape,
    "index": lambda x: x[0],
    "slice": lambda x: x[:, ::-1],
    "ellipsis": lambda x: x[..., 1],
    "new axis": lambda x: x[:, None],
    "array index": lambda x: x[[1, 0, 1], [0, 2, 1]],
    "take": lambda x: x.take([0, 2], axis=1),
    "take flat": lambda x: x.take([0, 5]),
    "reshape": lambda x: x.reshape((3, 2)),
    "reshape sizes": lambda x: x.reshape(3, 2),
    "reshape rest": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(),
    "ravel": lambda x: x.ravel(),
    "transpose": lambda x: x.transpose(),
    "transpose axes": lambda x: x.transpose(1, 0),
    "transpose tuple": lambda x: x.transpose((1, 0)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "repeat": lambda x: x.repeat(2, axis=1),
    "diagonal": lambda x: x.diagonal(),
    "diagonal offset": lambda x: x.diagonal(1),
    "trace": lambda x: x.trace(),
    "astype": lambda x: x.astype("float32"),
    "astype type": lambda x: x.astype(int),
    "copy": lambda x: x.copy(),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "clip": lambda x: x.clip(-1, 1),
    "round": lambda x: x.round(),
    "round decimals": lambda x: x.round(1),
    "sum": lambda x: x.sum(),
    "sum axis": lambda x: x.sum(axis=0),
    "sum keepdims": lambda x: x.sum(axis=1, keepdims=True),
    "sum dtype": lambda x: x.sum(0, "complex128"),
    "prod": lambda x: x.prod(axis=1),
    "mean": lambda x: x.mean(axis=0),
    "var": lambda x: x.var(axis=1),
    "var ddof": lambda x: x.var(ddof=1),
    "std": lambda x: x.std(axis=0, keepdims=True),
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(),
    "all": lambda x: x.all(axis=0),
    "any": lambda x: x.any(),
    "cumsum": lambda x: x.cumsum(axis=1),
    "cumprod": lambda x: x.cumprod(),
    "argsort": lambda x: x.argsort(axis=0),
    "nonzero": lambda x: x.nonzero()[1],
    "dot": lambda x: x.dot(np.ones(3)),
    "searchsorted": lambda x: x[1, ::-1].searchsorted([0.0, 0.25, 9.0], "right"),
}


@pytest.mark.parametrize("name", SAME)
def test_numpys_methods(name, evaluate):
    function = SAME[name]
    x = pt.dmatrix("x")
    found, expected = evaluate(function(x), {x: A}), np.asarray(function(A))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape


OWN = {
    "sort": (lambda x: x.sort(axis=0), lambda a: np.sort(a, axis=0)),
    "sort flat": (lambda x: x.sort(axis=None), lambda a: np.sort(a, axis=None)),
    "squeeze": (lambda x: x[:1].squeeze(0), lambda a: a[0]),
    "dimshuffle": (lambda x: x.dimshuffle(1, "x", 0), lambda a: a.T[:, None]),
    "flatten ndim": (lambda x: x.dimshuffle("x", 0, 1).flatten(2), lambda a: a.reshape(1, -1)),
    "reshape ndim": (lambda x: x.reshape((3, 2), 2), lambda a: a.reshape(3, 2)),
    "fill": (lambda x: x.fill(2.0), lambda a: np.full_like(a, 2)),
    "zeros_like": (lambda x: x.zeros_like(), np.zeros_like),
    "zeros_like dtype": (lambda x: x.zeros_like("int8"), lambda a: np.zeros_like(a, "int8")),
    "ones_like": (lambda x: x.ones_like(), np.ones_like),
    "norm": (lambda x: x.norm(), np.linalg.norm),
    "norm L": (lambda x: x.norm(1, axis=0), lambda a: np.linalg.norm(a, 1, axis=0)),
    "set": (lambda x: x[0].set(7.0), lambda a: np.stack([np.full(3, 7.0), a[1]])),
    "inc": (lambda x: x[:, 1].inc(1.0), lambda a: np.add(a, [0, 1, 0])),
}


@pytest.mark.parametrize("name", OWN)
def test_methods_of_our_own(name, evaluate):
    symbolic, numpy = OWN[name]
    x = pt.dmatrix("x")
    np.testing.assert_allclose(evaluate(symbolic(x), {x: A}), numpy(A), rtol=1e-15)


def test_every_method_is_tested():
    source = {*SAME, *OWN}
    named = {name.split()[0] for name in source}
    elsewhere = {"broadcastable", "dtype", "item", "ndim"}  # below, and in test_calls.py
    methods = {
        name
        for name, thing in vars(TensorMethods).items()
        if not name.startswith("_") and (callable(thing) or isinstance(thing, property))
    }
    assert methods <= named | elsewhere


def test_facts():
    x = pt.tensor("x", shape=(None, 1), dtype="int8")
    assert (x.dtype, x.ndim, x.broadcastable) == ("int8", 2, (False, True))
    assert isinstance(x, TensorVariable)
    with pytest.raises(ShapeError, match="mT needs at least 2 dimensions, v has 1"):
        _ = pt.dvector("v").mT


def test_copy_names_the_result():
    assert pt.dvector("x").copy("y").name == "y"


# ---- NumPy's functions on variables --------------------------------------------------------------


def test_numpys_ufuncs_become_our_ops(evaluate):
    x = pt.dmatrix("x")
    for ufunc in (np.exp, np.negative, np.isnan, np.floor):
        found = ufunc(x)
        assert isinstance(found, TensorVariable)
        np.testing.assert_array_equal(evaluate(found, {x: A}), ufunc(A))
    np.testing.assert_array_equal(evaluate(np.add(A, x), {x: B}), A + B)
    np.testing.assert_allclose(evaluate(np.matmul(A, x), {x: B.T}), A @ B.T)


def test_arrays_leave_mixed_expressions_to_variables():
    x = pt.dvector("x")
    for expression in (A[0] + x, A[0] < x, np.float64(2) * x, A[0] @ x):
        assert isinstance(expression, TensorVariable)


# ---- what a symbolic value cannot do -------------------------------------------------------------


def _set_item(x):
    x[0] = 1.0


FORBIDDEN = {
    "bool": (bool, r"x is symbolic, so it is neither true nor false yet. Use pt.switch"),
    "and": (lambda x: x and x, r"& and \| instead of `and` and `or`"),
    "if a < b": (lambda x: 1 if x > 0 else 2, r"neither true nor false yet. .* phintys.ifelse"),
    "a < b < c": (lambda x: 0 < x < 1, r"neither true nor false yet"),
    "len": (len, r"its length is x.shape\[0\], an expression"),
    "int": (int, r"x is symbolic and cannot become int. Use x.astype"),
    "float": (float, r"cannot become float. .* or its eval\(\) to get a value"),
    "complex": (complex, r"cannot become complex"),
    "index": (lambda x: [1, 2][x], r"cannot become an index"),
    "range": (range, r"cannot become an index"),
    "array": (np.asarray, r"NumPy cannot make an array of x, which is symbolic"),
    "array of dtype": (lambda x: np.array(x, dtype=float), r"NumPy cannot make an array of x"),
    "list of numbers": (lambda x: np.array([1.0, x]), r"symbolic"),
    "setitem": (_set_item, r"x is symbolic and never changes. Write y = x\[index\].set\(value\)"),
    "iterate": (iter, r"the size of its first dimension is not known until run time"),
    "unpack": (lambda x: max(*x), r"Cannot iterate over x: .*Give the variable a static shape"),
    "in": (lambda x: 1.0 in x, r"what it contains is not known. Use pt.any\(pt.eq\(x, item\)\)"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden(name):
    function, message = FORBIDDEN[name]
    with pytest.raises(TypeError, match=message):
        function(pt.dvector("x"))


def test_a_scalar_cannot_be_iterated():
    with pytest.raises(TypeError, match="Cannot iterate over s: it has no dimensions"):
        iter(pt.dscalar("s"))


def test_iteration_over_a_known_size(evaluate):
    x = pt.tensor("x", shape=(2, None), dtype="float64")
    first, second = x
    np.testing.assert_array_equal(evaluate(first + second, {x: A}), A[0] + A[1])
    assert list(pt.tensor("e", shape=(0,))) == []


# ---- eval, names, copies -------------------------------------------------------------------------


def test_eval():
    x = pt.dvector("x")
    with phintys.config.change_flags(mode="reference"):
        np.testing.assert_array_equal((x + 1).eval({x: [1.0, 2.0]}), [2, 3])
        np.testing.assert_array_equal((x + 1).eval({"x": [1.0, 2.0]}), [2, 3])


def test_str_and_repr():
    x = pt.dvector("x")
    assert str(x) == "x"
    assert "Add" in str(x + 1)
    assert str(pt.dvector()).startswith("<")


def test_pickles_and_copies_of_graphs(evaluate):
    x = pt.dmatrix("x")
    y = (x * 2).sum(axis=0)
    again = pickle.loads(pickle.dumps(y))
    leaf = next(v for v in phintys.graph.graph_inputs([again]) if v.name == "x")
    assert (leaf.name, leaf.type) == ("x", x.type)
    np.testing.assert_array_equal(evaluate(again, {leaf: A}), (A * 2).sum(axis=0))
    assert copy.copy(x) is not x
    assert copy.deepcopy(y).type == y.type


# ---- constants -----------------------------------------------------------------------------------


def test_constants_own_their_data():
    data = np.zeros(3)
    constant = TensorConstant(pt.dvector, data)
    data[0] = 1
    assert constant.data.tolist() == [0, 0, 0]
    assert not constant.data.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        constant.data[0] = 1
    part = TensorConstant(pt.dvector, np.zeros(6)[::2])
    assert part.data.base is None


def test_constants_refuse_values_of_another_type():
    with pytest.raises(TypeContractError, match="Wrong number of dimensions"):
        TensorConstant(pt.dvector, np.zeros((2, 2)))


def test_trusted_constants():
    data = np.arange(2.0)
    data.flags.writeable = False
    constant = TensorConstant.trusted(pt.TensorType("float64", (2,)), data)
    assert constant.data is data
    assert constant.owner is None
    assert constant.name is None
    assert isinstance(constant + 1, TensorVariable)


@pytest.mark.parametrize("value", [0.0, [1, 2], np.zeros((20, 20)), [np.nan], 1j])
def test_signatures_tell_constants_apart(value):
    a, b = pt.constant(value), pt.constant(value)
    assert a is not b
    assert a.signature() == b.signature()
    assert hash(a.signature()) == hash(b.signature())
    other = np.array(value)
    other.flat[0] = 7
    assert pt.constant(other).signature() != a.signature()


def test_signatures_look_at_bits_types_and_shapes():
    assert pt.constant(0.0).signature() != pt.constant(-0.0).signature()
    assert pt.constant(1.0).signature() != pt.constant(1).signature()
    assert pt.constant([1.0]).signature() != pt.constant([[1.0]]).signature()
    free = TensorConstant(pt.dvector, np.ones(1))
    assert free.signature() != pt.constant([1.0]).signature()


@pytest.mark.parametrize(
    ("value", "unique"),
    [(3.0, 3.0), ([2, 2], 2), ([1, 2], None), ([], None), ([[5]], 5), (True, True)],
)
def test_unique_value(value, unique):
    assert pt.constant(value).unique_value == unique


def test_unique_value_of_nan():
    assert np.isnan(pt.constant([np.nan]).unique_value)
    assert pt.constant([np.nan, np.nan]).unique_value is None


def test_copies_and_pickles_of_constants():
    constant = pt.constant(np.arange(3.0), name="c")
    shallow = copy.copy(constant)
    deep = copy.deepcopy(constant)
    pickled = pickle.loads(pickle.dumps(constant))
    for twin in (shallow, deep, pickled):
        assert twin is not constant
        assert isinstance(twin, TensorConstant)
        assert twin.signature() == constant.signature()
        assert not twin.data.flags.writeable
        assert twin.name == "c"
    assert np.shares_memory(deep.data, constant.data)


def test_constants_have_the_methods_of_variables(evaluate):
    constant = pt.constant(A)
    assert isinstance(constant, Constant | Variable)
    np.testing.assert_array_equal(evaluate(constant.sum(axis=0)), A.sum(axis=0))
    np.testing.assert_array_equal(evaluate(2 - constant), 2 - A)


class Frame:
    """Defers to operands of a higher priority, as pandas does."""

    __pandas_priority__ = 4000

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])

    def __mul__(self, other):
        if getattr(other, "__pandas_priority__", 0) > self.__pandas_priority__:
            return NotImplemented
        raise AssertionError("it did not defer")


def test_data_frames_leave_the_product_to_tensors():
    x = pt.dvector("x")
    product = Frame() * x
    assert product.ndim == 1
    np.testing.assert_array_equal(product.eval({x: [3.0, 4.0]}), [3.0, 8.0])
