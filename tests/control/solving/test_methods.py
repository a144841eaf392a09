"""Methods of SciPy: each name is one, and another is refused where it is given."""

import pytest

import phintys
import phintys.tensor as pt
from phintys import optimize
from phintys._base.errors import ArgumentError
from phintys.control.solving import methods

X = pt.dvector("x")
COST = ((X - [1.0, 2.0]) ** 2).sum()
S = pt.dscalar("s")

NEEDS_A_BRACKET = ("bisect", "brentq", "brenth", "ridder", "toms748")


def solved(method):
    bracket = (0.0, 9.0) if method in NEEDS_A_BRACKET else None
    found, _ = pt.optimize.root_scalar(S**2 - 4, S, method, jac=True, hess=True, bracket=bracket)
    return phintys.function([S], found)(3.0)


def least(method):
    bounds = (0.0, 9.0) if method == "bounded" else None
    return phintys.function(
        [S], pt.optimize.minimize_scalar((S - 2) ** 2, S, method, bounds=bounds)[0]
    )(1.0)


def rooted(method):
    found, _ = pt.optimize.root(pt.tanh(0.5 - 0.5 * X / [1.0, 2.0]), X, method)
    return phintys.function([X], found)([0.5, 1.5])


@pytest.mark.parametrize("method", methods.MINIMIZE)
def test_each_method_of_minimize(method):
    found = optimize.minimize(COST, X, [0.0, 0.0], method=method.upper(), progress=False)
    assert found.params == pytest.approx([1, 2], abs=1e-3)
    inside, _ = pt.optimize.minimize(COST, X, method, hess=bool(methods.MINIMIZE[method].hessian))
    assert phintys.function([X], inside)([0.0, 0.0]) == pytest.approx([1, 2], abs=1e-3)


@pytest.mark.parametrize(
    ("method", "run", "expected"),
    [
        *((name, rooted, [1, 2]) for name in methods.ROOT),
        *((name, solved, 2) for name in methods.ROOT_SCALAR),
        *((name, least, 2) for name in methods.MINIMIZE_SCALAR),
        *(
            (
                name,
                lambda method: (
                    optimize.least_squares(X - [1.0, 2.0], X, [0.0, 0.0], method=method).params
                ),
                [1, 2],
            )
            for name in methods.LEAST_SQUARES
        ),
    ],
)
def test_each_method_of_the_other_functions(method, run, expected):
    assert run(method) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("what", "run"),
    [
        ("minimize", lambda method: optimize.Minimizer(COST, X, [0.0, 0.0], method=method)),
        ("minimize", lambda method: pt.optimize.minimize(COST, X, method)),
        ("least_squares", lambda method: optimize.least_squares(X, X, [0.0], method=method)),
        ("root", lambda method: pt.optimize.root(X - 1, X, method)),
        ("root_scalar", lambda method: pt.optimize.root_scalar(S, S, method)),
        ("minimize_scalar", lambda method: pt.optimize.minimize_scalar(S**2, S, method)),
    ],
)
@pytest.mark.parametrize("method", ["nope", "", 3, min])
def test_another_method_is_refused_before_anything_is_compiled(what, run, method):
    with pytest.raises(ArgumentError, match=f"{what}: method must be one of .*, got"):
        run(method)


def test_a_misspelled_method_gets_the_nearest_name():
    with pytest.raises(ArgumentError, match=r"got 'lbfgsb'\. Did you mean 'L-BFGS-B'\?"):
        optimize.minimize(COST, X, [0.0, 0.0], method="lbfgsb")
