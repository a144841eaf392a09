"""Batches of transforms, convolutions and pooling are single ones, over further axes."""

import numpy as np
import pytest

import phintys.tensor as pt
from phintys.graph import ancestors
from phintys.tensor.batching import Blockwise, vectorize_graph
from phintys.tensor.images.convolutions import Conv, ConvByFilters, ConvByImages
from phintys.tensor.images.pooling import MaxPool


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


RNG = np.random.default_rng(6)
SHAPES = {"images": (2, 4, 6), "filters": (6, 4, 3), "gradient": (2, 6, 4)}


def _items(op, arrays):
    return op(*arrays, *{ConvByImages: (6,), ConvByFilters: (3,)}.get(type(op), ()))


def has_loop(out):
    ops = [variable.owner.op for variable in ancestors([out]) if variable.owner is not None]
    return any(isinstance(op, Blockwise) for op in ops)


def check(op, names, batches, is_known, expects_loop=False):
    """Compare a batch with its items, one after the other."""
    groups = op.groups
    shapes = [SHAPES[name] for name in names]
    shapes = [
        (shape[0], shape[1] // groups, *shape[2:]) if name == "filters" else shape
        for name, shape in zip(names, shapes, strict=True)
    ]
    items = [pt.TensorType("float64", (None,) * 3)() for _ in shapes]
    values = [
        RNG.normal(size=(*batch, *shape)) for batch, shape in zip(batches, shapes, strict=True)
    ]
    stacks = [pt.TensorType("float64", x.shape if is_known else (None,) * x.ndim)() for x in values]
    out = vectorize_graph(_items(op, items), dict(zip(items, stacks, strict=True)))
    assert has_loop(out) is expects_loop
    found = out.eval(dict(zip(stacks, values, strict=True)))
    whole = np.broadcast_shapes(*batches)
    one = _items(op, items)
    for index in np.ndindex(whole):
        parts = [
            np.broadcast_to(x, (*whole, *shape))[index]
            for x, shape in zip(values, shapes, strict=True)
        ]
        wanted = one.eval(dict(zip(items, parts, strict=True)), mode="reference")
        np.testing.assert_allclose(found[index], wanted, atol=1e-12)


OPS = [
    (Conv, "images filters"),
    (ConvByImages, "filters gradient"),
    (ConvByFilters, "images gradient"),
]


@pytest.mark.parametrize(("op", "names"), OPS)
@pytest.mark.parametrize("batches", [((5,), ()), ((), (5,)), ((2, 3), ()), ((), (2, 3))], ids=str)
def test_a_batch_of_one_array(op, names, batches):
    check(op((1,)), names.split(), batches, is_known=False)


@pytest.mark.parametrize(("op", "names"), OPS)
@pytest.mark.parametrize("batches", [((5,), (5,)), ((2, 1), (3,))], ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_a_batch_of_both_is_one_of_groups(op, names, batches, groups):
    check(op((1,), groups=groups), names.split(), batches, is_known=True)


@pytest.mark.parametrize("batches", [((5,), ()), ((), (5,))], ids=str)
def test_groups(batches):
    """Batches of images are further images; those of filters are computed item by item."""
    check(Conv((1,), groups=2), ["images", "filters"], batches, False, expects_loop=not batches[0])


def test_batches_of_both_of_unknown_sizes():
    check(Conv((1,)), ["images", "filters"], ((5,), (5,)), is_known=False, expects_loop=True)


def test_pooling_has_no_loop():
    x, stack = pt.dmatrix(), pt.dtensor4()
    outputs = vectorize_graph(list(MaxPool((2, 2), (1, 1))(x)), {x: stack})
    assert not any(map(has_loop, outputs))
    value = RNG.normal(size=(2, 3, 4, 5))
    found = [out.eval({stack: value}) for out in outputs]
    one = [out.eval({x: value[1, 2]}) for out in MaxPool((2, 2), (1, 1))(x)]
    for mine, its in zip(found, one, strict=True):
        np.testing.assert_array_equal(mine[1, 2], its)


def test_planes_of_a_batch_are_images():
    x, y = pt.dtensor4(), pt.dmatrix()
    assert not has_loop(pt.signal.convolve2d(x, y, "same", boundary="symm"))
