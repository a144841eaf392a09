import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.random import rng, state

NAME = "mcmc"


@pytest.fixture(scope="module")
def sampled(example, tmp_path_factory):
    example.PICTURE = tmp_path_factory.mktemp("mcmc") / "mcmc.png"
    return example.main(["--chains", "2", "--warm-up", "400", "--draws", "300"]), example.PICTURE


def test_the_posterior_is_where_the_data_were_made(sampled):
    found = sampled[0]
    assert found.q.shape == (2, 300, 89)
    means, spreads = found.q.mean(axis=(0, 1))[:4], found.q.std(axis=(0, 1))[:4]
    truth = [1.5, np.log(0.33), -0.7, np.log(0.75)]
    assert np.all(abs(means - truth) < 4 * spreads)
    assert 0.7 < found.acceptance.mean() < 0.95
    assert found.diverging.sum() < 5
    # The prior alone would say ten.
    assert spreads[0] < 0.1


def test_a_normal_distribution_has_its_moments(example):
    mean, deviations = np.array([1.0, -2.0, 0.0]), np.array([0.1, 1.0, 10.0])

    def log_density(q):
        return -0.5 * (((q - mean) / deviations) ** 2).sum()

    q, generator = pt.dvector("q"), rng("generator")
    rows = example.chain(log_density, q, generator, 400, 2000)
    run = phintys.function([q, generator], rows)
    draws = run(np.zeros(3), state(7))["q"]
    sizes = [example.effective_size(draws[:, i].reshape(2, -1)) for i in range(3)]
    assert min(sizes) > 500
    assert np.all(abs(draws.mean(axis=0) - mean) < 4 * deviations / np.sqrt(sizes))
    np.testing.assert_allclose(draws.std(axis=0), deviations, rtol=0.15)
    np.testing.assert_array_equal(run(np.zeros(3), state(7))["q"], draws)


def test_effective_sizes(example):
    source = np.random.default_rng(3)
    independent = source.normal(size=(4, 1000))
    assert 3000 < example.effective_size(independent) < 5500
    # Of a first-order autoregression with coefficient 0.9, a draw in (1 + 0.9) / (1 - 0.9) counts.
    slow = np.zeros((4, 20_000))
    for i in range(1, slow.shape[1]):
        slow[:, i] = 0.9 * slow[:, i - 1] + source.normal(size=4)
    assert example.effective_size(slow) == pytest.approx(slow.size / 19, rel=0.2)


def test_windows_grow(example):
    learns, ends = example.windows(1000)
    assert learns.sum() == 1000 - example.FIRST - example.LAST
    lengths = np.diff([example.FIRST - 1, *np.flatnonzero(ends)])
    assert lengths.tolist() == [25, 50, 100, 200, 500]


def test_the_picture_is_a_picture(sampled):
    assert sampled[1].read_bytes().startswith(b"\x89PNG")
    assert "effective draws a second" in sampled[0].report()
