"""Products that are scaled and added to: one call of BLAS, in memory that is there already."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.backends.native.lower import lower_program
from phintys.backends.native.steps.call import LibraryCall
from phintys.backends.native.steps.callback import Callback
from phintys.backends.native.steps.claim import Claim
from phintys.backends.native.steps.kernel import Kernel
from phintys.backends.native.verify import verify_program
from phintys.tensor.blas import BLAS_LETTERS, Gemm

TOLERANCE = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-12, "complex128": 1e-12}


def program_of(f):
    program = lower_program(f.maker.fgraph)
    verify_program(program)
    return program


def calls(f):
    return [step for step in program_of(f).steps if isinstance(step, LibraryCall)]


def count(f, kind):
    return sum(isinstance(step, kind) for step in program_of(f).steps)


def draw_array(rng, shape, dtype):
    value = rng.normal(size=shape)
    if dtype.startswith("complex"):
        value = value + 1j * rng.normal(size=shape)
    return np.asarray(value, dtype)


SIZES = st.sampled_from([0, 1, 2, 3, 9, 20])


@given(
    dtype=st.sampled_from(sorted(BLAS_LETTERS)),
    sizes=st.tuples(SIZES, SIZES, SIZES),
    ranks=st.sampled_from([(2, 2), (2, 1), (1, 2)]),
    static=st.booleans(),
    factor=st.sampled_from(["none", "constant", "symbol", "element"]),
    added=st.sampled_from(["none", "argument", "broadcast", "computed", "product"]),
    sign=st.sampled_from([1, -1]),
    transposed=st.booleans(),
)
def test_all_forms(dtype, sizes, ranks, static, factor, added, sign, transposed):
    m, n, k = sizes
    x_shape = (m, k) if ranks[0] == 2 else (k,)
    y_shape = (k, n) if ranks[1] == 2 else (k,)
    shape = x_shape[:-1] + y_shape[1:]
    c_shape = (1, *shape[1:]) if added == "broadcast" else shape
    rng = np.random.default_rng(m + 31 * n + 997 * k)
    arrays = [draw_array(rng, one, dtype) for one in (x_shape, y_shape, c_shape, (2,))]
    if transposed:
        arrays = [array.T.copy() for array in arrays]
    variables = [
        pt.tensor(
            name,
            dtype=dtype,
            shape=a.shape if static else tuple(1 if size == 1 else None for size in a.shape),
        )
        for name, a in zip("xycs", arrays, strict=True)
    ]

    def build(x, y, c, s, dot, exp):
        if transposed:
            x, y, c = x.T, y.T, c.T
        product = sign * dot(x, y)
        scales = {"none": 1, "constant": 2.5, "symbol": s[0] * s[1], "element": s[1]}
        if factor != "none":
            product = scales[factor] * product
        return {
            "none": lambda: product,
            "argument": lambda: c + product,
            "broadcast": lambda: product - c,
            "computed": lambda: exp(c) - product,
            "product": lambda: product + dot(x, 2 * y),
        }[added]()

    got = phintys.function(
        variables, build(*variables, pt.dot, pt.exp), mode="native", on_unused_input="ignore"
    )(*arrays)
    wanted = build(*arrays, np.dot, np.exp)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


X, Y, Z = pt.dmatrices("X", "Y", "Z")
v, w = pt.dvectors("v", "w")


def test_what_is_computed_is_added_to_where_it_is():
    f = phintys.function([X, Y, Z], pt.exp(Z) + 2 * pt.dot(X, Y), mode="native")
    program = program_of(f)
    kernel, call = [step for step in program.steps if isinstance(step, Kernel | LibraryCall)]
    assert [nest.statements[-1].target for nest in kernel.nests] == list(call.outputs)
    assert call.options["alpha"] == 2.0


def test_products_are_added_up_without_copies():
    f = phintys.function([X, Y, Z], pt.dot(X, Y) - pt.dot(Y, Z) + pt.dot(X, Z), mode="native")
    assert len(calls(f)) == 3
    assert count(f, Kernel) == 0
    assert len({call.outputs for call in calls(f)}) == 1


def test_what_others_need_is_copied():
    product = pt.dot(X, Y)
    f = phintys.function([X, Y, Z], [pt.dot(product, Z) + product, product], mode="native")
    values = [np.random.default_rng(seed).normal(size=(4, 4)) for seed in range(3)]
    product = values[0] @ values[1]
    for got, wanted in zip(f(*values), (product @ values[2] + product, product), strict=True):
        np.testing.assert_allclose(got, wanted)


def test_a_factor_that_is_added_to_as_well():
    f = phintys.function([X], pt.dot(X, X) + X, mode="native")
    value = np.random.default_rng(0).normal(size=(5, 5))
    before = value.copy()
    np.testing.assert_allclose(f(value), before @ before + before)
    assert np.array_equal(value, before)


def test_explain_shows_the_form():
    s = pt.dscalar("s")
    f = phintys.function([X, v, w, s], w - s * pt.dot(X, v), mode="native")
    assert "call gemv(X, v) * t" in f.explain()
    assert " added to t" in f.explain()
    f = phintys.function([X, v], 3 * pt.dot(X, v), mode="native")
    assert "call gemv(X, v) * 3.0 -> t" in f.explain()


@pytest.mark.parametrize("shapes", [((2, 3), (4, 5), (2, 5)), ((2, 3), (3, 5), (1, 5))])
def test_sizes_that_do_not_fit_are_refused(shapes):
    f = phintys.function([X, Y, Z], Z + pt.dot(X, Y), mode="native")
    with pytest.raises(ShapeError):
        f(*map(np.ones, shapes))
    assert f(*map(np.ones, ((2, 3), (3, 5), (2, 5)))).tolist() == [[4.0] * 5] * 2


# ---- memory that is overwritten ----------------------------------------------------------------


def overwriting():
    """A function that adds to its first argument."""
    return phintys.function(
        [phintys.In(Z, mutable=True), X, Y],
        phintys.Out(Gemm(inplace=True)(X, Y, 2.0, Z), borrow=True),
        mode="native",
        accept_inplace=True,
    )


def test_the_twin_is_native_too():
    f = overwriting()
    assert count(f, Callback) == count(f, Kernel) == 0
    given = np.ones((3, 3))
    result = f(given, np.ones((3, 2)), np.ones((2, 3)))
    assert result.tolist() == [[5.0] * 3] * 3


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2]])
def test_mutable_arguments_of_any_layout(layout):
    f = overwriting()
    value = np.random.default_rng(0).normal(size=(3, 4))
    x, y = np.ones((3, 2)), np.ones((2, 4))
    np.testing.assert_allclose(f(layout(value), x, y), value + 2 * (x @ y))


def descent(rate=0.5, dtype="float64"):
    """A step of gradient descent, its weights, and what NumPy makes of it."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(5, 4)).astype(dtype)
    weights = phintys.shared(start.copy(), name="W")
    x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
    cost = pt.sqr(pt.dot(x, weights) - y).sum() / 2
    updates = {weights: weights - rate * phintys.grad(cost, weights)}
    step = phintys.function([x, y], [], updates=updates, mode="native")
    data = rng.normal(size=(3, 5)).astype(dtype), rng.normal(size=(3, 4)).astype(dtype)
    wanted = start - rate * data[0].T @ (data[0] @ start - data[1])
    return step, weights, data, start, wanted


