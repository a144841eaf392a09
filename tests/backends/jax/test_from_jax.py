"""A function of JAX is an Op: values, types, derivatives, batches, pickles and errors."""

import functools
import pickle
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import phintys
import phintys.tensor as pt

pytest.importorskip("jax", reason="needs the extra 'jax'")
import jax
import jax.numpy as jnp

from phintys.testing import verify_grad, verify_rop

from_jax = phintys.jax.from_jax


@dataclass
class Layer:
    w: Any
    b: Any


def layer(params, x, scale=1.0, how="tanh"):
    z = params.w @ x + params.b
    return {"out": getattr(jnp, how)(z) * scale, "parts": (z.sum(), z > 0)}


@jax.jit
def swapped(x, y):
    return y - 2 * x, x * y


def joined(x, y):
    return jnp.concatenate([x * y.sum(), y])


VALUES = np.random.default_rng(0)
W, B, X = VALUES.normal(size=(2, 3)), VALUES.normal(size=2), VALUES.normal(size=3)


@pytest.mark.parametrize("mode", ["native", "reference", "debug"])
def test_trees_of_arguments_and_results(mode):
    w, b, x = pt.dmatrix("w"), pt.dvector("b"), pt.dvector("x")
    found = from_jax(layer)(Layer(w, b), x, scale=pt.constant(3.0))
    assert found["out"].type == pt.dvector
    assert found["parts"][1].type == pt.TensorType("bool", (None,))
    f = phintys.function([w, b, x], found, mode=mode)
    values = f(W, B, X)
    z = W @ X + B
    np.testing.assert_allclose(values["out"], 3 * np.tanh(z), rtol=1e-14)
    np.testing.assert_allclose(values["parts"][0], z.sum(), rtol=1e-14)
    np.testing.assert_array_equal(values["parts"][1], z > 0)
    assert values["out"].flags.writeable
    assert str(jnp.arange(2.0).dtype) == "float32"  # the user's JAX is as it was


def test_derivatives_of_first_and_second_order():
    def out(w, b, x):
        return from_jax(layer)(Layer(w, b), x)["out"]

    verify_grad(out, [W, B, X], rng=VALUES)
    verify_rop(out, [W, B, X], rng=VALUES)
    verify_grad(from_jax(joined), [X, B], rng=VALUES)
    x = pt.dvector("x")
    hessian = phintys.hessian(out(W, B, x).sum(), x).eval({x: X})
    expected = phintys.hessian(pt.tanh(W @ x + B).sum(), x).eval({x: X})
    np.testing.assert_allclose(hessian, expected, rtol=1e-12)


def test_gradients_of_complex_numbers_follow_the_convention():
    z, y = pt.zvector("z"), pt.dvector("y")
    at = VALUES.normal(size=4) + 1j * VALUES.normal(size=4)
    real = VALUES.normal(size=4)

    def cost(product):
        return (pt.real(product) * [1.0, 2.0, 3.0, 4.0] + pt.imag(product) ** 2).sum()

    def slopes(function):
        return phintys.function([z, y], phintys.grad(cost(function(z, y)), [z, y]))(at, real)

    found = slopes(from_jax(lambda z, y: z * z * jnp.exp(1j * y)))
    expected = slopes(lambda z, y: z * z * pt.exp(1j * y))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_integers_have_no_influence():
    n, x = pt.lvector("n"), pt.dvector("x")
    y = from_jax(lambda n, x: (n * 2, x * n))(n, x)
    slopes = phintys.function([n, x], phintys.grad(y[1].sum() + y[0].sum(), [n, x]))
    zero, slope = slopes([1, 2], [0.5, 0.5])
    np.testing.assert_array_equal(zero, [0.0, 0.0])
    np.testing.assert_array_equal(slope, [1.0, 2.0])


def test_batches_are_computed_by_vmap():
    x, y = pt.dmatrix("x"), pt.dvector("y")
    batched = pt.vectorize(lambda x: from_jax(joined)(x, y), "(n)->(m)")(x)
    assert str(batched.owner.op) == "JaxOp(vmap of joined)"
    at = VALUES.normal(size=(4, 3))
    expected = np.stack([np.r_[row * B.sum(), B] for row in at])
    np.testing.assert_allclose(batched.eval({x: at, y: B}), expected, rtol=1e-14)
    both = pt.vectorize(from_jax(joined), "(n),(k)->(m)")(pt.dtensor3("X"), x)
    assert both.ndim == 3
    verify_grad(
        pt.vectorize(from_jax(joined), "(n),(k)->(m)"),
        [at, at[:, :2]],
        rng=VALUES,
    )


