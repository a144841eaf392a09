import numpy as np
import pytest
from scipy.stats import multivariate_normal

import phintys
import phintys.tensor as pt

NAME = "gaussian_process"


@pytest.fixture(scope="module")
def fitted(example, tmp_path_factory):
    picture = tmp_path_factory.mktemp("gaussian_process") / "gaussian_process.png"
    example.PICTURE = picture
    return example.main(["--every", "4"]), picture


def test_the_density_is_that_of_a_normal_distribution(example, fitted):
    found = fitted[0]
    times, values = example.load()
    known = times < example.HELD_OUT_FROM
    times, values = times[known][::4], values[known][::4]
    numbers = list(found.numbers.values())
    covariance = phintys.function([], example.kernel(numbers, pt.constant(times), times))()
    covariance += numbers[-1] ** 2 * np.eye(len(times))
    expected = multivariate_normal(np.full(len(times), values.mean()), covariance).logpdf(values)
    assert found.density == pytest.approx(expected, rel=1e-6)


def test_the_forecast_is_close_and_knows_how_close(fitted):
    found = fitted[0]
    assert found.error < 2  # of 370
    assert found.inside > 0.6
    # The farther away, the less certain.
    assert found.deviations[-12:].mean() > 1.5 * found.deviations[:12].mean()


def test_there_are_44_years_of_data(example):
    times, values = example.load()
    assert len(times) == 521
    assert np.all(np.diff(times) > 0)
    assert values[:2] == pytest.approx([316.1, 317.2], abs=0.3)
    assert values[-1] == pytest.approx(371, abs=1)


def test_the_picture_is_a_picture(fitted):
    assert fitted[1].read_bytes().startswith(b"\x89PNG")


def test_the_report_has_the_figures(fitted):
    report = fitted[0].report()
    assert "noise" in report
    assert "inside of the band of 95 %" in report