def test_products_are_added_to_shared_weights():
    step, weights, data, _, wanted = descent()
    assert count(step, Claim) == 1
    step(*data)
    np.testing.assert_allclose(weights.get_value(), wanted)


def test_others_need_not_wait_for_a_product():
    step, weights, data, _, wanted = descent()
    seen = weights.get_value(borrow=True)
    address = seen.ctypes.data
    del seen
    ready, done = threading.Event(), threading.Event()

    def other():
        ready.set()
        done.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    step(*data)
    done.set()
    thread.join()
    np.testing.assert_allclose(weights.get_value(), wanted)
    assert weights.get_value(borrow=True).ctypes.data != address


def test_weights_that_others_hold_stay_as_they_were():
    step, weights, data, start, wanted = descent()
    held = weights.get_value(borrow=True)
    step(*data)
    assert np.array_equal(held, start)
    np.testing.assert_allclose(weights.get_value(), wanted)


def test_a_call_that_fails_leaves_the_weights():
    step, weights, (x, y), start, _ = descent()
    with pytest.raises(ShapeError):
        step(x, y[:2])
    assert np.array_equal(weights.get_value(), start)


def test_weights_that_exchange_products():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=(4, 4)) for _ in range(2))
    first, second = phintys.shared(a.copy()), phintys.shared(b.copy())
    updates = {
        first: first + pt.dot(second, second),
        second: second - 2 * pt.dot(first, second),
    }
    f = phintys.function([], pt.dot(first, second), updates=updates, mode="native")
    for _ in range(3):
        np.testing.assert_allclose(f(), a @ b)
        a, b = a + b @ b, b - 2 * a @ b
    np.testing.assert_allclose(first.get_value(), a)
    np.testing.assert_allclose(second.get_value(), b)


