"""What is known of matrices, and what is made of it."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.graph import FunctionGraph
from phintys.graph.traversal import explicit_graph_inputs
from phintys.passes._matrix_facts import Fact
from phintys.passes._structure import structure
from phintys.passes.merging import merge
from phintys.passes.pipelines import PIPELINES

X, Y, A, P, Q, D = pt.dmatrices("X", "Y", "A", "P", "Q", "D")
x, y, s = pt.dvector("x"), pt.dvector("y"), pt.dscalar("s")
Z = pt.zmatrix("Z")
SYMMETRIC = pt.assume(A, "symmetric")
DEFINITE = pt.assume(P, "positive_definite")
LOWER = pt.assume(A, "lower_triangular")
ORTHOGONAL = pt.assume(Q, "orthogonal")
EYE = pt.eye(X.shape[0])
DISTANCES = pt.sqr(x[:, None] - x[None, :])


def facts(expression):
    inputs = list(explicit_graph_inputs([expression]))
    fgraph = FunctionGraph(inputs, [expression])
    merge.apply(fgraph)
    return structure(fgraph, fgraph.outputs[0])


KNOWN = [
    (X @ X.T, Fact.SEMIDEFINITE),
    (X @ X.T + 1e-6 * EYE, Fact.DEFINITE),
    (X.T @ DEFINITE @ X, Fact.SEMIDEFINITE),
    (X.T @ SYMMETRIC @ X, Fact.SYMMETRIC),
    (pt.exp(s) * EYE, Fact.DEFINITE | Fact.DIAGONAL),
    (pt.diag(pt.exp(x)), Fact.DEFINITE | Fact.DIAGONAL),
    (pt.diag(x), Fact.DIAGONAL | Fact.SYMMETRIC),
    (pt.exp(-DISTANCES / 2), Fact.SYMMETRIC),
    (pt.exp(-abs(x[:, None] - x[None, :])) + s * pt.eye(x.shape[0]), Fact.SYMMETRIC),
    ((X + X.T) / 2, Fact.SYMMETRIC),
    (X - X.T, Fact.SKEW),
    (x[:, None] * x[None, :], Fact.SYMMETRIC),
    (DEFINITE * (X @ X.T), Fact.SEMIDEFINITE),
    (DEFINITE / pt.exp(s) + DEFINITE, Fact.DEFINITE),
    (pt.tril(X), Fact.LOWER),
    (pt.triu(X), Fact.UPPER),
    (pt.triu(X, 1), Fact.UPPER),
    (pt.tril(X, -1).T, Fact.UPPER),
    (pt.tril(pt.triu(X)), Fact.DIAGONAL),
    (pt.tril(X) @ (2 * LOWER), Fact.LOWER),
    (pt.linalg.inv(LOWER), Fact.LOWER),
    (pt.linalg.inv(DEFINITE), Fact.DEFINITE),
    (pt.linalg.cholesky(X), Fact.LOWER | Fact.INVERTIBLE),
    (pt.linalg.cholesky(X) @ pt.linalg.cholesky(X).T, Fact.DEFINITE),
    (pt.linalg.solve_triangular(pt.linalg.cholesky(X), LOWER, lower=True), Fact.LOWER),
    (pt.linalg.eigh(X)[1], Fact.ORTHOGONAL),
    (ORTHOGONAL @ ORTHOGONAL.T, Fact.ORTHOGONAL),
    (SYMMETRIC.T, Fact.SYMMETRIC),
    (pt.conj(Z).T @ Z, Fact.SEMIDEFINITE),
    (pt.constant([[2.0, 1.0], [1.0, 2.0]]), Fact.DEFINITE),
]

NOT_KNOWN = [
    (X @ Y, Fact.SQUARE | Fact.SYMMETRIC),
    (X @ X.T - 1e-6 * EYE, Fact.SEMIDEFINITE),
    (X @ X.T + s * EYE, Fact.SEMIDEFINITE),
    (pt.tril(X) + 1, Fact.LOWER),
    (pt.exp(pt.tril(X)), Fact.LOWER),
    (pt.triu(X, -1), Fact.UPPER),
    (pt.tril(X, 1), Fact.LOWER),
    (pt.diag(x, 1), Fact.DIAGONAL | Fact.SYMMETRIC),
    (pt.eye(X.shape[0], X.shape[1]), Fact.SQUARE | Fact.SYMMETRIC | Fact.IDENTITY),
    (x[:, None] - x[None, :], Fact.SYMMETRIC),
    (x[:, None] + y[None, :], Fact.SYMMETRIC),
    (SYMMETRIC + x[None, :], Fact.SYMMETRIC),
    (SYMMETRIC @ DEFINITE, Fact.SYMMETRIC),
    (DEFINITE - DEFINITE / 2, Fact.DEFINITE),
    (pt.tril(X) @ pt.triu(Y), Fact.LOWER | Fact.UPPER),
    (Z @ Z.T, Fact.HERMITIAN),
    (pt.log(DEFINITE), Fact.SEMIDEFINITE),
]


@pytest.mark.parametrize(
    ("expression", "expected"), KNOWN, ids=lambda x: phintys.pprint(x) if hasattr(x, "type") else ""
)
def test_known(expression, expected):
    assert facts(expression) & expected == expected


@pytest.mark.parametrize(
    ("expression", "wrong"),
    NOT_KNOWN,
    ids=lambda x: phintys.pprint(x) if hasattr(x, "type") else "",
)
def test_not_known(expression, wrong):
    assert not facts(expression) & wrong


def test_no_recursion_and_one_visit_of_a_variable():
    a = pt.dmatrix("a")
    expression = a
    for _ in range(3000):
        expression = expression + expression.T
    assert facts(expression) & Fact.SYMMETRIC


# ---- programs ------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
N = 6
FULL = RNG.normal(size=(N, N)) + N * np.eye(N)
VALUES = {
    X: FULL,
    Y: RNG.normal(size=(N, N)),
    A: FULL,
    P: FULL @ FULL.T,
    Q: np.linalg.qr(FULL)[0],
    D: np.diag(RNG.uniform(1, 2, N)),
    x: RNG.normal(size=N),
    y: RNG.normal(size=N),
}


def calls(*outputs):
    """Compile, compare with the reference, and count calls of libraries."""
    inputs = list(explicit_graph_inputs(outputs))
    values = [VALUES[one] for one in inputs]
    f = phintys.function(inputs, list(outputs), mode="native")
    slow = phintys.function(inputs, list(outputs), mode="reference")
    for one, other in zip(f(*values), slow(*values), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    text = f.explain()
    assert "callback" not in text.splitlines()[0]
    found = [
        line.split("call ")[1].split("(")[0] for line in text.splitlines() if ". call " in line
    ]
    return {name: found.count(name) for name in dict.fromkeys(found)}


DIAGONAL = pt.assume(D, "diagonal")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda: pt.linalg.solve(DIAGONAL, x), {}),
        (lambda: pt.linalg.inv(DIAGONAL) @ x, {}),
        (lambda: DIAGONAL @ Y, {}),
        (lambda: pt.linalg.det(DIAGONAL), {}),
        (lambda: pt.linalg.solve(ORTHOGONAL, x), {"gemv": 1}),
        (lambda: pt.linalg.inv(ORTHOGONAL), {}),
        (lambda: pt.linalg.solve(DEFINITE, x), {"potrf": 1, "trsm": 2}),
        (lambda: pt.linalg.inv(DEFINITE), {"potrf": 1, "trsm": 2}),
        (lambda: pt.linalg.slogdet(DEFINITE)[1], {"potrf": 1}),
        (lambda: pt.linalg.inv(pt.linalg.inv(X)), {}),
        (lambda: pt.linalg.trace(X @ Y.T), {}),
        (lambda: pt.linalg.trace(X @ X), {}),
        (lambda: X @ Y @ x, {"gemv": 2}),
        (lambda: pt.linalg.det(pt.tril(X) @ DIAGONAL), {}),
    ],
)
def test_programs_use_what_is_known(build, expected):
    assert calls(build()) == expected


def test_a_log_density_and_its_gradient_share_one_cholesky_factor():
    k = pt.assume(P, "positive_definite")
    value = -0.5 * x @ pt.linalg.solve(k, x) - 0.5 * pt.linalg.slogdet(k).logabsdet
    found = calls(value, *phintys.grad(value, [P, x]))
    assert found["potrf"] == 1
    assert "getrf" not in found


def test_a_marginal_likelihood_is_known_to_be_definite():
    k = X @ X.T + 0.1 * pt.eye(X.shape[0])
    value = x @ pt.linalg.solve(k, x) + pt.log(pt.linalg.det(k))
    found = calls(value, *phintys.grad(value, [X, x]))
    assert found["potrf"] == 1
    assert "getrf" not in found


def test_solvers_are_native_without_the_rules():
    outputs = [pt.linalg.solve(X, x), pt.linalg.inv(X), pt.linalg.det(X), *pt.linalg.slogdet(X)]
    f = phintys.function([X, x], outputs, mode=phintys.Mode("native", PIPELINES["light"]))
    assert "callback" not in f.explain().splitlines()[0]
    np.testing.assert_allclose(f(FULL, VALUES[x])[0], np.linalg.solve(FULL, VALUES[x]))


def test_chains_of_products_by_known_sizes():
    a, b, c = (
        pt.matrix(name, shape=shape)
        for name, shape in zip("abc", [(2, 50), (50, 3), (3, 60)], strict=True)
    )
    text = phintys.pprint(phintys.passes.rewrite_graph(a @ (b @ c)))
    assert text == "a @ b @ c"
