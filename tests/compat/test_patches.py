"""Patches of images, volumes by time, and products of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from phintys._base.errors import ShapeError
from phintys.compat.neural import sparse_block_dot
from phintys.compat.patches import conv3D, images2neibs, neibs2images, volumes
from phintys.testing import verify_grad


def _patches(x, size, step, mode):
    """Return patches one by one."""
    c, d = size
    pads = {"half": (c // 2, d // 2), "full": (c - 1, d - 1)}.get(mode, (0, 0))
    if mode == "wrap_centered":
        grid = [-(-length // by) for length, by in zip(x.shape[2:], step, strict=True)]
        shift = (c // 2, d // 2)
    else:
        x = np.pad(x, [(0, 0), (0, 0), (pads[0],) * 2, (pads[1],) * 2])
        grid = [1 + (x.shape[2] - c) // step[0], 1 + (x.shape[3] - d) // step[1]]
        shift = (0, 0)
    rows = []
    for n, s, a, b in np.ndindex(*x.shape[:2], *grid):
        i = (a * step[0] - shift[0] + np.arange(c)) % x.shape[2]
        j = (b * step[1] - shift[1] + np.arange(d)) % x.shape[3]
        rows.append(x[n, s][np.ix_(i, j)].ravel())
    return np.array(rows)


@pytest.mark.parametrize(
    ("mode", "size", "step"),
    [
        ("valid", (2, 3), (2, 3)),
        ("valid", (2, 2), (1, 2)),
        ("ignore_borders", (4, 4), (3, 3)),
        ("half", (3, 2), (1, 2)),
        ("full", (2, 3), (2, 1)),
        ("wrap_centered", (3, 3), (2, 4)),
    ],
)
def test_patches_are_rows(mode, size, step):
    x = np.random.default_rng(1).normal(size=(2, 3, 6, 6))
    found = images2neibs(x, size, step, mode)
    np.testing.assert_array_equal(found.eval(), _patches(x, size, step, mode))


def test_patches_have_a_gradient():
    x = np.random.default_rng(2).normal(size=(1, 2, 3, 3))
    verify_grad(lambda x: images2neibs(x, (2, 2), (1, 1)), [x])


@pytest.mark.parametrize("mode", ["valid", "half", "full"])
def test_patches_that_do_not_fit(mode):
    with pytest.raises(ShapeError, match="ignore_borders"):
        images2neibs(np.zeros((1, 1, 5, 5)), (2, 2), (2, 2), mode).eval()


@pytest.mark.parametrize(("mode", "shape"), [("valid", (4, 6)), ("ignore_borders", (5, 8))])
def test_images_of_patches(mode, shape):
    x = np.random.default_rng(3).normal(size=(2, 3, *shape))
    rows = images2neibs(x, (2, 3), mode=mode)
    back = neibs2images(rows, (2, 3), x.shape, mode=mode).eval()
    np.testing.assert_array_equal(back[:, :, :4, :6], x[:, :, :4, :6])
    assert back.shape == x.shape
    assert not back[:, :, 4:].any()
    assert not back[:, :, :, 6:].any()


def test_volumes_by_time():
    rng = np.random.default_rng(4)
    films, filters = rng.normal(size=(2, 5, 3, 4, 4)), rng.normal(size=(2, 2, 3, 3, 2))
    wanted = np.zeros((2, 4, 2, 2, 3))
    for n, t, f, i, j in np.ndindex(wanted.shape):
        seen = films[n, t : t + 2, :, i : i + 3, j : j + 2]
        wanted[n, t, f, i, j] = (seen * filters[f, ::-1, :, ::-1, ::-1]).sum()
    found = volumes(films, filters, films.shape, filters.shape)
    np.testing.assert_allclose(found.eval(), wanted)
    padded = volumes(films, filters, border_mode=("full", "valid", "valid")).eval()
    np.testing.assert_allclose(padded[:, 1:-1], wanted)
    x, w = films.transpose(0, 1, 3, 4, 2), filters.transpose(0, 1, 3, 4, 2)[:, ::-1, ::-1, ::-1]
    channels_last = conv3D(x, w, np.array([1.0, 2.0]), (1, 1, 1)).eval()
    np.testing.assert_allclose(
        channels_last - [1.0, 2.0], wanted.transpose(0, 1, 3, 4, 2), atol=1e-12
    )


def test_products_of_blocks():
    rng = np.random.default_rng(5)
    W, b = rng.normal(size=(4, 5, 2, 3)), rng.normal(size=(5, 3))
    h, inputs = rng.normal(size=(2, 2, 2)), np.array([[0, 3], [1, 1]])
    outputs = np.array([[4, 0, 1], [2, 2, 3]])
    wanted = np.zeros((2, 3, 3))
    for n, j in np.ndindex(2, 3):
        wanted[n, j] = b[outputs[n, j]]
        for i in range(2):
            wanted[n, j] += h[n, i] @ W[inputs[n, i], outputs[n, j]]
    np.testing.assert_allclose(sparse_block_dot(W, h, inputs, b, outputs).eval(), wanted)
    one = sparse_block_dot(W, h[0], inputs[0], b, outputs[0]).eval()
    np.testing.assert_allclose(one, wanted[0])
