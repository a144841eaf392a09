"""Roots and minima inside of graphs, and their derivatives by the implicit function theorem."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError
from phintys.control.solving.optimize import minimize, minimize_scalar, root, root_scalar
from phintys.gradient import verify_grad


@pytest.fixture(scope="module")
def square_roots():
    """Return x and a, and the solution of x**2 = a."""
    x, a = pt.dvector("x"), pt.dvector("a")
    return x, a, *root(x**2 - a, x)


def test_roots_with_derivatives_of_both_orders(square_roots):
    x, a, solution, success = square_roots
    results = [
        solution,
        success,
        phintys.grad((solution**2).sum(), a),
        phintys.hessian((solution**3).sum(), a),
        phintys.Rop(solution, a, pt.ones_like(a)),
    ]
    f = phintys.function([x, a], results)
    found, ok, slope, curvature, moved = f([1.0, 1.0], [4.0, 9.0])
    assert ok
    np.testing.assert_allclose(found, [2, 3])
    np.testing.assert_allclose(slope, [1, 1])
    np.testing.assert_allclose(curvature, np.diag([0.375, 0.25]))
    np.testing.assert_allclose(moved, [1 / 4, 1 / 6])
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(again([1.0, 1.0], [4.0, 9.0])[0], found)


def test_coupled_equations_of_a_tree():
    p, q = pt.dscalar("p"), pt.dmatrix("q")
    a = pt.dscalar("a")
    solution, success = root({"p": p * q[0, 0] - a, "q": q - pt.tanh(p)}, {"p": p, "q": q})
    f = phintys.function([p, q, a], [solution, success])
    found, ok = f(1.0, [[1.0, 1.0]], 2.0)
    assert ok
    assert found["q"].shape == (1, 2)
    np.testing.assert_allclose(found["p"] * np.tanh(found["p"]), 2)
    np.testing.assert_allclose(found["q"], np.tanh(found["p"]))


def test_the_gradient_of_a_solution_is_that_of_differences():
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=3)

    def found(A, b):
        x = pt.dvector("x")
        solution = root(A @ x + 0.1 * x**3 - b, x, optimizer_kwargs={"tol": 1e-13})[0]
        return phintys.clone_replace(solution, {x: pt.zeros(3)})

    verify_grad(found, [A, b], rng=rng)


@pytest.mark.parametrize(
    "options",
    [{}, {"jac": False}, {"method": "trust-exact", "hess": True}, {"method": "Newton-CG"}],
)
def test_minima(options):
    x, b = pt.dvector("x"), pt.dscalar("b")
    solution, success = minimize(((x - b) ** 4).sum() + ((x - b) ** 2).sum(), x, **options)
    f = phintys.function([x, b], [solution, success, phintys.grad(solution.sum(), b)])
    found, ok, slope = f([0.0, 1.0], 3.0)
    assert ok
    np.testing.assert_allclose(found, [3, 3], atol=1e-4)
    np.testing.assert_allclose(slope, 2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "brentq", "optimizer_kwargs": {"bracket": (0, 10)}},
        {"method": "brentq", "bracket": (0, 10)},
        {"method": "newton", "jac": True},
        {"method": "halley", "jac": True, "hess": True},
    ],
)
def test_roots_and_minima_of_one_number(options):
    s, b = pt.dscalars("s", "b")
    solution, success = root_scalar(s**3 - b, s, **options)
    t = pt.dscalar("t")
    lowest, _ = minimize_scalar(pt.cosh(t - solution), t)
    lowest = phintys.clone_replace(lowest, {t: pt.constant(0.0)})
    f = phintys.function([s, b], [solution, success, phintys.grad(lowest, b)])
    found, ok, slope = f(1.0, 27.0)
    assert ok
    np.testing.assert_allclose([found, slope], [3, 1 / 27], rtol=1e-6)


@pytest.mark.parametrize("mode", ["native", "reference"])
def test_limits_of_a_search_can_be_variables(mode):
    s, b = pt.dscalars("s", "b")
    zero, _ = root_scalar(s**2 - b, s, "brentq", bracket=(0.0, b))
    lowest, _ = minimize_scalar(pt.cos(s - b), s, "bounded", bounds=pt.stack([b, b + 5]))
    sizes = [zero, lowest, *(phintys.grad(x, b) for x in (zero, lowest))]
    f = phintys.function([s, b], sizes, mode=mode)
    np.testing.assert_allclose(f(0.0, 4.0), [2, 4 + np.pi, 0.25, 1], rtol=1e-5)
    rows, _ = phintys.scan(lambda one: phintys.clone_replace(zero, {b: one}), pt.constant([4.0, 9]))
    np.testing.assert_allclose(phintys.function([s], rows, mode=mode)(0.0), [2, 3])


def test_a_search_that_fails_says_so():
    s, b = pt.dscalars("s", "b")
    solution, success = root(s**2 + b, s)
    assert not phintys.function([s, b], success)(1.0, 1.0)
    assert solution.ndim == 0


def test_pt_optimize_is_this_module():
    assert pt.optimize.root is root


def test_shared_values_and_loops_around(square_roots):
    a = phintys.shared(4.0, name="a")
    s, starts = pt.dscalar("s"), pt.dvector("starts")
    solution, _ = root_scalar(s**2 - a, s)
    rows, _ = phintys.scan(lambda start: phintys.clone_replace(solution, {s: start}), starts)
    f = phintys.function([starts], rows, updates={a: a + 5})
    np.testing.assert_allclose(f([1.0, 3.0]), [2, 2])
    np.testing.assert_allclose(f([1.0, 2.0]), [3, 3])


def test_wrong_arguments():
    x, n, m = pt.dvector("x"), pt.lscalar("n"), pt.dscalar("m")
    with pytest.raises(ArgumentError, match=r"minimize: .* of a real floating dtype, got n"):
        minimize(n**2, n)
    with pytest.raises(ArgumentError, match=r"root_scalar: .* of rank 0 and of a real .* got x"):
        root_scalar(x, x)
    with pytest.raises(ArgumentError, match=r"objective is a number, of rank 0; got Vector"):
        minimize(x, x)
    with pytest.raises(ArgumentError, match=r"minimize_scalar: expected an expression of rank 0"):
        minimize_scalar(x * m, m)
    with pytest.raises(ArgumentError, match=r"minimize_scalar: bounds is given twice"):
        minimize_scalar(m**2, m, optimizer_kwargs={"bounds": (0, 1)}, bounds=(0, 1))
    with pytest.raises(ArgumentError, match=r"root_scalar: bracket is a vector of points"):
        root_scalar(m, m, bracket=3.0)
    with pytest.raises(ArgumentError, match=r"got 3 of type int at \['a'\]"):
        root(m, {"a": 3})
