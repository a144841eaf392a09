"""``minimize``: the optimizers of SciPy over trees of parameters."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, NonlinearConstraint, rosen

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, MissingInputError
from phintys.optimize import Minimizer, minimize

X = np.arange(3.0)
Y = 2 * X + 1


@pytest.fixture(scope="module")
def line():
    params = {"slope": pt.dscalar("slope"), "heights": pt.fvector("heights")}
    x = pt.dvector("x")
    cost = ((params["slope"] * x + params["heights"].sum() - Y) ** 2).mean()
    return params, cost, {x: X}


START = {"slope": 0.0, "heights": [0.0, 0.0]}


@pytest.mark.parametrize("method", ["L-BFGS-B", "Newton-CG", "trust-constr", "Powell", "TNC"])
def test_methods_with_and_without_derivatives(line, method):
    params, cost, data = line
    found = minimize(cost, params, START, data, method=method)
    assert found.success
    assert found.params["slope"] == pytest.approx(2, abs=1e-3)
    heights = found.params["heights"]
    assert heights.dtype == "float32"
    assert heights.sum() == pytest.approx(1, abs=1e-3)
    assert found.history[0] == pytest.approx(np.mean(Y**2))
    assert len(found.history) == found.iterations + 1 or method == "trust-constr"
    assert found.history[-1] == pytest.approx(found.value, abs=1e-9)
    assert found.evaluations >= found.iterations


def test_shared_variables_are_where_it_starts_and_stay_as_they_are():
    at = phintys.shared(np.array([-1.2, 1.0, 0.5]))
    cost = (100 * (at[1:] - at[:-1] ** 2) ** 2 + (1 - at[:-1]) ** 2).sum()
    found = minimize(cost, [at], method="BFGS")
    np.testing.assert_allclose(found.params[0], 1, atol=1e-4)
    assert found.history[0] == pytest.approx(rosen(at.get_value()))
    np.testing.assert_array_equal(at.get_value(), [-1.2, 1.0, 0.5])


def test_bounds(line):
    params, cost, data = line
    low = {"slope": 2.5, "heights": None}
    found = minimize(cost, params, START, data, bounds=(low, None))
    assert found.params["slope"] == 2.5
    high = {"slope": None, "heights": [0.0, 0.25]}
    found = minimize(cost, params, START, data, bounds=(None, high))
    assert found.params["heights"].max() <= 0.25


def test_progress_and_options(line, capsys):
    params, cost, data = line
    seen = []
    found = minimize(
        cost, params, START, data, options={"maxiter": 2}, progress=lambda *step: seen.append(step)
    )
    assert not found.success
    assert [step for step, _ in seen] == [1, 2]
    assert [cost for _, cost in seen] == found.history[1:]
    minimize(cost, params, START, data, options={"maxiter": 1}, progress=True)
    assert "Minimizing: step 1, cost" in capsys.readouterr().err
    minimize(cost, params, START, data, options={"maxiter": 1})
    assert capsys.readouterr().err == ""


def test_wrong_arguments(line):
    params, cost, data = line
    with pytest.raises(ArgumentError, match=r"start must have the form of params: expected"):
        minimize(cost, params, [1.0], data)
    with pytest.raises(ArgumentError, match="slope is not a shared variable, so start"):
        minimize(cost, params, None, data)
    with pytest.raises(ArgumentError, match=r"params\['a'\] is not a variable of a real floating"):
        minimize(cost, {"a": pt.lscalar()}, START, data)
    with pytest.raises(ArgumentError, match=r"bounds is a pair of trees"):
        minimize(cost, params, START, data, bounds=[(0, 1)])
    with pytest.raises(ArgumentError, match=r"each of bounds must have the form"):
        minimize(cost, params, START, data, bounds=(1.0, 2.0))
    with pytest.raises(MissingInputError, match="x"):
        minimize(cost, params, START)


@pytest.mark.parametrize("method", ["dogleg", "trust-exact"])
def test_methods_that_take_a_hessian(method):
    at = pt.dvector("at")
    cost = (100 * (at[1:] - at[:-1] ** 2) ** 2 + (1 - at[:-1]) ** 2).sum()
    found = minimize(cost, at, [1.1, 1.2], method=method)
    assert found.success
    np.testing.assert_allclose(found.params, 1, atol=1e-6)


def test_a_cost_that_is_not_a_number_is_no_success():
    at = pt.dvector("at")
    found = minimize(pt.log(at).sum(), at, [-1.0, 2.0])
    assert not found.success
    assert found.message.startswith("The cost is nan")


@pytest.mark.parametrize("method", [None, "SLSQP", "trust-constr", "COBYLA"])
def test_constraints(method):
    """The point of a disc, and of a line through it, that is farthest in a direction."""
    params = {"x": pt.dscalar("x"), "y": pt.fscalar("y")}
    x, y = params.values()
    slope = pt.dscalar("slope")
    disc = {"type": "ineq", "fun": 1 - x**2 - y**2}
    start, data = {"x": 0.1, "y": 0.1}, {slope: 3.0}
    cost = -x - y + 0 * slope
    found = minimize(cost, params, start, data, method=method, constraints=disc)
    assert [found.params["x"], found.params["y"]] == pytest.approx([0.5**0.5] * 2, abs=1e-3)
    if method == "COBYLA":
        return
    line = {"type": "eq", "fun": y - slope * x}
    found = minimize(cost, params, start, data, method=method, constraints=[disc, line])
    assert [found.params["x"], found.params["y"]] == pytest.approx([0.1**0.5, 0.9**0.5], abs=1e-4)


def test_constraints_of_arrays_broadcast():
    x = pt.dmatrix("x")
    target = np.array([[3.0, -4.0], [0.25, 1.0]])
    doubled: Any = x * 2  # SciPy's types ask for a function
    between = NonlinearConstraint(doubled, [-1.0, -2.0], 1.0)
    found = minimize(((x - target) ** 2).sum(), x, np.zeros((2, 2)), constraints=between)
    np.testing.assert_allclose(found.params, [[0.5, -1.0], [0.25, 0.5]], atol=1e-6)


def test_a_control_problem():
    """A double integrator that comes to rest at 1 with the least effort: u = 6 - 12 t."""
    steps = 20
    h = 1 / steps
    path = {name: pt.dvector(name) for name in ("position", "speed", "force")}
    position, speed, force = path.values()

    def defects(of, rate):
        return of[1:] - of[:-1] - h / 2 * (rate[1:] + rate[:-1])

    ends = pt.stack([position[0], speed[0], position[-1] - 1, speed[-1]])
    constraints = [
        {"type": "eq", "fun": pt.concatenate([defects(position, speed), defects(speed, force)])},
        {"type": "eq", "fun": ends},
    ]
    effort = h * (force[1:] ** 2 + force[:-1] ** 2).sum() / 2
    start = dict.fromkeys(path, np.zeros(steps + 1))
    found = minimize(effort, path, start, constraints=constraints)
    assert found.success
    assert found.value == pytest.approx(12, rel=2e-2)
    np.testing.assert_allclose(
        found.params["force"][1:-1], 6 - 12 * np.arange(1, steps) * h, atol=0.1
    )


def test_wrong_constraints():
    x = pt.dvector("x")
    cost, start = (x**2).sum(), np.ones(2)
    with pytest.raises(ArgumentError, match=r"'BFGS' does not take constraints.*SLSQP"):
        minimize(cost, x, start, method="BFGS", constraints={"type": "eq", "fun": x[0]})
    function = {"type": "eq", "fun": np.sum}
    with pytest.raises(ArgumentError, match=r"constraint 1 is .*expression of the parameters"):
        minimize(cost, x, start, constraints=[{"type": "eq", "fun": x}, function])
    with pytest.raises(ArgumentError, match=r"real floating dtype. Write y >= 0 as"):
        minimize(cost, x, start, constraints={"type": "ineq", "fun": x > 0})
    with pytest.raises(ArgumentError, match=r"constraint 0 is .*derivatives are compiled"):
        minimize(cost, x, start, constraints={"type": "ineq", "fun": x, "jac": x})
    with pytest.raises(ArgumentError, match=r"constraint 0 is "):
        minimize(cost, x, start, constraints=x)


def test_bounds_for_each_element_are_refused():
    x = pt.dvector("x")
    with pytest.raises(ArgumentError, match=r"\(lowest, highest\).*tuple\(zip\(\*bounds\)\)"):
        minimize(((x - 5) ** 2).sum(), x, [0.5, 2.5], bounds=[(0, 1), (2, 3)])
    found = minimize(((x - 5) ** 2).sum(), x, [0.5, 2.5], bounds=((0, 2), (1, 3)))
    np.testing.assert_allclose(found.params, [1, 3])


@pytest.mark.parametrize("start", [0.5, [0.5, 2.5], [[0.5], [2.5]]], ids=["0-d", "1-d", "2-d"])
def test_bounds_of_scipy(start):
    x = pt.tensor("x", dtype="float64", shape=np.shape(start))
    cost = ((x - 5) ** 2).sum()
    found = minimize(cost, x, start, bounds=Bounds(0, 3))
    np.testing.assert_allclose(found.params, np.full(np.shape(start), 3.0))
    if np.ndim(start) == 1:
        found = minimize(cost, x, start, bounds=Bounds([0, 0], [2, np.inf]))
        np.testing.assert_allclose(found.params, [2, 5], rtol=1e-5)
    with pytest.raises(ArgumentError, match="must have the form of params"):
        minimize(cost, {"x": x}, {"x": start}, bounds=Bounds(0, 3))


def test_a_controller_is_compiled_once():
    """A cart that is pushed back to 0 with bounded forces, planned anew at each time step."""
    move, push = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([0.005, 0.1])
    forces, state = pt.dvector("forces"), pt.dvector("state")
    path, _ = phintys.scan(lambda force, at: move @ at + push * force, forces, state)
    cost = (path**2).sum() + 0.01 * (forces**2).sum()
    now, start = np.array([1.0, 0.0]), np.zeros(15)
    solve = Minimizer(cost, forces, start, {state: now}, bounds=(-1.0, 1.0))
    for step in range(12):
        plan = solve(start, {state: now})
        alone = (
            minimize(cost, forces, start, {state: now}, bounds=(-1.0, 1.0)) if step == 1 else plan
        )
        assert plan.value == pytest.approx(alone.value, rel=1e-9)
        assert abs(plan.params).max() <= 1
        now = move @ now + push * plan.params[0]
        start = np.append(plan.params[1:], 0.0)
    assert now @ now < 0.5
    assert solve().history[0] > 1
    with pytest.raises(
        ArgumentError, match=r"shapes \[\(3,\)\], and it was compiled for \[\(15,\)\]"
    ):
        solve(np.zeros(3))
    with pytest.raises(ArgumentError, match=r"forces was not among the givens.*, which are state"):
        solve(givens={forces: start})


def test_results_have_scipys_names_too():
    at = pt.dvector("at")
    found = minimize(((at - 1) ** 2).sum(), at, [0.0, 0.0])
    np.testing.assert_array_equal(found.x, found.params)
    assert (found.fun, found.nit, found.nfev) == (found.value, found.iterations, found.evaluations)


def test_sparse_matrices_lead_to_the_same_minimum():
    n = 12
    x, target = pt.dvector("x"), pt.dvector("target")
    cost = ((x - target) ** 2).sum() + (x[1:] * x[:-1]).sum()
    coupled = {"type": "eq", "fun": x[1:] * x[:-1] - 0.5 * x[:-1] ** 2 - 0.3}
    found = [
        minimize(
            cost,
            x,
            np.ones(n),
            {target: np.linspace(0.5, 1.0, n)},
            method="trust-constr",
            constraints=coupled,
            sparse=sparse,
        )
        for sparse in (False, True)
    ]
    assert all(one.success for one in found)
    np.testing.assert_allclose(found[1].params, found[0].params, rtol=1e-6)


def test_a_method_without_sparse_matrices_refuses_them():
    x = pt.dvector("x")
    with pytest.raises(ArgumentError, match="'L-BFGS-B' does not take sparse matrices"):
        minimize((x**2).sum(), x, [1.0], sparse=True)
