"""Sums of exponentials in steps, computed as products: what they give, and when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

import phintys
import phintys.tensor as pt
from phintys._base.errors import ShapeError
from phintys.control.branches import IfElse
from phintys.control.loops.log_products import with_log_products
from phintys.control.loops.scan_op import Scan

STEPS = 4

# What a step computes from a state u of shape (n,) and what never changes, m of shape (n, n).
FORMS = {
    "sum along columns": (
        lambda u, m: pt.logsumexp(u[:, None] + m, axis=0),
        lambda u, m: logsumexp(u[:, None] + m, axis=0),
    ),
    "difference along rows": (
        lambda u, m: pt.logsumexp(u - m, axis=1),
        lambda u, m: logsumexp(u - m, axis=1),
    ),
    "scaled, with a term outside": (
        lambda u, m: pt.logsumexp((u[:, None] - m + 2 * u) / 4, axis=0),
        lambda u, m: logsumexp((u[:, None] - m + 2 * u) / 4, axis=0),
    ),
    "a scale that moves": (
        lambda u, m: pt.logsumexp(pt.tanh(u.sum()) * (u[:, None] + m), axis=0),
        lambda u, m: logsumexp(np.tanh(u.sum()) * (u[:, None] + m), axis=0),
    ),
    "one sum after another": (
        lambda u, m: pt.logsumexp(m - pt.logsumexp(u + m, axis=1), axis=1),
        lambda u, m: logsumexp(m - logsumexp(u + m, axis=1), axis=1),
    ),
    "of many sequences": (
        lambda u, m: pt.logsumexp(pt.outer(u, u)[:, :, None] + m, axis=1)[0],
        lambda u, m: logsumexp(np.outer(u, u)[:, :, None] + m, axis=1)[0],
    ),
}


def loop_of(step, dtype="float64"):
    u, m = pt.vector("u", dtype=dtype), pt.matrix("m", dtype=dtype)
    return u, m, repeated(step, u, m)


def repeated(step, u, m):
    rows, _ = phintys.scan(step, outputs_info=[u], non_sequences=[m], n_steps=STEPS)
    return rows[-1]


def scan_of(variable):
    stack = [variable]
    while not isinstance(stack[-1].owner.op, Scan):
        stack += stack.pop().owner.inputs[:1]
    return stack[-1].owner.op


def is_changed(step, dtype="float64"):
    op = scan_of(loop_of(step, dtype)[2])
    return with_log_products(op) is not op


def in_numpy(step, u, m):
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            u = step(u, m)
    return u


@pytest.fixture(scope="module", params=FORMS, ids=str)
def compiled(request):
    """A loop with its gradients, and the same with the sums themselves."""
    step, expected = FORMS[request.param]
    u, m, last = loop_of(step)
    weights = pt.arange(last.shape[0]) + 1.0
    outputs = [last, *phintys.grad((weights * last).sum(), [u, m])]
    # The derivative by a scale of minus infinity has no value.
    missing = [0] if request.param == "a scale that moves" else [0, 0.3]
    return phintys.function([u, m], outputs), expected, missing


@given(data=st.data())
def test_a_product_gives_the_values_and_gradients_of_the_sum(compiled, data):
    f, expected, missing = compiled
    n = data.draw(st.integers(1, 4), "n")
    random = np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    scale = data.draw(st.sampled_from([1.0, 10.0, 1000.0]), "scale")
    u, m = random.normal(size=n) * scale, random.normal(size=(n, n)) * scale
    m[random.random((n, n)) < data.draw(st.sampled_from(missing), "missing")] = -np.inf
    if not np.isfinite(in_numpy(expected, u, m)).all():
        return
    value, by_u, by_m = f(u, m)
    size = 1 + np.abs(u).max() + np.abs(m[np.isfinite(m)]).max(initial=0)
    np.testing.assert_allclose(value, in_numpy(expected, u, m), rtol=1e-12, atol=1e-13 * size)
    assert np.isfinite(by_u).all()
    assert np.isfinite(by_m).all()


@pytest.mark.parametrize("form", ["scaled, with a term outside", "one sum after another"])
def test_gradients_are_those_of_differences(form):
    step, _ = FORMS[form]
    random = np.random.default_rng(3)
    phintys.gradient.verify_grad(
        lambda u, m: repeated(step, u, m),
        [random.normal(size=3), random.normal(size=(3, 3))],
        rng=random,
    )


@pytest.mark.parametrize(
    ("u", "m"),
    [
        ([0.0, -2000.0], [[-2000.0, 0.0], [0.0, -2000.0]]),
        ([-np.inf, -np.inf], [[0.0, 1.0], [2.0, 3.0]]),
        ([0.0, 1.0], [[-np.inf, 0.0], [-np.inf, 0.0]]),
        ([np.inf, 0.0], [[0.0, 1.0], [2.0, 3.0]]),
        ([np.nan, 0.0], [[0.0, 1.0], [2.0, 3.0]]),
        ([1e300, -1e300], [[-1e300, 0.0], [0.0, 1e300]]),
        ([], np.zeros((0, 0))),
    ],
)
def test_the_sum_itself_is_taken_where_a_product_has_no_value(u, m):
    step, expected = FORMS["sum along columns"]
    x, y, last = loop_of(step)
    by_product = phintys.function([x, y], last)
    u, m = np.array(u), np.array(m)
    wanted = in_numpy(expected, u, m) if u.size else np.zeros(0)
    np.testing.assert_allclose(by_product(u, m), wanted, rtol=1e-14)


def test_gradients_of_the_sum_itself_are_those_of_a_flat_graph():
    """A product of 0 must not leave NaN in gradients of the side that is not taken."""
    step, _ = FORMS["sum along columns"]
    u, m, last = loop_of(step)
    flat = u
    for _ in range(STEPS):
        flat = step(flat, m)
    looped, unrolled = (
        phintys.function([u, m], [cost, *phintys.grad(cost, [u, m])])
        for cost in (pt.logsumexp(last), pt.logsumexp(flat))
    )
    random = np.random.default_rng(1)
    values = [np.array([0.5, -np.inf, 0.1]), random.normal(size=(3, 3))]
    values[1][1, :] = values[1][:, 1] = -np.inf
    for found, expected in zip(looped(*values), unrolled(*values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-16)


def test_few_exponentials_are_taken_in_a_step():
    u, m, last = loop_of(FORMS["sum along columns"][0])
    gradient = phintys.function([u, m], [last, *phintys.grad(last.sum(), [u, m])])
    scans = [node for node in gradient.maker.fgraph.toposort() if isinstance(node.op, Scan)]
    assert len(scans) == 2  # forward with what the gradient needs, and backward
    for node in scans:
        always = [
            one
            for one in node.op.fgraph.apply_nodes
            if str(one.op) == "Exp"
            and one.outputs[0].ndim == 2
            and not one.outputs[0].broadcastable[1]
        ]
        assert not always


@pytest.mark.parametrize(
    "step",
    [
        lambda u, m: pt.logsumexp(pt.outer(u, u) + m, axis=0),  # as many exponentials
        lambda u, m: pt.logsumexp(u + m, axis=0),  # the state is outside of the sum
        lambda u, m: pt.logsumexp(u + u) + m[0],  # no matrix
        lambda u, m: pt.logsumexp(u[:, None] * m, axis=0),  # not a sum
        lambda u, m: pt.logsumexp(u[:, None] + u, axis=0),  # nothing is the same in all steps
        lambda u, m: phintys.ifelse(u[0] > 0, pt.logsumexp(u[:, None] + m, axis=0), u),
    ],
)
def test_other_sums_stay(step):
    assert not is_changed(step)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("own", [1, 3, 6])
def test_terms_with_any_axes_have_the_values_of_numpy(axes, own):
    """The state has some axes, the captured terms all others and one of the state's."""
    given = np.arange(8.0).reshape(2, 2, 2) / 4
    state = tuple(slice(None) if own >> dim & 1 else slice(1) for dim in range(3))
    terms = [given[:, :1, :1], given[:1, :, :1], given[:1, :1, :], given[state] + 0.5]
    ms = [
        pt.tensor(f"m{i}", dtype="float64", shape=tuple(1 if n == 1 else None for n in term.shape))
        for i, term in enumerate(terms)
    ]
    u = pt.tensor("u", dtype="float64", shape=ms[-1].type.shape)

    def step(h, *ms):
        return h + pt.logsumexp(sum(ms, h), axis=axes).sum()

    rows, _ = phintys.scan(step, None, [u], ms, n_steps=2)
    f = phintys.function([u, *ms], [rows[-1], phintys.grad(rows[-1].sum(), u)])
    expected = given[state]
    for _ in range(2):
        expected = expected + logsumexp(sum(terms, expected), axis=axes).sum()
    value, slope = f(given[state], *terms)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert np.isfinite(slope).all()


