"""plot() of profiles, minima and distributions, and the error without matplotlib."""

import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import ArgumentError
from phintys._base.plotting import axes_or_new
from phintys.optimize import minimize

matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def axes():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def curves(axes):
    return [line.get_xydata() for line in axes.get_lines()]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'phintys\[plot\]'"):
        axes_or_new()


def test_a_density_is_that_of_the_distribution(axes):
    assert random.Normal(1.0, 2.0).plot(axes) is axes
    ((at, density),) = (curve.T for curve in curves(axes))
    expected = np.exp(-((at - 1) ** 2) / 8) / np.sqrt(8 * np.pi)
    np.testing.assert_allclose(density, expected, rtol=1e-9)
    assert np.trapezoid(density, at) > 0.99


def test_probabilities_of_integers(axes):
    random.Poisson(2.5).plot(axes)
    ((at, share),) = (curve.T for curve in curves(axes))
    assert at.tolist() == list(range(len(at)))
    np.testing.assert_allclose(share[:3], np.exp(-2.5) * np.array([1, 2.5, 3.125]), rtol=1e-9)


def test_categories_are_one_distribution(axes):
    random.Categorical([0.2, 0.3, 0.5]).plot(axes)
    (curve,) = curves(axes)
    np.testing.assert_allclose(curve[:3, 1], [0.2, 0.3, 0.5])


def test_a_batch_has_a_curve_for_each(axes):
    scale = pt.dvector("scale")
    random.Exponential(scale).plot(axes, {scale: [1.0, 2.0, 3.0]})
    assert len(curves(axes)) == 3
    assert [text.get_text() for text in axes.get_legend().get_texts()][-1] == "Exponential[2]"


@pytest.mark.parametrize(
    "distribution",
    [
        lambda: random.Normal(np.zeros((2, 2)), 1.0),
        lambda: random.MultivariateNormal(np.zeros(2), np.eye(2)),
    ],
)
def test_what_is_not_a_curve_is_refused(distribution):
    with pytest.raises(ArgumentError, match="a draw must be a number"):
        distribution().plot()


def test_costs_of_a_minimization(axes):
    w = phintys.shared(np.array([3.0, 4.0]), name="w")
    found = minimize((w**2).sum() + 1, w)
    assert found.plot(axes) is axes
    assert axes.get_yscale() == "log"
    assert curves(axes)[0][:, 1].tolist() == found.history


def test_bars_of_a_profile(axes):
    x = pt.dvector("x")
    f = phintys.function([x], pt.sort(pt.exp(x)), profile=True, name="sorted")
    f(np.ones(10))
    f.profile.plot(axes)
    assert axes.get_title() == "sorted"
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(widths, reverse=True)
    assert len(widths) == len(f.profile.by_op())
