import numpy as np
import pytest
from scipy.stats import multivariate_normal

NAME = "kalman"


@pytest.fixture(scope="module")
def fitted(example, tmp_path_factory):
    picture = tmp_path_factory.mktemp("kalman") / "kalman.png"
    example.PICTURE = picture
    return example.main([]), picture


def test_the_variances_are_those_in_the_literature(fitted):
    found = fitted[0]
    assert found.noise == pytest.approx(15099, rel=1e-3)
    assert found.change == pytest.approx(1469.1, rel=1e-3)


def test_the_likelihood_is_that_of_the_whole_series(example, fitted):
    """Given the first flow, the others are normal, with known mean and covariance."""
    found = fitted[0]
    _, flows = example.load()
    years = np.arange(1, len(flows))
    covariance = found.change * np.minimum.outer(years, years) + found.noise
    covariance += found.noise * np.eye(len(years))
    expected = multivariate_normal(np.full(len(years), flows[0]), covariance).logpdf(flows[1:])
    assert found.likelihood == pytest.approx(expected, rel=1e-9)


def test_the_level_is_less_certain_than_nothing_and_more_than_the_noise(fitted):
    found = fitted[0]
    assert found.means.shape == found.deviations.shape == (99,)
    assert np.all(found.deviations < np.sqrt(found.noise))
    assert np.all(np.diff(found.deviations) <= 0)


def test_the_picture_is_a_picture(fitted):
    assert fitted[1].read_bytes().startswith(b"\x89PNG")


def test_the_program_says_what_it_found(example, capsys):
    example.main(["--no-picture"])
    said = capsys.readouterr().out
    assert "variance of the noise" in said
    assert "kalman.png" not in said
