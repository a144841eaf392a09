import numpy as np

NAME = "ignition"


def test_newtons_method_converges_quadratically(example):
    found, errors, sweeps = example.temperature(6.0, 20)
    assert errors[-1] < 1e-12
    assert len(errors) <= 7
    assert sweeps <= 8
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    np.testing.assert_allclose(found, found[::-1], atol=1e-12)


def test_the_discrete_equation_holds(example):
    found, _, _ = example.temperature(6.0, 12)
    u = np.pad(found, 1)
    sums = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * found
    np.testing.assert_allclose(13**2 * sums, -6.0 * np.exp(found), rtol=1e-9)


def test_the_program_says_what_it_found(example, capsys, monkeypatch):
    monkeypatch.setattr(example, "temperature", lambda rate: (np.ones((2, 2)), [1.0, 1e-13], 5))
    example.main()
    assert "4 unknowns, 5 sweeps" in capsys.readouterr().out
