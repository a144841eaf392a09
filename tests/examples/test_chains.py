import numpy as np
import pytest

NAME = "chains"


@pytest.fixture(scope="module")
def draws(example):
    return example.main(["--chains", "4", "--draws", "200"])


def test_the_posterior_is_where_the_data_were_made(draws, example):
    assert draws.shape == (4, 200, 4)
    spreads = draws.std((0, 1))
    assert np.all(abs(draws.mean((0, 1)) - example.TRUTH) < 4 * spreads)
    assert np.all(example.ratio_of_scales(draws) < 1.05)
    assert spreads.max() < 0.4  # the prior alone would say 2


def test_the_draws_do_not_depend_on_where_the_chains_run(draws, example, capsys):
    pytest.importorskip("joblib", reason="needs the extra 'joblib'")
    again = example.main(["--chains", "4", "--draws", "200", "--joblib", "threading"])
    np.testing.assert_array_equal(again, draws)
    assert "4 chains in" in capsys.readouterr().out


def test_the_ratio_of_scales_shows_chains_that_differ(example):
    source = np.random.default_rng(0)
    chains = source.normal(size=(4, 500, 2))
    assert np.all(example.ratio_of_scales(chains) < 1.01)
    chains[0, :, 1] += 2
    assert example.ratio_of_scales(chains)[1] > 1.2
