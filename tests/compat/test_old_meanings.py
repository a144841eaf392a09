"""Functions that gave other results than those of NumPy and Phintys under the same name."""

from __future__ import annotations

import pickle
import sys
import textwrap
from types import ModuleType

import numpy as np
import pytest

import phintys
import phintys.scalar as ps
import phintys.tensor as pt
from phintys.compat import install, uninstall
from phintys.compat.methods import METHODS
from phintys.tensor.variable import TensorMethods

NARROW = ["bool", "int8", "uint8", "int16", "uint16"]


def run_old(program):
    """Run a program that imports an old package."""
    text = "import theano\nimport theano.tensor as T\n" + textwrap.dedent(program)
    exec(compile(text, "old_program.py", "exec"), {"__name__": "old_program"})


def value(variable, given=None):
    return variable.eval(given or {})


def test_a_permutation_for_each_row(theano):
    T = theano.tensor
    x, p = T.dmatrix("x"), T.lmatrix("p")
    a = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    order = np.array([[2, 0, 1], [1, 0, 2]])
    there = T.permute_row_elements(x, p)
    back = T.permute_row_elements(there, p, 1)
    f = theano.function([x, p], [there, back])
    permuted, restored = f(a, order)
    np.testing.assert_array_equal(permuted, [[3, 1, 2], [5, 4, 6]])
    np.testing.assert_array_equal(restored, a)


def test_permutations_broadcast(theano):
    T = theano.tensor
    row, order = np.array([1.0, 2.0, 3.0]), np.array([[2, 0, 1], [1, 0, 2]])
    result = T.permute_row_elements(T.constant(row), T.constant(order))
    np.testing.assert_array_equal(value(result), row[order])
    x, p = T.dtensor3("x"), T.lmatrix("p")
    data = np.arange(12.0).reshape(2, 2, 3)
    f = theano.function([x, p], T.permute_row_elements(x, p))
    expected = np.take_along_axis(data, np.broadcast_to(order, (2, 2, 3)), axis=-1)
    np.testing.assert_array_equal(f(data, order), expected)


def test_corrected_names_an_algorithm_and_ddof_comes_third(theano):
    T = theano.tensor
    x = T.dmatrix("x")
    data = np.array([[1.0, 2.0, 4.0]])
    for result, expected in [
        (T.var(x, corrected=True), data.var()),
        (T.var(x, 1, 1), data.var(1, ddof=1)),
        (x.var(1, 1, True), data.var(1, ddof=1, keepdims=True)),
        (x.std(corrected=True), data.std()),
        (T.std(x, ddof=2), data.std(ddof=2)),
    ]:
        np.testing.assert_allclose(value(result, {x: data}), expected)


@pytest.mark.parametrize("dtype", NARROW)
def test_functions_of_narrow_integers_are_float32(theano, dtype):
    T = theano.tensor
    x = T.vector("x", dtype)
    one = np.ones(2, dtype)
    names = "exp sqrt log sin tanh erf gammaln sigmoid inv ceil arctan2 expm1 psi cbrt"
    for name in names.split():
        function = getattr(T, name)
        result = function(x, x) if name == "arctan2" else function(x)
        assert result.dtype == "float32", name
        np.testing.assert_allclose(
            value(result, {x: one}),
            value(function(*[T.constant(1.0)] * (1 + (name == "arctan2")))),
            rtol=1e-6,
        )
    assert theano.function([x], T.nnet.softplus(x))(one).dtype == np.float32


def test_inverse_permutations_and_hard_sigmoids_keep_their_dtypes(theano):
    T = theano.tensor
    p = T.ivector("p")
    inverse = T.inverse_permutation(p)
    assert inverse.dtype == "int32"
    assert value(inverse, {p: [2, 0, 1]}).tolist() == [1, 2, 0]
    x = T.bvector("x")
    assert T.nnet.hard_sigmoid(x).dtype == "float32"
    np.testing.assert_allclose(value(T.nnet.hard_sigmoid(x), {x: [-5, 1]}), [0, 0.7], rtol=1e-6)


def test_functions_of_wider_integers_are_float64(theano):
    T = theano.tensor
    for x in (T.ivector("x"), T.lvector("x"), T.vector("x", "uint32")):
        for function in (T.exp, T.inv, T.floor, T.nnet.sigmoid, T.trunc):
            assert function(x).dtype == "float64"
    x = T.ivector("x")
    assert value(T.inv(x), {x: [2, 4]}).tolist() == [0.5, 0.25]
    assert T.exp(T.fvector()).dtype == "float32"
    assert T.exp(T.zvector()).dtype == "complex128"
    assert T.exp(3).dtype == "float64"  # Python numbers are weak, as everywhere in Phintys


