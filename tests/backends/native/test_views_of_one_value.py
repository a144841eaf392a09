"""Programs that read one value through pairs of views, which rewriting cannot all merge.

Every value is read through two views, in one kernel and in several, so it dies where one of them is
read and the other may still be. Native programs must agree with the reference for all pairs.
"""

import numpy as np
import pytest

import phintys
import phintys.tensor as pt
from phintys.compile import Mode
from phintys.passes import PIPELINES

NATIVE = {"with rules": Mode("native"), "without rules": Mode("native", PIPELINES["none"])}
REFERENCE = Mode("reference", PIPELINES["none"])
ROWS, COLUMNS = 4, 6

# Views of a matrix of an even number of rows, and of more columns than rows.
VIEWS = {
    "itself": lambda k: k,
    "flatten": lambda k: k.flatten(),
    "reshape to its size": lambda k: k.reshape((k.size,)),
    "reshape to a product": lambda k: k.reshape((k.shape[0] * k.shape[1],)),
    "reshape to -1": lambda k: k.reshape((-1,)),
    "reshape to rows": lambda k: k.reshape((k.shape[0], -1)),
    "reshape to half the rows": lambda k: k.reshape((k.shape[0] // 2, k.shape[1] * 2)),
    "reshape to three axes": lambda k: k.reshape((k.shape[0] // 2, 2, k.shape[1])),
    "join_dims": lambda k: pt.join_dims(k, 0, 2),
    "split_dims": lambda k: pt.split_dims(k, (2, k.shape[0] // 2), 0),
    "transpose": lambda k: k.T,
    "swapaxes": lambda k: pt.swapaxes(k[None], 0, 2),
    "dimshuffle": lambda k: k.dimshuffle(0, "x", 1),
    "expand and squeeze": lambda k: pt.squeeze(pt.expand_dims(k, 1), 1),
    "reversed": lambda k: k[::-1],
    "reversed flat": lambda k: k.flatten()[::-1],
    "every other row": lambda k: k[::2],
    "later columns": lambda k: k[:, 1:],
    "diagonal": lambda k: pt.diagonal(k[:, : k.shape[0]]),
    "broadcast": lambda k: pt.broadcast_to(k, (2, k.shape[0], k.shape[1])),
}


def read_in_kernels(k, one, other):
    """Each view is scaled, in memory for which k's will do, and then summed in another order."""
    return pt.cumsum(one(k) * 2)[-1] + pt.cumsum(other(k) * 3).sum()


def read_by_products(k, one, other):
    """Products of the views, and what they add up to."""
    a, b = one(k).flatten(), other(k).flatten()
    return pt.sin(pt.dot(a * 2, a)) + pt.sin(pt.dot(b, pt.exp(b)) + a[0])


def seconds(first):
    """The views that a first one is paired with: itself, and those that follow it."""
    return list(VIEWS)[list(VIEWS).index(first) :]


def total(x, read, first):
    """Read a value of its own for each pair."""
    values = [
        read(pt.tanh(x * (1 + 0.1 * number)), VIEWS[first], VIEWS[second])
        for number, second in enumerate(seconds(first))
    ]
    return pt.stack(values)


def numbers(x, first):
    return [total(x, read_in_kernels, first)]


def gradients(x, first):
    return [phintys.grad(total(x, read_by_products, first).sum(), x)]


def steps(x, first):
    def step(h):
        found = total(h, read_in_kernels, first)
        return pt.tanh(h * 0.5 + found.mean() * 0.1), found

    states, rows = phintys.scan(step, outputs_info=[x, None], n_steps=3, return_updates=False)
    return [states[-1], rows]


USES = {"numbers": numbers, "gradients": gradients, "steps": steps}


def values_of(x, outputs, mode, given):
    return phintys.function([x], outputs, mode=mode)(given)


def values_of_updates(first, mode, given):
    """The values of two calls that read shared values through views, and the values after them."""
    outputs, updates = [], {}
    for number, second in enumerate(seconds(first)):
        state = phintys.shared(given * (1 + 0.1 * number))
        found = read_in_kernels(state, VIEWS[first], VIEWS[second])
        new = pt.tanh(state.flatten() * 0.5).reshape(state.shape) + found * 0.01
        outputs += [found, read_in_kernels(new, VIEWS[second], VIEWS[first])]
        updates[state] = new
    f = phintys.function([], outputs, updates=updates, mode=mode)
    return [*f(), *f(), *(state.get_value() for state in updates)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", list(VIEWS))
@pytest.mark.parametrize("use", list(USES))
def test_native_programs_agree_with_the_reference(use, first):
    is_static = list(VIEWS).index(first) % 2 == 0
    x = pt.matrix("x", shape=(ROWS, COLUMNS) if is_static else (None, None))
    given = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    outputs = USES[use](x, first)
    wanted = values_of(x, outputs, REFERENCE, given)
    for name, mode in NATIVE.items():
        for got, right in zip(values_of(x, outputs, mode, given), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.sampled(7, 5)
@pytest.mark.parametrize("first", list(VIEWS))
def test_shared_values_are_read_through_both_views_before_they_are_overwritten(first):
    given = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
    wanted = values_of_updates(first, REFERENCE, given)
    for name, mode in NATIVE.items():
        for got, right in zip(values_of_updates(first, mode, given), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-9, err_msg=name)
