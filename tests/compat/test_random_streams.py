"""Random streams under their old names, in programs as the old packages' tutorials have them."""

import subprocess
import sys

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ArgumentError, DomainError
from phintys.compat.random_streams import MRG_RandomStreams, RandomStreams, RandomVariable


def test_tutorial_of_streams(theano):
    from theano.tensor.shared_randomstreams import RandomStreams

    srng = RandomStreams(seed=234)
    rv_u, rv_n = srng.uniform((2, 2)), srng.normal((2, 2))
    f = theano.function([], rv_u)
    g = theano.function([], rv_n, no_default_updates=True)
    nearly_zeros = theano.function([], rv_u + rv_u - 2 * rv_u)
    first, second = f(), f()
    assert not np.isin(first, second).any()
    np.testing.assert_array_equal(g(), g())
    np.testing.assert_allclose(nearly_zeros(), 0, atol=1e-12)
    state = rv_u.rng.get_value()
    third = f()
    rv_u.rng.set_value(state)
    np.testing.assert_array_equal(f(), third)
    srng.seed(902340)
    again = f()
    srng.seed(902340)
    np.testing.assert_array_equal(f(), again)
    assert srng.state_updates == [rv_u.update, rv_n.update]


def test_dropout_of_the_tutorials(theano):
    import theano.tensor as T

    rng = np.random.RandomState(1234)
    x = T.matrix("x")
    srng = theano.tensor.shared_randomstreams.RandomStreams(rng.randint(999999))
    mask = srng.binomial(n=1, p=0.75, size=x.shape)
    dropped = x * T.cast(mask, theano.config.floatX)
    f = theano.function([x], [dropped, T.grad(dropped.sum(), x)])
    value, slope = f(np.ones((200, 50)))
    assert set(np.unique(value)) == {0.0, 1.0}
    assert abs(value.mean() - 0.75) < 0.02
    np.testing.assert_array_equal(slope, value)
    assert (f(np.ones((200, 50)))[0] != value).any()


def test_gibbs_sampling_of_a_restricted_boltzmann_machine(theano):
    import theano.tensor as T

    rng = np.random.RandomState(123)
    theano_rng = T.shared_randomstreams.RandomStreams(rng.randint(2**30))
    floatX = theano.config.floatX
    W = theano.shared(rng.uniform(-1, 1, (6, 4)), name="W")
    hbias, vbias = theano.shared(np.zeros(4)), theano.shared(np.zeros(6))

    def sample_h_given_v(v0):
        mean = T.nnet.sigmoid(T.dot(v0, W) + hbias)
        return [mean, theano_rng.binomial(size=mean.shape, n=1, p=mean, dtype=floatX)]

    def gibbs_hvh(h0):
        v_mean = T.nnet.sigmoid(T.dot(h0, W.T) + vbias)
        v = theano_rng.binomial(size=v_mean.shape, n=1, p=v_mean, dtype=floatX)
        return [v_mean, v, *sample_h_given_v(v)]

    def free_energy(v):
        hidden = T.sum(T.log(1 + T.exp(T.dot(v, W) + hbias)), axis=1)
        return -hidden - T.dot(v, vbias)

    x = T.matrix("input")
    _, chain_start = sample_h_given_v(x)
    [_, nv_samples, _, nh_samples], updates = theano.scan(
        gibbs_hvh, outputs_info=[None, None, None, chain_start], n_steps=3
    )
    chain_end = nv_samples[-1]
    cost = T.mean(free_energy(x)) - T.mean(free_energy(chain_end))
    params = [W, hbias, vbias]
    gparams = T.grad(cost, params, consider_constant=[chain_end])
    for gparam, param in zip(gparams, params, strict=True):
        updates[param] = param - gparam * T.cast(0.1, dtype=floatX)
    train = theano.function([x], [cost, nv_samples, nh_samples], updates=updates)
    data = rng.binomial(1, 0.5, (20, 6)).astype(floatX)
    _, visible, hidden = train(data)
    assert visible.shape == (3, 20, 6)
    assert hidden.shape == (3, 20, 4)
    for steps in (visible, hidden):
        assert set(np.unique(steps)) == {0.0, 1.0}
        assert (steps[0] != steps[1]).any()
    before = W.get_value()
    assert (train(data)[1] != visible).any()
    assert (W.get_value() != before).any()


