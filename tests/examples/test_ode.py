import numpy as np
import pytest
from scipy.integrate import solve_ivp

import phintys.tensor as pt

NAME = "ode"


@pytest.fixture(scope="module")
def fitted(example, tmp_path_factory):
    picture = tmp_path_factory.mktemp("ode") / "ode.png"
    example.PICTURE = picture
    return example.main([]), picture


def test_the_rates_are_near_those_of_other_fits(fitted):
    """Carpenter finds 0.55, 0.028, 0.80 and 0.024 by Bayesian means."""
    found = fitted[0]
    np.testing.assert_allclose(found.rates, [0.55, 0.028, 0.80, 0.024], rtol=0.06)
    np.testing.assert_allclose(found.first, [34, 5.9], rtol=0.1)
    assert found.factor < 1.3


def test_the_solution_is_that_of_scipy(example):
    rates, first = np.array([0.55, 0.028, 0.80, 0.024]), np.array([34.0, 5.9])

    def slope(_, y):
        return [(rates[0] - rates[1] * y[1]) * y[0], (rates[3] * y[0] - rates[2]) * y[1]]

    rows = example.populations(
        pt.as_tensor_variable(rates), pt.as_tensor_variable(first), 21
    ).eval()
    exact = solve_ivp(slope, (0, 20), first, rtol=1e-10, atol=1e-10, t_eval=np.arange(21.0)).y.T
    np.testing.assert_allclose(rows, exact, rtol=1e-4)


def test_the_picture_is_a_picture(fitted):
    assert fitted[1].read_bytes().startswith(b"\x89PNG")


def test_the_program_says_what_it_found(example, capsys):
    example.main(["--no-picture"])
    said = capsys.readouterr().out
    assert "births of hares" in said
    assert "ode.png" not in said