@pytest.mark.parametrize("dtype", NARROW)
def test_scalar_functions_of_narrow_integers_are_float32(theano, dtype):
    aes = theano.scalar
    x = aes.Scalar(dtype)("x")
    results = [
        getattr(aes, name)(x) for name in ["exp", "sqrt", "log", "sin", "erf", "inv", "ceil", "psi"]
    ]
    results.append(aes.arctan2(x, x))
    assert {result.dtype for result in results} == {"float32"}
    found = theano.function([x], results, mode="reference")(1)
    wide = aes.float64("x")
    core = [ps.exp, ps.sqrt, ps.log, ps.sin, ps.erf, ps.reciprocal, ps.ceil, ps.digamma]
    expected = [op(wide) for op in core] + [ps.arctan2(wide, wide)]
    expected = phintys.function([wide], expected, mode="reference")(1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_scalar_functions_of_other_dtypes(theano):
    aes = theano.scalar
    assert aes.exp(aes.int32("x")).dtype == "float64"
    assert aes.inv(aes.int64("x")).dtype == "float64"
    assert aes.exp(aes.float32("x")).dtype == "float32"
    assert aes.exp(aes.complex128("x")).dtype == "complex128"
    assert aes.exp(1).dtype == "float64"
    with phintys.config.change_flags(floatX="float32"):
        assert aes.true_div(aes.int8("x"), aes.int64("y")).dtype == "float32"
        assert aes.true_div(aes.float64("x"), aes.int64("y")).dtype == "float64"


def test_scalar_functions_are_those_of_the_core_in_rules(theano):
    aes = theano.scalar
    assert theano.tensor.exp(theano.tensor.dvector()).owner.op.scalar_op == aes.exp
    assert aes.exp == ps.exp
    assert ps.exp == aes.exp
    assert hash(aes.exp) == hash(ps.exp)
    assert aes.exp != ps.log
    assert aes.exp != aes.log
    assert isinstance(aes.exp, ps.ScalarOp)
    assert pickle.loads(pickle.dumps(aes.exp)) == ps.exp
    assert theano.tensor.Elemwise(aes.exp)(theano.tensor.dvector()).dtype == "float64"


def test_scalars_have_a_shape(theano):
    x = theano.scalar.float32("x")
    assert (x.shape.dtype, x.shape.type.shape) == ("int64", (0,))
    assert x.shape.eval().tolist() == []
    uninstall("theano")
    assert not hasattr(x, "shape")


def test_the_core_keeps_what_numpy_does(theano):
    x = pt.vector("x", dtype="int8")
    assert pt.exp(x).dtype == "float16"
    assert pt.reciprocal(x).dtype == "int8"
    assert pt.floor(x).dtype == np.floor(np.int8(1)).dtype  # int8, but float16 in NumPy 2.0


def test_functions_are_found_in_rules(theano):
    T = theano.tensor
    x = T.dvector("x")
    assert T.exp(x).owner.op == T.exp
    assert T.exp == pt.exp
    assert pt.exp == T.exp
    assert hash(T.exp) == hash(pt.exp)
    assert T.exp != T.log
    assert T.log != pt.exp
    rule = theano.gof.PatternSub((T.log, (T.exp, "x")), "x")
    fgraph = theano.gof.FunctionGraph([x], [T.log(T.exp(x))], clone=False)
    theano.gof.TopoOptimizer(rule).optimize(fgraph)
    assert fgraph.outputs == [x]


def test_gradients_pass_the_casts(theano):
    T = theano.tensor
    x = T.bvector("x")
    f = theano.function([x], T.grad(T.inv(x).sum(), x))
    np.testing.assert_allclose(f(np.array([2, 4], "int8")), [-0.25, -0.0625])


def test_quotients_of_integers_are_of_floatX(theano):
    T = theano.tensor
    with theano.config.change_flags(floatX="float32"):
        x, b = T.ivector("x"), T.bvector("b")
        quotients = [x / 2, 2 / x, x / b, T.true_div(x, 2), x / np.int64(2)]
        assert [quotient.dtype for quotient in quotients] == ["float32"] * 5
        assert (x / T.dvector()).dtype == "float64"
        assert (T.fvector() / b).dtype == "float32"
        assert value(quotients[0], {x: [1, 3]}).tolist() == [0.5, 1.5]
    assert (x / 2).dtype == "float64"


@pytest.mark.parametrize(
    ("package", "module", "vector_shape", "matrix_sum"),
    [
        ("theano", "tensor.nnet", (1, 3), [1.0, 1.0]),
        ("aesara", "tensor.nnet", (3,), [1.0, 1.0]),
        ("aesara", "tensor.special", (3,), [1.0, 1.0]),
        ("pytensor", "tensor.special", (3,), [0.5, 0.5]),
    ],
)
def test_softmax_without_an_axis(package, module, vector_shape, matrix_sum):
    install(package)
    try:
        home = __import__(f"{package}.{module}", fromlist=["softmax"])
        data = np.log([[1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
        assert value(home.softmax(pt.constant(data[0]))).shape == vector_shape
        np.testing.assert_allclose(value(home.softmax(pt.constant(data))).sum(1), matrix_sum)
        log_name = "log_softmax" if module == "tensor.special" else "logsoftmax"
        log_softmax = getattr(home, log_name)
        assert value(log_softmax(pt.constant(data[0]))).shape == vector_shape
    finally:
        uninstall(package)


def test_inputs_of_several_graphs_come_from_the_last_to_the_first(theano, aesara):
    T = theano.tensor
    a, b, c, d = (T.dscalar(name) for name in "abcd")
    graphs = [a + b, c * d + b]
    expected = [c, d, b, a]
    assert theano.gof.graph.inputs(graphs) == expected
    assert list(aesara.graph.basic.graph_inputs(graphs)) == expected
    assert next(aesara.graph.basic.ancestors(graphs)) is graphs[1]
    inner = T.exp(a)
    found = theano.gof.graph.ancestors([inner * b], blockers=[inner])
    assert found[1:] == [inner, b]
    assert theano.gof.graph.inputs([inner * b], blockers=[inner]) == [b]


def test_variables_are_true(theano):
    T = theano.tensor
    assert theano.shared(np.zeros(2))
    assert T.dscalar("x")
    run_old(
        """
        x, y = T.dscalars("x", "y")
        assert x != y
        assert not (x == y)
        assert (x == None) is False
        """
    )
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(T.dscalar("x") > 0)


def test_sizes_are_compared_by_identity(theano):
    """Libraries of layers look for -1 in shapes that may be symbolic."""
    run_old(
        """
        n = T.lscalar("n")
        shape = (n * 2, -1, n)
        assert sum(size == -1 for size in shape) == 1
        assert [size != -1 for size in shape] == [True, False, True]
        assert n == n
        assert n != shape[0]
        assert shape.index(n) == 2
        """
    )


def test_modules_of_packages_that_import_an_old_name_are_old(theano, monkeypatch):
    package = ModuleType("old_layers")
    exec("import theano", vars(package))
    monkeypatch.setitem(sys.modules, "old_layers", package)
    module = {"__name__": "old_layers.dense", "n": theano.tensor.lscalar("n")}
    exec("found = n == -1", module)
    assert module["found"] is False


def test_programs_that_import_no_old_name_compare_elements(theano):
    v = pt.dvector("v")
    safe = pt.switch(v == 0, 1.0, 1 / v)
    other = pt.switch(v != 0, 1 / v, 1.0)
    np.testing.assert_array_equal(safe.eval({v: [0.0, 4.0]}), [1.0, 0.25])
    np.testing.assert_array_equal(other.eval({v: [0.0, 4.0]}), [1.0, 0.25])


def test_numpy_multiplies_sizes(theano):
    T = theano.tensor
    n, x = T.lscalar("n"), T.dmatrix("x")
    assert theano.function([n], np.prod([n, 3, n]))(2) == 12
    assert np.sum((n, 3)).eval({n: 2}) == 5
    assert theano.function([x], np.prod(x.shape))(np.ones((2, 3))) == 6
    assert np.array([x, x]).tolist() == [x, x]
    with pytest.raises(TypeError, match="NumPy cannot make an array of x"):
        np.asarray(x, dtype=float)
    with pytest.raises(TypeError, match="NumPy cannot make an array of n"):
        np.asarray(n, dtype=float)


def test_methods_of_the_old_variables(theano):
    T = theano.tensor
    x = T.dvector("x")
    f = theano.function([x], [x.exp(), x.log1p(), x.round("half_away_from_zero"), x.round()])
    exp, log1p, away, even = f([0.5, 2.0])
    np.testing.assert_allclose(exp, np.exp([0.5, 2.0]))
    np.testing.assert_allclose(log1p, np.log1p([0.5, 2.0]))
    assert away.tolist() == [1.0, 2.0]
    assert even.tolist() == [0.0, 2.0]


def test_methods_are_as_before_once_the_old_packages_are_gone():
    before = dict(vars(TensorMethods))
    install("theano")
    install("aesara")
    assert vars(TensorMethods)["var"] is METHODS["var"]
    uninstall("theano")
    assert vars(TensorMethods)["var"] is METHODS["var"]
    uninstall("theano")
    uninstall("aesara")
    assert dict(vars(TensorMethods)) == before
    with pytest.raises(phintys.PhintysError):
        pt.dvector("x").flatten(3)


def test_an_op_with_an_inner_graph_that_it_compiles_itself(aesara):
    from aesara.graph import Apply, FunctionGraph, Op
    from aesara.graph.op import HasInnerGraph

    class Closed(Op, HasInnerGraph):
        def __init__(self, fgraph):
            self.fgraph = fgraph
            self.fn = aesara.function(fgraph.inputs, fgraph.outputs)

        def make_node(self, x):
            return Apply(self, [x], [x.type()])

        def perform(self, node, inputs, outputs):
            (outputs[0][0],) = self.fn(*inputs)

    u, x = aesara.tensor.dvectors("u", "x")
    op = Closed(FunctionGraph([u], [aesara.tensor.log(1 + u)]))
    assert "Inner graphs:" in phintys.debugprint(op(x), file="str")
    f = aesara.function([x], op(x))
    np.testing.assert_allclose(f([1.0]), [np.log(2.0)])
    (node,) = f.maker.fgraph.apply_nodes
    assert node.op is op
