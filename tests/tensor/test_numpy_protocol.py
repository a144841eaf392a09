"""NumPy's functions on symbolic arrays: the same values, or an error that says what to write."""

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special
import scipy.stats

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError

A = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 9.0]])
X = pt.dmatrix("X")

CALLS = {
    "sum": lambda x: np.sum(x, axis=0),
    "sum into nothing": lambda x: np.sum(x, out=None),
    "amax": lambda x: np.amax(x, 1),
    "concatenate": lambda x: np.concatenate([x, 2 * x]),
    "concat": lambda x: np.concat([x, x], axis=1),
    "where": lambda x: np.where(x > 2, x, 0),
    "clip": lambda x: np.clip(x, 1.5, 5),
    "median": lambda x: np.median(x, axis=1),
    "split": lambda x: np.split(x, 2)[1],
    "array_split": lambda x: np.array_split(x, 2, axis=1)[0],
    "pad": lambda x: np.pad(x, 1, mode="edge"),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "tensordot": lambda x: np.tensordot(x, x, axes=[[0], [0]]),
    "transpose": np.transpose,
    "zeros_like": np.zeros_like,
    "linalg.norm": np.linalg.norm,
    "linalg.det": lambda x: np.linalg.det(x @ x.T),
    "linalg.solve": lambda x: np.linalg.solve(x[:, :2], x[:, 2]),
    "fft.rfft": lambda x: np.real(np.fft.rfft(x)),
    "shape": lambda x: np.shape(x)[1],
    "add.reduce": np.add.reduce,
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=1),
    "maximum.reduce": lambda x: np.maximum.reduce(x, 1, keepdims=True),
    "logical_and.reduce": lambda x: np.logical_and.reduce(x > 1),
    "add.accumulate": np.add.accumulate,
    "multiply.accumulate": lambda x: np.multiply.accumulate(x, 1),
    "subtract.outer": lambda x: np.subtract.outer(x, x[0]),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_numpy_gives_a_graph(name):
    found, wanted = CALLS[name](X), CALLS[name](A)
    value = phintys.function([X], found, mode="reference")(A)
    assert value.dtype == np.asarray(wanted).dtype
    np.testing.assert_allclose(value, wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "pieces"),
    [
        (lambda: np.isnat(X), ["isnat", "symbolic", "x.eval()"]),
        (lambda: np.exp(X, out=A), ["exp with out"]),
        (lambda: np.add.reduceat(X, [0]), ["add.reduceat"]),
        (lambda: np.sum(X, out=A), ["np.sum is", "unexpected keyword argument 'out'"]),
        (lambda: np.ascontiguousarray(X), ["NumPy cannot make an array"]),
        (lambda: np.busday_count(X, X), ["busday_count", "no function of that name"]),
        (lambda: np.fill_diagonal(X, 0), ["changes its argument", "x = pt.fill_diagonal(x, ...)"]),
    ],
)
def test_other_functions_say_what_to_use(call, pieces):
    with pytest.raises(TypeError) as caught:
        call()
    assert not [piece for piece in pieces if piece not in str(caught.value)], caught.value


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda: scipy.special.logsumexp(X), "In place of SciPy's logsumexp, write .*logsumexp"),
        (lambda: scipy.special.softmax(X, axis=1), "write phintys.tensor.softmax"),
        (lambda: scipy.linalg.expm(X), "write phintys.tensor.linalg.expm"),
        (lambda: scipy.linalg.cholesky(X, lower=True), "write phintys.tensor.linalg.cholesky"),
        (lambda: scipy.fft.rfft(X), "write phintys.tensor.fft.rfft"),
        (lambda: scipy.stats.norm.pdf(X), "Use the functions of phintys.tensor"),
        (lambda: np.asarray(X), "Use the functions of phintys.tensor"),
    ],
)
def test_functions_of_scipy_name_ours(call, instead):
    with pytest.raises(TypeError, match=f"NumPy cannot make an array of X, .*{instead}"):
        call()


def test_errors_are_ours():
    with pytest.raises(ArgumentError):
        np.put(X, [0], [1.0])


@pytest.mark.parametrize("name", ["expit", "log_expit", "psi", "gammaln", "ndtr"])
def test_ufuncs_of_scipy(name):
    ufunc = getattr(scipy.special, name)
    np.testing.assert_allclose(ufunc(X).eval({X: A}), ufunc(A), rtol=1e-14)
