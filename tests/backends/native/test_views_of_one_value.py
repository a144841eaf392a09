"""Programs that read one value under several names: rewriting does not find them all equal."""

import numpy as np

import phintys
import phintys.tensor as pt


def test_an_operand_is_read_under_all_its_names_before_it_is_overwritten():
    x = pt.dmatrix("x")
    k = pt.tanh(x)
    outputs = [pt.cumsum(k.flatten() * 2), pt.cumsum(k.reshape((k.size,)) * 3)]
    f = phintys.function([x], outputs, mode="native")
    values = np.random.default_rng(0).normal(size=(5, 3))
    for got, factor in zip(f(values), (2, 3), strict=True):
        np.testing.assert_allclose(got, np.cumsum(np.tanh(values) * factor), rtol=1e-12)