def test_draws_without_replacement_from_rows():
    """As language models draw noise, for a device that there is not."""
    srng = MRG_RandomStreams(seed=42)
    rows, n = pt.dmatrix("rows"), pt.lscalar("n")
    drawn = srng.choice(size=n, p=rows, replace=False, dtype="int64", target="cpu")
    f = phintys.function([rows, n], drawn)
    found = f([[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]], 2)
    assert np.sort(found, axis=1).tolist() == [[0, 1], [1, 2]]
    assert found.dtype == "int64"
    with pytest.raises(DomainError, match="fewer entries than are drawn"):
        f([[0.5, 0.5, 0.0]], 4)
    with pytest.raises(ArgumentError, match="without replacement"):
        srng.choice(size=2, p=rows)
    for draw in ("uniform", "normal", "binomial", "multinomial"):
        assert getattr(srng, draw)(target="dev0").eval().size > 0


def test_arguments_of_draws():
    srng = MRG_RandomStreams(seed=42)
    probabilities = np.array([[0.5, 0.5, 0.0], [0.1, 0.0, 0.9]])
    draws = {
        "uniform": srng.uniform(size=(300,), low=-1.0, high=3.0, ndim=1, nstreams=4),
        "single": srng.uniform(size=(3,), dtype="float32"),
        "normal": srng.normal(size=(300,), avg=5.0, std=0.1),
        "truncated": srng.normal(size=(300,), avg=1.0, std=0.5, truncate=True),
        "faces": srng.random_integers(size=(300,), low=1, high=6),
        "chosen": srng.choice(size=(300,), a=3, p=[0.5, 0.0, 0.5]),
        "counts": srng.multinomial(n=5, pvals=probabilities),
        "orders": srng.permutation(size=(50,), n=4),
        "rows": srng.shuffle_row_elements([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]),
        "places": srng.multinomial_wo_replacement(pvals=probabilities, n=2),
    }
    p = pt.dscalar("p")
    hit = srng.binomial(size=(300,), p=p, dtype="float64")
    assert phintys.grad(hit.sum(), p, disconnected_inputs="ignore").eval() == 0
    draws["hits"] = hit * p
    g = phintys.function([p], list(draws.values()))

    def f():
        return g(0.25)

    found = dict(zip(draws, f(), strict=True))
    assert -1 <= found["uniform"].min() < -0.9
    assert 2.9 < found["uniform"].max() < 3
    assert set(found["hits"]) == {0.0, 0.25}
    assert found["single"].dtype == "float32"
    assert abs(found["normal"].mean() - 5) < 0.04
    assert 0 <= found["truncated"].min() < 0.2
    assert 1.8 < found["truncated"].max() <= 2
    assert set(found["faces"]) == {1, 2, 3, 4, 5, 6}
    assert set(found["chosen"]) == {0, 2}
    assert found["counts"].sum(axis=1).tolist() == [5, 5]
    assert (found["counts"][probabilities == 0] == 0).all()
    assert (np.sort(found["orders"], axis=1) == np.arange(4)).all()
    assert len(np.unique(found["orders"], axis=0)) > 10
    assert (np.sort(found["rows"], axis=1) == np.arange(1, 11).reshape(2, 5)).all()
    assert np.sort(found["places"], axis=1).tolist() == [[0, 1], [0, 2]]
    assert (f()[7] != found["orders"]).any()


def test_older_arguments_of_random_variables():
    class Noise(RandomVariable):
        name = "noise"
        ndim_supp = 1
        ndims_params = [1, 0]
        dtype = "floatX"

        def _supp_shape_from_params(self, dist_params, param_shapes=None):
            return [dist_params[0].shape[-1]]

        @classmethod
        def rng_fn(cls, rng, mean, scale, size):
            return rng.normal(mean, scale)

    noise = Noise()
    assert (noise.ndim_supp, noise.ndims_params) == (1, [1, 0])
    draw = noise([1.0, 2.0], 0.5, rng=phintys.shared(np.random.default_rng(1)))
    expected = np.random.default_rng(1).normal([1.0, 2.0], 0.5)
    np.testing.assert_array_equal(draw.eval(), expected)


