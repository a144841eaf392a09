"""The names, arguments and results of the array API's linalg extension."""

import inspect

import numpy as np
import pytest

import phintys.tensor as pt

# For each function of the standard, its arrays, and its other arguments with their defaults.
STANDARD = {
    "cholesky": ("x", {"upper": False}),
    "cross": ("x1 x2", {"axis": -1}),
    "det": ("x", {}),
    "diagonal": ("x", {"offset": 0}),
    "eig": ("x", {}),
    "eigh": ("x", {}),
    "eigvals": ("x", {}),
    "eigvalsh": ("x", {}),
    "inv": ("x", {}),
    "matmul": ("x1 x2", {}),
    "matrix_norm": ("x", {"keepdims": False, "ord": "fro"}),
    "matrix_power": ("x n", {}),
    "matrix_rank": ("x", {"rtol": None}),
    "matrix_transpose": ("x", {}),
    "outer": ("x1 x2", {}),
    "pinv": ("x", {"rtol": None}),
    "qr": ("x", {"mode": "reduced"}),
    "slogdet": ("x", {}),
    "solve": ("x1 x2", {}),
    "svd": ("x", {"full_matrices": True}),
    "svdvals": ("x", {}),
    "tensordot": ("x1 x2", {"axes": 2}),
    "trace": ("x", {"offset": 0, "dtype": None}),
    "vecdot": ("x1 x2", {"axis": -1}),
    "vector_norm": ("x", {"axis": None, "keepdims": False, "ord": 2}),
}
RESULTS = {
    "eig": "eigenvalues eigenvectors",
    "eigh": "eigenvalues eigenvectors",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "svd": "U S Vh",
}


@pytest.mark.parametrize("name", STANDARD)
def test_signatures_are_those_of_the_standard(name):
    arrays, options = STANDARD[name]
    parameters = list(inspect.signature(getattr(pt.linalg, name)).parameters.values())
    # Arrays are passed by position, the others by name.
    count = len(arrays.split())
    assert all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters[:count])
    assert all(p.default is not p.empty for p in parameters[count:])
    defaults = {p.name: p.default for p in parameters[count:]}
    assert options.items() <= defaults.items()


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_tuples_with_names(name):
    found = getattr(pt.linalg, name)(pt.matrix("x"))
    assert type(found)._fields == tuple(RESULTS[name].split())
    assert type(found).__name__.lower() == f"{name}result"


@pytest.mark.parametrize("name", ["matmul", "matrix_transpose", "tensordot", "vecdot"])
def test_functions_of_the_main_namespace_are_the_same(name):
    assert getattr(pt, name) is getattr(pt.linalg, name)


def test_other_names_of_arguments_mean_the_same():
    x = np.array([[4.0, 2.0], [2.0, 2.0]])
    upper = pt.linalg.cholesky(x, upper=True).eval(mode="reference")
    np.testing.assert_allclose(upper, np.linalg.cholesky(x, upper=True))
    singular = np.diag([1.0, 1e-3])
    for name in ("rcond", "rtol"):
        found = pt.linalg.pinv(singular, **{name: 0.1}).eval(mode="reference")
        np.testing.assert_allclose(found, np.diag([1.0, 0.0]), atol=1e-12)
