"""Programs in mode jax: values, sizes, errors, shared values, and what explain() says."""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys._base.errors import ConfigError, IndexingError

jax = pytest.importorskip("jax", reason="needs jax")


def both(inputs, outputs, *values):
    """Return the results in mode jax and in the reference backend."""
    return [phintys.function(inputs, outputs, mode=mode)(*values) for mode in ("jax", "reference")]


def check(inputs, outputs, *values):
    found, expected = both(inputs, outputs, *values)
    for one, other in zip(found, expected, strict=True):
        assert isinstance(one, np.ndarray)
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_a_perceptron_with_gradient():
    x, w, v = pt.dmatrix("x"), pt.dmatrix("w"), pt.dvector("v")
    cost = (pt.tanh(x @ w) @ v).sum() ** 2
    random = np.random.default_rng(0)
    values = random.normal(size=(5, 3)), random.normal(size=(3, 4)), random.normal(size=4)
    check([x, w, v], [cost, *phintys.grad(cost, [x, w, v])], *values)


def test_a_loop_with_gradient():
    x, w = pt.dvector("x"), pt.dmatrix("w")
    rows, _ = phintys.scan(
        lambda h, w: pt.tanh(w @ h), outputs_info=[x], non_sequences=[w], n_steps=7
    )
    cost = rows[-1].sum()
    random = np.random.default_rng(1)
    check([x, w], [rows, *phintys.grad(cost, [x, w])], random.normal(size=3), np.eye(3) * 0.7)


def test_sizes_that_depend_on_values():
    x = pt.dvector("x")
    outputs = [x[x > 0], pt.arange(x.astype("int64").max()), pt.repeat(x, 2)]
    check([x], outputs, np.array([1.0, -2.0, 5.0]))


def test_draws_are_those_of_the_other_backends():
    found = []
    for mode in ("jax", "reference"):
        rng = phintys.random.RandomStream(3)
        f = phintys.function([], [rng.integers(0, 1000, (5,)), rng.permutation(6)], mode=mode)
        found.append(np.concatenate([*f(), *f()]))
    np.testing.assert_array_equal(*found)


def test_another_size_compiles_again_and_an_equal_one_does_not():
    x = pt.dvector("x")
    f = phintys.function([x], (x**2).sum(), mode="jax")
    f(np.ones(3))
    text = f.explain()
    f(np.ones(3))
    assert f.explain() == text
    assert f(np.ones(4)) == 4


def test_an_index_out_of_range_in_a_loop_is_an_error_with_the_line():
    x, k = pt.dvector("x"), pt.lvector("k")
    rows, _ = phintys.scan(lambda i, x: x[i], sequences=[k], non_sequences=[x])
    f = phintys.function([x, k], rows, mode="jax")
    np.testing.assert_array_equal(f(np.arange(3.0), [2, 0]), [2, 0])
    with pytest.raises(IndexingError) as caught:
        f(np.arange(3.0), [2, 7])
    assert "x[i]" in "\n".join([str(caught.value), *caught.value.__notes__])


def test_a_singular_matrix_is_an_error():
    a = pt.dmatrix("a")
    f = phintys.function([a], pt.linalg.inv(a), mode="jax")
    np.testing.assert_allclose(f(np.eye(2) * 2), np.eye(2) / 2)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 2)))


def test_a_failing_call_leaves_shared_values_as_they_were():
    s, k = phintys.shared(np.zeros(3), name="s"), pt.lscalar("k")
    f = phintys.function([k], s[k], updates=[(s, s + 1)], mode="jax")
    assert f(1) == 0
    np.testing.assert_array_equal(s.get_value(), np.ones(3))
    with pytest.raises(IndexingError):
        f(5)
    np.testing.assert_array_equal(s.get_value(), np.ones(3))


def test_ops_without_a_rule_run_on_the_host_or_are_refused():
    class Double(phintys.Op):
        __props__ = ()

        def make_node(self, x):
            return phintys.Apply(self, [x], [x.type()])

        def perform(self, node, inputs, output_storage):
            output_storage[0][0] = inputs[0] * 2

        def infer_shape(self, fgraph, node, input_shapes):
            return input_shapes

    x = pt.dvector("x")
    f = phintys.function([x], Double()(x) + 1, mode="jax")
    np.testing.assert_array_equal(f([1.0, 2.0]), [3, 5])
    assert "Double" in f.explain()
    refusing = phintys.function([x], Double()(x) + 1, mode=phintys.jax.mode(host="refuse"))
    with pytest.raises(Exception, match="Double"):
        refusing([1.0])


def test_wrong_options_are_refused():
    with pytest.raises(ConfigError, match="it must be one of"):
        phintys.jax.mode(checks="never")
    with pytest.raises(ConfigError, match="finds no such device"):
        phintys.function([], pt.ones(2), mode=phintys.jax.mode("gpu:99"))()


def test_jax_keeps_its_own_precision():
    x = pt.dscalar("x")
    phintys.function([x], x * 2, mode="jax")(1.0)
    assert jax.numpy.ones(1).dtype == np.float32