def test_a_loop_is_changed_once():
    op = with_log_products(scan_of(loop_of(FORMS["sum along columns"][0])[2]))
    assert any(isinstance(node.op, IfElse) for node in op.fgraph.apply_nodes)
    assert with_log_products(op) is op


def test_single_precision_keeps_its_digits():
    u, m, last = loop_of(FORMS["sum along columns"][0], "float32")
    f = phintys.function([u, m], last)
    random = np.random.default_rng(0)
    a, b = random.normal(size=5).astype("f4"), random.normal(size=(5, 5)).astype("f4")
    result = f(a, b)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, in_numpy(FORMS["sum along columns"][1], a, b), rtol=1e-6)


def test_second_derivatives():
    u, m, last = loop_of(FORMS["sum along columns"][0])
    random = np.random.default_rng(1)
    a, b = random.normal(size=3), random.normal(size=(3, 3))
    hessian = phintys.function([u, m], phintys.gradient.hessian(last[0], u))
    gradient = phintys.function([u, m], phintys.grad(last[0], u))
    step = 1e-5
    by_differences = [
        (gradient(a + step * e, b) - gradient(a - step * e, b)) / (2 * step) for e in np.eye(3)
    ]
    np.testing.assert_allclose(hessian(a, b), by_differences, atol=1e-8)


def test_an_error_of_shapes_names_the_line():
    u, m, last = loop_of(FORMS["sum along columns"][0])
    f = phintys.function([u, m], last)
    with pytest.raises(ShapeError, match="logsumexp"):
        f(np.zeros(3), np.zeros((2, 2)))
