"""Batches of Fourier transforms are transforms of further axes."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.graph import ancestors
from phintys.tensor.batching import Blockwise, vectorize_graph


@pytest.mark.parametrize("name", ["fft", "ifftn", "rfft2", "irfftn", "hfft"])
def test_a_batch_is_one_transform(name):
    x = pt.zmatrix("x") if name in {"irfftn", "hfft"} else pt.dmatrix("x")
    item = getattr(pt.fft, name)(x, norm="ortho")
    stack = pt.tensor("stack", dtype=x.dtype, shape=(None,) * 4)
    out = vectorize_graph(item, {x: stack})
    ops = [variable.owner.op for variable in ancestors([out]) if variable.owner is not None]
    assert not any(isinstance(op, Blockwise) for op in ops)
    value = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(x.dtype)
    found = out.eval({stack: value}, mode="reference")
    one = item.eval({x: value[1, 2]}, mode="reference")
    np.testing.assert_allclose(found[1, 2], one, atol=1e-12)


def test_numbers_of_points_of_a_batch_are_transformed_one_by_one():
    x, n = pt.zvector("x"), pt.lscalar("n")
    points = pt.lvector("points")
    out = vectorize_graph(pt.fft.irfft(x, n=n), {n: points})
    value = np.array([1.0, 2.0 + 1j, 3.0])
    found = out.eval({x: value, points: [4, 4]}, mode="reference")
    np.testing.assert_allclose(found, [np.fft.irfft(value, 4)] * 2, atol=1e-12)