def test_shapes_are_known_without_the_values():
    x, y = pt.dvector("x"), pt.dvector("y")
    shape = phintys.function([x, y], from_jax(joined)(x, y).shape)
    assert "JaxOp" not in {type(node.op).__name__ for node in shape.maker.fgraph.toposort()}
    np.testing.assert_array_equal(shape(np.ones(3), np.ones(2)), [5])
    fixed = from_jax(joined)(pt.tensor("x", shape=(3,)), pt.tensor("y", shape=(2,)))
    assert fixed.type.shape == (5,)


def test_equal_nodes_are_merged_and_others_are_not():
    x = pt.dvector("x")
    one, other = from_jax(joined)(x, x), from_jax(joined)(x, x)
    assert one.owner.op == other.owner.op
    f = phintys.function([x], [one, other, from_jax(jnp.outer)(x, x)])
    assert sum(str(node.op).startswith("JaxOp") for node in f.maker.fgraph.toposort()) == 2
    calls = from_jax(layer)
    tanh, sin = (calls(Layer(W, B), x, how=how)["out"].owner.op for how in ("tanh", "sin"))
    assert tanh != sin
    assert calls(Layer(w=W, b=B), x, how="sin")["out"].owner.op == sin


def test_the_function_can_be_traced_as_a_part_of_others():
    x = pt.dvector("x")
    op = from_jax(swapped)(x, x)[0].owner.op
    first, second = jax.jit(op.jax_function)(jnp.ones(2), jnp.full(2, 3.0))
    np.testing.assert_array_equal(first, [1.0, 1.0])
    np.testing.assert_array_equal(second, [3.0, 3.0])


@pytest.mark.parametrize("function", [swapped, functools.partial(joined, y=B), joined])
def test_functions_at_the_top_of_a_module_are_pickled(function):
    x = pt.dvector("x")
    op = from_jax(function)
    results = op(x) if isinstance(function, functools.partial) else op(x, x)
    y = phintys.tree.leaves(results)[0].sum()
    f = phintys.function([x], [y, phintys.grad(y, x)])
    for mine, theirs in zip(f(X), pickle.loads(pickle.dumps(f))(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_lambda_is_refused_by_pickle():
    x = pt.dvector("x")
    f = phintys.function([x], from_jax(lambda x: x + 1)(x))
    with pytest.raises(pickle.PicklingError, match=r"(?s)<lambda> .*Define it with def at the top"):
        pickle.dumps(f)


# ---- errors --------------------------------------------------------------------------------------


def test_without_jax_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ImportError, match=r"pip install 'phintys\[jax\]'"):
        from_jax(abs)


def test_importing_phintys_does_not_import_jax():
    program = "import sys, phintys; phintys.jax; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"False\n"


@pytest.mark.parametrize("returned", ["text", None, {"a": {1, 2}}])
def test_what_is_not_an_array_is_named(returned):
    with pytest.raises(phintys.PhintysError, match="must return an array, or a tree"):
        from_jax(lambda x: (x, returned))(pt.dvector("x"))


def test_wrong_arguments_are_named():
    with pytest.raises(phintys.PhintysError, match="function of JAX arrays, got 3"):
        from_jax(3)
    with pytest.raises(phintys.PhintysError, match=r"otypes must be .* at \[1\]"):
        from_jax(abs, otypes=[pt.dvector, "float64"])
    with pytest.raises(phintys.PhintysError, match=r"bfloat16.*astype"):
        from_jax(lambda x: x.astype("bfloat16"))(pt.dvector("x"))


def test_lengths_that_cannot_be_guessed_need_types():
    def halves(x):
        return x.reshape(2, 5).sum(0)

    x = pt.dvector("x")
    with pytest.raises(TypeError) as caught:
        from_jax(halves)(x)
    assert "otypes=" in caught.value.__notes__[-1]
    y = from_jax(halves, otypes=pt.dvector)(x)
    np.testing.assert_array_equal(y.eval({x: np.ones(10)}), np.full(5, 2.0))
    np.testing.assert_array_equal(y.shape.eval({x: np.ones(10)}), [5])
    np.testing.assert_array_equal(phintys.grad(y.sum(), x).eval({x: np.ones(10)}), np.ones(10))


def test_results_of_other_types_than_promised_are_named():
    x = pt.dvector("x")
    for promised in (pt.fvector, pt.dmatrix):
        f = phintys.function([x], from_jax(jnp.sin, otypes=promised)(x))
        with pytest.raises(phintys.PhintysError, match="otypes of from_jax"):
            f([1.0])
    f = phintys.function([x], from_jax(jnp.sin, otypes=[pt.dvector, pt.dvector])(x))
    with pytest.raises(phintys.PhintysError, match="returned 1 arrays"):
        f([1.0])


def test_an_error_of_jax_shows_the_line_of_the_node():
    x, y = pt.dvector("x"), pt.dvector("y")
    f = phintys.function([x, y], from_jax(jnp.add)(x, y))  # made here
    with pytest.raises(TypeError) as caught:
        f([1.0, 2.0], [1.0, 2.0, 3.0])
    assert any("# made here" in note for note in caught.value.__notes__)
