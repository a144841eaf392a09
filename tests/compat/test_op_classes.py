"""Classes of Ops, scalar functions and draws of the old packages."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import phintys.scalar as ps
from phintys.compat import install, uninstall
from phintys.compat.draws import CLASSES as DRAWS
from phintys.compat.old_classes import CLASSES as SCALARS


@pytest.fixture
def images():
    return np.random.default_rng(3).normal(size=(2, 4, 9, 8))


@pytest.fixture
def filters():
    return np.random.default_rng(4).normal(size=(6, 2, 3, 2))


OPTIONS = {"border_mode": "half", "subsample": (2, 1), "filter_flip": False, "num_groups": 2}


def test_convolutions_and_their_gradients(theano, images, filters):
    T = theano.tensor
    conv = T.nnet.abstract_conv
    op = conv.AbstractConv2d(imshp=(2, 4, 9, 8), kshp=(6, 2, 3, 2), **OPTIONS)
    out = op(images, filters)
    np.testing.assert_array_equal(
        out.eval(), conv.conv2d(images, filters, (2, 4, 9, 8), (6, 2, 3, 2), **OPTIONS).eval()
    )
    assert isinstance(out.owner.op, conv.AbstractConv2d)
    x, w = T.dtensor4("x"), T.dtensor4("w")
    cost = (conv.conv2d(x, w, **OPTIONS) ** 2).sum()
    by_images, by_filters = theano.function([x, w], theano.grad(cost, [x, w]))(images, filters)
    back = 2 * out
    found = conv.AbstractConv2d_gradInputs(kshp=(6, 2, 3, 2), imshp=(2, 4, 9, 8), **OPTIONS)
    np.testing.assert_allclose(found(filters, back, (9, 8)).eval(), by_images)
    found = conv.AbstractConv2d_gradInputs(imshp=(None, 4, None, None), **OPTIONS)
    np.testing.assert_allclose(found(filters, back, theano.shared([9, 8])).eval(), by_images)
    found = conv.AbstractConv2d_gradWeights(kshp=(6, 2, 3, 2), **OPTIONS)
    np.testing.assert_allclose(found(images, back, (3, 2)).eval(), by_filters)


def test_pool_is_a_function_with_a_shape(theano, images):
    from theano.tensor.signal.pool import Pool, pool_2d

    x = theano.tensor.dtensor4("x")
    for ignore, mode in ((True, "average_exc_pad"), (False, "max")):
        found = Pool(ignore_border=ignore, mode=mode)(x, (2, 3), (2, 2))
        wanted = pool_2d(x, (2, 3), ignore, (2, 2), mode=mode)
        np.testing.assert_array_equal(found.eval({x: images}), wanted.eval({x: images}))
        shape = Pool.out_shape((2, 4, 9, 8), (2, 3), ignore, (2, 2))
        assert tuple(shape) == wanted.eval({x: images}).shape
    assert isinstance(found.owner.op, Pool)


def test_ops_are_made_of_their_classes(theano):
    T, extra = theano.tensor, theano.tensor.extra_ops
    x = np.arange(12.0).reshape(3, 4)
    square = x[:, :3] + 4 * np.eye(3)
    cases = [
        (extra.CumsumOp(axis=1)(x), x.cumsum(1)),
        (extra.DiffOp(n=1, axis=0)(x), np.diff(x, axis=0)),
        (extra.RepeatOp(axis=0)(x, 2), x.repeat(2, axis=0)),
        (extra.BroadcastTo()(x, 2, 3, 4), np.broadcast_to(x, (2, 3, 4))),
        (extra.FillDiagonal()(x, 9.0), _filled(x)),
        (extra.SearchsortedOp()(x[0], 1.5), 2),
        (T.basic.Eye("float32")(3, 4, 1), np.eye(3, 4, 1)),
        (T.basic.Tri("float32")(3, 4, 1), np.tri(3, 4, 1)),
        (T.MaxAndArgmax((1,))(x), [x.max(1), x.argmax(1)]),
        (T.basic.Mean(0)(x), x.mean(0)),
        (T.nlinalg.TensorInv(1)(square), np.linalg.inv(square)),
        (T.subtensor.advanced_inc_subtensor1(x, 1.0, [0, 0]), x + 2 * (np.arange(3) == 0)[:, None]),
        (T.subtensor.AdvancedIncSubtensor1(set_instead_of_inc=True)(x, 1.0, [1]), _row_of_ones(x)),
        (T.nnet.nnet.prepend_1_to_each_row(x), np.hstack([np.ones((3, 1)), x])),
        (T.fft.irfft_op(T.fft.rfft_op(x), [4]), 4 * x),
    ]
    for found, wanted in cases:
        values = found if isinstance(found, list) else [found]
        for one, other in zip(
            values, wanted if isinstance(wanted, list) else [wanted], strict=True
        ):
            np.testing.assert_allclose(one.eval(), other, atol=1e-12)


def _filled(x):
    out = x.copy()
    np.fill_diagonal(out, 9.0)
    return out


def _row_of_ones(x):
    out = x.copy()
    out[1] = 1
    return out


@pytest.mark.parametrize("name", SCALARS)
def test_a_class_tells_the_scalar_function(name):
    old = getattr(import_module("phintys.compat.old_classes"), name)
    core = getattr(ps, SCALARS[name])
    assert isinstance(core, old)
    assert old() is core
    assert sum(isinstance(one, old) for one in (ps.exp, ps.add, ps.second)) <= 1


def test_scalar_classes_in_programs(theano):
    x = theano.tensor.dvector("x")
    op = theano.tensor.exp(x).owner.op.scalar_op
    assert isinstance(op, theano.scalar.basic.Exp)
    assert not isinstance(op, theano.scalar.Log)
    with pytest.raises(ValueError, match=r"scalar\.cast"):
        theano.scalar.Exp(theano.scalar.upgrade_to_float)


@pytest.mark.parametrize("package", ["aesara", "pytensor"])
def test_classes_of_draws(package):
    install(package)
    try:
        basic = import_module(f"{package}.tensor.random.basic")
        pytensor = import_module(package)
        rng = pytensor.shared(np.random.default_rng(3))
        for name in set(DRAWS) & set(dir(basic)):
            draw = getattr(basic, name)()
            assert isinstance(getattr(basic, draw.name), getattr(basic, name))

        class Mine(type(basic.uniform)):
            name = "mine"

            @classmethod
            def rng_fn(cls, rng, low, high, size):
                return np.full(size, high - low)

        assert Mine()(1.0, 4.0, size=(2,), rng=rng).eval().tolist() == [3.0, 3.0]
        assert basic.normal(0, 1, size=(2,)).type.shape == (2,)
        with pytest.raises(TypeError, match="define rng_fn"):
            type("Other", (basic.NormalRV,), {})
    finally:
        uninstall(package)


def test_modules_for_gpus_say_no(theano):
    import theano.gpuarray
    import theano.sandbox.cuda.basic_ops
    import theano.sandbox.cuda.dnn

    assert not theano.sandbox.cuda.cuda_available
    assert not theano.sandbox.cuda.dnn.dnn_available()
    assert not theano.gpuarray.pygpu_activated
    assert not theano.gpuarray.dnn.dnn_present()
    x = theano.tensor.dvector("x")
    assert not isinstance(x.type, theano.gpuarray.type.GpuArrayType)
    theano.gpuarray.use("cpu")
    with pytest.raises(ValueError, match="leave out the call"):
        theano.gpuarray.use("cuda0")
    with pytest.raises(NotImplementedError, match="compiled for the CPU"):
        theano.sandbox.cuda.basic_ops.gpu_contiguous(x)


def test_names_for_two_versions_of_python(theano):
    from theano.compat import cmp, exc_message
    from theano.compat.six import iteritems, string_types
    from theano.compat.six.moves import cPickle, reduce, xrange

    assert (cmp(1, 2), list(iteritems({1: 2})), string_types) == (-1, [(1, 2)], (str,))
    assert reduce(lambda a, b: a + b, xrange(4)) == 6
    assert cPickle.loads(cPickle.dumps("a")) == "a"
    assert exc_message(ValueError("why")) == "why"


def test_objects_with_fields(theano):
    from theano.gof.utils import MetaObject, flatten, uniq

    class Point(MetaObject):
        __props__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert len({Point(1, 2), Point(1, 2)}) == 1
    assert str(Point(1, 2)) == "Point{x=1, y=2}"
    assert uniq(flatten([1, (2, 1)])) == [1, 2]