NEWER = """
import numpy as np
import phintys.compat
phintys.compat.install("{package}")
import {package}
import {package}.tensor as at
from {package}.tensor.random.utils import RandomStream
from {package}.tensor.random.op import RandomVariable, default_rng
from {package}.tensor.random.type import RandomGeneratorType, random_generator_type

rng = {package}.shared(np.random.default_rng(3), name="rng")
assert isinstance(rng.type, RandomGeneratorType)
draw = at.random.normal(1.0, 2.0, size=(2,), rng=rng)
next_rng = draw.owner.outputs[0]
f = {package}.function([], draw, updates={{rng: next_rng}})
expected = np.random.default_rng(3)
assert (f() == expected.normal(1.0, 2.0, 2)).all() and (f() == expected.normal(1.0, 2.0, 2)).all()

srng = RandomStream(seed=234)
g = {package}.function([], [srng.normal(0, 1, size=(2, 2)), srng.uniform(size=3)])
assert (g()[0] != g()[0]).all()

class Twice(RandomVariable):
    name = "twice"
    ndim_supp = 0
    ndims_params = [0]
    dtype = "floatX"
    def rng_fn(self, rng, scale, size):
        return 2 * rng.exponential(scale, size)

assert at.random.standard_normal(size=(2,), rng=rng).eval().shape == (2,)
assert at.random.nbinom(5, 0.5, size=3).eval().dtype == "int64"
print(Twice()(1.5, size=(3,), rng=rng).eval().shape)
"""


@pytest.mark.parametrize("package", ["aesara", "pytensor"])
def test_programs_with_the_newer_names_run(package):
    done = subprocess.run(
        [sys.executable, "-c", NEWER.format(package=package)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.strip() == "(3,)", done.stderr


def test_seeds_are_kept():
    one, other = RandomStreams(5), RandomStreams(5)
    f = phintys.function([], [one.normal((2,)), other.normal((2,))])
    for first, second in (f(), f()):
        np.testing.assert_array_equal(first, second)
    one.seed()
    other.seed(5)
    first, second = f()
    np.testing.assert_array_equal(first, second)


def test_attributes_of_newer_streams(aesara):
    srng = aesara.tensor.random.utils.RandomStream(seed=3, rng_ctor=np.random.RandomState)
    draw = srng.uniform(0, 1, size=(2,), name="draw")
    f = aesara.function([], draw, updates=srng.state_updates)
    first = f()
    srng.seed()
    assert draw.name == "draw"
    assert srng.default_instance_seed == 3
    np.testing.assert_array_equal(f(), first)
    assert (f() != first).any()


def test_a_vector_of_draws_is_as_long_as_the_first_parameter():
    class Scaled(RandomVariable):
        name = "scaled"
        ndim_supp = 1
        ndims_params = (1, 0)
        dtype = "floatX"

        @classmethod
        def rng_fn(cls, rng, mu, scale, size):
            return np.broadcast_to(mu * scale, (*(size or ()), mu.shape[-1]))

    class Second(Scaled):
        ndims_params = (0, 1)

        def _supp_shape_from_params(self, dist_params, **kwargs):
            return super()._supp_shape_from_params(dist_params, rep_param_idx=1, **kwargs)

        @classmethod
        def rng_fn(cls, rng, scale, mu, size):
            return Scaled.rng_fn(rng, mu, scale, size)

    x = pt.dvector("x")
    for draw in (Scaled()(x, 2.0, size=(2,)), Second()(2.0, x, size=(2,))):
        assert draw.eval({x: [1.0, 2.0, 3.0]}).tolist() == [[2.0, 4.0, 6.0]] * 2
        shape = phintys.function([x], draw.shape)
        assert shape([1.0, 2.0]).tolist() == [2, 2]
