"""RandomVariable: users' Ops that draw with functions of NumPy's generators."""

import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys import random
from phintys._base.errors import (
    ArgumentError,
    MethodNotDefinedError,
    NullGradientError,
    ShapeError,
    TypeContractError,
)
from phintys.graph import Constant


class Rice(random.RandomVariable):
    """The length of a pair of normal numbers."""

    name = "rice"
    signature = "(),()->()"
    dtype = "floatX"

    def rng_fn(self, rng, nu, sigma, size):
        return np.hypot(rng.normal(nu, sigma, size), rng.normal(0.0, sigma, size))


class Walk(random.RandomVariable):
    """A walk of as many steps as a parameter says."""

    name = "walk"
    signature = "(),()->(steps)"
    dtype = "float64"

    def _supp_shape_from_params(self, dist_params, param_shapes=None):
        return [dist_params[1].max()]

    def rng_fn(self, rng, scale, steps, size):
        size = np.broadcast_shapes(scale.shape, steps.shape) if size is None else size
        return rng.normal(0.0, scale[..., None], (*size, int(steps.max()))).cumsum(axis=-1)


rice, walk = Rice(), Walk()
scaled = random.RandomVariable("dirichlet", "(k)->(k)", "float64")


def test_what_a_node_consists_of():
    r, nu = phintys.shared(np.random.default_rng(1)), pt.dmatrix("nu")
    node = rice.make_node(r, (4, 2, 3), nu, 0.5)
    after, draw = node.outputs
    assert rice.rng_param(node) is r
    assert rice.update(node) == {r: after}
    assert after.type == r.type
    assert rice.size_param(node).eval().tolist() == [4, 2, 3]
    assert [one.ndim for one in rice.dist_params(node)] == [3, 3]
    assert draw.type.shape == (4, 2, 3)
    assert (rice.batch_ndim(node), rice.ndim_supp, rice.ndims_params) == (3, 0, [0, 0])
    bare = scaled.make_node(r, None, nu)
    assert isinstance(bare.inputs[1], Constant)
    assert bare.inputs[1].data is None
    assert (scaled.batch_ndim(bare), scaled.ndim_supp, scaled.ndims_params) == (1, 1, [1])
    assert str(rice) == 'rice_rv{"(),()->()"}'
    assert rice == Rice() != walk


def test_draws_and_shapes():
    generator, nu, n = random.random_generator_type("r"), pt.dvector("nu"), pt.lscalar("n")
    after, draw = rice(nu, 0.5, size=(n, 2), rng=generator, return_next_rng=True, name="d")
    steps = walk([1.0, 2.0], n, rng=after)
    f = phintys.function([generator, nu, n], [draw, draw.shape, steps, steps.shape])
    value, shape, steps, length = f(np.random.default_rng(2), [1.0, 5.0], 3)
    expected = np.random.default_rng(2)
    np.testing.assert_array_equal(
        value, np.hypot(expected.normal([1.0, 5.0], 0.5, (3, 2)), expected.normal(0, 0.5, (3, 2)))
    )
    scale = np.array([[1.0], [2.0]])
    np.testing.assert_array_equal(steps, expected.normal(0.0, scale, (2, 3)).cumsum(axis=-1))
    assert (list(shape), list(length), draw.name) == ([3, 2], [2, 3], "d")


def test_streams_and_dtypes():
    stream = random.RandomStream(3)
    draws = [stream.gen(rice, 1.0, 0.5, size=3), stream.gen(rice, 1.0, 0.5, size=3)]
    single = stream.gen(rice, 1.0, 0.5, dtype="float32")
    assert single.dtype == "float32"
    f = phintys.function([], [*draws, rice(1.0, 0.5, size=3)])
    again = pickle.loads(pickle.dumps(f))
    first, second = f(), f()
    assert len(np.unique([*first, *second])) == 18
    np.testing.assert_array_equal(again(), first)
    with pytest.raises(ArgumentError, match="rice are of float64"):
        rice(1.0, 0.5, dtype="int64")


def test_items_of_a_batch_have_different_numbers():
    r, nu, items = random.shared_rng(1), pt.dscalar("nu"), pt.dvector("items")
    draws = [rice(nu, 0.5, rng=r), rice(nu, 0.5, rng=r, size=(2,)), rice([0.0, 0.0], nu, rng=r)]
    f = phintys.function([items], pt.vectorize_graph(draws, {nu: items}))
    found = f(np.ones(3))
    assert [draw.shape for draw in found] == [(3,), (3, 2), (3, 2)]
    assert all(len(np.unique(draw)) == draw.size for draw in found)


def test_composed_distributions_are_compiled_and_differentiated():
    class Horseshoe(random.Distribution):
        """A normal number whose scale is the absolute value of a Cauchy number."""

        defaults = {"tau": 1.0}

        def draw(self, rng, size=None):
            after, scale = rng.cauchy(0.0, self.tau, size)
            return after.normal(0.0, abs(scale), size)

    tau = pt.dscalar("tau")
    draws = random.RandomStream(4).gen(Horseshoe, tau, size=5)
    f = phintys.function([tau], [draws, phintys.grad(draws.sum(), tau)])
    values, slope = f(2.0)
    np.testing.assert_allclose(slope, values.sum() / 2)


def test_what_is_wrong_is_explained():
    r, x = random.shared_rng(1), pt.dscalar("x")
    with pytest.raises(ArgumentError, match="needs signature, a string"):
        random.RandomVariable("rice", dtype="float64")
    with pytest.raises(TypeContractError, match=r"first input of rice is a generator.*got 3"):
        rice.make_node(3, None, 1.0, 2.0)
    with pytest.raises(ArgumentError, match="rice has 2 parameters, got 1"):
        rice(1.0, rng=r)
    with pytest.raises(ShapeError, match=r"parameters have 1 axes.*size, which has 0"):
        rice([1.0, 2.0], 1.0, rng=r, size=())
    with pytest.raises(ShapeError, match="Parameter 0 of dirichlet has 1 core axes"):
        scaled(1.0, rng=r)
    with pytest.raises(NullGradientError, match=r"compose them of draws of phintys\.random"):
        phintys.grad(rice(x, 1.0, rng=r), x)
    unknown = random.RandomVariable("unheard", "()->(k)", "float64")
    with pytest.raises(MethodNotDefinedError, match="the axis k: define _supp_shape"):
        unknown(1.0, rng=r)
    with pytest.raises(MethodNotDefinedError, match="unheard is not a method of numpy"):
        random.RandomVariable("unheard", "()->()", "float64")(1.0, rng=r).eval()
    flat = random.RandomVariable("normal", "(),()->(2)", "float64")
    with pytest.raises(ShapeError, match="a draw has 1 axes"):
        flat(0.0, 1.0, rng=r).eval()
