"""``minimize``: the optimizers of SciPy over trees of parameters."""

import numpy as np
import pytest
from scipy.optimize import rosen

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, MissingInputError
from phintys.optimize import minimize

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
    assert "step 1: cost" in capsys.readouterr().err


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