def test_a_chain_of_products_in_one_memory():
    start = np.ones((3, 3))
    weights = phintys.shared(start.copy())
    updates = {weights: weights - 2 * pt.dot(X, Y) + pt.dot(Y, X)}
    f = phintys.function([X, Y], [], updates=updates, mode="native")
    assert count(f, Kernel) == 0
    assert count(f, Claim) == 1
    x, y = (np.random.default_rng(seed).normal(size=(3, 3)) for seed in range(2))
    f(x, y)
    np.testing.assert_allclose(weights.get_value(), start - 2 * x @ y + y @ x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [(1, 7, 5), (5, 7, 1), (1, 7, 1), (1, 1, 4), (3, 1, 1), (1, 0, 4), (4, 0, 1), (0, 3, 1)],
)
def test_matrices_that_turn_out_to_be_vectors(dtype, m, k, n, compare):
    rng = np.random.default_rng(0)
    x, y, z = (pt.matrix(name, dtype=dtype) for name in "xyz")
    values = [rng.normal(size=size).astype(dtype) for size in ((m, k), (k, n), (m, n))]
    apart = [np.repeat(value, 2, axis=1)[:, ::2] for value in values]
    turned = [np.asfortranarray(value) for value in values]
    outputs = [x @ y, (y.T @ x.T).T, z + 2 * (x @ y), Gemm()(x, y, 0.5, z)]
    for layout in (values, apart, turned):
        compare([x, y, z], outputs, layout)


@pytest.mark.parametrize(
    ("notation", "loops"),
    [("bhqd,bhkd->bhqk", "6 times"), ("bqhd,bkhd->bhqk", "2 * 3 times"), ("abij,jk->abik", "")],
)
def test_evenly_spaced_axes_of_a_stack_are_one_loop(notation, loops):
    sizes = dict(zip("bhqkdaij", (2, 3, 40, 50, 20, 2, 3, 40), strict=True))
    terms = notation.partition("->")[0].split(",")
    values = [np.random.default_rng(0).normal(size=[sizes[c] for c in term]) for term in terms]
    operands = [pt.tensor(name, shape=x.shape) for name, x in zip("xy", values, strict=True)]
    f = phintys.function(operands, pt.einsum(notation, *operands), mode="native")
    (line,) = [line for line in f.explain().splitlines() if "gemm" in line]
    assert line.split("]")[-1].strip() == loops
    np.testing.assert_allclose(f(*values), np.einsum(notation, *values), atol=1e-12)
